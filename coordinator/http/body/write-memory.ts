/** Memory is taken in multiples of this: bodies of a load are nearly, but not quite, of one size. */
const ROUNDED_BYTES = 1024 * 1024;
/** What is kept for the next bodies: a load over a few connections has as many on their way. */
const KEPT_MAX = 4;
const KEPT_BYTES_MAX = 64 * 1024 * 1024;
/** It is kept no longer than this after the last use. */
const KEPT_MS = 2_000;

/**
 * Memory for encoded writes, shared between threads, and used again: fresh memory costs about as much as all that is written to
 * it, and what V8 has to collect makes it look through all of the heap. Pages that nobody has written to take no memory.
 */
export class WriteMemory {
  private readonly kept: SharedArrayBuffer[] = [];
  private keptBytes = 0;
  private timer: NodeJS.Timeout | null = null;

  /** At least so many bytes; they may hold anything. */
  take(bytes: number): SharedArrayBuffer {
    const wanted = Math.ceil(bytes / ROUNDED_BYTES) * ROUNDED_BYTES;
    const place = this.kept.findIndex(({ byteLength }) => byteLength >= wanted && byteLength <= wanted * 2);
    if (place < 0) return new SharedArrayBuffer(wanted);
    const [memory] = this.kept.splice(place, 1);
    this.keptBytes -= memory.byteLength;
    return memory;
  }

  /** Nobody uses it any more. */
  give(memory: SharedArrayBuffer): void {
    if (this.kept.length === KEPT_MAX || this.keptBytes + memory.byteLength > KEPT_BYTES_MAX) return;
    // The one that was used last is in the processor's caches.
    this.kept.unshift(memory);
    this.keptBytes += memory.byteLength;
    if (this.timer === null) this.timer = setTimeout(() => this.forget(), KEPT_MS).unref();
    else this.timer.refresh();
  }

  private forget(): void {
    this.timer = null;
    this.kept.length = 0;
    this.keptBytes = 0;
  }
}
