import { ENTRY_BYTES_MAX, FRAME_BYTES } from '../streams/message-bounds';

/** Something that waits to be sent in a frame. */
export interface FrameEntry<Frame> {
  /** About how many bytes it takes. Never less than the real size, except for tags and lengths. */
  readonly bytes: number;
  /** Called once, when the frame is about to be sent. May add nothing. */
  addTo(frame: Frame): void;
}

/**
 * Frames that were passed to the connection and not yet taken by it. While there are this many, further entries wait
 * and share the next frame. So the busier a connection is, the fewer messages it sends.
 */
const FRAMES_UNDER_WAY = 4;

/**
 * Sends entries in order over one stream; the entries of one turn of the event loop share a frame. Entries that can't
 * be sent yet wait in memory: callers must watch `queuedBytes` and bound it. Entries that were pushed ahead keep an
 * order of their own, and go before all others.
 */
export class FrameSender<Frame> {
  private queue: FrameEntry<Frame>[] = [];
  private ahead: FrameEntry<Frame>[] = [];
  /** Bytes of the entries that wait or are under way. */
  queuedBytes = 0;
  private framesUnderWay = 0;
  private bytesUnderWay = 0;
  private isScheduled = false;
  private isHeld: boolean;
  private isClosed = false;
  private stallTimer: NodeJS.Timeout | null = null;
  private onIdle: (() => void)[] = [];

  /**
   * `write` sends a frame and calls `taken` when the connection has it. `stalled` is called when no frame has been
   * taken for `stallMs` while others wait, `taken` after each frame. With `isHeld`, nothing is sent before `release`.
   * While frames under way have `bytesUnderWayMax`, further entries wait: whatever goes ahead waits behind no more.
   * Default: frames are counted alone.
   */
  constructor(
    private readonly parts: {
      emptyFrame: () => Frame;
      write: (frame: Frame, taken: () => void) => void;
      stallMs: number;
      stalled: () => void;
      taken?: () => void;
      isHeld?: boolean;
      bytesUnderWayMax?: number;
    },
  ) {
    this.isHeld = parts.isHeld ?? false;
  }

  /** Starts to send. */
  release(): void {
    this.isHeld = false;
    if (this.hasMore) this.schedule();
  }

  /** Adds the entry to the frame of this turn. Does nothing when closed. */
  push(entry: FrameEntry<Frame>, isAhead = false): void {
    if (this.isClosed) return;
    (isAhead ? this.ahead : this.queue).push(entry);
    this.queuedBytes += entry.bytes;
    this.schedule();
  }

  /** Resolves when the connection has taken everything that was pushed. */
  idle(): Promise<void> {
    if (this.isClosed || this.isIdle) return Promise.resolve();
    return new Promise((done) => this.onIdle.push(done));
  }

  /** Drops the entries that wait. */
  close(): void {
    this.isClosed = true;
    this.queue = [];
    this.ahead = [];
    this.queuedBytes = 0;
    this.watchForStall();
    this.resolveIdle();
  }

  private get hasMore(): boolean {
    return this.queue.length > 0 || this.ahead.length > 0;
  }

  private get isIdle(): boolean {
    return !this.hasMore && this.framesUnderWay === 0;
  }

  private get isFull(): boolean {
    const { bytesUnderWayMax = Infinity } = this.parts;
    return this.framesUnderWay >= FRAMES_UNDER_WAY || this.bytesUnderWay >= bytesUnderWayMax;
  }

  private schedule(): void {
    if (this.isHeld || this.isScheduled || this.isFull) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.flush();
    });
  }

  private flush(): void {
    while (!this.isClosed && this.hasMore && !this.isFull) this.sendFrame();
    this.watchForStall();
  }

  private sendFrame(): void {
    const frame = this.parts.emptyFrame();
    let bytes = 0;
    if (this.ahead.length > 0) {
      // The others get at least half of each frame, however much goes ahead.
      const taken = fitting(this.ahead, 0, this.queue.length === 0 ? FRAME_BYTES : FRAME_BYTES / 2);
      this.ahead = addTo(frame, this.ahead, taken.count);
      bytes = taken.bytes;
    }
    const taken = fitting(this.queue, bytes, FRAME_BYTES);
    this.queue = addTo(frame, this.queue, taken.count);
    bytes = taken.bytes;
    this.framesUnderWay += 1;
    this.bytesUnderWay += bytes;
    this.parts.write(frame, () => {
      this.framesUnderWay -= 1;
      this.bytesUnderWay -= bytes;
      if (this.isClosed) return;
      this.queuedBytes -= bytes;
      this.stallTimer?.refresh();
      this.watchForStall();
      if (this.hasMore) this.schedule();
      if (this.isIdle) this.resolveIdle();
      this.parts.taken?.();
    });
  }

  /**
   * A stall can be detected only while the connection is full. A timer for each frame would cost more than it gains.
   */
  private watchForStall(): void {
    const isFull = !this.isClosed && this.isFull;
    if (isFull && this.stallTimer === null) this.stallTimer = setTimeout(this.parts.stalled, this.parts.stallMs);
    if (!isFull && this.stallTimer !== null) {
      clearTimeout(this.stallTimer);
      this.stallTimer = null;
    }
  }

  private resolveIdle(): void {
    const waiting = this.onIdle;
    this.onIdle = [];
    for (const done of waiting) done();
  }
}

/**
 * How many entries of `queue` go into a frame that holds `bytes` already, and what it holds then. The first goes in if
 * the message bears it, so that a long one does not wait for ever.
 */
function fitting(queue: readonly FrameEntry<never>[], bytes: number, most: number): { count: number; bytes: number } {
  let count = 0;
  let sum = bytes;
  while (count < queue.length && sum + queue[count].bytes <= (count === 0 ? Math.max(most, ENTRY_BYTES_MAX) : most))
    sum += queue[count++].bytes;
  // One alone always goes in.
  if (count === 0 && bytes === 0 && queue.length > 0) return { count: 1, bytes: queue[0].bytes };
  return { count, bytes: sum };
}

/** Answers the entries that are left. */
function addTo<Frame>(frame: Frame, queue: FrameEntry<Frame>[], count: number): FrameEntry<Frame>[] {
  const entries = count === queue.length ? queue : queue.slice(0, count);
  for (const entry of entries) entry.addTo(frame);
  return count === queue.length ? [] : queue.slice(count);
}
