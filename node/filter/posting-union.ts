import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import { NO_SLOTS, type Posting } from './posting';

/** Unites many postings into one set: a list while the slots are few, a flat bitmap when they are many. */
export class PostingUnion {
  private slots: number[] = [];
  private words: Uint32Array | null = null;

  /** `slotLimit` is above every slot that will be added. */
  constructor(private readonly slotLimit: number) {}

  add(posting: Posting): void {
    if (posting === NO_SLOTS) return;
    if (typeof posting === 'number') {
      if (this.words !== null) this.words[posting >>> 5] |= 1 << (posting & 31);
      else this.slots.push(posting);
    } else if (this.words !== null) posting.orIntoBitmap(this.words);
    else if (this.slots.length + posting.size <= this.listMax()) posting.forEach((slot) => this.slots.push(slot));
    else posting.orIntoBitmap(this.toBitmap());
    if (this.words === null && this.slots.length > this.listMax()) this.toBitmap();
  }

  finish(): ChunkedSlotSet {
    return this.words === null ? ChunkedSlotSet.fromArray(this.slots) : ChunkedSlotSet.fromBitmap(this.words);
  }

  /** Sorting this many slots costs about as much as reading a bitmap of slotLimit bits. */
  private listMax(): number {
    return 64 + this.slotLimit / 512;
  }

  private toBitmap(): Uint32Array {
    const words = new Uint32Array(Math.ceil(this.slotLimit / 32));
    for (const slot of this.slots) words[slot >>> 5] |= 1 << (slot & 31);
    this.slots = [];
    this.words = words;
    return words;
  }
}
