import type { JsonValue } from '../../../shared/contract/filter/filter';

/** What is kept of the values that items have under one path, besides the lists of a filter index. */
export interface PathIndex {
  /** Whether the value of every item is there that is anything to it. */
  isWhole: boolean;
  /** There are too many distinct values: it is of no use. */
  readonly isFull: boolean;
  readonly memoryBytes: number;
  has(slot: number): boolean;
  /** What is nothing to it is left out. */
  put(slot: number, value: JsonValue): void;
  /** `value`: what was put. */
  remove(slot: number, value: JsonValue): void;
}
