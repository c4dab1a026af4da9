import type { ChunkStore, StoredChunk } from './chunk-store';

/**
 * Chunks are large enough that their fixed cost does not matter, and small enough that moving the content of one is
 * quick.
 */
const CHUNK_BYTES = 1 << 20;
/** Size of the first chunk. Each further one is twice as large, up to CHUNK_BYTES, so that small shards stay small. */
const FIRST_CHUNK_BYTES = 1 << 12;
/** A longer string gets a chunk of its own: it would leave too much of a shared one unused. */
const SHARED_BYTES_MAX = CHUNK_BYTES / 8;

/** A chunk whose share of living bytes is below this is worth emptying. */
const SPARSE_SHARE = 0.25;

/**
 * Byte strings packed into large buffers of shared memory, outside the JavaScript heap. The arena itself never changes
 * or moves bytes once they are written, so a list of its chunks is a consistent copy. A place is (chunk, offset); its
 * holder remembers the length. Freed bytes become available when a whole chunk is dead, or when the holder moves the
 * rest out of a sparse one.
 *
 * With a store, memory holds the chunk that is being filled, and the store those that are full. One that can't be
 * stored, on a full disk, stays in memory.
 */
export class ByteArena {
  /** Null for those that were dropped, or are stored. */
  private readonly chunks: (Buffer | null)[] = [];
  private readonly stored: (StoredChunk | undefined)[] = [];
  /** Chunks that are full and in memory; the store takes them before something is put into another. */
  private full: { number: number; used: number }[] = [];
  /** Whether one became full since the store was asked. */
  private isToStore = false;
  private readonly livingBytes: number[] = [];
  private readonly sparse = new Set<number>();
  private current = -1;
  private used = 0;
  private held = 0;
  /**
   * Called with the number of each chunk that comes, goes or is stored; of one that comes, before anything is written
   * to it.
   */
  onChunk: (number: number) => void = () => {};

  constructor(private readonly store: ChunkStore | null = null) {}

  get memoryBytes(): number {
    return this.held;
  }

  /** Adds a saved chunk (copied). Nothing in it is living until `revive` is called. Throws what the store does. */
  addSaved(chunk: Buffer | null): void {
    const number = this.chunks.length;
    this.livingBytes.push(0);
    if (chunk === null || this.store !== null) {
      this.chunks.push(null);
      if (chunk !== null) this.stored[number] = this.store?.add(number, chunk);
      return;
    }
    const copy = newChunk(chunk.length);
    chunk.copy(copy);
    this.chunks.push(copy);
    this.held += chunk.length;
  }

  /** Counts the bytes of a place in a saved chunk as living. False if the chunk does not contain it. */
  revive(chunk: number, offset: number, length: number): boolean {
    if (offset + length > ((this.chunks[chunk] ?? this.stored[chunk])?.length ?? -1)) return false;
    this.livingBytes[chunk] += length;
    return true;
  }

  /** Ends the reviving: drops saved chunks without living bytes. */
  dropDead(): void {
    this.store?.endFile();
    for (let chunk = 0; chunk < this.chunks.length; chunk++) this.judge(chunk);
  }

  /** Room for `length` bytes: the buffer to write into at `offset`, and the chunk number of the place. */
  allocate(length: number): { chunk: number; offset: number; buffer: Buffer } {
    if (this.isToStore) this.storeFull();
    if (length > SHARED_BYTES_MAX) {
      const chunk = this.addChunk(length);
      this.livingBytes[chunk] = length;
      this.isFull(chunk, length);
      return { chunk, offset: 0, buffer: this.chunks[chunk] as Buffer };
    }
    if (this.current < 0 || this.used + length > (this.chunks[this.current] as Buffer).length) {
      const full = this.current;
      this.isFull(full, this.used);
      this.current = this.addChunk(
        Math.max(length, Math.min(CHUNK_BYTES, FIRST_CHUNK_BYTES * 2 ** this.chunks.length)),
      );
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
    // What is gone shall be in no file that stays.
    this.full = [];
    this.isToStore = false;
    this.store?.endFile();
    if (full >= 0) this.judge(full);
    return this.chunks.length;
  }

  /** Number of chunks ever made. */
  get chunkCount(): number {
    return this.chunks.length;
  }

  /** The bytes of a chunk that is in memory; null for a stored one. */
  chunk(number: number): Buffer | null {
    return this.chunks[number];
  }

  /** A place of a stored chunk as text. Errors: those of ChunkStore.text. */
  storedText(encoding: BufferEncoding, number: number, offset: number, length: number): string {
    return (this.store as ChunkStore).text(encoding, this.stored[number] as StoredChunk, offset, length);
  }

  /** The bytes of a place, wherever it is, until the next call. Errors: those of ChunkStore.text. */
  bytes(number: number, offset: number, length: number): Buffer {
    const chunk = this.chunks[number];
    return chunk === null
      ? (this.store as ChunkStore).read(this.stored[number] as StoredChunk, offset, length)
      : chunk.subarray(offset, offset + length);
  }

  /** Where a chunk is: its memory, which is all its own, or what is stored; null if it was dropped. */
  whereIs(number: number): SharedArrayBuffer | StoredChunk | null {
    return (this.chunks[number]?.buffer as SharedArrayBuffer | undefined) ?? this.stored[number] ?? null;
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

  /**
   * The present chunks, null where dropped. Later changes do not affect the bytes that are in use in them. Those that
   * are stored can be read until `end`, or the next snapshot.
   */
  snapshot(): { chunks: (Buffer | { length: number; read(): Buffer } | null)[]; end(): void } {
    const { store } = this;
    const end = store?.keepForSave() ?? (() => undefined);
    const chunks = this.chunks.map((chunk, i) => {
      const stored = this.stored[i];
      if (stored !== undefined) return { length: stored.length, read: () => (store as ChunkStore).whole(stored) };
      if (chunk === null) return null;
      return i === this.current ? chunk.subarray(0, this.used) : chunk;
    });
    return { chunks, end };
  }

  private judge(chunk: number): void {
    const buffer = this.chunks[chunk];
    const held = buffer ?? this.stored[chunk];
    if (held === undefined) return;
    if (this.livingBytes[chunk] > 0) {
      if (this.livingBytes[chunk] < held.length * SPARSE_SHARE) this.sparse.add(chunk);
      return;
    }
    this.sparse.delete(chunk);
    if (buffer !== null) {
      this.chunks[chunk] = null;
      this.held -= buffer.length;
    } else {
      const stored = this.stored[chunk] as StoredChunk;
      this.stored[chunk] = undefined;
      for (const number of (this.store as ChunkStore).free(stored)) this.sparse.add(number);
    }
    this.onChunk(chunk);
  }

  /** `chunk`, of which `used` bytes are in use, gets no more of them. */
  private isFull(chunk: number, used: number): void {
    if (this.store === null || chunk < 0) return;
    this.full.push({ number: chunk, used });
    this.isToStore = true;
  }

  private storeFull(): void {
    this.isToStore = false;
    while (this.full.length > 0) {
      const { number, used } = this.full[0];
      const chunk = this.chunks[number];
      if (chunk !== null) {
        try {
          this.stored[number] = (this.store as ChunkStore).add(number, chunk.subarray(0, used));
        } catch {
          // It is tried again when the next one is full.
          return;
        }
        this.chunks[number] = null;
        this.held -= chunk.length;
        this.onChunk(number);
      }
      this.full.shift();
    }
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
