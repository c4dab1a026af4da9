import type { DedupRecord } from './dedup-record';
import type { ShardId } from '../shard/shard-client';

/**
 * What a new shard has to remember of a mark of an old one: the outcomes of the items that it gets, and always that the
 * write was begun. How far a write in steps was is remembered by one of the new shards.
 */
export function movedDedup(
  record: DedupRecord,
  { from, to, newShards }: { from: ShardId; to: number; newShards: number },
): DedupRecord {
  const { progress, earlier } = record;
  const steps = [
    ...earlier,
    ...(progress === null ? [] : [{ ...progress, origin: `${from.collectionUid}.${from.shard}` }]),
  ];
  return {
    ...record,
    entries: record.entries.filter(({ hash }) => hash % newShards === to),
    progress: null,
    earlier: from.shard % newShards === to ? steps : [],
  };
}
