import { type ChunkEntry, ChunkList } from './chunk-list';
import { lowerBound } from './slot-chunk';
import type { SlotSet } from './slot-set';

/**
 * Up to this many slots, a set is one plain sorted array (8 bytes per slot): a chunk alone takes about 200 bytes, and
 * the slots of a small set are spread over all chunks.
 */
const SMALL_MAX = 256;
/** A chunked set becomes small again well below SMALL_MAX, so that it does not convert at every change. */
const SMALL_AGAIN = 128;
/** The object and the header of its plain array, in V8's 64-bit layout. */
const SET_BYTES = 80;

/**
 * The mutable SlotSet. Single-threaded. A copy shares its chunks with the original until either changes them. So
 * `clone` takes a few microseconds for any size, and is the way to pass on a set that must not change.
 */
export class ChunkedSlotSet implements SlotSet {
  private count = 0;
  /** The slots: a sorted array while they are few, otherwise chunks. */
  private slots: number[] | ChunkList = [];

  /** A set of the given slots, in any order, with or without repetitions. */
  static fromArray(slots: ArrayLike<number> & Iterable<number>): ChunkedSlotSet {
    let sorted = true;
    for (let i = 1; i < slots.length && sorted; i++) sorted = slots[i - 1] < slots[i];
    if (sorted) return ChunkedSlotSet.fromSorted(slots);
    const rising = Uint32Array.from(slots).sort();
    let size = 0;
    for (let i = 0; i < rising.length; i++) if (i === 0 || rising[i] !== rising[i - 1]) rising[size++] = rising[i];
    return ChunkedSlotSet.fromSorted(rising.subarray(0, size));
  }

  /** The set itself (not a copy) if it is of this class, otherwise a new one with the same slots. */
  static from(slots: SlotSet): ChunkedSlotSet {
    return slots instanceof ChunkedSlotSet ? slots : ChunkedSlotSet.fromSorted(slots.toArray());
  }

  /** A set from the bits of `words` (bit s & 31 of word s >> 5 is slot s). */
  static fromBitmap(words: Uint32Array): ChunkedSlotSet {
    return ChunkedSlotSet.ofChunks(ChunkList.fromBitmap(words));
  }

  /** A set of strictly ascending slots. */
  static fromSorted(slots: ArrayLike<number>): ChunkedSlotSet {
    const set = new ChunkedSlotSet();
    set.count = slots.length;
    set.slots = slots.length <= SMALL_MAX ? Array.from(slots) : ChunkList.fromSorted(slots);
    return set;
  }

  /** A set of non-empty chunks, strictly ascending by high half; takes ownership of them. */
  static fromEntries(entries: Iterable<ChunkEntry>): ChunkedSlotSet {
    return ChunkedSlotSet.ofChunks(ChunkList.fromEntries(entries));
  }

  get size(): number {
    return this.count;
  }

  has(slot: number): boolean {
    const { slots } = this;
    if (slots instanceof ChunkList) return slots.has(slot);
    const at = lowerBound(slots, slots.length, slot);
    return at < slots.length && slots[at] === slot;
  }

  /** Answers whether the slot was new. */
  add(slot: number): boolean {
    if (!(this.slots instanceof ChunkList)) {
      if (this.slots.length < SMALL_MAX) return this.addToFew(this.slots, slot);
      this.slots = ChunkList.fromSorted(this.slots);
    }
    const isNew = this.slots.add(slot);
    if (isNew) this.count++;
    return isNew;
  }

  /** Answers whether the slot was in the set. */
  remove(slot: number): boolean {
    if (this.slots instanceof ChunkList) {
      if (!this.slots.remove(slot)) return false;
      if (--this.count <= SMALL_AGAIN) this.slots = Array.from(this.slots.toArray(this.count));
      return true;
    }
    const at = lowerBound(this.slots, this.slots.length, slot);
    if (at === this.slots.length || this.slots[at] !== slot) return false;
    this.slots.splice(at, 1);
    this.count--;
    return true;
  }

  clone(): ChunkedSlotSet {
    const copy = new ChunkedSlotSet();
    copy.count = this.count;
    copy.slots = this.slots instanceof ChunkList ? this.slots.clone() : this.slots.slice();
    return copy;
  }

  and(other: ChunkedSlotSet): ChunkedSlotSet {
    const [few, many] = this.count <= other.count ? [this, other] : [other, this];
    if (few.slots instanceof ChunkList && many.slots instanceof ChunkList) {
      return ChunkedSlotSet.ofChunks(few.slots.intersect(many.slots));
    }
    const [listed, tested] = few.slots instanceof ChunkList ? [many, few] : [few, many];
    return ChunkedSlotSet.fromSorted((listed.slots as number[]).filter((slot) => tested.has(slot)));
  }

  or(other: ChunkedSlotSet): ChunkedSlotSet {
    const [few, many] = this.count <= other.count ? [this, other] : [other, this];
    if (few.slots instanceof ChunkList && many.slots instanceof ChunkList) {
      return ChunkedSlotSet.ofChunks(many.slots.unite(few.slots));
    }
    const result = many.clone();
    few.forEach((slot) => result.add(slot));
    return result;
  }

  /** The slots of this set that are not in `other`. */
  andNot(other: ChunkedSlotSet): ChunkedSlotSet {
    if (!(this.slots instanceof ChunkList))
      return ChunkedSlotSet.fromSorted(this.slots.filter((slot) => !other.has(slot)));
    if (other.slots instanceof ChunkList) return ChunkedSlotSet.ofChunks(this.slots.subtract(other.slots));
    const result = this.clone();
    for (const slot of other.slots) result.remove(slot);
    return result;
  }

  andInPlace(other: ChunkedSlotSet): void {
    this.become(this.and(other));
  }

  orInPlace(other: ChunkedSlotSet): void {
    if (other === this) return;
    if (other.slots instanceof ChunkList) this.become(this.or(other));
    else for (const slot of other.slots) this.add(slot);
  }

  andNotInPlace(other: ChunkedSlotSet): void {
    if (other.slots instanceof ChunkList || !(this.slots instanceof ChunkList)) this.become(this.andNot(other));
    else for (const slot of other.slots) this.remove(slot);
  }

  /** Calls `visit` with the slots in ascending order; the set must not change meanwhile. */
  forEach(visit: (slot: number) => void): void {
    for (const slot of this.slots instanceof ChunkList ? this.slots.toArray(this.count) : this.slots) visit(slot);
  }

  [Symbol.iterator](): IterableIterator<number> {
    return this.toArray().values();
  }

  /** The lowest slot of a set that is not empty. */
  first(): number {
    return this.slots instanceof ChunkList ? this.slots.toArray(this.count)[0] : this.slots[0];
  }

  toArray(): Uint32Array {
    return this.slots instanceof ChunkList ? this.slots.toArray(this.count) : Uint32Array.from(this.slots);
  }

  toBitmap(slotCount: number): Uint32Array {
    const words = new Uint32Array(Math.ceil(Math.max(slotCount, this.end()) / 32));
    this.orIntoBitmap(words);
    return words;
  }

  /** Sets the bit of every slot; ignores slots beyond the end of `words`. */
  orIntoBitmap(words: Uint32Array): void {
    if (this.slots instanceof ChunkList) this.slots.orIntoBitmap(words);
    else for (const slot of this.slots) if (slot >>> 5 < words.length) words[slot >>> 5] |= 1 << (slot & 31);
  }

  get memoryBytes(): number {
    return SET_BYTES + (this.slots instanceof ChunkList ? this.slots.memoryBytes : 8 * this.slots.length);
  }

  /** The chunks, ascending by high half, for writing them out; must not be changed. */
  entries(): ChunkEntry[] {
    return (this.slots instanceof ChunkList ? this.slots : ChunkList.fromSorted(this.slots)).entries();
  }

  private static ofChunks(chunks: ChunkList): ChunkedSlotSet {
    const set = new ChunkedSlotSet();
    set.count = chunks.slotCount();
    set.slots = set.count <= SMALL_AGAIN ? Array.from(chunks.toArray(set.count)) : chunks;
    return set;
  }

  private addToFew(slots: number[], slot: number): boolean {
    const size = slots.length;
    if (size === 0 || slots[size - 1] < slot) slots.push(slot);
    else {
      const at = lowerBound(slots, size, slot);
      if (slots[at] === slot) return false;
      slots.splice(at, 0, slot);
    }
    this.count++;
    return true;
  }

  private become(other: ChunkedSlotSet): void {
    this.count = other.count;
    this.slots = other.slots;
  }

  /** A number above every slot. */
  private end(): number {
    if (this.slots instanceof ChunkList) return this.slots.end();
    return this.count === 0 ? 0 : this.slots[this.count - 1] + 1;
  }
}
