import type { Boosts } from '../../../shared/contract/shard/boosts';
import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import type { Hit } from '../../../shared/contract/shard/shard-read';
import type { ScatterGather, ShardedCollection } from '../routing/scatter-gather';
import { groupByShard } from '../routing/shard-router';

/** What each shard answers for its items, scored exactly. `bytesMax`: of metadata, by how many it is asked for. */
export function scoredItems(
  { shards, scatter }: { shards: Pick<ShardClient, 'read'>; scatter: ScatterGather },
  collection: ShardedCollection,
  asked: {
    vector: Float32Array;
    externalIds: string[];
    bytesMax: (count: number) => number | undefined;
    boosts?: Boosts | undefined;
  },
  call: CallOptions,
): Promise<Hit[][]> {
  const { vector, externalIds, bytesMax, boosts } = asked;
  const groups = groupByShard(externalIds, collection.shards, (externalId) => externalId);
  return scatter.read(
    collection,
    groups.map((group) => group.shard),
    call,
    (id, i) => {
      const { items } = groups[i];
      const request = { vector, externalIds: items, bytesMax: bytesMax(items.length), ...(boosts && { boosts }) };
      return shards.read(id, 'score', request, call);
    },
  );
}
