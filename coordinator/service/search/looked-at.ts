import type { CallOptions } from '../../../shared/contract/shard/shard-client';
import { LEFT_OUT } from '../../../shared/contract/shard/shard-read';
import { countedElsewhere, NO_HOLD } from '../answer-hold';
import type { CollectionRecord } from '../collections/collection-record';
import type { ScoredHit } from '../service';
import type { OrderedItems } from '../vectors/ordered-items';
import type { LookedAt } from './found-groups';
import type { RankOptions } from './ranked-lists';

/** Reads the metadata that were left out; hits whose items are gone by then are left out. */
export async function hitsLookedAt(
  ordered: Pick<OrderedItems<CollectionRecord>, 'read'>,
  {
    collection,
    call,
    options: { hold = NO_HOLD },
  }: { collection: CollectionRecord; call: CallOptions; options: RankOptions },
  hits: readonly ScoredHit[],
): Promise<LookedAt[]> {
  const lacking = hits.filter(({ metadata }) => metadata === LEFT_OUT).map(({ externalId }) => externalId);
  if (lacking.length === 0) return hits.map((hit) => ({ hit, metadata: hit.metadata }));
  const read = new Map<string, string>();
  // What the list may hold is counted, and these are let go of one part after the other.
  const parts = ordered.read(
    collection,
    lacking,
    { vectors: false, texts: false },
    { begin: () => call, hold: countedElsewhere(hold) },
  );
  for await (const items of parts)
    for (const item of items) if (item !== null) read.set(item.externalId, item.metadata);
  return hits.flatMap((hit) => {
    const metadata = hit.metadata === LEFT_OUT ? read.get(hit.externalId) : hit.metadata;
    return metadata === undefined ? [] : [{ hit, metadata }];
  });
}
