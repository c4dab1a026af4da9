import { ClusterMap } from '../../../../../coordinator/cluster/cluster-map';
import { Controller } from '../../../../../coordinator/cluster/controller/controller';
import {
  collectionPath,
  type CollectionRecord,
  collectionToValue,
} from '../../../../../coordinator/service/collections/collection-record';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { CONTROLLER_PATH, NODES_PREFIX } from '../../../../../shared/cluster-store/entries/members';
import {
  assignmentFromEntry,
  assignmentPath,
  assignmentToValue,
  type ShardAssignment,
} from '../../../../../shared/cluster-store/entries/shard-assignment';
import type { StoreChange } from '../../../../../shared/cluster-store/cluster-store';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { OWN_VERSION, versionToFields } from '../../../../../shared/base/process/member-version';
import { ManualClock } from '../../../../support/manual-clock';
import { assignmentOf, replicaOn } from '../../../../support/cluster/assignment';
import { eventually } from '../../../../support/eventually';
import { InterceptedClusterStore } from '../../../../support/cluster/intercepted-cluster-store';

/** The controller at work on a cluster store that changes between its decisions and what it makes of them. */

let store: InterceptedClusterStore;
let map: ClusterMap;
let controller: Controller | null = null;
let clock: ManualClock;

beforeEach(async () => {
  store = new InterceptedClusterStore(await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() }));
  map = new ClusterMap({ store, log: silentLogger });
  clock = new ManualClock();
});
afterEach(async () => {
  await controller?.close();
  map.close();
  await store.close();
});

async function start(): Promise<void> {
  await map.follow();
  controller = new Controller({
    store,
    map,
    leadership: { guard: { key: CONTROLLER_PATH, revision: 0 } },
    clock,
    log: silentLogger,
  });
  controller.look();
}

async function put(key: string, value: string): Promise<void> {
  await store.transact([], [{ type: 'put', key, value }]);
}

const register = (id: string, dataFolder = `${id}.0`): Promise<void> =>
  put(
    NODES_PREFIX + id,
    JSON.stringify({
      id,
      address: id,
      store: dataFolder,
      zone: '',
      diskBytes: 0,
      freeBytes: 0,
      ...versionToFields(OWN_VERSION),
    }),
  );

/** A shard whose replicas on nodes a and b are in sync, led by a. */
async function assign(shard: number): Promise<void> {
  const spec = { collectionUid: 'c', shard, dim: 2, metric: 'cosine' as const };
  await put(assignmentPath(spec), assignmentToValue(assignmentOf({ spec, inSync: ['a', 'b'].map(replicaOn) })));
}

async function want(uid: string, changes: Partial<CollectionRecord> = {}): Promise<void> {
  const rest = {
    dim: 2,
    metric: 'cosine',
    description: null,
    language: null,
    quantization: 'int8',
    createdAt: '',
    embeddingModel: null,
    state: 'ready',
  } as const;
  await put(
    collectionPath(uid),
    collectionToValue({ uid, identity: uid, name: uid, shards: 1, replicas: 1, minInSync: 1, ...rest, ...changes }),
  );
}

async function storedAssignment(collectionUid: string, shard: number): Promise<ShardAssignment | null> {
  const entry = await store.get(assignmentPath({ collectionUid, shard }));
  return entry === null ? null : assignmentFromEntry(entry);
}

const isOfShards = (changes: StoreChange[]): boolean =>
  changes.some(({ key }) => key.startsWith(assignmentPath({ collectionUid: 'c', shard: 0 }).slice(0, -1)));

/** Lets `happen` happen between the next decision about shards of c and its transaction. */
function beforeItsNextChange(happen: () => Promise<void>): void {
  store.beforeTransact = async (changes) => {
    if (!isOfShards(changes)) return;
    store.beforeTransact = async () => undefined;
    await happen();
  };
}

test.each([
  ['is gone', () => store.transact([], [{ type: 'delete', key: `${NODES_PREFIX}b` }])],
  ['has lost its data', () => register('b', 'b.1')],
])('a replica is not promoted whose node %s by then', async (_what, happens) => {
  await assign(0);
  await register('b');
  let isTried = false;
  beforeItsNextChange(async () => {
    await happens();
    isTried = true;
  });
  await start();
  await eventually('a promotion was tried', () => isTried);
  await want('later');
  await register('d');
  await eventually('it has decided again', async () => (await storedAssignment('later', 0)) !== null);
  expect(await storedAssignment('c', 0)).toMatchObject({ epoch: 1, primary: { node: 'a' } });
});

test('what is left of a plan that takes long is decided again', async () => {
  for (const shard of [0, 1, 2]) await assign(shard);
  await register('b');
  beforeItsNextChange(async () => {
    await register('a');
    clock.advance(1000);
  });
  await start();
  await eventually('one was promoted', async () =>
    (await Promise.all([0, 1, 2].map((shard) => storedAssignment('c', shard)))).some((one) => one?.epoch === 2),
  );
  await want('later');
  await eventually('it has decided again', async () => (await storedAssignment('later', 0)) !== null);
  const epochs = (await Promise.all([0, 1, 2].map((shard) => storedAssignment('c', shard)))).map(
    (one) => one?.epoch ?? 0,
  );
  expect(epochs.sort((one, other) => one - other)).toEqual([1, 1, 2]);
});

describe('a new shard', () => {
  test('is made unused while its collection is being created', async () => {
    await register('a');
    await want('c', { state: 'creating' });
    await start();
    await eventually('it is made', async () => (await storedAssignment('c', 0)) !== null);
    expect(await storedAssignment('c', 0)).toMatchObject({ epoch: 1, unused: true });
  });

  test('is not, when its collection is there by the time it is made', async () => {
    await register('a');
    await want('c', { state: 'creating', shards: 2 });
    beforeItsNextChange(async () => {
      await want('c', { shards: 2 });
      await eventually('it is known', () => map.collections.get(collectionPath('c'))?.value.state === 'ready');
    });
    await start();
    await eventually('both are made', async () =>
      (await Promise.all([0, 1].map((shard) => storedAssignment('c', shard)))).every((one) => one !== null),
    );
    for (const shard of [0, 1]) expect(await storedAssignment('c', shard)).not.toHaveProperty('unused');
  });
});
