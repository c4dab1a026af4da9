import { backedUpRecord } from '../../../../../coordinator/jobs/restore/restored-records';
import type { CatalogCollectionsService } from '../../../../../coordinator/service/collections/catalog-collections-service';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { PlainShardClient } from '../../../../support/shards/plain-shard-client';
import type { KeywordFields } from '../../../../../shared/contract/shard/keyword-fields';
import { item, newCollection, plainService } from '../../../../support/shards/plain-service';

test('a recovery asks the shards of each collection until all of them have answered once, and then no more', async () => {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const shards = new PlainShardClient();
  const { service } = await plainService({ store, shards });
  const { service: other } = await plainService({ store, shards });
  const uids: string[] = [];
  let asked: string[] = [];
  let isDown = true;
  shards.intercept = (call, { collectionUid, shard }) => {
    if (!uids.includes(collectionUid)) uids.push(collectionUid);
    asked.push(`${uids.indexOf(collectionUid)}.${shard}`);
    if (isDown && call === 'status' && shard === 1 && collectionUid === uids[1])
      throw new QuiverError('unavailable', 'down');
  };
  for (const name of ['a', 'b']) await service.collections.create(newCollection(name, { shards: 2 }));
  const recovered = async (): Promise<string[]> => {
    asked = [];
    await (other.collections as CatalogCollectionsService).recover();
    return [...new Set(asked)].sort();
  };
  expect(await recovered()).toEqual(['0.0', '0.1', '1.0', '1.1']);
  isDown = false;
  expect(await recovered()).toEqual(['1.0', '1.1']);
  expect(await recovered()).toEqual([]);
  await service.collections.create(newCollection('c', { shards: 1 }));
  expect(await recovered()).toEqual(['2.0']);
});

test('who is told that a collection exists finds it, also where its creation was under way', async () => {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const shards = new PlainShardClient();
  const { service } = await plainService({ store, shards });
  const { service: other } = await plainService({ store, shards });
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const begun = new Promise<void>((resolve) => {
    shards.intercept = () => {
      resolve();
      return gate;
    };
  });
  const first = service.collections.create(newCollection('a'));
  await begun;
  const seen: string[] = [];
  const raced = other.collections.create(newCollection('a')).catch(async (error: QuiverError) => {
    seen.push(error.kind);
    seen.push((await other.collections.get('a')).name);
  });
  // Time enough to be told too early.
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(seen).toEqual([]);
  open();
  await Promise.all([first, raced]);
  expect(seen).toEqual(['already_exists', 'a']);
});

describe('a collection of which a shard does not answer', () => {
  /** More than are asked at once. */
  const AWAY = 20;

  async function someAway(failed: () => Promise<void> | void) {
    const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
    const shards = new PlainShardClient();
    const { service } = await plainService({ store, shards, environment: { REQUEST_TIMEOUT_MS: '1000' } });
    const away = new Set<string>();
    for (let i = 0; i < AWAY; i += 1) await service.collections.create(newCollection(`away-${i}`, { shards: 2 }));
    for (const { collectionUid } of shards.openShards()) away.add(collectionUid);
    for (const name of ['here-1', 'here-2']) {
      await service.collections.create(newCollection(name, { shards: 2 }));
      await service.vectors.upsert(name, [item('a', [1, 2])]);
    }
    const asked = new Set<string>();
    shards.intercept = (call, { collectionUid, shard }) => {
      if (call === 'status') asked.add(collectionUid);
      return shard === 1 && away.has(collectionUid) ? failed() : undefined;
    };
    return { service, asked };
  }

  test.each<[string, () => Promise<void> | void, string]>([
    [
      'is away',
      () => new Promise(() => undefined),
      'shard 1 of 2 of collection "away-0" is unavailable; the call may be retried',
    ],
    [
      'is damaged',
      () => {
        throw new QuiverError('storage_damaged', 'stored data are damaged');
      },
      'shard 1 of 2 of collection "away-0": stored data are damaged; put them back from a copy, or restore the collection from a backup (docs/operations.md, "When data are gone")',
    ],
    [
      'meets an error of ours',
      () => {
        throw new TypeError('a secret of the program');
      },
      'it failed; the log says why',
    ],
  ])('because it %s is listed without a count, and takes no other along', async (_, failed, reason) => {
    const { service } = await someAway(failed);
    const list = await service.collections.list();
    expect(list.map(({ name, vectorCount }) => [name, vectorCount])).toEqual([
      ...list.filter(({ name }) => name.startsWith('away')).map(({ name }) => [name, -1]),
      ['here-1', 1],
      ['here-2', 1],
    ]);
    expect(list[0]).toMatchObject({ name: 'away-0', unavailableShards: [{ shard: 1, reason }] });
    const readings = await service.readShards(500);
    expect(
      readings.filter(({ collection }) => collection.startsWith('here')).map(({ status }) => status?.vectorCount),
    ).toEqual([1, 0, 1, 0]);
    expect(readings.filter(({ status }) => status === null)).toHaveLength(AWAY);
  });

  test('is not asked for a key that may not see it', async () => {
    const { service, asked } = await someAway(() => new Promise(() => undefined));
    const list = await service.collections.list({ role: 'readonly', collections: [{ prefix: 'here-' }] });
    expect(list.map(({ name, vectorCount }) => [name, vectorCount])).toEqual([
      ['here-1', 1],
      ['here-2', 1],
    ]);
    expect(asked.size).toBe(2);
  });
});

test('keyword fields and languages without spaces wait until every member knows them, and are kept', async () => {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  let isKnown = false;
  const { service } = await plainService({
    store,
    collectionObstacle: (feature, what) => (isKnown ? null : `${feature}: ${what}`),
  });
  const fields = [{ path: 'title', weight: 3 }];
  const create = async () => service.collections.create(newCollection('a', { keywordFields: fields }));
  await expect(create()).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('keyword-fields'),
  });
  const chinese = async () => service.collections.create(newCollection('c', { language: 'zh' }));
  await expect(chinese()).rejects.toMatchObject({ kind: 'unavailable', message: expect.stringContaining('can be zh') });
  expect((await service.collections.create(newCollection('b'))).keywordFields).toBeNull();
  expect((await service.collections.create(newCollection('d', { language: 'de' }))).language).toBe('de');
  isKnown = true;
  expect((await chinese()).language).toBe('zh');
  expect((await create()).keywordFields).toEqual(fields);
  const { service: other } = await plainService({ store });
  expect((await other.collections.get('a')).keywordFields).toEqual(fields);
});

test('analysers of fields wait until every member knows them; one that is the language is none', async () => {
  let isKnown = false;
  const { service } = await plainService({
    collectionObstacle: (feature, what) => (isKnown || feature !== 'field-analysers' ? null : `${feature}: ${what}`),
  });
  const { collections } = service;
  const refused = { kind: 'unavailable', message: 'field-analysers: keyword_fields can have an analyser' };
  const keywordFields: KeywordFields = [{ path: 'title', weight: 3, analyser: 'de' }];
  await expect(collections.create(newCollection('a', { keywordFields }))).rejects.toMatchObject(refused);
  const german = await collections.create(newCollection('b', { keywordFields, language: 'de' }));
  expect(german.keywordFields).toEqual([{ path: 'title', weight: 3 }]);
  const other: KeywordFields = [{ path: 'title', weight: 3, analyser: 'unicode' }];
  await expect(collections.update('b', { keywordFields: other })).rejects.toMatchObject(refused);
  expect((await collections.create(newCollection('c', { keywordFields: other }))).keywordFields).toEqual([
    { path: 'title', weight: 3 },
  ]);
  isKnown = true;
  expect((await collections.create(newCollection('a', { keywordFields }))).keywordFields).toEqual(keywordFields);
  expect(await collections.update('b', { keywordFields: other })).toMatchObject({ job: expect.any(String) });
});

test('an embedding waits until every member keeps it, and stays through other changes and in backups', async () => {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  let isKnown = false;
  const { service } = await plainService({
    store,
    collectionObstacle: (feature, what) => (isKnown ? null : `${feature}: ${what}`),
  });
  const embedding = { model: 'local:builtin', queryPrefix: 'q: ' };
  await expect(service.collections.create(newCollection('a', { embedding }))).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'collection-models: collections can have an embedding',
  });
  isKnown = true;
  const made = await service.collections.create(newCollection('a', { embedding }));
  expect(made).toMatchObject({ embedding, embeddingModel: 'builtin', dim: 2 });
  await service.collections.setQuota('a', { items: 5, bytes: null });
  await service.collections.update('a', { description: 'd' });
  const { service: other } = await plainService({ store });
  expect(await other.collections.get('a')).toMatchObject({ embedding });
  const entry = (await store.get('/q/collections/a'))!;
  expect(backedUpRecord({ name: 'a', record: entry.value })).toMatchObject({ embedding });
  const strange = entry.value.replace('"q: "', '7');
  expect(() => backedUpRecord({ name: 'a', record: strange })).toThrow('the backup is damaged');
});

test('synonyms and stop words wait until every member keeps them, and stay through other changes and in backups', async () => {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  let isKnown = false;
  const { service } = await plainService({
    store,
    collectionObstacle: (feature, what) => (isKnown ? null : `${feature}: ${what}`),
  });
  const synonyms = [['car', 'automobile'], { from: ['pump'], to: ['compressor'] }];
  const waits = { kind: 'unavailable', message: expect.stringContaining('synonyms') };
  await expect(service.collections.create(newCollection('a', { synonyms }))).rejects.toMatchObject(waits);
  await service.collections.create(newCollection('b'));
  await expect(service.collections.update('b', { synonyms })).rejects.toMatchObject(waits);
  expect((await service.collections.update('b', { synonyms: null })).synonyms).toBeNull();
  isKnown = true;
  const stopWords = { add: ['item'], remove: ['the'] };
  isKnown = false;
  await expect(service.collections.update('b', { stopWords })).rejects.toMatchObject({ kind: 'unavailable' });
  await expect(service.collections.create(newCollection('a', { stopWords }))).rejects.toMatchObject({
    kind: 'unavailable',
  });
  isKnown = true;
  const made = await service.collections.create(newCollection('a', { synonyms, stopWords }));
  expect(made).toMatchObject({ synonyms, stopWords });
  await service.collections.setQuota('a', { items: 5, bytes: null });
  await service.collections.update('a', { description: 'd' });
  const { service: other } = await plainService({ store });
  expect(await other.collections.get('a')).toMatchObject({ synonyms, stopWords });
  const entry = (await store.get('/q/collections/a'))!;
  expect(backedUpRecord({ name: 'a', record: entry.value })).toMatchObject({ synonyms, stopWords });
  const strange = entry.value.replace('"automobile"', '7');
  expect(() => backedUpRecord({ name: 'a', record: strange })).toThrow('the backup is damaged');
});

test.each<[string, object, string]>([
  ['a rule of one word', { synonyms: [['car']] }, 'synonyms: has a rule that says nothing at 0'],
  ['a rule for nothing', { synonyms: [{ from: ['car'], to: [] }] }, 'synonyms: has a rule that says nothing at 0'],
  ['an empty synonym', { synonyms: [['car', '']] }, 'synonyms: must have words of 1 to 256 characters'],
  [
    'more words in a rule than the API takes',
    { synonyms: [{ from: Array.from({ length: 20 }, () => 'a'), to: Array.from({ length: 20 }, () => 'b') }] },
    'synonyms: must have at most 32 words in a rule',
  ],
  [
    'synonyms of too many bytes',
    { synonyms: Array.from({ length: 300 }, () => ['x'.repeat(200), 'y'.repeat(200)]) },
    'synonyms: must take at most 65536 bytes',
  ],
  ['an empty stop word', { stop_words: { add: [''], remove: [] } }, 'stopWords: must have words of 1 to 64 characters'],
  [
    'too many stop words',
    { stop_words: { add: [], remove: Array.from({ length: 1_001 }, () => 'a') } },
    'stopWords: must have at most 1000 words in remove',
  ],
  [
    'stop words of too many bytes',
    { stop_words: { add: Array.from({ length: 1_000 }, () => 'ä'.repeat(64)), remove: [] } },
    'stopWords: must take at most 65536 bytes',
  ],
])('a backup with %s is damaged', async (_, rules, message) => {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const { service } = await plainService({ store });
  await service.collections.create(newCollection('a'));
  const record = JSON.parse((await store.get('/q/collections/a'))!.value);
  const read = (): unknown => backedUpRecord({ name: 'a', record: JSON.stringify({ ...record, ...rules }) });
  expect(read).toThrow(expect.objectContaining({ kind: 'storage_damaged', message: expect.stringContaining(message) }));
});
