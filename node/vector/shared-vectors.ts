import type { SearchEffort } from '../../shared/shard/shard-read';
import type { SlotScores } from '../slots/slot-scores';
import { EFFORT, nativeBinding } from './native-binding';

/**
 * Searches the vector index with this number (VectorIndex.share) on the calling thread, whichever owns the index: the
 * answer of VectorIndex.search without a filter. null: it is closed, of another dimension, its files or the memory fail,
 * or the search is expected to take more than a millisecond (node/native/search.cc). Errors: those of an addon that was
 * not built.
 */
export function searchSharedVectors(number: number, query: Float32Array, { k, effort }: { k: number; effort: SearchEffort }): SlotScores | null {
  return nativeBinding().searchInline(number, query, k, EFFORT[effort.type], effort.type === 'ef' ? effort.ef : 0);
}
