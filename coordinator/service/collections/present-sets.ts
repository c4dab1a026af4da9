import type { ClusterStore, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../readable-entries';
import {
  collectionFromEntry,
  type CollectionRecord,
  COLLECTIONS_PREFIX,
  type DropIntent,
  dropFromEntry,
  DROPS_PREFIX,
} from './collection-record';
import { otherSets, reshardFromEntry, RESHARDS_PREFIX } from './reshard-record';

/** Sets of shards that there are. */
export interface PresentSets {
  collections: CollectionRecord[];
  /**
   * Those that collections get or had, because they change their number, and those that are to be dropped. One may be
   * among the collections, too.
   */
  others: DropIntent[];
}

/**
 * All sets of shards that there are. Those that are begun meanwhile, and those of a collection that gets its new ones
 * meanwhile, may be missing: both write CREATIONS_PATH. So are those whose entry is damaged. `recordOf`: reads the
 * record of a collection. Errors: those of the store.
 */
export async function presentSets(
  store: Pick<ClusterStore, 'list'>,
  recordOf: (entry: StoreEntry) => CollectionRecord = collectionFromEntry,
): Promise<PresentSets> {
  // Sets of reshards and of collections become drops at any moment: in this order, one is listed twice and not never.
  const reshards = readableEntries((await store.list(RESHARDS_PREFIX)).entries, reshardFromEntry);
  const collections = readableEntries((await store.list(COLLECTIONS_PREFIX)).entries, recordOf);
  const drops = readableEntries((await store.list(DROPS_PREFIX)).entries, dropFromEntry);
  return { collections, others: [...drops, ...reshards.flatMap(otherSets)] };
}
