import { golden } from '../../support/chart/golden';
import { type Manifest, named } from '../../support/chart/manifest';
import { podLifeOf } from '../../support/chart/pod-life';
import { Pod } from '../../support/machines/kubelet';
import { rollDeployment, rollStatefulSet } from '../../support/machines/roll-out';
import { underLoad } from './under-load';

/**
 * An upgrade as Kubernetes does it with what the chart renders for someone who gives no value: both controllers at
 * once, in the order, with the hooks, signals, grace periods, probes and settings of the manifests.
 * One wait is another: for `minReadySeconds` of the nodes, it is waited until every shard has its replicas in sync,
 * because that is what it is there for. How long that takes is the machine's.
 */
const objects = golden('minimal');
const workload = (kind: string, name: string): Manifest => {
  const found = named(objects, kind, name);
  if (found === undefined) throw new Error(`the chart has no ${kind} ${name}`);
  return found;
};
const nodes = workload('StatefulSet', 'search-quiver-node');
const coordinators = workload('Deployment', 'search-quiver-coordinator');
const lives = { node: podLifeOf(objects, nodes), coordinator: podLifeOf(objects, coordinators) };

test("the chart's rolling update under load loses nothing, fails no request and kills no process", async () => {
  const options = {
    nodes: nodes.spec.replicas,
    coordinators: coordinators.spec.replicas,
    mayFail: () => false,
    environmentOf: async (id: string) => lives[id.startsWith('node') ? 'node' : 'coordinator'].environment,
  };
  const { acknowledged } = await underLoad('roll-out-the-chart', options, async ({ cluster, sendTo }) => {
    const nodePods = cluster.nodes.map((member) => new Pod(member, lives.node));
    const coordinatorPods = cluster.coordinators.map((member) => new Pod(member, lives.coordinator));
    await Promise.all([...nodePods, ...coordinatorPods].map((pod) => pod.start()));
    sendTo((member) => coordinatorPods.some((pod) => pod.member === member && pod.hasTraffic));
    try {
      const ends = await Promise.all([
        rollStatefulSet(nodes, nodePods, () => cluster.settled()),
        rollDeployment(
          coordinators,
          coordinatorPods,
          async () => new Pod(await cluster.addCoordinator(), lives.coordinator),
        ),
      ]);
      expect(ends).toEqual([
        ['node-2', 'node-1', 'node-0'].map((id) => ({ id, exitCode: 0, wasKilled: false })),
        ['coordinator-0', 'coordinator-1'].map((id) => ({ id, exitCode: 0, wasKilled: false })),
      ]);
    } finally {
      await Promise.all([...nodePods, ...coordinatorPods].map((pod) => pod.leave()));
    }
    expect([...nodePods, ...coordinatorPods].flatMap(({ complaints }) => complaints)).toEqual([]);
  });
  expect(acknowledged).toBeGreaterThan(0);
});
