import { ClusterMap } from '../../../../coordinator/cluster/cluster-map';
import { ClusterOperations } from '../../../../coordinator/cluster/cluster-operations';
import { Drains } from '../../../../coordinator/cluster/drains';
import { featureObstacle } from '../../../../coordinator/cluster/feature-obstacle';
import { GoneNodes, GONE_KEPT_MS } from '../../../../coordinator/cluster/controller/gone-nodes';
import {
  collectionPath,
  collectionToValue,
  type CollectionRecord,
} from '../../../../coordinator/service/collections/collection-record';
import {
  reshardPath,
  type ReshardRecord,
  type ReshardState,
  reshardToValue,
} from '../../../../coordinator/service/collections/reshard-record';
import { HealthReading } from '../../../../coordinator/cluster/operations/health-reading';
import { KeyValueClusterStore } from '../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../support/models/memory-key-value-store';
import {
  CONTROLLER_PATH,
  GONE_NODES_PREFIX,
  KNOWN_NODES_PREFIX,
  NODES_PREFIX,
} from '../../../../shared/cluster-store/entries/members';
import {
  assignmentPath,
  assignmentToValue,
  type ShardAssignment,
} from '../../../../shared/cluster-store/entries/shard-assignment';
import type { Guard } from '../../../../shared/cluster-store/cluster-store';
import { silentLogger } from '../../../../shared/base/logs/logger';
import { ManualClock } from '../../../support/manual-clock';
import { eventually } from '../../../support/eventually';

const COLLECTION: CollectionRecord = {
  ...{
    uid: 'old',
    identity: 'old',
    name: 'books',
    dim: 2,
    metric: 'cosine',
    description: null,
    language: null,
    quantization: 'int8',
  },
  ...{ shards: 1, replicas: 2, minInSync: 1, createdAt: '', embeddingModel: null, state: 'ready' },
};

function assignment(collectionUid: string, shard: number, inSync: string[]): ShardAssignment {
  const members = inSync.map((node) => ({ node, store: `${node}-store` }));
  const spec = { collectionUid, shard, dim: 2, metric: 'cosine' as const };
  return {
    spec,
    minInSync: 1,
    epoch: 1,
    primary: members[0] ?? null,
    inSync: members,
    eligible: [],
    replicas: ['a', 'b'],
    adding: [],
    removing: [],
    changeId: '',
  };
}

function reshard(state: ReshardState): ReshardRecord {
  const to = { uid: 'new', shards: 2 };
  const rest = {
    earlier: [],
    replicas: 2,
    term: 1,
    startedAt: '',
    error: null,
    sources: [],
    copied: 0,
    total: 0,
    behind: 0,
  };
  return { id: 'new', identity: 'old', name: 'books', from: { uid: 'old', shards: 1 }, to, state, ...rest };
}

/** A coordinator that is the controller, or with another leadership is not, and what nodes put into the store. */
async function controllerOf(
  store: KeyValueClusterStore,
  clock: ManualClock,
  leadership: { guard: Guard | null } = { guard: { key: CONTROLLER_PATH, revision: 0 } },
) {
  const map = new ClusterMap({ store, log: silentLogger });
  await map.follow();
  const gone = new GoneNodes({ store, map, leadership, clock, log: silentLogger });
  const health = new HealthReading({
    clock,
    collections: async () => [],
    embedding: () => ({ configured: '', active: '', fallbackReason: null, dim: null, models: [] }),
    rerankModels: [],
  });
  const operations = new ClusterOperations({
    store,
    map,
    askNode: async () => null,
    health,
    reshards: async () => [],
    drains: new Drains({ store, map, clock }),
    clock,
    log: silentLogger,
  });
  const end = (): void => {
    gone.close();
    map.close();
  };
  return { map, gone, operations, end };
}

let store: KeyValueClusterStore;
const clock = new ManualClock(Date.UTC(2026, 10, 23));
const put = (key: string, value: string): Promise<unknown> => store.transact([], [{ type: 'put', key, value }]);
const join = (id: string, more: object = {}): Promise<unknown> =>
  put(
    NODES_PREFIX + id,
    JSON.stringify({
      id,
      address: `${id}:1`,
      store: `${id}-store`,
      incarnation: '',
      zone: 'z',
      pid: 7,
      startedAt: '',
      diskBytes: 0,
      freeBytes: 0,
      ...more,
    }),
  );
const leave = (id: string): Promise<unknown> => store.transact([], [{ type: 'delete', key: NODES_PREFIX + id }]);

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
});

afterEach(() => store.close());

test('the shards that a collection is to have are shown with their replicas until they are its own', async () => {
  await put(collectionPath('books'), collectionToValue(COLLECTION));
  for (const one of [assignment('old', 0, ['a', 'b']), assignment('new', 0, ['a', 'b']), assignment('new', 1, [])])
    await put(assignmentPath(one.spec), assignmentToValue(one));
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
        {
          type: 'put',
          key: collectionPath('books'),
          value: collectionToValue({ ...COLLECTION, uid: 'new', shards: 2 }),
        },
        { type: 'put', key: reshardPath('old'), value: reshardToValue(reshard('retiring')) },
      ],
    );
    await eventually(
      'the map has it',
      () =>
        map.reshards.get(reshardPath('old'))?.value.state === 'retiring' && map.collections.all()[0].value.shards === 2,
    );
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
  const shown = async (): Promise<string[]> =>
    (await operations.cluster()).nodes.map(({ id, state }) => `${id} ${state}`);
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

describe('what a node is able to', () => {
  const known = async (id: string): Promise<unknown> =>
    JSON.parse((await store.get(KNOWN_NODES_PREFIX + id))?.value ?? 'null');
  const nodes = ['a', 'b'];

  beforeEach(async () => {
    await put(assignmentPath({ collectionUid: 'old', shard: 0 }), assignmentToValue(assignment('old', 0, nodes)));
    for (const id of nodes)
      await join(id, { protocol: 2, oldestProtocol: 1, features: ['expiry', 'of-later'], shardsMax: 7 });
  });

  test('is known to a coordinator that starts while the node is away, as long as the node holds a shard', async () => {
    const first = await controllerOf(store, clock);
    await first.gone.note();
    expect(await known('b')).toEqual({
      id: 'b',
      address: 'b:1',
      store: 'b-store',
      zone: 'z',
      pid: 7,
      shardsMax: 7,
      protocol: 2,
      oldestProtocol: 1,
      features: ['expiry', 'of-later'],
    });
    first.end();
    // No coordinator sees it go, nor comes back for days.
    await leave('b');
    clock.advance(3 * GONE_KEPT_MS);
    const second = await controllerOf(store, clock);
    await second.gone.note();
    clock.advance(3 * GONE_KEPT_MS);
    for (let times = 0; times < 2; times += 1) await second.gone.note();
    second.end();
    const third = await controllerOf(store, clock);
    try {
      expect(third.map.lastSeenNode('b')).toMatchObject({ store: 'b-store', features: ['expiry', 'of-later'] });
      expect(featureObstacle(third.map, 'expiry', 'items can expire')).toBeNull();
      expect((await third.operations.cluster()).nodes).toMatchObject([
        { id: 'a' },
        { id: 'b', state: 'down', address: 'b:1', downSince: expect.any(String) },
      ]);
      expect(third.map.usableNodes().map(({ id, shardsMax }) => [id, shardsMax])).toEqual([
        ['a', 7],
        ['b', 7],
      ]);
      // Its replica was made again elsewhere.
      await put(
        assignmentPath({ collectionUid: 'old', shard: 0 }),
        assignmentToValue({ ...assignment('old', 0, ['a']), replicas: ['a'] }),
      );
      await eventually('the map knows', () => !third.map.holders().has('b'));
      await third.gone.note();
      await eventually(
        'it is forgotten',
        () => third.map.known.all().length === 1 && third.map.gone.all().length === 0,
      );
      for (let times = 0; times < 2; times += 1) await third.gone.note();
      expect((await store.list(KNOWN_NODES_PREFIX)).entries.map(({ key }) => key)).toEqual([`${KNOWN_NODES_PREFIX}a`]);
      expect((await store.list(GONE_NODES_PREFIX)).entries).toEqual([]);
    } finally {
      third.end();
    }
  });

  test('is told by any coordinator that saw the node, where those of earlier versions noted when it went, and no more', async () => {
    const saw = await controllerOf(store, clock, { guard: null });
    await leave('b');
    await eventually('the map knows', () => saw.map.nodes.all().length === 1);
    await put(
      GONE_NODES_PREFIX + 'b',
      JSON.stringify({ id: 'b', address: 'b:1', zone: 'z', pid: 7, since: new Date(clock.wallMs()).toISOString() }),
    );
    const other = await controllerOf(store, clock);
    try {
      await other.gone.note();
      expect(featureObstacle(other.map, 'expiry', 'items can expire')).toBe(
        'items can expire once every member is known to be able to: b is away, and nobody noted of which version: start or drain it',
      );
      await saw.gone.note();
      await eventually('the other hears of it', () => other.map.lastSeenNode('b') !== null);
      expect(featureObstacle(other.map, 'expiry', 'items can expire')).toBeNull();
    } finally {
      saw.end();
      other.end();
    }
  });

  test('follows the node when its program changes, and a later version of a coordinator may have noted more', async () => {
    const one = await controllerOf(store, clock);
    try {
      await one.gone.note();
      await join('b', { protocol: 2, oldestProtocol: 1, features: [] });
      await eventually('the map knows', () => one.map.lastSeenNode('b')?.features?.length === 0);
      await one.gone.note();
      expect(await known('b')).toMatchObject({ features: [] });
      const more = JSON.stringify({ ...((await known('b')) as object), more: 1 });
      await put(KNOWN_NODES_PREFIX + 'b', more);
      await eventually('the map knows', () => 'more' in one.map.known.get(KNOWN_NODES_PREFIX + 'b')!.value);
      await one.gone.note();
      expect((await store.get(KNOWN_NODES_PREFIX + 'b'))?.value).toBe(more);
    } finally {
      one.end();
    }
  });
});
