import { isQuiverError, QuiverError } from '../../shared/errors/quiver-error';
import type { Filter } from '../../shared/filter/filter';
import type { CallOptions, ShardClient } from '../../shared/shard/shard-client';
import type { StoredItem } from '../../shared/shard/shard-read';
import type { ScatterGather, ShardedCollection } from '../routing/scatter-gather';
import type { ShardSets } from '../routing/shard-sets';
import type { ShardPosition } from './insertion-order-reader';

/** Items found and deleted per shard and step: one atomic write each, which other writes may wait for. */
const PAGE_ITEMS = 1000;

/**
 * Deletes what matches a filter, in steps: each shard is asked for its next matches, which are then deleted if they
 * still match. So every deleted item matched at that moment, and an item that existed and matched throughout is gone at
 * the end. Items written meanwhile may be deleted or not.
 *
 * All shards are read before the first write, so nothing is deleted if one of them can't be reached from the start. A
 * later failure leaves some matches deleted and the others as they were; calling again continues from there. Errors:
 * those of the shards; commit_unknown, with the number deleted so far, once something may have been deleted.
 *
 * Where other shards take the place of the collection's meanwhile, it begins again with those: what it has deleted is
 * not there, either.
 */
export async function deleteMatching<Collection extends ShardedCollection>(
  parts: { shards: Pick<ShardClient, 'read' | 'write'>; scatter: ScatterGather; sets: ShardSets<Collection> },
  collection: Collection,
  filter: Filter,
  call: CallOptions,
): Promise<number> {
  const { shards, scatter, sets } = parts;
  let deleted = 0;
  const count = (): void => void (deleted += 1);
  try {
    await sets.inOne(collection, call, (current) => deleteInSet({ shards, scatter }, current, filter, call, count));
  } catch (error) {
    throw deleted === 0 || !isQuiverError(error) ? error : brokenOff(error, deleted);
  }
  return deleted;
}

/** Calls `count` for each item that it deletes. Errors: resharded; those of the shards. */
async function deleteInSet(
  { shards, scatter }: { shards: Pick<ShardClient, 'read' | 'write'>; scatter: ScatterGather },
  collection: ShardedCollection,
  filter: Filter,
  call: CallOptions,
  count: () => void,
): Promise<void> {
  let open: ShardPosition[] = Array.from({ length: collection.shards }, (_, shard) => ({ shard, after: null }));
  while (open.length > 0) {
    const pages = await scatter.read(collection, shardsOf(open), call, (id, i) => shards.read(id, 'scan', { after: open[i].after, limit: PAGE_ITEMS, filter, vectors: false, texts: false }, call));
    const found = open.map(({ shard }, i) => ({ shard, items: pages[i] })).filter(({ items }) => items.length > 0);
    const outcomes = await scatter.write(collection, shardsOf(found), call, async (id, i) => {
      const operations = found[i].items.map(({ externalId }) => ({ type: 'delete' as const, externalId, filter }));
      const { outcomes: answered } = await shards.write(id, operations, call);
      // Counted at once, for the message of a step that fails on another shard.
      for (const outcome of answered) if (outcome === 'deleted') count();
      return answered.includes('refused');
    });
    if (outcomes.includes(true)) throw new QuiverError('resharded', 'the collection changes its number of shards; the call may be retried');
    if (outcomes.length === 0) break;
    open = found.filter(({ items }) => items.length === PAGE_ITEMS).map(({ shard, items }) => ({ shard, after: items.at(-1) as StoredItem }));
  }
}

function shardsOf(positions: { shard: number }[]): number[] {
  return positions.map(({ shard }) => shard);
}

/** The kind of the original error no longer tells whether anything was written. */
function brokenOff(error: QuiverError, deleted: number): QuiverError {
  if (error.kind === 'not_found') return error;
  const message = `${deleted} vectors were deleted, then: ${error.message}; repeat the call to delete the rest`;
  return new QuiverError('commit_unknown', message, { cause: error, details: { ...error.details, deleted } });
}
