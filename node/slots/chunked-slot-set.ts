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
import type { SlotSet } from './slot-set';

/**
 * Up to this many slots a set is one plain sorted array (8 bytes a slot): a chunk costs some 200 bytes by itself, and
 * the slots of a small set are spread over all chunks.
 */
const SMALL_MAX = 256;
/** A chunked set becomes small again well below SMALL_MAX, so that it does not convert at every change. */
const SMALL_AGAIN = 128;

/**
 * The mutable SlotSet. Single-threaded; a copy shares its chunks with the original until either changes them, so
 * `clone` costs a few microseconds whatever the size and is the way to hand out a set that stays as it is.
 */
export class ChunkedSlotSet implements SlotSet {
  private count = 0;
  /** Sorted; null when the set is chunked. */
  private small: number[] | null = [];
  /** High halves of the slots, rising, one for each chunk; no chunk is empty. */
  private highs: number[] = EMPTY_HIGHS;
  private chunks: SlotChunk[] = EMPTY_CHUNKS;

  /** A set of the slots given, in any order, repeated or not. */
  static fromArray(slots: ArrayLike<number> & Iterable<number>): ChunkedSlotSet {
    let sorted = true;
    for (let i = 1; i < slots.length && sorted; i++) sorted = slots[i - 1] < slots[i];
    if (sorted) return ChunkedSlotSet.fromSorted(slots);
    const rising = Uint32Array.from(slots).sort();
    let size = 0;
    for (let i = 0; i < rising.length; i++) if (i === 0 || rising[i] !== rising[i - 1]) rising[size++] = rising[i];
    return ChunkedSlotSet.fromSorted(rising.subarray(0, size));
  }

  /** The set itself when it is of this class (not a copy), else a new one of the same slots. */
  static from(slots: SlotSet): ChunkedSlotSet {
    return slots instanceof ChunkedSlotSet ? slots : ChunkedSlotSet.fromSorted(slots.toArray());
  }

  /** A set of the bits of `words` (bit s & 31 of word s >> 5 stands for slot s). */
  static fromBitmap(words: Uint32Array): ChunkedSlotSet {
    const set = new ChunkedSlotSet();
    const highs: number[] = [];
    const chunks: SlotChunk[] = [];
    for (let high = 0; high * CHUNK_WORDS < words.length; high++) {
      const part = new Uint32Array(CHUNK_WORDS);
      part.set(words.subarray(high * CHUNK_WORDS, (high + 1) * CHUNK_WORDS));
      const chunk = chunkFromWords(part);
      if (chunk.size === 0) continue;
      highs.push(high);
      chunks.push(chunk);
    }
    set.assign(highs, chunks);
    return set;
  }

  /** A set of slots that rise strictly. */
  static fromSorted(slots: ArrayLike<number>): ChunkedSlotSet {
    const set = new ChunkedSlotSet();
    if (slots.length <= SMALL_MAX) {
      set.small = Array.from(slots);
      set.count = slots.length;
      return set;
    }
    const highs: number[] = [];
    const chunks: SlotChunk[] = [];
    for (let from = 0; from < slots.length; ) {
      const high = slots[from] >>> 16;
      let to = from;
      while (to < slots.length && slots[to] >>> 16 === high) to++;
      const values = new Uint16Array(to - from);
      for (let i = from; i < to; i++) values[i - from] = slots[i];
      highs.push(high);
      chunks.push(chunkFromValues(values));
      from = to;
    }
    set.assign(highs, chunks);
    return set;
  }

  get size(): number {
    return this.count;
  }

  has(slot: number): boolean {
    if (this.small !== null) {
      const at = lowerBound(this.small, this.small.length, slot);
      return at < this.small.length && this.small[at] === slot;
    }
    const at = this.find(slot >>> 16);
    return at >= 0 && chunkHas(this.chunks[at], slot & 0xffff);
  }

  /** Says whether the slot was new. */
  add(slot: number): boolean {
    if (this.small !== null) {
      if (this.small.length < SMALL_MAX) return this.addToSmall(this.small, slot);
      this.toChunks(this.small);
    }
    const high = slot >>> 16;
    let at = this.find(high);
    if (at < 0) {
      at = ~at;
      this.highs.splice(at, 0, high);
      this.chunks.splice(at, 0, emptyChunk());
    }
    const isNew = chunkAdd(this.owned(at), slot & 0xffff);
    if (isNew) this.count++;
    return isNew;
  }

  /** Says whether the slot was there. */
  remove(slot: number): boolean {
    if (this.small !== null) {
      const at = lowerBound(this.small, this.small.length, slot);
      if (at === this.small.length || this.small[at] !== slot) return false;
      this.small.splice(at, 1);
      this.count--;
      return true;
    }
    const at = this.find(slot >>> 16);
    if (at < 0 || !chunkHas(this.chunks[at], slot & 0xffff)) return false;
    chunkRemove(this.owned(at), slot & 0xffff);
    this.count--;
    if (this.chunks[at].size === 0) {
      this.highs.splice(at, 1);
      this.chunks.splice(at, 1);
    }
    if (this.count <= SMALL_AGAIN) this.assign(this.highs, this.chunks);
    return true;
  }

  clone(): ChunkedSlotSet {
    const copy = new ChunkedSlotSet();
    copy.count = this.count;
    copy.small = this.small === null ? null : this.small.slice();
    if (this.small === null) {
      for (const chunk of this.chunks) chunk.shared = true;
      copy.highs = this.highs.slice();
      copy.chunks = this.chunks.slice();
    }
    return copy;
  }

  and(other: ChunkedSlotSet): ChunkedSlotSet {
    const [few, many] = this.count <= other.count ? [this, other] : [other, this];
    if (few.small !== null) return ChunkedSlotSet.fromSorted(few.small.filter((slot) => many.has(slot)));
    const result = new ChunkedSlotSet();
    const highs: number[] = [];
    const chunks: SlotChunk[] = [];
    for (let i = 0; i < few.highs.length; i++) {
      const at = many.find(few.highs[i]);
      const chunk = at < 0 ? null : intersectChunks(few.chunks[i], many.chunks[at]);
      if (chunk === null) continue;
      highs.push(few.highs[i]);
      chunks.push(chunk);
    }
    result.assign(highs, chunks);
    return result;
  }

  or(other: ChunkedSlotSet): ChunkedSlotSet {
    const [few, many] = this.count <= other.count ? [this, other] : [other, this];
    const result = many.clone();
    if (few.small !== null) {
      for (const slot of few.small) result.add(slot);
      return result;
    }
    for (let i = 0; i < few.highs.length; i++) {
      const at = result.find(few.highs[i]);
      if (at < 0) {
        few.chunks[i].shared = true;
        result.highs.splice(~at, 0, few.highs[i]);
        result.chunks.splice(~at, 0, few.chunks[i]);
      } else {
        result.chunks[at] = uniteChunks(result.chunks[at], few.chunks[i]);
      }
    }
    result.assign(result.highs, result.chunks);
    return result;
  }

  /** The slots of this set that are not in `other`. */
  andNot(other: ChunkedSlotSet): ChunkedSlotSet {
    if (this.small !== null) return ChunkedSlotSet.fromSorted(this.small.filter((slot) => !other.has(slot)));
    const result = this.clone();
    if (other.small !== null) {
      for (const slot of other.small) result.remove(slot);
      return result;
    }
    const highs: number[] = [];
    const chunks: SlotChunk[] = [];
    for (let i = 0; i < result.highs.length; i++) {
      const at = other.find(result.highs[i]);
      const chunk = at < 0 ? result.chunks[i] : subtractChunks(result.chunks[i], other.chunks[at]);
      if (chunk === null) continue;
      highs.push(result.highs[i]);
      chunks.push(chunk);
    }
    result.assign(highs, chunks);
    return result;
  }

  andInPlace(other: ChunkedSlotSet): void {
    this.take(this.and(other));
  }

  orInPlace(other: ChunkedSlotSet): void {
    if (other.small !== null) for (const slot of other.small.slice()) this.add(slot);
    else this.take(this.or(other));
  }

  andNotInPlace(other: ChunkedSlotSet): void {
    if (other.small !== null) for (const slot of other.small.slice()) this.remove(slot);
    else this.take(this.andNot(other));
  }

  /** Calls `visit` with the slots in rising order; the set must not change meanwhile. */
  forEach(visit: (slot: number) => void): void {
    if (this.small !== null) for (const slot of this.small) visit(slot);
    else for (const slot of this.toArray()) visit(slot);
  }

  *[Symbol.iterator](): IterableIterator<number> {
    yield* this.toArray();
  }

  /** The lowest slot; the set must not be empty. */
  first(): number {
    if (this.small !== null) return this.small[0];
    const lows = new Uint32Array(this.chunks[0].size);
    writeMembers(this.chunks[0], this.highs[0] * CHUNK_SLOTS, lows, 0);
    return lows[0];
  }

  toArray(): Uint32Array {
    const slots = new Uint32Array(this.count);
    if (this.small !== null) {
      slots.set(this.small);
      return slots;
    }
    for (let i = 0, offset = 0; i < this.chunks.length; offset += this.chunks[i++].size) {
      writeMembers(this.chunks[i], this.highs[i] * CHUNK_SLOTS, slots, offset);
    }
    return slots;
  }

  toBitmap(slotCount: number): Uint32Array {
    const words = new Uint32Array(Math.ceil(Math.max(slotCount, this.end()) / 32));
    this.orIntoBitmap(words);
    return words;
  }

  /** Sets the bit of every slot; slots past the end of `words` are left out. */
  orIntoBitmap(words: Uint32Array): void {
    if (this.small !== null) {
      for (const slot of this.small) if (slot >>> 5 < words.length) words[slot >>> 5] |= 1 << (slot & 31);
      return;
    }
    for (let i = 0; i < this.chunks.length; i++) {
      const start = this.highs[i] * CHUNK_WORDS;
      orInto(this.chunks[i], words.subarray(start, start + CHUNK_WORDS));
    }
  }

  /** One more than the highest slot, 0 for an empty set; may be rounded up to the end of its chunk. */
  private end(): number {
    if (this.count === 0) return 0;
    if (this.small !== null) return this.small[this.small.length - 1] + 1;
    return (this.highs[this.highs.length - 1] + 1) * CHUNK_SLOTS;
  }

  get memoryBytes(): number {
    if (this.small !== null) return SET_BYTES + 8 * this.small.length;
    return this.chunks.reduce((bytes, chunk) => bytes + chunkMemoryBytes(chunk), SET_BYTES + 16 * this.chunks.length);
  }

  /** The chunks as they are, by rising high half, for writing out; a small set is chunked first. Read only. */
  entries(): { high: number; chunk: SlotChunk }[] {
    if (this.small !== null) {
      const copy = this.clone();
      copy.toChunks(copy.small as number[]);
      return copy.entries();
    }
    return this.highs.map((high, i) => ({ high, chunk: this.chunks[i] }));
  }

  /** A set of non-empty chunks by strictly rising high half, which it takes over. */
  static fromEntries(entries: { high: number; chunk: SlotChunk }[]): ChunkedSlotSet {
    const set = new ChunkedSlotSet();
    set.assign(
      entries.map((entry) => entry.high),
      entries.map((entry) => entry.chunk),
    );
    return set;
  }

  private addToSmall(small: number[], slot: number): boolean {
    const size = small.length;
    if (size === 0 || small[size - 1] < slot) small.push(slot);
    else {
      const at = lowerBound(small, size, slot);
      if (small[at] === slot) return false;
      small.splice(at, 0, slot);
    }
    this.count++;
    return true;
  }

  private toChunks(slots: number[]): void {
    this.small = null;
    this.highs = [];
    this.chunks = [];
    this.count = 0;
    for (const slot of slots) this.add(slot);
  }

  /** Makes these the set's chunks, as a small set if they hold little. */
  private assign(highs: number[], chunks: SlotChunk[]): void {
    this.small = null;
    this.highs = highs;
    this.chunks = chunks;
    this.count = chunks.reduce((sum, chunk) => sum + chunk.size, 0);
    if (this.count > SMALL_AGAIN) return;
    this.small = Array.from(this.toArray());
    this.highs = EMPTY_HIGHS;
    this.chunks = EMPTY_CHUNKS;
  }

  private take(other: ChunkedSlotSet): void {
    this.count = other.count;
    this.small = other.small;
    this.highs = other.highs;
    this.chunks = other.chunks;
  }

  /** The chunk at a position, made this set's own first. */
  private owned(at: number): SlotChunk {
    if (this.chunks[at].shared) this.chunks[at] = copyChunk(this.chunks[at]);
    return this.chunks[at];
  }

  /** Position of the chunk with this high half, else the complement of where it belongs. */
  private find(high: number): number {
    const highs = this.highs;
    /* Slots are dense, so the chunk of range h is nearly always the h-th. */
    if (highs[high] === high) return high;
    const at = lowerBound(highs, highs.length, high);
    return at < highs.length && highs[at] === high ? at : ~at;
  }
}

/** Shared by all small sets, which never write to them. */
const EMPTY_HIGHS: number[] = [];
const EMPTY_CHUNKS: SlotChunk[] = [];
/** The object and its plain array's header on 64 bits. */
const SET_BYTES = 96;
