import type { SetModel, ShardSet } from '../../service/collections/reshard-record';
import { idsOf, type ShardTransfers } from './shard-transfers';
import { passageIn } from './item-embedder';

const PAGE_ITEMS = 1000;
/** Ids that are told. */
const TOLD = 10;

/**
 * The items of a set that vectors of the model can't be made of, and the ids of the first of them in the order of
 * insertion. Items that are inserted meanwhile are not looked at. `goOn` is called before each page. Errors: those of
 * the shards, and of `goOn`.
 */
export async function textlessItems(
  transfers: ShardTransfers,
  set: ShardSet,
  model: SetModel,
  goOn: () => void,
): Promise<{ count: number; first: string[] }> {
  let count = 0;
  const found: { stamp: number; externalId: string }[] = [];
  for (const id of idsOf(set)) {
    const until = await transfers.lastStamp(id);
    let ofShard = 0;
    let after: { stamp: number; externalId: string } | null = null;
    for (;;) {
      goOn();
      const items = await transfers.scan(id, after, PAGE_ITEMS, false);
      for (const item of items) {
        if (item.stamp > until || passageIn(model, item) !== null) continue;
        ofShard += 1;
        if (ofShard <= TOLD) found.push({ stamp: item.stamp, externalId: item.externalId });
      }
      const last = items.at(-1);
      if (last === undefined || last.stamp > until) break;
      after = { stamp: last.stamp, externalId: last.externalId };
    }
    count += ofShard;
  }
  found.sort((a, b) => a.stamp - b.stamp);
  return { count, first: found.slice(0, TOLD).map(({ externalId }) => externalId) };
}
