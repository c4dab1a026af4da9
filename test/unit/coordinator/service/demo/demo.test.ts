import { BuiltinModel } from '../../../../../coordinator/models/builtin-model';
import { CollectionDemoService } from '../../../../../coordinator/service/demo/collection-demo-service';
import { demoId } from '../../../../../coordinator/service/demo/demo-text';
import { DEMO_TEXTS } from '../../../../../coordinator/service/demo/demo-texts';
import { newCollection, PlainEmbedding, plainService } from '../../../../support/shards/plain-service';
import { asked } from '../../../../support/stories/search-forms';

describe('the texts of the demo', () => {
  test('are some hundred, each with an id of its own and what filters and colours need', () => {
    expect(DEMO_TEXTS.length).toBeGreaterThan(200);
    expect(DEMO_TEXTS.length).toBeLessThan(400);
    const ids = DEMO_TEXTS.map(demoId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z]+-[a-z0-9]+(-[a-z0-9]+)*$/);
    const topics = new Map<string, number>();
    for (const { topic } of DEMO_TEXTS) topics.set(topic, (topics.get(topic) ?? 0) + 1);
    expect([...topics.keys()].sort()).toEqual([
      'animals',
      'countries',
      'culture',
      'elements',
      'inventions',
      'nature',
      'space',
    ]);
    for (const count of topics.values()) expect(count).toBeGreaterThanOrEqual(20);
  });

  test('are short, whole sentences, each said once', () => {
    expect(new Set(DEMO_TEXTS.map(({ text }) => text)).size).toBe(DEMO_TEXTS.length);
    for (const { text, title, facts } of DEMO_TEXTS) {
      expect(text.length).toBeGreaterThan(50);
      expect(text.length).toBeLessThan(400);
      expect(text).toMatch(/^[A-Z].*\.$/);
      expect(title).not.toBe('');
      if (facts.year !== undefined) expect(Number.isInteger(facts.year)).toBe(true);
    }
  });

  test('have ids without accents', () => {
    expect(demoId({ topic: 'a', title: 'Galápagos, the (far) Ones!', facts: {}, text: '' })).toBe(
      'a-galapagos-the-far-ones',
    );
  });
});

describe('loading the demo', () => {
  test('makes the collection, stores every text, and changes nothing when it is asked again', async () => {
    const { service } = await plainService();
    expect(await service.demo.load()).toEqual({
      collection: 'demo',
      count: DEMO_TEXTS.length,
      loaded: true,
      dim: 384,
      embeddingModel: 'builtin',
      notice: null,
    });
    expect((await service.collections.get('demo')).vectorCount).toBe(DEMO_TEXTS.length);
    expect(await service.demo.load()).toMatchObject({ loaded: false, count: DEMO_TEXTS.length });
    const { hits } = await service.search.search(
      'demo',
      asked({ text: 'a mammal that lays eggs', k: 3, filter: null }),
    );
    expect(hits.map(({ externalId }) => externalId)).toContain('animals-platypus');
    service.close();
  });

  test('has the dimension of the model', async () => {
    const model = new BuiltinModel();
    const { service } = await plainService({
      embedding: new PlainEmbedding([
        { name: 'small', dim: 16, embed: (texts, options) => model.embed(texts, options) },
      ]),
    });
    expect(await service.demo.load()).toMatchObject({ dim: 16, embeddingModel: 'small' });
    service.close();
  });

  test('by several at once loads it once, and goes on where another one was interrupted', async () => {
    const { service } = await plainService();
    const views = await Promise.all([service.demo.load(), service.demo.load(), service.demo.load()]);
    expect(views.every(({ count }) => count === DEMO_TEXTS.length)).toBe(true);
    await service.vectors.delete('demo', DEMO_TEXTS.slice(10, 60).map(demoId));
    expect(await service.demo.load()).toMatchObject({ loaded: true });
    expect((await service.collections.get('demo')).vectorCount).toBe(DEMO_TEXTS.length);
    service.close();
  });

  test('leaves a collection alone that only has the name', async () => {
    const { service } = await plainService();
    await service.collections.create(newCollection('demo'));
    await expect(service.demo.load()).rejects.toMatchObject({
      kind: 'already_exists',
      message: expect.stringContaining('leaves alone'),
    });
    expect((await service.collections.get('demo')).vectorCount).toBe(0);
    service.close();
  });

  test('says that its texts are compared by words where the model could not be loaded, then and now', async () => {
    const model = new BuiltinModel();
    const embedding = new PlainEmbedding([model]);
    let fallbackReason: string | null = 'The embedding model "m" can\'t be loaded: the hub can\'t be reached';
    embedding.status = () => ({
      configured: 'm',
      active: fallbackReason === null ? 'm' : 'builtin',
      fallbackReason,
      dim: null,
      models: [],
    });
    const { service } = await plainService({ embedding });
    expect((await service.demo.load()).notice).toBe(`Texts are compared by words, not by meaning. ${fallbackReason}.`);
    fallbackReason = null;
    expect((await service.demo.load()).notice).toMatch(
      /m could not be loaded when they were stored\. Delete the collection/,
    );
    service.close();
  });

  test('passes on why the collection can not be read', async () => {
    const broken = new CollectionDemoService({
      collections: {
        get: () => Promise.reject(new Error('broken')),
        create: () => Promise.reject(new Error('not to be called')),
      },
      vectors: { upsert: () => Promise.reject(new Error('not to be called')) },
      embedding: {
        defaultModel: async () => new BuiltinModel(),
        status: () => ({ configured: 'builtin', active: 'builtin', fallbackReason: null, dim: null, models: [] }),
      },
    });
    await expect(broken.load()).rejects.toThrow('broken');
  });
});
