import { collectionFromEntry, collectionPath } from '../../../../coordinator/collections/collection-record';
import { reshardFromEntry, RESHARDS_PREFIX } from '../../../../coordinator/collections/reshard/reshard-record';
import { restorePath } from '../../../../coordinator/backup/backup-record';
import { BackupRequests } from '../../../../coordinator/backup/backup-requests';
import type { RunningService } from '../../../../coordinator/service-factory';
import { FolderTarget } from '../../../../shared/backup/folder-target';
import { QuiverError } from '../../../../shared/errors/quiver-error';
import type { ShardClient } from '../../../../shared/shard/shard-client';
import { systemClock } from '../../../../shared/time/clock';
import { eventually } from '../../../support/eventually';
import { item, markingModel, newCollection, PlainEmbedding, textItem } from '../../../support/plain-service';
import { backedUp, Drivers, restoredBy, restoreEnded, RestoringNode } from '../../../support/restoring-node';

/** Restores into collections that are there and empty, over real shards. */

const BEFORE = ['a', 'b', 'c', 'd', 'e'];
let held: RestoringNode;
let service: RunningService;
let drivers: Drivers;
let backup: string;
/** Called before shards are opened that take what they have from a backup. */
let beforeFilling: () => Promise<unknown>;
/** Called with what is written to shards, before it is. */
let beforeWrite: (id: Parameters<ShardClient['write']>[0], operations: Parameters<ShardClient['write']>[1]) => Promise<void>;

const embedding = new PlainEmbedding([markingModel('first', null, 1), markingModel('second', null, 2)]);

beforeEach(async () => {
  beforeWrite = async () => undefined;
  beforeFilling = async () => undefined;
  held = await RestoringNode.start();
  const { client } = held;
  const shardClient: ShardClient = {
    ...client,
    open: async (spec) => {
      if (spec.seed !== undefined) await beforeFilling();
      return client.open(spec);
    },
    write: async (id, operations, call) => {
      await beforeWrite(id, operations);
      return client.write(id, operations, call);
    },
  };
  service = await held.service({ shardClient, embedding });
  drivers = await Drivers.start(service);
  await service.collections.create(newCollection('things', { shards: 3 }));
  await service.vectors.upsert(
    'things',
    BEFORE.map((id, i) => item(id, [1, i + 1], { metadata: { i } })),
  );
  backup = await backedUp(service);
});
afterEach(async () => {
  await drivers.close();
  await held.end();
});

const idsOf = async (name: string): Promise<string[]> => (await service.vectors.scroll(name, { cursor: null, limit: 100, filter: null, vectors: false })).vectors.map(({ externalId }) => externalId);
const recordOf = async (name: string) => collectionFromEntry((await held.store.get(collectionPath(name)))!);
const reshards = async () => (await held.store.list(RESHARDS_PREFIX)).entries.map(reshardFromEntry);
const isSeal = (operations: Parameters<ShardClient['write']>[1]): boolean => operations[0].type === 'stage' && operations[0].stage === 'sealed';
const into = (name: string, more: object = {}) => ({ backup, rename: { things: name }, ...more });
const empty = (name: string, given: object = {}) => service.collections.create({ ...newCollection(name, { shards: 2 }), ...given });

test('an empty collection gets what the backup has, and stays what it is: its settings, and its number of shards', async () => {
  await empty('hollow', { description: 'mine', ttlSeconds: 3600, quota: { items: 9, bytes: null } });
  const before = await recordOf('hollow');
  expect(await restoredBy(service, into('hollow'))).toMatchObject({ state: 'done', progress: 1, collections: [{ from: 'things', name: 'hollow', shards: 2, shardsReady: 2 }] });
  expect(await idsOf('hollow')).toEqual(BEFORE);
  const { uid, ...after } = await recordOf('hollow');
  expect({ ...after, uid: before.uid }).toEqual(before);
  expect(uid).not.toBe(before.uid);
  // It is a collection like any other, and nothing is left of its empty shards.
  await service.vectors.upsert('hollow', [item('f', [1, 9])]);
  expect(await idsOf('hollow')).toEqual([...BEFORE, 'f']);
  await eventually('the empty shards are gone', async () => held.node.host.shardCount === 5 && (await reshards()).length === 0);
  await expect(service.collections.delete('hollow')).resolves.toBeUndefined();
});

test.each([1, 3, 4])('into %i shards, if the restore says so', async (shards) => {
  await empty('hollow');
  expect((await restoredBy(service, into('hollow', { shards, replicas: 1 }))).state).toBe('done');
  expect(await recordOf('hollow')).toMatchObject({ shards, replicas: 1, minInSync: 1 });
  expect(await idsOf('hollow')).toEqual(BEFORE);
});

test('a collection under its own name, emptied before: versions go on above all that were given', async () => {
  await service.vectors.upsert('things', [item('later', [1, 1])]);
  const [{ version }] = await service.vectors.fetch('things', ['later'], { vectors: false });
  await service.vectors.delete('things', [...BEFORE, 'later']);
  expect((await restoredBy(service, { backup })).state).toBe('done');
  expect(await idsOf('things')).toEqual(BEFORE);
  await service.vectors.upsert('things', [item('later', [1, 1])]);
  const [again] = await service.vectors.fetch('things', ['later'], { vectors: false });
  expect(again.version).toBeGreaterThan(version!);
});

test('new names and empty ones in one restore', async () => {
  await service.collections.create(newCollection('second'));
  await service.vectors.upsert('second', [item('x', [1, 1])]);
  backup = await backedUp(service);
  await empty('hollow');
  expect((await restoredBy(service, { backup, rename: { things: 'hollow', second: 'third' } })).state).toBe('done');
  expect(await idsOf('hollow')).toEqual(BEFORE);
  expect(await idsOf('third')).toEqual(['x']);
});

test('of several that are empty, one to which somebody writes before any took its place makes all fail; after that, those before it stay', async () => {
  await service.collections.create(newCollection('second'));
  await service.vectors.upsert('second', [item('x', [1, 1])]);
  backup = await backedUp(service);
  // In the order of the backup, which is that of its names.
  const rename = { second: 'earlier', things: 'later' };
  const written: Promise<unknown>[] = [];
  const write = async (): Promise<unknown> => (written[0] ??= service.vectors.upsert('later', [item('mine', [1, 1])]));
  await empty('earlier');
  await empty('later');
  beforeFilling = write;
  expect(await restoredBy(service, { backup, rename })).toMatchObject({ state: 'failed', error: expect.stringMatching(/"later" is not empty any more[^;]*$/) });
  expect([await idsOf('earlier'), await idsOf('later')]).toEqual([[], ['mine']]);

  await service.vectors.delete('later', ['mine']);
  written.length = 0;
  beforeFilling = async () => undefined;
  const { uid } = await recordOf('later');
  beforeWrite = async (id, operations) => void (isSeal(operations) && id.collectionUid === uid && (await write()));
  expect(await restoredBy(service, { backup, rename })).toMatchObject({ state: 'failed', error: expect.stringMatching(/"later" is not empty any more.*restored before that, and left so: earlier$/) });
  expect([await idsOf('earlier'), await idsOf('later')]).toEqual([['x'], ['mine']]);
});

test('where a member of the cluster would not know how, nothing is begun', async () => {
  await empty('hollow');
  const intoObstacle = (): string => 'not yet';
  const target = new FolderTarget(held.target, held.target.slice('file:'.length));
  const requests = new BackupRequests({
    store: held.store,
    clock: systemClock,
    target: held.target,
    openTarget: () => target,
    obstacle: () => null,
    intoObstacle,
    reshards: { mustBeEmpty: async () => undefined },
  });
  await expect(requests.restore({ keys: false, ...into('hollow') })).rejects.toMatchObject({ kind: 'unavailable', message: 'not yet' });
  expect((await requests.restore({ keys: false, ...into('new-name') })).state).toBe('running');
});

test('what does not agree is refused before anything is begun, with all that differs', async () => {
  await service.collections.create({ ...newCollection('other', { dim: 3, metric: 'l2', language: 'en' }), quantization: 'binary' });
  await expect(service.backups.restore({ keys: false, ...into('other') })).rejects.toMatchObject({
    kind: 'dimension_mismatch',
    code: 400,
    message: expect.stringMatching(/dim 3 and not 2, distance_metric l2 and not cosine, language en and not none, quantization binary and not int8/),
  });
  await service.collections.create(newCollection('metric', { metric: 'ip' }));
  await expect(service.backups.restore({ keys: false, ...into('metric') })).rejects.toMatchObject({ kind: 'invalid_parameter', code: 400 });
  await service.collections.create(newCollection('full'));
  await service.vectors.upsert('full', [item('x', [1, 1])]);
  await expect(service.backups.restore({ keys: false, ...into('full') })).rejects.toMatchObject({ kind: 'already_exists', code: 409, message: expect.stringMatching(/not empty.*rename/) });
  expect(await service.backups.restores()).toEqual([]);
  expect(await reshards()).toEqual([]);
});

test('embedding models must agree; a collection without one gets that of the backup', async () => {
  await service.vectors.upsert('things', [textItem('text', 'words')]);
  backup = await backedUp(service);
  await empty('hollow');
  expect((await restoredBy(service, into('hollow'))).state).toBe('done');
  expect((await recordOf('hollow')).embeddingModel).toBe('first');
  await empty('differs');
  await service.catalog.update('differs', (record) => ({ ...record, embeddingModel: 'second' }));
  await expect(service.backups.restore({ keys: false, ...into('differs') })).rejects.toMatchObject({
    kind: 'invalid_parameter',
    message: expect.stringContaining('embedding_model second and not first'),
  });
});

test('a model that the collection gets at the last moment makes the restore fail, and it keeps that', async () => {
  await service.vectors.upsert('things', [textItem('text', 'words')]);
  backup = await backedUp(service);
  await empty('hollow');
  beforeWrite = async (_, operations) => {
    if (isSeal(operations)) await service.catalog.update('hollow', (record) => ({ ...record, embeddingModel: 'second' }));
  };
  expect(await restoredBy(service, into('hollow'))).toMatchObject({ state: 'failed', error: expect.stringContaining('embedding model second') });
  expect(await recordOf('hollow')).toMatchObject({ embeddingModel: 'second', shards: 2 });
  await service.vectors.upsert('hollow', [item('mine', [1, 1])]);
  expect(await idsOf('hollow')).toEqual(['mine']);
});

test.each(['as it begins to be filled', 'as it is sealed'])('a write %s is kept, and the restore fails with a conflict that leaves nothing', async (when) => {
  await empty('hollow');
  const { uid } = await recordOf('hollow');
  const written: Promise<unknown>[] = [];
  const write = async (): Promise<unknown> => (written[0] ??= service.vectors.upsert('hollow', [item('mine', [1, 1])]));
  if (when !== 'as it is sealed') beforeFilling = write;
  else beforeWrite = async (_, operations) => void (isSeal(operations) && (await write()));
  const { id } = await service.backups.restore({ keys: false, ...into('hollow') });
  expect(await restoreEnded(service.backups, id)).toMatchObject({ state: 'failed', error: expect.stringContaining('not empty any more') });
  await written[0];
  expect(await idsOf('hollow')).toEqual(['mine']);
  expect((await recordOf('hollow')).uid).toBe(uid);
  await eventually('the shards that were filled are gone', async () => held.node.host.shardCount === 5 && (await reshards()).length === 0);
  // And once it is empty again, it can be restored into.
  await service.vectors.delete('hollow', ['mine']);
  expect((await restoredBy(service, into('hollow'))).state).toBe('done');
  expect(await idsOf('hollow')).toEqual(BEFORE);
});

test('a write that comes while the shards are sealed lands in the restored collection', async () => {
  await empty('hollow');
  let written: Promise<unknown> | null = null;
  beforeWrite = async (_, operations) => {
    // It is refused by the old shards, and waits for the new ones.
    if (operations[0].type === 'stage' && operations[0].stage === 'closed') written ??= service.vectors.upsert('hollow', [item('mine', [1, 1])]);
  };
  expect((await restoredBy(service, into('hollow'))).state).toBe('done');
  await written!;
  expect(await idsOf('hollow')).toEqual([...BEFORE, 'mine']);
});

test('a restore that is given up while it fills leaves the collection as it was', async () => {
  await drivers.close();
  await empty('hollow');
  const { uid } = await recordOf('hollow');
  const { id } = await service.backups.restore({ keys: false, ...into('hollow') });
  await service.backups.cancelRestore(id);
  drivers = await Drivers.start(service);
  await eventually('it is given up', async () => (await service.backups.restores()).length === 0);
  expect((await recordOf('hollow')).uid).toBe(uid);
  await eventually('nothing is left of it', async () => held.node.host.shardCount === 5 && (await reshards()).length === 0);
  await service.vectors.upsert('hollow', [item('mine', [1, 1])]);
  expect(await idsOf('hollow')).toEqual(['mine']);
});

test('a collection that is deleted meanwhile takes all along, and the restore says so', async () => {
  await empty('hollow');
  beforeWrite = async (_, operations) => {
    if (isSeal(operations)) await service.collections.delete('hollow').catch(() => undefined);
  };
  expect(await restoredBy(service, into('hollow'))).toMatchObject({ state: 'failed', error: expect.stringContaining('was deleted') });
  await eventually('nothing is left of it', async () => held.node.host.shardCount === 3 && (await reshards()).length === 0);
});

test('a collection is restored into once at a time, and neither gets another number of shards meanwhile nor shows that it does', async () => {
  await drivers.close();
  await empty('hollow');
  const first = await service.backups.restore({ keys: false, ...into('hollow') });
  const second = await service.backups.restore({ keys: false, ...into('hollow') });
  let seen: unknown[] = [];
  beforeWrite = async (_, operations) => {
    if (!isSeal(operations) || seen.length > 0) return;
    const refusals = [service.collections.reshard('hollow', 5), service.collections.cancelReshard('hollow'), service.backups.restore({ keys: false, ...into('hollow') })];
    seen = [...(await Promise.allSettled(refusals)).map((one) => one.status === 'rejected' && one.reason.kind), await service.reshards()];
  };
  drivers = await Drivers.start(service);
  const ended = [await restoreEnded(service.backups, first.id), await restoreEnded(service.backups, second.id)];
  expect(ended.map(({ state }) => state).sort()).toEqual(['done', 'failed']);
  expect(seen).toEqual(['already_exists', 'conflict', 'already_exists', []]);
  expect(await idsOf('hollow')).toEqual(BEFORE);
});

test.each([2, 5])('a write that was done before the restore is not done again after it, into %i shards', async (shards) => {
  await empty('hollow');
  let repetitions = 0;
  const once = { token: '1'.repeat(32), digest: 'd'.repeat(32), sealingKey: 'e'.repeat(64), repeated: () => void (repetitions += 1) };
  const write = () => service.vectors.upsert('hollow', [item('mine', [1, 1]), item('yours', [1, 2])], { once });
  const first = await write();
  await service.vectors.delete('hollow', ['mine', 'yours']);
  expect((await restoredBy(service, into('hollow', { shards }))).state).toBe('done');
  expect({ ...(await write()), timing: null }).toEqual({ ...first, timing: null });
  expect(repetitions).toBe(1);
  expect(await idsOf('hollow')).toEqual(BEFORE);
});

test('a restore that the cluster store has lost leaves the collection as it was', async () => {
  await drivers.close();
  await empty('hollow');
  const { uid } = await recordOf('hollow');
  const { id } = await service.backups.restore({ keys: false, ...into('hollow') });
  // Its driver stores that it begins, and gets no further.
  const stalled = await held.service({ shardClient: { ...held.client, open: async () => Promise.reject(new QuiverError('unavailable', 'no node')) } });
  drivers = await Drivers.start(stalled);
  await eventually('it has begun', async () => (await reshards())[0]?.state === 'seeding');
  await drivers.close();
  await held.store.transact([], [{ type: 'delete', key: restorePath(id) }]);
  drivers = await Drivers.start(service);
  await eventually('it is given up', async () => (await reshards())[0]?.state === 'failed');
  expect((await recordOf('hollow')).uid).toBe(uid);
  await service.vectors.upsert('hollow', [item('mine', [1, 1])]);
  expect(await idsOf('hollow')).toEqual(['mine']);
});
