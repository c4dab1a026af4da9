import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodeAgent, type NodeAgentOptions } from '../../../../node/cluster/node-agent';
import type { HostedReplica } from '../../../../node/cluster/hosted-replica';
import { removeReplica } from '../../../../node/replication/shard-copy';
import { assignmentPath, assignmentToValue, type ShardAssignment } from '../../../../shared/cluster/shard-assignment';
import { tombstonePath } from '../../../../shared/cluster/tombstones';
import type { ClusterStore } from '../../../../shared/cluster-store/cluster-store';
import { KeyValueClusterStore } from '../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../node/kv/memory-key-value-store';
import { silentLogger } from '../../../../shared/logs/logger';
import { systemClock } from '../../../../shared/time/clock';
import { eventually } from '../../../support/eventually';

/** What a node makes of the shard map, with replicas that are nothing but open or closed. */

let folder: string;
let store: ClusterStore;
let agent: NodeAgent | null = null;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-agent-'));
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
});
afterEach(async () => {
  await agent?.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(options: Partial<NodeAgentOptions>): Promise<NodeAgent> {
  agent = new NodeAgent({
    openReplicasMax: Infinity,
    nodeId: 'a',
    store,
    folder,
    openReplica: async (spec) => replicaOf(spec),
    removeReplica: ({ collectionUid, shard }) => removeReplica(join(folder, 'shards', collectionUid, String(shard))),
    tellFailures: () => undefined,
    clock: systemClock,
    log: silentLogger,
    ...options,
  });
  await agent.start();
  return agent;
}

function replicaOf(spec: ShardAssignment['spec']): HostedReplica {
  return { spec, replica: { assigned: () => undefined }, close: async () => undefined } as unknown as HostedReplica;
}

async function assign(shard: number, change: Partial<ShardAssignment> = {}): Promise<void> {
  const assignment: ShardAssignment = {
    spec: { collectionUid: 'c', shard, dim: 2, metric: 'cosine' },
    minInSync: 1,
    epoch: 1,
    primary: null,
    inSync: [],
    eligible: [],
    replicas: ['a'],
    adding: [],
    removing: [],
    changeId: '',
    ...change,
  };
  await store.transact([], [{ type: 'put', key: assignmentPath(assignment.spec), value: assignmentToValue(assignment) }]);
}

test('a shard that can not be opened is told of until it can', async () => {
  await assign(0);
  await assign(1);
  let isFull = true;
  const told: string[][] = [];
  const started = await start({
    openReplica: async (spec) => {
      if (spec.shard === 1 && isFull) throw new Error('no space left on device');
      return replicaOf(spec);
    },
    tellFailures: (paths) => void told.push(paths),
  });
  const sick = [assignmentPath({ collectionUid: 'c', shard: 1 })];
  expect(told.at(-1)).toEqual(sick);
  isFull = false;
  await eventually('it is open', () => started.hosted({ collectionUid: 'c', shard: 1 }) !== null);
  expect(told.at(-1)).toEqual([]);
});

test('a replica that fails while it is open is told of until it is open again', async () => {
  await assign(0);
  const told: string[][] = [];
  const started = await start({ tellFailures: (paths) => void told.push(paths) });
  started.failed({ collectionUid: 'c', shard: 0 });
  expect(told.at(-1)).toEqual([assignmentPath({ collectionUid: 'c', shard: 0 })]);
  await eventually('it is open', () => started.hosted({ collectionUid: 'c', shard: 0 }) !== null);
  expect(told.at(-1)).toEqual([]);
});

test('of a collection that was dropped while the node was down nothing is left, half-made copies neither', async () => {
  for (const name of ['0', '0.incoming', '1.incoming', '2.outgoing', 'note']) mkdirSync(join(folder, 'shards', 'gone', name, 'records'), { recursive: true });
  mkdirSync(join(folder, 'shards', 'unknown', '0'), { recursive: true });
  await store.transact([], [{ type: 'put', key: tombstonePath('gone'), value: '' }]);
  await start({});
  // What no tombstone names is nobody's to remove, and what is no shard's neither.
  expect(readdirSync(join(folder, 'shards', 'gone'))).toEqual(['note']);
  expect(readdirSync(join(folder, 'shards', 'unknown'))).toEqual(['0']);
});

describe('a replica that has moved away', () => {
  /** A node that keeps nothing; what happens to shard 0 in order, and a way to hold one step of it. */
  async function follow(): Promise<{ happened: string[]; hold: (step: string) => () => void }> {
    const happened: string[] = [];
    const held = new Map<string, Promise<void>>();
    const step = async (name: string): Promise<void> => {
      happened.push(name);
      await held.get(name);
    };
    await assign(0);
    await start({
      keepMovedMs: 1,
      openReplica: async (spec) => {
        await step('opened');
        return { ...replicaOf(spec), close: () => step('closing').then(() => void happened.push('closed')) };
      },
      removeReplica: () => step('removing').then(() => void happened.push('removed')),
    });
    const hold = (name: string): (() => void) => {
      let letGo = (): void => undefined;
      held.set(name, new Promise<void>((go) => (letGo = go)));
      return () => {
        held.delete(name);
        letGo();
      };
    };
    return { happened, hold };
  }

  test.each(['closing', 'removing'])('and comes back while it is %s is opened after that', async (step) => {
    const { happened, hold } = await follow();
    const letGo = hold(step);
    await assign(0, { replicas: ['b'], epoch: 2 });
    await eventually('it is there', () => happened.includes(step));
    await assign(0, { epoch: 3 });
    await eventually('the node knows', () => agent!.replicaCount === 1);
    // Whatever is done without waiting is done by then.
    await new Promise((wake) => setTimeout(wake, 20));
    expect(happened.filter((one) => one === 'opened')).toHaveLength(1);
    letGo();
    await eventually('it is open', () => agent!.hosted({ collectionUid: 'c', shard: 0 }) !== null);
    expect(happened).toEqual(['opened', 'closing', 'closed', ...(step === 'removing' ? ['removing', 'removed'] : []), 'opened']);
  });

  test('is kept as long as it may be promoted', async () => {
    const removed: number[] = [];
    for (const shard of [0, 1]) await assign(shard);
    const started = await start({ keepMovedMs: 1, removeReplica: async ({ shard }) => void removed.push(shard) });
    await assign(0, { replicas: ['b'], eligible: [{ node: 'a', store: 'a.0' }], epoch: 2 });
    await eventually('the node knows', () => started.replicaCount === 1);
    await assign(1, { replicas: ['b'], epoch: 2 });
    await eventually('the other one is removed', () => removed.includes(1));
    expect(removed).toEqual([1]);
  });

  test('goes at once when its collection is dropped', async () => {
    const removed: number[] = [];
    await assign(0);
    const started = await start({ removeReplica: async ({ shard }) => void removed.push(shard) });
    await assign(0, { replicas: ['b'], epoch: 2 });
    await eventually('the node knows', () => started.replicaCount === 0);
    await store.transact([], [{ type: 'put', key: tombstonePath('c'), value: '' }]);
    await eventually('it is removed', () => removed.length === 1);
  });
});
