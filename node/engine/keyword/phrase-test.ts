import type { Analyser } from '../../../shared/base/text/analyser';
import { SegmentClass, segmentClassOf } from '../../../shared/base/text/segment-class';

/** Words that stand together; a word is its term, or a number in its place. */
export interface WordsTogether<Word> {
  /** In their order, with repetitions and stop words. */
  readonly terms: ArrayLike<Word>;
  /** For each of the terms, how many terms up to it are the first of the phrase again, but not all of them. */
  readonly borders: Int32Array;
  /** 0: one directly behind the other. Else in any order, with at most so many other words between them. */
  readonly near: number;
}

export interface Phrase extends WordsTogether<string> {
  readonly terms: readonly string[];
}

/** The phrase of a text. */
export function phraseOf(analyser: Analyser, text: string, near: number): Phrase {
  const terms = inOrder(analyser.terms(text));
  return { terms, borders: bordersOf(terms), near };
}

/** Whether a text has a phrase, in steps. */
export function* hasPhrase(analyser: Analyser, phrase: Phrase, text: string): Generator<undefined, boolean> {
  return standTogether(phrase, yield* termsInOrder(analyser, text));
}

/** The terms of a text among which phrases are looked for, in steps. */
export function* termsInOrder(analyser: Analyser, text: string): Generator<undefined, string[]> {
  const terms: string[] = [];
  for (const part of analyser.parts(text)) {
    for (const term of part) terms.push(term);
    yield;
  }
  return inOrder(terms);
}

/** Whether a text, of which these are the words, has the phrase. */
export function standTogether<Word>(phrase: WordsTogether<Word>, text: ArrayLike<Word>): boolean {
  const { terms, near } = phrase;
  if (terms.length === 0 || text.length < terms.length) return false;
  return near === 0 ? isWithin(phrase, text) : areNear(terms, near, text);
}

function bordersOf(terms: readonly string[]): Int32Array {
  const borders = new Int32Array(terms.length);
  for (let i = 1, met = 0; i < terms.length; i++) {
    while (met > 0 && terms[i] !== terms[met]) met = borders[met - 1];
    if (terms[i] === terms[met]) met += 1;
    borders[i] = met;
  }
  return borders;
}

/** By Knuth, Morris and Pratt: a word repeated in both may not take the product of their lengths. */
function isWithin<Word>({ terms, borders }: WordsTogether<Word>, text: ArrayLike<Word>): boolean {
  let met = 0;
  for (let i = 0; i < text.length; i++) {
    const term = text[i];
    while (met > 0 && term !== terms[met]) met = borders[met - 1];
    if (term === terms[met]) met += 1;
    if (met === terms.length) return true;
  }
  return false;
}

/** Looks at each window of so many words. */
function areNear<Word>(terms: ArrayLike<Word>, near: number, text: ArrayLike<Word>): boolean {
  const size = terms.length + near;
  const lacking = new Map<Word, number>();
  for (let i = 0; i < terms.length; i++) lacking.set(terms[i], (lacking.get(terms[i]) ?? 0) + 1);
  let left = terms.length;
  for (let end = 0; end < text.length; end++) {
    const entering = lacking.get(text[end]);
    if (entering !== undefined) {
      if (entering > 0) left -= 1;
      lacking.set(text[end], entering - 1);
    }
    const leaving = end >= size ? lacking.get(text[end - size]) : undefined;
    if (leaving !== undefined) {
      if (leaving >= 0) left += 1;
      lacking.set(text[end - size], leaving + 1);
    }
    if (left === 0) return true;
  }
  return false;
}

/**
 * In the order of the text, and without the pairs of Han characters, which are terms by themselves, too: so what is
 * before and behind a phrase changes nothing within it. The analyser gives a pair behind its second character.
 */
function inOrder(terms: readonly string[]): string[] {
  const placed: string[] = [];
  for (const term of terms) {
    const last = placed.at(-1);
    if (last === undefined || term.length <= last.length || !term.endsWith(last) || !startsWithHan(last))
      placed.push(term);
    else if (!startsWithHan(term)) placed.splice(-1, 0, term);
  }
  return placed;
}

function startsWithHan(term: string): boolean {
  return segmentClassOf(term, 0) === SegmentClass.han;
}
