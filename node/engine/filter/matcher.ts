import {
  type Filter,
  isCondition,
  type JsonObject,
  type JsonValue,
  type OthersCondition,
} from '../../../shared/contract/filter/filter';
import { type ItemFacts, matches } from './matches';
import { lookUpPath } from '../../../shared/contract/filter/metadata-path';

/** A list of at least this many values is turned into a set first, at the cost of searching the list for some items. */
const SET_MIN = 16;

/** Whether an item passes. */
export type Matcher = (metadata: JsonObject, item?: ItemFacts) => boolean;

/**
 * `matches` of one filter, prepared for many items. The result is the same, and a list of thousands of values costs one
 * look-up per item.
 */
export function matcherOf(filter: Filter): Matcher {
  if (isCondition(filter)) {
    if (filter.type === 'in' && filter.values.length >= SET_MIN) return listMatcher(filter.path, filter.values);
    if (filter.type === 'others' && filter.values.length >= SET_MIN) return othersMatcher(filter);
    if (filter.type === 'ids') return idMatcher(filter.ids);
    return (metadata, item) => matches(filter, metadata, item);
  }
  switch (filter.type) {
    case 'and': {
      const parts = filter.filters.map(matcherOf);
      return (metadata, item) => parts.every((part) => part(metadata, item));
    }
    case 'or': {
      const parts = filter.filters.map(matcherOf);
      return (metadata, item) => parts.some((part) => part(metadata, item));
    }
    case 'not': {
      const part = matcherOf(filter.filter);
      return (metadata, item) => !part(metadata, item);
    }
  }
}

function othersMatcher({ path, values }: OthersCondition): Matcher {
  const known = new Set<JsonValue | undefined>(values);
  const isOther = (value: JsonValue | undefined): boolean =>
    value !== undefined && value !== null && typeof value !== 'object' && !known.has(value);
  return (metadata) => {
    const value = lookUpPath(metadata, path);
    return Array.isArray(value) ? value.some(isOther) : isOther(value);
  };
}

function idMatcher(ids: string[]): Matcher {
  const known = new Set(ids);
  return (_, item) => item !== undefined && known.has(item.externalId);
}

function listMatcher(path: string, values: JsonValue[]): Matcher {
  const scalars = new Set<JsonValue>(values.filter((value) => typeof value !== 'object' || value === null));
  // Objects and arrays are compared as a whole, which a Set can't do.
  const composites: Filter = {
    type: 'in',
    path,
    values: values.filter((value) => typeof value === 'object' && value !== null),
  };
  return (metadata) => {
    const value = lookUpPath(metadata, path);
    if (value === undefined) return false;
    if (Array.isArray(value) ? value.some((element) => scalars.has(element)) : scalars.has(value)) return true;
    return composites.values.length > 0 && matches(composites, metadata);
  };
}
