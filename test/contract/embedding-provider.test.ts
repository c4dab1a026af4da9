import type { CollectionEmbedding } from '../../coordinator/models/collection-embedding';
import { BuiltinModel } from '../../coordinator/models/builtin-model';
import type { EmbeddingModel } from '../../coordinator/models/embedding-provider';
import {
  EmbeddingRegistry,
  type EmbeddingModelLoader,
  type RemoteModels,
} from '../../coordinator/models/embedding-registry';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import type { LogFields } from '../../shared/base/logs/logger';
import { ManualClock } from '../support/manual-clock';
import { eventually } from '../support/eventually';

/** A model of three dimensions that counts how often it is asked. */
class CountingModel implements EmbeddingModel {
  readonly dim = 3;
  asked: string[] = [];

  constructor(readonly name: string) {}

  async embed(texts: string[]): Promise<Float32Array[]> {
    this.asked.push(...texts);
    return texts.map((text) => Float32Array.of(text.length, 0, 0));
  }
}

function registryOf(configured: string, loader: EmbeddingModelLoader | null, patienceMs = 60_000) {
  const warnings: string[] = [];
  const clock = new ManualClock();
  const log = { warn: (_fields: LogFields, message: string) => void warnings.push(message) };
  return { registry: new EmbeddingRegistry({ configured, loader, log, clock, patienceMs }), warnings, clock };
}

describe('EmbeddingRegistry', () => {
  test('the builtin model needs no loader and no warning', async () => {
    const { registry, warnings } = registryOf('builtin', null);
    expect(await registry.defaultModel()).toBeInstanceOf(BuiltinModel);
    expect(registry.status()).toEqual({
      configured: 'builtin',
      active: 'builtin',
      fallbackReason: null,
      dim: null,
      models: ['local:builtin'],
    });
    expect(warnings).toEqual([]);
  });

  test('a configured model that cannot be loaded falls back to builtin, said once', async () => {
    const { registry, warnings } = registryOf('some/model', null);
    const [first, second] = await Promise.all([registry.defaultModel(), registry.defaultModel()]);
    expect([first.name, second.name]).toEqual(['builtin', 'builtin']);
    await registry.defaultModel();
    expect(warnings.length).toBe(1);
    expect(warnings[0]).toContain('some/model');
    expect(registry.status()).toEqual({
      configured: 'some/model',
      active: 'builtin',
      fallbackReason: expect.stringContaining('some/model'),
      dim: null,
      models: ['local:some/model', 'local:builtin'],
    });
  });

  test('a recorded model is never replaced: an error names it', async () => {
    const { registry } = registryOf('builtin', null);
    await expect(registry.model('other/model')).rejects.toMatchObject({
      kind: 'embedding_unavailable',
      message: expect.stringContaining('other/model'),
    });
    expect((await registry.model('builtin')).name).toBe('builtin');
  });

  test('a model is loaded once, however many ask at once', async () => {
    let loads = 0;
    const { registry } = registryOf('m', async (name) => {
      loads++;
      return new CountingModel(name);
    });
    const models = await Promise.all([registry.model('m'), registry.defaultModel(), registry.model('m')]);
    expect(loads).toBe(1);
    expect(new Set(models).size).toBe(1);
    expect(models[0]).toMatchObject({ name: 'm', dim: 3 });
  });

  test('a failed load is tried again, but not at every call', async () => {
    let loads = 0;
    const { registry, clock, warnings } = registryOf('m', async (name) => {
      if (++loads === 1) throw new QuiverError('unavailable', 'no network');
      return new CountingModel(name);
    });
    expect((await registry.defaultModel()).name).toBe('builtin');
    expect(registry.status().fallbackReason).toContain('no network');
    await expect(registry.model('m')).rejects.toMatchObject({ kind: 'embedding_unavailable' });
    expect(loads).toBe(1);
    clock.advance(61_000);
    expect((await registry.model('m')).name).toBe('m');
    expect((await registry.defaultModel()).name).toBe('m');
    expect(registry.status()).toMatchObject({ configured: 'm', active: 'm', fallbackReason: null, dim: 3 });
    expect(warnings.length).toBe(1);
  });

  test('after a failure the default is tried again beside the calls, which do not wait for it', async () => {
    const tries: { resolve: (model: EmbeddingModel) => void; reject: (error: Error) => void }[] = [];
    const { registry, clock } = registryOf(
      'm',
      () => new Promise((resolve, reject) => void tries.push({ resolve, reject })),
    );
    const first = registry.defaultModel();
    tries[0].reject(new Error('no network'));
    expect((await first).name).toBe('builtin');
    clock.advance(61_000);
    expect((await registry.defaultModel()).name).toBe('builtin');
    expect((await registry.defaultModel()).name).toBe('builtin');
    expect(tries.length).toBe(2);
    tries[1].resolve(new CountingModel('m'));
    await registry.model('m');
    expect((await registry.defaultModel()).name).toBe('m');
  });

  test('a call waits for a model only so long; loading goes on', async () => {
    let finish: (model: EmbeddingModel) => void = () => undefined;
    const { registry } = registryOf('builtin', () => new Promise((resolve) => (finish = resolve)), 5);
    await expect(registry.model('m')).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('"m" is still being loaded'),
    });
    finish(new CountingModel('m'));
    await eventually('the model is there', async () => (await registry.model('m').catch(() => null))?.name === 'm');
  });

  describe('of a collection that says its model', () => {
    /** A model that answers what it was asked for, so that a test sees it. */
    const asked: { name: string; dtype: string | undefined; texts: string[]; prefix: string | undefined }[] = [];
    const loader: EmbeddingModelLoader = async (name, dtype) => ({
      name,
      dim: 4,
      embed: async (texts, { prefix }) => {
        asked.push({ name, dtype, texts, prefix });
        return texts.map(() => Float32Array.of(0, 3, 4, 12));
      },
    });
    const remote: RemoteModels = {
      names: ['big:m'],
      model: async (provider, model) => Object.assign(new CountingModel(`${provider}:${model}`)),
      dimensionOf: async () => 3,
      close: async () => undefined,
    };
    const registryWith = (others: string[] = []) =>
      new EmbeddingRegistry({
        configured: 'm',
        others,
        loader,
        remote,
        log: { warn: () => undefined },
        clock: new ManualClock(),
        patienceMs: 60_000,
      });
    beforeEach(() => (asked.length = 0));

    test('prefixes stand before texts of their kind, and vectors are cut and have unit length again', async () => {
      const embedding = { model: 'local:m', queryPrefix: 'q: ', truncateDim: 3 };
      const registry = registryWith();
      expect(await registry.dimensionOf(embedding)).toBe(3);
      const model = await registry.modelFor({ embeddingModel: 'm', embedding });
      expect([model.name, model.dim]).toEqual(['m', 3]);
      const [vector] = await model.embed(['a'], { dim: 3, kind: 'query' });
      expect([...vector]).toEqual([0, Math.fround(0.6), Math.fround(0.8)]);
      await model.embed(['b'], { dim: 3, kind: 'passage' });
      expect(asked).toEqual([
        { name: 'm', dtype: undefined, texts: ['a'], prefix: 'q: ' },
        { name: 'm', dtype: undefined, texts: ['b'], prefix: undefined },
      ]);
      // A vector that is remembered is that of the same prefix.
      const other = await registry.modelFor({ embeddingModel: 'm', embedding: { model: 'local:m' } });
      await other.embed(['a'], { dim: 4, kind: 'query' });
      await model.embed(['a'], { dim: 3, kind: 'query' });
      expect(asked.slice(2)).toEqual([{ name: 'm', dtype: undefined, texts: ['a'], prefix: undefined }]);
    });

    test('without one it is that of its first text, or the default', async () => {
      const registry = registryWith();
      expect((await registry.modelFor({ embeddingModel: null })).name).toBe('m');
      expect((await registry.modelFor({ embeddingModel: 'other' })).name).toBe('other');
    });

    test('files of another format are another model', async () => {
      const registry = registryWith();
      const model = await registry.modelFor({ embeddingModel: 'm', embedding: { model: 'local:m', dtype: 'fp32' } });
      await model.embed(['a'], { dim: 4, kind: 'passage' });
      await (await registry.defaultModel()).embed(['a'], { dim: 4, kind: 'passage' });
      expect(asked.map(({ name, dtype }) => [name, dtype])).toEqual([
        ['m', 'fp32'],
        ['m', undefined],
      ]);
    });

    test('a new one has a model that is configured, and sense', async () => {
      const registry = registryWith(['other', 'm']);
      expect(registry.status().models).toEqual(['local:m', 'local:other', 'local:builtin', 'big:m']);
      expect(await registry.dimensionOf({ model: 'local:other' })).toBe(4);
      expect(await registry.dimensionOf({ model: 'big:m' })).toBe(3);
      expect(await registry.dimensionOf({ model: 'local:builtin' })).toBeNull();
      for (const embedding of [
        { model: 'local:unknown' },
        { model: 'big:unknown' },
        { model: 'local:builtin', truncateDim: 2 },
        { model: 'local:builtin', dtype: 'q8' },
        { model: 'big:m', dtype: 'q8' },
        { model: 'big:m', truncateDim: 4 },
      ] as CollectionEmbedding[])
        await expect(registry.dimensionOf(embedding)).rejects.toMatchObject({ kind: 'invalid_parameter' });
      expect(asked).toEqual([]);
    });

    test('one that was made elsewhere is told by what is not here', async () => {
      const { registry } = registryOf('builtin', null);
      await expect(registry.modelFor({ embeddingModel: 'big:m', embedding: { model: 'big:m' } })).rejects.toMatchObject(
        {
          kind: 'embedding_unavailable',
          message: expect.stringMatching(/"big:m".*EMBEDDING_PROVIDERS is not set/),
        },
      );
    });
  });

  test('closes what it opened', async () => {
    let closed = 0;
    const { registry } = registryOf('m', async (name) =>
      Object.assign(new CountingModel(name), { close: async () => void closed++ }),
    );
    await registry.defaultModel();
    await registry.close();
    expect(closed).toBe(1);
  });

  test('what is not meant for clients stays out of the message', async () => {
    const { registry } = registryOf('m', async () => {
      throw new Error('/secret/path/model.onnx not found');
    });
    await registry.defaultModel();
    expect(registry.status().fallbackReason).not.toContain('secret');
  });

  test('recent queries are remembered, passages are not', async () => {
    const inner = new CountingModel('m');
    const { registry } = registryOf('m', async () => inner);
    const model = await registry.model('m');
    const [first] = await model.embed(['abc'], { dim: 3, kind: 'query' });
    first[0] = 99;
    const again = await model.embed(['x', 'abc', 'abcd'], { dim: 3, kind: 'query' });
    expect(again.map((vector) => vector[0])).toEqual([1, 3, 4]);
    expect(inner.asked).toEqual(['abc', 'x', 'abcd']);
    await model.embed(['abc'], { dim: 3, kind: 'passage' });
    expect(inner.asked).toEqual(['abc', 'x', 'abcd', 'abc']);
  });
});
