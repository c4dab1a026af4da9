import { EmbeddingDispatcher } from '../../../../../coordinator/models/transformers/embedding-dispatcher';
import type { EmbeddingRunner, EncodedTexts } from '../../../../../coordinator/models/transformers/embedding-thread';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { eventually } from '../../../../support/eventually';

/** Characters that a runner reads, each of which is a token. */
const READ = 45;

/** A runner whose vector of a text is its length; answers when it is told to, or at once. */
class ScriptedRunner implements EmbeddingRunner {
  readonly dim = 1;
  readonly requests: { texts: string[]; answer: () => void; fail: (error: Error) => void }[] = [];
  end: () => void = () => undefined;
  readonly ended = new Promise<void>((resolve) => (this.end = resolve));
  isClosed = false;
  isGivenUp = false;
  /** Whether its close waits for a request that is never answered. */
  hangs = false;

  constructor(
    readonly isInvariant = true,
    private readonly answersAtOnce = false,
  ) {}

  async measure(texts: string[]): Promise<number[]> {
    return texts.map((text) => text.length + 2);
  }

  embed(texts: string[]): Promise<EncodedTexts> {
    if (texts.some((text) => text.includes('poison')))
      return Promise.reject(new QuiverError('embedding_unavailable', 'poisoned'));
    return new Promise((resolve, reject) => {
      const answer = (): void =>
        resolve({
          vectors: Float32Array.from(texts, (text) => text.length),
          left: texts.map((text) => Math.max(0, text.length - READ)),
        });
      this.requests.push({ texts, answer, fail: reject });
      if (this.answersAtOnce) answer();
    });
  }

  async close(): Promise<void> {
    this.isClosed = true;
    if (this.hangs) await this.ended;
    this.end();
  }

  giveUp(): void {
    this.isGivenUp = true;
    for (const { fail } of this.requests) fail(new QuiverError('unavailable', 'it was given up'));
    this.end();
  }
}

function dispatcherOf(
  runners: ScriptedRunner[],
  given: { timeoutMs?: number; restart?: () => Promise<EmbeddingRunner> } = {},
) {
  return new EmbeddingDispatcher({
    runners,
    restart: given.restart ?? (() => Promise.reject(new QuiverError('embedding_unavailable', 'it is broken for good'))),
    timeoutMs: given.timeoutMs ?? 30_000,
    log: { warn: () => undefined, error: () => undefined },
  });
}

describe('EmbeddingDispatcher', () => {
  test('tells each call what its texts have beyond what the model reads, and counts tokens', async () => {
    const dispatcher = dispatcherOf([new ScriptedRunner(true, true), new ScriptedRunner(true, true)]);
    const left: [number, number][] = [];
    const texts = [50, 3, 45, 46, 47].map((length) => 'x'.repeat(length));
    await Promise.all([
      dispatcher.embed(texts, 'passage', (index, tokens) => left.push([index, tokens])),
      dispatcher.embed(['y'.repeat(60)], 'passage'),
    ]);
    expect(left.toSorted(([a], [b]) => a - b)).toEqual([
      [0, 5],
      [3, 1],
      [4, 2],
    ]);
    expect(await dispatcher.measure(['a', 'bcd'])).toEqual([3, 5]);
    await dispatcher.close();
    await expect(dispatcher.measure(['a'])).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('answers in the order of the texts, over all runners', async () => {
    const runners = [new ScriptedRunner(false, true), new ScriptedRunner(false, true)];
    const dispatcher = dispatcherOf(runners);
    const texts = Array.from({ length: 100 }, (_, i) => 'x'.repeat((i * 7) % 50));
    const vectors = await dispatcher.embed(texts, 'passage');
    expect(vectors.map(([value]) => value)).toEqual(texts.map((text) => text.length));
    for (const { requests } of runners) {
      expect(requests.length).toBeGreaterThan(0);
      expect(requests.every((request) => request.texts.length === 1)).toBe(true);
    }
  });

  test('texts of different calls share a request where the model allows it', async () => {
    const runner = new ScriptedRunner();
    const dispatcher = dispatcherOf([runner]);
    const calls = ['first', 'second', 'third', 'other'].map((text) => dispatcher.embed([text], 'query'));
    expect(runner.requests.map(({ texts }) => texts)).toEqual([['first'], ['second']]);
    runner.requests[0].answer();
    await calls[0];
    await eventually('the rest runs', () => runner.requests.length === 3);
    expect(runner.requests[2].texts.sort()).toEqual(['other', 'third']);
    for (const request of runner.requests) request.answer();
    expect((await Promise.all(calls)).map(([vector]) => vector[0])).toEqual([5, 6, 5, 5]);
  });

  test('sheds when too many wait; one call alone is always taken', async () => {
    const runner = new ScriptedRunner(false);
    const dispatcher = dispatcherOf([runner]);
    const large = dispatcher.embed(new Array(10_000).fill('x'), 'passage');
    await expect(dispatcher.embed(['y'], 'passage')).rejects.toMatchObject({
      kind: 'overloaded',
      message: expect.stringContaining('busy'),
    });
    const query = dispatcher.embed(['query'], 'query');
    runner.requests[0].answer();
    await eventually('the next text runs', () => runner.requests.length === 3);
    expect(runner.requests[2].texts).toEqual(['query']);
    runner.requests[2].answer();
    expect((await query)[0][0]).toBe(5);
    await Promise.all([expect(large).rejects.toMatchObject({ kind: 'unavailable' }), dispatcher.close()]);
    expect(runner.isClosed).toBe(true);
  });

  test('a call that takes too long fails and leaves nothing in the queue', async () => {
    const runner = new ScriptedRunner(false);
    const dispatcher = dispatcherOf([runner], { timeoutMs: 1_000 });
    await expect(dispatcher.embed(['a', 'b', 'c', 'd'], 'passage')).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('too long'),
    });
    for (const { answer } of runner.requests) answer();
    const after = dispatcher.embed(['later'], 'passage');
    await eventually('the later text runs', () => runner.requests.length === 3);
    runner.requests.at(-1)?.answer();
    expect((await after)[0][0]).toBe(5);
    expect(runner.requests.map(({ texts }) => texts)).toEqual([['a'], ['b'], ['later']]);
  });

  test('a text that the model fails on takes no other call along', async () => {
    const dispatcher = dispatcherOf([new ScriptedRunner(true, true)]);
    const calls = ['one', 'two', 'poison', 'six'].map((text) => dispatcher.embed([text], 'query'));
    await expect(calls[2]).rejects.toMatchObject({ kind: 'embedding_unavailable', message: 'poisoned' });
    expect((await Promise.all([calls[0], calls[1], calls[3]])).map(([vector]) => vector[0])).toEqual([3, 3, 3]);
  });

  test('a runner that ends is replaced, and who waits is served by the next', async () => {
    const first = new ScriptedRunner(false);
    const second = new ScriptedRunner(false, true);
    const dispatcher = dispatcherOf([first], { restart: async () => second });
    const calls = ['a', 'bb', 'ccc'].map((text) => dispatcher.embed([text], 'passage'));
    const interruptions = calls.slice(0, 2).map((call) => expect(call).rejects.toMatchObject({ kind: 'unavailable' }));
    first.end();
    for (const request of first.requests) request.fail(new QuiverError('unavailable', 'it ended'));
    await Promise.all(interruptions);
    expect((await calls[2])[0][0]).toBe(3);
  });

  test('without any runner left the calls are told why, and the next one tries again', async () => {
    const first = new ScriptedRunner(false);
    let isRepaired = false;
    const restart = (): Promise<EmbeddingRunner> =>
      isRepaired
        ? Promise.resolve(new ScriptedRunner(false, true))
        : Promise.reject(new QuiverError('embedding_unavailable', 'it is broken'));
    const dispatcher = dispatcherOf([first], { restart });
    const waiting = ['a', 'b', 'c'].map((text) =>
      expect(dispatcher.embed([text], 'query')).rejects.toMatchObject({
        kind: 'embedding_unavailable',
        message: 'it is broken',
      }),
    );
    first.end();
    await Promise.all(waiting);
    isRepaired = true;
    expect((await dispatcher.embed(['four'], 'query'))[0][0]).toBe(4);
  });

  test('nothing is asked of it after it was closed', async () => {
    const dispatcher = dispatcherOf([new ScriptedRunner()]);
    await dispatcher.close();
    await expect(dispatcher.embed(['x'], 'query')).rejects.toMatchObject({ kind: 'unavailable' });
  });

  describe('with a runner that does not answer', () => {
    const MINUTE_MS = 60_000;
    beforeEach(() => jest.useFakeTimers());
    afterEach(() => jest.useRealTimers());

    test('gives it up, fails what it has, and puts another in its place', async () => {
      const first = new ScriptedRunner(false);
      const second = new ScriptedRunner(false, true);
      const dispatcher = dispatcherOf([first], { restart: async () => second });
      const hung = expect(dispatcher.embed(['a'], 'passage')).rejects.toMatchObject({
        kind: 'unavailable',
        message: expect.stringContaining('too long'),
      });
      await jest.advanceTimersByTimeAsync(10.5 * MINUTE_MS);
      await hung;
      expect(first.isGivenUp).toBe(false);
      const late = expect(dispatcher.embed(['bb'], 'query')).rejects.toMatchObject({
        kind: 'unavailable',
        message: 'it was given up',
      });
      const waiting = dispatcher.embed(['ccc'], 'query');
      await jest.advanceTimersByTimeAsync(MINUTE_MS / 2 - 1000);
      expect(first.isGivenUp).toBe(false);
      await jest.advanceTimersByTimeAsync(1000);
      await late;
      expect(first.isGivenUp).toBe(true);
      expect((await waiting)[0][0]).toBe(3);
      await dispatcher.close();
    });

    test('but keeps one that is slow, or has nothing to do', async () => {
      const slow = new ScriptedRunner(false);
      const idle = new ScriptedRunner(false, true);
      const dispatcher = dispatcherOf([slow, idle], { timeoutMs: 24 * 60 * MINUTE_MS });
      // A look is as rare as calls may be long.
      const vectors = dispatcher.embed(['a', 'b', 'c'], 'passage');
      await jest.advanceTimersByTimeAsync(10 * 60 * MINUTE_MS);
      slow.requests[0].answer();
      await jest.advanceTimersByTimeAsync(10 * 60 * MINUTE_MS);
      for (const { answer } of slow.requests) answer();
      expect(await vectors).toHaveLength(3);
      await jest.advanceTimersByTimeAsync(30 * 24 * 60 * MINUTE_MS);
      expect([slow.isGivenUp, idle.isGivenUp]).toEqual([false, false]);
      await dispatcher.close();
    });

    test('its end does not wait for it', async () => {
      const [hung, other] = [new ScriptedRunner(false), new ScriptedRunner(false)];
      hung.hangs = true;
      const dispatcher = dispatcherOf([hung, other]);
      const call = expect(dispatcher.embed(['a'], 'passage')).rejects.toMatchObject({ kind: 'unavailable' });
      const closed = dispatcher.close();
      await call;
      await jest.advanceTimersByTimeAsync(10_000);
      await closed;
      expect([hung.isGivenUp, other.isGivenUp]).toEqual([true, false]);
    });
  });
});
