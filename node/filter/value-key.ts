import { createHash } from 'node:crypto';
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
  return text.slice(0, KEPT_CHARACTERS) + valueDigest(text).toString('latin1');
}

/** SHA-256 of the UTF-16 form: in UTF-8 all lone surrogates would be the same. */
export function valueDigest(text: string): Buffer {
  return createHash('sha256').update(Buffer.from(text, 'utf16le')).digest();
}
