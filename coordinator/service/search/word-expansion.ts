import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import type { ExpansionRequest } from '../../../shared/contract/shard/keyword-expansion';
import type { ScatterGather, ShardedCollection } from '../routing/scatter-gather';

/** Other words that one word of a query stands for, at most. */
export const EXPANSIONS_MAX = 50;
/** Terms that a shard answers at once: some 100 KiB. */
const PAGE = 4_096;

/** A term of the collection, and how many items have it. */
export interface FoundTerm {
  term: string;
  frequency: number;
}

/** Other words that one stands for. */
export interface Expanded {
  terms: FoundTerm[];
  /** Whether there are more, none of them more frequent than any of these. */
  isCut: boolean;
}

/**
 * The most frequent terms of the collection that begin with a term or are near to it and that `counts` lets in, at most
 * {@link EXPANSIONS_MAX}; equally frequent ones by code units. The lists of all shards are read to their ends, so that
 * the number of shards never shows.
 */
export async function expandedWord(
  { shards, scatter }: { shards: Pick<ShardClient, 'read'>; scatter: ScatterGather },
  collection: ShardedCollection,
  { term, by, counts }: Pick<ExpansionRequest, 'term' | 'by'> & { counts: (term: string) => boolean },
  call: CallOptions,
): Promise<Expanded> {
  let terms: FoundTerm[] = [];
  let isCut = false;
  /** Of what is behind `after`, by shard; terms up to `whole` are known of all shards. */
  for (let after: string | null = ''; after !== null;) {
    const from: string = after;
    const pages = await scatter.readAll(collection, call, (id) =>
      shards.read(id, 'keywordExpansions', { term, by, after: from, limit: PAGE }, call),
    );
    const ends = pages.flatMap(({ terms }) => (terms.length === PAGE ? [terms[PAGE - 1]] : []));
    after = ends.length === 0 ? null : ends.reduce((least, end) => (end < least ? end : least));
    const frequencies = new Map<string, number>();
    for (const page of pages)
      page.terms.forEach((one, i) => {
        // What is behind the end of another shard's page comes again.
        if (after !== null && one > after) return;
        frequencies.set(one, (frequencies.get(one) ?? 0) + page.frequencies[i]);
      });
    for (const [one, frequency] of frequencies) if (frequency > 0 && counts(one)) terms.push({ term: one, frequency });
    isCut ||= terms.length > EXPANSIONS_MAX;
    terms = terms.sort(compareTerms).slice(0, EXPANSIONS_MAX);
  }
  return { terms, isCut };
}

export function compareTerms(a: FoundTerm, b: FoundTerm): number {
  return b.frequency - a.frequency || (a.term < b.term ? -1 : 1);
}
