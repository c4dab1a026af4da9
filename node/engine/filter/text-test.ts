import { foldCases } from './case-fold';
import type { TextCondition } from '../../../shared/contract/filter/filter';

/** In the pattern of `like`: one character, and any number of them; above every code unit. The addon has the same. */
const ONE = 0x1_0000;
const MANY = 0x1_0001;

const testers = new WeakMap<TextCondition, (text: string) => boolean>();

/**
 * Whether a text passes: it begins with the pattern (`prefix`), has it within (`contains`), or is like it as a whole
 * (`like`), where `*` stands for any number of characters, `?` for one (a code point), and `\` takes its meaning
 * from the next one. With `fold`, both without the difference of cases (case-fold.ts). Nothing else is folded.
 */
export function textTester(condition: TextCondition): (text: string) => boolean {
  const known = testers.get(condition);
  if (known !== undefined) return known;
  const tester = newTester(condition);
  testers.set(condition, tester);
  return tester;
}

function newTester(condition: TextCondition): (text: string) => boolean {
  const { test, fold } = condition;
  const pattern = fold ? foldCases(condition.pattern) : condition.pattern;
  const own = fold ? foldCases : (text: string): string => text;
  switch (test) {
    case 'prefix':
      return (text) => own(text).startsWith(pattern);
    case 'contains':
      return (text) => own(text).includes(pattern);
    case 'like': {
      const units = patternUnits(condition);
      return (text) => isLike(own(text), units);
    }
  }
}

/** The pattern as the addon has it: code units, folded if the condition folds, and {@link ONE} and {@link MANY}. */
export function patternUnits({ test, pattern, fold }: TextCondition): number[] {
  const text = fold ? foldCases(pattern) : pattern;
  const units: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const wildcard = test === 'like' ? WILDCARDS[text[i]] : undefined;
    if (test === 'like' && text[i] === '\\') i += 1;
    units.push(wildcard ?? text.charCodeAt(i));
  }
  return units;
}

const WILDCARDS: Readonly<Record<string, number | undefined>> = { '?': ONE, '*': MANY };

/**
 * Each MANY takes as little as it can, and more where what follows fails. Only the last one is tried again, so the time
 * is at most that of the text times the pattern.
 */
function isLike(text: string, pattern: readonly number[]): boolean {
  let at = 0;
  let next = 0;
  let many = -1;
  let tried = 0;
  while (at < text.length) {
    const wanted = pattern[next];
    if (wanted === MANY) {
      many = next++;
      tried = at;
    } else if (wanted === ONE) {
      at += characterAt(text, at);
      next += 1;
    } else if (wanted === text.charCodeAt(at)) {
      at += 1;
      next += 1;
    } else if (many >= 0) {
      next = many + 1;
      tried += characterAt(text, tried);
      at = tried;
    } else return false;
  }
  while (pattern[next] === MANY) next += 1;
  return next === pattern.length;
}

/** Code units of the character at a place. */
function characterAt(text: string, at: number): number {
  return (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
}
