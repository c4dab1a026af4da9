import { type DedupRecord, DEDUP_BYTES_MAX } from '../../../../shared/contract/writes/dedup-record';
import { movedDedup } from '../../../../shared/contract/writes/moved-dedup-record';
import type { ShardId } from '../../../../shared/contract/shard/shard-client';
import type { KeyValueChange, KeyValueStore } from '../../kv/key-value-store';
import {
  type DedupUsage,
  DedupStore,
  NO_DEDUP,
  placeToBytes,
  storedDedup,
  usageToBytes,
} from '../../records/dedup-store';
import { dedupKey, dedupOrderKey, DEDUP_USAGE_KEY } from '../../records/record-keys';
import { DedupTable } from '../writing/dedup-table';

/** Marks that are put at once. */
const PAGE = 256;

/** The marks with which a new shard begins, so that what was done is not done again there. */
export class SeededDedup {
  private readonly marks: DedupStore;
  private used: DedupUsage = NO_DEDUP;

  constructor(private readonly store: KeyValueStore) {
    this.marks = new DedupStore(store);
  }

  /** Those of the one shard whose place it takes, as they are. */
  async take(records: readonly DedupRecord[]): Promise<void> {
    for (let at = 0; at < records.length; at += PAGE) {
      const changes: KeyValueChange[] = [];
      for (const record of records.slice(at, at + PAGE)) {
        const { place, value } = storedDedup(record);
        changes.push(
          { type: 'put', key: dedupKey(record.token), value },
          { type: 'put', key: dedupOrderKey(place.sequence), value: placeToBytes(place) },
        );
        this.used = {
          count: this.used.count + 1,
          bytes: this.used.bytes + place.bytes,
          lastSequence: Math.max(this.used.lastSequence, place.sequence),
        };
      }
      await this.store.write([...changes, { type: 'put', key: DEDUP_USAGE_KEY, value: usageToBytes(this.used) }], {
        sync: false,
      });
    }
  }

  /** What it needs of those of one of several shards, in their order: as a reshard does. */
  async takeMoved(
    records: readonly DedupRecord[],
    { from, oldShards, to, newShards }: { from: ShardId; oldShards: number; to: number; newShards: number },
  ): Promise<void> {
    for (let at = 0; at < records.length; at += PAGE) {
      const page = records.slice(at, at + PAGE);
      const table = await DedupTable.read(this.marks, this.used, page);
      // Nothing expires by being moved.
      for (const record of page)
        table.merge(
          { record: movedDedup(record, { from, to, newShards }), shards: oldShards, rest: from.shard },
          { nowMs: 0, bytesMax: DEDUP_BYTES_MAX },
        );
      await this.store.write(table.changes(), { sync: false });
      this.used = table.usage;
    }
  }
}
