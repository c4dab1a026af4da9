import { inSlices } from '../../../shared/base/time/work-slices';
import { compareHits } from '../../../shared/contract/shard/shard-read';
import type { CollectionRecord } from '../collections/collection-record';
import type { Diversity } from '../search-request';
import type { ScoredHit } from '../service';
import type { OrderedItems } from '../vectors/ordered-items';
import { chosenByVectors, type Relevances } from './diverse-hits';
import { withoutValues } from './group-key';
import { hitsLookedAt } from './looked-at';
import { relativeScores } from './mmr';
import { firstHits, placesOfList, type Ranked, type RankedLists, type RankedSearch } from './ranked-lists';
import { ValueCounts } from './value-counts';

/** Hits that are asked for at once at most, if no more are wanted, and at least. */
const HITS = { most: 10_000, least: 16 };

/** Ranks hits that differ from each other: by their vectors, or by a value of their metadata. */
export class DiverseLists {
  constructor(
    private readonly parts: {
      lists: Pick<RankedLists, 'rank'>;
      ordered: Pick<OrderedItems<CollectionRecord>, 'read'>;
    },
  ) {}

  /** The request's page, of which all score enough. Errors: those of the lists; limit_exceeded for long values. */
  async rank(search: RankedSearch, diversity: Diversity): Promise<Ranked> {
    const { offset, k } = search.request.page;
    const { hits, totalCount } =
      diversity.type === 'mmr' ? await this.byVectors(search, diversity) : await this.byValue(search, diversity);
    return { hits: hits.slice(offset, offset + k), totalCount };
  }

  /** The best hits of the list, as many as there are candidates, by marginal relevance. */
  private async byVectors(search: RankedSearch, diversity: Diversity & { type: 'mmr' }): Promise<Ranked> {
    const { query, page } = search.request;
    const { hits: found, totalCount } = await firstHits(this.parts.lists, search, query.filter, diversity.candidates);
    const asked = { ...search, count: page.offset + page.k };
    const hits = await chosenByVectors(this.parts.ordered, asked, diversity, found, (all) => relevancesOf(search, all));
    return { hits, totalCount };
  }

  /**
   * The list without hits that have a value of which there are as many as there may be. Read until there are as many
   * hits as are wanted: what has such a value is filtered out then, so that a value of a million hits is passed over in
   * one step. Ranks of a fused list would change so: it is read as deep as groups are looked for in it.
   */
  private async byValue(search: RankedSearch, diversity: Diversity & { type: 'field' }): Promise<Ranked> {
    const { query, page } = search.request;
    const wanted = page.offset + page.k;
    const steps = placesOfList(query.source);
    const counts = new ValueCounts(diversity);
    const hits: ScoredHit[] = [];
    const seen = new Set<string>();
    let totalCount: number | null = null;
    for (let step = 0; ; step += 1) {
      const full = steps === null ? [...counts.full] : [];
      const filter = withoutValues(query.filter, diversity.path, full);
      const before = hits.length;
      const places = steps?.[step] ?? Math.max(wanted, clamped(before + 2 ** (step + 1) * wanted));
      const list = await firstHits(this.parts.lists, search, filter, places);
      totalCount ??= list.totalCount;
      const fresh = list.hits.filter(({ externalId }) => !seen.has(externalId));
      for (const { externalId } of fresh) seen.add(externalId);
      hits.push(...(await inSlices(counts.taken(await hitsLookedAt(this.parts.ordered, search, fresh)))));
      const isLast = list.isEnd || (steps === null ? hits.length === before : step + 1 === steps.length);
      if (hits.length < wanted && !isLast) continue;
      // An approximate search may find with a filter what it did not find without.
      return { hits: steps === null ? hits.sort(compareHits) : hits, totalCount };
    }
  }
}

/** Scores that are cosines are as comparable as the likeness of vectors is. */
export function relevancesOf(
  { collection, request: { query } }: Pick<RankedSearch, 'collection' | 'request'>,
  hits: readonly ScoredHit[],
): Relevances {
  const scores = hits.map(({ score }) => score);
  const isCosine = collection.metric === 'cosine' && query.source.type !== 'fused' && query.boosts === undefined;
  return { relevances: isCosine ? scores : relativeScores(scores) };
}

function clamped(places: number): number {
  return Math.min(HITS.most, Math.max(HITS.least, places));
}
