import { ChunkedSlotSet } from './chunked-slot-set';
import { lowerBound } from './slot-chunk';
import type { SlotSet } from './slot-set';

/** A SlotSet that the addon has found and that nothing changes: strictly rising slots, or a bitmap. */
export class FoundSlotSet implements SlotSet {
  /**
   * `listed` false: `words` are a bitmap of `size` slots (bit s & 31 of word s >> 5 is slot s). Takes ownership of
   * them.
   */
  constructor(
    private readonly listed: boolean,
    private readonly words: Uint32Array,
    readonly size: number,
  ) {}

  has(slot: number): boolean {
    const { words } = this;
    if (!this.listed) return slot >>> 5 < words.length && (words[slot >>> 5] & (1 << (slot & 31))) !== 0;
    const at = lowerBound(words, words.length, slot);
    return at < words.length && words[at] === slot;
  }

  toArray(): Uint32Array {
    const { words } = this;
    if (this.listed) return words;
    const slots = new Uint32Array(this.size);
    let count = 0;
    for (let i = 0; i < words.length; i++) {
      for (let word = words[i]; word !== 0; word &= word - 1) slots[count++] = i * 32 + 31 - Math.clz32(word & -word);
    }
    return slots;
  }

  toBitmap(slotCount: number): Uint32Array {
    const { words } = this;
    const length = Math.ceil(slotCount / 32);
    if (!this.listed && words.length >= length) return words;
    const end = this.listed && words.length > 0 ? (words[words.length - 1] >>> 5) + 1 : words.length;
    const bitmap = new Uint32Array(Math.max(length, end));
    if (!this.listed) bitmap.set(words);
    else for (const slot of words) bitmap[slot >>> 5] |= 1 << (slot & 31);
    return bitmap;
  }

  /** The same slots as a set of the caller's own. */
  toChunked(): ChunkedSlotSet {
    return this.listed ? ChunkedSlotSet.fromSorted(this.words) : ChunkedSlotSet.fromBitmap(this.words);
  }

  get memoryBytes(): number {
    return this.words.byteLength;
  }
}
