import type { WordsCondition } from '../../../shared/contract/filter/filter';
import type { KeywordMeaning, KeywordUnit } from '../../../shared/contract/shard/keyword-plan';
import type { KeywordClause, KeywordMatch } from '../keyword-query';
import type { AskedWord } from './query-words';
import { type FoundRule, type Synonyms, termsOf } from '../synonyms/synonyms';

/** Words of a query that are looked for with their synonyms. */
export interface WordGroup extends Pick<FoundRule, 'terms' | 'meanings'> {
  isMust: boolean;
}

/** Gives terms their places; null: there is no room for some. */
type PlacesOf = (terms: readonly string[]) => number[] | null;

/** What synonyms make of the words of a query. */
export interface GroupedWords {
  /** Those of rules for whose words there is room. */
  units: KeywordUnit[];
  /** The places of the words that the rule of a unit is for. */
  typed: (readonly number[])[];
  /** The terms of a word that are looked for outside of the groups. */
  leftOf: (word: AskedWord) => readonly string[];
}

/**
 * Of clauses that are looked for everywhere, as they are. A rule's words stand in one clause, or in neighbours of which
 * none has a sign.
 */
export function groupedWords(
  clauses: readonly KeywordClause[],
  match: KeywordMatch,
  synonyms: Synonyms,
  placesOf: PlacesOf,
): GroupedWords | undefined {
  const parts: { text: string; isMust: boolean }[] = [];
  for (const { occurs, text } of clauses) {
    const last = parts.at(-1);
    if (last !== undefined && !last.isMust && occurs === 'may') last.text += ` ${text}`;
    else parts.push({ text, isMust: occurs === 'must' });
  }
  const groups = new Map<string, WordGroup & { parts: string[] }>();
  const left = new Set<string>();
  for (const { text, isMust } of parts) {
    const { words, rules } = synonyms.inQuery(text);
    for (const word of words) for (const key of partsOf(word.terms, synonyms)) left.add(key);
    for (const rule of rules) {
      const name = rule.words.map(({ key }) => key).join('\n');
      const { terms, meanings } = rule;
      const own = rule.words.flatMap((word) => partsOf(word.terms, synonyms));
      groups.set(name, { terms, meanings, parts: own, isMust: isMust || groups.get(name)?.isMust === true });
    }
  }
  if (groups.size === 0) return undefined;
  const units: KeywordUnit[] = [];
  const typed: (readonly number[])[] = [];
  const taken = new Set<string>();
  const single = new Set<string>();
  for (const group of groups.values()) {
    const unit = groupUnit(group, !group.isMust, placesOf);
    for (const key of group.parts) (unit === null ? left : taken).add(key);
    if (unit === null) continue;
    units.push(unit);
    typed.push(placesOf(group.terms) ?? []);
    for (const term of singleTerms(group)) single.add(term);
  }
  if (match !== 'any')
    return {
      units,
      typed,
      leftOf: ({ terms }) => (taken.has(terms.join(' ')) && !left.has(terms.join(' ')) ? [] : terms),
    };
  // Where any word is enough, a part of what a rule has is, too; each term counts once.
  return { units, typed, leftOf: ({ terms }) => terms.filter((term) => !single.has(term)) };
}

/** Words of a query (query-words.ts) that a cut word is. */
function partsOf(terms: readonly string[], { analyser }: Synonyms): string[] {
  return analyser.queryWords === undefined ? [...terms] : [[...new Set(terms)].join(' ')];
}

function singleTerms({ terms, meanings }: Pick<WordGroup, 'terms' | 'meanings'>): string[] {
  const single = meanings.flatMap((meaning) => (meaning.terms.length === 1 && !meaning.isPhrase ? meaning.terms : []));
  return [...new Set(terms.length === 1 ? [terms[0], ...single] : single)];
}

/**
 * The unit of a group, of terms and phrases of an analyser; null: there is no room for the words that were asked for.
 */
export function groupUnit(
  group: Pick<WordGroup, 'terms' | 'meanings'>,
  isOptional: boolean,
  placesOf: PlacesOf,
  by: Pick<WordsCondition, 'analyser'> = {},
): KeywordUnit | null {
  const typed = placesOf(group.terms);
  if (typed === null) return null;
  const terms = singleTerms(group).flatMap((term) => placesOf([term]) ?? []);
  const meanings: KeywordMeaning[] = [];
  if (typed.length > 1) meanings.push({ terms: typed });
  for (const { text, isPhrase, terms: own } of group.meanings) {
    if (own.length === 1 && !isPhrase) continue;
    const places = placesOf(own);
    if (places === null) continue;
    // Terms that are there are not yet a phrase.
    meanings.push({
      terms: places,
      ...(isPhrase && { filter: { type: 'words', query: text, match: 'phrase', ...by } }),
    });
  }
  return { terms, factors: terms.map(() => 1), ...(meanings.length > 0 && { meanings }), isOptional };
}

/** What is left of a text besides its rules; null: nothing that counts. */
export function leftTerms(words: Parameters<typeof termsOf>[0]): string[] | null {
  const terms = termsOf(words);
  return terms.length === 0 ? null : terms;
}
