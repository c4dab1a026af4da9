import type { JsonObject, JsonValue } from '../../shared/filter/filter';
import { FILTER_LIMITS } from '../../shared/filter/parse-filter';
import { isJsonObject, PATH_DEPTH_MAX } from './metadata-path';
import { valueDigest } from './value-key';

/** Longer canonical texts are stood for by their digest. */
const TEXT_MAX = 128;
/** Objects reached by a path, and below the last of them as much as a filter's value may nest. */
const DEPTH_MAX = PATH_DEPTH_MAX + FILTER_LIMITS.valueDepthMax;

/** Objects and arrays with what stands for them in a dictionary. */
export type CompositeKeys = ReadonlyMap<JsonValue, string>;

interface Composite {
  text: string;
  /** Levels of objects and arrays, itself included. */
  height: number;
}

/**
 * Keys of an object or array and of all objects and arrays in it, made in one pass: deeply equal ones and no others have
 * equal keys. Those nested deeper than any filter's value are left out: nothing can ask for them.
 *
 * A key is the canonical JSON (members sorted), or `#` and the SHA-256 of it when that is long; inside of another a
 * value is written by its key, as no JSON value begins with `#`. So the work is that of reading the value once.
 */
export function compositeKeys(value: JsonObject | JsonValue[]): CompositeKeys {
  const keys = new Map<JsonValue, string>();
  visit(value, 1, keys);
  return keys;
}

/** Null when the value nests too deep to be told. */
function visit(value: JsonObject | JsonValue[], depth: number, keys: Map<JsonValue, string>): Composite | null {
  if (depth > DEPTH_MAX) return null;
  const parts: string[] = [];
  let height = 1;
  const add = (name: string, member: JsonValue): void => {
    if (typeof member !== 'object' || member === null) {
      parts.push(name + (typeof member === 'string' ? JSON.stringify(member) : String(member)));
      return;
    }
    const inner = visit(member, depth + 1, keys);
    height = inner === null ? Number.POSITIVE_INFINITY : Math.max(height, inner.height + 1);
    if (inner !== null) parts.push(name + inner.text);
  };
  const isObject = isJsonObject(value);
  if (isObject) for (const key of Object.keys(value).sort()) add(`${JSON.stringify(key)}:`, value[key]);
  else for (const element of value) add('', element);
  if (height > FILTER_LIMITS.valueDepthMax) return { text: '', height };
  const text = isObject ? `{${parts.join(',')}}` : `[${parts.join(',')}]`;
  const key = text.length <= TEXT_MAX ? text : `#${valueDigest(text).toString('hex')}`;
  keys.set(value, key);
  return { text: key, height };
}
