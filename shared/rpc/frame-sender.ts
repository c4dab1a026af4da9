import { FRAME_BYTES } from './message-bounds';

/** Something that waits to travel in a frame. */
export interface FrameEntry<Frame> {
  /** About how many bytes it takes; never less than it does, but for tags and lengths. */
  readonly bytes: number;
  /** Called once, when the frame is on its way; may leave the frame as it is. */
  addTo(frame: Frame): void;
}

/**
 * Frames handed over and not yet taken by the connection. While there are as many, entries wait and share the next
 * frame: the busier a connection, the fewer its messages.
 */
const FRAMES_UNDER_WAY = 4;

/**
 * Sends entries in order over one stream, those of one turn of the event loop in one frame. What cannot be sent yet
 * waits in memory: those who push look at `queuedBytes` and bound it.
 */
export class FrameSender<Frame> {
  private queue: FrameEntry<Frame>[] = [];
  /** Bytes of entries that wait or are under way. */
  queuedBytes = 0;
  private framesUnderWay = 0;
  private isScheduled = false;
  private isHeld: boolean;
  private isClosed = false;
  private stallTimer: NodeJS.Timeout | null = null;
  private onIdle: (() => void)[] = [];

  /**
   * `write` sends a frame and calls `taken` when the connection has it. `stalled` is called when no frame has been taken
   * for `stallMs` while others wait; `taken` after each frame. With `isHeld` nothing is sent before `release`.
   */
  constructor(
    private readonly parts: {
      emptyFrame: () => Frame;
      write: (frame: Frame, taken: () => void) => void;
      stallMs: number;
      stalled: () => void;
      taken?: () => void;
      isHeld?: boolean;
    },
  ) {
    this.isHeld = parts.isHeld ?? false;
  }

  /** Begins to send. */
  release(): void {
    this.isHeld = false;
    if (this.queue.length > 0) this.schedule();
  }

  /** Puts the entry into the frame of this turn; nothing happens when closed. */
  push(entry: FrameEntry<Frame>): void {
    if (this.isClosed) return;
    this.queue.push(entry);
    this.queuedBytes += entry.bytes;
    this.schedule();
  }

  /** Resolves when all that was pushed is on its way. */
  idle(): Promise<void> {
    if (this.isClosed || this.isIdle) return Promise.resolve();
    return new Promise((done) => this.onIdle.push(done));
  }

  /** Forgets what waits. */
  close(): void {
    this.isClosed = true;
    this.queue = [];
    this.queuedBytes = 0;
    this.watchForStall();
    this.tellIdle();
  }

  private get isIdle(): boolean {
    return this.queue.length === 0 && this.framesUnderWay === 0;
  }

  private schedule(): void {
    if (this.isHeld || this.isScheduled || this.framesUnderWay >= FRAMES_UNDER_WAY) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.flush();
    });
  }

  private flush(): void {
    while (!this.isClosed && this.queue.length > 0 && this.framesUnderWay < FRAMES_UNDER_WAY) this.sendFrame();
    this.watchForStall();
  }

  private sendFrame(): void {
    let bytes = 0;
    let count = 0;
    while (count < this.queue.length && (count === 0 || bytes + this.queue[count].bytes <= FRAME_BYTES)) bytes += this.queue[count++].bytes;
    const entries = count === this.queue.length ? this.queue : this.queue.slice(0, count);
    this.queue = count === this.queue.length ? [] : this.queue.slice(count);
    const frame = this.parts.emptyFrame();
    for (const entry of entries) entry.addTo(frame);
    this.framesUnderWay += 1;
    this.parts.write(frame, () => {
      this.framesUnderWay -= 1;
      if (this.isClosed) return;
      this.queuedBytes -= bytes;
      this.stallTimer?.refresh();
      this.watchForStall();
      if (this.queue.length > 0) this.schedule();
      if (this.isIdle) this.tellIdle();
      this.parts.taken?.();
    });
  }

  /** A stall can only be told while the connection is full: a timer for each frame would cost more than it is worth. */
  private watchForStall(): void {
    const isFull = !this.isClosed && this.framesUnderWay >= FRAMES_UNDER_WAY;
    if (isFull && this.stallTimer === null) this.stallTimer = setTimeout(this.parts.stalled, this.parts.stallMs);
    if (!isFull && this.stallTimer !== null) {
      clearTimeout(this.stallTimer);
      this.stallTimer = null;
    }
  }

  private tellIdle(): void {
    const waiting = this.onIdle;
    this.onIdle = [];
    for (const done of waiting) done();
  }
}
