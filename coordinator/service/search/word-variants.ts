import { EditWalk } from '../../../shared/base/text/edit-walk';
import { factorOfEdits } from '../../../shared/base/text/word-variants';
import type { KeywordMeaning, KeywordUnit, MoreTerms } from '../../../shared/contract/shard/keyword-plan';
import type { KeywordStatistics } from '../../../shared/contract/shard/shard-read';
import type { AskedVariants, KeywordDraft } from './keyword-planning';
import { compareTerms, type Expanded, EXPANSIONS_MAX, type FoundTerm } from './word-expansion';

/** Of so many items, a word that one has is rare: it may be a slip itself. */
const RARE_AMONG = 100_000;

/** How other words are found: of those that `counts` lets in. */
export type Expand = (term: string, by: 'prefix' | 1 | 2, counts: (term: string) => boolean) => Promise<Expanded>;

/**
 * The draft with the words that others stand for, and what is known of them. A word that is not rare stands for itself
 * alone, unless others begin so, or all are asked for: then shards add those beyond the most frequent ones. Each other
 * word counts less by its edits, as in Lucene 1 − edits ÷ the shorter length; all of a unit have the document frequency
 * of the most frequent one (planned-search.ts).
 */
export async function withVariants(
  draft: KeywordDraft,
  statistics: KeywordStatistics,
  expand: Expand,
): Promise<{ draft: KeywordDraft; statistics: KeywordStatistics }> {
  const terms = [...draft.terms];
  const documentFrequencies = [...statistics.documentFrequencies];
  const places = new Map(terms.map((term, place) => [term, place]));
  const units = [...draft.units];
  const found = await Promise.all(
    [...draft.variants].map(async ([unit, variants]) => {
      const asked = variants.of ?? [{ ...variants, place: variants.meaning?.at(-1) ?? units[unit].terms[0] }];
      // As one word: it is rare if all of its terms are.
      const isRare = variants.areAll === true || asked.every(({ place }) => rarity(statistics, place));
      const expanded = await Promise.all(asked.map((one) => othersOf(terms[one.place], one, isRare, expand)));
      const others = expanded.flatMap((one, i) => one.others.map((other) => ({ ...other, by: asked[i] })));
      return {
        unit,
        asked,
        areAll: variants.areAll === true,
        others: others.sort(compareTerms).slice(0, EXPANSIONS_MAX),
        isCut: others.length > EXPANSIONS_MAX || expanded.some(({ isCut }) => isCut),
      };
    }),
  );
  for (const { unit, asked, areAll, others, isCut } of found) {
    const own = [...units[unit].terms];
    const factors = [...(units[unit].factors ?? [1])];
    const [most = 1] = factors;
    const meanings = [...(units[unit].meanings ?? [])];
    for (const { term, frequency, factor, by } of others) {
      let at = places.get(term);
      if (at === undefined) {
        places.set(term, (at = terms.push(term) - 1));
        documentFrequencies.push(frequency);
      }
      if (by.meaning !== undefined) meanings.push(otherMeaning(units[unit], by.meaning, at));
      else if (!own.includes(at)) {
        own.push(at);
        factors.push(most * factor);
      }
    }
    const more = areAll && isCut ? asked.flatMap((one) => moreOf(terms[one.place], one)) : null;
    if (own.length > units[unit].terms.length || meanings.length > 0)
      units[unit] = {
        ...units[unit],
        ...withWhole(units[unit], own, factors, meanings),
        ...(more !== null && { more }),
      } satisfies KeywordUnit;
  }
  return { draft: { ...draft, terms, units }, statistics: { ...statistics, documentFrequencies } };
}

/** The terms of several words with another one in the place of the last. */
function otherMeaning({ factors }: KeywordUnit, meaning: readonly number[], at: number): KeywordMeaning {
  const isSum = factors === undefined;
  return { terms: [...new Set([...meaning.slice(0, -1), at])], ...(isSum && { isSum }) };
}

/** A unit with more ways; one that had all of its terms has that as one of them. */
function withWhole(
  { terms, factors }: KeywordUnit,
  own: readonly number[],
  ownFactors: readonly number[],
  meanings: readonly KeywordMeaning[],
): Partial<KeywordUnit> {
  if (meanings.length === 0) return { terms: own, factors: ownFactors };
  if (factors === undefined && terms.length > 1)
    return { terms: [], factors: [], meanings: [{ terms, isSum: true }, ...meanings] };
  return { terms: own, factors: ownFactors, meanings };
}

function moreOf(term: string, { prefixes, edits }: AskedVariants): MoreTerms[] {
  return prefixes?.map((prefix) => ({ term: prefix, by: 'prefix' })) ?? [{ term, by: edits as 1 | 2 }];
}

function rarity({ documentCount, documentFrequencies }: KeywordStatistics, place: number): boolean {
  return documentFrequencies[place] <= Math.max(1, Math.floor(documentCount / RARE_AMONG));
}

/** What a word stands for besides itself; what has no letter in common with it is left out before the cut. */
async function othersOf(
  term: string,
  { prefixes = [], edits }: AskedVariants,
  isRare: boolean,
  expand: Expand,
): Promise<{ others: (FoundTerm & { factor: number })[]; isCut: boolean }> {
  const walk = new EditWalk(term, Math.max(1, edits));
  const factorOf = (other: string): number => factorOfEdits(walk.distanceTo(other), term, other);
  const none: Expanded = { terms: [], isCut: false };
  const [near, ...begun] = await Promise.all([
    edits === 0 || !isRare ? none : expand(term, edits, (other) => other !== term && factorOf(other) > 0),
    ...prefixes.map((prefix) => expand(prefix, 'prefix', (other) => other !== term)),
  ]);
  const others = new Map(near.terms.map((one) => [one.term, { ...one, factor: factorOf(one.term) }]));
  for (const { terms } of begun) for (const one of terms) others.set(one.term, { ...one, factor: 1 });
  return {
    others: [...others.values()].sort(compareTerms).slice(0, EXPANSIONS_MAX),
    isCut: others.size > EXPANSIONS_MAX || [near, ...begun].some(({ isCut }) => isCut),
  };
}
