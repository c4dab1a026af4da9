import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { FrameEntry } from '../../../shared/wire/frames/frame-sender';
import type {
  AnswerFrame__Output,
  Answer__Output,
  ReadFrame,
  ReadRequest,
} from '../../../shared/wire/generated/quiver/v1/reads';
import type {
  WriteAnswerFrame__Output,
  WriteAnswer__Output,
  WriteFrame,
} from '../../../shared/wire/generated/quiver/v1/writes';
import { ENTRY_BYTES_MAX, FRAME_BYTES } from '../../../shared/wire/streams/message-bounds';
import { resultFromBytes } from '../../../shared/wire/codecs/outcome-codec';
import { readFramesMethod } from '../../../shared/wire/frames/read-frames';
import { readsDefinition, writesDefinition } from '../../../shared/wire/streams/protocol';
import { ReadAnswer, readRequestBytes, readRequestToProto } from '../../../shared/wire/codecs/read-messages';
import { everyoneKnows, type MemberVersion, READ_THREADS } from '../../../shared/base/process/member-version';
import type { RpcChannel, StreamChannel, StreamEnd } from '../../../shared/wire/streams/rpc-channel';
import { notedToProto } from '../../../shared/wire/codecs/noted-codec';
import { failureFromProto } from '../../../shared/wire/codecs/wire-failure';
import type { ProfiledCall } from '../../../shared/contract/shard/call-profile';
import type { ShardId, WriteResult } from '../../../shared/contract/shard/shard-client';
import type { AnswerOf, ReadKind, RequestOf } from '../../../shared/contract/shard/shard-read';
import type { WriteSource } from '../../../shared/contract/writes/write-source';
import type { Clock } from '../../../shared/base/time/clock';
import { TIMER_MAX_MS } from '../../../shared/base/time/deadline';
import type { TraceContext } from '../../../shared/base/trace/trace-context';
import { RequestStream } from './request-stream';
import { ThreadReads } from './thread-reads';

/**
 * A request under way. `answer` rejects with what the node reported, or with ConnectionLost. It never settles once
 * cancelled.
 */
export interface Attempt<Result> {
  answer: Promise<Result>;
  cancel(): void;
}

/** The shard that a request is for, and its deadline. */
export interface Addressed {
  id: ShardId;
  epoch: number;
  deadlineMs: number;
  /** Where somebody looks at the call: what it belongs to, and where to note what the node says of it. */
  noted?: { profiled: ProfiledCall; context: TraceContext | null };
}

/** A write in the form in which it is sent. */
export interface NamedWrite extends Omit<WriteSource, 'settledBelow'> {
  /** Read when the write is sent. */
  settledBelow: () => number;
  payload: Buffer;
  /** Called when the whole write has been passed to the connection: from then on it may be stored. */
  sent: () => void;
}

/**
 * A node that does not accept a stream within this time counts as down. It needs at most eight round trips, with the
 * handshake and a second connection (ProofCredentials), so this is generous.
 */
const CONNECT_TIMEOUT_MS = 2_000;

/**
 * Most bytes that may wait to be sent to one node, for reads, long reads and writes each: room for some of the largest
 * writes, but not all of memory.
 */
const QUEUED_BYTES_MAX = 256 * 1024 * 1024;

/** The fields of a write besides its payload. */
const WRITE_HEAD_BYTES = 1_024;

/**
 * A read of more bytes goes over a connection for such reads, so that no short one waits behind it. Plain searches stay
 * far below; a megabyte of filter is far above.
 */
const LONG_READ_BYTES = 64 * 1024;

type AddressProto = Pick<ReadRequest, 'shard' | 'epoch' | 'remainingMs' | 'noted'>;
type ReadStream = RequestStream<ReadFrame, AnswerFrame__Output, Answer__Output>;

/**
 * The connection to one node: a stream for reads and one for writes, over a channel that the caller owns. For long
 * reads there is a stream over a channel of its own, made for the first of them. Searches have another one, where the
 * node has threads that answer them; it may end and come again. The link connects when it is made and lives until one
 * of the other streams ends. Then `ended` is called, once. `isSilent` means that the node has not answered at all, so
 * that the channel is useless, too.
 */
export class NodeLink {
  private readonly reads: ReadStream;
  private longReads: ReadStream | null = null;
  /** null: the node has none, or has not said so yet. */
  private threadReads: ThreadReads<ReadStream> | null = null;
  private readonly writes: RequestStream<WriteFrame, WriteAnswerFrame__Output, WriteAnswer__Output>;
  private longChannel: RpcChannel | null = null;
  private readonly newChannel: () => RpcChannel;
  private readonly newReadsChannel: () => StreamChannel;
  private readonly clock: Clock;
  private readonly connectTimer: NodeJS.Timeout;
  private readonly callbacks: { ready: () => void; ended: (end: StreamEnd, isSilent: boolean) => void };
  private streamsToCome = 2;
  private isOver = false;

  /**
   * `newChannel`: another channel to the node; `newReadsChannel`: one to a thread of it that answers reads. This link
   * then owns it.
   */
  constructor(parts: {
    channel: RpcChannel;
    newChannel: () => RpcChannel;
    newReadsChannel: () => StreamChannel;
    clock: Clock;
    ready: () => void;
    ended: (end: StreamEnd, isSilent: boolean) => void;
  }) {
    this.clock = parts.clock;
    this.callbacks = parts;
    this.connectTimer = setTimeout(
      () => this.end({ isRefused: false, reason: 'the node did not take the connection in time' }, true),
      CONNECT_TIMEOUT_MS,
    );
    this.newChannel = parts.newChannel;
    this.newReadsChannel = parts.newReadsChannel;
    this.reads = this.openReads(parts.channel, {
      ready: (version) => {
        if (everyoneKnows(READ_THREADS, [version])) this.threadReads = this.newThreadReads();
        this.noteReady();
      },
      ended: (end) => this.close(end),
    });
    this.writes = new RequestStream<WriteFrame, WriteAnswerFrame__Output, WriteAnswer__Output>({
      channel: parts.channel,
      ready: () => this.noteReady(),
      ended: (end) => this.close(end),
      method: writesDefinition.Exchange,
      emptyFrame: () => ({ requests: [], parts: [], cancelledIds: [] }),
      answersOf: (frame) => frame.answers,
      addCancelled: (frame, id) => frame.cancelledIds?.push(id),
    });
  }

  read<Kind extends ReadKind>(to: Addressed, kind: Kind, request: RequestOf<Kind>): Attempt<AnswerOf<Kind>> {
    const bytes = readRequestBytes(kind, request);
    if (bytes > ENTRY_BYTES_MAX)
      throw new QuiverError(
        'limit_exceeded',
        `the request takes ${bytes} bytes; at most ${ENTRY_BYTES_MAX} can be sent to a node`,
      );
    const stream = bytes > LONG_READ_BYTES ? (this.longReads ??= this.openLongReads()) : this.shortReads(kind);
    refuseWhenFull(stream.queuedBytes, bytes);
    const answer = new ReadAnswer(kind, (request as { packed?: true } | null)?.packed);
    const entriesOf = (id: number): FrameEntry<ReadFrame>[] => [
      {
        bytes,
        addTo: (frame) => frame.requests?.push(readRequestToProto({ id, ...this.addressToProto(to) }, kind, request)),
      },
    ];
    const { noted } = to;
    if (noted === undefined) return attempt(stream, entriesOf, (part) => answer.add(part));
    return attempt(stream, entriesOf, (part) => {
      noted.profiled.served = part.served ?? noted.profiled.served;
      return answer.add(part);
    });
  }

  write(to: Addressed, write: NamedWrite): Attempt<WriteResult> {
    refuseWhenFull(this.writes.queuedBytes, write.payload.length);
    return attempt(
      this.writes,
      (id) => this.writeEntries(id, to, write),
      (answer) => {
        if (answer.failure) throw failureFromProto(answer.failure);
        return resultFromBytes(answer.outcomes ?? Buffer.alloc(0), answer.versions);
      },
      write.sent,
    );
  }

  /** Reads that wait for their answer. */
  get readsUnderWay(): number {
    return this.reads.open + (this.longReads?.open ?? 0) + (this.threadReads?.stream?.open ?? 0);
  }

  /** Grows, at least each quarter of a second, while the node lives and reads are under way. */
  get readsHeard(): number {
    return this.reads.heard + (this.longReads?.heard ?? 0) + (this.threadReads?.stream?.heard ?? 0);
  }

  /** Bytes of requests that wait to be sent. */
  get queuedBytes(): number {
    return (
      this.reads.queuedBytes +
      (this.longReads?.queuedBytes ?? 0) +
      (this.threadReads?.stream?.queuedBytes ?? 0) +
      this.writes.queuedBytes
    );
  }

  /** Ends the link. Requests that wait for an answer fail with ConnectionLost. */
  close(end: StreamEnd): void {
    this.end(end, false);
  }

  private openLongReads(): ReadStream {
    this.longChannel = this.newChannel();
    return this.openReads(this.longChannel, { ready: () => undefined, ended: (end) => this.close(end) });
  }

  /** Only searches are answered on threads; others they would only pass on. */
  private shortReads(kind: ReadKind): ReadStream {
    return (kind === 'search' ? this.threadReads?.ready : null) ?? this.reads;
  }

  private newThreadReads(): ThreadReads<ReadStream> {
    return new ThreadReads<ReadStream>({
      newChannel: this.newReadsChannel,
      openStream: (channel, listener) => this.openReads(channel, listener, readFramesMethod),
      clock: this.clock,
    });
  }

  private openReads(
    channel: StreamChannel,
    listener: { ready: (version: MemberVersion) => void; ended: (end: StreamEnd) => void },
    method = readsDefinition.Exchange as typeof readFramesMethod,
  ): ReadStream {
    return new RequestStream<ReadFrame, AnswerFrame__Output, Answer__Output>({
      channel,
      ...listener,
      method,
      emptyFrame: () => ({ requests: [], cancelledIds: [] }),
      answersOf: (frame) => frame.answers,
      addCancelled: (frame, id) => frame.cancelledIds?.push(id),
    });
  }

  private end(end: StreamEnd, isSilent: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.connectTimer);
    this.reads.close(end);
    this.longReads?.close(end);
    this.threadReads?.close(end);
    this.longChannel?.close();
    this.writes.close(end);
    this.callbacks.ended(end, isSilent);
  }

  private writeEntries(id: number, to: Addressed, write: NamedWrite): FrameEntry<WriteFrame>[] {
    const { session, requestNumber, settledBelow, payload } = write;
    const first = payload.subarray(0, FRAME_BYTES);
    const entries: FrameEntry<WriteFrame>[] = [
      {
        bytes: first.length + WRITE_HEAD_BYTES,
        addTo: (frame) =>
          frame.requests?.push({
            id,
            ...this.addressToProto(to),
            session,
            requestNumber,
            settledBelow: settledBelow(),
            payloadBytes: payload.length,
            payload: first,
          }),
      },
    ];
    for (let from = FRAME_BYTES; from < payload.length; from += FRAME_BYTES) {
      const part = payload.subarray(from, from + FRAME_BYTES);
      entries.push({ bytes: part.length, addTo: (frame) => frame.parts?.push({ id, payload: part }) });
    }
    return entries;
  }

  private addressToProto(to: Addressed): AddressProto {
    const leftMs = Math.ceil(to.deadlineMs - this.clock.monotonicMs());
    const address: AddressProto = {
      shard: to.id,
      epoch: to.epoch,
      remainingMs: Math.max(1, Math.min(leftMs, TIMER_MAX_MS)),
    };
    if (to.noted !== undefined) address.noted = notedToProto(to.noted.context);
    return address;
  }

  private noteReady(): void {
    this.streamsToCome -= 1;
    if (this.streamsToCome > 0 || this.isOver) return;
    clearTimeout(this.connectTimer);
    this.callbacks.ready();
  }
}

function attempt<Frame, AnswerFrame, Answer extends { id: number }, Result>(
  stream: RequestStream<Frame, AnswerFrame, Answer>,
  entriesOf: (id: number) => FrameEntry<Frame>[],
  take: (answer: Answer) => Result | undefined,
  sent?: () => void,
): Attempt<Result> {
  let id = 0;
  const answer = new Promise<Result>((done, fail) => {
    id = stream.send(entriesOf, {
      answer: (part) => {
        try {
          const result = take(part);
          if (result === undefined) return 'more';
          done(result);
        } catch (error) {
          fail(error);
        }
        return 'complete';
      },
      lost: fail,
      sent,
    });
  });
  return { answer, cancel: () => stream.cancel(id) };
}

function refuseWhenFull(queuedBytes: number, bytes: number): void {
  if (queuedBytes > 0 && queuedBytes + bytes > QUEUED_BYTES_MAX)
    throw new QuiverError('overloaded', 'too much waits to be sent to a node');
}
