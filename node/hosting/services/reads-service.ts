import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type {
  AnswerFrame,
  ReadFrame__Output,
  ReadRequest__Output,
  ReadsHandlers,
} from '../../../shared/wire/generated/quiver/v1/reads';
import type { FramesMethod } from '../../../shared/wire/frames/frames-acceptor';
import { readsDefinition } from '../../../shared/wire/streams/protocol';
import type { SizedAnswer } from '../../../shared/wire/codecs/read-codecs';
import { servedReadFrames } from '../../../shared/wire/frames/read-frames';
import {
  isLongRead,
  readAnswerToProto,
  readErrorToProto,
  readKindOf,
  readRequestFromProto,
} from '../../../shared/wire/codecs/read-messages';
import type { RpcService } from '../../../shared/wire/streams/rpc-server';
import type { ServedCall } from '../../../shared/wire/streams/served-call';
import { type AnswerOf, isLongAnswer, type ReadKind, type RequestOf } from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import { inTurn, ownTurn } from '../../../shared/base/time/work-slices';
import type { Tracer } from '../../../shared/base/trace/span';
import { type AnswerBytes, SMALL_BYTES } from './answer-bytes';
import { ServedProfile } from './served-profile';
import type { NodeCall, ReadShards } from '../../replication/node-shards';
import type { OperationObserver } from './operation-observer';
import type { RunningLimit } from './running-limit';
import { ServedStream } from './served-stream';

/**
 * A coordinator takes a follower for silent after a second (coordinator/cluster/calls/follower-reads.ts): some signs
 * fit in there.
 */
const SIGN_OF_LIFE_MS = 250;

/** Answers the reads of coordinators (proto/quiver/v1/reads.proto) from a node's shards. */
export class ReadsService implements RpcService {
  readonly definition = readsDefinition;
  readonly handlers: ReadsHandlers = {
    Exchange: (call) => this.serve(call),
  };
  /** The same on connections that carry frames. */
  readonly frames: FramesMethod<ReadFrame__Output, AnswerFrame> = {
    ...servedReadFrames,
    serve: (call) => this.serve(call),
  };
  private readonly streams = new Set<ReadStream>();
  private readonly shards: ReadShards;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly limit: RunningLimit;
  private readonly answers: AnswerBytes;
  private readonly stallMs: number;
  private readonly observer: OperationObserver;
  private readonly tracer: Tracer | null;

  /**
   * `limit` bounds the reads that run at once, over all coordinators, `answers` what they are answered. A reader that
   * takes nothing for `stallMs` is cut off.
   */
  constructor(parts: {
    shards: ReadShards;
    clock: Clock;
    logger: Logger;
    limit: RunningLimit;
    answers: AnswerBytes;
    stallMs: number;
    observer: OperationObserver;
    tracer: Tracer | null;
  }) {
    this.shards = parts.shards;
    this.clock = parts.clock;
    this.logger = parts.logger;
    this.stallMs = parts.stallMs;
    this.limit = parts.limit;
    this.answers = parts.answers;
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
        for (const request of frame.requests) this.answer(request, stream, taken);
      },
      ended: () => {
        taken.clear();
        this.streams.delete(stream);
      },
      stallMs: this.stallMs,
      signOfLifeMs: SIGN_OF_LIFE_MS,
      cut: (reason) => this.logger.warn({ peer: call.getPeer(), reason }, 'cut a stream of reads'),
      queued: (bytes) => this.answers.add(bytes),
    });
    this.streams.add(stream);
  }

  /**
   * Answers one request, unless its id has been removed from `taken` meanwhile: within this call where nothing has to
   * be waited for. Never fails.
   */
  private answer(request: ReadRequest__Output, stream: ReadStream, taken: Set<number>): void {
    taken.add(request.id);
    stream.begin();
    let noted: ServedProfile | null = null;
    try {
      const kind = readKindOf(request);
      noted = request.noted === null ? null : this.noted(kind, request);
      const bytes = expectedBytes(kind, request);
      if (bytes > 0) this.answers.mustHaveRoom(stream.queuedBytes, bytes);
      const answer = this.limited(kind, request, noted, bytes);
      if (!(answer instanceof Promise)) return this.send(kind, answer, noted, { request, stream, taken });
      answer.then(
        (later) => {
          // Long ones are ready together, where many are asked for: each takes the thread a while to encode.
          const turn = bytes > 0 && isLongAnswer(later) ? ownTurn() : undefined;
          if (turn === undefined) this.send(kind, later, noted, { request, stream, taken });
          else void turn.then(() => this.send(kind, later, noted, { request, stream, taken }));
        },
        (error: unknown) => this.fail(error, noted, { request, stream, taken }),
      );
    } catch (error) {
      this.fail(error, noted, { request, stream, taken });
    }
    return undefined;
  }

  private send<Kind extends ReadKind>(
    kind: Kind,
    answer: AnswerOf<Kind>,
    noted: ServedProfile | null,
    to: Asked,
  ): void {
    const { request, stream, taken } = to;
    try {
      if (stream.isFull) throw new QuiverError('overloaded', 'the answers are taken too slowly');
      noted?.end(null);
      if (taken.has(request.id)) {
        const parts = readAnswerToProto(request.id, kind, answer, noted?.profiled.served);
        this.answers.mustHaveRoom(stream.queuedBytes, bytesOf(parts));
        for (const part of parts) send(stream, part, parts.length === 1 && part.bytes <= SMALL_BYTES);
      }
    } catch (error) {
      return this.fail(error, noted, to);
    }
    taken.delete(request.id);
    stream.finish();
  }

  private fail(error: unknown, noted: ServedProfile | null, { request, stream, taken }: Asked): void {
    noted?.end(error);
    if (!isQuiverError(error))
      this.logger.error({ error, shard: request.shard }, 'a read failed for a reason that no caller can know');
    // The caller gets the message alone.
    else if (error.kind === 'storage_damaged')
      this.logger.error({ error, shard: request.shard }, 'a read met damaged data');
    if (taken.delete(request.id)) send(stream, readErrorToProto(request.id, error), true);
    stream.finish();
  }

  private noted(operation: ReadKind, { noted, shard }: ReadRequest__Output): ServedProfile | null {
    if (noted === null || shard === null) return null;
    return new ServedProfile({
      noted,
      tracer: this.tracer,
      clock: this.clock,
      shard,
      service: 'Reads',
      operation,
      startMs: this.clock.monotonicMs(),
    });
  }

  /**
   * Answers a read unless too many are running; `bytes` are counted meanwhile: with the answer itself where nothing had
   * to be waited for. A malformed read has no kind, so metrics do not count it. Errors are thrown, or come with the
   * promise.
   */
  private limited<Kind extends ReadKind>(
    kind: Kind,
    message: ReadRequest__Output,
    noted: ServedProfile | null,
    bytes: number,
  ): AnswerOf<Kind> | Promise<AnswerOf<Kind>> {
    const { shard, epoch, remainingMs } = message;
    if (!shard) throw new QuiverError('internal', 'a read that names no shard');
    this.limit.take(1);
    if (bytes > 0) this.answers.add(bytes);
    const startMs = this.clock.monotonicMs();
    let outcome: 'malformed' | 'answered' | 'failed' = 'malformed';
    let isUnderWay = false;
    const end = (): void => {
      this.limit.giveBack(1);
      if (bytes > 0) this.answers.add(-bytes);
      if (outcome !== 'malformed') this.observer.done(kind, this.clock.monotonicMs() - startMs, outcome);
    };
    const ask = (request: RequestOf<Kind>): AnswerOf<Kind> | Promise<AnswerOf<Kind>> => {
      outcome = 'failed';
      const call: NodeCall = { epoch, deadlineMs: startMs + remainingMs };
      if (noted !== null) call.profiled = noted.profiled;
      return this.shards.read(shard, kind, request, call);
    };
    const answered = (answer: AnswerOf<Kind>): AnswerOf<Kind> => {
      noted?.answered(answer);
      outcome = 'answered';
      return answer;
    };
    try {
      const answer = isLongRead(kind, message)
        ? inTurn(() => readRequestFromProto(kind, message)).then(ask)
        : ask(readRequestFromProto(kind, message));
      if (!(answer instanceof Promise)) return answered(answer);
      isUnderWay = true;
      return answer.then(answered).finally(end);
    } finally {
      if (!isUnderWay) end();
    }
  }
}

/** What a long read is expected to be answered with; 0 for one that says no bound: nearly all of these are short. */
function expectedBytes(kind: ReadKind, request: ReadRequest__Output): number {
  const asked = request[kind] as { bytesMax?: number } | null | undefined;
  return asked?.bytesMax ?? 0;
}

function bytesOf(parts: readonly SizedAnswer[]): number {
  return parts.length === 1 ? parts[0].bytes : parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** A request, and where its answer goes. */
interface Asked {
  request: ReadRequest__Output;
  stream: ReadStream;
  taken: Set<number>;
}

type ReadStream = ServedStream<ReadFrame__Output, AnswerFrame>;

function send(stream: ReadStream, { message, bytes }: SizedAnswer, isAhead: boolean): void {
  stream.push({ bytes, addTo: (frame) => frame.answers?.push(message) }, isAhead);
}
