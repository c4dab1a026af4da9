import type { Analyser } from './analyser';
import { SegmentClass, segmentClassOf } from './segment-class';
import { bareTerm } from './term-mark';

/** Places of phrases that are looked at in one step. */
const PLACES_PER_STEP = 1024;

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
  const terms = inOrder(analyser.terms(text), bareTerm);
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
  return inOrder(terms, bareTerm);
}

/** Whether a text, of which these are the words, has the phrase. */
export function standTogether<Word>(phrase: WordsTogether<Word>, text: ArrayLike<Word>): boolean {
  return placesOf(phrase, text).next().done !== true;
}

/** A text among whose terms phrases are looked for. */
export interface OrderedText<Term> {
  ordered: readonly Term[];
  terms: readonly string[];
  distinct: ReadonlySet<string>;
}

/** The terms of a text in their order. */
export function orderedText<Term extends { term: string }>(text: readonly Term[]): OrderedText<Term> {
  const ordered = inOrder(text, ({ term }) => bareTerm(term));
  const terms = ordered.map(({ term }) => term);
  return { ordered, terms, distinct: new Set(terms) };
}

/** The terms of a text that are of a phrase, and stand where it does, in steps. */
export function* termsInPhrase<Term extends { term: string }>(
  phrase: Phrase,
  { ordered, terms, distinct }: OrderedText<Term>,
): Generator<undefined, Term[]> {
  if (!phrase.terms.every((term) => distinct.has(term))) return [];
  const words = new Set(phrase.terms);
  const found: Term[] = [];
  let behind = 0;
  let steps = 0;
  for (const [from, to] of placesOf(phrase, terms)) {
    for (let at = Math.max(from, behind); at < to; at++) if (words.has(ordered[at].term)) found.push(ordered[at]);
    behind = to;
    if (++steps % PLACES_PER_STEP === 0) yield;
  }
  return found;
}

/** A part of a text, from its first word to the one behind it. */
type Part = [from: number, to: number];

/** The parts of a text in which the words of a phrase stand. */
function placesOf<Word>(phrase: WordsTogether<Word>, text: ArrayLike<Word>): Generator<Part> {
  const { terms, near } = phrase;
  if (terms.length === 0 || text.length < terms.length) return nowhere();
  return near === 0 ? placesTogether(phrase, text) : placesNear(terms, near, text);
}

function* nowhere(): Generator<Part> {
  yield* [];
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
function* placesTogether<Word>({ terms, borders }: WordsTogether<Word>, text: ArrayLike<Word>): Generator<Part> {
  let met = 0;
  for (let i = 0; i < text.length; i++) {
    const term = text[i];
    while (met > 0 && term !== terms[met]) met = borders[met - 1];
    if (term === terms[met]) met += 1;
    if (met === terms.length) yield [i + 1 - met, i + 1];
  }
}

/** Looks at each window of so many words. */
function* placesNear<Word>(terms: ArrayLike<Word>, near: number, text: ArrayLike<Word>): Generator<Part> {
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
    if (left === 0) yield [Math.max(0, end + 1 - size), end + 1];
  }
}

/**
 * In the order of the text, and without the pairs of Han characters, which are terms by themselves, too: so what is
 * before and behind a phrase changes nothing within it. The analyser gives a pair behind its second character.
 */
function inOrder<Term>(terms: readonly Term[], textOf: (term: Term) => string): Term[] {
  const placed: Term[] = [];
  for (const one of terms) {
    const term = textOf(one);
    const last = placed.length === 0 ? '' : textOf(placed[placed.length - 1]);
    if (last === '' || term.length <= last.length || !term.endsWith(last) || !startsWithHan(last)) placed.push(one);
    else if (!startsWithHan(term)) placed.splice(-1, 0, one);
  }
  return placed;
}

function startsWithHan(term: string): boolean {
  return segmentClassOf(term, 0) === SegmentClass.han;
}
