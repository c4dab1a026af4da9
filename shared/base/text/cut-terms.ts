import { isScriptWithoutSpaces, SegmentClass, segmentClassOf } from './segment-class';

/**
 * Longest term in UTF-16 code units; the rest is cut off. Words of every language, hexadecimal SHA-256 sums and UUIDs
 * fit; an encoded blob becomes one short term.
 */
export const TERM_LENGTH_MAX = 128;

const ASCII_WORD = /[a-z0-9]+/g;

/**
 * The same as {@link cutIntoTerms} for lower-case ASCII: a regular expression finds these words about five times
 * faster.
 */
export function cutAsciiIntoTerms(text: string): string[] {
  const words = text.match(ASCII_WORD) ?? [];
  for (let i = 0; i < words.length; i++) {
    if (words[i].length > TERM_LENGTH_MAX) words[i] = words[i].slice(0, TERM_LENGTH_MAX);
  }
  return words;
}

/**
 * Cuts lower-case text into terms in one pass over its code points. (A regular expression would overflow its stack on
 * long words.)
 * - words are runs of letters, marks and digits;
 * - scripts written without spaces (Han, kana, Hangul, Thai, Lao, Khmer, Burmese) give overlapping pairs of
 *   characters, and Han single characters too;
 * - an emoji is a term of its own.
 */
export function cutIntoTerms(text: string): string[] {
  const terms: string[] = [];
  new TermCutter(text).cut(terms, Infinity);
  return terms;
}

/** The terms of folded text, about `count` at a time; `ascii` says that the text holds only ASCII. */
export function* cutInParts(folded: { text: string; ascii: boolean }, count: number): Generator<string[]> {
  if (folded.ascii) {
    const words = cutAsciiIntoTerms(folded.text);
    yield* words.length <= count ? [words] : slicesOf(words, count);
    return;
  }
  const cutter = new TermCutter(folded.text);
  for (let isMore = true; isMore;) {
    const terms: string[] = [];
    isMore = cutter.cut(terms, count);
    yield terms;
  }
}

function* slicesOf(words: string[], count: number): Generator<string[]> {
  for (let at = 0; at < words.length; at += count) yield words.slice(at, at + count);
}

/**
 * Cuts like {@link cutIntoTerms}, a bounded number of terms at a time. Adds to `places`, if given, two numbers for each
 * term: where in the text it begins, and where it ends, before its end was cut off.
 */
export class TermCutter {
  private position = 0;
  /** The run of a script without spaces in which the last call stopped. */
  private run: UnspacedRun | null = null;

  constructor(
    private readonly text: string,
    private readonly places: number[] | null = null,
  ) {}

  /** Appends the next terms to `terms`, up to `limit` or at most two more. Answers false once there are no more. */
  cut(terms: string[], limit: number): boolean {
    const { text } = this;
    if (this.run !== null && this.cutRun(this.run, terms, limit)) return true;
    let position = this.position;
    while (position < text.length && terms.length < limit) {
      const kind = segmentClassOf(text, position);
      const start = position;
      position += unitsAt(text, position);
      if (kind === SegmentClass.word) {
        while (position < text.length && segmentClassOf(text, position) === SegmentClass.word)
          position += unitsAt(text, position);
        this.take(terms, start, position);
      } else if (kind === SegmentClass.symbol) {
        this.take(terms, start, position);
      } else if (isScriptWithoutSpaces(kind)) {
        this.position = start;
        if (this.cutRun({ start, previousStart: -1, previousKind: SegmentClass.separator, pairs: 0 }, terms, limit))
          return true;
        position = this.position;
      }
    }
    this.position = position;
    return position < text.length;
  }

  /**
   * Cuts a run of a script without spaces into pairs (and Han singles). Answers true if it stopped before the end of
   * the run.
   */
  private cutRun(run: UnspacedRun, terms: string[], limit: number): boolean {
    const { text } = this;
    let position = this.position;
    while (position < text.length) {
      const kind = segmentClassOf(text, position);
      if (!isScriptWithoutSpaces(kind)) break;
      if (terms.length >= limit) {
        this.run = run;
        this.position = position;
        return true;
      }
      const characterStart = position;
      position = endOfCharacter(text, position);
      if (kind === SegmentClass.han) this.take(terms, characterStart, position);
      if (run.previousStart >= 0) {
        this.take(terms, run.previousStart, position);
        run.pairs++;
      }
      run.previousStart = characterStart;
      run.previousKind = kind;
    }
    if (run.pairs === 0 && run.previousKind === SegmentClass.unspaced) this.take(terms, run.start, position);
    this.run = null;
    this.position = position;
    return false;
  }

  private take(terms: string[], start: number, end: number): void {
    terms.push(capped(this.text, start, end));
    if (this.places !== null) this.places.push(start, end);
  }
}

interface UnspacedRun {
  start: number;
  /** Start of its last character; −1 before the first. */
  previousStart: number;
  previousKind: SegmentClass;
  pairs: number;
}

/**
 * End of the code point at `position` and of the marks that follow it, so that a Thai or Burmese vowel sign stays
 * attached.
 */
export function endOfCharacter(text: string, position: number): number {
  let end = position + unitsAt(text, position);
  while (end < text.length && segmentClassOf(text, end) === SegmentClass.unspacedMark) end += unitsAt(text, end);
  return end;
}

export function unitsAt(text: string, position: number): number {
  return (text.codePointAt(position) as number) > 0xffff ? 2 : 1;
}

/** The piece from `start` to `end`, cut off at {@link TERM_LENGTH_MAX} without splitting a code point. */
export function capped(text: string, start: number, end: number): string {
  if (end - start <= TERM_LENGTH_MAX) return text.slice(start, end);
  const cut = start + TERM_LENGTH_MAX;
  const splitsPair = (text.codePointAt(cut - 1) as number) > 0xffff;
  return text.slice(start, splitsPair ? cut - 1 : cut);
}
