import { type DedupRecord, DEDUP_BYTES_MAX, dedupToBytes } from '../../../shared/contract/writes/dedup-record';
import { movedDedup } from '../../../shared/contract/writes/moved-dedup-record';
import type { DedupOperation, ShardId } from '../../../shared/contract/shard/shard-client';

/** Marks that are read at once. */
export const DEDUP_PAGE = 256;

/** Gives a new shard what it has to remember of a mark of an old one. */
export function importedDedup(
  record: DedupRecord,
  {
    from,
    oldShards,
    to,
    newShards,
    term,
  }: { from: ShardId; oldShards: number; to: number; newShards: number; term: number },
): DedupOperation {
  return {
    type: 'dedup',
    token: record.token,
    digest: record.digest,
    // Nothing expires by being moved.
    nowMs: 0,
    keptMs: oldShards,
    bytesMax: DEDUP_BYTES_MAX,
    step: from.shard,
    note: dedupToBytes(movedDedup(record, { from, to, newShards })).toString('base64'),
    term,
  };
}
