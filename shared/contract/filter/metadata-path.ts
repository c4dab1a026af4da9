import type { JsonObject, JsonValue, Scalar } from './filter';

/**
 * How many objects deep a path can reach. It bounds what an index has to prepare for: metadata of 64 KiB can nest
 * thousands of objects, but no filter that a person writes goes deeper than this.
 */
export const PATH_DEPTH_MAX = 32;

/**
 * The value in an item's metadata that a filter's path means; undefined if there is none.
 *
 * At each level, a key that equals the whole rest of the path has precedence. Otherwise the part before the first dot
 * must name an object, in which the rest is looked up. So "a.b.c" is the key "a.b.c", otherwise "b.c" in the object
 * "a", otherwise "c" in "b" in "a". Paths don't reach into arrays. Only own keys count: `__proto__` and `constructor`
 * are keys like any other.
 */
export function lookUpPath(metadata: JsonObject, path: string): JsonValue | undefined {
  let rest = path;
  let object = metadata;
  for (let depth = 1; depth <= PATH_DEPTH_MAX; depth++) {
    if (Object.hasOwn(object, rest)) return object[rest];
    const dot = rest.indexOf('.');
    if (dot < 0) return undefined;
    const head = rest.slice(0, dot);
    const inner = Object.hasOwn(object, head) ? object[head] : undefined;
    if (!isJsonObject(inner)) return undefined;
    object = inner;
    rest = rest.slice(dot + 1);
  }
  return undefined;
}

/** The scalars of a value: itself, or those of a list's elements that are; objects, and lists in lists, are none. */
export function scalarsOf(value: JsonValue | undefined): Scalar[] {
  const all = Array.isArray(value) ? value : value === undefined ? [] : [value];
  return all.filter((one): one is Scalar => typeof one !== 'object' || one === null);
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
