import { MessageChannel } from 'node:worker_threads';
import type { ChatPiece, ChatStream } from '../../../../../coordinator/models/language/language-model';
import { AnswerService, type AnswerServiceOptions } from '../../../../../coordinator/service/answers/answer-service';
import type { AnswerRequest, AnswerSteps, AnswerView } from '../../../../../coordinator/service/answers-service';
import { KeyQuotaLedger } from '../../../../../coordinator/service/keys/quota/key-quota-ledger';
import type { AnswerHold } from '../../../../../coordinator/service/answer-hold';
import type { ScoredHit, SearchAnswer } from '../../../../../coordinator/service/service';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { ThreadPeer } from '../../../../../shared/base/threads/thread-peer';
import { eventually } from '../../../../support/eventually';
import { ManualClock } from '../../../../support/manual-clock';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';

const TEXT = 'Snow melts in the mountains, and so rivers flood in spring.';
const QUESTION: AnswerRequest = {
  collection: 'rivers',
  question: 'When do rivers flood?',
  search: {} as AnswerRequest['search'],
  model: undefined,
  tokensMax: 1000,
  history: [],
};
const CONFIG = {
  llmBaseUrl: 'http://127.0.0.1:9/v1',
  llmModels: 'small',
  llmTokensPerDay: 0,
  llmPromptCharacters: 24_000,
  llmTimeoutMs: 280_000,
};
const DAY_MS = 86_400_000;

const hit = (text: string, more: Partial<ScoredHit> = {}): ScoredHit => ({
  externalId: 'doc-0',
  score: 1,
  metadata: '{}',
  text,
  ...more,
});

function foundOf(hits: ScoredHit[]): SearchAnswer {
  return { hits, totalCount: hits.length, timing: { embeddingMs: 0 } } as unknown as SearchAnswer;
}

/** Writes these, and ends; remembers whether it was given up. */
class Written implements ChatStream {
  returned = 0;
  constructor(private readonly pieces: (ChatPiece | Error)[]) {}

  async next(): Promise<IteratorResult<ChatPiece, undefined>> {
    const piece = this.pieces.shift();
    if (piece instanceof Error) throw piece;
    return piece === undefined ? { done: true, value: undefined } : { done: false, value: piece };
  }

  async return(): Promise<IteratorResult<ChatPiece, undefined>> {
    this.returned += 1;
    return { done: true, value: undefined };
  }
}

const ended = (text: string, usage: [number, number] | null = null): ChatPiece => ({
  text,
  end: { finish: 'stop', usage: usage && { promptTokens: usage[0], completionTokens: usage[1] } },
});

function serviceOf(stream: () => Promise<ChatStream>, more: Partial<AnswerServiceOptions> = {}): AnswerService {
  return new AnswerService({
    search: { search: () => foundOf([hit(TEXT)]) },
    models: { chat: stream },
    keyQuotas: { take: async () => 1, settle: () => undefined },
    clock: new ManualClock(DAY_MS),
    config: CONFIG,
    note: () => undefined,
    ...more,
  });
}

async function wholeOf(steps: AnswerSteps): Promise<AnswerView> {
  for (;;) {
    const { done, value } = await steps.next();
    if (done === true) return value;
  }
}

describe('an answer', () => {
  test('a stream of another thread is given back when the answer is whole', async () => {
    const { port1, port2 } = new MessageChannel();
    const [main, thread] = [port1, port2].map((port) => new ThreadPeer(port, {}));
    const stream = new Written([{ text: 'Rivers ' }, ended('flood.')]);
    const number = main.offer({ [Symbol.asyncIterator]: () => stream });
    const service = serviceOf(async () => thread.taken<ChatPiece>(number));
    expect((await wholeOf(await service.answer(QUESTION, { identity: null }))).text).toBe('Rivers flood.');
    await eventually('nothing is offered any more', () => stream.returned === 1);
    port1.close();
  });

  const answered = async (pieces: ChatPiece[], hits: ScoredHit[] = [hit(TEXT)]) => {
    const service = serviceOf(async () => new Written(pieces), { search: { search: () => foundOf(hits) } });
    const steps = await service.answer(QUESTION, { identity: null });
    let shown = '';
    for (;;) {
      const { done, value } = await steps.next();
      if (done !== true) shown += value.type === 'text' ? value.text : '';
      else {
        expect(value.text).toBe(shown);
        return value;
      }
    }
  };

  test('quotes alone are one, with what is between them', async () => {
    const pieces = ['<cite n="1">rivers flood in', ' spring</cite>', '.'].map((text) => ({ text }));
    expect(await answered([...pieces, ended('')])).toMatchObject({
      text: 'rivers flood in spring',
      sentences: [{ citations: [{ quote: 'rivers flood in spring' }] }],
    });
    expect(await answered([{ text: '"' }, ended('Yes".')])).toMatchObject({ text: '"Yes".' });
    expect(await answered([ended('...')])).toMatchObject({ text: '...' });
  });

  test('cut off within a quote, what is there of it counts', async () => {
    const end = (text: string): ChatPiece => ({ text, end: { finish: 'length', usage: null } });
    expect(await answered([end('They do. <cite n="1">rivers flood in spr')])).toMatchObject({
      text: 'They do.',
      sentences: [{ text: 'They do.', citations: [{ quote: 'rivers flood in' }] }],
      droppedQuotes: 0,
    });
  });

  test('what a model thinks is no part of it', async () => {
    expect(await answered([{ text: '<think>Is it' }, ended('?</think>\nThey do.')])).toMatchObject({
      text: 'They do.',
    });
  });

  test('a quote in neighbours of a hit is of the chunk that has it', async () => {
    const text = 'Snow melts.\nRivers flood in spring.\nMaps are sold.';
    const chunks = [
      { index: 0, externalId: 'doc-0', at: 0, end: 11 },
      { index: 1, externalId: 'doc-1', at: 12, end: 35 },
      { index: 2, externalId: 'doc-2', at: 36, end: 50 },
    ];
    const context = { text, fromChunk: 0, toChunk: 2, chunks };
    const hits = [1, 2].map((i) =>
      hit('', { externalId: `doc-${i}`, metadata: JSON.stringify({ document_id: 'b', page: i + 1 }), context }),
    );
    const view = await answered(
      [ended('<cite n="1">snow melts</cite> a <cite n="1">flood in spring</cite> b <cite n="1">maps are sold</cite>')],
      hits,
    );
    expect(view.sources).toHaveLength(1);
    expect(view.sentences.flatMap(({ citations }) => citations.map(({ chunk }) => chunk))).toMatchObject([
      { externalId: 'doc-0', documentId: 'b' },
      { externalId: 'doc-1', documentId: 'b', page: 2 },
      { externalId: 'doc-2', documentId: 'b', page: 3 },
    ]);
    expect(view.sentences[0].citations[0].chunk).not.toHaveProperty('page');
  });

  test('no more is read than there is room for, and what is left of it is counted', async () => {
    let pages = 0;
    const kept: number[] = [];
    const warned: string[] = [];
    const hits = Array.from({ length: 10 }, (_, i) => hit('', { externalId: `doc-${i}` }));
    const found = {
      ...foundOf(hits),
      later: {
        async *pagesOf() {
          for (const one of hits) {
            pages += 1;
            yield [{ ...one, text: `${one.externalId} ${'x'.repeat(494)}` }];
          }
        },
      },
    };
    const service = serviceOf(async () => new Written([ended('Yes.')]), {
      search: { search: () => found },
      config: { ...CONFIG, llmPromptCharacters: 1000 },
    });
    const hold = { keep: (bytes: number) => kept.push(bytes) } as unknown as AnswerHold;
    const warn = (message: string): number => warned.push(message);
    const view = await wholeOf(await service.answer(QUESTION, { identity: null, hold, warn }));
    expect(view.sources.map(({ text }) => text.length)).toEqual([500, 500]);
    expect(pages).toBe(2);
    expect(kept).toEqual([6000]);
    expect(warned).toEqual([expect.stringMatching(/^8 passages do not fit .*LLM_PROMPT_CHARACTERS/)]);
    warned.length = 0;
    const long = serviceOf(async () => new Written([ended('Yes.')]), {
      search: { search: () => foundOf([hit('x'.repeat(1200))]) },
      config: { ...CONFIG, llmPromptCharacters: 1000 },
    });
    await wholeOf(await long.answer(QUESTION, { identity: null, warn }));
    const cut = serviceOf(async () => new Written([ended('Yes.')]), {
      search: {
        search: () => ({
          ...foundOf([hit(TEXT)]),
          cut: [{ index: 0, read: 512, left: 7, unit: 'tokens', isMore: false }],
        }),
      },
    });
    await wholeOf(await cut.answer(QUESTION, { identity: null, warn }));
    expect(warned.pop()).toMatch(/^the question is longer than the 512 tokens that the embedding model reads/);
    expect(warned).toEqual([expect.stringMatching(/^the last 200 characters of the first passage/)]);
  });

  test.each([
    ['not_found' as const, []],
    ['rate_limited' as const, []],
    ['unavailable' as const, ['failed']],
    ['overloaded' as const, ['failed']],
  ])('%s before the model is asked counts as %j', async (kind, expected) => {
    const outcomes: string[] = [];
    const service = serviceOf(async () => Promise.reject(new QuiverError(kind, 'x')), {
      note: ({ outcome }) => outcomes.push(outcome),
    });
    await expect(service.answer(QUESTION, { identity: null })).rejects.toMatchObject({ kind });
    expect(outcomes).toEqual(expected);
  });
});

describe('the tokens of a day', () => {
  let store: KeyValueClusterStore;
  let clock: ManualClock;
  let ledger: KeyQuotaLedger;
  beforeEach(async () => {
    store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
    clock = new ManualClock(DAY_MS);
    ledger = new KeyQuotaLedger({ store, clock, idleMs: 10, waitMs: DAY_MS });
  });
  afterEach(async () => {
    await ledger.close();
    await store.close();
  });
  const most = 2000;
  const limited = (stream: () => Promise<ChatStream>) =>
    serviceOf(stream, { keyQuotas: ledger, clock, config: { ...CONFIG, llmTokensPerDay: most } });
  const usedBy = (identity: string) =>
    ledger
      .usedOf({ identity: `answers:${identity}`, quota: { items: most, bytes: null, period: 'day' } })
      .then(({ items }) => items);

  test('what others hold that are under way is not waited for', async () => {
    // The clock stands still: whoever waits, waits for ever.
    const service = limited(async () => new Written([ended('Yes.', [50, 50])]));
    const first = await service.answer(QUESTION, { identity: 'key:2' });
    await expect(service.answer(QUESTION, { identity: 'key:2' })).rejects.toMatchObject({
      kind: 'rate_limited',
      message: expect.stringMatching(/held by other answers of this key.*LLM_TOKENS_PER_DAY/),
      details: { retryAfterSeconds: 5 },
    });
    await wholeOf(first);
    await wholeOf(await service.answer(QUESTION, { identity: 'key:2' }));
    expect(await usedBy('key:2')).toBe(200);
  });

  test.each([
    ['refused', { spent: 'nothing', usage: null }, 0],
    ['broken off', { spent: 'prompt', usage: null }, 'prompt'],
    ['told', { spent: 'prompt', usage: { promptTokens: 60, completionTokens: 40 } }, 100],
    ['late', { spent: 'all', usage: null }, 'all'],
  ])('a call that was %s and wrote nothing', async (_, details, expected) => {
    let prompt = 0;
    const service = limited(async () => new Written([new QuiverError('unavailable', 'x', { details })]));
    const steps = await service.answer(QUESTION, { identity: 'key:5' });
    prompt = (await usedBy('key:5'))! - QUESTION.tokensMax;
    await expect(wholeOf(steps)).rejects.toMatchObject({ kind: 'unavailable' });
    const used = { prompt, all: prompt + QUESTION.tokensMax }[expected] ?? expected;
    expect(await usedBy('key:5')).toBe(used);
  });

  test('a call that takes all of its time is charged what it used', async () => {
    const service = limited(async () => new Written([ended('Yes.', [60, 40])]));
    const steps = await service.answer(QUESTION, { identity: 'key:3' });
    // A write that is lost by then, and one that waits for it, show that the ledger has looked.
    const writer = { identity: 'key:4', quota: { items: 10, bytes: null, period: 'day' as const } };
    await ledger.take(writer, { items: 10, bytes: 0 });
    const waiting = ledger.take(writer, { items: 5, bytes: 0 });
    clock.advance(CONFIG.llmTimeoutMs);
    await expect(waiting).rejects.toMatchObject({ kind: 'limit_exceeded' });
    await wholeOf(steps);
    expect(await usedBy('key:3')).toBe(100);
  });
});
