import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rerankLoader } from '../../coordinator/models/rerank/rerank-loader';
import type { Reranker } from '../../coordinator/models/rerank/reranker';
import { rerankModelsIn } from '../../shared/base/config/rerank-models';
import { silentLogger } from '../../shared/base/logs/logger';
import { systemClock } from '../../shared/base/time/clock';
import { join } from 'node:path';
import { type TinyModelOptions, writeTinyModel } from '../support/onnx/tiny-model';
import { TransformersModels } from '../support/shards/transformers-models';

/** Models that score pairs: real graphs in real worker threads, and servers that speak for some. */

const QUERY = 'the red fox on a slow river';
const TEXTS = [
  'the cat',
  'a red stone on the slow river',
  'Rain, wind and snow: 12 dogs!',
  'x',
  '',
  'sea road '.repeat(200),
  '\ud800 \u0000 שלום 水',
  'the cat',
];

describe('rerank models', () => {
  const models = new TransformersModels();
  const opened: Reranker[] = [];
  afterAll(async () => {
    await Promise.all(opened.map(async (reranker) => reranker.close?.()));
    await models.close();
  });

  function made(name: string, options: TinyModelOptions = {}): string {
    const folder = models.path(name);
    writeTinyModel(folder, options);
    return folder;
  }

  async function open(setting: string, given: { threads?: number; apiKey?: string } = {}): Promise<Reranker> {
    const settings = rerankModelsIn(setting)!;
    const reranker = await rerankLoader({
      models: settings,
      apiKey: given.apiKey ?? '',
      dtype: 'auto',
      cacheDir: models.path('cache'),
      isOffline: true,
      hub: 'http://127.0.0.1:9',
      threads: given.threads ?? 1,
      timeoutMs: 30_000,
      clock: systemClock,
      log: silentLogger,
      workerFile: join(__dirname, '../support/threads/embedding-worker.js'),
    })(settings[0].name);
    opened.push(reranker);
    return reranker;
  }

  describe.each([
    ['a cross-encoder', 'cross', { labels: 1 }],
    ['a cross-encoder with int8 products', 'cross-int8', { labels: 1, files: ['model_quantized' as const] }],
    ['a cross-encoder with two logits', 'cross-two', { labels: 2 }],
    ['late interaction', 'late', {}],
    ['late interaction with int8 products', 'late-int8', { files: ['model_quantized' as const] }],
  ])('%s', (_, name, options) => {
    let reranker: Reranker;
    beforeAll(async () => {
      const folder = made(name, options);
      reranker = await open(`m=${name.startsWith('late') ? 'late-interaction:' : ''}${folder}`, { threads: 2 });
    });

    test('the score of a pair is the same to the last digit whatever runs beside it', async () => {
      const together = await reranker.score(QUERY, TEXTS);
      for (const score of together) {
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1);
      }
      const alone: (number | undefined)[] = [];
      for (const text of TEXTS) alone.push(...(await reranker.score(QUERY, [text])));
      expect(together).toEqual(alone);
      const backwards = (await reranker.score(QUERY, TEXTS.toReversed())).toReversed();
      expect(backwards).toEqual(alone);
      const others = await Promise.all(['sun', QUERY, 'dog tree'].map((query) => reranker.score(query, TEXTS)));
      expect(others[1]).toEqual(alone);
      expect(others[0]).not.toEqual(alone);
    });

    test('a text that is too long is read as far as it goes, and so is a query', async () => {
      const [long, longer, other] = await reranker.score('a cat', [
        'tree '.repeat(300),
        `${'tree '.repeat(300)}fire`,
        `fire ${'tree '.repeat(300)}`,
      ]);
      expect(longer).toBe(long);
      expect(other).not.toBe(long);
      const [first, second] = await reranker.score('tree '.repeat(500), ['a cat', 'the fire']);
      expect(first).not.toBe(second);
    });
  });

  test('a pair is what the library’s own tokenizer makes of it, so a score depends on both texts and their order', async () => {
    const reranker = await open(`m=${made('order', { labels: 1, seed: 3 })}`);
    const [ab] = await reranker.score('red sun', ['blue moon']);
    const [ba] = await reranker.score('blue moon', ['red sun']);
    const [aa] = await reranker.score('red sun', ['red sun']);
    expect(new Set([ab, ba, aa]).size).toBe(3);
  });

  test('late interaction has 1 for the same words, and less for others', async () => {
    const reranker = await open(`m=late-interaction:${made('same', { seed: 5 })}`);
    const [same, other] = await reranker.score('the red fox', ['the red fox', 'snow and wind']);
    expect(same).toBeCloseTo(1, 5);
    expect(other).toBeLessThan(same!);
  });

  test('a graph that is none of a cross-encoder is refused with what it answers', async () => {
    await expect(open(`m=${made('encoder')}`)).rejects.toMatchObject({
      kind: 'embedding_unavailable',
      message: expect.stringContaining('last_hidden_state'),
    });
    await expect(open(`m=${made('classes', { labels: 3 })}`)).rejects.toMatchObject({
      message: expect.stringContaining('3 logits'),
    });
    await expect(open(`m=late-interaction:${made('logits', { labels: 1 })}`)).rejects.toMatchObject({
      message: expect.stringContaining('logits'),
    });
    await expect(open('m=no/such/folder')).rejects.toMatchObject({ kind: 'embedding_unavailable' });
  });

  describe('servers', () => {
    let server: Server;
    let answer: { status: number; body: string };
    const asked: { path: string; key: string | undefined; body: any }[] = [];
    let port: number;
    beforeAll(async () => {
      server = createServer((request, response) => {
        const pieces: Buffer[] = [];
        request.on('data', (piece: Buffer) => pieces.push(piece));
        request.on('end', () => {
          const body = JSON.parse(Buffer.concat(pieces).toString()) as { texts?: string[]; documents?: string[] };
          asked.push({ path: request.url!, key: request.headers.authorization, body });
          const texts = body.texts ?? body.documents!;
          const rows = texts.map((text, index) => ({
            index,
            [body.texts ? 'score' : 'relevance_score']: text.length / 100,
          }));
          const own = JSON.stringify(body.texts ? rows.toReversed() : { results: rows.toReversed() });
          response.writeHead(answer.status, { 'content-type': 'application/json' });
          response.end(answer.body === '' ? own : answer.body);
        });
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      ({ port } = server.address() as AddressInfo);
    });
    beforeEach(() => {
      answer = { status: 200, body: '' };
      asked.length = 0;
    });
    afterAll(() => server.close());

    test('of Text Embeddings Inference', async () => {
      const reranker = await open(`m=tei:http://127.0.0.1:${port}/rerank`);
      expect(await reranker.score('q', ['a', 'bbb', ''])).toEqual([0.01, 0.03, 0]);
      expect(asked).toEqual([
        {
          path: '/rerank',
          key: undefined,
          body: { query: 'q', texts: ['a', 'bbb', ''], raw_scores: false, truncate: true },
        },
      ]);
    });

    test('of the form of Cohere, with its key and the name of its model, some texts at a time', async () => {
      const reranker = await open(`m=cohere:http://127.0.0.1:${port}/v2/rerank#rerank-v3.5`, { apiKey: 'secret' });
      const texts = Array.from({ length: 40 }, (_, i) => 'x'.repeat(i));
      expect(await reranker.score('q', texts)).toEqual(texts.map((text) => text.length / 100));
      expect(asked.map(({ body }) => body.documents.length)).toEqual([32, 8]);
      expect(asked[0]).toMatchObject({
        path: '/v2/rerank',
        key: 'Bearer secret',
        body: { model: 'rerank-v3.5', top_n: 32 },
      });
    });

    test('that fail or answer something else are told by name, without their address', async () => {
      const reranker = await open(`big=tei:http://127.0.0.1:${port}/rerank`);
      const failure = async (status: number, body: string): Promise<{ kind: string; message: string }> => {
        answer = { status, body };
        return reranker.score('q', ['a']).then(
          () => ({ kind: 'none', message: 'it answered' }),
          (error: unknown) => error as { kind: string; message: string },
        );
      };
      expect((await failure(429, '{}')).kind).toBe('overloaded');
      for (const [status, body] of [
        [500, 'x'],
        [200, 'no json'],
        [302, '{}'],
      ] as const) {
        const { kind, message } = await failure(status, body);
        expect(kind).toBe('unavailable');
        expect(message).toContain('"big"');
        expect(message).not.toContain(String(port));
      }
      for (const body of ['[]', '{}', '[{"index":1,"score":0.5}]', '[{"index":0,"score":"high"}]', '[null]'])
        expect((await failure(200, body)).kind).toBe('embedding_unavailable');
      answer = { status: 200, body: '' };
      expect(await reranker.score('q', ['aa'])).toEqual([0.02]);
    });
  });
});

describe('RERANK_MODEL', () => {
  test('names models', () => {
    expect(
      rerankModelsIn(
        ' owner/name, late-interaction:owner/other ,b=tei:http://h:1/rerank,c=cohere:https://h/v2/rerank#m%2F1',
      ),
    ).toEqual([
      { name: 'owner/name', kind: 'cross-encoder', model: 'owner/name', remoteModel: '' },
      { name: 'late-interaction:owner/other', kind: 'late-interaction', model: 'owner/other', remoteModel: '' },
      { name: 'b', kind: 'tei', model: 'http://h:1/rerank', remoteModel: '' },
      { name: 'c', kind: 'cohere', model: 'https://h/v2/rerank', remoteModel: 'm/1' },
    ]);
    expect(rerankModelsIn('')).toEqual([]);
    for (const bad of [
      'a,a',
      'tei:http://h/',
      'x=tei:nothing',
      'x=cohere:file:///etc/passwd',
      'x=',
      `x=cohere:https://u:p@h/`,
      'x=cohere:https://h/#100%',
    ])
      expect(rerankModelsIn(bad)).toBeNull();
  });
});
