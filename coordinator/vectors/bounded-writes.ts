import { isQuiverError } from '../../shared/errors/quiver-error';
import type { CallOptions, PatchOperation, ShardClient, UpsertOperation } from '../../shared/shard/shard-client';
import type { Clock } from '../../shared/time/clock';
import type { CollectionRecord } from '../collections/collection-record';
import type { IntendedWrite, QuotaGate } from '../collections/quota-ledger';
import type { Once } from '../idempotency/write-mark';
import type { ScatterGather } from '../routing/scatter-gather';
import type { ShardSets } from '../routing/shard-sets';
import { marksOf } from './begun-write';
import type { ItemResult, ItemWrites } from './item-writes';

/** Makes writes that may store more within the quota of their collection. */
export class BoundedWrites {
  constructor(
    private readonly parts: {
      writes: ItemWrites;
      quotas: QuotaGate;
      shards: Pick<ShardClient, 'read'>;
      scatter: ScatterGather;
      sets: ShardSets<CollectionRecord>;
      clock: Pick<Clock, 'wallMs'>;
    },
  ) {}

  /**
   * Makes a write within the collection's quota, if it has one. One that was begun before was within it then, and is
   * completed or answered again however full the collection is by now. Errors: limit_exceeded; those of the write.
   */
  async write<Operation extends UpsertOperation | PatchOperation>(collection: CollectionRecord, operations: Operation[], call: CallOptions, once: Once | undefined): Promise<ItemResult[]> {
    const { quotas, writes } = this.parts;
    if (collection.quota === undefined) return writes.write(collection, operations, call, once);
    const ids = operations.flatMap(({ type, externalId }) => (type === 'upsert' ? [externalId] : []));
    const write: IntendedWrite = { ids: [...new Set(ids)], bytes: operations.reduce((sum, operation) => sum + bytesOf(operation), 0), once: once && `${once.token} ${once.digest}` };
    const reservation = await quotas.reserve(collection, write).catch(async (error: unknown) => {
      if (once === undefined || !isQuiverError(error) || error.kind !== 'limit_exceeded' || !(await this.isBegun(collection, once, call))) throw error;
      return null;
    });
    let added: number | null = null;
    let isRepeated = false;
    const watched = once && {
      ...once,
      repeated: () => {
        isRepeated = true;
        once.repeated();
      },
    };
    try {
      const results = await writes.write(collection, operations, call, watched);
      // What a repetition answers was counted the first time.
      added = isRepeated ? 0 : results.filter(({ outcome }) => outcome === 'inserted').length;
      return results;
    } finally {
      if (reservation !== null) quotas.settle(reservation, added);
    }
  }

  /** Whether some shard has done its part of the write. Errors: key_reused; those of the shards. */
  private async isBegun(collection: CollectionRecord, once: Once, call: CallOptions): Promise<boolean> {
    const { scatter, shards, sets, clock } = this.parts;
    const marks = await sets.inOne(collection, call, (current) => marksOf({ scatter, shards }, current, once, clock.wallMs(), call));
    return marks.some((mark) => mark !== null);
  }
}

/** About what an operation stores. */
function bytesOf({ externalId, vector, metadata, text }: UpsertOperation | PatchOperation): number {
  const json = typeof metadata === 'string' ? metadata : metadata?.json;
  return Buffer.byteLength(externalId) + (vector?.byteLength ?? 0) + Buffer.byteLength(json ?? '') + Buffer.byteLength(text ?? '');
}
