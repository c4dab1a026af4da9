import type { JsonObject, JsonValue } from '../../shared/filter/filter';
import { isJsonObject } from './metadata-path';

/** Equality of JSON values: types matter, −0 equals 0, the order of keys does not matter, that of array elements does. */
export function deepEqual(a: JsonValue, b: JsonValue): boolean {
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((element, i) => deepEqual(element, b[i]));
  }
  if (isJsonObject(a)) return isJsonObject(b) && sameMembers(a, b);
  return a === b;
}

function sameMembers(a: JsonObject, b: JsonObject): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && deepEqual(a[key], b[key]));
}
