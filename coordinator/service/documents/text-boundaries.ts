import { skipBlank, skipBlankBackward } from './blank';
import { latinSentenceStarts } from './latin-sentences';

/**
 * Boundaries of sentences, words and characters in any script, by Unicode Standard Annex 29 and ICU's dictionaries (for
 * scripts without spaces). The locale is fixed, so that every machine cuts a text at the same places. Positions are
 * UTF-16 code units. Each look-up takes time in proportion to the given text.
 */

const LOCALE = 'en';
type Granularity = 'sentence' | 'word' | 'grapheme';
/** Made when one is first used: ICU takes some 10 ms for each, which the start of a process need not wait for. */
const segmenters = new Map<Granularity, Intl.Segmenter>();

/** Ends of lines. UAX 29 regards each as the end of a sentence, but wrapped text has them anywhere. */
const LINE_ENDS = /[\r\n\u0085\u2028\u2029]/g;

/** The end of the last sentence that ends at or before `limit`, without white space behind it; 0 if there is none. */
export function lastSentenceEnd(text: string, limit: number): number {
  // White space belongs to the sentence before it. So the start of the next sentence shows whether one ends at the
  // limit.
  const next = Math.min(skipBlank(text, limit), text.length - 1);
  const starts = latinSentenceStarts(text);
  const start =
    starts === null
      ? segmentAt('sentence', text.replace(LINE_ENDS, ' '), next).start
      : (starts.findLast((at) => at <= next) ?? 0);
  return skipBlankBackward(text, start);
}

/** Two ends of lines with nothing but white space around: a paragraph begins behind. */
const PARAGRAPH = /\n[^\S\n]*\n\s*/g;

/** Where sentences and paragraphs begin from `from` on, ascending; `context` units before it are looked at, too. */
export function sentenceStarts(text: string, from: number, context: number): number[] {
  const base = Math.max(0, from - context);
  const window = text.slice(base);
  const starts = new Set<number>();
  // The first sentence may begin anywhere.
  for (const index of latinSentenceStarts(window) ?? segmentedStarts(window)) starts.add(skipBlank(window, index));
  for (const found of window.matchAll(PARAGRAPH)) starts.add(found.index + found[0].length);
  return [...starts]
    .map((at) => base + at)
    .filter((at) => at >= from && at < text.length)
    .sort((a, b) => a - b);
}

function segmentedStarts(text: string): number[] {
  return Array.from(segmenterOf('sentence').segment(text.replace(LINE_ENDS, ' ')), ({ index }) => index).slice(1);
}

/** The last position at or before `limit` where a word begins or ends; 0 if there is none. */
export function lastWordBoundary(text: string, limit: number): number {
  return segmentAt('word', text, limit).start;
}

/** The first position at or after `from` where a word begins or ends; the text's length if there is none. */
export function nextWordBoundary(text: string, from: number): number {
  const { start, end } = segmentAt('word', text, from);
  return start === from ? start : end;
}

/** Longest character that is not cut; a longer one (a letter with many marks) is. */
const CHARACTER_LENGTH_MAX = 32;

/**
 * The last position at or before `limit` that splits no character, or at least no surrogate pair; greater than 0 if
 * possible.
 */
export function lastCharacterBoundary(text: string, limit: number): number {
  if (limit > 0 && limit < text.length && isAlone(text.charCodeAt(limit - 1)) && isAlone(text.charCodeAt(limit)))
    return limit;
  const { start } = segmentAt('grapheme', text, limit);
  if (start > 0 && limit - start <= CHARACTER_LENGTH_MAX) return start;
  return splitsPair(text, limit) ? limit - 1 : limit;
}

/** Whether a unit is a character that joins no other: the first that does is a combining mark at U+0300. */
function isAlone(unit: number): boolean {
  return unit >= 0x20 && unit < 0x300;
}

function splitsPair(text: string, at: number): boolean {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff;
}

/** The segment that contains the unit at `at`; an empty one behind the text. */
function segmentAt(granularity: Granularity, text: string, at: number): { start: number; end: number } {
  const found = segmenterOf(granularity).segment(text).containing(at);
  return found === undefined
    ? { start: text.length, end: text.length }
    : { start: found.index, end: found.index + found.segment.length };
}

function segmenterOf(granularity: Granularity): Intl.Segmenter {
  let segmenter = segmenters.get(granularity);
  if (segmenter === undefined) {
    segmenter = new Intl.Segmenter(LOCALE, { granularity });
    segmenters.set(granularity, segmenter);
  }
  return segmenter;
}
