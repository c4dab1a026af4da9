import { ClusterMap } from '../../../../../coordinator/cluster/cluster-map';
import { MapShardRoutes } from '../../../../../coordinator/cluster/calls/map-shard-routes';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { KNOWN_NODES_PREFIX, knownOf, NODES_PREFIX } from '../../../../../shared/cluster-store/entries/members';
import { assignmentPath, assignmentToValue } from '../../../../../shared/cluster-store/entries/shard-assignment';
import type { ShardRoute } from '../../../../../coordinator/cluster/calls/shard-routes';
import { FEATURES } from '../../../../../shared/base/process/member-version';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { ManualClock } from '../../../../support/manual-clock';
import { assignmentOf, replicaOn } from '../../../../support/cluster/assignment';
import { eventually } from '../../../../support/eventually';

/** Which followers a route names for reads, by the members and the assignment in the map. */

const SHARD = { collectionUid: 'c', shard: 0 };

let store: KeyValueClusterStore;
let map: ClusterMap;

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  map = new ClusterMap({ store, log: silentLogger });
});
afterEach(async () => {
  map.close();
  await store.close();
});

interface Cluster {
  inSync: string[];
  members: Record<string, object>;
  readReplicas?: 'primary' | 'in-sync';
}

async function followersOf(cluster: Cluster): Promise<readonly string[] | undefined> {
  return (await routeIn(cluster))?.followers;
}

async function routeIn(options: Cluster): Promise<ShardRoute | null> {
  const { inSync, members, readReplicas = 'in-sync' } = options;
  const put = (key: string, value: string): Promise<unknown> => store.transact([], [{ type: 'put', key, value }]);
  for (const [id, more] of Object.entries(members)) {
    const member = { id, address: `${id}:1`, store: `${id}.0`, zone: '', diskBytes: 0, freeBytes: 0, ...more };
    await put(NODES_PREFIX + id, JSON.stringify(member));
  }
  await put(
    assignmentPath(SHARD),
    assignmentToValue(assignmentOf({ inSync: inSync.map(replicaOn), replicas: ['a', 'b', 'c'] })),
  );
  await map.follow();
  const routes = new MapShardRoutes({ map, clock: new ManualClock(), readReplicas });
  try {
    await eventually('there is a route', () => routes.route(SHARD) !== null);
    return routes.route(SHARD);
  } finally {
    routes.close();
  }
}

test('in-sync replicas besides the primary are named', async () => {
  expect(await followersOf({ inSync: ['a', 'b'], members: { a: {}, b: {}, c: {} } })).toEqual(['b:1']);
});

test('none of another store than is in sync', async () => {
  expect(await followersOf({ inSync: ['a', 'b'], members: { a: {}, b: { store: 'b.1' }, c: {} } })).toBe(undefined);
});

test('none when reads are to go to primaries alone', async () => {
  expect(await followersOf({ inSync: ['a', 'b'], members: { a: {}, b: {}, c: {} }, readReplicas: 'primary' })).toBe(
    undefined,
  );
});

test('what some node that is there, or that has a replica, is not known to have is said', async () => {
  const able = { protocol: 3, oldestProtocol: 3, features: [...FEATURES] };
  const later = { ...able, features: [...FEATURES, 'of-later'] };
  expect((await routeIn({ inSync: ['a', 'b'], members: { a: able, b: able, c: later } }))?.lacking).toBe(undefined);
  expect((await routeIn({ inSync: ['a', 'b'], members: { d: { ...able, features: [] } } }))?.lacking).toEqual(FEATURES);
});

test('a replica of a node of which nothing is known lacks all', async () => {
  const able = { protocol: 3, oldestProtocol: 3, features: [...FEATURES] };
  expect((await routeIn({ inSync: ['a', 'b'], members: { a: able, b: able } }))?.lacking).toEqual(FEATURES);
});

describe('a coordinator that starts while a node is away', () => {
  const put = (key: string, value: object): Promise<unknown> =>
    store.transact([], [{ type: 'put', key, value: JSON.stringify(value) }]);
  const member = (id: string) => ({
    id,
    address: `${id}:1`,
    store: `${id}.0`,
    zone: '',
    pid: 1,
    incarnation: '',
    startedAt: '',
    diskBytes: 0,
    freeBytes: 0,
  });

  async function routesWith(noted: string[], inSync: string[]): Promise<MapShardRoutes> {
    for (const id of ['a', 'b']) await put(NODES_PREFIX + id, member(id));
    for (const id of noted) await put(KNOWN_NODES_PREFIX + id, knownOf(member(id)));
    await store.transact(
      [],
      [
        {
          type: 'put',
          key: assignmentPath(SHARD),
          value: assignmentToValue(assignmentOf({ inSync: inSync.map(replicaOn), replicas: ['a', 'b', 'c'] })),
        },
      ],
    );
    await map.follow();
    return new MapShardRoutes({ map, clock: new ManualClock(), readReplicas: 'primary' });
  }

  test('reaches a primary that is cut off from the cluster store alone', async () => {
    const routes = await routesWith(['c'], ['c']);
    expect(routes.route(SHARD)).toMatchObject({ node: 'c', address: 'c:1' });
    routes.close();
  });
});
