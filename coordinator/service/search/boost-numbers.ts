import type { Boosts } from '../../../shared/contract/shard/boosts';
import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import type { ScatterGather, ShardedCollection } from '../routing/scatter-gather';
import { groupByShard } from '../routing/shard-router';
import type { ShardSets } from '../routing/shard-sets';
import type { ScoredHit } from '../service';

/** Items that are asked for at once: of many boosts, their numbers fit in a message. */
const ITEMS_MAX = 2_000;

/** Adds to hits what each boost gave, as it is now; null where the item is gone meanwhile. */
export async function addBoostNumbers<Collection extends ShardedCollection>(
  parts: { shards: Pick<ShardClient, 'read'>; scatter: ScatterGather; sets: ShardSets<Collection> },
  collection: Collection,
  { hits, boosts }: { hits: readonly ScoredHit[]; boosts: Boosts },
  call: CallOptions,
): Promise<void> {
  for (let from = 0; from < hits.length; from += ITEMS_MAX) {
    const some = hits.slice(from, from + ITEMS_MAX);
    const numbers = new Map<string, number[] | null>();
    await parts.sets.inOne(collection, call, async (current) => {
      const groups = groupByShard(some, current.shards, ({ externalId }) => externalId);
      const shards = groups.map(({ shard }) => shard);
      const read = await parts.scatter.read(current, shards, call, (id, i) => {
        const externalIds = groups[i].items.map(({ externalId }) => externalId);
        return parts.shards.read(id, 'boostNumbers', { externalIds, boosts }, call);
      });
      for (const [i, { items }] of groups.entries())
        for (const [place, { externalId }] of items.entries()) numbers.set(externalId, read[i][place]);
    });
    for (const hit of some) hit.boosts = numbers.get(hit.externalId) ?? null;
  }
}
