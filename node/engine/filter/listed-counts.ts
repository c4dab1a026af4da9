import type { Scalar } from '../../../shared/contract/filter/filter';
import type { AggregateAnswer, AggregatePart } from '../../../shared/contract/shard/aggregate';
import { DISTINCT_MAX, SPREAD_LISTED_MAX, VALUES_BYTES_MAX } from '../../../shared/contract/shard/aggregate';
import { isLongKey } from '../../../shared/contract/shard/value-key';
import type { AddonFilterIndex } from '../vector/native-filters';
import { FilterWords } from './filter-words';

/** Which items of the lists count. */
export interface CountedSlots {
  /** Their slots as a bitmap; null: all. */
  bitmap: Uint32Array | null;
  /** How many they are. */
  size: number;
}

/** Counts by the lists of values of a filter index. Each call takes some milliseconds for a million slots. */
export class ListedCounts {
  /** `textOf`: the text of a slot under a path of which the lists have the beginning alone, by its key. */
  constructor(
    private readonly native: AddonFilterIndex,
    private readonly textOf: (slot: number, path: string, key: string) => string,
  ) {}

  answer(part: AggregatePart, slots: CountedSlots): AggregateAnswer {
    const { native } = this;
    const { bitmap } = slots;
    const words = new FilterWords();
    words.wideText(part.path);
    switch (part.type) {
      case 'values':
        return this.values(part, slots, words);
      case 'counts':
        for (const value of part.values) words.value(value);
        return { type: 'counts', counts: Array.from(native.countOf(words.words, words.length, bitmap)) };
      case 'numbers': {
        words.word(part.sum ? 1 : 0);
        const { count, others, min, max, limbs } = native.countNumbers(words.words, words.length, bitmap);
        return { type: 'numbers', count, others, min, max, sum: part.sum ? String(wholeOf(limbs)) : null };
      }
      case 'spread': {
        words.number(part.low);
        words.number(part.high);
        words.word(SPREAD_LISTED_MAX);
        const { listed, values, counts } = native.countSpread(words.words, words.length, bitmap);
        return { type: 'spread', values: listed ? Array.from(values) : null, counts: Array.from(counts) };
      }
      case 'distinct': {
        words.word(DISTINCT_MAX);
        words.word(part.hashes ? 1 : 0);
        const { count, hashes, registers } = native.countDistinct(words.words, words.length, bitmap);
        return {
          type: 'distinct',
          count,
          hashes: registers.length === 0 && part.hashes ? base64(hashes) : null,
          registers: registers.length === 0 ? null : base64(registers),
        };
      }
      case 'buckets': {
        words.word(part.times ? 1 : 0);
        const edges = Float64Array.from(part.edges);
        return { type: 'buckets', counts: Array.from(native.countBuckets(words.words, words.length, bitmap, edges)) };
      }
      case 'times': {
        const [first, last] = native.countTimes(words.words, words.length, bitmap);
        return { type: 'times', range: Number.isNaN(first) ? null : [first, last] };
      }
    }
  }

  /** 16 bytes, by which values are told apart in the sum over shards. */
  hashOf(value: Scalar): Uint8Array {
    const words = new FilterWords();
    words.value(value);
    return this.native.hashOfValue(words.words, words.length);
  }

  private values(
    part: Extract<AggregatePart, { type: 'values' }>,
    { bitmap, size }: CountedSlots,
    words: FilterWords,
  ): AggregateAnswer {
    const { native } = this;
    const present = native.countPresent(words.words, words.length, bitmap);
    words.word(part.order === 'value' ? 1 : 0);
    words.word(part.limit);
    words.word(part.share?.of ?? 1);
    words.word(part.share?.index ?? 0);
    words.word(part.prefix === null ? 0 : 1);
    if (part.prefix !== null) words.text(part.prefix);
    const found = native.countValues(words.words, words.length, bitmap);
    const values = found.values.map((value, i) =>
      typeof value === 'string' && isLongKey(value) ? this.textOf(found.slots[i], part.path, value) : value,
    );
    const kept = keptValues(values);
    return {
      type: 'values',
      values: values.slice(0, kept),
      counts: Array.from(found.counts.subarray(0, kept)),
      bound: found.counts.subarray(kept).reduce((most, count) => Math.max(most, count), found.bound),
      distinct: found.distinct,
      present,
      items: size,
    };
  }
}

/** How many values an answer has room for. */
export function keptValues(values: readonly Scalar[]): number {
  let bytes = 0;
  for (const [i, value] of values.entries()) {
    bytes += typeof value === 'string' ? 3 * value.length + 16 : 32;
    if (bytes > VALUES_BYTES_MAX && i > 0) return i;
  }
  return values.length;
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** The number of which these are the limbs of 32 bits, the lowest first; the last has the sign. */
function wholeOf(limbs: Float64Array): bigint {
  let whole = 0n;
  for (let i = limbs.length - 1; i >= 0; i--) whole = (whole << 32n) + BigInt(limbs[i]);
  return whole;
}
