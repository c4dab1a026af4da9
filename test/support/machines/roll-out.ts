import type { Manifest } from '../chart/manifest';
import type { Pod, PodEnd } from './kubelet';

/**
 * Updates the pods of a StatefulSet as its controller does: from the highest ordinal down, each when the one before is
 * available, which is ready and then so for `minReadySeconds`; `untilAvailable` stands for that time.
 */
export async function rollStatefulSet(
  { spec }: Manifest,
  pods: readonly Pod[],
  untilAvailable: () => Promise<void>,
): Promise<PodEnd[]> {
  if (spec.updateStrategy.type !== 'RollingUpdate' || spec.updateStrategy.rollingUpdate !== undefined)
    throw new Error('not a plain rolling update');
  if (!(spec.minReadySeconds > 0)) throw new Error('a pod counts as available at once');
  const ends: PodEnd[] = [];
  for (const pod of [...pods].reverse()) {
    ends.push(await pod.end());
    await pod.start();
    await untilAvailable();
  }
  return ends;
}

/**
 * Replaces the pods of a Deployment as its controller does: new ones while there are no more than `maxSurge` above the
 * count, old ones end while no fewer than the count less `maxUnavailable` are ready. It does not wait for a pod that is
 * ending. New pods are added to `pods`.
 */
export async function rollDeployment({ spec }: Manifest, pods: Pod[], newPod: () => Promise<Pod>): Promise<PodEnd[]> {
  const { maxSurge, maxUnavailable } = spec.strategy.rollingUpdate;
  if (![maxSurge, maxUnavailable].every(Number.isInteger) || spec.minReadySeconds !== undefined)
    throw new Error('not the kind of rolling update that is played here');
  const old = [...pods];
  const ending: Promise<PodEnd>[] = [];
  let updated = 0;
  while (old.length > 0) {
    for (; updated < spec.replicas && updated + old.length < spec.replicas + maxSurge; updated += 1) {
      const pod = await newPod();
      pods.push(pod);
      await pod.start();
    }
    while (old.length > 0 && updated + old.length > spec.replicas - maxUnavailable)
      ending.push((old.shift() as Pod).end());
  }
  return Promise.all(ending);
}
