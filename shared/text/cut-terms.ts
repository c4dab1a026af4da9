import { isScriptWithoutSpaces, SegmentClass, segmentClassOf } from './segment-class';

/**
 * Longest term in UTF-16 code units; what follows is cut off. Words of every language, hexadecimal SHA-256 sums and
 * UUIDs fit; an encoded blob costs one short term instead of its own size.
 */
export const TERM_LENGTH_MAX = 128;

const ASCII_WORD = /[a-z0-9]+/g;

/** As {@link cutIntoTerms} for lower-case ASCII, where a regular expression finds the same words some five times faster. */
export function cutAsciiIntoTerms(text: string): string[] {
  const words = text.match(ASCII_WORD) ?? [];
  for (let i = 0; i < words.length; i++) {
    if (words[i].length > TERM_LENGTH_MAX) words[i] = words[i].slice(0, TERM_LENGTH_MAX);
  }
  return words;
}

/**
 * Cuts lower-case text into terms by one pass over its code points: a regular expression overflows its stack on long
 * words.
 * - words are runs of letters, marks and digits;
 * - scripts written without spaces (Han, kana, Hangul, Thai, Lao, Khmer, Burmese) give overlapping pairs of
 *   characters, and Han single characters too;
 * - an emoji is a term of its own.
 */
export function cutIntoTerms(text: string): string[] {
  const terms: string[] = [];
  let position = 0;
  while (position < text.length) {
    const kind = segmentClassOf(text, position);
    const start = position;
    position += unitsAt(text, position);
    if (kind === SegmentClass.word) {
      while (position < text.length && segmentClassOf(text, position) === SegmentClass.word) position += unitsAt(text, position);
      terms.push(capped(text, start, position));
    } else if (kind === SegmentClass.symbol) {
      terms.push(text.slice(start, position));
    } else if (isScriptWithoutSpaces(kind)) {
      position = cutUnspacedRun(text, start, terms);
    }
  }
  return terms;
}

/** Pairs (and Han singles) of the run of unspaced script that starts at `start`; returns where the run ends. */
function cutUnspacedRun(text: string, start: number, terms: string[]): number {
  let position = start;
  let previousStart = -1;
  let previousKind = SegmentClass.separator;
  let pairs = 0;
  while (position < text.length) {
    const kind = segmentClassOf(text, position);
    if (!isScriptWithoutSpaces(kind)) break;
    const characterStart = position;
    position = endOfCharacter(text, position);
    if (kind === SegmentClass.han) terms.push(capped(text, characterStart, position));
    if (previousStart >= 0) {
      terms.push(capped(text, previousStart, position));
      pairs++;
    }
    previousStart = characterStart;
    previousKind = kind;
  }
  if (pairs === 0 && previousKind === SegmentClass.unspaced) terms.push(capped(text, start, position));
  return position;
}

/** End of the code point at `position` and of the marks that follow it: a Thai or Burmese vowel sign stays attached. */
function endOfCharacter(text: string, position: number): number {
  let end = position + unitsAt(text, position);
  while (end < text.length && segmentClassOf(text, end) === SegmentClass.unspacedMark) end += unitsAt(text, end);
  return end;
}

function unitsAt(text: string, position: number): number {
  return (text.codePointAt(position) as number) > 0xffff ? 2 : 1;
}

/** The piece from `start` to `end`, cut off at {@link TERM_LENGTH_MAX} without splitting a code point. */
export function capped(text: string, start: number, end: number): string {
  if (end - start <= TERM_LENGTH_MAX) return text.slice(start, end);
  const cut = start + TERM_LENGTH_MAX;
  const splitsPair = (text.codePointAt(cut - 1) as number) > 0xffff;
  return text.slice(start, splitsPair ? cut - 1 : cut);
}
