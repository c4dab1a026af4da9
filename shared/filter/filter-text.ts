import type { Filter } from './filter';

/**
 * Nodes from the root of a tree to a leaf: a bound on the recursion of whoever evaluates it. A client's filter has 131 at
 * most: MAX_FILTER_DEPTH is 64 at most, each level gives two nodes, and a condition three.
 */
const DEPTH_MAX = 256;

/** Filters that are in use: a filter never changes, so its text is made once, however many shards and stages ask for it. */
const texts = new WeakMap<Filter, string>();

/**
 * A filter as members of a cluster send it, as a log keeps it and as an index knows it: the tree of filter.ts as JSON. Of
 * 2 MB it takes some 10 ms, once.
 */
export function filterToText(filter: Filter): string {
  const known = texts.get(filter);
  if (known !== undefined) return known;
  const text = JSON.stringify(filter);
  texts.set(filter, text);
  return text;
}

/** The last filter read: the shards of a node are sent the same one after another. */
let last: { text: string; filter: Filter } | null = null;

/** The filter that {@link filterToText} wrote; undefined when the text is none. Of 2 MB it takes some 15 ms. */
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

/** Judges the shape. Sizes were bounded when the client's filter was parsed, and every JSON value may be compared with. */
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
