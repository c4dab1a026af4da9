import { isQuiverError, QuiverError } from '../../shared/errors/quiver-error';
import type { Logger } from '../../shared/logs/logger';
import type { AnswerFrame, ReadFrame__Output, ReadRequest__Output, ReadsHandlers } from '../../shared/rpc/generated/quiver/v1/reads';
import type { FramesMethod } from '../../shared/rpc/frames-acceptor';
import { readsDefinition } from '../../shared/rpc/protocol';
import type { SizedAnswer } from '../../shared/rpc/read-codecs';
import { servedReadFrames } from '../../shared/rpc/read-frames';
import { isLongRead, readAnswerToProto, readErrorToProto, readKindOf, readRequestFromProto } from '../../shared/rpc/read-messages';
import type { RpcService } from '../../shared/rpc/rpc-server';
import type { ServedCall } from '../../shared/rpc/served-call';
import type { AnswerOf, ReadKind } from '../../shared/shard/shard-read';
import type { Clock } from '../../shared/time/clock';
import { inTurn } from '../../shared/time/work-slices';
import type { Tracer } from '../../shared/trace/span';
import { NotedCall } from './noted-call';
import type { NodeCall, NodeShards } from './node-shards';
import type { OperationObserver } from './operation-observer';
import type { RunningLimit } from './running-limit';
import { ServedStream } from './served-stream';

/** A coordinator takes a follower for silent after a second (coordinator/cluster/follower-reads.ts): some signs fit in there. */
const SIGN_OF_LIFE_MS = 250;

/** Answers the reads of coordinators (proto/quiver/v1/reads.proto) from a node's shards. */
export class ReadsService implements RpcService {
  readonly definition = readsDefinition;
  readonly handlers: ReadsHandlers = {
    Exchange: (call) => this.serve(call),
  };
  /** The same on connections that carry frames. */
  readonly frames: FramesMethod<ReadFrame__Output, AnswerFrame> = { ...servedReadFrames, serve: (call) => this.serve(call) };
  private readonly streams = new Set<ReadStream>();
  private readonly shards: Pick<NodeShards, 'read'>;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly limit: RunningLimit;
  private readonly stallMs: number;
  private readonly observer: OperationObserver;
  private readonly tracer: Tracer | null;

  /** `limit` bounds the reads that run at once, over all coordinators. A reader that takes nothing for `stallMs` is cut off. */
  constructor(parts: { shards: Pick<NodeShards, 'read'>; clock: Clock; logger: Logger; limit: RunningLimit; stallMs: number; observer: OperationObserver; tracer: Tracer | null }) {
    this.shards = parts.shards;
    this.clock = parts.clock;
    this.logger = parts.logger;
    this.stallMs = parts.stallMs;
    this.limit = parts.limit;
    this.observer = parts.observer;
    this.tracer = parts.tracer;
  }

  async drain(): Promise<void> {
    await Promise.all([...this.streams].map((stream) => stream.drain()));
  }

  private serve(call: ServedCall<ReadFrame__Output, AnswerFrame>): void {
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
      signOfLifeMs: SIGN_OF_LIFE_MS,
      cut: (reason) => this.logger.warn({ peer: call.getPeer(), reason }, 'cut a stream of reads'),
    });
    this.streams.add(stream);
  }

  /** Answers one request, unless its id has been removed from `taken` meanwhile. Never fails. */
  private async answer(request: ReadRequest__Output, stream: ReadStream, taken: Set<number>): Promise<void> {
    const { id } = request;
    taken.add(id);
    stream.begin();
    let noted: NotedCall | null = null;
    try {
      const kind = readKindOf(request);
      noted = request.noted === null ? null : this.noted(kind, request);
      const answer = await this.limited(kind, request, noted);
      if (stream.isFull) throw new QuiverError('overloaded', 'the answers are taken too slowly');
      noted?.end(null);
      if (taken.has(id)) for (const part of readAnswerToProto(id, kind, answer, noted?.note.served)) send(stream, part);
    } catch (error) {
      noted?.end(error);
      if (!isQuiverError(error)) this.logger.error({ error, shard: request.shard }, 'a read failed for a reason that no caller can know');
      if (taken.has(id)) send(stream, readErrorToProto(id, error));
    } finally {
      taken.delete(id);
      stream.finish();
    }
  }

  private noted(operation: ReadKind, { noted, shard }: ReadRequest__Output): NotedCall | null {
    if (noted === null || shard === null) return null;
    return new NotedCall({ noted, tracer: this.tracer, clock: this.clock, shard, service: 'Reads', operation, startMs: this.clock.monotonicMs() });
  }

  /** Answers a read unless too many are running. A malformed read has no kind, so metrics do not count it. */
  private async limited<Kind extends ReadKind>(kind: Kind, message: ReadRequest__Output, noted: NotedCall | null): Promise<AnswerOf<Kind>> {
    const { shard, epoch, remainingMs } = message;
    if (!shard) throw new QuiverError('internal', 'a read that names no shard');
    this.limit.take(1);
    const startMs = this.clock.monotonicMs();
    let outcome: 'malformed' | 'answered' | 'failed' = 'malformed';
    try {
      const request = isLongRead(kind, message) ? await inTurn(() => readRequestFromProto(kind, message)) : readRequestFromProto(kind, message);
      outcome = 'failed';
      const call: NodeCall = { epoch, deadlineMs: startMs + remainingMs };
      if (noted !== null) call.note = noted.note;
      const answer = await this.shards.read(shard, kind, request, call);
      noted?.answered(answer);
      outcome = 'answered';
      return answer;
    } finally {
      this.limit.giveBack(1);
      if (outcome !== 'malformed') this.observer.done(kind, this.clock.monotonicMs() - startMs, outcome);
    }
  }
}

type ReadStream = ServedStream<ReadFrame__Output, AnswerFrame>;

function send(stream: ReadStream, { message, bytes }: SizedAnswer): void {
  stream.push({ bytes, addTo: (frame) => frame.answers?.push(message) });
}
