import type { JsonObject, JsonValue } from '../../../shared/contract/filter/filter';
import { lookUpPath } from '../../../shared/contract/filter/metadata-path';
import { chosenMetadata } from '../chosen-metadata';
import type { GroupKey } from '../search-request';

const NOTHING: readonly GroupKey[] = [];

/**
 * The groups of an item by a path of its metadata, JSON object text, in the order of {@link compareKeys}: its value
 * there, a number, a text or a boolean; of a list each of its elements that is one. None: it has none of these.
 */
export function groupKeysOf(metadata: string, path: string): readonly GroupKey[] {
  // The value alone is parsed: metadata may be long, and have the text of the item.
  const chosen = chosenMetadata(metadata, [path]);
  if (chosen === '{}') return NOTHING;
  const value = lookUpPath(JSON.parse(chosen) as JsonObject, path);
  if (isKey(value)) return [plain(value)];
  if (!Array.isArray(value)) return NOTHING;
  return [...new Set(value.filter(isKey).map(plain))].sort(compareKeys);
}

/** The order of groups with the same best hit: booleans, numbers, then texts by code units. */
export function compareKeys(a: GroupKey, b: GroupKey): number {
  if (typeof a !== typeof b) return rankOf(a) - rankOf(b);
  return a === b ? 0 : a! < b! ? -1 : 1;
}

function rankOf(key: GroupKey): number {
  return typeof key === 'string' ? 2 : typeof key === 'number' ? 1 : 0;
}

function isKey(value: JsonValue | undefined): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** −0 is 0. */
function plain(key: string | number | boolean): string | number | boolean {
  return key === 0 ? 0 : key;
}
