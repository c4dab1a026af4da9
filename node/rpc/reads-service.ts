import { isQuiverError, QuiverError } from '../../shared/errors/quiver-error';
import type { Logger } from '../../shared/logs/logger';
import type { AnswerFrame, ReadFrame__Output, ReadRequest__Output, ReadsHandlers } from '../../shared/rpc/generated/quiver/v1/reads';
import { readsDefinition } from '../../shared/rpc/protocol';
import { type ReadResult, readErrorToProto, readResultToProto } from '../../shared/rpc/read-answer';
import { type ReadCall, readCallFromProto } from '../../shared/rpc/read-call';
import type { RpcService } from '../../shared/rpc/rpc-server';
import type { ShardId } from '../../shared/shard/shard-client';
import type { Clock } from '../../shared/time/clock';
import type { NodeCall, NodeShards } from './node-shards';
import type { OperationObserver } from './operation-observer';
import type { RunningLimit } from './running-limit';
import { ServedStream } from './served-stream';

/** Answers the reads of coordinators (proto/quiver/v1/reads.proto) out of a node's shards. */
export class ReadsService implements RpcService {
  readonly definition = readsDefinition;
  readonly handlers: ReadsHandlers = {
    Exchange: (call) => {
      const taken = new Set<number>();
      const stream: ReadStream = new ServedStream<ReadFrame__Output, AnswerFrame>({
        call,
        emptyFrame: () => ({ answers: [] }),
        frame: (frame) => {
          for (const id of frame.cancelledIds) taken.delete(id);
          for (const request of frame.requests) void this.answer(request, stream, taken);
        },
        ended: () => {
          taken.clear();
          this.streams.delete(stream);
        },
        stallMs: this.stallMs,
        cut: (reason) => this.logger.warn({ peer: call.getPeer(), reason }, 'cut a stream of reads'),
      });
      this.streams.add(stream);
    },
  };
  private readonly streams = new Set<ReadStream>();
  private readonly shards: NodeShards;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly limit: RunningLimit;
  private readonly stallMs: number;
  private readonly observer: OperationObserver;

  /** `limit` bounds the reads that run at once, over all coordinators; a reader that takes nothing for `stallMs` is cut. */
  constructor(parts: { shards: NodeShards; clock: Clock; logger: Logger; limit: RunningLimit; stallMs: number; observer: OperationObserver }) {
    this.shards = parts.shards;
    this.clock = parts.clock;
    this.logger = parts.logger;
    this.stallMs = parts.stallMs;
    this.limit = parts.limit;
    this.observer = parts.observer;
  }

  async drain(): Promise<void> {
    await Promise.all([...this.streams].map((stream) => stream.drain()));
  }

  /** Answers one request, unless its id has left `taken` meanwhile. Never fails. */
  private async answer(request: ReadRequest__Output, stream: ReadStream, taken: Set<number>): Promise<void> {
    const { id } = request;
    taken.add(id);
    stream.begin();
    try {
      const result = await this.limited(request);
      if (stream.isFull) throw new QuiverError('overloaded', 'the answers are taken too slowly');
      if (taken.has(id)) for (const { answer, bytes } of readResultToProto(id, result)) send(stream, answer, bytes);
    } catch (error) {
      if (!isQuiverError(error)) this.logger.error({ error, shard: request.shard }, 'a read failed for a reason that no caller can know');
      const { answer, bytes } = readErrorToProto(id, error);
      if (taken.has(id)) send(stream, answer, bytes);
    } finally {
      taken.delete(id);
      stream.finish();
    }
  }

  private async limited(request: ReadRequest__Output): Promise<ReadResult> {
    const { shard, epoch, remainingMs } = request;
    if (!shard) throw new QuiverError('internal', 'a read that names no shard');
    this.limit.take(1);
    const startMs = this.clock.monotonicMs();
    let operation: ReadCall['type'] | null = null;
    let outcome: 'answered' | 'failed' = 'failed';
    try {
      const call = readCallFromProto(request);
      operation = call.type;
      const result = await this.read(shard, call, { epoch, deadlineMs: startMs + remainingMs });
      outcome = 'answered';
      return result;
    } finally {
      this.limit.giveBack(1);
      if (operation !== null) this.observer.done(operation, this.clock.monotonicMs() - startMs, outcome);
    }
  }

  private async read(id: ShardId, what: ReadCall, call: NodeCall): Promise<ReadResult> {
    const { shards } = this;
    switch (what.type) {
      case 'search':
        return { type: 'hits', ...(await shards.search(id, what.request, call)) };
      case 'score':
        return { type: 'hits', hits: await shards.score(id, what.request, call), vectorCount: 0 };
      case 'keywordSearch':
        return { type: 'hits', hits: await shards.keywordSearch(id, what.request, call), vectorCount: 0 };
      case 'keywordStatistics':
        return { type: 'keywordStatistics', statistics: await shards.keywordStatistics(id, what.terms, call) };
      case 'fetch':
        return { type: 'items', items: await shards.fetch(id, what.request, call) };
      case 'scan':
        return { type: 'items', items: await shards.scan(id, what.request, call) };
      case 'count':
        return { type: 'count', count: await shards.count(id, call) };
      case 'status':
        return { type: 'status', status: await shards.status(id, call) };
    }
  }
}

type ReadStream = ServedStream<ReadFrame__Output, AnswerFrame>;

function send(stream: ReadStream, answer: NonNullable<AnswerFrame['answers']>[number], bytes: number): void {
  stream.push({ bytes, addTo: (frame) => frame.answers?.push(answer) });
}
