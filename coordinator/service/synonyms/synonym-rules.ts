import type { Language } from '../../../shared/base/text/language';
import { analyserFor } from '../../../shared/base/text/analyser-for';

/** Words that mean the same, or words that mean others, too, but not the other way round. Each may be several words. */
export type SynonymRule = readonly string[] | { readonly from: readonly string[]; readonly to: readonly string[] };

/** Every process holds the rules of all collections, and a search looks at each of its words' rules. */
export const SYNONYM_BOUNDS = { rules: 1_000, words: 32, characters: 256, bytes: 65_536 } as const;

export function wordsOfRule(rule: SynonymRule): readonly string[] {
  return 'to' in rule ? [...rule.from, ...rule.to] : rule;
}

/** What is too much or too little of them, besides texts without a word; null: nothing. */
export function faultOfRules(given: readonly SynonymRule[]): string | null {
  const { rules, words, characters, bytes } = SYNONYM_BOUNDS;
  if (given.length > rules) return `must have at most ${rules} rules`;
  for (const [i, rule] of given.entries()) {
    if ('to' in rule ? rule.from.length === 0 || rule.to.length === 0 : rule.length < 2)
      return `has a rule that says nothing at ${i}`;
    const texts = wordsOfRule(rule);
    if (texts.length > words) return `must have at most ${words} words in a rule, and has ${texts.length} at ${i}`;
    if (texts.some(({ length }) => length === 0 || length > characters))
      return `must have words of 1 to ${characters} characters, and has others at ${i}`;
  }
  const stored = Buffer.byteLength(JSON.stringify(given));
  return stored > bytes ? `must take at most ${bytes} bytes as JSON, and takes ${stored}` : null;
}

/** The first text of the rules in which there is no word; undefined: all have one. */
export function wordlessText(rules: readonly SynonymRule[], language: Language | null): string | undefined {
  const analyser = analyserFor(language);
  return rules.flatMap(wordsOfRule).find((text) => analyser.terms(text).length === 0);
}
