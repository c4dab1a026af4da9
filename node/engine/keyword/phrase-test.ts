import type { Analyser } from '../../../shared/base/text/analyser';

/** Words that stand together. */
export interface Phrase {
  /** In their order, with repetitions and stop words. */
  readonly terms: readonly string[];
  /** 0: one directly behind the other. Else in any order, with at most so many other words between them. */
  readonly near: number;
}

/** The phrase of a text. */
export function phraseOf(analyser: Analyser, text: string, near: number): Phrase {
  return { terms: withoutSingles(analyser.terms(text)), near };
}

/** Whether a text has a phrase, in steps. */
export function* hasPhrase(analyser: Analyser, phrase: Phrase, text: string): Generator<undefined, boolean> {
  const terms: string[] = [];
  for (const part of analyser.parts(text)) {
    for (const term of part) terms.push(term);
    yield;
  }
  return standTogether(phrase, withoutSingles(terms));
}

function standTogether({ terms, near }: Phrase, text: readonly string[]): boolean {
  if (terms.length === 0 || text.length < terms.length) return false;
  return near === 0 ? isWithin(terms, text) : areNear(terms, near, text);
}

function isWithin(terms: readonly string[], text: readonly string[]): boolean {
  for (let at = text.indexOf(terms[0]); at >= 0; at = text.indexOf(terms[0], at + 1)) {
    let i = 1;
    while (i < terms.length && text[at + i] === terms[i]) i++;
    if (i === terms.length) return true;
  }
  return false;
}

/** Looks at each window of so many words. */
function areNear(terms: readonly string[], near: number, text: readonly string[]): boolean {
  const size = terms.length + near;
  const lacking = new Map<string, number>();
  for (const term of terms) lacking.set(term, (lacking.get(term) ?? 0) + 1);
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

const HAN = /^\p{Script=Han}$/u;

/**
 * Without the Han characters that are in a pair beside them, too: what is before and behind a phrase gives pairs of its
 * own, which would stand between.
 */
function withoutSingles(terms: readonly string[]): string[] {
  return terms.filter((term, i) => !HAN.test(term) || !isPaired(term, terms[i + 1], terms[i + 2]));
}

function isPaired(single: string, next: string | undefined, second: string | undefined): boolean {
  if (next !== undefined && next.length > single.length && (next.endsWith(single) || next.startsWith(single)))
    return true;
  return next !== undefined && second === single + next;
}
