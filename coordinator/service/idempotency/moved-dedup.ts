import { type MarkRecord, MARKS_BYTES_MAX, markToBytes } from '../../../shared/contract/writes/dedup-record';
import { movedMark } from '../../../shared/contract/writes/moved-dedup-record';
import type { MarkOperation, ShardId } from '../../../shared/contract/shard/shard-client';

/** Marks that are read at once. */
export const MARKS_PAGE = 256;

/** Gives a new shard what it has to remember of a mark of an old one. */
export function importedMark(
  record: MarkRecord,
  {
    from,
    oldShards,
    to,
    newShards,
    term,
  }: { from: ShardId; oldShards: number; to: number; newShards: number; term: number },
): MarkOperation {
  return {
    type: 'mark',
    token: record.token,
    digest: record.digest,
    // Nothing expires by being moved.
    nowMs: 0,
    keptMs: oldShards,
    bytesMax: MARKS_BYTES_MAX,
    step: from.shard,
    note: markToBytes(movedMark(record, { from, to, newShards })).toString('base64'),
    term,
  };
}
