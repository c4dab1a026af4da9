import { CachingReranker } from '../../../../../coordinator/models/rerank/caching-reranker';
import {
  PairDispatcher,
  type PairRunner,
  PAIRS_WAITING_MAX,
} from '../../../../../coordinator/models/rerank/pair-dispatcher';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { eventually } from '../../../../support/eventually';

/** A runner whose score of a text is its length by 100; answers when it is told to, or at once. */
class ScriptedRunner implements PairRunner {
  readonly requests: { query: string; texts: string[]; answer: () => void; fail: (error: Error) => void }[] = [];
  end: () => void = () => undefined;
  readonly ended = new Promise<void>((resolve) => (this.end = resolve));
  isClosed = false;

  constructor(
    private readonly answersAtOnce = false,
    readonly textsMax = 1,
  ) {}

  score(query: string, texts: string[]): Promise<number[]> {
    return new Promise((resolve, reject) => {
      const answer = (): void => resolve(texts.map((text) => text.length / 100));
      this.requests.push({ query, texts, answer, fail: reject });
      if (this.answersAtOnce) answer();
    });
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.end();
  }

  giveUp(): void {
    this.end();
  }
}

function dispatcherOf(
  runners: ScriptedRunner[],
  given: { timeoutMs?: number; restart?: () => Promise<PairRunner> } = {},
): PairDispatcher {
  return new PairDispatcher({
    runners,
    restart: given.restart ?? (() => Promise.reject(new QuiverError('embedding_unavailable', 'it is broken for good'))),
    timeoutMs: given.timeoutMs ?? 30_000,
    log: { warn: () => undefined, error: () => undefined },
  });
}

/** What needs no timer has happened; no budget runs out meanwhile, however slow the machine is. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

const texts = (count: number, from = 1): string[] => Array.from({ length: count }, (_, i) => 'x'.repeat(from + i));

describe('PairDispatcher', () => {
  test('scores by place, each pair alone, over all runners', async () => {
    const runners = [new ScriptedRunner(true), new ScriptedRunner(true)];
    const dispatcher = dispatcherOf(runners);
    expect(await dispatcher.score('q', texts(40))).toEqual(texts(40).map((text) => text.length / 100));
    for (const { requests } of runners) {
      expect(requests.length).toBeGreaterThan(0);
      expect(requests.every((request) => request.texts.length === 1 && request.query === 'q')).toBe(true);
    }
    expect(await dispatcher.score('q', [])).toEqual([]);
    await dispatcher.close();
    expect(runners.every(({ isClosed }) => isClosed)).toBe(true);
    await expect(dispatcher.score('q', ['x'])).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('a runner that takes several texts gets so many, in their order', async () => {
    const runner = new ScriptedRunner(true, 4);
    await dispatcherOf([runner]).score('q', texts(10));
    expect(runner.requests.map((request) => request.texts.map((text) => text.length))).toEqual([
      [1, 2, 3, 4],
      [5, 6, 7, 8],
      [9, 10],
    ]);
  });

  test('calls take turns: a short one does not wait for a long one before it', async () => {
    const runner = new ScriptedRunner();
    const dispatcher = dispatcherOf([runner]);
    const long = dispatcher.score('long', texts(100));
    const short = dispatcher.score('short', texts(2));
    for (let answered = 0; answered < 6; answered++) {
      await eventually('another pair runs', () => runner.requests.length > answered);
      runner.requests[answered].answer();
    }
    expect(await short).toEqual([0.01, 0.02]);
    expect(runner.requests.slice(0, 6).map(({ query }) => query)).toEqual([
      'long',
      'long',
      'long',
      'short',
      'long',
      'short',
    ]);
    await dispatcher.close();
    await expect(long).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('after the budget, what is scored by then is answered, and the rest is not begun', async () => {
    const runner = new ScriptedRunner();
    const dispatcher = dispatcherOf([runner]);
    const call = dispatcher.score('q', texts(50), 300);
    runner.requests[0].answer();
    await settled();
    expect(runner.requests.length).toBe(3);
    runner.requests[1].answer();
    await settled();
    expect(runner.requests.length).toBe(4);
    const scores = await call;
    expect(scores.slice(0, 3)).toEqual([0.01, 0.02, undefined]);
    expect(scores).toHaveLength(50);
    expect(scores.slice(2).every((score) => score === undefined)).toBe(true);
    // What runs comes too late, and the next call has the runner.
    const next = dispatcher.score('next', ['xx']);
    for (const request of runner.requests.slice(2, 4)) request.answer();
    await eventually('the next runs', () => runner.requests.length === 5);
    expect(runner.requests[4].query).toBe('next');
    runner.requests[4].answer();
    expect(await next).toEqual([0.02]);
  });

  test('sheds when too many wait; one call alone is always taken', async () => {
    const runner = new ScriptedRunner();
    const dispatcher = dispatcherOf([runner]);
    const large = dispatcher.score('large', new Array<string>(3 * PAIRS_WAITING_MAX).fill('x'));
    await expect(dispatcher.score('next', ['x'])).rejects.toMatchObject({
      kind: 'overloaded',
      message: expect.stringContaining('busy'),
    });
    await dispatcher.close();
    await expect(large).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('a call fails after its time, with its pairs, and those of others go on', async () => {
    const runner = new ScriptedRunner();
    const dispatcher = dispatcherOf([runner], { timeoutMs: 100 });
    await expect(dispatcher.score('slow', texts(3))).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('budget_ms'),
    });
    for (const request of runner.requests) request.answer();
    const next = dispatcher.score('next', ['xxx'], 50);
    await settled();
    expect(runner.requests.length).toBe(3);
    runner.requests[2].answer();
    expect(await next).toEqual([0.03]);
  });

  test('a failure of the model is that of the call alone', async () => {
    const runner = new ScriptedRunner();
    const dispatcher = dispatcherOf([runner]);
    const bad = dispatcher.score('bad', ['x', 'xx', 'xxx']);
    const good = dispatcher.score('good', ['xxxx']);
    runner.requests[0].fail(new QuiverError('embedding_unavailable', 'it failed'));
    await expect(bad).rejects.toMatchObject({ kind: 'embedding_unavailable' });
    await eventually('the other call runs', () => runner.requests.some(({ query }) => query === 'good'));
    for (const request of runner.requests) request.answer();
    expect(await good).toEqual([0.04]);
  });

  test('a runner that ends is replaced, and what waits runs on the new one', async () => {
    const [first, second] = [new ScriptedRunner(), new ScriptedRunner(true)];
    const dispatcher = dispatcherOf([first], { restart: async () => second });
    first.end();
    await first.ended;
    expect(await dispatcher.score('q', ['xx'])).toEqual([0.02]);
    expect(first.requests).toEqual([]);
  });
});

describe('CachingReranker', () => {
  test('asks for each pair once, whatever else is in a call, and keeps no score that was not made', async () => {
    const asked: string[][] = [];
    const isLate = new Set(['late']);
    const cached = new CachingReranker({
      score: async (query, given) => {
        asked.push([query, ...given]);
        return given.map((text) => (isLate.has(text) ? undefined : text.length / 100));
      },
    });
    expect(await cached.score('q', ['a', 'late', 'a', 'bb'])).toEqual([0.01, undefined, 0.01, 0.02]);
    isLate.clear();
    expect(await cached.score('q', ['bb', 'late', 'ccc'])).toEqual([0.02, 0.04, 0.03]);
    expect(await cached.score('q', ['a', 'ccc'])).toEqual([0.01, 0.03]);
    expect(await cached.score('qa', [''])).toEqual([0]);
    expect(await cached.score('other', ['a'])).toEqual([0.01]);
    expect(asked).toEqual([
      ['q', 'a', 'late', 'bb'],
      ['q', 'late', 'ccc'],
      ['qa', ''],
      ['other', 'a'],
    ]);
  });
});
