import type { Scalar } from '../../../shared/contract/filter/filter';
import type { AddonFilterIndex, FoundOrder } from '../vector/native-filters';
import { FilterWords, VALUE } from './filter-words';

/** Where a walk through values begins: at one, or behind it. A long text is its key. */
export interface OrderStart {
  value: Exclude<Scalar, null>;
  included: boolean;
}

/**
 * The slots of a filter index by their values under a path, in the order of compareScalars. A slot with an array comes
 * with each of its values. Bitmaps of slots; null: all.
 */
export class ListedOrder {
  constructor(private readonly native: AddonFilterIndex) {}

  /** Before `some`: sorts the values where they are many, some milliseconds a step. */
  *prepare(path: string): Generator<undefined, void> {
    const words = wordsOf(path);
    while (this.native.sortValues(words.words, words.length)) yield;
  }

  /**
   * The next values with their slots: `slots` of them, or some more. A value with more than `listedMax` comes alone, as
   * a bitmap. Takes some milliseconds at most.
   */
  some(
    path: string,
    wanted: { descending: boolean; from: OrderStart | null; slots: number; listedMax: number },
    bitmap: Uint32Array | null,
  ): FoundOrder {
    const { descending, from, slots, listedMax } = wanted;
    const words = wordsOf(path);
    words.word(descending ? 1 : 0);
    words.word(slots);
    words.word(listedMax);
    words.word(from?.included === true ? 1 : 0);
    if (typeof from?.value === 'string') {
      words.word(VALUE.string);
      words.text(from.value);
    } else if (from !== null) words.value(from.value);
    return this.native.orderValues(words.words, words.length, bitmap);
  }

  /** Those that have no value under the path: neither a number, a text, false, true nor a list with one of these. */
  missing(path: string, bitmap: Uint32Array | null): Uint32Array {
    const words = wordsOf(path);
    return this.native.orderMissing(words.words, words.length, bitmap);
  }
}

function wordsOf(path: string): FilterWords {
  const words = new FilterWords();
  words.wideText(path);
  return words;
}
