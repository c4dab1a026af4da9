import type { AnalyserName } from '../../base/text/language';
import type { WordSign } from '../../base/text/word-variants';

/**
 * A metadata filter as a checked tree. `parse-filter.ts` parses the JSON form that clients send. `matches.ts` defines
 * what a filter means: it is the plain predicate that every index is tested against.
 *
 * `path` is the key as the client wrote it ("a.b"). A key of exactly that name has precedence; otherwise dots lead into
 * nested objects.
 */
export type Filter =
  | { type: 'and'; filters: Filter[] }
  | { type: 'or'; filters: Filter[] }
  | { type: 'not'; filter: Filter }
  | Condition;

/** What a filter asks of an item. */
export type Condition = PathCondition | ItemCondition;

/** What it asks of one path of the metadata. */
export type PathCondition =
  | { type: 'equals'; path: string; value: JsonValue }
  | { type: 'range'; path: string; operator: RangeOperator; bound: FilterBound }
  | { type: 'between'; path: string; low: FilterBound; high: FilterBound }
  | { type: 'in'; path: string; values: JsonValue[] }
  | { type: 'exists'; path: string }
  | OthersCondition
  | SizeCondition
  | GeoCondition
  | ElementCondition
  | TextCondition;

/**
 * A number, a text or a boolean that is none of these, alone or in a list. Searches that group ask so for what is in
 * none of the groups that they have found, and what asks for items without a value.
 */
export interface OthersCondition {
  type: 'others';
  path: string;
  values: (number | string | boolean)[];
}

/** What it asks of the item besides its metadata. `expiry` and `updated`: in milliseconds since 1970, both included. */
export type ItemCondition =
  | { type: 'ids'; ids: string[] }
  | { type: 'expiry'; low: number; high: number }
  | { type: 'updated'; low: number; high: number }
  | WordsCondition;

/**
 * Any or all of the words of a query, as the collection's analyser has them, stop words left out: in the text of the
 * item and all strings of its metadata, or in the strings under some paths. `phrase`: all words, stop words too, in one
 * of these strings, one directly behind the other, or with `near` in any order, with at most so many others between.
 * `analyser`: of a field that has it as its own, in such fields alone; without it, in those that have none.
 * With `stands`, which is only of `all`, any of the words that the last one stands for (word-variants.ts) is enough in
 * its place.
 */
export interface WordsCondition {
  type: 'words';
  query: string;
  match: 'any' | 'all' | 'phrase';
  near?: number;
  stands?: WordSign;
  paths?: string[];
  analyser?: AnalyserName;
}

/** An array of so many elements, both included. */
export interface SizeCondition {
  type: 'size';
  path: string;
  low: number;
  high: number;
}

/** A point of a shape. */
export interface GeoCondition {
  type: 'geo';
  path: string;
  shape: GeoShape;
}

/** In degrees; `corners` are lat, lon, lat, lon and so on. A box with minLon above maxLon crosses the date line. */
export type GeoShape =
  | { kind: 'radius'; lat: number; lon: number; metres: number }
  | { kind: 'box'; minLat: number; minLon: number; maxLat: number; maxLon: number }
  | { kind: 'polygon'; corners: number[] };

/**
 * An array with an element that passes the filter. `members`: one that is an object, by its members; `value`: of any
 * kind, by itself, as if it were the value of the key ''.
 */
export interface ElementCondition {
  type: 'element';
  path: string;
  of: 'members' | 'value';
  filter: Filter;
}

/** A text that begins with, contains or is like a pattern; `fold`: whatever the cases of both. */
export interface TextCondition {
  type: 'text';
  path: string;
  test: 'prefix' | 'contains' | 'like';
  pattern: string;
  fold: boolean;
}

/** Whether a filter asks something of a path, and does not join others. */
export function isCondition(filter: Filter): filter is Condition {
  return filter.type !== 'and' && filter.type !== 'or' && filter.type !== 'not';
}

/** What passes both; null: everything. */
export function bothFilters(first: Filter | null, second: Filter): Filter;
export function bothFilters(first: Filter | null, second: Filter | null): Filter | null;
export function bothFilters(first: Filter | null, second: Filter | null): Filter | null {
  if (first === null || second === null) return first ?? second;
  return { type: 'and', filters: [first, second] };
}

export function isOfItem(condition: Condition): condition is ItemCondition {
  const { type } = condition;
  return type === 'ids' || type === 'expiry' || type === 'updated' || type === 'words';
}

/** A number, a text, or a time, in milliseconds since 1970, which texts are compared with that say one. */
export type FilterBound = number | string | { time: number };

export type RangeOperator = 'gt' | 'gte' | 'lt' | 'lte';

export type Scalar = null | boolean | number | string;
export type JsonValue = Scalar | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}
