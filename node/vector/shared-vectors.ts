import type { SearchEffort } from '../../shared/shard/shard-read';
import type { SlotScores } from '../slots/slot-scores';
import { EFFORT, nativeBinding } from './native-binding';

/**
 * Searches the vector index with this number (VectorIndex.share) on the calling thread, whichever owns the index: the
 * answer of VectorIndex.search. With `filter`, over the slots that pass it in the filter index with that number
 * (FilterIndex.share). null: an index is closed, the query of another dimension, its files or the memory fail, items are in
 * no list of the filter index, or the search is expected to take more than a millisecond (node/native/search.cc). Errors:
 * those of an addon that was not built.
 */
export function searchSharedVectors(
  number: number,
  query: Float32Array,
  { k, effort, filter, counted }: { k: number; effort: SearchEffort; filter: { index: number; program: Uint32Array } | null; counted?: true | undefined },
): SlotScores | null {
  return nativeBinding().searchInline(number, query, k, EFFORT[effort.type], effort.type === 'ef' ? effort.ef : 0, filter?.index ?? null, filter?.program ?? null, counted);
}
