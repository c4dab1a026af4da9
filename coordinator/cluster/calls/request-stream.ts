import { type FrameEntry, FrameSender } from '../../../shared/wire/frames/frame-sender';
import type { MemberVersion } from '../../../shared/base/process/member-version';
import type { RpcStream, StreamChannel, StreamEnd, StreamMethod } from '../../../shared/wire/streams/rpc-channel';
import { NumberTable } from '../../../shared/base/tables/number-table';

/** The connection broke before the request was answered, so its outcome is unknown here. */
export class ConnectionLost extends Error {
  constructor(
    /** Whether the other side may have received the whole request. */
    readonly wasSent: boolean,
    readonly end: StreamEnd,
  ) {
    super(`connection lost: ${end.reason}`);
    this.name = 'ConnectionLost';
  }
}

/**
 * Callbacks for one request. `sent`: all of it has been passed to the connection. `answer`: a message of the answer has
 * come; it returns whether the answer is complete. `lost`: the connection broke; called once, and nothing follows.
 */
export interface RequestListener<Answer> {
  sent?(): void;
  answer(answer: Answer): 'complete' | 'more';
  lost(error: ConnectionLost): void;
}

interface Pending<Answer> {
  listener: RequestListener<Answer>;
  wasSent: boolean;
}

/** If the other side takes no frame for this long, it has stopped reading, even if it still answers pings. */
const STALL_MS = 15_000;

/** Requests and answers over one stream of frames. Each request is identified by a number. */
export class RequestStream<Frame, AnswerFrame, Answer extends { id: number }> {
  private readonly sender: FrameSender<Frame>;
  private readonly stream: RpcStream<Frame>;
  private readonly pending = new NumberTable<Pending<Answer>>();
  private end: StreamEnd | null = null;
  /** Frames that have come. It grows while the other side lives and has requests to answer. */
  heard = 0;

  /** `ready` is called when the other side has accepted the stream, `ended` once when it has ended, for any reason. */
  constructor(
    private readonly parts: {
      channel: StreamChannel;
      method: StreamMethod<Frame, AnswerFrame>;
      emptyFrame: () => Frame;
      answersOf: (frame: AnswerFrame) => Answer[];
      addCancelled: (frame: Frame, id: number) => void;
      ready: (version: MemberVersion) => void;
      ended: (end: StreamEnd) => void;
    },
  ) {
    const { channel, method, emptyFrame, answersOf } = parts;
    this.stream = channel.open<Frame, AnswerFrame>(method, {
      ready: (version) => {
        this.sender.release();
        parts.ready(version);
      },
      frame: (frame) => {
        this.heard += 1;
        for (const answer of answersOf(frame)) this.take(answer);
      },
      ended: (end) => this.close(end),
    });
    this.sender = new FrameSender<Frame>({
      emptyFrame,
      write: (frame, taken) => this.stream.write(frame, taken),
      stallMs: STALL_MS,
      stalled: () => this.close({ isRefused: false, reason: 'the node takes no more requests' }),
      isHeld: true,
    });
  }

  /** Bytes of requests that are not sent yet. */
  get queuedBytes(): number {
    return this.sender.queuedBytes;
  }

  /** Requests that wait for their answer. */
  get open(): number {
    return this.pending.size;
  }

  /**
   * Sends a request and answers its number (0 if it was lost at once). `entriesOf` makes its pieces, in order. The
   * request counts as sent when the last piece is passed to the connection. Pieces that are still waiting when the
   * request is cancelled are left out.
   */
  send(entriesOf: (id: number) => FrameEntry<Frame>[], listener: RequestListener<Answer>): number {
    if (this.end !== null) {
      listener.lost(new ConnectionLost(false, this.end));
      return NO_REQUEST;
    }
    const pending = { listener, wasSent: false };
    const id = this.pending.add(pending);
    const entries = entriesOf(id);
    const last = entries.at(-1);
    for (const entry of entries) {
      this.sender.push({
        bytes: entry.bytes,
        addTo: (frame) => {
          if (this.pending.get(id) !== pending) return;
          entry.addTo(frame);
          if (entry !== last) return;
          pending.wasSent = true;
          listener.sent?.();
        },
      });
    }
    return id;
  }

  /** The caller no longer waits for the answer; its listener is not called any more. */
  cancel(id: number): void {
    if (this.pending.remove(id) === undefined) return;
    this.sender.push({ bytes: CANCEL_BYTES, addTo: (frame) => this.parts.addCancelled(frame, id) });
  }

  /** Ends the stream. The listeners of all open requests are told that the connection is lost. */
  close(end: StreamEnd): void {
    if (this.end !== null) return;
    this.end = end;
    this.sender.close();
    this.stream.cancel();
    for (const { listener, wasSent } of this.pending.removeAll()) listener.lost(new ConnectionLost(wasSent, end));
    this.parts.ended(end);
  }

  private take(answer: Answer): void {
    const pending = this.pending.get(answer.id);
    if (pending !== undefined && pending.listener.answer(answer) === 'complete') this.pending.remove(answer.id);
  }
}

const CANCEL_BYTES = 6;

/** The number of a request that was lost at once: it has none. */
const NO_REQUEST = 0;
