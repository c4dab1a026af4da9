import { bothFilters, type Filter } from '../../../../shared/contract/filter/filter';
import { inSlices, resultOf } from '../../../../shared/base/time/work-slices';
import type { ListPart, VectorSearch } from '../../../../shared/contract/shard/shard-read';
import { ChunkedSlotSet } from '../../slots/chunked-slot-set';
import type { SlotScores } from '../../slots/slot-scores';
import type { SlotSet } from '../../slots/slot-set';
import type { ShardIndexes } from '../shard-indexes';
import { cutTiedSlots, cutTies, type NamedSlots } from './border-ties';
import { BoostedList } from './boosted-list';
import { isAsItWas, type ListSearch, type VersionedSlots } from './list-parts';
import type { FoundHit, ScoredSlot } from './ordered-hits';
import type { SearchCounter } from './search-counter';
import type { ShardBoosts } from './shard-boosts';
import { firstWhere } from './sorted-in-steps';

/**
 * `first`: how long a list is at first, or twice the answer; so much more costs a walk little. `all`: so few are all
 * read. `known`, `unknown`: the longest lists, where it is known what boosts can make of items, and where it is not; at
 * least eight times the answer.
 */
const BOUNDS = { first: 64, all: 512, known: 65_536, unknown: 8_192 };
const FACTORS = { first: 2, most: 8 };
/** Scores that are looked at before others are served. */
const SCORES_PER_STEP = 8_192;
const NOTHING = { slots: new Uint32Array(0), scores: new Float64Array(0), numbers: new Float64Array(0) };

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
  { list, boosts, counter, deepest: given }: BoostedRead & { list: BoostedList },
  bounds = BOUNDS,
): Promise<number | undefined> {
  const deepest = given ?? Math.max(boosts.most === Infinity ? bounds.unknown : bounds.known, FACTORS.most * k);
  for (let within = filter; ;) {
    const allowed = within === null ? null : filters.resolve(within);
    const count = allowed === null ? directory.liveCount : allowed.size;
    counter?.filtered(count);
    if (count === 0) return void resultOf(list.take({ found: NOTHING, last: null }));
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
    list.deepen(deepest);
  }
}

/** What changes the scores of a list, and what it took. `deepest`: how much of it is read at most. */
interface BoostedRead {
  boosts: ShardBoosts;
  counter: SearchCounter | null;
  deepest?: number;
}

/**
 * The list of which a part is asked for. What all pages of it have to agree on does not depend on how deep they are:
 * where its best can't be known without reading more than `bounds.known` of the items that have not changed, it is that
 * of these alone, and ends with them.
 */
export function boostedParts(
  indexes: Pick<ShardIndexes, 'filters' | 'directory' | 'vectors'>,
  request: VectorSearch,
  { versionMax }: Pick<ListPart, 'versionMax'>,
  { boosts, counter }: BoostedRead,
  bounds = BOUNDS,
): Required<Pick<ListSearch, 'known' | 'bounded'>> {
  const { directory, filters, vectors } = indexes;
  const { vector, filter, effort, counted } = request;
  const deepest = bounds.known;
  const { mode, most } = boosts;
  const allowed = (): SlotSet | null => (filter === null ? null : filters.resolve(filter));
  return {
    known: async (k) => {
      const count = allowed()?.size ?? directory.liveCount;
      // Where a number may be any, no depth tells what is behind; and no more than `deepest` hits are sure.
      if (count > deepest && (k >= 2 * deepest || most === Infinity)) return null;
      const list = new BoostedList(k, {
        mode,
        most,
        depth: Math.min(firstDepth(k, bounds.first), deepest),
        isTied: true,
      });
      const read = { list, boosts, counter, deepest };
      if ((await readBoosted(indexes, { ...request, k }, read, bounds)) !== undefined)
        return { found: await inSlices(list.sure()), isWhole: false, isShort: true };
      const found = await inSlices(list.found());
      return { found, isWhole: found.slots.length < k };
    },
    bounded: async () => {
      for (let k = deepest; ;) {
        const found = await vectors.search(vector, { k, effort, allowed: allowed(), counted });
        counter?.searched(found);
        const asItWas = await inSlices(unchanged(directory, found, versionMax));
        const lacking = deepest - asItWas.slots.length;
        if (lacking > 0 && found.slots.length >= k && k < directory.liveCount) {
          // It doubles at least: most of the items may have changed.
          k = Math.min(Math.max(2 * k, k + 2 * lacking), directory.liveCount);
          continue;
        }
        const first = await inSlices(firstOf(directory, asItWas, deepest));
        const list = new BoostedList(Infinity, { mode, most, depth: deepest, isTied: true });
        await inSlices(list.take({ found: await inSlices(boosts.numbered(first)), last: null }));
        return { found: await inSlices(list.found()), isWhole: true, boostDepth: deepest };
      }
    },
  };
}

/** Of slots those whose items have not changed since the version. In steps. */
function* unchanged(
  items: VersionedSlots,
  { slots, scores }: SlotScores,
  versionMax: number,
): Generator<undefined, SlotScores> {
  const kept = { slots: new Uint32Array(slots.length), scores: new Float64Array(slots.length) };
  let size = 0;
  for (let i = 0; i < slots.length; i += 1) {
    if (isAsItWas(items, slots[i], versionMax)) {
      kept.slots[size] = slots[i];
      kept.scores[size++] = scores[i];
    }
    if (i % SCORES_PER_STEP === SCORES_PER_STEP - 1) yield;
  }
  return { slots: kept.slots.subarray(0, size), scores: kept.scores.subarray(0, size) };
}

/** The first `count`, in the order of answers; all that tie with the last of them are there. */
function firstOf(
  items: VersionedSlots,
  { slots, scores }: SlotScores,
  count: number,
): Generator<undefined, SlotScores> {
  const end = slots.length <= count ? slots.length : firstWhere(slots.length, (at) => scores[at] < scores[count - 1]);
  return cutTiedSlots(items, { slots: slots.subarray(0, end), scores: scores.subarray(0, end) }, count);
}

/** `isTied`: as BoostedList has it. */
export function boostedList({ mode, most }: ShardBoosts, k: number, isTied: boolean): BoostedList {
  return new BoostedList(k, { mode, most, depth: firstDepth(k), isTied });
}

/** A list of keywords, and what changes its scores. */
interface BoostedSteps {
  boosts: ShardBoosts;
  /** The first ones of the list, in any order; of `within` alone, where that is given. */
  listOf(count: number, within?: SlotSet): Generator<undefined, SlotScores>;
}

/** A search of keywords with boosts. */
export interface BoostedKeywords extends BoostedSteps {
  k: number;
  items: NamedSlots;
  /** The slots to which items have moved since the search began. */
  moved(): readonly number[];
  /** null: one of the slots was emptied meanwhile. */
  made(scored: ScoredSlot[], round: number): FoundHit[] | null | Promise<FoundHit[] | null>;
  /** How often the list is read again, where items of it were deleted meanwhile. */
  attemptsMax: number;
  /** From this round on, what has changed is read in one turn. */
  lastRound: number;
}

/**
 * The same of a list of keywords, which is read to its end if need be. That may take long: items that are replaced
 * meanwhile are looked up by themselves, and only where too many of the best are gone the list is read again.
 */
export async function boostedKeywords(search: BoostedKeywords): Promise<FoundHit[]> {
  const { k, boosts, items, attemptsMax, lastRound } = search;
  let wanted = k;
  for (let attempt = 1; ; attempt++) {
    const list = boostedList(boosts, wanted, false);
    await inSlices(listSteps(search, list));
    const taken = new Set<number>();
    for (let round = 1; ; round++) {
      const steps = renewed(search, list, taken);
      const scored = round < lastRound ? await inSlices(steps) : resultOf(steps);
      if (scored === null) continue;
      // What is not among those may be better than what is left of them.
      if (scored.length < k && list.bound > -Infinity && attempt < attemptsMax) {
        wanted = k + 2 * (wanted - scored.length);
        break;
      }
      const making = search.made(scored, round);
      const hits = making instanceof Promise ? await making : making;
      if (hits !== null && hits.every(({ slot }) => items.isLive(slot))) return hits;
    }
  }
}

/** The best `k` as they are, and all that tie with the last. */
export async function firstBoosted(steps: BoostedSteps, k: number): Promise<SlotScores> {
  const list = boostedList(steps.boosts, k, false);
  await inSlices(listSteps(steps, list));
  return inSlices(list.found());
}

function* listSteps({ listOf, boosts }: BoostedSteps, list: BoostedList): Generator<undefined, void> {
  for (;;) {
    const listed = yield* listOf(list.depth);
    const found = yield* boosts.numbered(listed);
    const isWhole = listed.slots.length < list.depth;
    const last = isWhole ? null : yield* leastOf(listed.scores);
    if (yield* list.take({ found, last })) return;
    list.deepen();
  }
}

function* leastOf(scores: Float64Array): Generator<undefined, number> {
  let least = Infinity;
  for (let i = 0; i < scores.length; i += 1) {
    if (scores[i] < least) least = scores[i];
    if (i % SCORES_PER_STEP === SCORES_PER_STEP - 1) yield;
  }
  return least;
}

/**
 * The best of a list, with the new versions of what was replaced; null: some of these were replaced themselves.
 * `taken`: those that it has already.
 */
function* renewed(
  { listOf, boosts, items, moved }: BoostedKeywords,
  list: BoostedList,
  taken: Set<number>,
): Generator<undefined, ScoredSlot[] | null> {
  yield* list.drop((slot) => !items.isLive(slot));
  const added = moved().filter((slot) => !taken.has(slot));
  for (const slot of added) taken.add(slot);
  if (added.length > 0) {
    const listed = yield* listOf(added.length, ChunkedSlotSet.fromArray(added));
    yield* list.take({ found: yield* boosts.numbered(listed), last: null });
  }
  const { scored } = yield* cutTies(items, yield* list.found(), list.k);
  return added.every((slot) => items.isLive(slot)) ? scored : null;
}
