import { foldText } from './fold-text';
import { isScriptWithoutSpaces, SegmentClass, segmentClassOf } from './segment-class';

/**
 * Turns text into the terms that keyword search and the lexical embedder count. Implementations are pure and
 * deterministic: the same text gives the same terms on every machine and in every process.
 * Whatever stores terms records `name` and `version`, and must be rebuilt when either changes.
 */
export interface Analyser {
  readonly name: string;
  /** Rises with every change that may give a text other terms. */
  readonly version: number;
  /** Terms in the order of the text, repeats included. Never throws; terms are well-formed Unicode and not empty. */
  terms(text: string): string[];
}

/**
 * Longest term in UTF-16 code units; what follows is cut off. Words of every language, hexadecimal SHA-256 sums and
 * UUIDs fit; an encoded blob costs one short term instead of its own size.
 */
export const TERM_LENGTH_MAX = 128;

/**
 * Most distinct terms of one query: bounds the work of a request whose query text is a whole book. Lucene refuses
 * longer queries (maxClauseCount 1024); here the first terms decide.
 */
export const QUERY_TERMS_MAX = 1024;

/** The distinct terms of a query in the order of their first appearance, at most {@link QUERY_TERMS_MAX}. */
export function queryTerms(analyser: Analyser, text: string): string[] {
  const distinct = new Set<string>();
  for (const term of analyser.terms(text)) {
    distinct.add(term);
    if (distinct.size === QUERY_TERMS_MAX) break;
  }
  return [...distinct];
}

const ASCII_WORD = /[a-z0-9]+/g;

/**
 * The language-neutral analyser. Text is folded (see {@link foldText}), then cut:
 * - words are runs of letters, marks and digits;
 * - scripts written without spaces (Han, kana, Hangul, Thai, Lao, Khmer, Burmese) give overlapping pairs of
 *   characters, and Han single characters too. Pairs need no dictionary, so terms do not depend on the ICU version, as
 *   those of Intl.Segmenter do (which is also some 30 times slower);
 * - an emoji is a term of its own.
 * There is no stemming and there are no stop words: BM25's idf weighs frequent words down.
 */
class UnicodeAnalyser implements Analyser {
  readonly name = 'unicode';
  readonly version = 1;

  terms(text: string): string[] {
    const folded = foldText(text);
    if (!folded.ascii) return cutIntoTerms(folded.text);
    const words = folded.text.match(ASCII_WORD) ?? [];
    for (let i = 0; i < words.length; i++) {
      if (words[i].length > TERM_LENGTH_MAX) words[i] = words[i].slice(0, TERM_LENGTH_MAX);
    }
    return words;
  }
}

/** The analyser of this version: what indexes and queries use. */
export const defaultAnalyser: Analyser = new UnicodeAnalyser();

/** Cuts folded text by one pass over its code points: a regular expression overflows its stack on long words. */
function cutIntoTerms(text: string): string[] {
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

function capped(text: string, start: number, end: number): string {
  if (end - start <= TERM_LENGTH_MAX) return text.slice(start, end);
  const cut = start + TERM_LENGTH_MAX;
  const splitsPair = (text.codePointAt(cut - 1) as number) > 0xffff;
  return text.slice(start, splitsPair ? cut - 1 : cut);
}
