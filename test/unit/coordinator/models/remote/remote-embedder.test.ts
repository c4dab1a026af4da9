import { ProviderGate } from '../../../../../coordinator/models/remote/provider-gate';
import { RefusedText, RemoteEmbedder } from '../../../../../coordinator/models/remote/remote-embedder';
import { EmbeddingsServer, letterVectors, type Misbehaviour } from '../../../../support/servers/embeddings-server';
import { ManualPauses } from '../../../../support/values/manual-pauses';

const KEY = 'sk-a-secret-of-this-test';
const TEXTS = ['the cat', 'a red stone', 'x'];
const VECTORS = Float32Array.from(letterVectors(TEXTS).flat());

describe('RemoteEmbedder', () => {
  let server: EmbeddingsServer;
  let pauses: ManualPauses;
  const counted = { texts: 0, tokens: 0, failures: 0, taken: 0, settled: [] as [number, number][] };
  beforeAll(async () => {
    server = await EmbeddingsServer.start();
  });
  afterAll(() => server.close());
  beforeEach(() => {
    server.asked.length = 0;
    server.misbehave = () => undefined;
    pauses = new ManualPauses();
    Object.assign(counted, { texts: 0, tokens: 0, failures: 0, taken: 0, settled: [] });
  });

  function embedder(
    given: { timeoutMs?: number; perMinute?: number; url?: string; refuses?: () => Error; dimMax?: number } = {},
  ): RemoteEmbedder {
    return new RemoteEmbedder({
      name: 'big:m-1',
      provider: 'big',
      model: 'm-1',
      url: given.url ?? `${server.url}/embeddings`,
      apiKey: () => KEY,
      encoding: 'base64',
      dimMax: given.dimMax ?? 64,
      timeoutMs: given.timeoutMs ?? 60_000,
      gate: new ProviderGate({ name: 'big', perMinute: given.perMinute ?? 0, ...pauses.both }),
      budget: {
        take: async (tokens) => {
          if (given.refuses !== undefined) throw given.refuses();
          counted.taken += tokens;
        },
        settle: (taken, spent) => void counted.settled.push([taken, spent]),
      },
      observer: {
        call: (_provider, texts, tokens) => {
          counted.texts += texts;
          counted.tokens += tokens;
        },
        cached: () => undefined,
        failure: () => void (counted.failures += 1),
      },
      pauses: pauses.both,
      random: () => 0,
    });
  }

  async function failure(misbehave: (call: number) => Misbehaviour, runner = embedder()): Promise<any> {
    server.misbehave = misbehave;
    return runner.embed(TEXTS).then(
      () => ({ kind: 'none', message: 'it answered' }),
      (error: unknown) => error,
    );
  }

  test('asks in the form of the protocol and takes what is answered, in base64 or as numbers', async () => {
    const runner = embedder();
    expect((await runner.embed(TEXTS)).vectors).toEqual(VECTORS);
    expect(runner.dim).toBe(8);
    expect(server.asked).toEqual([
      { path: '/v1/embeddings', key: `Bearer ${KEY}`, model: 'm-1', input: TEXTS, encoding: 'base64' },
    ]);
    server.misbehave = () => ({ data: letterVectors(TEXTS).map((embedding, index) => ({ index, embedding })) });
    expect((await runner.embed(TEXTS)).vectors).toEqual(VECTORS);
    expect(counted).toMatchObject({ texts: 6, tokens: 12, failures: 0 });
    // What was counted beforehand is settled by what the server counts.
    expect(counted.settled.map(([, spent]) => spent)).toEqual([6, 6]);
  });

  test('vectors are those of their places, whatever their order', async () => {
    const rows = letterVectors(TEXTS).map((embedding, index) => ({ index, embedding }));
    server.misbehave = () => ({ data: rows.toReversed() });
    expect((await embedder().embed(TEXTS)).vectors).toEqual(VECTORS);
    server.misbehave = () => ({ data: rows.map(({ embedding }) => ({ embedding })) });
    expect((await embedder().embed(TEXTS)).vectors).toEqual(VECTORS);
  });

  test('a busy server is asked again when it says so, a broken one later each time', async () => {
    const after = (call: number): Misbehaviour =>
      call === 1 ? { status: 429, headers: { 'retry-after': '7' } } : call < 4 ? { status: 503 } : undefined;
    server.misbehave = after;
    expect((await embedder().embed(TEXTS)).vectors).toEqual(VECTORS);
    expect(pauses.made).toEqual([7000, 500, 1000]);
    expect(server.asked).toHaveLength(4);
    // Nothing is spent by what was not answered.
    expect(counted.settled.map(([, spent]) => spent)).toEqual([0, 0, 0, 6]);
    expect(counted.failures).toBe(0);
  });

  test('what stays busy or broken is told by name and status, after some attempts', async () => {
    expect(await failure(() => ({ status: 429 }))).toMatchObject({
      kind: 'overloaded',
      message: 'The embedding model "big:m-1" is busy (429); try again later',
    });
    expect(server.asked).toHaveLength(6);
    expect(await failure(() => ({ status: 500, body: KEY }))).toMatchObject({
      kind: 'unavailable',
      message: 'The embedding model "big:m-1" answers 500',
    });
    expect(counted.failures).toBe(2);
  });

  test('who is to come again after the call’s time is told at once, and so are those that follow', async () => {
    const runner = embedder({ timeoutMs: 5_000 });
    expect((await failure(() => ({ status: 429, headers: { 'retry-after': '60' } }), runner)).kind).toBe('overloaded');
    expect(pauses.made).toEqual([]);
    expect(await failure(() => undefined, runner)).toMatchObject({
      kind: 'overloaded',
      message: 'The embedding provider "big" takes no more texts at present; try again in 60 s',
    });
    expect(server.asked).toHaveLength(1);
    pauses.nowMs += 60_000;
    server.misbehave = () => undefined;
    expect((await runner.embed(TEXTS)).vectors).toEqual(VECTORS);
  });

  test.each([
    ['a vector too few', { data: [{ index: 0, embedding: [1, 2] }] }, 'answers 1 vectors for 3 texts'],
    [
      'one place twice',
      { data: [0, 0, 1].map((index) => ({ index, embedding: [1, 2] })) },
      'places are not those of the texts',
    ],
    ['a place behind the last', { data: [0, 1, 3].map((index) => ({ index, embedding: [1, 2] })) }, 'places are not'],
    [
      'different lengths',
      { data: [[1, 2], [1], [1, 2]].map((embedding, index) => ({ index, embedding })) },
      'vectors of different lengths',
    ],
    ['empty vectors', { data: [0, 1, 2].map((index) => ({ index, embedding: [] })) }, 'vectors of different lengths'],
    [
      'NaN in base64',
      {
        data: [0, 1, 2].map((index) => ({
          index,
          embedding: Buffer.from(Float32Array.of(1, NaN).buffer).toString('base64'),
        })),
      },
      'what is no number',
    ],
    [
      'a number that float32 does not have',
      { data: [0, 1, 2].map((index) => ({ index, embedding: [1, 1e300] })) },
      'no number',
    ],
    ['null in a vector', { data: [0, 1, 2].map((index) => ({ index, embedding: [1, null] })) }, 'no vector'],
    ['base64 of half a number', { data: [0, 1, 2].map((index) => ({ index, embedding: 'AAAA' })) }, 'no vector'],
    ['no list', { status: 200, body: '{"data":null}' }, 'no list of vectors'],
    [
      'more numbers than a vector may have',
      { data: letterVectors(TEXTS, '', 65).map((embedding, index) => ({ index, embedding })) },
      'MAX_VECTOR_DIM',
    ],
  ] as [string, Misbehaviour, string][])('%s is refused, and not asked for again', async (_, misbehaviour, message) => {
    const error = await failure(() => misbehaviour);
    expect(error).toMatchObject({ kind: 'embedding_unavailable', message: expect.stringContaining(message) });
    expect(error).not.toBeInstanceOf(RefusedText);
    expect(server.asked).toHaveLength(1);
  });

  test('vectors of another length than before are refused, unless that is asked for', async () => {
    const runner = embedder();
    await runner.embed(TEXTS);
    const other: Misbehaviour = { data: TEXTS.map((_, index) => ({ index, embedding: [1, 2, 3] })) };
    expect((await failure(() => other, runner)).message).toContain('vectors of 3 numbers, and not of 8');
    server.misbehave = () => ({ data: [{ index: 0, embedding: [1, 2, 3] }] });
    expect(await runner.probe()).toBe(3);
    expect(runner.dim).toBe(3);
  });

  test('a text that is not taken, a key, a place that is not there and another address are told apart', async () => {
    expect(await failure(() => ({ status: 400, body: KEY }))).toBeInstanceOf(RefusedText);
    for (const [status, words] of [
      [401, 'does not take the key (401)'],
      [402, 'asks to be paid (402)'],
      [403, 'does not take the key (403)'],
      [404, 'is not there'],
      [307, 'sends elsewhere (307)'],
    ] as const) {
      const headers = { location: 'http://127.0.0.1:9/else' };
      const error = await failure(() => ({ status, headers, body: `{"error":"wrong key ${KEY}"}` }));
      expect(error).toMatchObject({ kind: 'embedding_unavailable', message: expect.stringContaining(words) });
      expect(JSON.stringify([error, error.message, error.stack, String(error.cause)])).not.toContain(KEY);
      expect(error.message).not.toContain('127.0.0.1');
      expect(error).not.toBeInstanceOf(RefusedText);
    }
    expect(server.asked).toHaveLength(6);
  });

  test('an answer that is cut off is asked for again, and one without an end is not read', async () => {
    server.misbehave = (call) => (call === 1 ? { how: 'cut' } : undefined);
    expect((await embedder().embed(TEXTS)).vectors).toEqual(VECTORS);
    expect(server.asked).toHaveLength(2);
    const endless = await failure(() => ({ how: 'flood' }));
    expect(endless).toMatchObject({
      kind: 'unavailable',
      message: 'The embedding model "big:m-1" does not answer; the call may be retried',
    });
    expect(String(endless.cause)).toContain('answers more than');
  });

  test('nobody waits longer than a call may take', async () => {
    // The one time that is real: of the connection, which hangs.
    expect(await failure(() => ({ how: 'hang' }), embedder({ timeoutMs: 50 }))).toMatchObject({ kind: 'unavailable' });
  });

  test('a server that is not there is told without its address', async () => {
    const error = await embedder({ url: 'http://127.0.0.1:1/v1/embeddings' })
      .embed(TEXTS)
      .catch((failed: unknown) => failed as Error);
    expect(error).toMatchObject({ kind: 'unavailable' });
    expect((error as Error).message).not.toContain('127.0.0.1');
  });

  test('calls keep the distance of the provider’s rate', async () => {
    const runner = embedder({ perMinute: 60 });
    for (const text of TEXTS) await runner.embed([text]);
    expect(pauses.made).toEqual([1000, 1000]);
  });

  test('what the day has no tokens for is not asked', async () => {
    const refuses = (): Error => new Error('spent');
    await expect(embedder({ refuses }).embed(TEXTS)).rejects.toThrow('spent');
    expect(server.asked).toEqual([]);
  });
});
