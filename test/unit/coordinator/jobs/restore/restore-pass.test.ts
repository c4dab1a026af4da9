import { RestorePass } from '../../../../../coordinator/jobs/restore/restore-pass';
import {
  restoreFromEntry,
  restorePath,
  type RestoreRecord,
} from '../../../../../coordinator/jobs/backup/backup-record';
import { CollectionCatalog } from '../../../../../coordinator/service/collections/collection-catalog';
import type { CollectionQuota } from '../../../../../coordinator/service/collections/collection-quota';
import { ReshardRequests } from '../../../../../coordinator/jobs/reshard/reshard-requests';
import {
  collectionToValue,
  type CollectionRecord,
  dropPath,
  type DropIntent,
} from '../../../../../coordinator/service/collections/collection-record';
import { ONLY_DRIVER, OwnedEntry } from '../../../../../coordinator/jobs/driving/owned-entry';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import {
  assignmentFromEntry,
  assignmentPath,
  assignmentToValue,
  type ShardAssignment,
} from '../../../../../shared/cluster-store/entries/shard-assignment';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { beingFilled } from '../../../../../shared/contract/shard/shard-backup';
import type { ShardClient } from '../../../../../shared/contract/shard/shard-client';
import { ManualClock } from '../../../../support/manual-clock';

/** What a restore does with the shards that it has made. */

const uid = 'restored';
const record: CollectionRecord = {
  uid,
  identity: uid,
  name: 'things',
  dim: 2,
  metric: 'l2',
  description: null,
  language: null,
  quantization: 'int8',
  shards: 2,
  replicas: 1,
  minInSync: 1,
  createdAt: '',
  embeddingModel: null,
  state: 'creating',
};
const self = { node: 'n', store: 's' };
const clock = new ManualClock(0);
let store: ClusterStore;
let aliasesSettled: () => Promise<void>;

beforeEach(async () => {
  aliasesSettled = async () => undefined;
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
});
afterEach(() => store.close());

const NO_DROP: (intent: DropIntent) => Promise<void> = async () => undefined;

/**
 * The pass of a restore, over shards that answer as `read` does; with `isStored`, that of another driver who goes on
 * with it.
 */
async function passOf(
  read: (assigned: ShardAssignment | null) => Promise<unknown>,
  { isStored = false, drop = NO_DROP } = {},
): Promise<RestorePass> {
  const restore: RestoreRecord = {
    id: 'restore-x',
    backup: 'b',
    target: 'file:/x',
    state: 'running',
    collections: [{ from: 'things', fromUid: 'before', record: collectionToValue(record), shardsReady: 0 }],
    manifests: { b: 'the checksum' },
    keys: false,
    startedAt: '',
    endedAt: null,
    error: null,
  };
  const key = restorePath(restore.id);
  if (!isStored) await store.transact([], [{ type: 'put', key, value: JSON.stringify(restore) }]);
  const { value, revision } = (await store.get(key))!;
  const owned = new OwnedEntry({ store, leadership: ONLY_DRIVER }, key, restoreFromEntry({ key, value }), revision);
  const shards = {
    // As the controller does when it sees the reservation.
    make: async ({ seed, ...spec }) => {
      const path = assignmentPath(spec);
      if ((await store.get(path)) !== null) return;
      const assignment: ShardAssignment = {
        spec: { ...spec, ...(seed !== undefined && { seed }) },
        minInSync: 1,
        epoch: 1,
        primary: self,
        inSync: [self],
        eligible: [],
        replicas: ['n'],
        adding: [],
        removing: [],
        changeId: 'made',
      };
      await store.transact(
        [{ key: path, revision: 0 }],
        [{ type: 'put', key: path, value: assignmentToValue(assignment) }],
      );
    },
    read: async (id) => {
      const entry = await store.get(assignmentPath(id));
      return read(entry === null ? null : assignmentFromEntry(entry));
    },
  } as Pick<ShardClient, 'make' | 'read'>;
  const quota: CollectionQuota = {
    collectionsMax: 9,
    shardsOf: ({ shards }) => shards,
    room: () => ({ shardsMax: 99, source: '' }),
  };
  const reshards = new ReshardRequests({ store, shards: shards as ShardClient, clock, quota });
  return new RestorePass(owned, {
    store,
    leadership: ONLY_DRIVER,
    reshards,
    shards,
    catalog: new CollectionCatalog({ store }),
    quota,
    clock,
    drop,
    aliasesSettled: () => aliasesSettled(),
    stop: new AbortController().signal,
  });
}

const published = async (): Promise<boolean> =>
  JSON.parse((await store.get('/q/collections/things'))?.value ?? '{}').state === 'ready';

test('before anybody may write to a shard, it is no longer to begin with what the backup has, under a later epoch', async () => {
  const seen: string[] = [];
  await (
    await passOf(async (assigned) =>
      seen.push(`${assigned?.spec.seed?.backup ?? 'none'} ${assigned?.epoch} ${await published()}`),
    )
  ).run();
  // Each of them serves with its seed, and then without, and is not visible yet.
  expect(seen).toEqual(['b 1 false', 'b 1 false', 'none 2 false', 'none 2 false']);
  expect(await published()).toBe(true);
});

test('a collection is not published while others may know an alias of its name', async () => {
  aliasesSettled = async () => {
    expect(await published()).toBe(false);
    throw new QuiverError('unavailable', 'coordinator b does not answer');
  };
  await expect((await passOf(async () => undefined)).run()).rejects.toThrow('coordinator b does not answer');
  expect(await published()).toBe(false);
  aliasesSettled = async () => undefined;
  await (await passOf(async () => undefined, { isStored: true })).run();
  expect(await published()).toBe(true);
});

test('shards are told which manifest was judged', async () => {
  const seen = new Set<string | undefined>();
  await (await passOf(async (assigned) => seen.add(assigned?.spec.seed?.sha256))).run();
  expect([...seen]).toEqual(['the checksum', undefined]);
});

test('shards that do not serve make it fail after some time, with the reason; those that are being filled are waited for', async () => {
  const hourMs = 3_600_000;
  const answers = [beingFilled(0), beingFilled(0), new QuiverError('unavailable', 'the node is away')];
  const pass = await passOf(async () => {
    clock.advance(hourMs);
    throw answers.length > 1 ? answers.shift() : answers[0];
  });
  await expect(pass.run()).rejects.toMatchObject({
    kind: 'invalid_parameter',
    message: expect.stringContaining('the node is away'),
  });
  expect(answers).toHaveLength(1);
});

describe('what a restore takes back', () => {
  const dropped: DropIntent[] = [];
  const drop = async (intent: DropIntent): Promise<void> => void dropped.push(intent);
  beforeEach(() => dropped.splice(0));

  test('is nothing where it had begun nothing', async () => {
    await store.transact(
      [],
      [
        {
          type: 'put',
          key: '/q/collections/things',
          value: JSON.stringify({ ...record, uid: 'another', identity: 'another', state: 'ready' }),
        },
      ],
    );
    const pass = await passOf(async () => 1, { drop });
    await expect(pass.run()).rejects.toMatchObject({ kind: 'already_exists' });
    await pass.undo();
    expect(dropped).toEqual([]);
  });

  test('is what it had reserved, also when the driver before ended while it took it back', async () => {
    const pass = await passOf(
      async () => Promise.reject(new QuiverError('storage_damaged', 'the backup is of no use')),
      { drop },
    );
    await expect(pass.run()).rejects.toMatchObject({ kind: 'storage_damaged' });
    await pass.undo();
    expect(dropped).toMatchObject([{ uid, shards: 2 }]);
    expect(await store.get(dropPath(uid))).not.toBeNull();
    await (await passOf(async () => 1, { isStored: true, drop })).undo();
    expect(dropped).toMatchObject([{ uid }, { uid }]);
  });
});

describe('a driver that goes on with a restore whose collection was visible already', () => {
  const key = '/q/collections/things';
  const readable = async (): Promise<number> => 1;

  test.each([
    ['and was deleted', null, ['things']],
    [
      'and was made again',
      JSON.stringify({ ...record, uid: 'another', identity: 'another', state: 'ready' }),
      ['things'],
    ],
    ['and has other shards since', JSON.stringify({ ...record, uid: 'resharded', state: 'ready' }), []],
  ])('%s leaves it so, and tells of those that are gone', async (_what, since, deleted) => {
    await (await passOf(readable)).run();
    const change = since === null ? { type: 'delete' as const, key } : { type: 'put' as const, key, value: since };
    await store.transact([], [change]);
    let reads = 0;
    expect(await (await passOf(async () => (reads += 1), { isStored: true })).run()).toEqual(deleted);
    expect([reads, (await store.get(key))?.value ?? null]).toEqual([0, since]);
  });

  test('publishes what is still reserved', async () => {
    await (await passOf(readable)).run();
    await store.transact([], [{ type: 'put', key, value: collectionToValue(record) }]);
    await (await passOf(readable, { isStored: true })).run();
    expect(await published()).toBe(true);
  });

  test('a call of an earlier driver reserves nothing any more', async () => {
    const late = await passOf(readable);
    await (await passOf(readable, { isStored: true })).run();
    await store.transact([], [{ type: 'delete', key }]);
    await expect(late.run()).rejects.toThrow();
    expect(await store.get(key)).toBeNull();
  });
});
