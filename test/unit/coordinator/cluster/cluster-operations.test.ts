import { ClusterMap } from '../../../../coordinator/cluster/cluster-map';
import { ClusterOperations } from '../../../../coordinator/cluster/cluster-operations';
import { GoneNodes, GONE_KEPT_MS } from '../../../../coordinator/cluster/gone-nodes';
import { collectionPath, collectionToValue, type CollectionRecord } from '../../../../coordinator/collections/collection-record';
import { reshardPath, type ReshardRecord, type ReshardState, reshardToValue } from '../../../../coordinator/collections/reshard/reshard-record';
import { HealthReading } from '../../../../coordinator/operations/health-reading';
import { KeyValueClusterStore } from '../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../node/kv/memory-key-value-store';
import { CONTROLLER_PATH, GONE_NODES_PREFIX, NODES_PREFIX } from '../../../../shared/cluster/members';
import { assignmentPath, assignmentToValue, type ShardAssignment } from '../../../../shared/cluster/shard-assignment';
import { silentLogger } from '../../../../shared/logs/logger';
import { ManualClock } from '../../../../shared/time/clock';
import { eventually } from '../../../support/eventually';

const COLLECTION: CollectionRecord = {
  ...{ uid: 'old', identity: 'old', name: 'books', dim: 2, metric: 'cosine', description: null, language: null, quantization: 'int8' },
  ...{ shards: 1, replicas: 2, minInSync: 1, createdAt: '', embeddingModel: null, state: 'ready' },
};

function assignment(collectionUid: string, shard: number, inSync: string[]): ShardAssignment {
  const members = inSync.map((node) => ({ node, store: `${node}-store` }));
  const spec = { collectionUid, shard, dim: 2, metric: 'cosine' as const };
  return { spec, minInSync: 1, epoch: 1, primary: members[0] ?? null, inSync: members, eligible: [], replicas: ['a', 'b'], adding: [], removing: [], changeId: '' };
}

function reshard(state: ReshardState): ReshardRecord {
  const to = { uid: 'new', shards: 2 };
  const rest = { earlier: [], replicas: 2, term: 1, startedAt: '', error: null, sources: [], copied: 0, total: 0, behind: 0 };
  return { id: 'new', identity: 'old', name: 'books', from: { uid: 'old', shards: 1 }, to, state, ...rest };
}

/** A coordinator that is the controller, and what nodes put into the store. */
async function controllerOf(store: KeyValueClusterStore, clock: ManualClock) {
  const map = new ClusterMap({ store, log: silentLogger });
  await map.follow();
  const office = { guard: { key: CONTROLLER_PATH, revision: 0 } };
  const gone = new GoneNodes({ store, map, office, clock, log: silentLogger });
  const health = new HealthReading({ clock, collections: async () => [], embedding: () => ({ configured: '', active: '', fallbackReason: null, dim: null }) });
  const operations = new ClusterOperations({ store, map, askNode: async () => null, health, reshards: async () => [], clock, log: silentLogger });
  const end = (): void => {
    gone.close();
    map.close();
  };
  return { map, gone, operations, end };
}

let store: KeyValueClusterStore;
const clock = new ManualClock(Date.UTC(2026, 10, 23));
const put = (key: string, value: string): Promise<unknown> => store.transact([], [{ type: 'put', key, value }]);
const join = (id: string): Promise<unknown> =>
  put(NODES_PREFIX + id, JSON.stringify({ id, address: `${id}:1`, store: `${id}-store`, incarnation: '', zone: 'z', pid: 7, startedAt: '', diskBytes: 0, freeBytes: 0 }));
const leave = (id: string): Promise<unknown> => store.transact([], [{ type: 'delete', key: NODES_PREFIX + id }]);

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
});

afterEach(() => store.close());

test('the shards that a collection is to have are shown with their replicas until they are its own', async () => {
  await put(collectionPath('books'), collectionToValue(COLLECTION));
  for (const one of [assignment('old', 0, ['a', 'b']), assignment('new', 0, ['a', 'b']), assignment('new', 1, [])]) await put(assignmentPath(one.spec), assignmentToValue(one));
  await put(reshardPath('old'), reshardToValue(reshard('filling')));
  const { operations, map, end } = await controllerOf(store, clock);
  try {
    const { shards, newShards } = await operations.cluster();
    expect(shards).toMatchObject([{ collection: 'books', shard: 0, inSync: ['a', 'b'] }]);
    expect(newShards).toMatchObject([
      { collection: 'books', shard: 0, primary: 'a', inSync: ['a', 'b'], state: 'unavailable' },
      { collection: 'books', shard: 1, primary: null, inSync: [], state: 'unavailable' },
    ]);
    await store.transact(
      [],
      [
        { type: 'put', key: collectionPath('books'), value: collectionToValue({ ...COLLECTION, uid: 'new', shards: 2 }) },
        { type: 'put', key: reshardPath('old'), value: reshardToValue(reshard('retiring')) },
      ],
    );
    await eventually('the map has it', () => map.reshards.get(reshardPath('old'))?.value.state === 'retiring' && map.collections.all()[0].value.shards === 2);
    const after = await operations.cluster();
    expect(after.shards.map(({ shard }) => shard)).toEqual([0, 1]);
    expect(after.newShards).toEqual([]);
  } finally {
    end();
  }
});

test('a node that is gone is shown as down, with since when, also by a coordinator that never saw it', async () => {
  for (const id of ['a', 'b']) await join(id);
  const { operations, map, gone, end } = await controllerOf(store, clock);
  const wentAt = new Date(clock.wallMs()).toISOString();
  await leave('b');
  await eventually('the map knows', () => map.nodes.all().length === 1);
  clock.advance(60_000);
  await gone.note();
  const later = await controllerOf(store, clock);
  try {
    for (const one of [operations, later.operations]) {
      const { nodes } = await one.cluster();
      expect(nodes).toMatchObject([
        { id: 'a', state: 'up', downSince: null },
        { id: 'b', state: 'down', downSince: wentAt, address: 'b:1', zone: 'z', replicas: 0 },
      ]);
    }
    // It comes back.
    await join('b');
    await eventually('the map knows', () => map.nodes.all().length === 2);
    await gone.note();
    expect((await operations.cluster()).nodes).toMatchObject([{ id: 'a' }, { id: 'b', state: 'up', downSince: null }]);
    expect((await store.list(GONE_NODES_PREFIX)).entries).toEqual([]);
  } finally {
    end();
    later.end();
  }
});

test('a node that is gone and holds nothing is shown for a day, or until it is drained', async () => {
  for (const id of ['a', 'b', 'c']) await join(id);
  const { operations, map, gone, end } = await controllerOf(store, clock);
  const shown = async (): Promise<string[]> => (await operations.cluster()).nodes.map(({ id, state }) => `${id} ${state}`);
  try {
    for (const id of ['b', 'c']) await leave(id);
    await eventually('the map knows', () => map.nodes.all().length === 1);
    await gone.note();
    expect(await shown()).toEqual(['a up', 'b down', 'c down']);
    expect(await operations.drain('b')).toMatchObject({ id: 'b', state: 'down' });
    expect(await shown()).toEqual(['a up', 'c down']);
    await operations.undrain('b');
    expect(await shown()).toEqual(['a up', 'b down', 'c down']);
    clock.advance(GONE_KEPT_MS + 1);
    await gone.note();
    await eventually('the map knows', () => map.gone.all().length === 0);
    await gone.note();
    expect(await shown()).toEqual(['a up']);
    await expect(operations.drain('c')).rejects.toMatchObject({ kind: 'not_found' });
  } finally {
    end();
  }
});
