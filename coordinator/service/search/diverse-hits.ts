import { inSlices } from '../../../shared/base/time/work-slices';
import { countedElsewhere, NO_HOLD } from '../answer-hold';
import type { CollectionRecord } from '../collections/collection-record';
import type { Diversity } from '../search-request';
import type { ScoredHit } from '../service';
import { type OrderedItems, roundBytesMax } from '../vectors/ordered-items';
import { bytesOfHits, HIT_BYTES } from './later-hits';
import { marginallyRelevant } from './mmr';
import type { RankedSearch } from './ranked-lists';

/** How relevant hits are. */
export interface Relevances {
  relevances: readonly number[];
  /** Those from there on come when none before is left; undefined: there are no such. */
  behind?: number | undefined;
}

/** The first `count` of these by marginal relevance; what is gone meanwhile is left out. */
export async function chosenByVectors(
  ordered: Pick<OrderedItems<CollectionRecord>, 'read'>,
  search: Pick<RankedSearch, 'collection' | 'request' | 'options' | 'call'> & { count: number },
  { lambda }: Diversity & { type: 'mmr' },
  found: readonly ScoredHit[],
  relevanceOf: (hits: readonly ScoredHit[]) => Relevances,
): Promise<ScoredHit[]> {
  const vectors = await vectorsOf(ordered, search, found);
  const hits = found.filter(({ externalId }) => vectors.has(externalId));
  const { relevances, behind } = relevanceOf(hits);
  const isReranked = search.request.rerank !== undefined;
  const chosen = await inSlices(
    marginallyRelevant(
      hits.map(({ externalId }) => vectors.get(externalId)!),
      relevances,
      { lambda, count: search.count, behind },
    ),
  );
  if (search.request.output.explain !== true) return chosen.map(({ index }) => hits[index]);
  return chosen.map(({ index, score }) => ({
    ...hits[index],
    choice: { firstRank: index + 1, score, ...(isReranked && { isReranked }) },
  }));
}

async function vectorsOf(
  ordered: Pick<OrderedItems<CollectionRecord>, 'read'>,
  { collection, options: { hold = NO_HOLD }, call }: Pick<RankedSearch, 'collection' | 'options' | 'call'>,
  hits: readonly ScoredHit[],
): Promise<Map<string, Float32Array>> {
  const wanted = { vectors: true, texts: false };
  const held = bytesOfHits(hits) + hits.length * (HIT_BYTES + collection.dim * Float32Array.BYTES_PER_ELEMENT);
  await hold.reserve(held + roundBytesMax(collection, Math.min(hits.length, collection.shards), wanted, hold));
  const parts = ordered.read(
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
