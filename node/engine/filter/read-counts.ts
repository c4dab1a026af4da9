import type { JsonObject, Scalar } from '../../../shared/contract/filter/filter';
import { timeOfText } from '../../../shared/contract/filter/time-of-text';
import {
  type AggregateAnswer,
  type AggregatePart,
  compareScalars,
  DISTINCT_MAX,
  REGISTER_BITS,
  SPREAD_LISTED_MAX,
} from '../../../shared/contract/shard/aggregate';
import { wholeOfNumber } from '../../../shared/contract/shard/exact-number';
import { noteHash } from '../../../shared/contract/shard/hyper-log-log';
import { numberRank, spreadShift } from '../../../shared/contract/shard/number-rank';
import { base64, keptValues } from './listed-counts';
import { lookUpPath, scalarsOf } from '../../../shared/contract/filter/metadata-path';

/**
 * Counts what items have under a path, by their metadata one by one: the definition of a part of an aggregate, which
 * the lists of a filter index are tested against, and the way of items that are in no list. `hashOf`: 16 bytes.
 */
export function readCounts(
  part: AggregatePart,
  items: Iterable<JsonObject>,
  hashOf: (value: Scalar) => Uint8Array,
): AggregateAnswer {
  const counted = [...items].map((metadata) => valuesUnder(metadata, part.path));
  const counts = countsOf(counted.map(({ values }) => values));
  const numbers = [...counts].flatMap(([value, count]) => (typeof value === 'number' ? [{ value, count }] : []));
  switch (part.type) {
    case 'values': {
      const present = counted.filter(({ isPresent }) => isPresent).length;
      return { ...firstValues(part, counts, hashOf), present, items: counted.length };
    }
    case 'counts':
      return { type: 'counts', counts: part.values.map((value) => counts.get(value) ?? 0) };
    case 'numbers': {
      const others = [...counts].filter(([value]) => value !== null && typeof value !== 'number');
      return {
        type: 'numbers',
        count: numbers.reduce((sum, { count }) => sum + count, 0),
        others: others.reduce((sum, [, count]) => sum + count, 0),
        min: numbers.reduce((least, { value }) => Math.min(least, value), numbers[0]?.value ?? 0),
        max: numbers.reduce((most, { value }) => Math.max(most, value), numbers[0]?.value ?? 0),
        sum: part.sum
          ? String(numbers.reduce((sum, { value, count }) => sum + wholeOfNumber(value) * BigInt(count), 0n))
          : null,
      };
    }
    case 'spread':
      return spreadOf(
        part,
        numbers.filter(({ value }) => value >= part.low && value <= part.high),
      );
    case 'distinct': {
      const hashes = [...counts.keys()].filter((value) => value !== null).map(hashOf);
      if (hashes.length <= DISTINCT_MAX)
        return {
          type: 'distinct',
          count: hashes.length,
          hashes: part.hashes ? base64(Buffer.concat(hashes)) : null,
          registers: null,
        };
      const registers = new Uint8Array(2 ** REGISTER_BITS);
      for (const hash of hashes) noteHash(registers, hash);
      return { type: 'distinct', count: hashes.length, hashes: null, registers: base64(registers) };
    }
    case 'buckets':
      return {
        type: 'buckets',
        counts: bucketsOf(
          part,
          counted.map(({ values }) => values),
        ),
      };
    case 'times': {
      const times = [...counts.keys()].map(timeOf).filter((time) => time !== null);
      if (times.length === 0) return { type: 'times', range: null };
      return {
        type: 'times',
        range: [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))],
      };
    }
  }
}

/** The scalars that an item has under a path, each once. */
export function valuesUnder(metadata: JsonObject, path: string): { values: Scalar[]; isPresent: boolean } {
  const value = lookUpPath(metadata, path);
  return { values: [...new Set(scalarsOf(value))], isPresent: value !== undefined };
}

function countsOf(lists: Scalar[][]): Map<Scalar, number> {
  const counts = new Map<Scalar, number>();
  for (const list of lists) for (const value of list) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function firstValues(
  { order, limit, prefix, share }: Extract<AggregatePart, { type: 'values' }>,
  counts: ReadonlyMap<Scalar, number>,
  hashOf: (value: Scalar) => Uint8Array,
) {
  const wanted = [...counts].filter(
    ([value]) =>
      (prefix === null || (typeof value === 'string' && value.startsWith(prefix))) &&
      (share === null || isOfShare(hashOf(value), share)),
  );
  wanted.sort(([a, m], [b, n]) => (order === 'count' && m !== n ? n - m : compareScalars(a, b)));
  const kept = keptValues(wanted.slice(0, limit).map(([value]) => value));
  return {
    type: 'values' as const,
    values: wanted.slice(0, kept).map(([value]) => value),
    counts: wanted.slice(0, kept).map(([, count]) => count),
    bound: wanted.slice(kept).reduce((most, [, count]) => Math.max(most, count), 0),
    distinct: wanted.length,
  };
}

function isOfShare(hash: Uint8Array, { of, index }: { of: number; index: number }): boolean {
  return Number(Buffer.from(hash).readBigUInt64LE(0) % BigInt(of)) === index;
}

function spreadOf(
  { low, high }: { low: number; high: number },
  numbers: { value: number; count: number }[],
): AggregateAnswer {
  if (numbers.length <= SPREAD_LISTED_MAX)
    return {
      type: 'spread',
      values: numbers.map(({ value }) => value),
      counts: numbers.map(({ count }) => count),
    };
  const [first, shift] = [numberRank(low), spreadShift(low, high)];
  const counts = new Array<number>(Number((numberRank(high) - first) >> shift) + 1).fill(0);
  for (const { value, count } of numbers) counts[Number((numberRank(value) - first) >> shift)] += count;
  return { type: 'spread', values: null, counts };
}

function bucketsOf({ edges, times }: { edges: number[]; times: boolean }, lists: Scalar[][]): number[] {
  const counts = new Array<number>(Math.max(0, edges.length - 1)).fill(0);
  for (const list of lists) {
    const measures = times ? list.map(timeOf) : list.map((value) => (typeof value === 'number' ? value : null));
    const found = measures.map((measure) =>
      measure === null ? -1 : edges.findIndex((edge, i) => edge <= measure && measure < edges[i + 1]),
    );
    for (const bucket of new Set(found)) if (bucket >= 0) counts[bucket] += 1;
  }
  return counts;
}

function timeOf(value: Scalar): number | null {
  return typeof value === 'string' ? timeOfText(value) : null;
}
