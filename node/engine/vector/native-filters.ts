/** Values in their order, with the slots that have them. */
export interface FoundOrder {
  values: (boolean | number | string)[];
  /** One after the other; those of each value lie before its end. */
  slots: Uint32Array;
  ends: Uint32Array;
  /** Instead of `slots`, if these are many, of one value: as a bitmap. */
  bitmap: Uint32Array | null;
  /** The value that was looked at last: more may follow behind it. */
  last: boolean | number | string | null;
  more: boolean;
}

/**
 * The filter index of the addon (node/engine/native/filter/filter_calls.cc): the same names, argument order and
 * meaning. It holds the lists of slots by field and value; JavaScript takes metadata apart. `words` with a `length` are
 * those of FilterWords. Failures are Errors with `code` INVALID_ARGUMENT, OUT_OF_MEMORY or INTERNAL. Synchronous; of
 * the thread that made it, but for what finds it by its number.
 */
export interface AddonFilterIndex {
  /** Adds a field that is not there; `parent` 0: at the top. Answers its number. */
  addField(parent: number, words: Uint32Array, length: number): number;
  /** Forgets a field without slots and without fields below it; its number may be given again. */
  dropField(field: number): void;
  /**
   * Puts or removes a slot: slot, 1 or 0, and for each value field × 16 + 8 (of an array) + kind and the value. Answers
   * `entries`.
   */
  apply(words: Uint32Array, length: number): number;
  has(slot: number): boolean;
  /** The slots that match, `count` of them: a rising list, or a bitmap. */
  resolve(words: Uint32Array, length: number): { listed: boolean; words: Uint32Array; count: number };
  /** Makes some of what the filter profits from (sorted keys, signatures). Answers whether there is more to make. */
  prepare(words: Uint32Array, length: number): boolean;
  /** Of a condition on texts, the slots with a long text of which the lists hold too little to tell, as `resolve`. */
  unknown(words: Uint32Array, length: number): { listed: boolean; words: Uint32Array; count: number };
  /** Whether a range was asked over numbers that have no order yet, which lists what is rare at once. */
  wantsOrders(): boolean;
  /** Takes up to so many slots into such an order. Answers whether there is more to do. */
  orderSome(slots: number): boolean;
  /** Number of slots that have the field. */
  presentCount(field: number): number;
  /** Removes the slots of a bitmap from every list. Answers `entries`. */
  removeEverywhere(bitmap: Uint32Array): number;
  /** How many items are in no list: with any, other threads are answered nothing. */
  setUnlisted(count: number): void;
  /** Above every slot ever put. */
  slotLimit(): number;
  setSlotLimit(limit: number): void;
  slotCount(): number;
  /** Number of fields and distinct values. */
  entries(): number;
  memoryBytes(): number;
  /**
   * Saved forms (node/engine/native/filter/filter_save.h). `kind`: number, string or composite of VALUE. `next` −1: no
   * more.
   */
  savedSlots(): Buffer;
  savedPostings(field: number): Buffer;
  savedValues(field: number, kind: number, from: number, count: number): { bytes: Buffer; next: number };
  /** Each reads saved bytes from `from` on, adds what they hold, and answers where they end. */
  loadSlots(bytes: Buffer, from: number): number;
  loadPostings(field: number, bytes: Buffer, from: number): number;
  loadValues(field: number, kind: number, count: number, bytes: Buffer, from: number): number;
  /**
   * Counts (node/engine/native/filter/filter_counts.h) of the slots of a bitmap, or of all. Words: a wide path, then
   * what each call takes besides. How many have the path.
   */
  countPresent(words: Uint32Array, length: number, bitmap: Uint32Array | null): number;
  /** Whether by value, limit, parts, part, 1 and a prefix or 0. A long text comes as its key, with one of its slots. */
  countValues(
    words: Uint32Array,
    length: number,
    bitmap: Uint32Array | null,
  ): {
    values: (null | boolean | number | string)[];
    counts: Uint32Array;
    slots: Uint32Array;
    bound: number;
    distinct: number;
  };
  /** Values. */
  countOf(words: Uint32Array, length: number, bitmap: Uint32Array | null): Uint32Array;
  /** Whether with the sum. `limbs`: of 32 bits, in units of 2^-1074, the lowest first; the last has the sign. */
  countNumbers(
    words: Uint32Array,
    length: number,
    bitmap: Uint32Array | null,
  ): { count: number; others: number; min: number; max: number; limbs: Float64Array };
  /** Least and greatest number, and how many are listed at most. */
  countSpread(
    words: Uint32Array,
    length: number,
    bitmap: Uint32Array | null,
  ): { listed: boolean; values: Float64Array; counts: Uint32Array };
  /** How many are counted exactly, and whether with hashes. */
  countDistinct(
    words: Uint32Array,
    length: number,
    bitmap: Uint32Array | null,
  ): { count: number; hashes: Uint8Array; registers: Uint8Array };
  /** Whether of times. */
  countBuckets(words: Uint32Array, length: number, bitmap: Uint32Array | null, edges: Float64Array): Uint32Array;
  /** First and last time; NaN: there is none. */
  countTimes(words: Uint32Array, length: number, bitmap: Uint32Array | null): Float64Array;
  /** 16 bytes of a value. */
  hashOfValue(words: Uint32Array, length: number): Uint8Array;
  /**
   * The slots of a bitmap, or of all, by their values (node/engine/native/filter/filter_order.h). Words of each call: a
   * wide path. Sorts some of the values, and answers whether there is more to sort.
   */
  sortValues(words: Uint32Array, length: number): boolean;
  /**
   * The next values and their slots. Words: whether descending, how many slots, how many of one value are listed, and
   * the value to begin at (1) or behind (0), if there is one. Long texts are their keys.
   */
  orderValues(words: Uint32Array, length: number, bitmap: Uint32Array | null): FoundOrder;
  /** The slots without a value, as a bitmap. */
  orderMissing(words: Uint32Array, length: number, bitmap: Uint32Array | null): Uint32Array;
  /**
   * Makes some of what `boostValues` of the binding needs for the boosts of a program. Answers whether there is more to
   * make.
   */
  makeBoostValues(words: Uint32Array, length: number): boolean;
  /** The index's number for `searchInline`, of any thread; the same at each call. */
  share(): number;
}
