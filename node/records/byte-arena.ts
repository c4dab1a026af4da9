/** Chunks are large enough that their fixed cost does not matter, and small enough that moving the content of one is quick. */
const CHUNK_BYTES = 1 << 20;
/** Size of the first chunk. Each further one is twice as large, up to CHUNK_BYTES, so that small shards stay small. */
const FIRST_CHUNK_BYTES = 1 << 12;
/** A longer string gets a chunk of its own: it would leave too much of a shared one unused. */
const SHARED_BYTES_MAX = CHUNK_BYTES / 8;

/** A chunk whose share of living bytes is below this is worth emptying. */
const SPARSE_SHARE = 0.25;

/**
 * Byte strings packed into large buffers of shared memory, outside the JavaScript heap. The arena itself never changes or moves bytes
 * once they are written, so a list of its chunks is a consistent copy. A place is (chunk, offset); its holder remembers
 * the length. Freed bytes become available when a whole chunk is dead, or when the holder moves the rest out of a
 * sparse one.
 */
export class ByteArena {
  private readonly chunks: (Buffer | null)[] = [];
  private readonly livingBytes: number[] = [];
  private readonly sparse = new Set<number>();
  private current = -1;
  private used = 0;
  private held = 0;
  /** Called with the number of each chunk that comes or goes, before anything is written to it. */
  onChunk: (number: number) => void = () => {};

  get memoryBytes(): number {
    return this.held;
  }

  /** An arena of saved chunks (copied). Nothing in it is living until `revive` is called. */
  static of(chunks: (Buffer | null)[]): ByteArena {
    const arena = new ByteArena();
    for (const chunk of chunks) {
      arena.chunks.push(chunk === null ? null : newChunk(chunk.length));
      if (chunk !== null) chunk.copy(arena.chunks.at(-1) as Buffer);
      arena.livingBytes.push(0);
      arena.held += chunk?.length ?? 0;
    }
    return arena;
  }

  /** Counts the bytes of a place in a saved chunk as living. False if the chunk does not contain it. */
  revive(chunk: number, offset: number, length: number): boolean {
    if (offset + length > (this.chunks[chunk]?.length ?? -1)) return false;
    this.livingBytes[chunk] += length;
    return true;
  }

  /** Ends the reviving: drops saved chunks without living bytes. */
  dropDead(): void {
    for (let chunk = 0; chunk < this.chunks.length; chunk++) this.judge(chunk);
  }

  /** Room for `length` bytes: the buffer to write into at `offset`, and the chunk number of the place. */
  allocate(length: number): { chunk: number; offset: number; buffer: Buffer } {
    if (length > SHARED_BYTES_MAX) {
      const chunk = this.addChunk(length);
      this.livingBytes[chunk] = length;
      return { chunk, offset: 0, buffer: this.chunks[chunk] as Buffer };
    }
    if (this.current < 0 || this.used + length > (this.chunks[this.current] as Buffer).length) {
      const full = this.current;
      this.current = this.addChunk(Math.max(length, Math.min(CHUNK_BYTES, FIRST_CHUNK_BYTES * 2 ** this.chunks.length)));
      this.used = 0;
      if (full >= 0) this.judge(full);
    }
    const place = { chunk: this.current, offset: this.used, buffer: this.chunks[this.current] as Buffer };
    this.used += length;
    this.livingBytes[this.current] += length;
    return place;
  }

  /** Further bytes go into new chunks. Answers the number of chunks so far, whose content is to be moved. */
  retire(): number {
    const full = this.current;
    this.current = -1;
    if (full >= 0) this.judge(full);
    return this.chunks.length;
  }

  /** Number of chunks ever made. */
  get chunkCount(): number {
    return this.chunks.length;
  }

  chunk(number: number): Buffer {
    return this.chunks[number] as Buffer;
  }

  /** The memory of a chunk, which is all its own; null if it was dropped. */
  memoryOf(number: number): SharedArrayBuffer | null {
    return (this.chunks[number]?.buffer as SharedArrayBuffer | undefined) ?? null;
  }

  /** Frees the bytes of a place; they must not be read again. */
  free(chunk: number, length: number): void {
    this.livingBytes[chunk] -= length;
    if (chunk !== this.current) this.judge(chunk);
  }

  /** A chunk that the holder should empty by moving everything elsewhere, or -1. Each chunk is reported once. */
  takeSparse(): number {
    for (const chunk of this.sparse) {
      this.sparse.delete(chunk);
      return chunk;
    }
    return -1;
  }

  /** The present chunks, null where dropped. Later changes do not affect the bytes that are in use in them. */
  snapshot(): (Buffer | null)[] {
    return this.chunks.map((chunk, i) => (i === this.current ? (chunk as Buffer).subarray(0, this.used) : chunk));
  }

  private judge(chunk: number): void {
    const buffer = this.chunks[chunk];
    if (buffer === null) return;
    if (this.livingBytes[chunk] > 0) {
      if (this.livingBytes[chunk] < buffer.length * SPARSE_SHARE) this.sparse.add(chunk);
      return;
    }
    this.held -= buffer.length;
    this.chunks[chunk] = null;
    this.sparse.delete(chunk);
    this.onChunk(chunk);
  }

  private addChunk(size: number): number {
    this.held += size;
    this.livingBytes.push(0);
    const chunk = this.chunks.push(newChunk(size)) - 1;
    this.onChunk(chunk);
    return chunk;
  }
}

function newChunk(size: number): Buffer {
  return Buffer.from(new SharedArrayBuffer(size));
}
