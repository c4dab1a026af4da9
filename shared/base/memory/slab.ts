const SLAB_BYTES = 64 * 1024;
/**
 * What is larger gets memory of its own: so little of a slab is wasted, and little is kept by what is kept for long.
 */
const PIECE_BYTES_MAX = SLAB_BYTES / 8;

/** For so few bytes, a view of them, which Node makes to copy them, costs more than a loop. */
const COPIED_SINGLY = 96;

/** Copies bytes to a place where they have room. What lies beyond the end of `from` is 0, or left as it was. */
export function copyBytes(from: Buffer, start: number, target: Buffer, at: number, bytes: number): void {
  if (bytes > COPIED_SINGLY) from.copy(target, at, start, start + bytes);
  else for (let i = 0; i < bytes; i++) target[at + i] = from[start + i];
}

/**
 * Memory for small things that are forgotten soon, many in one piece: each piece of memory of its own costs a
 * collection of garbage as much as some kilobytes of objects. What is kept keeps its slab, of 64 KiB.
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
