import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import type { DropIntent } from '../collection-record';
import { otherSets, reshardFromEntry, RESHARDS_PREFIX } from './reshard-record';

/** Shards that exist beside those of the collections, because these change their number. */
export async function shardSetsOfReshards(store: Pick<ClusterStore, 'list'>): Promise<DropIntent[]> {
  return (await store.list(RESHARDS_PREFIX)).entries.flatMap((entry) => otherSets(reshardFromEntry(entry)));
}
