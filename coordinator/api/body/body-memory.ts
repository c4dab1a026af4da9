/** Memory is taken in multiples of this: bodies of a load are nearly, but not quite, of one size. */
const ROUNDED_BYTES = 1024 * 1024;
/**
 * What is kept for the next bodies: a load over a few connections has as many on their way, each with what is made of
 * it.
 */
const KEPT_MAX = 8;
const KEPT_BYTES_MAX = 128 * 1024 * 1024;
/**
 * Memory may be so many times as large as what is wanted. Less than twice: what is made of a body is given half of its
 * size, and goes to another thread. If that were as large as a body, V8 would look through the heap of this thread
 * every few bodies, because what goes and comes back counts as new.
 */
const FIT_MAX = 1.5;
/** It is kept no longer than this after the last use. */
const KEPT_MS = 2_000;
/** Less than this is not worth a call. */
const DISCARDED_BYTES_MIN = 8 * 1024;

/**
 * Memory for large bodies and for what is made of them, which is used again: fresh memory costs about as much as all
 * that is written to it, and what buffers have counts when V8 decides to look through all of its heap. Pages that
 * nobody has written to take no memory.
 */
export class BodyMemory {
  private readonly kept: ArrayBuffer[] = [];
  private readonly lent = new WeakSet<ArrayBuffer>();
  private keptBytes = 0;
  private timer: NodeJS.Timeout | null = null;

  /** `detach` frees the memory of a buffer at once. */
  constructor(private readonly detach: (buffer: ArrayBuffer) => void) {}

  /** At least so many bytes; they may hold anything. */
  take(bytes: number): ArrayBuffer {
    const wanted = Math.ceil(bytes / ROUNDED_BYTES) * ROUNDED_BYTES;
    const place = this.kept.findIndex(({ byteLength }) => byteLength >= wanted && byteLength <= wanted * FIT_MAX);
    const [memory] = place < 0 ? [Buffer.allocUnsafeSlow(wanted).buffer as ArrayBuffer] : this.kept.splice(place, 1);
    if (place >= 0) this.keptBytes -= memory.byteLength;
    this.lent.add(memory);
    return memory;
  }

  /** Nobody uses it any more. Does nothing for memory that is not from here, or that has gone to another thread. */
  give(memory: ArrayBuffer): void {
    if (!this.lent.delete(memory) || memory.byteLength === 0) return;
    if (this.kept.length === KEPT_MAX || this.keptBytes + memory.byteLength > KEPT_BYTES_MAX)
      return this.detach(memory);
    // The one that was used last is in the processor's caches.
    this.kept.unshift(memory);
    this.keptBytes += memory.byteLength;
    if (this.timer === null) this.timer = setTimeout(() => this.forget(), KEPT_MS).unref();
    else this.timer.refresh();
  }

  /** Takes over what went to another thread in place of this one, and came back. */
  back(memory: ArrayBuffer): void {
    this.lent.add(memory);
    this.give(memory);
  }

  /** Frees a piece that nobody uses any more, if it has a buffer of its own. */
  discard({ buffer, byteOffset, byteLength }: Buffer): void {
    if (
      byteOffset === 0 &&
      byteLength >= DISCARDED_BYTES_MIN &&
      byteLength === buffer.byteLength &&
      buffer instanceof ArrayBuffer
    )
      this.detach(buffer);
  }

  private forget(): void {
    this.timer = null;
    for (const memory of this.kept.splice(0)) this.detach(memory);
    this.keptBytes = 0;
  }
}
