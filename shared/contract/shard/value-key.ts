import { createHash } from 'node:crypto';
import { FILTER_LIMITS } from '../filter/parse-filter';

/** Characters of a string that are kept: a range's bound is at most this long, so it can be compared with them. */
const KEPT_CHARACTERS = FILTER_LIMITS.boundCharactersMax;

/**
 * The key of a string in a dictionary: the string itself or, if it is long, its beginning and the SHA-256 of the whole
 * (as 32 characters), so that 64 KiB of text cost no more than a sentence. Two strings have equal keys exactly if they
 * are equal. A key compares with any range bound as its string does, because bounds are no longer than the part that is
 * kept.
 */
export function stringKey(text: string): string {
  if (text.length <= KEPT_CHARACTERS) return text;
  return text.slice(0, KEPT_CHARACTERS) + valueDigest(text).toString('latin1');
}

/** SHA-256 of the UTF-16 form: in UTF-8 all lone surrogates would be the same. */
export function valueDigest(text: string): Buffer {
  return createHash('sha256').update(Buffer.from(text, 'utf16le')).digest();
}

/** Whether a key is that of a long string. */
export function isLongKey(key: string): boolean {
  return key.length > KEPT_CHARACTERS;
}
