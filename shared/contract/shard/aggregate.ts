import type { Filter, Scalar } from '../filter/filter';
import { filterFromJson } from '../filter/filter-text';
import { stringKey } from './value-key';

/**
 * What a shard is asked to count, in parts of which a coordinator makes facets, statistics and ranges: of each
 * question, which items, and what of them. Of an array, each element is a value, equal ones once; objects, and what is
 * inside them, are none.
 */
export interface AggregateQuestion {
  /** null: all items pass. */
  filter: Filter | null;
  /** Of these alone; null: of all. */
  externalIds: string[] | null;
  parts: AggregatePart[];
}

export type AggregatePart =
  /**
   * How many items have each value, of which 1, "1" and true are three: the first `limit`, by count and then by value,
   * or by value.
   */
  | {
      type: 'values';
      path: string;
      order: 'count' | 'value';
      limit: number;
      /** Texts that begin so alone; null: all values. */
      prefix: string | null;
      /** Of this many parts of all values, by their hashes, one. */
      share: { of: number; index: number } | null;
    }
  /** How many items have each of these. */
  | { type: 'counts'; path: string; values: Scalar[] }
  /** Count, least, greatest and sum of the numbers. */
  | { type: 'numbers'; path: string; sum: boolean }
  /** How the numbers from `low` to `high` are spread. */
  | { type: 'spread'; path: string; low: number; high: number }
  /** How many distinct values there are; with `hashes`, what the sum over shards needs. */
  | { type: 'distinct'; path: string; hashes: boolean }
  /** How many items have a number, or a text that says a time, from each edge to below the next. */
  | { type: 'buckets'; path: string; edges: number[]; times: boolean }
  /** The first and the last time that texts say. */
  | { type: 'times'; path: string };

/** What is answered of a part. */
export type AggregateAnswer =
  | {
      type: 'values';
      values: Scalar[];
      counts: number[];
      /** The greatest count of a value that is not among them; 0: all are. */
      bound: number;
      distinct: number;
      /** Items that have the path, and all that pass. */
      present: number;
      items: number;
    }
  | { type: 'counts'; counts: number[] }
  | {
      type: 'numbers';
      count: number;
      /** Scalars that are neither numbers nor null. */
      others: number;
      min: number;
      max: number;
      /** In units of 2^-1074, without any rounding, as decimal digits; null: nobody asked. */
      sum: string | null;
    }
  /** Each number with its count, or with `values` null the counts of parts (number-rank.ts). */
  | { type: 'spread'; values: number[] | null; counts: number[] }
  /**
   * `hashes`: 16 bytes of each value; `registers`: those of a HyperLogLog, where values are more than
   * {@link DISTINCT_MAX}; both as base64.
   */
  | { type: 'distinct'; count: number; hashes: string | null; registers: string | null }
  | { type: 'buckets'; counts: number[] }
  /** null: no text says one. */
  | { type: 'times'; range: [number, number] | null };

/** Of each question, of each part: the answers of which the whole is the sum. */
export type AggregateAnswers = AggregateAnswer[][][];

/** So many distinct values are counted exactly. */
export const DISTINCT_MAX = 100_000;
/** Bits of a hash that choose a register: 65,536 registers of a HyperLogLog have a standard error of .41 %. */
export const REGISTER_BITS = 16;
/** Numbers that a spread lists. */
export const SPREAD_LISTED_MAX = 10_000;
/** Bytes of values in one answer, about; the first is always there. */
export const VALUES_BYTES_MAX = 1024 * 1024;

/** Numbers, texts, false, true, null: numbers by size, texts by UTF-16 code units, long ones by their keys. */
export function compareScalars(a: Scalar, b: Scalar): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') {
    const [one, other] = [stringKey(a), stringKey(b)];
    return one < other ? -1 : one > other ? 1 : 0;
  }
  return placeOf(a) - placeOf(b);
}

function placeOf(value: Scalar): number {
  if (value === null) return 4;
  if (typeof value === 'boolean') return value ? 3 : 2;
  return typeof value === 'number' ? 0 : 1;
}

export function questionsToText(questions: AggregateQuestion[]): string {
  return JSON.stringify(questions);
}

/** null for text that is none. */
export function questionsFromText(text: string): AggregateQuestion[] | null {
  const questions = parsedList(text);
  if (questions === null) return null;
  const read = questions.map((one): AggregateQuestion | null => {
    const { filter, externalIds, parts } = (one ?? {}) as Partial<Record<keyof AggregateQuestion, unknown>>;
    const passes = filter === null ? null : filterFromJson(filter);
    if (passes === undefined || !(externalIds === null || areTexts(externalIds))) return null;
    return Array.isArray(parts) && parts.every(isPart)
      ? { filter: passes, externalIds: externalIds as string[] | null, parts: parts as AggregatePart[] }
      : null;
  });
  return read.every((one) => one !== null) ? read : null;
}

export function answersToText(answers: AggregateAnswers): string {
  return JSON.stringify(answers);
}

/** null for text that is none. */
export function answersFromText(text: string): AggregateAnswers | null {
  const answers = parsedList(text);
  const isWhole = answers?.every(
    (parts) => Array.isArray(parts) && parts.every((part) => Array.isArray(part) && part.every(isTyped)),
  );
  return isWhole === true ? (answers as AggregateAnswers) : null;
}

const isTyped = (value: unknown): boolean => typeof (value as { type?: unknown } | null)?.type === 'string';
const isNumber = (value: unknown): boolean => typeof value === 'number';
const areTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((element) => typeof element === 'string');
const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;

/** Of each part, whether it has the members that it must have. */
const PARTS: Record<AggregatePart['type'], (part: Record<string, unknown>) => boolean> = {
  values: ({ order, limit, prefix, share }) =>
    (order === 'count' || order === 'value') &&
    isNumber(limit) &&
    (prefix === null || typeof prefix === 'string') &&
    (share === null || (typeof share === 'object' && Object.values(share!).every(isNumber))),
  counts: ({ values }) => Array.isArray(values) && values.every(isScalar),
  numbers: ({ sum }) => typeof sum === 'boolean',
  spread: ({ low, high }) => isNumber(low) && isNumber(high),
  distinct: ({ hashes }) => typeof hashes === 'boolean',
  buckets: ({ edges, times }) => Array.isArray(edges) && edges.every(isNumber) && typeof times === 'boolean',
  times: () => true,
};

function isPart(json: unknown): boolean {
  if (typeof json !== 'object' || json === null) return false;
  const part = json as Record<string, unknown>;
  const { type, path } = part;
  if (typeof path !== 'string' || typeof type !== 'string' || !Object.hasOwn(PARTS, type)) return false;
  return PARTS[type as AggregatePart['type']](part);
}

function parsedList(text: string): unknown[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
