import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Capacity } from '../../../shared/base/process/capacity';
import type { CollectionRecord, DropIntent } from './collection-record';

/** How many collections and shards there may be in all; checked at each creation. */
export interface CollectionQuota {
  readonly collectionsMax: number;
  /**
   * Most shards of one collection: a request may need all of them open at once. Absent: as many as there is room for.
   */
  readonly shardsAtOnceMax?: number | undefined;
  /** How much of the room for shards a collection takes; in a cluster each replica counts. */
  shardsOf(collection: Pick<CollectionRecord, 'shards' | 'replicas'>): number;
  /** The room for shards, and where it comes from, in words for clients. */
  room(): { shardsMax: number; source: string };
}

/** What is there: collections, and how much of the room for shards they take. */
export interface PresentCount {
  collections: number;
  taken: number;
}

/**
 * Counts what the quota is about. Collections that are being created count, and so do shards that are still to be
 * dropped, because they still use their resources.
 */
export function countPresent(
  quota: CollectionQuota,
  present: { collections: CollectionRecord[]; others: DropIntent[] },
): PresentCount {
  // A collection that is deleted between the two listings is in both. There may be thousands, of which few are being
  // dropped.
  const drops = new Map(present.others.map((drop) => [drop.uid, drop]));
  let taken = 0;
  for (const drop of drops.values()) taken += quota.shardsOf(drop);
  for (const one of present.collections) if (drops.size === 0 || !drops.has(one.uid)) taken += quota.shardsOf(one);
  return { collections: present.collections.length, taken };
}

/**
 * Refuses a collection that does not fit beside the present ones. `isReshard`: only the shards are wanted, for a
 * collection that is there. Errors: limit_exceeded that names the limit.
 */
export function checkQuota(
  quota: CollectionQuota,
  { collections, taken }: PresentCount,
  wanted: CollectionRecord,
  { isReshard = false } = {},
): void {
  if (!isReshard && collections >= quota.collectionsMax) {
    throw new QuiverError(
      'limit_exceeded',
      `there are ${collections} collections: at most ${quota.collectionsMax} are allowed (MAX_COLLECTIONS)`,
    );
  }
  const needed = quota.shardsOf(wanted);
  if (needed > (quota.shardsAtOnceMax ?? Infinity)) {
    throw new QuiverError(
      'limit_exceeded',
      `the collection needs ${needed} shards, and at most ${quota.shardsAtOnceMax} can be open at once: the limit comes from the files that may be open (ulimit -n)`,
    );
  }
  const { shardsMax, source } = quota.room();
  if (taken + needed <= shardsMax) return;
  const what = needed === wanted.shards ? 'shards' : 'replicas of shards';
  throw new QuiverError(
    'limit_exceeded',
    `the collection needs ${needed} ${what}, and ${taken} of at most ${shardsMax} are taken: the limit comes from ${source}`,
  );
}

/** The quota of one process that holds everything. `isShort` says whether it is about to run out of open files. */
export function processQuota(
  capacity: Pick<Capacity, 'collectionsMax' | 'shardsMax' | 'shardsMaxSource' | 'openShardsMax'>,
  isShort: () => boolean,
): CollectionQuota {
  return {
    collectionsMax: capacity.collectionsMax,
    shardsAtOnceMax: capacity.shardsMax > capacity.openShardsMax ? capacity.openShardsMax : undefined,
    shardsOf: ({ shards }) => shards,
    room: () =>
      isShort()
        ? { shardsMax: 0, source: 'the files that may be open (ulimit -n), nearly all of which are' }
        : { shardsMax: capacity.shardsMax, source: capacity.shardsMaxSource },
  };
}
