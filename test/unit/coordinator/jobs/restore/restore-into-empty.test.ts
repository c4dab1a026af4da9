import { ONLY_DRIVER } from '../../../../../coordinator/jobs/driving/owned-entry';
import { collectionFromEntry, collectionPath } from '../../../../../coordinator/service/collections/collection-record';
import {
  reshardFromEntry,
  RESHARDS_PREFIX,
  type ReshardState,
} from '../../../../../coordinator/service/collections/reshard-record';
import { restoreFromEntry, restorePath, RESTORES_PATH } from '../../../../../coordinator/jobs/backup/backup-record';
import type { RunningService } from '../../../../../coordinator/service-factory';
import type { ClusterStore, StoreChange } from '../../../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import type { ShardClient } from '../../../../../shared/contract/shard/shard-client';
import { eventually } from '../../../../support/eventually';
import { item, markingModel, newCollection, PlainEmbedding, textItem } from '../../../../support/shards/plain-service';
import { backedUp, Drivers, restoredBy, restoreEnded, RestoringNode } from '../../../../support/cluster/restoring-node';
import { fetched, scrolledPage } from '../../../../support/http/whole-pages';

/** Restores into collections that are there and empty, over real shards. */

const BEFORE = ['a', 'b', 'c', 'd', 'e'];
let held: RestoringNode;
let service: RunningService;
let drivers: Drivers;
let backup: string;
/** Called before shards are opened that take what they have from a backup. */
let beforeFilling: () => Promise<unknown>;
/** Called with what is written to shards, before it is. */
let beforeWrite: (
  id: Parameters<ShardClient['write']>[0],
  operations: Parameters<ShardClient['write']>[1],
) => Promise<void>;
/** Called with what is stored, before it is, and after. */
let beforeStore: (changes: StoreChange[]) => Promise<unknown>;
let afterStore: (changes: StoreChange[]) => Promise<unknown>;

const embedding = new PlainEmbedding([markingModel('first', null, 1), markingModel('second', null, 2)]);

beforeEach(async () => {
  beforeWrite = async () => undefined;
  beforeFilling = async () => undefined;
  beforeStore = async () => undefined;
  afterStore = async () => undefined;
  held = await RestoringNode.start();
  const { client, store: under } = held;
  const store: ClusterStore = {
    get: (key) => under.get(key),
    list: (prefix) => under.list(prefix),
    watch: (prefix, after, listener) => under.watch(prefix, after, listener),
    transact: async (guards, changes) => {
      await beforeStore(changes);
      const result = await under.transact(guards, changes);
      if (result.applied) await afterStore(changes);
      return result;
    },
    close: async () => undefined,
  };
  const shardClient: ShardClient = {
    ...client,
    make: async (spec) => {
      if (spec.seed !== undefined) await beforeFilling();
      return client.make(spec);
    },
    write: async (id, operations, call) => {
      await beforeWrite(id, operations);
      return client.write(id, operations, call);
    },
  };
  service = await held.service({ shardClient, store, embedding });
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

const idsOf = async (name: string): Promise<string[]> =>
  (
    await scrolledPage(service.vectors.scroll(name, { cursor: null, limit: 100, filter: null, vectors: false }))
  ).vectors.map(({ externalId }) => externalId);
const recordOf = async (name: string) => collectionFromEntry((await held.store.get(collectionPath(name)))!);
const reshards = async () => (await held.store.list(RESHARDS_PREFIX)).entries.map(reshardFromEntry);
const isSeal = (operations: Parameters<ShardClient['write']>[1]): boolean =>
  operations[0].type === 'stage' && operations[0].stage === 'sealed';
const storesReshard = (changes: StoreChange[], state: ReshardState, name: string): boolean =>
  changes.some(
    (change) =>
      change.type === 'put' &&
      change.key.startsWith(RESHARDS_PREFIX) &&
      reshardFromEntry(change).state === state &&
      reshardFromEntry(change).name === name,
  );
const into = (name: string, more: object = {}) => ({ backup, rename: { things: name }, ...more });
const empty = (name: string, given: object = {}) =>
  service.collections.create({ ...newCollection(name, { shards: 2 }), ...given });

test('an empty collection gets what the backup has, and stays what it is: its settings, and its number of shards', async () => {
  await empty('hollow', { description: 'mine', ttlSeconds: 3600, quota: { items: 9, bytes: null } });
  const before = await recordOf('hollow');
  expect(await restoredBy(service, into('hollow'))).toMatchObject({
    state: 'done',
    progress: 1,
    collections: [{ from: 'things', name: 'hollow', shards: 2, shardsReady: 2 }],
  });
  expect(await idsOf('hollow')).toEqual(BEFORE);
  const { uid, ...after } = await recordOf('hollow');
  expect({ ...after, uid: before.uid }).toEqual(before);
  expect(uid).not.toBe(before.uid);
  // It is a collection like any other, and nothing is left of its empty shards.
  await service.vectors.upsert('hollow', [item('f', [1, 9])]);
  expect(await idsOf('hollow')).toEqual([...BEFORE, 'f']);
  await eventually(
    'the empty shards are gone',
    async () => held.node.host.shardCount === 5 && (await reshards()).length === 0,
  );
  await expect(service.collections.delete('hollow')).resolves.toEqual([]);
});

test.each([1, 3, 4])('into %i shards, if the restore says so', async (shards) => {
  await empty('hollow');
  expect((await restoredBy(service, into('hollow', { shards, replicas: 1 }))).state).toBe('done');
  expect(await recordOf('hollow')).toMatchObject({ shards, replicas: 1, minInSync: 1 });
  expect(await idsOf('hollow')).toEqual(BEFORE);
});

test('a collection under its own name, emptied before: versions go on above all that were given', async () => {
  await service.vectors.upsert('things', [item('later', [1, 1])]);
  const [{ version }] = await fetched(service.vectors.fetch('things', ['later'], { vectors: false }));
  await service.vectors.delete('things', [...BEFORE, 'later']);
  expect((await restoredBy(service, { backup })).state).toBe('done');
  expect(await idsOf('things')).toEqual(BEFORE);
  await service.vectors.upsert('things', [item('later', [1, 1])]);
  const [again] = await fetched(service.vectors.fetch('things', ['later'], { vectors: false }));
  expect(again.version).toBeGreaterThan(version!);
});

test('a collection whose items have all expired is empty, also while they are not removed yet', async () => {
  await empty('hollow');
  await service.vectors.upsert('hollow', [{ ...item('a', [1, 5]), expiresAt: Date.now() + 200 }]);
  await eventually('it has expired', async () => (await idsOf('hollow')).length === 0);
  expect((await restoredBy(service, into('hollow'))).state).toBe('done');
  expect(await idsOf('hollow')).toEqual(BEFORE);
  expect(await fetched(service.vectors.fetch('hollow', ['a'], { vectors: false }))).toMatchObject([
    { metadata: '{"i":0}' },
  ]);
});

test('new names and empty ones in one restore', async () => {
  await service.collections.create(newCollection('second'));
  await service.vectors.upsert('second', [item('x', [1, 1])]);
  backup = await backedUp(service);
  await empty('hollow');
  const restore = await restoredBy(service, { backup, rename: { things: 'hollow', second: 'third' } });
  expect(restore).toEqual({
    ...{
      id: restore.id,
      backup,
      until: null,
      target: held.target,
      state: 'done',
      keys: false,
      warnings: [],
      startedAt: restore.startedAt,
      endedAt: restore.endedAt,
      error: null,
      progress: 1,
    },
    collections: [
      { from: 'second', name: 'third', shards: 1, shardsReady: 1 },
      { from: 'things', name: 'hollow', shards: 2, shardsReady: 2 },
    ],
  });
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
  expect(await restoredBy(service, { backup, rename })).toMatchObject({
    state: 'failed',
    error: expect.stringMatching(/"later" is not empty any more[^;]*$/),
  });
  expect([await idsOf('earlier'), await idsOf('later')]).toEqual([[], ['mine']]);

  await service.vectors.delete('later', ['mine']);
  written.length = 0;
  beforeFilling = async () => undefined;
  const { uid } = await recordOf('later');
  beforeWrite = async (id, operations) => void (isSeal(operations) && id.collectionUid === uid && (await write()));
  expect(await restoredBy(service, { backup, rename })).toMatchObject({
    state: 'failed',
    error: expect.stringMatching(/"later" is not empty any more.*restored before that, and left so: earlier$/),
  });
  expect([await idsOf('earlier'), await idsOf('later')]).toEqual([['x'], ['mine']]);
});

describe('of several, one has taken its place, and whoever drives the restore is replaced', () => {
  const rename = { second: 'earlier', things: 'later' };
  let id: string;

  /** Resolves when the first collection has its new shards, and nobody drives the restore any more. */
  beforeEach(async () => {
    await service.collections.create(newCollection('second'));
    await service.vectors.upsert('second', [item('x', [1, 1])]);
    backup = await backedUp(service);
    await empty('earlier');
    await empty('later');
    beforeStore = async (changes) => {
      if (storesReshard(changes, 'filling', 'later')) throw new QuiverError('unavailable', 'the store is away');
    };
    ({ id } = await service.backups.restore({ keys: false, backup, rename }));
    await eventually(
      'the first has its new shards, and nothing is left of the old ones',
      async () => (await reshards()).map(({ name }) => name).join() === 'later' && (await idsOf('earlier')).length > 0,
    );
    await drivers.close();
    beforeStore = async () => undefined;
  });

  test('deleted since, it does not make the restore fail, which tells of it', async () => {
    await service.collections.delete('earlier');
    drivers = await Drivers.start(service);
    expect(await restoreEnded(service.backups, id)).toMatchObject({
      state: 'done',
      error: null,
      warnings: [expect.stringContaining('"earlier" was restored, and was deleted')],
    });
    expect(await idsOf('later')).toEqual(BEFORE);
    await expect(service.collections.get('earlier')).rejects.toMatchObject({ kind: 'not_found' });
  });

  test('deleted and made again under its name, the new one is left alone', async () => {
    await service.collections.delete('earlier');
    await empty('earlier');
    drivers = await Drivers.start(service);
    expect(await restoreEnded(service.backups, id)).toMatchObject({
      state: 'done',
      warnings: [expect.stringContaining('"earlier"')],
    });
    expect([await idsOf('earlier'), await idsOf('later')]).toEqual([[], BEFORE]);
  });

  test('a write to the next one makes the restore fail, which names the one that stays', async () => {
    await service.vectors.upsert('later', [item('mine', [1, 1])]);
    drivers = await Drivers.start(service);
    expect(await restoreEnded(service.backups, id)).toMatchObject({
      state: 'failed',
      error: expect.stringMatching(/"later" is not empty any more.*restored before that, and left so: earlier$/),
    });
    expect([await idsOf('earlier'), await idsOf('later')]).toEqual([['x'], ['mine']]);
  });

  test('so does the deletion of the next one', async () => {
    await service.collections.delete('later');
    drivers = await Drivers.start(service);
    expect(await restoreEnded(service.backups, id)).toMatchObject({
      state: 'failed',
      error: expect.stringMatching(/"later" was deleted.*restored before that, and left so: earlier$/),
    });
    expect(await idsOf('earlier')).toEqual(['x']);
  });

  test('it is too late to give it up, and it goes on', async () => {
    await expect(service.backups.cancelRestore(id)).rejects.toMatchObject({
      kind: 'conflict',
      code: 409,
      message: expect.stringContaining('can no longer be cancelled'),
    });
    drivers = await Drivers.start(service);
    expect((await restoreEnded(service.backups, id)).state).toBe('done');
    expect([await idsOf('earlier'), await idsOf('later')]).toEqual([['x'], BEFORE]);
    // One that is over is forgotten.
    await service.backups.cancelRestore(id);
    expect(await service.backups.restores()).toEqual([]);
  });
});

describe('a restore that is given up', () => {
  let isAsked: boolean;
  let outcomes: string[];
  /** Gives the one that there is up, the first time. */
  const cancelOnce = async (): Promise<void> => {
    if (isAsked) return;
    isAsked = true;
    const [{ id }] = (await held.store.list(RESTORES_PATH)).entries.map(restoreFromEntry);
    outcomes.push(
      await service.backups.cancelRestore(id).then(
        ({ state }) => state,
        (error: QuiverError) => error.kind,
      ),
    );
  };
  beforeEach(() => {
    isAsked = false;
    outcomes = [];
  });

  test('when the old shards answer nobody any more is given up: these serve again', async () => {
    await empty('hollow');
    const { uid } = await recordOf('hollow');
    beforeWrite = async (_, operations) => {
      if (operations[0].type === 'stage' && operations[0].stage === 'closed') await cancelOnce();
    };
    await service.backups.restore({ keys: false, ...into('hollow') });
    await eventually(
      'it is given up',
      async () => outcomes.length > 0 && (await service.backups.restores()).length === 0,
    );
    expect(outcomes).toEqual(['cancelling']);
    expect((await recordOf('hollow')).uid).toBe(uid);
    await service.vectors.upsert('hollow', [item('mine', [1, 1])]);
    expect(await idsOf('hollow')).toEqual(['mine']);
    await eventually(
      'nothing is left of it',
      async () => held.node.host.shardCount === 5 && (await reshards()).length === 0,
    );
  });

  test.each<ReshardState>(['opening', 'retiring'])(
    'when it is %s, is told that it is too late, and ends as done',
    async (state) => {
      await empty('hollow');
      afterStore = async (changes) => {
        if (storesReshard(changes, state, 'hollow')) await cancelOnce();
      };
      expect((await restoredBy(service, into('hollow'))).state).toBe('done');
      expect(outcomes).toEqual(['conflict']);
      expect(await idsOf('hollow')).toEqual(BEFORE);
    },
  );

  test('when its new collections are about to be seen, too: either all of them are there or none', async () => {
    await service.collections.create(newCollection('second'));
    backup = await backedUp(service);
    const isSeen = (changes: StoreChange[]): boolean =>
      changes.some(
        (change) =>
          change.type === 'put' && change.key === collectionPath('a') && collectionFromEntry(change).state === 'ready',
      );
    afterStore = async (changes) => {
      if (isSeen(changes)) await cancelOnce();
    };
    expect((await restoredBy(service, { backup, rename: { second: 'a', things: 'b' } })).state).toBe('done');
    expect(outcomes).toEqual(['conflict']);
    expect([await idsOf('a'), await idsOf('b')]).toEqual([[], BEFORE]);
  });
});

test('marks that there are before the shards are sealed are taken over before that', async () => {
  await empty('hollow');
  for (let n = 0; n < 5; n += 1) {
    const once = {
      token: `${n}`.repeat(32),
      digest: 'd'.repeat(32),
      sealingKey: 'e'.repeat(64),
      repeated: () => undefined,
    };
    await service.vectors.upsert('hollow', [item(`mine-${n}`, [1, 1])], { once });
    await service.vectors.delete('hollow', [`mine-${n}`]);
  }
  const taken = { before: 0, sealed: 0 };
  let isSealed = false;
  beforeWrite = async (_, operations) => {
    if (isSeal(operations)) isSealed = true;
    if (operations[0].type === 'dedup') taken[isSealed ? 'sealed' : 'before'] += operations.length;
  };
  expect((await restoredBy(service, into('hollow'))).state).toBe('done');
  expect(taken).toEqual({ before: expect.any(Number), sealed: 0 });
  expect(taken.before).toBeGreaterThanOrEqual(5);
});

test('what does not agree is refused before anything is begun, with all that differs', async () => {
  await service.collections.create({
    ...newCollection('other', { dim: 3, metric: 'l2', language: 'en', keywordFields: [{ path: 'title', weight: 2 }] }),
    quantization: 'binary',
  });
  await expect(service.backups.restore({ keys: false, ...into('other') })).rejects.toMatchObject({
    kind: 'dimension_mismatch',
    code: 400,
    message: expect.stringMatching(
      /dim 3 and not 2, distance_metric l2 and not cosine, language en and not none, quantization binary and not int8, keyword_fields title:2 and not none/,
    ),
  });
  await service.collections.create(newCollection('metric', { metric: 'ip' }));
  await expect(service.backups.restore({ keys: false, ...into('metric') })).rejects.toMatchObject({
    kind: 'invalid_parameter',
    code: 400,
  });
  await service.collections.create(newCollection('full'));
  await service.vectors.upsert('full', [item('x', [1, 1])]);
  await expect(service.backups.restore({ keys: false, ...into('full') })).rejects.toMatchObject({
    kind: 'already_exists',
    code: 409,
    message: expect.stringMatching(/not empty.*rename/),
  });
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
    if (isSeal(operations))
      await service.catalog.update('hollow', (record) => ({ ...record, embeddingModel: 'second' }));
  };
  expect(await restoredBy(service, into('hollow'))).toMatchObject({
    state: 'failed',
    error: expect.stringContaining('embedding model second'),
  });
  expect(await recordOf('hollow')).toMatchObject({ embeddingModel: 'second', shards: 2 });
  await service.vectors.upsert('hollow', [item('mine', [1, 1])]);
  expect(await idsOf('hollow')).toEqual(['mine']);
});

describe('the embedding of the backup', () => {
  const theirs = { model: 'local:builtin', passagePrefix: 'p: ' };
  beforeEach(async () => {
    await service.catalog.update('things', (record) => ({ ...record, embedding: theirs, embeddingModel: 'builtin' }));
    backup = await backedUp(service);
  });

  test('is that of the collection that it goes into, or of a new one', async () => {
    await empty('hollow', { embedding: theirs });
    expect((await restoredBy(service, into('hollow'))).state).toBe('done');
    expect(await service.collections.get('hollow')).toMatchObject({ embedding: theirs, embeddingModel: 'builtin' });
    expect((await restoredBy(service, into('new'))).state).toBe('done');
    expect(await service.collections.get('new')).toMatchObject({ embedding: theirs, embeddingModel: 'builtin' });
  });

  test.each([
    ['none', undefined],
    ['another prefix', { model: 'local:builtin', passagePrefix: 'q: ' }],
    ['a template', { ...theirs, template: '{{title}} {{text}}' }],
  ])('is not that of a collection with %s', async (_, own) => {
    await empty('hollow', { embedding: own });
    await expect(restoredBy(service, into('hollow'))).rejects.toMatchObject({
      kind: 'invalid_parameter',
      message: expect.stringContaining('has embedding '),
    });
  });

  test('is not that of a collection without its template', async () => {
    const template = '{{title}} {{text}}';
    await service.catalog.update('things', (record) => ({ ...record, embedding: { ...theirs, template } }));
    backup = await backedUp(service);
    await empty('hollow', { embedding: theirs });
    await expect(restoredBy(service, into('hollow'))).rejects.toMatchObject({
      kind: 'invalid_parameter',
      message: expect.stringContaining(template),
    });
  });
});

describe('synonyms and stop words of the backup', () => {
  const theirs = { synonyms: [['car', 'automobile']], stopWords: { add: ['item'], remove: ['the'] } };
  const own = { synonyms: [['pump', 'compressor']], stopWords: { add: ['thing'], remove: [] } };
  const none = { synonyms: null, stopWords: null };
  const wordsOf = async (name: string) => {
    const { synonyms, stopWords } = await service.collections.get(name);
    return { synonyms, stopWords };
  };
  beforeEach(async () => {
    await service.collections.update('things', theirs);
    backup = await backedUp(service);
  });

  test('become those of an empty collection without', async () => {
    await empty('hollow');
    expect((await restoredBy(service, into('hollow'))).state).toBe('done');
    expect(await wordsOf('hollow')).toEqual(theirs);
  });

  test('leave its own as they are, each by itself', async () => {
    await empty('hollow', { synonyms: own.synonyms });
    await empty('other', { stopWords: own.stopWords });
    for (const name of ['hollow', 'other']) expect((await restoredBy(service, into(name))).state).toBe('done');
    expect(await wordsOf('hollow')).toEqual({ ...theirs, synonyms: own.synonyms });
    expect(await wordsOf('other')).toEqual({ ...theirs, stopWords: own.stopWords });
  });

  test.each([
    ['gets its own', none, own, own],
    ['loses its own', own, none, theirs],
  ])('are taken by what the collection has when its shards are sealed: one that %s', async (_, before, then, after) => {
    await empty('hollow', before);
    beforeWrite = async (_id, operations) =>
      void (isSeal(operations) && (await service.collections.update('hollow', then)));
    expect((await restoredBy(service, into('hollow'))).state).toBe('done');
    expect(await wordsOf('hollow')).toEqual(after);
  });

  test('do not come back once they were taken away, also while the new shards take over', async () => {
    await empty('hollow');
    let seen: unknown = null;
    afterStore = async (changes) => {
      if (seen !== null || !storesReshard(changes, 'opening', 'hollow')) return;
      seen = collectionFromEntry((await held.store.get(collectionPath('hollow')))!);
      await service.catalog.update('hollow', (record) => ({ ...record, synonyms: undefined, stopWords: undefined }));
    };
    expect((await restoredBy(service, into('hollow'))).state).toBe('done');
    expect(seen).toMatchObject(theirs);
    expect(await wordsOf('hollow')).toEqual(none);
  });

  test('stay away from a collection when the restore fails', async () => {
    await empty('hollow');
    beforeWrite = async (_, operations) =>
      void (isSeal(operations) && (await service.vectors.upsert('hollow', [item('mine', [1, 1])])));
    expect((await restoredBy(service, into('hollow'))).state).toBe('failed');
    expect(await wordsOf('hollow')).toEqual(none);
  });
});

test.each(['as it begins to be filled', 'as it is sealed'])(
  'a write %s is kept, and the restore fails with a conflict that leaves nothing',
  async (when) => {
    await empty('hollow');
    const { uid } = await recordOf('hollow');
    const written: Promise<unknown>[] = [];
    const write = async (): Promise<unknown> =>
      (written[0] ??= service.vectors.upsert('hollow', [item('mine', [1, 1])]));
    if (when !== 'as it is sealed') beforeFilling = write;
    else beforeWrite = async (_, operations) => void (isSeal(operations) && (await write()));
    const { id } = await service.backups.restore({ keys: false, ...into('hollow') });
    expect(await restoreEnded(service.backups, id)).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('not empty any more'),
    });
    await written[0];
    expect(await idsOf('hollow')).toEqual(['mine']);
    expect((await recordOf('hollow')).uid).toBe(uid);
    await eventually(
      'the shards that were filled are gone',
      async () => held.node.host.shardCount === 5 && (await reshards()).length === 0,
    );
    // And once it is empty again, it can be restored into.
    await service.vectors.delete('hollow', ['mine']);
    expect((await restoredBy(service, into('hollow'))).state).toBe('done');
    expect(await idsOf('hollow')).toEqual(BEFORE);
  },
);

test('a write that comes while the shards are sealed lands in the restored collection', async () => {
  await empty('hollow');
  let written: Promise<unknown> | null = null;
  beforeWrite = async (_, operations) => {
    // It is refused by the old shards, and waits for the new ones.
    if (operations[0].type === 'stage' && operations[0].stage === 'closed')
      written ??= service.vectors.upsert('hollow', [item('mine', [1, 1])]);
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
  await eventually(
    'nothing is left of it',
    async () => held.node.host.shardCount === 5 && (await reshards()).length === 0,
  );
  await service.vectors.upsert('hollow', [item('mine', [1, 1])]);
  expect(await idsOf('hollow')).toEqual(['mine']);
});

test('a collection that is deleted meanwhile takes all along, and the restore says so', async () => {
  await empty('hollow');
  beforeWrite = async (_, operations) => {
    if (isSeal(operations)) await service.collections.delete('hollow').catch(() => undefined);
  };
  expect(await restoredBy(service, into('hollow'))).toMatchObject({
    state: 'failed',
    error: expect.stringContaining('was deleted'),
  });
  await eventually(
    'nothing is left of it',
    async () => held.node.host.shardCount === 3 && (await reshards()).length === 0,
  );
});

test('a collection that has other keyword fields by the time the restore begins makes it fail, and stays as it is', async () => {
  await drivers.close();
  await empty('hollow');
  const { id } = await service.backups.restore({ keys: false, ...into('hollow') });
  const keywordFields = [{ path: 'title', weight: 3 }];
  const { job } = await service.collections.update('hollow', { keywordFields });
  const resharder = await service.driveReshards(ONLY_DRIVER, 0);
  await eventually('they hold', async () => (await service.jobs.get(job!)).state === 'done');
  await resharder.close();
  const { uid } = await recordOf('hollow');
  let isFilled = false;
  beforeFilling = async () => (isFilled = true);
  drivers = await Drivers.start(service);
  expect(await restoreEnded(service.backups, id)).toMatchObject({
    state: 'failed',
    error: expect.stringContaining('it has keyword_fields title:3 and not none'),
  });
  expect(await recordOf('hollow')).toMatchObject({ uid, keywordFields });
  expect(isFilled).toBe(false);
});

test('a collection is restored into once at a time, and neither gets another number of shards meanwhile nor shows that it does', async () => {
  await drivers.close();
  await empty('hollow');
  const first = await service.backups.restore({ keys: false, ...into('hollow') });
  const second = await service.backups.restore({ keys: false, ...into('hollow') });
  let seen: unknown[] = [];
  beforeWrite = async (_, operations) => {
    if (!isSeal(operations) || seen.length > 0) return;
    const refusals = [
      service.collections.reshard('hollow', 5),
      service.collections.cancelReshard('hollow'),
      service.backups.restore({ keys: false, ...into('hollow') }),
    ];
    seen = [
      ...(await Promise.allSettled(refusals)).map((one) => one.status === 'rejected' && one.reason.kind),
      await service.reshards(),
    ];
  };
  drivers = await Drivers.start(service);
  const ended = [await restoreEnded(service.backups, first.id), await restoreEnded(service.backups, second.id)];
  expect(ended.map(({ state }) => state).sort()).toEqual(['done', 'failed']);
  expect(seen).toEqual(['already_exists', 'conflict', 'already_exists', []]);
  expect(await idsOf('hollow')).toEqual(BEFORE);
});

test.each([2, 5])(
  'a write that was done before the restore is not done again after it, into %i shards',
  async (shards) => {
    await empty('hollow');
    let repetitions = 0;
    const once = {
      token: '1'.repeat(32),
      digest: 'd'.repeat(32),
      sealingKey: 'e'.repeat(64),
      repeated: () => void (repetitions += 1),
    };
    const write = () => service.vectors.upsert('hollow', [item('mine', [1, 1]), item('yours', [1, 2])], { once });
    const first = await write();
    await service.vectors.delete('hollow', ['mine', 'yours']);
    expect((await restoredBy(service, into('hollow', { shards }))).state).toBe('done');
    expect({ ...(await write()), timing: null }).toEqual({ ...first, timing: null });
    expect(repetitions).toBe(1);
    expect(await idsOf('hollow')).toEqual(BEFORE);
  },
);

test('a restore that the cluster store has lost leaves the collection as it was', async () => {
  await drivers.close();
  await empty('hollow');
  const { uid } = await recordOf('hollow');
  const { id } = await service.backups.restore({ keys: false, ...into('hollow') });
  // Its driver stores that it begins, and gets no further.
  const stalled = await held.service({
    shardClient: { ...held.client, open: async () => Promise.reject(new QuiverError('unavailable', 'no node')) },
  });
  drivers = await Drivers.start(stalled);
  await eventually('it has begun', async () => (await reshards())[0]?.state === 'seeding');
  await drivers.close();
  await held.store.transact([], [{ type: 'delete', key: restorePath(id) }]);
  drivers = await Drivers.start(service);
  await eventually(
    'nothing is left of it',
    async () => held.node.host.shardCount === 5 && (await reshards()).length === 0,
  );
  expect((await recordOf('hollow')).uid).toBe(uid);
  await service.vectors.upsert('hollow', [item('mine', [1, 1])]);
  expect(await idsOf('hollow')).toEqual(['mine']);
  // And what was not possible while it went on is possible again.
  await service.vectors.delete('hollow', ['mine']);
  expect((await restoredBy(service, into('hollow'))).state).toBe('done');
});
