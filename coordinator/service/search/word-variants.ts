import { EditWalk } from '../../../shared/base/text/edit-walk';
import { factorOfEdits } from '../../../shared/base/text/word-variants';
import type { KeywordUnit, MoreTerms } from '../../../shared/contract/shard/keyword-plan';
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
      const place = variants.meaning?.at(-1) ?? units[unit].terms[0];
      const isRare = variants.areAll === true || rarity(statistics, place);
      return { unit, place, variants, ...(await othersOf(terms[place], variants, isRare, expand)) };
    }),
  );
  for (const { unit, place, variants, others, isCut } of found) {
    const own = [...units[unit].terms];
    const factors = [...(units[unit].factors ?? [1])];
    const [most] = factors;
    const meanings = [...(units[unit].meanings ?? [])];
    for (const { term, frequency, factor } of others) {
      let at = places.get(term);
      if (at === undefined) {
        places.set(term, (at = terms.push(term) - 1));
        documentFrequencies.push(frequency);
      }
      if (variants.meaning !== undefined) {
        meanings.push({ terms: [...new Set([...variants.meaning.slice(0, -1), at])] });
        continue;
      }
      if (own.includes(at)) continue;
      own.push(at);
      factors.push(most * factor);
    }
    if (variants.meaning !== undefined) {
      units[unit] = { ...units[unit], meanings };
      continue;
    }
    const more = variants.areAll === true && isCut ? moreOf(terms[place], variants) : null;
    if (own.length > 1)
      units[unit] = { ...units[unit], terms: own, factors, ...(more !== null && { more }) } satisfies KeywordUnit;
  }
  return { draft: { ...draft, terms, units }, statistics: { ...statistics, documentFrequencies } };
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
