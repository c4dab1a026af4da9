import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type {
  WriteAnswer,
  WriteAnswerFrame,
  WriteFrame__Output,
  WriteRequest__Output,
  WritesHandlers,
} from '../../../shared/wire/generated/quiver/v1/writes';
import { outcomesToBytes, versionsToBytes } from '../../../shared/wire/codecs/outcome-codec';
import { writesDefinition } from '../../../shared/wire/streams/protocol';
import type { RpcService } from '../../../shared/wire/streams/rpc-server';
import { failureToProto } from '../../../shared/wire/codecs/wire-failure';
import type { Clock } from '../../../shared/base/time/clock';
import type { Tracer } from '../../../shared/base/trace/span';
import type { NodeCall, NodeShards } from '../../replication/node-shards';
import { ServedProfile } from './served-profile';
import type { OperationObserver } from './operation-observer';
import type { RunningLimit } from './running-limit';
import { ServedStream } from './served-stream';

/** The largest write: as much as a coordinator queues for one node in all. */
const WRITE_BYTES_MAX = 256 * 1024 * 1024;

/** Memory that even a write without vectors takes. Counting it bounds the number of tiny writes, too. */
const WRITE_OVERHEAD_BYTES = 4 * 1024;

const ANSWER_OVERHEAD_BYTES = 128;

/** Accepts the writes of coordinators (proto/quiver/v1/writes.proto) for a node's shards. */
export class WritesService implements RpcService {
  readonly definition = writesDefinition;
  readonly handlers: WritesHandlers = {
    Exchange: (call) => {
      const incomplete = new Map<number, WriteParts>();
      const stream: WriteStream = new ServedStream<WriteFrame__Output, WriteAnswerFrame>({
        call,
        emptyFrame: () => ({ answers: [] }),
        frame: (frame) => this.take(frame, stream, incomplete),
        ended: () => {
          for (const id of [...incomplete.keys()]) this.forget(id, incomplete);
          this.streams.delete(stream);
        },
        stallMs: this.stallMs,
        cut: (reason) => this.logger.warn({ peer: call.getPeer(), reason }, 'cut a stream of writes'),
      });
      this.streams.add(stream);
    },
  };
  private readonly streams = new Set<WriteStream>();
  private readonly shards: NodeShards;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly limit: RunningLimit;
  private readonly stallMs: number;
  private readonly observer: OperationObserver;
  private readonly tracer: Tracer | null;

  /**
   * `limit` bounds the bytes of the writes that arrive or run at once, over all coordinators. A reader that takes
   * nothing for `stallMs` is cut off.
   */
  constructor(parts: {
    shards: NodeShards;
    clock: Clock;
    logger: Logger;
    limit: RunningLimit;
    stallMs: number;
    observer: OperationObserver;
    tracer: Tracer | null;
  }) {
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

  private take(frame: WriteFrame__Output, stream: WriteStream, incomplete: Map<number, WriteParts>): void {
    for (const id of frame.cancelledIds) this.forget(id, incomplete);
    for (const request of frame.requests) {
      this.attempt(request.id, stream, () => {
        if (request.payloadBytes > WRITE_BYTES_MAX)
          throw new QuiverError('limit_exceeded', `a write may take ${WRITE_BYTES_MAX} bytes`);
        this.limit.take(costOf(request));
        try {
          const parts = new WriteParts(request);
          // Nearly every write comes in one piece.
          if (parts.whole !== null) void this.apply(request, parts.whole, stream);
          else incomplete.set(request.id, parts);
        } catch (error) {
          this.limit.giveBack(costOf(request));
          throw error;
        }
      });
    }
    for (const { id, payload } of frame.parts) {
      this.attempt(id, stream, () => {
        try {
          incomplete.get(id)?.add(payload);
        } catch (error) {
          this.forget(id, incomplete);
          throw error;
        }
      });
      this.applyWhenWhole(id, stream, incomplete);
    }
  }

  private applyWhenWhole(id: number, stream: WriteStream, incomplete: Map<number, WriteParts>): void {
    const parts = incomplete.get(id);
    const payload = parts?.whole;
    if (!parts || !payload) return;
    incomplete.delete(id);
    void this.apply(parts.request, payload, stream);
  }

  /** Applies a write and answers it. Never fails. */
  private async apply(request: WriteRequest__Output, payload: Buffer, stream: WriteStream): Promise<void> {
    const { id, shard, epoch, remainingMs, session, requestNumber, settledBelow } = request;
    stream.begin();
    const startMs = this.clock.monotonicMs();
    let outcome: 'answered' | 'failed' = 'failed';
    let noted: ServedProfile | null = null;
    try {
      if (!shard) throw new QuiverError('internal', 'a write that names no shard');
      const call: NodeCall = { epoch, deadlineMs: startMs + remainingMs };
      if (request.noted !== null) {
        noted = new ServedProfile({
          noted: request.noted,
          tracer: this.tracer,
          clock: this.clock,
          shard,
          service: 'Writes',
          operation: 'write',
          startMs,
        });
        call.profiled = noted.profiled;
      }
      const result = await this.shards.write(
        shard,
        { source: { session, requestNumber, settledBelow }, payload },
        call,
      );
      send(stream, { id, outcomes: outcomesToBytes(result.outcomes), versions: versionsToBytes(result) });
      outcome = 'answered';
      noted?.end(null);
    } catch (error) {
      noted?.end(error);
      this.fail(id, stream, error);
    } finally {
      this.limit.giveBack(costOf(request));
      this.observer.done('write', this.clock.monotonicMs() - startMs, outcome);
      stream.finish();
    }
  }

  private attempt(id: number, stream: WriteStream, step: () => void): void {
    try {
      step();
    } catch (error) {
      this.fail(id, stream, error);
    }
  }

  private fail(id: number, stream: WriteStream, error: unknown): void {
    if (!isQuiverError(error)) this.logger.error({ error }, 'a write failed for a reason that no caller can know');
    // The caller gets the message alone.
    else if (error.kind === 'storage_damaged') this.logger.error({ error }, 'a write met damaged data');
    send(stream, { id, failure: failureToProto(error) });
  }

  private forget(id: number, incomplete: Map<number, WriteParts>): void {
    const parts = incomplete.get(id);
    if (parts === undefined) return;
    incomplete.delete(id);
    this.limit.giveBack(costOf(parts.request));
  }
}

type WriteStream = ServedStream<WriteFrame__Output, WriteAnswerFrame>;

function costOf(request: WriteRequest__Output): number {
  return request.payloadBytes + WRITE_OVERHEAD_BYTES;
}

function send(stream: WriteStream, answer: WriteAnswer): void {
  const bytes =
    ANSWER_OVERHEAD_BYTES +
    (answer.outcomes?.length ?? 0) +
    (answer.versions?.length ?? 0) +
    (answer.failure?.message?.length ?? 0) * 3;
  stream.push({ bytes, addTo: (frame) => frame.answers?.push(answer) });
}

/** A write whose payload arrives in parts. */
class WriteParts {
  private readonly payload: Buffer;
  private filledBytes = 0;

  /** Errors: as `add`. */
  constructor(readonly request: WriteRequest__Output) {
    this.payload = Buffer.allocUnsafeSlow(request.payloadBytes);
    this.add(request.payload);
  }

  /**
   * Adds the next part. Parts are copied, so that the whole begins at an aligned address. Errors: internal when it is
   * more than was announced.
   */
  add(part: Buffer): void {
    if (this.filledBytes + part.length > this.payload.length)
      throw new QuiverError('internal', 'a write longer than announced');
    part.copy(this.payload, this.filledBytes);
    this.filledBytes += part.length;
  }

  /** The payload when all of it has arrived. */
  get whole(): Buffer | null {
    return this.filledBytes === this.payload.length ? this.payload : null;
  }
}
