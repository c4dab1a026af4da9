import type { RangeOperator } from '../../shared/filter/filter';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import { inRange } from './matches';

/**
 * The numbers under one path by slot, for ranges over keys with nearly as many values as items (times, prices). A range
 * is one pass over 8 bytes per slot, about a millisecond per million slots.
 */
export class NumberColumn {
  /** NaN: no number. */
  private values: Float64Array;
  /** All numbers of the slots that have more than one (arrays). */
  private readonly several = new Map<number, number[]>();

  constructor(slotLimit: number) {
    this.values = new Float64Array(slotLimit).fill(Number.NaN);
  }

  add(slot: number, value: number): void {
    if (slot >= this.values.length) this.grow(slot + 1);
    const first = this.values[slot];
    if (Number.isNaN(first)) {
      this.values[slot] = value;
      return;
    }
    if (first === value) return;
    const all = this.several.get(slot);
    if (all === undefined) this.several.set(slot, [first, value]);
    else all.push(value);
  }

  /** Removes all numbers of the slot. */
  clear(slot: number): void {
    if (slot < this.values.length) this.values[slot] = Number.NaN;
    this.several.delete(slot);
  }

  inRange(operator: RangeOperator, bound: number): ChunkedSlotSet {
    const words = new Uint32Array(Math.ceil(this.values.length / 32));
    const [low, high] = closedInterval(operator, bound);
    const values = this.values;
    const wholeWords = values.length >>> 5;
    for (let w = 0, s = 0; w < wholeWords; w++) {
      let bits = 0;
      // Without a branch on the data, which the processor could not predict.
      for (let bit = 0; bit < 32; bit++, s++) bits |= (Number(values[s] >= low) & Number(values[s] <= high)) << bit;
      words[w] = bits;
    }
    for (let s = wholeWords * 32; s < values.length; s++) {
      if (values[s] >= low && values[s] <= high) words[s >>> 5] |= 1 << (s & 31);
    }
    for (const slot of this.several.keys()) if (this.has(slot, operator, bound)) words[slot >>> 5] |= 1 << (slot & 31);
    return ChunkedSlotSet.fromBitmap(words);
  }

  /** Those of the given slots that have a number in the range. */
  select(slots: ChunkedSlotSet, operator: RangeOperator, bound: number): ChunkedSlotSet {
    return ChunkedSlotSet.fromSorted(slots.toArray().filter((slot) => this.has(slot, operator, bound)));
  }

  get memoryBytes(): number {
    return this.values.byteLength + 100 * this.several.size;
  }

  private has(slot: number, operator: RangeOperator, bound: number): boolean {
    if (slot >= this.values.length) return false;
    if (inRange(this.values[slot], operator, bound)) return true;
    return this.several.get(slot)?.some((value) => inRange(value, operator, bound)) ?? false;
  }

  private grow(slotLimit: number): void {
    const grown = new Float64Array(Math.max(slotLimit, Math.ceil(this.values.length * 1.25))).fill(Number.NaN);
    grown.set(this.values);
    this.values = grown;
  }
}

/** The range as low ≤ x ≤ high. */
function closedInterval(operator: RangeOperator, bound: number): [number, number] {
  switch (operator) {
    case 'gt':
      return [nextAbove(bound), Number.POSITIVE_INFINITY];
    case 'gte':
      return [bound, Number.POSITIVE_INFINITY];
    case 'lt':
      return [Number.NEGATIVE_INFINITY, -nextAbove(-bound)];
    case 'lte':
      return [Number.NEGATIVE_INFINITY, bound];
  }
}

/** The smallest double above a finite one: IEEE 754 doubles of one sign have the order of their bit patterns. */
function nextAbove(value: number): number {
  if (value === 0) return Number.MIN_VALUE;
  const bits = new BigInt64Array(new Float64Array([value]).buffer);
  bits[0] += value > 0 ? 1n : -1n;
  return new Float64Array(bits.buffer)[0];
}
