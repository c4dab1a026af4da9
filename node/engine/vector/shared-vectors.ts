import type { SearchEffort } from '../../../shared/contract/shard/shard-read';
import type { SlotSearchCost } from '../slots/slot-scores';
import { nativeBinding, effortNumbers } from './native-binding';

/**
 * Hits that have room here cost no memory of their own. An answer has more than were asked for only where the last of
 * them are ties.
 */
const ROOM = 512;

/**
 * What was found: the first `count` of `slots`, and the score of each. It holds until the next search of this thread.
 */
export interface FoundSlots extends Partial<SlotSearchCost> {
  slots: ArrayLike<number>;
  scores: ArrayLike<number>;
  count: number;
}

const room = new Float64Array(2 * ROOM);
const found: FoundSlots = { slots: room.subarray(0, ROOM), scores: room.subarray(ROOM), count: 0 };

/**
 * Searches the vector index with this number (VectorIndex.share) on the calling thread, whichever owns the index: the
 * answer of VectorIndex.search. With `filter`, over the slots that pass it in the filter index with that number
 * (FilterIndex.share). null: an index is closed, the query of another dimension, its files or the memory fail, items
 * are in no list of the filter index, or the search is expected to take more than a millisecond
 * (node/engine/native/search/search.cc). Errors: those of an addon that was not built.
 */
export function searchSharedVectors(
  number: number,
  query: Float32Array,
  {
    k,
    effort,
    filter,
    counted,
  }: {
    k: number;
    effort: SearchEffort;
    filter: { index: number; program: Uint32Array } | null;
    counted?: true | undefined;
  },
): FoundSlots | null {
  const [kind, given] = effortNumbers(effort);
  const answer = nativeBinding().searchInline(
    number,
    query,
    k,
    kind,
    given,
    filter?.index ?? null,
    filter?.program ?? null,
    counted,
    room,
  );
  if (answer === null) return null;
  if (typeof answer !== 'number') return { ...answer, count: answer.slots.length };
  found.count = answer;
  return found;
}
