import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { bothFilters, type Filter } from '../../../shared/contract/filter/filter';
import { metadataScalars } from '../../../shared/contract/filter/chosen-metadata';
import type { GroupKey } from '../search-request';

/**
 * The groups of an item by a path of its metadata, JSON object text, in the order of {@link compareKeys}: its value
 * there, a number, a text or a boolean; of a list each of its elements that is one. None: it has none of these.
 */
export function groupKeysOf(metadata: string, path: string): readonly GroupKey[] {
  const keys = metadataScalars(metadata, path).map(plain);
  return keys.length < 2 ? keys : [...new Set(keys)].sort(compareKeys);
}

/** Characters of all keys of an answer: they are sent to each shard, in a message of 4 MiB at most. */
const KEY_CHARACTERS_MAX = 512 * 1024;

/** Errors: limit_exceeded, of keys by this path. */
export function mustBeShort(keys: Iterable<GroupKey>, path: string): void {
  let characters = 0;
  for (const key of keys) characters += typeof key === 'string' ? key.length : 0;
  if (characters <= KEY_CHARACTERS_MAX) return;
  throw new QuiverError(
    'limit_exceeded',
    `the values under ${JSON.stringify(path)} have more than ${KEY_CHARACTERS_MAX} characters for so many: ask for fewer`,
  );
}

/** A filter that leaves out what has one of these values. Errors: limit_exceeded, of too many of them. */
export function withoutValues(filter: Filter | null, path: string, values: Exclude<GroupKey, null>[]): Filter | null {
  mustBeShort(values, path);
  return values.length === 0 ? filter : bothFilters(filter, { type: 'not', filter: { type: 'in', path, values } });
}

/** The order of groups with the same best hit: booleans, numbers, then texts by code units. */
export function compareKeys(a: GroupKey, b: GroupKey): number {
  if (typeof a !== typeof b) return rankOf(a) - rankOf(b);
  return a === b ? 0 : a! < b! ? -1 : 1;
}

function rankOf(key: GroupKey): number {
  return typeof key === 'string' ? 2 : typeof key === 'number' ? 1 : 0;
}

/** −0 is 0. */
function plain(key: Exclude<GroupKey, null>): Exclude<GroupKey, null> {
  return key === 0 ? 0 : key;
}
