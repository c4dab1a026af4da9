import { type MarkRecord, MARKS_BYTES_MAX } from '../../../../shared/contract/writes/dedup-record';
import { movedMark } from '../../../../shared/contract/writes/moved-dedup-record';
import type { ShardId } from '../../../../shared/contract/shard/shard-client';
import type { KeyValueChange, KeyValueStore } from '../../kv/key-value-store';
import { type MarkUsage, MarkStore, NO_MARKS, placeToBytes, storedMark, usageToBytes } from '../../records/dedup-store';
import { markKey, markOrderKey, MARKS_KEY } from '../../records/record-keys';
import { MarkTable } from '../writing/dedup-table';

/** Marks that are put at once. */
const PAGE = 256;

/** The marks with which a new shard begins, so that what was done is not done again there. */
export class SeededMarks {
  private readonly marks: MarkStore;
  private used: MarkUsage = NO_MARKS;

  constructor(private readonly store: KeyValueStore) {
    this.marks = new MarkStore(store);
  }

  /** Those of the one shard whose place it takes, as they are. */
  async take(records: readonly MarkRecord[]): Promise<void> {
    for (let at = 0; at < records.length; at += PAGE) {
      const changes: KeyValueChange[] = [];
      for (const record of records.slice(at, at + PAGE)) {
        const { place, value } = storedMark(record);
        changes.push(
          { type: 'put', key: markKey(record.token), value },
          { type: 'put', key: markOrderKey(place.sequence), value: placeToBytes(place) },
        );
        this.used = {
          count: this.used.count + 1,
          bytes: this.used.bytes + place.bytes,
          lastSequence: Math.max(this.used.lastSequence, place.sequence),
        };
      }
      await this.store.write([...changes, { type: 'put', key: MARKS_KEY, value: usageToBytes(this.used) }], {
        sync: false,
      });
    }
  }

  /** What it needs of those of one of several shards, in their order: as a reshard does. */
  async takeMoved(
    records: readonly MarkRecord[],
    { from, oldShards, to, newShards }: { from: ShardId; oldShards: number; to: number; newShards: number },
  ): Promise<void> {
    for (let at = 0; at < records.length; at += PAGE) {
      const page = records.slice(at, at + PAGE);
      const table = await MarkTable.read(this.marks, this.used, page);
      // Nothing expires by being moved.
      for (const record of page)
        table.merge(
          { record: movedMark(record, { from, to, newShards }), shards: oldShards, rest: from.shard },
          { nowMs: 0, bytesMax: MARKS_BYTES_MAX },
        );
      await this.store.write(table.changes(), { sync: false });
      this.used = table.usage;
    }
  }
}
