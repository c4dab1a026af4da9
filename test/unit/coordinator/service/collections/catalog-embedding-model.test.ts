import type { Once } from '../../../../../coordinator/service/idempotency/write-dedup';
import type { KeyWriter } from '../../../../../coordinator/service/keys/quota/key-quota';
import { ANY_VERSION, NO_VERSION } from '../../../../../shared/contract/shard/shard-client';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { PlainShardClient } from '../../../../support/shards/plain-shard-client';
import {
  item,
  markingModel,
  newCollection,
  PlainEmbedding,
  plainService,
  textItem,
} from '../../../../support/shards/plain-service';
import { fetched } from '../../../../support/http/whole-pages';
import { asked } from '../../../../support/stories/search-forms';

/** coordinator/service/collections/collection-embedder.ts, through whole services that share a store. */

/** Starts services over one store and one set of shards, each with models of its own. */
async function setUp() {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const shards = new PlainShardClient();
  return async (embedding?: PlainEmbedding) => (await plainService({ store, shards, embedding })).service;
}

describe('the embedding model of a collection', () => {
  const models = (first: string) =>
    new PlainEmbedding([
      markingModel(first, null, first === 'one' ? 1 : 2),
      markingModel(first === 'one' ? 'two' : 'one', null, first === 'one' ? 2 : 1),
    ]);

  test('is that of its first stored text, whatever the default is later', async () => {
    const start = await setUp();
    const first = await start(models('one'));
    await first.collections.create(newCollection('c'));
    await first.search.search('c', asked({ text: 'a query records nothing', k: 1, filter: null }));
    expect((await first.collections.get('c')).embeddingModel).toBeNull();
    await first.vectors.upsert('c', [textItem('a', 'text')]);
    expect((await first.collections.get('c')).embeddingModel).toBe('one');
    const embedding = models('two');
    const second = await start(embedding);
    await second.vectors.upsert('c', [textItem('b', 'text')]);
    await second.search.search('c', asked({ text: 'text', k: 1, filter: null }));
    expect(embedding.calls.map(({ model, kind }) => `${model} ${kind}`)).toEqual(['one passage', 'one query']);
  });

  test('is one, when first texts race under two defaults', async () => {
    const start = await setUp();
    const services = [await start(models('one')), await start(models('two'))];
    await services[0].collections.create(newCollection('c', { shards: 2 }));
    await Promise.all(
      Array.from({ length: 12 }, (_, i) => services[i % 2].vectors.upsert('c', [textItem(`t${i}`, `text ${i}`)])),
    );
    const { embeddingModel } = await services[0].collections.get('c');
    const dedup = embeddingModel === 'one' ? 1 : 2;
    const stored = await fetched(
      services[0].vectors.fetch(
        'c',
        Array.from({ length: 12 }, (_, i) => `t${i}`),
        { vectors: true },
      ),
    );
    expect(stored.map(({ vector }) => vector?.[0])).toEqual(new Array(12).fill(dedup));
  });

  test('is not recorded by a text that is refused', async () => {
    const start = await setUp();
    const service = await start(new PlainEmbedding([markingModel('wide', 384, 1)]));
    await service.collections.create(newCollection('c', { dim: 3 }));
    await expect(service.vectors.upsert('c', [textItem('a', 'text')])).rejects.toMatchObject({
      kind: 'dimension_mismatch',
      code: 400,
    });
    expect((await service.collections.get('c')).embeddingModel).toBeNull();
  });

  describe('is not recorded by a write that is refused', () => {
    const writer: KeyWriter = { identity: 'key:7', quota: { items: 3, bytes: null, period: 'total' } };
    const onceOf = (name: string): Once => ({
      token: name.padEnd(32, '0'),
      digest: name.padEnd(32, '1'),
      sealingKey: 'e'.repeat(64),
      repeated: () => undefined,
    });

    test.each([
      [
        'a condition of one item',
        (once?: Once) => ({
          items: [{ ...textItem('a', 'text'), expected: NO_VERSION }],
          mode: { once },
          kind: 'conflict',
        }),
      ],
      [
        'a condition of several',
        (once?: Once) => ({
          items: [textItem('a', 'text'), { ...textItem('c', 'text'), expected: ANY_VERSION }],
          mode: { once },
          kind: 'conflict',
        }),
      ],
      [
        'the quota of its collection',
        (once?: Once) => ({
          items: ['b', 'c', 'd'].map((id) => textItem(id, 'text')),
          mode: { once },
          kind: 'limit_exceeded',
        }),
      ],
      [
        'the quota of its key',
        (once?: Once) => ({
          items: ['a', 'a', 'a', 'a'].map((id) => textItem(id, 'text')),
          mode: { once, writer },
          kind: 'limit_exceeded',
        }),
      ],
    ])('by %s', async (_title, given) => {
      const service = await (await setUp())(models('one'));
      await service.collections.create({ ...newCollection('c', { shards: 2 }), quota: { items: 2, bytes: null } });
      await service.vectors.upsert('c', [item('a', [1, 0])]);
      for (const once of [undefined, onceOf('once'), onceOf('once')]) {
        const { items, mode, kind } = given(once);
        await expect(service.vectors.upsert('c', items, mode)).rejects.toMatchObject({ kind });
      }
      expect((await service.collections.get('c')).embeddingModel).toBeNull();
    });

    test('by a condition of a patch', async () => {
      const service = await (await setUp())(models('one'));
      await service.collections.create(newCollection('c'));
      const { versions } = await service.vectors.upsert('c', [item('a', [1, 0])]);
      const patch = { externalId: 'a', vector: undefined, text: 'text', embeds: true, metadata: undefined };
      await expect(service.vectors.patch('c', { ...patch, expected: versions[0]! + 1 })).rejects.toMatchObject({
        kind: 'conflict',
      });
      expect((await service.collections.get('c')).embeddingModel).toBeNull();
      await service.vectors.patch('c', { ...patch, expected: versions[0]! });
      expect((await service.collections.get('c')).embeddingModel).toBe('one');
    });
  });

  test('is that of who was first: a patch that comes second stores a vector by it', async () => {
    const start = await setUp();
    const one = markingModel('one', null, 1);
    const second = await start(models('two'));
    const first = await start(
      new PlainEmbedding([
        {
          ...one,
          embed: async (texts, options) => {
            if ((await second.collections.get('c')).embeddingModel === null)
              await second.vectors.upsert('c', [textItem('b', 'text')]);
            return one.embed(texts, options);
          },
        },
        markingModel('two', null, 2),
      ]),
    );
    await first.collections.create(newCollection('c'));
    await first.vectors.upsert('c', [item('a', [9, 9])]);
    await first.vectors.patch('c', {
      externalId: 'a',
      vector: undefined,
      text: 'text',
      embeds: true,
      metadata: undefined,
    });
    const stored = await fetched(first.vectors.fetch('c', ['a', 'b'], { vectors: true }));
    expect(stored.map(({ vector }) => vector?.[0])).toEqual([2, 2]);
  });

  test('that is another by now and can’t be loaded leaves the quota as it was', async () => {
    const start = await setUp();
    const one = markingModel('one', null, 1);
    const second = await start(new PlainEmbedding([markingModel('two', null, 2)]));
    const first = await start(
      new PlainEmbedding([
        {
          ...one,
          embed: async (texts, options) => {
            await second.vectors.upsert('c', [textItem('b', 'text')]);
            return one.embed(texts, options);
          },
        },
      ]),
    );
    await first.collections.create(newCollection('c'));
    const writer: KeyWriter = { identity: 'key:7', quota: { items: 3, bytes: null, period: 'total' } };
    await expect(first.vectors.upsert('c', [textItem('a', 'text')], { writer })).rejects.toMatchObject({
      kind: 'embedding_unavailable',
    });
    expect(await first.keyQuotas.usedOf(writer)).toMatchObject({ items: 0 });
    await first.keyQuotas.close();
  });

  test('that can’t be loaded refuses texts and lets vectors be', async () => {
    const start = await setUp();
    const first = await start(new PlainEmbedding([markingModel('lost', null, 1)]));
    await first.collections.create(newCollection('c'));
    await first.vectors.upsert('c', [textItem('a', 'text')]);
    const second = await start();
    await expect(second.vectors.upsert('c', [textItem('b', 'text')])).rejects.toMatchObject({
      kind: 'embedding_unavailable',
      message: expect.stringContaining('lost'),
    });
    await second.vectors.upsert('c', [item('b', [1, 0])]);
    expect((await second.collections.get('c')).vectorCount).toBe(2);
  });
});
