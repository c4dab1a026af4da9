import { bothFilters, type Filter } from '../../../shared/contract/filter/filter';
import { inSlices } from '../../../shared/base/time/work-slices';
import { compareHits } from '../../../shared/contract/shard/shard-read';
import { countedElsewhere, NO_HOLD } from '../answer-hold';
import type { CollectionRecord } from '../collections/collection-record';
import type { Diversity, GroupKey } from '../search-request';
import type { ScoredHit } from '../service';
import { type OrderedItems, roundBytesMax } from '../vectors/ordered-items';
import type { LookedAt } from './found-groups';
import { groupKeysOf, mustBeShort } from './group-key';
import { bytesOfHits, HIT_BYTES } from './later-hits';
import { hitsLookedAt } from './looked-at';
import { marginallyRelevant, relativeScores } from './mmr';
import { firstHits, placesOfList, type Ranked, type RankedLists, type RankedSearch } from './ranked-lists';

/** Hits that are asked for at once at most, if no more are wanted, and at least. */
const HITS = { most: 10_000, least: 16 };

/** The hits of a list without those with a value of which there are as many as there may be. */
class TakenHits {
  readonly hits: ScoredHit[] = [];
  private readonly counts = new Map<Exclude<GroupKey, null>, number>();
  private readonly seen = new Set<string>();

  constructor(
    private readonly path: string,
    private readonly atMost: number,
  ) {}

  /** The values of which there are as many as there may be. */
  get full(): Exclude<GroupKey, null>[] {
    return [...this.counts].flatMap(([key, count]) => (count >= this.atMost ? [key] : []));
  }

  /** Takes what may be taken of hits that were not here before. In steps. */
  *add(looked: readonly LookedAt[]): Generator<undefined, void> {
    for (const { hit, metadata } of looked) {
      if (this.seen.has(hit.externalId)) continue;
      this.seen.add(hit.externalId);
      const keys = groupKeysOf(metadata, this.path) as Exclude<GroupKey, null>[];
      yield;
      if (keys.some((key) => (this.counts.get(key) ?? 0) >= this.atMost)) continue;
      for (const key of keys) this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
      this.hits.push(hit);
    }
  }
}

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
  private async byVectors(search: RankedSearch, { lambda, candidates }: Diversity & { type: 'mmr' }): Promise<Ranked> {
    const { collection, request } = search;
    const { hits: found, totalCount } = await firstHits(this.parts.lists, search, request.query.filter, candidates);
    const vectors = await this.vectorsOf(search, found);
    // What is gone meanwhile is left out.
    const hits = found.filter(({ externalId }) => vectors.has(externalId));
    const scores = hits.map(({ score }) => score);
    const { source, boosts } = request.query;
    const isCosine = collection.metric === 'cosine' && source.type !== 'fused' && boosts === undefined;
    const chosen = await inSlices(
      marginallyRelevant(
        hits.map(({ externalId }) => vectors.get(externalId)!),
        isCosine ? scores : relativeScores(scores),
        { lambda, count: request.page.offset + request.page.k },
      ),
    );
    const explained = request.output.explain === true;
    return {
      hits: chosen.map(({ index, score }) =>
        explained ? { ...hits[index], choice: { firstRank: index + 1, score } } : hits[index],
      ),
      totalCount,
    };
  }

  private async vectorsOf(
    { collection, options: { hold = NO_HOLD }, call }: RankedSearch,
    hits: readonly ScoredHit[],
  ): Promise<Map<string, Float32Array>> {
    const wanted = { vectors: true, texts: false };
    const held = bytesOfHits(hits) + hits.length * (HIT_BYTES + collection.dim * Float32Array.BYTES_PER_ELEMENT);
    await hold.reserve(held + roundBytesMax(collection, Math.min(hits.length, collection.shards), wanted, hold));
    const parts = this.parts.ordered.read(
      collection,
      hits.map(({ externalId }) => externalId),
      wanted,
      { begin: () => call, hold: countedElsewhere(hold) },
    );
    const vectors = new Map<string, Float32Array>();
    for await (const items of parts)
      for (const item of items) if (item !== null) vectors.set(item.externalId, item.vector!);
    return vectors;
  }

  /**
   * The list without hits that have a value of which there are as many as there may be. Read until there are as many
   * hits as are wanted: what has such a value is filtered out then, so that a value of a million hits is passed over in
   * one step. Ranks of a fused list would change so: it is read as deep as groups are looked for in it.
   */
  private async byValue(search: RankedSearch, { path, atMost }: Diversity & { type: 'field' }): Promise<Ranked> {
    const { query, page } = search.request;
    const wanted = page.offset + page.k;
    const steps = placesOfList(query.source);
    const taken = new TakenHits(path, atMost);
    let totalCount: number | null = null;
    for (let step = 0; ; step += 1) {
      const full = steps === null ? taken.full : [];
      mustBeShort(full, path);
      const filter: Filter | null =
        full.length === 0
          ? query.filter
          : bothFilters(query.filter, { type: 'not', filter: { type: 'in', path, values: full } });
      const before = taken.hits.length;
      const places = steps?.[step] ?? Math.max(wanted, clamped(before + 2 ** (step + 1) * wanted));
      const list = await firstHits(this.parts.lists, search, filter, places);
      totalCount ??= list.totalCount;
      await inSlices(taken.add(await hitsLookedAt(this.parts.ordered, search, list.hits)));
      const isLast = list.isEnd || (steps === null ? taken.hits.length === before : step + 1 === steps.length);
      if (taken.hits.length < wanted && !isLast) continue;
      // An approximate search may find with a filter what it did not find without.
      return { hits: steps === null ? taken.hits.sort(compareHits) : taken.hits, totalCount };
    }
  }
}

function clamped(places: number): number {
  return Math.min(HITS.most, Math.max(HITS.least, places));
}
