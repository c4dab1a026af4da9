import { EventEmitter } from 'node:events';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { NO_OPERATION_OBSERVER } from '../../../../node/rpc/operation-observer';
import { threadReads } from '../../../../node/rpc/shard-service';
import { silentLogger } from '../../../../shared/logs/logger';
import type { AnswerFrame, ReadFrame__Output } from '../../../../shared/rpc/generated/quiver/v1/reads';
import { systemClock } from '../../../../shared/time/clock';
import { eventually } from '../../../support/eventually';

test('reads that wait for a thread are bounded: what is beyond that is refused, and takes no memory', async () => {
  let running = 0;
  const shards = {
    read: () => {
      running += 1;
      return new Promise<never>(() => undefined);
    },
  };
  const { handlers } = threadReads({ shards, clock: systemClock, logger: silentLogger, observer: NO_OPERATION_OBSERVER, tracer: null });
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
  (handlers.Exchange as (call: ServerDuplexStream<ReadFrame__Output, AnswerFrame>) => void)(call as unknown as ServerDuplexStream<ReadFrame__Output, AnswerFrame>);
  const requests = Array.from({ length: 5_000 }, (_, id) => ({ id, shard: { collectionUid: 'c', shard: 0 }, epoch: 1, remainingMs: 60_000, noted: null, call: 'count', count: {} }));
  call.emit('data', { requests, cancelledIds: [] });
  await eventually('the others are refused', () => refused.length === 5_000 - running);
  expect(running).toBe(4_096);
  expect(new Set(refused)).toEqual(new Set(['overloaded']));
  call.emit('close');
});
