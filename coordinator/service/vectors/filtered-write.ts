import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Filter } from '../../../shared/contract/filter/filter';
import type {
  CallOptions,
  ItemOperation,
  ShardClient,
  WriteOutcome,
} from '../../../shared/contract/shard/shard-client';
import type { StoredItem } from '../../../shared/contract/shard/shard-read';
import type { Written } from '../keys/quota/key-quota';
import type { ScatterGather, ShardedCollection } from '../routing/scatter-gather';
import { shardOf } from '../routing/shard-router';
import type { ShardSets } from '../routing/shard-sets';
import { isLastPage, type ShardPosition } from './insertion-order-reader';

/** Items found and written per shard and step: one atomic write each, which other writes may wait for. */
const PAGE_ITEMS_MAX = 1000;
/** Bytes of vectors of the items in one step: a shard may have to read and store them. */
const PAGE_BYTES = 16 * 1024 * 1024;
/**
 * Bytes of ids and metadata of the items in one step, of all shards together; a step of a shard goes on for this many
 * at least.
 */
const FOUND_BYTES = 16 * 1024 * 1024;
const FOUND_BYTES_MIN = 64 * 1024;

/** What is done to each item that matches. */
export interface FilteredWrite {
  filter: Filter;
  /** Must be done only if the item still matches. */
  operationOf(externalId: string): ItemOperation;
  /** For messages: "… vectors were deleted". */
  done: 'deleted' | 'updated';
  /** How steps keep within quotas; left out where there are none, or nothing is stored. */
  bounds?: StepBounds | undefined;
}

/** Quotas that each step has to keep within. */
export interface StepBounds {
  /** About what it stores to change an item. */
  bytesOf(item: StoredItem): number;
  /**
   * Makes a step, if it is within the quotas, and counts what `make` says that it stored. `done`: how many items were
   * changed before. Errors: limit_exceeded; those of the step.
   */
  within<Result>(
    written: Written,
    done: number,
    make: () => Promise<{ result: Result; stored: Written }>,
  ): Promise<Result>;
}

/** What became of the items that matched. */
export interface FilteredResult {
  done: number;
  /** Items that could not be changed, because their metadata would be more than they may be; the first of them. */
  excess: { count: number; first: string | null };
}

/**
 * Writes what matches a filter, in steps: each shard is asked for its next matches, which are then written if they
 * still match. So every item that is written matched at that moment, and an item that existed and matched throughout is
 * written once. Items written meanwhile may be or not.
 *
 * All shards are read before the first write, so nothing is done if one of them can't be reached from the start. A
 * later failure leaves some matches done and the others as they were; calling again continues with those. Errors: those
 * of the shards; commit_unknown, with the number done so far, once something may have been done.
 *
 * Where other shards take the place of the collection's meanwhile, it begins again with those, and passes over what it
 * has dealt with: an item keeps its place in the insertion order.
 */
export async function writeMatching<Collection extends ShardedCollection & { dim: number }>(
  parts: {
    shards: Pick<ShardClient, 'read' | 'write'>;
    scatter: ScatterGather;
    sets: Pick<ShardSets<Collection>, 'inOne'>;
  },
  collection: Collection,
  write: FilteredWrite,
  call: CallOptions,
): Promise<FilteredResult> {
  const pass = new FilteredPass(parts, write, call);
  try {
    await parts.sets.inOne(collection, call, (current) => pass.run(current));
  } catch (error) {
    throw pass.result.done === 0 || !isQuiverError(error) ? error : brokenOff(error, pass.result.done, write);
  }
  return pass.result;
}

class FilteredPass {
  readonly result: FilteredResult = { done: 0, excess: { count: 0, first: null } };
  /** By set of shards that was begun with: how far each of its shards was dealt with. */
  private readonly reached: Map<number, StoredItem | 'all'>[] = [];
  private readonly shardCounts: number[] = [];

  constructor(
    private readonly parts: { shards: Pick<ShardClient, 'read' | 'write'>; scatter: ScatterGather },
    private readonly write: FilteredWrite,
    private readonly call: CallOptions,
  ) {}

  /** Errors: resharded; those of the shards. */
  async run(collection: ShardedCollection & { dim: number }): Promise<void> {
    const { shards, scatter } = this.parts;
    const { call, write } = this;
    const limit = pageItemsOf(collection.dim);
    const earlier = this.reached.length;
    const reached = new Map<number, StoredItem | 'all'>();
    let open: ShardPosition[] = Array.from({ length: collection.shards }, (_, shard) => ({ shard, after: null }));
    while (open.length > 0) {
      const bytesMax = foundBytesOf(open.length);
      const pages = await scatter.read(collection, shardsOf(open), call, (id, i) =>
        shards.read(
          id,
          'scan',
          { after: open[i].after, limit, bytesMax, filter: write.filter, vectors: false, texts: false },
          call,
        ),
      );
      // From here on something may be done with this set.
      if (this.reached.length === earlier) {
        this.reached.push(reached);
        this.shardCounts.push(collection.shards);
      }
      const found = open.map(({ shard }, i) => ({
        shard,
        page: pages[i],
        isLast: isLastPage(pages[i], limit, bytesMax),
        items: pages[i].filter((item) => !this.isDealtWith(item, earlier)),
      }));
      for (const { shard, page, isLast, items } of found)
        if (items.length === 0) reached.set(shard, isLast ? 'all' : page[page.length - 1]);
      const due = found.filter(({ items }) => items.length > 0);
      const refusals = await writeStep(
        write,
        { items: due.flatMap(({ items }) => items), done: this.result.done },
        (stored) =>
          scatter.write(collection, shardsOf(due), call, async (id, i) => {
            const { shard, page, isLast, items } = due[i];
            const { outcomes } = await shards.write(
              id,
              items.map(({ externalId }) => write.operationOf(externalId)),
              call,
            );
            if (outcomes.includes('refused')) return true;
            // At once, for the message of a step that fails on another shard.
            outcomes.forEach((outcome, n) => this.count(outcome, items[n].externalId));
            outcomes.forEach((outcome, n) => outcome === write.done && stored(items[n]));
            reached.set(shard, isLast ? 'all' : page[page.length - 1]);
            return false;
          }),
      );
      if (refusals.includes(true))
        throw new QuiverError('resharded', 'the collection changes its number of shards; the call may be retried');
      open = found.filter(({ isLast }) => !isLast).map(({ shard, page }) => ({ shard, after: page[page.length - 1] }));
    }
  }

  private count(outcome: WriteOutcome, externalId: string): void {
    const { result } = this;
    if (outcome === this.write.done) result.done += 1;
    if (outcome !== 'excess') return;
    result.excess.first ??= externalId;
    result.excess.count += 1;
  }

  /** Whether the shard that had the item in one of the sets before was dealt with up to it. */
  private isDealtWith(item: StoredItem, earlier: number): boolean {
    for (let set = 0; set < earlier; set += 1) {
      const upTo = this.reached[set].get(shardOf(item.externalId, this.shardCounts[set]));
      if (
        upTo === 'all' ||
        (upTo !== undefined &&
          (item.stamp < upTo.stamp || (item.stamp === upTo.stamp && item.externalId <= upTo.externalId)))
      )
        return true;
    }
    return false;
  }
}

/**
 * Makes one step of a write, which changes some of `items`, within the quotas. `make` says of each item that it was
 * stored again; `done`: how many were before.
 */
export function writeStep<Result>(
  { bounds }: Pick<FilteredWrite, 'bounds'>,
  { items, done }: { items: readonly StoredItem[]; done: number },
  make: (stored: (item: StoredItem) => void) => Promise<Result>,
): Promise<Result> {
  if (bounds === undefined || items.length === 0) return make(() => undefined);
  const whole = { items: items.length, bytes: items.reduce((sum, item) => sum + bounds.bytesOf(item), 0) };
  const written = { items: 0, bytes: 0 };
  const note = (item: StoredItem): void => {
    written.items += 1;
    written.bytes += bounds.bytesOf(item);
  };
  return bounds.within(whole, done, async () => ({ result: await make(note), stored: written }));
}

/** Items of one step. */
export function pageItemsOf(dim: number): number {
  return Math.max(1, Math.min(PAGE_ITEMS_MAX, Math.floor(PAGE_BYTES / (dim * Float32Array.BYTES_PER_ELEMENT))));
}

/** Bytes of ids and metadata that each of so many shards is asked for at once. */
export function foundBytesOf(shards: number): number {
  return Math.max(FOUND_BYTES_MIN, Math.floor(FOUND_BYTES / shards));
}

function shardsOf(positions: { shard: number }[]): number[] {
  return positions.map(({ shard }) => shard);
}

/**
 * The kind of the original error no longer tells whether anything was written, unless it says that more is beyond a
 * limit, or is refused: to repeat the call would not help.
 */
export function brokenOff(error: QuiverError, count: number, { done }: FilteredWrite): QuiverError {
  if (error.kind === 'not_found') return error;
  if (error.kind === 'limit_exceeded' || error.kind === 'invalid_parameter')
    return new QuiverError(error.kind, `${count} vectors were ${done}, then: ${error.message}`, { cause: error });
  const message = `${count} vectors were ${done}, then: ${error.message}; repeat the call for the rest`;
  return new QuiverError('commit_unknown', message, { cause: error, details: { ...error.details, done: count } });
}
