import { type Expiry, expiryTime } from '../../../shared/contract/writes/expiry';
import type {
  Filter,
  FilterBound,
  JsonObject,
  JsonValue,
  RangeOperator,
  WordsCondition,
} from '../../../shared/contract/filter/filter';
import { timeOfText } from '../../../shared/contract/filter/time-of-text';
import { isJsonObject, lookUpPath } from '../../../shared/contract/filter/metadata-path';
import { geoTest, pointsOf } from './geo-points';
import { textTester } from './text-test';

/** What a filter may ask of an item besides its metadata. */
export interface ItemFacts {
  externalId: string;
  expiry: Expiry;
  /** When it was last changed, in milliseconds since 1970; left out: nobody knows. */
  updatedMs?: number | undefined;
  /** Left out: it has no words. */
  hasWords?: (condition: WordsCondition, metadata: JsonObject) => boolean;
}

/** Passes no condition on an item. */
const NO_ITEM: ItemFacts = { externalId: '', expiry: 0 };

/**
 * Whether an item's metadata pass a filter: the definition of the filter language, which every index is tested against.
 *
 * - `equals` with a scalar (null too): an equal scalar, or an array with an equal scalar among its elements.
 *   With an object or an array: a deeply equal value as a whole; elements of arrays are not compared with it.
 * - `range`: numbers with numbers, strings with strings (by UTF-16 code units). Of an array any element may pass, and
 *   two ranges on one key may be passed by two different elements; `between` is passed by one. A bound that is a time
 *   is compared with the time that a text says (time-of-text.ts); other texts don't pass.
 * - `in`: equals any of the values. `exists`: the path is present, even with null.
 * - `others`: a number, a text or a boolean that is none of the values, or an array with one among its elements.
 * - `text`: a text that passes (text-test.ts), or an array with one among its elements; nothing else does.
 * - `size`: an array of so many elements. `element`: an array with one that passes the filter; of an element that is no
 *   object only `value` asks. Neither is passed by anything but an array.
 * - `geo`: a point of the shape, or an array with one among its elements (geo-points.ts).
 * - `ids`: the item has one of them. `expiry`: it expires then, at a time of its own or by its collection. `updated`:
 *   it was last changed then, which is not known of what earlier versions wrote. `words`: see word-conditions.ts.
 * - An absent path passes only a negation: `$ne` and `$nin` are `not`, so they match it (as in MongoDB).
 * - `and` of nothing passes everything, `or` of nothing passes nothing.
 */
export function matches(filter: Filter, metadata: JsonObject, item = NO_ITEM): boolean {
  switch (filter.type) {
    case 'and':
      return filter.filters.every((part) => matches(part, metadata, item));
    case 'or':
      return filter.filters.some((part) => matches(part, metadata, item));
    case 'not':
      return !matches(filter.filter, metadata, item);
    case 'exists':
      return lookUpPath(metadata, filter.path) !== undefined;
    case 'equals': {
      const value = lookUpPath(metadata, filter.path);
      return value !== undefined && equalsOrContains(value, filter.value);
    }
    case 'in': {
      const value = lookUpPath(metadata, filter.path);
      return value !== undefined && filter.values.some((wanted) => equalsOrContains(value, wanted));
    }
    case 'range': {
      const value = lookUpPath(metadata, filter.path);
      const passes = (element: JsonValue | undefined): boolean => inRange(element, filter.operator, filter.bound);
      return Array.isArray(value) ? value.some(passes) : passes(value);
    }
    case 'between': {
      const value = lookUpPath(metadata, filter.path);
      const passes = (element: JsonValue | undefined): boolean =>
        inRange(element, 'gte', filter.low) && inRange(element, 'lte', filter.high);
      return Array.isArray(value) ? value.some(passes) : passes(value);
    }
    case 'others': {
      const value = lookUpPath(metadata, filter.path);
      return (Array.isArray(value) ? value : [value]).some(
        (element) =>
          (typeof element === 'string' || typeof element === 'number' || typeof element === 'boolean') &&
          !filter.values.includes(element),
      );
    }
    case 'size': {
      const value = lookUpPath(metadata, filter.path);
      return Array.isArray(value) && isWithin(value.length, filter);
    }
    case 'element': {
      const value = lookUpPath(metadata, filter.path);
      const { filter: part, of } = filter;
      if (!Array.isArray(value)) return false;
      if (of === 'value') return value.some((element) => matches(part, { '': element }));
      return value.some((element) => isJsonObject(element) && matches(part, element));
    }
    case 'geo': {
      const test = geoTest(filter.shape);
      return pointsOf(lookUpPath(metadata, filter.path)).some(({ lat, lon }) => test.has(lat, lon));
    }
    case 'ids':
      return filter.ids.includes(item.externalId);
    case 'expiry':
      return item.expiry !== 0 && isWithin(expiryTime(item.expiry), filter);
    case 'updated':
      return item.updatedMs !== undefined && isWithin(item.updatedMs, filter);
    case 'words':
      return item.hasWords?.(filter, metadata) === true;
    case 'text': {
      const value = lookUpPath(metadata, filter.path);
      const tester = textTester(filter);
      const passes = (element: JsonValue | undefined): boolean => typeof element === 'string' && tester(element);
      return Array.isArray(value) ? value.some(passes) : passes(value);
    }
  }
}

function isWithin(value: number, { low, high }: { low: number; high: number }): boolean {
  return value >= low && value <= high;
}

/** Whether a scalar is on the right side of the bound; false for values of another type than the bound. */
export function inRange(value: JsonValue | undefined, operator: RangeOperator, bound: FilterBound): boolean {
  if (typeof bound === 'object') {
    const time = typeof value === 'string' ? timeOfText(value) : null;
    return time !== null && inRange(time, operator, bound.time);
  }
  if (typeof value !== typeof bound) return false;
  const comparable = value as number | string;
  switch (operator) {
    case 'gt':
      return comparable > bound;
    case 'gte':
      return comparable >= bound;
    case 'lt':
      return comparable < bound;
    case 'lte':
      return comparable <= bound;
  }
}

function equalsOrContains(value: JsonValue, wanted: JsonValue): boolean {
  if (typeof wanted === 'object' && wanted !== null) return deepEqual(value, wanted);
  return value === wanted || (Array.isArray(value) && value.includes(wanted));
}

/**
 * Equality of JSON values: types matter, −0 equals 0. The order of keys does not matter, that of array elements does.
 */
function deepEqual(a: JsonValue, b: JsonValue): boolean {
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((element, i) => deepEqual(element, b[i]));
  }
  if (isJsonObject(a)) return isJsonObject(b) && sameMembers(a, b);
  return a === b;
}

function sameMembers(a: JsonObject, b: JsonObject): boolean {
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && deepEqual(a[key], b[key]))
  );
}
