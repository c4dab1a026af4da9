import type { Filter } from '../../../shared/contract/filter/filter';
import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import type { ScatterGather, ShardedCollection } from './scatter-gather';
import type { ShardSets } from './shard-sets';

/** How many items of a collection pass a filter; null: all. Errors: those of the shards. */
export async function matchCount<Collection extends ShardedCollection>(
  { shards, scatter, sets }: { shards: Pick<ShardClient, 'read'>; scatter: ScatterGather; sets: ShardSets<Collection> },
  collection: Collection,
  filter: Filter | null,
  call: CallOptions,
): Promise<number> {
  const counts = await sets.inOne(collection, call, (current) =>
    scatter.readAll(current, call, (id) =>
      filter === null ? shards.read(id, 'count', null, call) : shards.read(id, 'matches', { filter }, call),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
