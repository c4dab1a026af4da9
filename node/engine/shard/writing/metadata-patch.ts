import type { JsonObject, JsonValue } from '../../../../shared/contract/filter/filter';
import type { MetadataPatch } from '../../../../shared/contract/shard/shard-client';
import { parsedMetadata } from '../shard-indexes';

/** The metadata after a patch, as JSON; null if they would be more than they may be. */
export function patchedMetadata(
  metadata: string,
  { json, replaces, bytesMax, fieldsMax }: MetadataPatch,
): string | null {
  if (replaces) return json;
  const merged = mergedObject(parsedMetadata(metadata), parsedMetadata(json));
  const text = JSON.stringify(merged);
  // A code unit takes at most three bytes, so most texts need no counting.
  const isLong = text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax;
  return isLong || fieldsIn(merged) > fieldsMax ? null : text;
}

/** JSON Merge Patch (RFC 7396) of an object to an object. Both stay as they are. */
export function mergedObject(target: JsonObject, patch: JsonObject): JsonObject {
  // Entries and not assignments: `__proto__` is a name like any other.
  const members = new Map(Object.entries(target));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else if (isObject(value)) members.set(name, mergedObject(asObject(members.get(name)), value));
    else members.set(name, value);
  }
  return Object.fromEntries(members);
}

function asObject(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Keys and array elements, at every level. */
function fieldsIn(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  const parts = Object.values(value);
  return parts.reduce<number>((count, part) => count + fieldsIn(part), parts.length);
}
