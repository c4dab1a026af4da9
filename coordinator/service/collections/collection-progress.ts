import type { IndexProgress } from '../../../shared/contract/shard/shard-read';
import type { CollectionProgress } from '../service';

const STATES = ['indexing', 'compacting', 'refining', 'measuring', 'ready'] as const;

/**
 * A node of an earlier version does not tell its progress (null): its shard counts as ready, and its rows don't count.
 */
export function collectionProgress(shards: (IndexProgress | null)[]): CollectionProgress {
  const known = shards.filter((shard) => shard !== null);
  const sum = (count: (shard: IndexProgress) => number) => known.reduce((total, shard) => total + count(shard), 0);
  const state = STATES.find((candidate) => known.some((shard) => shard.state === candidate)) ?? 'ready';
  const rows = sum((shard) => shard.rows);
  const indexedRows = sum((shard) => shard.indexedRows);
  const refinedRows = sum((shard) => shard.refinedRows);
  const isUnknown = known.some(({ secondsLeft }) => secondsLeft === null);
  return {
    state,
    rows,
    indexedRows,
    refinedRows,
    fraction: state === 'ready' || rows === 0 ? 1 : (indexedRows + refinedRows) / (2 * rows),
    secondsLeft: isUnknown ? null : Math.max(0, ...known.map(({ secondsLeft }) => secondsLeft ?? 0)),
    optimizing: known.some(({ optimizing }) => optimizing),
  };
}
