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

async function assign(shard: number): Promise<void> {
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
