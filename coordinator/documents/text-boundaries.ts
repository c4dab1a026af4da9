import { skipBlank, skipBlankBackward } from './blank';

/**
 * Boundaries of sentences, words and characters in any script, as Unicode Standard Annex 29 and ICU's dictionaries (for
 * scripts without spaces) have them. The locale is fixed, so that every machine cuts a text alike.
 * Positions are UTF-16 code units; each look-up takes time in proportion to the text given.
 */

const LOCALE = 'en';
const sentences = new Intl.Segmenter(LOCALE, { granularity: 'sentence' });
const words = new Intl.Segmenter(LOCALE, { granularity: 'word' });
const characters = new Intl.Segmenter(LOCALE, { granularity: 'grapheme' });

/** Ends of lines, each of which UAX 29 takes for the end of a sentence; wrapped text has them anywhere. */
const LINE_ENDS = /[\r\n\u0085\u2028\u2029]/g;

/** The end of the last sentence that ends at `limit` or before, white space behind it left out; 0 without one. */
export function lastSentenceEnd(text: string, limit: number): number {
  // White space belongs to the sentence before it: whether one ends at the limit shows where the next one begins.
  const next = Math.min(skipBlank(text, limit), text.length - 1);
  return skipBlankBackward(text, segmentAt(sentences, text.replace(LINE_ENDS, ' '), next).start);
}

/** The last place at `limit` or before where a word begins or ends, 0 without one. */
export function lastWordBoundary(text: string, limit: number): number {
  return segmentAt(words, text, limit).start;
}

/** The first place at `from` or after where a word begins or ends; the text's length without one. */
export function nextWordBoundary(text: string, from: number): number {
  const { start, end } = segmentAt(words, text, from);
  return start === from ? start : end;
}

/** Longest character that a cut goes around; a longer one (a letter under a tower of marks) is cut. */
const CHARACTER_LENGTH_MAX = 32;

/** The last place at `limit` or before that splits no character, no surrogate pair at least; after 0 if there is one. */
export function lastCharacterBoundary(text: string, limit: number): number {
  const { start } = segmentAt(characters, text, limit);
  if (start > 0 && limit - start <= CHARACTER_LENGTH_MAX) return start;
  return splitsPair(text, limit) ? limit - 1 : limit;
}

function splitsPair(text: string, at: number): boolean {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff;
}

/** The segment that the unit at `at` is in; an empty one behind the text. */
function segmentAt(segmenter: Intl.Segmenter, text: string, at: number): { start: number; end: number } {
  const found = segmenter.segment(text).containing(at);
  return found === undefined ? { start: text.length, end: text.length } : { start: found.index, end: found.index + found.segment.length };
}
