import type { JsonObject, JsonValue } from '../../../shared/contract/filter/filter';
import { FILTER_LIMITS } from '../../../shared/contract/filter/parse-filter';
import { isJsonObject, PATH_DEPTH_MAX } from '../../../shared/contract/filter/metadata-path';
import { valueDigest } from '../../../shared/contract/shard/value-key';

/** Longer canonical texts are replaced by their digest. */
const TEXT_MAX = 128;
/** The depth that a path reaches, and below it the depth that a filter's value may have. */
const DEPTH_MAX = PATH_DEPTH_MAX + FILTER_LIMITS.valueDepthMax;

/** Objects and arrays with their keys in a dictionary. */
export type CompositeKeys = ReadonlyMap<JsonValue, string>;

interface Composite {
  text: string;
  /** Levels of objects and arrays, including this one. */
  height: number;
}

/**
 * Keys of an object or array and of all objects and arrays in it, made in one pass. Two of them have equal keys exactly
 * if they are deeply equal. Those nested deeper than any filter's value are left out: no filter can ask for them.
 *
 * A key is the canonical JSON (members sorted), or, if that is long, `#` and its SHA-256. Inside another value, a value
 * is written by its key; that is unambiguous, because no JSON value begins with `#`. So the work is that of reading the
 * value once.
 */
export function compositeKeys(value: JsonObject | JsonValue[]): CompositeKeys {
  const keys = new Map<JsonValue, string>();
  visit(value, 1, keys);
  return keys;
}

/** Null if the value is nested too deeply to have a key. */
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
