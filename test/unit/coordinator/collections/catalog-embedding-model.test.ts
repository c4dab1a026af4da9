import { KeyValueClusterStore } from '../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../node/kv/memory-key-value-store';
import { PlainShardClient } from '../../../support/plain-shard-client';
import { item, markingModel, newCollection, PlainEmbedding, plainService, textItem } from '../../../support/plain-service';

/** coordinator/collections/collection-embedder.ts, through whole services that share a store. */

/** Starts services over one store and one set of shards, each with models of its own. */
async function setUp() {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const shards = new PlainShardClient();
  return async (embedding?: PlainEmbedding) => (await plainService({ store, shards, embedding })).service;
}

describe('the embedding model of a collection', () => {
  const models = (first: string) => new PlainEmbedding([markingModel(first, null, first === 'one' ? 1 : 2), markingModel(first === 'one' ? 'two' : 'one', null, first === 'one' ? 2 : 1)]);

  test('is that of its first stored text, whatever the default is later', async () => {
    const start = await setUp();
    const first = await start(models('one'));
    await first.collections.create(newCollection('c'));
    await first.search.query('c', { text: 'a query records nothing', k: 1, filter: null });
    expect((await first.collections.get('c')).embeddingModel).toBeNull();
    await first.vectors.upsert('c', [textItem('a', 'text')]);
    expect((await first.collections.get('c')).embeddingModel).toBe('one');
    const embedding = models('two');
    const second = await start(embedding);
    await second.vectors.upsert('c', [textItem('b', 'text')]);
    await second.search.query('c', { text: 'text', k: 1, filter: null });
    expect(embedding.calls.map(({ model, kind }) => `${model} ${kind}`)).toEqual(['one passage', 'one query']);
  });

  test('is one, when first texts race under two defaults', async () => {
    const start = await setUp();
    const services = [await start(models('one')), await start(models('two'))];
    await services[0].collections.create(newCollection('c', { shards: 2 }));
    await Promise.all(Array.from({ length: 12 }, (_, i) => services[i % 2].vectors.upsert('c', [textItem(`t${i}`, `text ${i}`)])));
    const { embeddingModel } = await services[0].collections.get('c');
    const mark = embeddingModel === 'one' ? 1 : 2;
    const stored = await services[0].vectors.fetch(
      'c',
      Array.from({ length: 12 }, (_, i) => `t${i}`),
      { vectors: true },
    );
    expect(stored.map(({ vector }) => vector?.[0])).toEqual(new Array(12).fill(mark));
  });

  test('is not recorded by a text that is refused', async () => {
    const start = await setUp();
    const service = await start(new PlainEmbedding([markingModel('wide', 384, 1)]));
    await service.collections.create(newCollection('c', { dim: 3 }));
    await expect(service.vectors.upsert('c', [textItem('a', 'text')])).rejects.toMatchObject({ kind: 'dimension_mismatch', code: 400 });
    expect((await service.collections.get('c')).embeddingModel).toBeNull();
  });

  test('that can’t be loaded refuses texts and lets vectors be', async () => {
    const start = await setUp();
    const first = await start(new PlainEmbedding([markingModel('lost', null, 1)]));
    await first.collections.create(newCollection('c'));
    await first.vectors.upsert('c', [textItem('a', 'text')]);
    const second = await start();
    await expect(second.vectors.upsert('c', [textItem('b', 'text')])).rejects.toMatchObject({ kind: 'embedding_unavailable', message: expect.stringContaining('lost') });
    await second.vectors.upsert('c', [item('b', [1, 0])]);
    expect((await second.collections.get('c')).vectorCount).toBe(2);
  });
});
