import { Metadata, status } from '@grpc/grpc-js';
import { type FrameEntry, FrameSender } from '../../../shared/wire/frames/frame-sender';
import type { ServedCall } from '../../../shared/wire/streams/served-call';

/**
 * While this many bytes wait to be sent, no more requests are read from the stream: the reader takes answers more
 * slowly than it asks.
 */
const PAUSE_BYTES = 8 * 1024 * 1024;

/**
 * Requests that run when a stream is paused are still answered; beyond this many waiting bytes, larger answers are not
 * kept.
 */
const QUEUED_BYTES_MAX = 64 * 1024 * 1024;

/**
 * So many bytes may be given to the connection, and no more until it has taken them: a short answer, which is pushed
 * ahead, waits behind no more than these and what the system keeps.
 */
const UNDER_WAY_BYTES_MAX = 512 * 1024;

/** Becomes a frame without an answer. */
const EMPTY: FrameEntry<unknown> = { bytes: 2, addTo: () => undefined };

/** One stream of requests that a node serves: frames in, answers out, with bounds on what a slow reader can cost. */
export class ServedStream<In, Out> {
  private readonly sender: FrameSender<Out>;
  private readonly call: ServedCall<In, Out>;
  private running = 0;
  private isOver = false;
  private isDraining = false;
  private lifeTimer: NodeJS.Timeout | null = null;
  private hasSpoken = false;
  private onQuiet: (() => void)[] = [];
  private reportedBytes = 0;

  /**
   * `frame` is called with each frame; `ended` once, when nobody reads answers any more; `cut` before that, if this
   * side ended the stream.
   */
  constructor(
    private readonly parts: {
      call: ServedCall<In, Out>;
      emptyFrame: () => Out;
      frame: (frame: In) => void;
      ended: () => void;
      cut: (reason: string) => void;
      /** A reader that takes nothing for this long is cut off; it can ask again on another stream. */
      stallMs: number;
      /**
       * While requests run and nothing else is sent, an empty frame this often says that this side is there. Not given:
       * none.
       */
      signOfLifeMs?: number;
      /** How many bytes more, or fewer, wait to be taken. */
      queued?: (bytes: number) => void;
    },
  ) {
    const { call, emptyFrame, frame } = parts;
    this.call = call;
    this.sender = new FrameSender<Out>({
      emptyFrame,
      write: (out, taken) => void call.write(out, (error) => error || taken()),
      bytesUnderWayMax: UNDER_WAY_BYTES_MAX,
      stallMs: parts.stallMs,
      stalled: () => this.cut('the reader takes no answers'),
      taken: () => {
        this.reportQueued();
        this.resumeWhenRoom();
      },
    });
    call.on('data', (incoming: In) => {
      if (!this.isOver && !this.isDraining) frame(incoming);
    });
    call.on('end', () => void this.drain());
    call.on('cancelled', () => this.end());
    call.on('close', () => this.end());
    // The caller waits for these headers before it sends anything: they show that it was admitted.
    call.sendMetadata(new Metadata());
  }

  /** Sends answers, some ahead of others; does nothing once the stream has ended. */
  push(entry: FrameEntry<Out>, isAhead = false): void {
    if (this.isOver) return;
    this.hasSpoken = true;
    this.sender.push(entry, isAhead);
    this.reportQueued();
    if (this.sender.queuedBytes > PAUSE_BYTES) this.call.pause();
  }

  /** Bytes that wait to be taken. */
  get queuedBytes(): number {
    return this.sender.queuedBytes;
  }

  /** Too much waits to be sent to add a large answer. */
  get isFull(): boolean {
    return this.sender.queuedBytes > QUEUED_BYTES_MAX;
  }

  /**
   * A request has begun, or has ended and pushed its answer. Draining waits until every request that began has ended.
   */
  begin(): void {
    this.running += 1;
    const { signOfLifeMs } = this.parts;
    if (signOfLifeMs !== undefined && this.lifeTimer === null && !this.isOver)
      this.lifeTimer = setInterval(() => this.showLife(), signOfLifeMs);
  }

  finish(): void {
    this.running -= 1;
    if (this.running > 0) return;
    for (const done of this.onQuiet.splice(0)) done();
  }

  /** Accepts no more frames; ends the stream when the running requests are answered. */
  async drain(): Promise<void> {
    this.isDraining = true;
    if (this.running > 0) await new Promise<void>((done) => this.onQuiet.push(done));
    await this.sender.idle();
    if (!this.isOver) this.call.end();
    this.end();
  }

  private showLife(): void {
    if (this.running === 0) this.stopShowingLife();
    // What waits to be sent already tells the reader as much as this would.
    else if (!this.hasSpoken && this.sender.queuedBytes === 0) this.sender.push(EMPTY);
    this.hasSpoken = false;
  }

  private stopShowingLife(): void {
    if (this.lifeTimer !== null) clearInterval(this.lifeTimer);
    this.lifeTimer = null;
  }

  private cut(reason: string): void {
    if (this.isOver) return;
    this.parts.cut(reason);
    this.call.emit('error', { code: status.RESOURCE_EXHAUSTED, details: reason });
    this.end();
  }

  private end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.stopShowingLife();
    this.sender.close();
    this.reportQueued();
    // Further frames are read and dropped.
    this.call.resume();
    this.parts.ended();
  }

  private reportQueued(): void {
    const { queuedBytes } = this.sender;
    if (queuedBytes !== this.reportedBytes) this.parts.queued?.(queuedBytes - this.reportedBytes);
    this.reportedBytes = queuedBytes;
  }

  private resumeWhenRoom(): void {
    if (this.call.isPaused() && this.sender.queuedBytes < PAUSE_BYTES / 2) this.call.resume();
  }
}
