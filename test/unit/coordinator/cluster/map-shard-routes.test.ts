import { ClusterMap } from '../../../../coordinator/cluster/cluster-map';
import { MapShardRoutes } from '../../../../coordinator/cluster/map-shard-routes';
import { KeyValueClusterStore } from '../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../node/kv/memory-key-value-store';
import { NODES_PREFIX } from '../../../../shared/cluster/members';
import { assignmentPath, assignmentToValue } from '../../../../shared/cluster/shard-assignment';
import { silentLogger } from '../../../../shared/logs/logger';
import { ManualClock } from '../../../../shared/time/clock';
import { assignmentOf, replicaOn } from '../../../support/assignment';
import { eventually } from '../../../support/eventually';

/** Which followers a route names for reads, by the members and the assignment in the map. */

const SHARD = { collectionUid: 'c', shard: 0 };
const KNOWS = { protocol: 2, oldestProtocol: 1, features: ['follower-reads'] };

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

async function followersOf(options: { inSync: string[]; versions: Record<string, object>; readReplicas?: 'primary' | 'in-sync' }): Promise<readonly string[] | undefined> {
  const { inSync, versions, readReplicas = 'in-sync' } = options;
  const put = (key: string, value: string): Promise<unknown> => store.transact([], [{ type: 'put', key, value }]);
  for (const [id, version] of Object.entries(versions)) {
    const member = { id, address: `${id}:1`, store: `${id}.0`, zone: '', diskBytes: 0, freeBytes: 0, ...version };
    await put(NODES_PREFIX + id, JSON.stringify(member));
  }
  await put(assignmentPath(SHARD), assignmentToValue(assignmentOf({ inSync: inSync.map(replicaOn), replicas: ['a', 'b', 'c'] })));
  await map.follow();
  const routes = new MapShardRoutes({ map, clock: new ManualClock(), readReplicas });
  try {
    await eventually('there is a route', () => routes.route(SHARD) !== null);
    return routes.route(SHARD)?.followers;
  } finally {
    routes.close();
  }
}

test('in-sync replicas besides the primary are named', async () => {
  expect(await followersOf({ inSync: ['a', 'b'], versions: { a: KNOWS, b: KNOWS, c: KNOWS } })).toEqual(['b:1']);
});

test('none while a replica of the shard is of a version that does not know it, or was never seen', async () => {
  expect(await followersOf({ inSync: ['a', 'b'], versions: { a: KNOWS, b: KNOWS, c: { protocol: 2, oldestProtocol: 1, features: ['digest-at'] } } })).toBe(undefined);
  expect(await followersOf({ inSync: ['a', 'b', 'c'], versions: { a: KNOWS, b: KNOWS, c: {} } })).toBe(undefined);
});

test('none of another store than is in sync', async () => {
  expect(await followersOf({ inSync: ['a', 'b'], versions: { a: KNOWS, b: { ...KNOWS, store: 'b.1' }, c: KNOWS } })).toBe(undefined);
});

test('none when reads are to go to primaries alone', async () => {
  expect(await followersOf({ inSync: ['a', 'b'], versions: { a: KNOWS, b: KNOWS, c: KNOWS }, readReplicas: 'primary' })).toBe(undefined);
});
