const SLAB_BYTES = 64 * 1024;
/** What is larger gets memory of its own: so little of a slab is wasted, and little is kept by what is kept for long. */
const PIECE_BYTES_MAX = SLAB_BYTES / 8;

/**
 * Memory for small things that are forgotten soon, many in one piece: each piece of memory of its own costs a collection of
 * garbage as much as some kilobytes of objects. What is kept keeps its slab, of 64 KiB.
 */
export class Slab {
  private memory = Buffer.alloc(0);
  private used = 0;

  /** So many bytes, whose content is undefined. */
  take(bytes: number): Buffer {
    if (bytes > PIECE_BYTES_MAX) return Buffer.allocUnsafeSlow(bytes);
    if (this.used + bytes > this.memory.length) {
      this.memory = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.used = 0;
    }
    const from = this.used;
    this.used += bytes;
    return this.memory.subarray(from, this.used);
  }
}
