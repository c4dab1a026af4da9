/**
 * A set of slots (unsigned 32-bit numbers), compact both when sparse and when dense: chunks of 65,536 slots, each a
 * sorted array or a bitmap (Chambi, Lemire, Kaser & Godin, "Better bitmap performance with Roaring bitmaps", 2016).
 */
export interface SlotSet {
  readonly size: number;
  has(slot: number): boolean;
  /** Slots in ascending order. */
  toArray(): Uint32Array;
  /** Bit s of the result (word s >> 5, bit s & 31) says whether s is in the set; at least `slotCount` bits long. */
  toBitmap(slotCount: number): Uint32Array;
}
