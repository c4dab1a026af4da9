import { Chance } from './chance';
import { Network } from './network';
import { Oracle } from './oracle';
import { Schedule } from './schedule';
import { SimulatedClient } from './simulated-client';
import { SimulatedController } from './simulated-controller';
import { ETCD, SimulatedEtcd } from './simulated-etcd';
import { SimulatedNode, type NodeDependencies } from './simulated-node';
import { Registers } from './simulated-storage';

/**
 * Faults of one node that its session with the cluster store outlives, on an otherwise healthy shard of three replicas:
 * how soon clients are served again.
 */

const NODES = ['A', 'B', 'C'];
const FAULT_AT_MS = 6000;
/** As promised for a disk that hangs. */
const SERVED_AGAIN_WITHIN_MS = 10_000;

class Scene {
  readonly schedule = new Schedule();
  readonly counts: Record<string, number> = {
    writes: 0,
    reads: 0,
    followerReads: 0,
    followerReadsLate: 0,
    promotions: 0,
    changes: 0,
    snapshots: 0,
    lossy: 0,
    fromEligible: 0,
  };
  readonly nodes = new Map<string, SimulatedNode<Registers>>();
  readonly etcd: SimulatedEtcd;
  readonly network: Network;
  readonly oracle = new Oracle();

  constructor(seed: number, minInSync: number, ids = NODES, until = FAULT_AT_MS + SERVED_AGAIN_WITHIN_MS + 5000) {
    const { schedule, counts, nodes, oracle } = this;
    const chance = new Chance(seed);
    this.network = new Network({ schedule, chance });
    this.network.ordered = true;
    const spec = { collectionUid: 'c', shard: 0, dim: 1, metric: 'cosine' as const };
    const assignment = {
      spec,
      minInSync,
      epoch: 0,
      primary: null,
      inSync: [],
      eligible: [],
      replicas: ids,
      adding: [],
      removing: [],
      changeId: '',
    };
    this.etcd = new SimulatedEtcd({ schedule, chance, network: this.network, assignment });
    const around: NodeDependencies<Registers> = {
      machine: () => new Registers(),
      schedule,
      chance,
      network: this.network,
      etcd: this.etcd,
      oracle,
      nodes,
      counts,
      mutant: null,
    };
    for (const id of ids) nodes.set(id, new SimulatedNode(id, around));
    for (const node of nodes.values()) node.start();
    new SimulatedController('k1', ids.length, around);
    let value = 0;
    for (let i = 0; i < 5; i += 1) {
      const client = new SimulatedClient({ name: `c${i}`, until, around, nextValue: () => ++value });
      schedule.after(2000, () => client.run());
    }
    schedule.runUntil(FAULT_AT_MS);
  }

  get primary(): SimulatedNode {
    return this.nodes.get(this.etcd.current.assignment.primary!.node)!;
  }

  /** Reads and writes that were answered in these milliseconds. */
  served(fromMs: number, toMs: number): { reads: number; writes: number } {
    this.schedule.runUntil(fromMs);
    const { reads, writes } = this.counts;
    this.schedule.runUntil(toMs);
    return { reads: this.counts.reads - reads, writes: this.counts.writes - writes };
  }
}

const FAULTS: Record<string, (scene: Scene) => void> = {
  'hangs at its disk': ({ primary }) => primary.hangDisk(3_600_000),
  'is cut off from the other replicas, not from the cluster store and clients': ({ primary, network, nodes }) => {
    for (const id of nodes.keys())
      if (id !== primary.id)
        for (const link of [`${primary.id}>${id}`, `${id}>${primary.id}`]) network.blocked.add(link);
  },
};

describe.each([1, 2])('with at least %i in sync', (minInSync) => {
  test.each(Object.entries(FAULTS))('a primary that %s does not stop reads and writes for long', (_what, begin) => {
    for (let seed = 1; seed <= 3; seed += 1) {
      const scene = new Scene(seed, minInSync);
      const healthy = scene.served(FAULT_AT_MS - 1000, FAULT_AT_MS + 1000);
      begin(scene);
      const later = scene.served(
        FAULT_AT_MS + 1000 + SERVED_AGAIN_WITHIN_MS,
        FAULT_AT_MS + 3000 + SERVED_AGAIN_WITHIN_MS,
      );
      expect([seed, later.writes > healthy.writes / 4, later.reads > healthy.reads / 4]).toEqual([seed, true, true]);
      scene.oracle.checkHistory();
    }
  });
});

test('a primary whose disk is slow hands over once, and is left out of the in-sync set', () => {
  const leaders: string[] = [];
  for (let seed = 1; seed <= 3; seed += 1) {
    const scene = new Scene(seed, 2, NODES, FAULT_AT_MS + 85_000);
    const { primary: slow, etcd, schedule } = scene;
    leaders.length = 0;
    etcd.onChanged = (_author, before, after) => {
      if (after.primary!.node !== before.primary?.node) leaders.push(after.primary!.node);
    };
    const healthy = scene.served(FAULT_AT_MS, FAULT_AT_MS + 2000);
    // On average: few take less than what counts as long.
    slow.syncMs = 400;
    schedule.runUntil(FAULT_AT_MS + 50_000);
    const later = scene.served(FAULT_AT_MS + 50_000, FAULT_AT_MS + 52_000);
    expect([seed, leaders.length, etcd.current.assignment.inSync.map(({ node }) => node).includes(slow.id)]).toEqual([
      seed,
      1,
      false,
    ]);
    expect(later.writes).toBeGreaterThan(healthy.writes / 2);
    schedule.runUntil(FAULT_AT_MS + 80_000);
    expect([seed, leaders]).toEqual([seed, [etcd.current.assignment.primary!.node]]);
    scene.oracle.checkHistory();
  }
});

test('a primary with another replica, fewer than the minimum, shows nothing outdated once an eligible one leads', () => {
  for (let seed = 1; seed <= 3; seed += 1) {
    const scene = new Scene(seed, 3, ['A', 'B', 'C', 'D', 'E']);
    const { network, nodes, etcd, primary } = scene;
    const [other, ...rest] = [...nodes.keys()].filter((id) => id !== primary.id);
    const part = (some: string[], others: string[]): void => {
      for (const one of some)
        for (const id of others) for (const link of [`${one}>${id}`, `${id}>${one}`]) network.blocked.add(link);
    };
    part([primary.id, other], rest);
    scene.schedule.runUntil(FAULT_AT_MS + 4000);
    expect(etcd.current.assignment.inSync).toHaveLength(2);
    part([primary.id, other], [ETCD]);
    for (const id of [primary.id, other]) etcd.registered.delete(id);
    const later = scene.served(FAULT_AT_MS + 8000, FAULT_AT_MS + SERVED_AGAIN_WITHIN_MS);
    expect([seed, later.writes > 0, later.reads > 0]).toEqual([seed, true, true]);
    scene.oracle.checkHistory();
  }
});
