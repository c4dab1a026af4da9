import type { JsonObject, JsonValue } from '../filter/filter';

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
