import { write, writeSync } from 'node:fs';
import { noteStuckThread } from './stuck-threads';

/** What may wait while nothing can be written: some ten thousand lines. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;
/** Of one write: as much as a pipe holds on Linux. */
const BATCH_BYTES = 64 * 1024;
/**
 * A reader that is slow is asked again after the first of these, then after twice as long each time, up to the last.
 */
const READER_PAUSE_MIN_MS = 1;
const READER_PAUSE_MAX_MS = 100;
/** The interval between two attempts when writing fails. */
const RETRY_MS = 1_000;
/** How long the stop of a process waits for its last lines. */
const FLUSH_MS = 1_000;
/** How long an end at once, as that by a crash, tries to write what waits. */
const FLUSH_NOW_MS = 200;
const FLUSH_NOW_PAUSE_MS = 10;
/** A write in the background that takes longer may never end, and so would an exit that waits for its thread. */
const STUCK_MS = 900;
/** A reader that takes nothing for so long stands still. */
const STALLED_MS = 10_000;

/** What the reader of a pipe, a socket or a terminal has no room for now. */
const NO_ROOM = new Set(['EAGAIN', 'EWOULDBLOCK', 'EBUSY', 'EINTR']);

interface Line {
  text: string;
  bytes: number;
  /** Who waits for it; null: nobody. */
  waiter: { done: () => void; fail: (error: Error) => void } | null;
}

/** Lines that are written together. */
interface Batch {
  bytes: Buffer;
  /** How many of the bytes are written. */
  at: number;
  lines: Line[];
  /** Whether it is the rest of one line. */
  isRest: boolean;
}

export interface LineOutputParts {
  /** An open file. Nobody else writes to it, because a line may be written in two parts. */
  file: number;
  /** Whether a write may wait for a reader or a disk. One to a pipe that has O_NONBLOCK does not. */
  mayBlock: boolean;
  waitingBytesMax?: number;
  retryMs?: number;
  /** Default: that of Node. */
  system?: {
    write: (
      file: number,
      bytes: Buffer,
      at: number,
      length: number,
      position: null,
      done: (error: NodeJS.ErrnoException | null, written: number) => void,
    ) => void;
    writeSync: (file: number, bytes: Buffer, at: number) => number;
  };
}

/**
 * Whole lines to a file, pipe, socket or terminal, in the background and in order. They only tell of what the process
 * does, so they never end it, hold it or fill its memory. What can't be written waits, up to a bound; what comes beyond
 * it is dropped and counted, until half of it is written. Writing is tried again without end, whatever the error was: a
 * full disk may get room, a FIFO another reader.
 *
 * sonic-boom, which pino would write with, tries each failed write again without end before an exit, waits in `write`
 * for readers that stand still, and tells errors by an event that ends a process that does not listen.
 */
export class LineOutput {
  /** Called when lines can be written again after some were lost, with how many and the last error. */
  onLost: ((lines: number, reason: string | null) => void) | null = null;
  private readonly system: NonNullable<LineOutputParts['system']>;
  private readonly waitingBytesMax: number;
  private waiting: Line[] = [];
  /** Of all lines that are not written, but for those that somebody waits for. */
  private waitingBytes = 0;
  private batch: Batch | null = null;
  /** Since when a write is under way; null: none is. */
  private writingSinceMs: number | null = null;
  private isScheduled = false;
  private retry: NodeJS.Timeout | null = null;
  private readerPauseMs = READER_PAUSE_MIN_MS;
  private readonly flushing = new Set<() => void>();
  private progressMs = 0;
  private failure: Error | null = null;
  /** The last error since lines began to be lost. */
  private reason: string | null = null;
  private isDropping = false;
  private lostNow = 0;
  private lost = 0;
  private isKnownStuck = false;

  constructor(private readonly parts: LineOutputParts) {
    this.system = parts.system ?? { write, writeSync };
    this.waitingBytesMax = parts.waitingBytesMax ?? WAITING_BYTES_MAX;
  }

  /** Lines that were lost since the start. */
  get lostLines(): number {
    return this.lost;
  }

  /** Bytes that wait to be written. */
  get heldBytes(): number {
    return this.waitingBytes;
  }

  /** Whether lines can't be written at present: an error, or a reader that stands still. */
  get isFailing(): boolean {
    return (
      this.failure !== null ||
      this.isDropping ||
      (this.batch !== null && performance.now() - this.progressMs > STALLED_MS)
    );
  }

  /** Takes a line, or drops it. Never throws, never waits. */
  write(text: string): void {
    const bytes = Buffer.byteLength(text);
    if (this.isDropping || this.waitingBytes + bytes > this.waitingBytesMax) {
      this.isDropping = true;
      this.lostNow += 1;
      this.lost += 1;
      // One that is longer than the bound is lost by itself.
      this.resume();
      return;
    }
    this.waitingBytes += bytes;
    this.take({ text, bytes, waiter: null });
  }

  /**
   * Resolves when these lines are written. Rejects with the error when they can't be: then none of them is. The caller
   * bounds what it has here; a reader that stands still is waited for.
   */
  append(text: string): Promise<void> {
    return new Promise((done, fail) => this.take({ text, bytes: Buffer.byteLength(text), waiter: { done, fail } }));
  }

  /** Resolves when all lines so far are written, when that fails, and after a second. */
  async flush(): Promise<void> {
    if (this.isEmpty) return;
    await new Promise<void>((done) => {
      const end = (): void => {
        clearTimeout(timer);
        this.flushing.delete(end);
        done();
      };
      const timer = setTimeout(end, FLUSH_MS);
      this.flushing.add(end);
      this.clearRetry();
      this.pump();
    });
    this.noteStuck();
  }

  /**
   * Writes what is in memory before it returns, as far as that goes within a fifth of a second: for a process that ends
   * at once. A line that is being written in the background may come after it.
   */
  flushNow(): void {
    if (this.noteStuck()) return;
    if (this.writingSinceMs !== null) this.batch = null;
    const deadlineMs = performance.now() + FLUSH_NOW_MS;
    while (this.nextBatch() !== null && performance.now() < deadlineMs) {
      const batch = this.batch!;
      try {
        batch.at += this.system.writeSync(this.parts.file, batch.bytes, batch.at);
        if (batch.at === batch.bytes.length) this.batch = null;
      } catch (error) {
        if (!isNoRoom(error)) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FLUSH_NOW_PAUSE_MS);
      }
    }
  }

  private get isEmpty(): boolean {
    return this.batch === null && this.waiting.length === 0;
  }

  /** Lines of one turn are written together. */
  private take(line: Line): void {
    this.waiting.push(line);
    if (this.isScheduled || this.writingSinceMs !== null || this.retry !== null) return;
    this.isScheduled = true;
    process.nextTick(() => {
      this.isScheduled = false;
      this.pump();
    });
  }

  private pump(): void {
    if (this.writingSinceMs !== null || this.retry !== null) return;
    const batch = this.nextBatch();
    if (batch === null) {
      for (const end of this.flushing) end();
      return;
    }
    this.writingSinceMs = performance.now();
    this.system.write(this.parts.file, batch.bytes, batch.at, batch.bytes.length - batch.at, null, (error, written) => {
      this.writingSinceMs = null;
      // Taken out by an end at once.
      if (this.batch !== batch) return;
      if (error === null && written > 0) this.wrote(batch, written);
      else if (error === null || isNoRoom(error)) this.wait();
      else this.fail(batch, error);
    });
  }

  private nextBatch(): Batch | null {
    if (this.batch !== null || this.waiting.length === 0) return this.batch;
    let count = 0;
    for (let bytes = 0; count < this.waiting.length && bytes < BATCH_BYTES; count += 1)
      bytes += this.waiting[count].bytes;
    const lines = this.waiting.splice(0, count);
    this.progressMs = performance.now();
    this.batch = {
      bytes: Buffer.from(lines.length === 1 ? lines[0].text : lines.map(({ text }) => text).join('')),
      at: 0,
      lines,
      isRest: false,
    };
    return this.batch;
  }

  private wrote(batch: Batch, written: number): void {
    batch.at += written;
    this.progressMs = performance.now();
    this.readerPauseMs = READER_PAUSE_MIN_MS;
    this.failure = null;
    if (batch.at === batch.bytes.length) {
      this.batch = null;
      for (const { bytes, waiter } of batch.lines) {
        if (waiter === null) this.waitingBytes -= bytes;
        else waiter.done();
      }
      this.resume();
    }
    this.pump();
  }

  /** Takes lines again where there is room, behind one that says how many are missing. */
  private resume(): void {
    if (!this.isDropping || this.waitingBytes > this.waitingBytesMax / 2) return;
    const { lostNow, reason } = this;
    this.isDropping = false;
    this.lostNow = 0;
    this.reason = null;
    this.onLost?.(lostNow, reason);
  }

  private wait(): void {
    this.tryAgainIn(this.readerPauseMs);
    this.readerPauseMs = Math.min(this.readerPauseMs * 2, READER_PAUSE_MAX_MS);
  }

  /** Gives lines back that somebody waits for, but for one of which a part is written. */
  private fail(batch: Batch, error: Error): void {
    this.failure = error;
    this.reason = error.message;
    const kept: Line[] = [];
    const failed: Line[] = [];
    this.batch = batch.isRest ? batch : null;
    let start = 0;
    for (const line of batch.isRest ? [] : batch.lines) {
      const end = start + line.bytes;
      if (end <= batch.at) {
        if (line.waiter === null) this.waitingBytes -= line.bytes;
        else line.waiter.done();
      } else if (start < batch.at) {
        this.batch = { bytes: batch.bytes.subarray(batch.at, end), at: 0, lines: [line], isRest: true };
      } else (line.waiter === null ? kept : failed).push(line);
      start = end;
    }
    for (const line of this.waiting) (line.waiter === null ? kept : failed).push(line);
    this.waiting = kept;
    this.tryAgainIn(this.parts.retryMs ?? RETRY_MS);
    for (const { waiter } of failed) waiter?.fail(error);
    for (const end of this.flushing) end();
  }

  private tryAgainIn(milliseconds: number): void {
    this.retry = setTimeout(() => {
      this.retry = null;
      this.pump();
    }, milliseconds);
    // What waits does not keep a process alive.
    this.retry.unref();
  }

  private clearRetry(): void {
    if (this.retry !== null) clearTimeout(this.retry);
    this.retry = null;
  }

  /** Whether a thread is in a write that may never end; an exit must not wait for it. */
  private noteStuck(): boolean {
    if (!this.parts.mayBlock || this.writingSinceMs === null || performance.now() - this.writingSinceMs < STUCK_MS)
      return false;
    if (!this.isKnownStuck) noteStuckThread();
    this.isKnownStuck = true;
    return true;
  }
}

function isNoRoom(error: unknown): boolean {
  return NO_ROOM.has((error as NodeJS.ErrnoException).code ?? '');
}
