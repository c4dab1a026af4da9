import type { KeywordMeaning, KeywordUnit } from '../../../shared/contract/shard/keyword-plan';
import type { KeywordClause, KeywordMatch } from '../keyword-query';
import type { AskedWord } from './query-words';
import { type FoundRule, type Synonyms, termsOf } from '../synonyms/synonyms';

/** Words of a query that are looked for with their synonyms. */
export interface WordGroup extends Pick<FoundRule, 'terms' | 'meanings'> {
  isMust: boolean;
}

/** What synonyms make of the words of a query. */
export interface GroupedWords {
  groups: WordGroup[];
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
): GroupedWords | undefined {
  const parts: { text: string; isMust: boolean }[] = [];
  for (const { occurs, text } of clauses) {
    const last = parts.at(-1);
    if (last !== undefined && !last.isMust && occurs === 'may') last.text += ` ${text}`;
    else parts.push({ text, isMust: occurs === 'must' });
  }
  const groups = new Map<string, WordGroup>();
  const taken = new Set<string>();
  const left = new Set<string>();
  for (const { text, isMust } of parts) {
    const { words, rules } = synonyms.inQuery(text);
    for (const word of words) for (const key of partsOf(word.terms, synonyms)) left.add(key);
    for (const rule of rules) {
      for (const word of rule.words) for (const key of partsOf(word.terms, synonyms)) taken.add(key);
      const name = rule.words.map(({ key }) => key).join('\n');
      const { terms, meanings } = rule;
      groups.set(name, { terms, meanings, isMust: isMust || groups.get(name)?.isMust === true });
    }
  }
  if (groups.size === 0) return undefined;
  if (match !== 'any')
    return {
      groups: [...groups.values()],
      leftOf: ({ terms }) => (taken.has(terms.join(' ')) && !left.has(terms.join(' ')) ? [] : terms),
    };
  // Where any word is enough, a part of what a rule has is, too; each term counts once.
  const single = new Set([...groups.values()].flatMap((group) => singleTerms(group)));
  return { groups: [...groups.values()], leftOf: ({ terms }) => terms.filter((term) => !single.has(term)) };
}

/** Words of a query (query-words.ts) that a cut word is. */
function partsOf(terms: readonly string[], { analyser }: Synonyms): string[] {
  return analyser.queryWords === undefined ? [...terms] : [[...new Set(terms)].join(' ')];
}

function singleTerms({ terms, meanings }: Pick<WordGroup, 'terms' | 'meanings'>): string[] {
  const single = meanings.flatMap((meaning) => (meaning.terms.length === 1 && !meaning.isPhrase ? meaning.terms : []));
  return [...new Set(terms.length === 1 ? [terms[0], ...single] : single)];
}

/** The unit of a group; null: there is no room for its terms. `placesOf`: null where there is none for some. */
export function groupUnit(
  group: Pick<WordGroup, 'terms' | 'meanings'>,
  isOptional: boolean,
  placesOf: (terms: readonly string[]) => number[] | null,
): KeywordUnit | null {
  const terms = singleTerms(group).flatMap((term) => placesOf([term]) ?? []);
  const meanings: KeywordMeaning[] = [];
  const typed = group.terms.length > 1 ? placesOf(group.terms) : null;
  if (typed !== null) meanings.push({ terms: typed });
  for (const { text, isPhrase, terms: own } of group.meanings) {
    if (own.length === 1 && !isPhrase) continue;
    const places = placesOf(own);
    if (places === null) continue;
    // Terms that are there are not yet a phrase.
    meanings.push({ terms: places, ...(isPhrase && { filter: { type: 'words', query: text, match: 'phrase' } }) });
  }
  if (terms.length === 0 && meanings.length === 0) return null;
  return { terms, factors: terms.map(() => 1), ...(meanings.length > 0 && { meanings }), isOptional };
}

/** What is left of a text besides its rules; null: nothing that counts. */
export function leftTerms(words: Parameters<typeof termsOf>[0]): string[] | null {
  const terms = termsOf(words);
  return terms.length === 0 ? null : terms;
}
