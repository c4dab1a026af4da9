import { type FrameEntry, FrameSender } from '../../shared/rpc/frame-sender';
import type { RpcChannel, RpcStream, StreamEnd, StreamMethod } from '../../shared/rpc/rpc-channel';
import { NumberTable } from '../../shared/tables/number-table';

/** A request that a connection took along when it broke: nobody here knows what became of it. */
export class ConnectionLost extends Error {
  constructor(
    /** Whether the other side may have all of the request. */
    readonly wasSent: boolean,
    readonly end: StreamEnd,
  ) {
    super(`connection lost: ${end.reason}`);
    this.name = 'ConnectionLost';
  }
}

/** How a request's sender hears of it: `sent` when all of it is on its way; `answer` until it says that it has all, or `lost` once. */
export interface RequestListener<Answer> {
  sent?(): void;
  answer(answer: Answer): 'complete' | 'more';
  lost(error: ConnectionLost): void;
}

interface Pending<Answer> {
  listener: RequestListener<Answer>;
  wasSent: boolean;
}

/** When the other end takes no frame for so long it has stopped reading, though it still answers pings. */
const STALL_MS = 15_000;

/** Requests and answers over one stream of frames; each request is named by a number. */
export class RequestStream<Frame, AnswerFrame, Answer extends { id: number }> {
  private readonly sender: FrameSender<Frame>;
  private readonly stream: RpcStream<Frame>;
  private readonly pending = new NumberTable<Pending<Answer>>();
  private end: StreamEnd | null = null;

  /** `ready` is called when the other side has taken the stream, `ended` once when it is over, whatever the reason. */
  constructor(
    private readonly parts: {
      channel: RpcChannel;
      method: StreamMethod<Frame, AnswerFrame>;
      emptyFrame: () => Frame;
      answersOf: (frame: AnswerFrame) => Answer[];
      addCancelled: (frame: Frame, id: number) => void;
      ready: () => void;
      ended: (end: StreamEnd) => void;
    },
  ) {
    const { channel, method, emptyFrame, answersOf } = parts;
    this.stream = channel.open<Frame, AnswerFrame>(method, {
      ready: () => {
        this.sender.release();
        parts.ready();
      },
      frame: (frame) => {
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

  /**
   * Sends a request, answers its number (0 when it was lost at once). `entries` are its pieces in order; it counts as
   * sent when the last is on its way, and a piece is left out when the request was cancelled before.
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

  /** Nobody waits for the answer any more; the listener hears nothing more. */
  cancel(id: number): void {
    if (this.pending.remove(id) === undefined) return;
    this.sender.push({ bytes: CANCEL_BYTES, addTo: (frame) => this.parts.addCancelled(frame, id) });
  }

  /** Ends the stream; whoever waits hears that the connection is lost. */
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

/** The number of a request that was lost at once: none. */
const NO_REQUEST = 0;
