import { caseTable } from './case-fold';
import type { Filter, FilterBound, RangeOperator, TextCondition } from '../../../shared/contract/filter/filter';
import { nativeBinding } from '../vector/native-binding';
import { FilterWords } from './filter-words';
import { patternUnits } from './text-test';

/** Kinds of conditions and ranges, as the addon numbers them (node/engine/native/filter/filter_program.h). */
const CONDITION = {
  and: 0,
  or: 1,
  not: 2,
  equals: 3,
  in: 4,
  range: 5,
  exists: 6,
  text: 7,
  between: 8,
  others: 10,
} as const;
/** A range over times; it has no condition of its own. */
const TIMES = 9;
const RANGE: Record<RangeOperator, number> = { gt: 0, gte: 1, lt: 2, lte: 3 };
const TEXT_TEST: Record<TextCondition['test'], number> = { prefix: 0, contains: 1, like: 2 };

let hasCases = false;

/** A filter in the addon's form. It must need nothing but lists (filter-needs.ts). */
export function filterProgram(filter: Filter): Uint32Array {
  const words = new FilterWords();
  write(filter, words);
  return words.words.subarray(0, words.length);
}

function write(filter: Filter, words: FilterWords): void {
  if (
    filter.type === 'size' ||
    filter.type === 'element' ||
    filter.type === 'geo' ||
    filter.type === 'ids' ||
    filter.type === 'expiry' ||
    filter.type === 'updated' ||
    filter.type === 'words'
  )
    throw new Error(`no list tells of a condition of the type ${filter.type}`);
  const times = timesOf(filter);
  if (times !== null) return writeTimes(times, words);
  words.word(CONDITION[filter.type]);
  switch (filter.type) {
    case 'and':
    case 'or':
      words.word(filter.filters.length);
      for (const part of filter.filters) write(part, words);
      return;
    case 'not':
      return write(filter.filter, words);
    case 'equals':
      words.wideText(filter.path);
      return words.value(filter.value);
    case 'in':
    case 'others':
      words.wideText(filter.path);
      words.word(filter.values.length);
      for (const value of filter.values) words.value(value);
      return;
    case 'range':
      words.wideText(filter.path);
      words.word(RANGE[filter.operator]);
      return words.value(filter.bound as number | string);
    case 'between':
      words.wideText(filter.path);
      words.value(filter.low as number | string);
      return words.value(filter.high as number | string);
    case 'exists':
      words.wideText(filter.path);
      return;
    case 'text': {
      if (filter.fold || filter.test !== 'prefix') installCases();
      words.wideText(filter.path);
      words.word(TEXT_TEST[filter.test]);
      words.word(filter.fold ? 1 : 0);
      const units = patternUnits(filter);
      words.word(units.length);
      for (const unit of units) words.word(unit);
    }
  }
}

interface Times {
  path: string;
  /** In milliseconds since 1970, both included. */
  low: number;
  high: number;
}

/** Of a condition whose bounds are times; null: they are not. */
function timesOf(filter: Filter): Times | null {
  if (filter.type === 'between') {
    const [low, high] = [timeOf(filter.low), timeOf(filter.high)];
    return low === null || high === null ? null : { path: filter.path, low, high };
  }
  const time = filter.type === 'range' ? timeOf(filter.bound) : null;
  if (filter.type !== 'range' || time === null) return null;
  const { path, operator } = filter;
  if (operator === 'gt' || operator === 'gte')
    return { path, low: operator === 'gt' ? nextNumber(time, 1) : time, high: Infinity };
  return { path, low: -Infinity, high: operator === 'lt' ? nextNumber(time, -1) : time };
}

function timeOf(bound: FilterBound): number | null {
  return typeof bound === 'object' ? bound.time : null;
}

function writeTimes({ path, low, high }: Times, words: FilterWords): void {
  words.word(TIMES);
  words.wideText(path);
  words.number(low);
  words.number(high);
}

const double = new Float64Array(1);
const bits = new BigInt64Array(double.buffer);

/** The nearest number above (1) or below (−1). */
function nextNumber(number: number, direction: 1 | -1): number {
  if (number === 0) return direction * Number.MIN_VALUE;
  double[0] = number;
  bits[0] += BigInt(number > 0 ? direction : -direction);
  return double[0];
}

/** The addon knows no Unicode. */
function installCases(): void {
  if (hasCases) return;
  const { units, pairs } = caseTable();
  nativeBinding().foldCases(new Uint8Array(units.buffer), pairs);
  hasCases = true;
}
