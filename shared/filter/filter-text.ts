import type { Filter } from './filter';

/**
 * Nodes from the root of the tree to a leaf; it bounds the recursion of the evaluation. A client's filter has at most
 * 131: MAX_FILTER_DEPTH is at most 64, each level gives two nodes, and a condition three.
 */
const DEPTH_MAX = 256;

/** Texts of the filters in use. A filter never changes, so its text is made once, however many shards and stages ask for it. */
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

/** The filter that {@link filterToText} wrote; undefined when the text is not a filter. 2 MB take 2 ms as one list of texts, and 15 as small conditions. */
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

/**
 * Checks the shape only. Sizes were checked when the client's filter was parsed, and any JSON value is allowed as a
 * value to compare with.
 */
function isFilter(json: unknown, depth: number): json is Filter {
  if (typeof json !== 'object' || json === null || depth > DEPTH_MAX) return false;
  const node = json as Record<string, unknown>;
  switch (node.type) {
    case 'and':
    case 'or':
      return Array.isArray(node.filters) && node.filters.every((part) => isFilter(part, depth + 1));
    case 'not':
      return isFilter(node.filter, depth + 1);
    case 'equals':
      return typeof node.path === 'string' && node.value !== undefined;
    case 'in':
      return typeof node.path === 'string' && Array.isArray(node.values);
    case 'range':
      return typeof node.path === 'string' && isRangeOperator(node.operator) && (typeof node.bound === 'number' || typeof node.bound === 'string');
    case 'exists':
      return typeof node.path === 'string';
    default:
      return false;
  }
}

function isRangeOperator(value: unknown): boolean {
  return value === 'gt' || value === 'gte' || value === 'lt' || value === 'lte';
}
