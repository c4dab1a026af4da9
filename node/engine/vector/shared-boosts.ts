import type { Boosts, DecayOrigin } from '../../../shared/contract/shard/boosts';
import type { SearchEffort } from '../../../shared/contract/shard/shard-read';
import type { SlotSearchCost } from '../slots/slot-scores';
import { effortNumbers, nativeBinding } from './native-binding';

/** Numbers that the room begins with; it grows. */
const ROOM = 8_192;

let room = new Float64Array(ROOM);
const counts = new Float64Array(6);

/** The indexes of a shard, by their numbers (VectorIndex.share, FilterIndex.share). */
export interface SharedIndexes {
  vectors: number;
  filters: number;
}

/** Boosts, and the same in the addon's form (boostProgram). */
export interface WrittenBoosts {
  boosts: Boosts;
  program: Uint32Array;
}

/**
 * What boosts look at of the first `count` of `slots`, on the calling thread. First the least and the greatest number
 * of each boost (the least is the greater: there are none), then the values of each slot: of a filter 1 or 0, a number
 * or a time, a latitude and a longitude; NaN: it has none; Infinity: its metadata tell. It holds until the next call of
 * this module on this thread. null: it is not prepared (FilterIndex.prepareBoosts), takes long, items are in no list,
 * or the index is gone.
 */
export function sharedBoostValues(
  { filters }: SharedIndexes,
  { boosts, program }: WrittenBoosts,
  slots: Float64Array,
  count: number,
): Float64Array | null {
  const size = 2 * boosts.parts.length + count * valuesOf(boosts);
  if (room.length < size) room = new Float64Array(2 * size);
  return nativeBinding().boostValues(filters, program, slots, count, room) ? room : null;
}

/**
 * Searches by boosted scores on the calling thread, as searchSharedVectors: `count` slots, among them the best k and
 * all that tie with the last, in no order. In `found` are one after the other the slot, its unboosted score, and its
 * values as of sharedBoostValues; that holds as long. `cost`: what it took, as long. null: also where what may be among
 * the best lies too far apart for one search.
 */
export function searchSharedBoosted(
  { vectors, filters }: SharedIndexes,
  query: Float32Array,
  { k, effort, filter, program }: { k: number; effort: SearchEffort; filter: Uint32Array | null; program: Uint32Array },
): { found: Float64Array; count: number; cost: () => Partial<SlotSearchCost> } | null {
  const [kind, given] = effortNumbers(effort);
  const count = nativeBinding().searchBoosted(vectors, query, k, kind, given, filters, filter, program, room, counts);
  return count === null ? null : { found: room, count, cost };
}

function cost(): Partial<SlotSearchCost> {
  const [scored, leftOut, rescored, expanded, plan, allowed] = counts;
  return { scored, leftOut, rescored, expanded, plan, allowed };
}

/** Values of one slot: one of each boost, and two of a place. */
export function valuesOf({ parts }: Boosts): number {
  return parts.reduce((sum, boost) => sum + (boost.type === 'decay' && isPlace(boost.origin) ? 2 : 1), 0);
}

export function isPlace(origin: DecayOrigin): origin is Extract<DecayOrigin, { lat: number }> {
  return typeof origin === 'object' && 'lat' in origin;
}
