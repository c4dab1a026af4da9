import { createHash } from 'node:crypto';
import type { JsonValue } from '../../shared/filter/filter';
import { isJsonObject } from '../../shared/filter/metadata-path';
import { FILTER_LIMITS } from '../../shared/filter/parse-filter';

/** Characters of a string that are kept as they are: all that a range's bound can be compared with. */
const KEPT_CHARACTERS = FILTER_LIMITS.boundCharactersMax;

/**
 * What stands for a string in a dictionary: itself, or for a long one its beginning and the SHA-256 of the whole (as 32
 * characters), so that 64 KiB of text cost no more than a sentence. Equal strings and no others have equal keys, and a
 * key sorts against any range bound as its string does: bounds are no longer than the part that is kept.
 */
export function stringKey(text: string): string {
  if (text.length <= KEPT_CHARACTERS) return text;
  /* As UTF-16: in UTF-8 all lone surrogates would be the same. */
  const digest = createHash('sha256').update(Buffer.from(text, 'utf16le')).digest().toString('latin1');
  return text.slice(0, KEPT_CHARACTERS) + digest;
}

/** What stands for an object or array: equal for deeply equal values only. Null for one nested too deep for any filter. */
export function compositeKey(value: JsonValue): string | null {
  const canonical = canonicalJson(value, 0);
  return canonical === null ? null : stringKey(canonical);
}

function canonicalJson(value: JsonValue, depth: number): string | null {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (depth >= FILTER_LIMITS.valueDepthMax) return null;
  const parts: string[] = [];
  const add = (name: string, element: JsonValue): boolean => {
    const part = canonicalJson(element, depth + 1);
    if (part !== null) parts.push(name + part);
    return part !== null;
  };
  if (isJsonObject(value)) {
    const complete = Object.keys(value).sort().every((key) => add(`${JSON.stringify(key)}:`, value[key]));
    return complete ? `{${parts.join(',')}}` : null;
  }
  return value.every((element) => add('', element)) ? `[${parts.join(',')}]` : null;
}
