import type { ClusterOptions, ClusterProcesses } from '../../support/processes/cluster-processes';
import type { MemberProcess } from '../../support/processes/member-process';
import { eventually } from '../../support/eventually';
import { runSeed } from '../../support/values/random';
import { contradictionsOf } from '../../support/stories/register-history';
import { RegisterWorkload } from '../../support/stories/register-workload';
import { SharedCluster } from './shared-cluster';

export const COLLECTION = 'ledger';
/** Writes that are acknowledged before and after what happens, at least: each of the ids four times. */
const CALM_WRITES = 50;
/**
 * What a call is told that found no primary in time: as promised while one is replaced, which takes longer on a busy
 * machine.
 */
export const isRetriable = (message: string): boolean => message.includes('unavailable; the call may be retried');

export interface LoadOptions extends ClusterOptions {
  /** Which errors the clients may be told; else any, because the story breaks what they call. */
  mayFail?: (message: string) => boolean;
  /**
   * Where it happens. Of the options of a cluster, only `shards` and `replicas` are then the story's. Default: a
   * cluster of its own.
   */
  on?: SharedCluster;
}

export interface Scene {
  cluster: ClusterProcesses;
  workload: RegisterWorkload;
  /** Waits until so many more writes are acknowledged. */
  writes(count: number): Promise<void>;
  /** Lets a fault last under load, for longer than something of the protocol: nothing shows when that is over. */
  lasts(milliseconds: number): Promise<void>;
  /**
   * Says which of the running coordinators clients send to from now on, as a load balancer does; at first all of them.
   */
  sendTo(isChosen: (coordinator: MemberProcess) => boolean): void;
}

/**
 * Runs a workload against a cluster of real processes while `story` happens to it, waits until every shard is in order
 * again, and checks what the clients saw: nothing acknowledged is lost or undone, no read is stale, both coordinators
 * count and export the same, and the replicas of a shard hold the same. Answers the workload for what else the story
 * wants to know of it. The error of a failure tells what happened when, and what the cluster says of itself at that
 * time.
 */
export async function underLoad(
  name: string,
  { mayFail = () => true, on, ...options }: LoadOptions,
  story: (scene: Scene) => Promise<void>,
): Promise<RegisterWorkload> {
  const seed = runSeed(name);
  const beganMs = performance.now();
  const phases: string[] = [];
  const phase = (what: string): void =>
    void phases.push(`${what} at ${((performance.now() - beganMs) / 1000).toFixed(1)} s`);
  const shared = on ?? new SharedCluster(options);
  const cluster = await shared.take();
  phase('cluster up');
  let workload: RegisterWorkload | null = null;
  /** Whether the next story gets this cluster. */
  let isShared = false;
  try {
    await cluster.data('POST', '/v1/collections', {
      name: COLLECTION,
      dim: 4,
      shards: options.shards,
      replicas: options.replicas,
    });
    await cluster.settled();
    const lasts = (milliseconds: number): Promise<void> => new Promise((wake) => setTimeout(wake, milliseconds));
    let isChosen: (coordinator: MemberProcess) => boolean = () => true;
    const clients = new RegisterWorkload({
      urls: () =>
        cluster.coordinators.flatMap((coordinator, i) =>
          coordinator.isRunning && isChosen(coordinator) ? [cluster.baseUrl(i)] : [],
        ),
      collection: COLLECTION,
      seed,
    });
    workload = clients;
    const writes = async (count: number): Promise<void> => {
      phase(`waits for ${count} writes`);
      const enough = clients.acknowledged + count;
      await eventually(`${count} more writes are acknowledged`, () => clients.acknowledged >= enough);
    };
    await writes(CALM_WRITES);
    phase('story begins');
    await story({ cluster, workload, writes, lasts, sendTo: (choice) => (isChosen = choice) });
    phase('story ends');
    await writes(CALM_WRITES);
    await workload.stop();
    await cluster.settled();
    phase('settled');
    const running = cluster.coordinators.flatMap((coordinator, i) => (coordinator.isRunning ? [i] : []));
    for (const i of running) await workload.readAll(cluster.baseUrl(i));
    await sameOf(cluster, running);
    expect(await cluster.differences()).toEqual([]);
    expect(contradictionsOf(workload.history)).toEqual([]);
    expect([...workload.errors.keys()].filter((message) => !mayFail(message))).toEqual([]);
    phase('checked');
    if (on !== undefined) {
      await on.clear();
      isShared = true;
    }
    console.log(phases.join(', '));
    return workload;
  } catch (error) {
    phase('failed');
    const evidence = await cluster.evidence();
    await workload?.stop();
    throw new Error(
      `${(error as Error).message}\nseed ${seed}: ${phases.join(', ')}\nerrors: ${workload?.errorsSince(beganMs) ?? 'no client began'}\n${evidence}`,
      { cause: error },
    );
  } finally {
    if (!isShared) await shared.destroy();
  }
}

/**
 * Resolves when the coordinators count and export the same: a write whose client gave it up may take effect until then.
 */
async function sameOf(cluster: ClusterProcesses, coordinators: number[]): Promise<void> {
  let seen: { count: number; items: string[] }[] = [];
  const look = async (i: number): Promise<(typeof seen)[number]> => {
    const { vector_count: count } = await cluster.data('GET', `/v1/collections/${COLLECTION}`, undefined, i);
    const { vectors } = await cluster.data('GET', `/v1/collections/${COLLECTION}/export`, undefined, i);
    return { count, items: vectors.map((item: object) => JSON.stringify(item)) };
  };
  await eventually('the coordinators count and export the same', async () => {
    seen = [];
    for (const i of coordinators) seen.push(await look(i));
    return seen.every(({ count, items }) => count === items.length && items.join() === seen[0].items.join());
  }).catch((error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(seen)}`);
  });
}
