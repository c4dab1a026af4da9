import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RemoteProviders } from '../../../../../coordinator/models/remote/remote-providers';
import { embeddingProvidersIn } from '../../../../../shared/base/config/embedding-providers';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { systemClock } from '../../../../../shared/base/time/clock';
import { eventually } from '../../../../support/eventually';
import { EmbeddingsServer, letterVectors } from '../../../../support/servers/embeddings-server';

const TEXTS = Array.from({ length: 50 }, (_, i) => `text ${i} of the sea`);
const PASSAGE = { dim: 8, kind: 'passage' } as const;

describe('RemoteProviders', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-providers-'));
  const opened: RemoteProviders[] = [];
  let server: EmbeddingsServer;
  const seen = { texts: 0, cached: 0 };
  beforeEach(async () => {
    server = await EmbeddingsServer.start();
    Object.assign(seen, { texts: 0, cached: 0 });
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
    await server.close();
    rmSync(join(folder, 'v'), { recursive: true, force: true });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function providers(given: object = {}): RemoteProviders {
    const setting = { big: { url: server.url, models: ['m', { name: 'known', dim: 8 }], ...given } };
    const made = new RemoteProviders({
      providers: embeddingProvidersIn(JSON.stringify(setting)),
      keyOf: (provider) => `key of ${provider}`,
      store: { get: async () => null, transact: async () => ({ applied: true, revision: 1 }) },
      cacheDir: join(folder, 'v'),
      timeoutMs: 30_000,
      dimMax: 100,
      clock: systemClock,
      log: silentLogger,
      observer: {
        call: (_provider, texts) => void (seen.texts += texts),
        cached: (_provider, texts) => void (seen.cached += texts),
        failure: () => undefined,
      },
    });
    opened.push(made);
    return made;
  }
  const expected = (texts: string[]): Float32Array[] => letterVectors(texts).map((vector) => Float32Array.from(vector));

  test('a model whose dimension is not configured is asked for it once', async () => {
    const all = providers();
    expect(all.names).toEqual(['big:m', 'big:known']);
    const [model, same] = await Promise.all([all.model('big', 'm'), all.model('big', 'm')]);
    expect(same).toBe(model);
    expect([model.name, model.dim, server.texts]).toEqual(['big:m', 8, ['dimension']]);
    expect((await all.model('big', 'known')).dim).toBe(8);
    expect(server.asked).toHaveLength(1);
    expect(server.asked[0].key).toBe('Bearer key of big');
    // A collection that is made wants it as it is now.
    expect([await all.dimensionOf('big', 'm'), await all.dimensionOf('big', 'known')]).toEqual([8, 8]);
    expect(server.asked).toHaveLength(2);
  });

  test('a provider or model that is not here is named with those that are', async () => {
    await expect(providers().model('other', 'm')).rejects.toMatchObject({
      kind: 'embedding_unavailable',
      message: '"other:m" is of an embedding provider that this server lacks: EMBEDDING_PROVIDERS has big:m, big:known',
    });
    await expect(providers().model('big', 'x')).rejects.toThrow(
      '"big:x" is no embedding model that this server may use: EMBEDDING_PROVIDERS has',
    );
  });

  test('a server that is away is asked again by the next call', async () => {
    server.misbehave = (call) => (call === 1 ? { status: 401 } : undefined);
    const all = providers();
    await expect(all.model('big', 'm')).rejects.toThrow('401');
    expect((await all.model('big', 'm')).dim).toBe(8);
  });

  test('texts of several requests share calls of so many texts, and no more calls run at once than may', async () => {
    const model = await providers({ batch: 8, concurrency: 2, cache_bytes: 0 }).model('big', 'known');
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    server.before = () => gate;
    const calls = TEXTS.map((text) => model.embed([text], PASSAGE));
    await eventually('two calls', () => server.asked.length === 2);
    open();
    expect((await Promise.all(calls)).flat()).toEqual(expected(TEXTS));
    // One text was there when each of the first two calls began.
    expect(server.asked.map(({ input }) => input.length)).toEqual([1, 1, 8, 8, 8, 8, 8, 8]);
    expect(server.atOnceMax).toBe(2);
  });

  test('what the disk has is not asked for, also after a start', async () => {
    const first = providers();
    const model = await first.model('big', 'm');
    expect(await model.embed([...TEXTS, ...TEXTS.slice(0, 3)], PASSAGE)).toEqual(
      expected([...TEXTS, ...TEXTS.slice(0, 3)]),
    );
    expect(seen.texts).toBe(51);
    await opened.splice(0)[0].close();
    server.asked.length = 0;
    const again = await providers().model('big', 'm');
    const made = await again.embed([...TEXTS, 'a new one'], { dim: 8, kind: 'query' });
    expect(made).toEqual(expected([...TEXTS, 'a new one']));
    expect([server.texts, seen.cached]).toEqual([['a new one'], 50]);
    // Another prefix is another text.
    await again.embed([TEXTS[0]], { ...PASSAGE, prefix: 'p: ' });
    expect(server.texts).toEqual(['a new one', `p: ${TEXTS[0]}`]);
    // Who gets a vector may change it.
    made[0].fill(7);
    expect(await again.embed([TEXTS[0]], PASSAGE)).toEqual(expected([TEXTS[0]]));
  });

  test('vectors of models that are not configured any more go', async () => {
    const all = providers();
    await (await all.model('big', 'm')).embed(TEXTS, PASSAGE);
    await opened.splice(0)[0].close();
    const files = (): string[] => readdirSync(join(folder, 'v'));
    const [kept] = files();
    writeFileSync(join(folder, 'v', 'other.vectors'), '');
    writeFileSync(join(folder, 'v', 'notes.txt'), '');
    await providers().tidy();
    expect(files().toSorted()).toEqual([kept, 'notes.txt'].toSorted());
    await providers({ models: ['else'] }).tidy();
    expect(files()).toEqual(['notes.txt']);
  });

  test('a text is sent as far as the provider takes it, and that is told', async () => {
    const model = await providers({ characters: 100 }).model('big', 'known');
    const cut: unknown[] = [];
    await model.embed(['short', 'x'.repeat(150)], {
      ...PASSAGE,
      prefix: '0123456789',
      onCut: (one) => void cut.push(one),
    });
    expect(server.texts).toEqual(['0123456789short', `0123456789${'x'.repeat(90)}`]);
    expect(cut).toEqual([{ index: 1, read: 100, left: 60, unit: 'characters', isMore: false }]);
  });
});
