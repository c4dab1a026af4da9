import { intersectChunks, subtractChunks, uniteChunks } from './chunk-algebra';
import {
  CHUNK_SLOTS,
  CHUNK_WORDS,
  chunkAdd,
  chunkFromValues,
  chunkFromWords,
  chunkHas,
  chunkMemoryBytes,
  chunkRemove,
  copyChunk,
  emptyChunk,
  lowerBound,
  orInto,
  type SlotChunk,
  writeMembers,
} from './slot-chunk';

/** One chunk and the high half of its slots. */
export interface ChunkEntry {
  high: number;
  chunk: SlotChunk;
}

/** The chunks of a large slot set. A copy shares them; whoever changes a shared chunk copies it first. */
export class ChunkList {
  /** High halves of the slots, ascending, one for each chunk; no chunk is empty. */
  private highs: number[] = [];
  private chunks: SlotChunk[] = [];

  /** Takes ownership of non-empty chunks, strictly ascending by high half. */
  static fromEntries(entries: Iterable<ChunkEntry>): ChunkList {
    const list = new ChunkList();
    for (const { high, chunk } of entries) list.append(high, chunk);
    return list;
  }

  static fromBitmap(words: Uint32Array): ChunkList {
    const list = new ChunkList();
    for (let high = 0; high * CHUNK_WORDS < words.length; high++) {
      const part = new Uint32Array(CHUNK_WORDS);
      part.set(words.subarray(high * CHUNK_WORDS, (high + 1) * CHUNK_WORDS));
      const chunk = chunkFromWords(part);
      if (chunk.size > 0) list.append(high, chunk);
    }
    return list;
  }

  /** From strictly ascending slots. */
  static fromSorted(slots: ArrayLike<number>): ChunkList {
    const list = new ChunkList();
    for (let from = 0; from < slots.length;) {
      const high = slots[from] >>> 16;
      let to = from;
      while (to < slots.length && slots[to] >>> 16 === high) to++;
      const values = new Uint16Array(to - from);
      for (let i = from; i < to; i++) values[i - from] = slots[i];
      list.append(high, chunkFromValues(values));
      from = to;
    }
    return list;
  }

  /** Number of slots, summed over the chunks. */
  slotCount(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.size, 0);
  }

  has(slot: number): boolean {
    const at = this.find(slot >>> 16);
    return at >= 0 && chunkHas(this.chunks[at], slot & 0xffff);
  }

  /** Answers whether the slot was new. */
  add(slot: number): boolean {
    const high = slot >>> 16;
    let at = this.find(high);
    if (at < 0) {
      at = ~at;
      this.highs.splice(at, 0, high);
      this.chunks.splice(at, 0, emptyChunk());
    }
    return chunkAdd(this.owned(at), slot & 0xffff);
  }

  /** Answers whether the slot was in the list. */
  remove(slot: number): boolean {
    const at = this.find(slot >>> 16);
    if (at < 0 || !chunkHas(this.chunks[at], slot & 0xffff)) return false;
    chunkRemove(this.owned(at), slot & 0xffff);
    if (this.chunks[at].size === 0) {
      this.highs.splice(at, 1);
      this.chunks.splice(at, 1);
    }
    return true;
  }

  clone(): ChunkList {
    const copy = new ChunkList();
    for (const chunk of this.chunks) chunk.shared = true;
    copy.highs = this.highs.slice();
    copy.chunks = this.chunks.slice();
    return copy;
  }

  intersect(other: ChunkList): ChunkList {
    const result = new ChunkList();
    for (let i = 0; i < this.highs.length; i++) {
      const at = other.find(this.highs[i]);
      const chunk = at < 0 ? null : intersectChunks(this.chunks[i], other.chunks[at]);
      if (chunk !== null) result.append(this.highs[i], chunk);
    }
    return result;
  }

  unite(other: ChunkList): ChunkList {
    const result = this.clone();
    for (let i = 0; i < other.highs.length; i++) {
      const at = result.find(other.highs[i]);
      if (at >= 0) {
        result.chunks[at] = uniteChunks(result.chunks[at], other.chunks[i]);
        continue;
      }
      other.chunks[i].shared = true;
      result.highs.splice(~at, 0, other.highs[i]);
      result.chunks.splice(~at, 0, other.chunks[i]);
    }
    return result;
  }

  /** The slots that are not in `other`. */
  subtract(other: ChunkList): ChunkList {
    const result = new ChunkList();
    for (let i = 0; i < this.highs.length; i++) {
      const at = other.find(this.highs[i]);
      if (at < 0) this.chunks[i].shared = true;
      const chunk = at < 0 ? this.chunks[i] : subtractChunks(this.chunks[i], other.chunks[at]);
      if (chunk !== null) result.append(this.highs[i], chunk);
    }
    return result;
  }

  /** All slots, ascending; `count` is their number. */
  toArray(count: number): Uint32Array {
    const slots = new Uint32Array(count);
    for (let i = 0, offset = 0; i < this.chunks.length; offset += this.chunks[i++].size) {
      writeMembers(this.chunks[i], this.highs[i] * CHUNK_SLOTS, slots, offset);
    }
    return slots;
  }

  /** Sets the bit of every slot; ignores slots beyond the end of `words`. */
  orIntoBitmap(words: Uint32Array): void {
    for (let i = 0; i < this.chunks.length; i++) {
      const start = this.highs[i] * CHUNK_WORDS;
      orInto(this.chunks[i], words.subarray(start, start + CHUNK_WORDS));
    }
  }

  /** A number above every slot: the end of the last chunk. */
  end(): number {
    return this.highs.length === 0 ? 0 : (this.highs[this.highs.length - 1] + 1) * CHUNK_SLOTS;
  }

  /** Must not be changed. */
  entries(): ChunkEntry[] {
    return this.highs.map((high, i) => ({ high, chunk: this.chunks[i] }));
  }

  get memoryBytes(): number {
    return this.chunks.reduce((bytes, chunk) => bytes + 16 + chunkMemoryBytes(chunk), 0);
  }

  private append(high: number, chunk: SlotChunk): void {
    this.highs.push(high);
    this.chunks.push(chunk);
  }

  /** The chunk at a position; copied first if it is shared. */
  private owned(at: number): SlotChunk {
    if (this.chunks[at].shared) this.chunks[at] = copyChunk(this.chunks[at]);
    return this.chunks[at];
  }

  /** Position of the chunk with this high half; if there is none, the bitwise complement of where it belongs. */
  private find(high: number): number {
    const highs = this.highs;
    // Slots are dense, so the chunk of range h is nearly always the h-th.
    if (highs[high] === high) return high;
    const at = lowerBound(highs, highs.length, high);
    return at < highs.length && highs[at] === high ? at : ~at;
  }
}
