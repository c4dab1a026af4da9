import { isAnalyserName } from '../../base/text/language';
import type { WordSign } from '../../base/text/word-variants';
import type { Filter, FilterBound, RangeOperator, TextCondition } from './filter';

/**
 * Nodes from the root of the tree to a leaf; it bounds the recursion of the evaluation. A client's filter has at most
 * 133: MAX_FILTER_DEPTH is at most 64, each level gives two nodes, and a condition five.
 */
const DEPTH_MAX = 256;

/**
 * Texts of the filters in use. A filter never changes, so its text is made once, however many shards and stages ask for
 * it.
 */
const texts = new WeakMap<Filter, string>();

/**
 * A filter as text, for messages between members, for the log, and as the key of an index: the tree of filter.ts as
 * JSON. For 2 MB this takes about 10 ms, once.
 */
export function filterToText(filter: Filter): string {
  const known = texts.get(filter);
  if (known !== undefined) return known;
  const text = JSON.stringify(filter);
  texts.set(filter, text);
  return text;
}

/** The last filter read: the shards of a node get the same one after another. */
let last: { text: string; filter: Filter } | null = null;

/**
 * The filter that {@link filterToText} wrote; undefined when the text is not a filter. 2 MB take 2 ms as one list of
 * texts, and 15 as small conditions.
 */
export function filterFromText(text: string): Filter | undefined {
  if (last?.text === text) return last.filter;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isFilter(json, 1)) return undefined;
  texts.set(json, text);
  last = { text, filter: json };
  return json;
}

/** The same of JSON that was parsed. */
export function filterFromJson(json: unknown): Filter | undefined {
  return isFilter(json, 1) ? json : undefined;
}

/**
 * Checks the shape only. Sizes were checked when the client's filter was parsed, and any JSON value is allowed as a
 * value to compare with.
 */
function isFilter(json: unknown, depth: number): json is Filter {
  if (typeof json !== 'object' || json === null || depth > DEPTH_MAX) return false;
  const node = json as Record<string, unknown>;
  return (
    typeof node.type === 'string' &&
    Object.hasOwn(SHAPES, node.type) &&
    SHAPES[node.type as Filter['type']](node, depth)
  );
}

const areFilters: ShapeCheck = ({ filters }, depth) =>
  Array.isArray(filters) && filters.every((part) => isFilter(part, depth + 1));

/** Of each condition, whether it has the members that it must have. */
const SHAPES: Record<Filter['type'], ShapeCheck> = {
  and: areFilters,
  or: areFilters,
  not: ({ filter }, depth) => isFilter(filter, depth + 1),
  equals: ({ path, value }) => typeof path === 'string' && value !== undefined,
  in: ({ path, values }) => typeof path === 'string' && Array.isArray(values),
  range: ({ path, operator, bound }) => typeof path === 'string' && isRangeOperator(operator) && isBound(bound),
  between: ({ path, low, high }) =>
    typeof path === 'string' && isBound(low) && isBound(high) && typeof low === typeof high,
  exists: ({ path }) => typeof path === 'string',
  others: ({ path, values }) =>
    typeof path === 'string' &&
    Array.isArray(values) &&
    values.every((value) => typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'),
  size: ({ path, low, high }) => typeof path === 'string' && typeof low === 'number' && typeof high === 'number',
  element: ({ path, of, filter }, depth) =>
    typeof path === 'string' && (of === 'members' || of === 'value') && isFilter(filter, depth + 1),
  geo: ({ path, shape }) => typeof path === 'string' && isGeoShape(shape),
  ids: ({ ids }) => areTexts(ids),
  expiry: ({ low, high }) => typeof low === 'number' && typeof high === 'number',
  updated: ({ low, high }) => typeof low === 'number' && typeof high === 'number',
  words: ({ query, match, near, stands, paths, analyser }) =>
    typeof query === 'string' &&
    (match === 'any' || match === 'all' || match === 'phrase') &&
    (near === undefined || (Number.isSafeInteger(near) && (near as number) >= 0)) &&
    (stands === undefined || (match === 'all' && isWordSign(stands))) &&
    (paths === undefined || areTexts(paths)) &&
    (analyser === undefined || isAnalyserName(analyser)),
  text: ({ path, test, pattern, fold }) =>
    typeof path === 'string' && isTextTest(test) && typeof pattern === 'string' && typeof fold === 'boolean',
};

type ShapeCheck = (node: Record<string, unknown>, depth: number) => boolean;

const RANGE_OPERATORS: Record<RangeOperator, true> = { gt: true, gte: true, lt: true, lte: true };

function isWordSign(value: unknown): value is WordSign {
  return value === 'prefix' || value === 'auto' || value === 0 || value === 1 || value === 2;
}

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function isBound(value: unknown): value is FilterBound {
  if (typeof value === 'object') return value !== null && typeof (value as { time?: unknown }).time === 'number';
  return typeof value === 'number' || typeof value === 'string';
}

function isGeoShape(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, ...numbers } = value as { kind?: unknown } & Record<string, unknown>;
  if (kind === 'polygon') return Array.isArray(numbers.corners) && numbers.corners.every(Number.isFinite);
  const names = kind === 'radius' ? ['lat', 'lon', 'metres'] : kind === 'box' ? BOX : null;
  return names?.every((name) => Number.isFinite(numbers[name])) === true;
}

const BOX = ['minLat', 'minLon', 'maxLat', 'maxLon'];

const TEXT_TESTS: Record<TextCondition['test'], true> = { prefix: true, contains: true, like: true };

function isTextTest(value: unknown): boolean {
  return typeof value === 'string' && Object.hasOwn(TEXT_TESTS, value);
}

function isRangeOperator(value: unknown): boolean {
  return typeof value === 'string' && Object.hasOwn(RANGE_OPERATORS, value);
}
