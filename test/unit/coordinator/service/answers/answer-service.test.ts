import { MessageChannel } from 'node:worker_threads';
import type { ChatPiece, ChatStream } from '../../../../../coordinator/models/language/language-model';
import { AnswerService, type AnswerServiceOptions } from '../../../../../coordinator/service/answers/answer-service';
import type { AnswerRequest, AnswerSteps, AnswerView } from '../../../../../coordinator/service/answers-service';
import { KeyQuotaLedger } from '../../../../../coordinator/service/keys/quota/key-quota-ledger';
import type { ScoredHit, SearchAnswer } from '../../../../../coordinator/service/service';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
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
