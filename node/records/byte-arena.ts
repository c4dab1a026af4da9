/** Chunks are large enough that their own cost is nothing and small enough that moving what lives in one is quick. */
const CHUNK_BYTES = 1 << 20;
/** The first chunk; each one after it is twice as large up to CHUNK_BYTES, so that small shards stay small. */
const FIRST_CHUNK_BYTES = 1 << 13;

/** Chunks with a smaller living share than this are worth emptying. */
const SPARSE_SHARE = 0.25;

/**
 * Byte strings packed into large buffers outside the JavaScript heap. Bytes once written are never changed or moved by
 * the arena itself, so a list of its chunks is a consistent copy. A place is (chunk, offset); who holds it remembers
 * the length. Freed bytes come back when a whole chunk is dead, or when the holder moves the rest out of a sparse one.
 */
export class ByteArena {
  private readonly chunks: (Buffer | null)[] = [];
  private readonly livingBytes: number[] = [];
  private current = -1;
  private used = 0;
  private held = 0;

  get memoryBytes(): number {
    return this.held;
  }

  /** Room for `length` bytes: the buffer to write into at `offset`, and the place's chunk number. */
  allocate(length: number): { chunk: number; offset: number; buffer: Buffer } {
    if (this.current < 0 || this.used + length > (this.chunks[this.current] as Buffer).length) this.addChunk(length);
    const place = { chunk: this.current, offset: this.used, buffer: this.chunks[this.current] as Buffer };
    this.used += length;
    this.livingBytes[this.current] += length;
    return place;
  }

  chunk(number: number): Buffer {
    return this.chunks[number] as Buffer;
  }

  /** The bytes of a place will not be asked for again. Answers the chunk if it is now worth emptying, else -1. */
  free(chunk: number, length: number): number {
    this.livingBytes[chunk] -= length;
    if (chunk === this.current) return -1;
    if (this.livingBytes[chunk] === 0) {
      this.held -= (this.chunks[chunk] as Buffer).length;
      this.chunks[chunk] = null;
      return -1;
    }
    return this.livingBytes[chunk] < (this.chunks[chunk] as Buffer).length * SPARSE_SHARE ? chunk : -1;
  }

  /** The chunks as they are, null where dropped; later changes do not touch what is in use in them. */
  snapshot(): (Buffer | null)[] {
    return this.chunks.map((chunk, i) => (i === this.current ? (chunk as Buffer).subarray(0, this.used) : chunk));
  }

  private addChunk(length: number): void {
    const size = Math.max(length, Math.min(CHUNK_BYTES, FIRST_CHUNK_BYTES * 2 ** this.chunks.length));
    this.chunks.push(Buffer.allocUnsafeSlow(size));
    this.livingBytes.push(0);
    this.current = this.chunks.length - 1;
    this.used = 0;
    this.held += size;
  }
}
