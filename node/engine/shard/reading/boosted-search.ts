import { bothFilters, type Filter } from '../../../../shared/contract/filter/filter';
import { inSlices, resultOf } from '../../../../shared/base/time/work-slices';
import type { VectorSearch } from '../../../../shared/contract/shard/shard-read';
import type { SlotScores } from '../../slots/slot-scores';
import type { ShardIndexes } from '../shard-indexes';
import { cutTies, type NamedSlots } from './border-ties';
import { BoostedList } from './boosted-list';
import type { ScoredSlot } from './ordered-hits';
import type { SearchCounter } from './search-counter';
import type { ShardBoosts } from './shard-boosts';

/**
 * `first`: how long a list is at first, or twice the answer; so much more costs a walk little. `all`: so few are all
 * read. `known`, `unknown`: the longest lists, where it is known what boosts can make of items, and where it is not; at
 * least eight times the answer.
 */
const BOUNDS = { first: 64, all: 512, known: 65_536, unknown: 8_192 };
const FACTORS = { first: 2, most: 8 };

export function firstDepth(k: number, first = BOUNDS.first): number {
  return Math.max(first, FACTORS.first * k);
}

/**
 * Reads a list of vectors until the best of it by boosted scores are known. What lies behind its beginning needs a
 * great number to be among them: where a filter tells which items may have it, these alone are read on. So what is far
 * from the query and has a great number is found as well as what is near. Answers how many were read if that was not
 * enough.
 */
export async function readBoosted(
  { filters, directory, vectors }: Pick<ShardIndexes, 'filters' | 'directory' | 'vectors'>,
  { vector, filter, effort, counted, k }: VectorSearch,
  { list, boosts, counter }: { list: BoostedList; boosts: ShardBoosts; counter: SearchCounter | null },
  bounds = BOUNDS,
): Promise<number | undefined> {
  const deepest = Math.max(boosts.most === Infinity ? bounds.unknown : bounds.known, FACTORS.most * k);
  for (let within = filter; ;) {
    const allowed = within === null ? null : filters.resolve(within);
    const count = allowed === null ? directory.liveCount : allowed.size;
    counter?.filtered(count);
    if (count === 0) return void resultOf(list.take({ found: [], last: null }));
    const wanted = count <= bounds.all ? count : Math.min(list.depth, count);
    const found = await vectors.search(vector, { k: wanted, effort, allowed, counted });
    counter?.searched(found);
    const { slots, scores } = found;
    const isWhole = slots.length < wanted || slots.length >= count;
    const part = { found: await inSlices(boosts.numbered(found)), last: isWhole ? null : scores[slots.length - 1] };
    if (await inSlices(list.take(part))) return undefined;
    const narrower: Filter | null = boosts.reaching(list.least);
    if (narrower !== null) {
      const next = bothFilters(filter, narrower);
      await filters.prepare(next);
      const left = filters.resolve(next).size;
      if (left < count) within = next;
      // The beginning of a much shorter list is read first.
      if (2 * left <= count) continue;
    }
    if (list.depth >= deepest) return list.depth;
    list.deepen();
  }
}

/**
 * The same of a list of keywords, of which `listOf` has the first ones: it is read to its end if need be. null: one of
 * the slots was emptied meanwhile.
 */
export function* boostedSteps(
  listOf: (count: number) => Generator<undefined, SlotScores>,
  k: number,
  boosts: ShardBoosts,
  items: NamedSlots,
): Generator<undefined, ScoredSlot[] | null> {
  const { mode, most } = boosts;
  const list = new BoostedList(k, { mode, most, depth: firstDepth(k), isTied: false });
  for (;;) {
    const listed = yield* listOf(list.depth);
    const found = yield* boosts.numbered(listed);
    const { slots, scores } = listed;
    if (found.length < slots.length) return null;
    const isOver = yield* list.take({ found, last: slots.length < list.depth ? null : scores[slots.length - 1] });
    if (isOver) {
      const { scored } = yield* cutTies(items, list.found, k);
      return scored.every(({ slot }) => items.isLive(slot)) ? scored : null;
    }
    list.deepen();
  }
}
