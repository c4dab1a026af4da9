/**
 * Terms of a field with an analyser of its own begin with its mark, so terms of two analysers are never the same, and
 * in the order of the terms those of each stand together. No text has the character around the name in a term.
 */
const MARK = '\u0001';
const MARK_UNIT = 1;
/** Behind all terms with a mark, and before all others. */
export const BEHIND_MARKS = '\u0002';

/** The mark of an analyser's terms. */
export function markOf(name: string): string {
  return `${MARK}${name}${MARK}`;
}

/** The mark that a term begins with; '': it has none. */
export function markIn(term: string): string {
  return term.charCodeAt(0) === MARK_UNIT ? term.slice(0, markLength(term)) : '';
}

/** How long it is. */
export function markLength(term: string): number {
  return term.charCodeAt(0) === MARK_UNIT ? term.indexOf(MARK, 1) + 1 : 0;
}

/** The term as its analyser has it. */
export function bareTerm(term: string): string {
  return term.charCodeAt(0) === MARK_UNIT ? term.slice(markLength(term)) : term;
}
