import { type MarkRecord, markToBytes } from '../../shared/shard/mark-record';
import type { MarkOperation, ShardId } from '../../shared/shard/shard-client';
import { MARKS_BYTES_MAX } from './write-mark';

/** Marks that are read at once. */
export const MARKS_PAGE = 256;

/**
 * What a new shard has to remember of a mark of an old one: the outcomes of the items that it gets, and always that the write was
 * begun. How far a write in steps was is remembered by one of the new shards.
 */
export function importedMark(record: MarkRecord, { from, oldShards, to, newShards, term }: { from: ShardId; oldShards: number; to: number; newShards: number; term: number }): MarkOperation {
  const { progress, earlier } = record;
  const steps = [...earlier, ...(progress === null ? [] : [{ ...progress, origin: `${from.collectionUid}.${from.shard}` }])];
  const moved: MarkRecord = {
    ...record,
    entries: record.entries.filter(({ hash }) => hash % newShards === to),
    progress: null,
    earlier: from.shard % newShards === to ? steps : [],
  };
  return {
    type: 'mark',
    token: record.token,
    digest: record.digest,
    // Nothing expires by being moved.
    nowMs: 0,
    keptMs: oldShards,
    bytesMax: MARKS_BYTES_MAX,
    step: from.shard,
    note: markToBytes(moved).toString('base64'),
    term,
  };
}
