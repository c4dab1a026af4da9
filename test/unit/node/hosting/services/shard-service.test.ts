import { EventEmitter } from 'node:events';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { NO_OPERATION_OBSERVER } from '../../../../../node/hosting/services/operation-observer';
import { threadReads } from '../../../../../node/hosting/services/shard-service';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import type { AnswerFrame, ReadFrame__Output } from '../../../../../shared/wire/generated/quiver/v1/reads';
import { systemClock } from '../../../../../shared/base/time/clock';
import { eventually } from '../../../../support/eventually';

test('reads that wait for a thread are bounded: what is beyond that is refused, and takes no memory', async () => {
  let running = 0;
  const shards = {
    read: () => {
      running += 1;
      return new Promise<never>(() => undefined);
    },
  };
  const { handlers } = threadReads({
    shards,
    clock: systemClock,
    logger: silentLogger,
    observer: NO_OPERATION_OBSERVER,
    tracer: null,
  });
  const refused: (string | undefined)[] = [];
  const call = Object.assign(new EventEmitter(), {
    sendMetadata: () => undefined,
    write: ({ answers }: AnswerFrame, taken: () => void) => {
      for (const { failure } of answers ?? []) refused.push(failure?.kind);
      taken();
    },
    isPaused: () => false,
    resume: () => undefined,
    end: () => undefined,
  });
  (handlers.Exchange as (call: ServerDuplexStream<ReadFrame__Output, AnswerFrame>) => void)(
    call as unknown as ServerDuplexStream<ReadFrame__Output, AnswerFrame>,
  );
  const requests = Array.from({ length: 5_000 }, (_, id) => ({
    id,
    shard: { collectionUid: 'c', shard: 0 },
    epoch: 1,
    remainingMs: 60_000,
    noted: null,
    call: 'count',
    count: {},
  }));
  call.emit('data', { requests, cancelledIds: [] });
  await eventually('the others are refused', () => refused.length === 5_000 - running);
  expect(running).toBe(4_096);
  expect(new Set(refused)).toEqual(new Set(['overloaded']));
  call.emit('close');
});

test('long answers that are ready together are encoded in several rounds of the event loop, and a short one waits for none of them', async () => {
  let nowMs = 0;
  let round = 0;
  let isOver = false;
  const spy = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const count = (): void => {
    round += 1;
    if (!isOver) setImmediate(count);
  };
  count();
  /** In which round each was encoded, which takes the thread two milliseconds. */
  const rounds = { long: [] as number[], short: [] as number[] };
  const itemOf = (kind: keyof typeof rounds) => ({
    externalId: 'a',
    metadata: 'm'.repeat(kind === 'long' ? 40_000 : 10),
    text: null,
    get stamp() {
      rounds[kind].push(round);
      nowMs += 2;
      return 1;
    },
  });
  const shards = {
    read: (_id: unknown, _kind: unknown, { limit }: { limit: number }) =>
      Promise.resolve([itemOf(limit === 1 ? 'short' : 'long')]),
  };
  const { handlers } = threadReads({
    shards: shards as never,
    clock: systemClock,
    logger: silentLogger,
    observer: NO_OPERATION_OBSERVER,
    tracer: null,
  });
  let answered = 0;
  const call = Object.assign(new EventEmitter(), {
    sendMetadata: () => undefined,
    write: ({ answers }: AnswerFrame, taken: () => void) => {
      answered += answers?.length ?? 0;
      taken();
    },
    isPaused: () => false,
    resume: () => undefined,
    end: () => undefined,
  });
  (handlers.Exchange as (call: ServerDuplexStream<ReadFrame__Output, AnswerFrame>) => void)(
    call as unknown as ServerDuplexStream<ReadFrame__Output, AnswerFrame>,
  );
  const requests = Array.from({ length: 41 }, (_, id) => {
    const scan = {
      afterExternalId: Buffer.alloc(0),
      afterStamp: 0,
      limit: id === 40 ? 1 : 2,
      filter: '',
      vectors: false,
      withoutTexts: false,
      versions: false,
      expiries: false,
      bytesMax: 100_000,
    };
    return {
      id,
      shard: { collectionUid: 'c', shard: 0 },
      epoch: 1,
      remainingMs: 60_000,
      noted: null,
      call: 'scan',
      scan,
    };
  });
  call.emit('data', { requests, cancelledIds: [] });
  try {
    await eventually('all are answered', () => answered === 41);
    const counts = new Map<number, number>();
    for (const at of rounds.long) counts.set(at, (counts.get(at) ?? 0) + 1);
    expect(rounds.long).toHaveLength(40);
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(4);
    expect(rounds.short).toEqual([rounds.long[0]]);
  } finally {
    isOver = true;
    spy.mockRestore();
    call.emit('close');
  }
});
