import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type {
  CallOptions,
  ItemOperation,
  PatchOperation,
  ShardClient,
  UpsertOperation,
} from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import type { CollectionRecord } from '../collections/collection-record';
import type { QuotaAdmission } from '../collections/quota-ledger';
import type { Once } from '../idempotency/write-dedup';
import { type KeyQuotaAdmission, type KeyWriter, NOTHING_WRITTEN, type Written } from '../keys/quota/key-quota';
import type { ScatterGather } from '../routing/scatter-gather';
import type { ShardSets } from '../routing/shard-sets';
import { dedupRecordsOf } from './begun-write';
import { storedBytesOf } from './stored-bytes';
import type { EncodedWriteOptions } from '../routing/encoded-writes';
import type { EncodedItems, UpsertStatus } from '../service';
import type { ItemResult, ItemWrites, RemakeVectors } from './item-writes';

/** What is about to be written. */
interface Intended {
  /** Ids of the items that it may add, each once. */
  ids: string[];
  /** All that it stores. */
  written: Written;
  /** Names a write that is done once. */
  once?: string | undefined;
  /** Whether the call has written before. */
  isPart?: boolean;
}

/** How a write is made. */
interface BoundedWriteOptions {
  once?: Once | undefined;
  writer?: KeyWriter | undefined;
  /** As ItemWrites has it. */
  settle?: (() => Promise<void>) | undefined;
  /** By which the write can be revoked; none of the others goes with it. */
  token?: string | undefined;
  remake?: RemakeVectors | undefined;
}

/** A write that was let through. */
interface Admission {
  /** What it came to: items that are new to the collection, and all that it stored; null: that is not known. */
  settle(added: number | null, written: Written | null): void;
}

/** Makes writes that may store more within the quota of their collection, and of the key that makes them. */
export class BoundedWrites {
  constructor(
    private readonly parts: {
      writes: ItemWrites;
      quotas: QuotaAdmission;
      keyQuotas: KeyQuotaAdmission;
      shards: Pick<ShardClient, 'read'>;
      scatter: ScatterGather;
      sets: ShardSets<CollectionRecord>;
      clock: Pick<Clock, 'wallMs'>;
    },
  ) {}

  /** Whether writes to the collection by this key are bounded at all. */
  static areBounded({ quota }: CollectionRecord, writer: KeyWriter | undefined): boolean {
    return quota !== undefined || writer !== undefined;
  }

  /**
   * Makes a write within the quotas, where there are some. One that was begun before was within them then, and is
   * completed or answered again however full the collection is by now. Errors: limit_exceeded; those of the write.
   */
  async write(
    collection: CollectionRecord,
    operations: ItemOperation[],
    call: CallOptions,
    { once, writer, settle, token, remake }: BoundedWriteOptions,
  ): Promise<ItemResult[]> {
    const { writes } = this.parts;
    // What has vectors of another model by then is taken over with such ones: that is what it comes to.
    let { dim } = collection;
    const remaking: RemakeVectors | undefined =
      remake &&
      (async (current, left) => {
        await remake(current, left);
        ({ dim } = current);
      });
    const make = (by?: Once, settling?: () => Promise<void>): Promise<ItemResult[]> =>
      token === undefined
        ? writes.write(collection, operations, call, by, settling, remaking)
        : writes.writeRevocable(collection, operations, call, token, remaking);
    if (!BoundedWrites.areBounded(collection, writer)) return make(once, settle);
    const ids = operations.flatMap(({ type, externalId }) => (type === 'upsert' ? [externalId] : []));
    const whole = writtenBy(operations, collection.dim);
    const intended: Intended = { ids: [...new Set(ids)], written: whole, once: once && `${once.token} ${once.digest}` };
    const admission = await this.admit(
      collection,
      writer,
      intended,
      async () => once !== undefined && (await this.isBegun(collection, once, call)),
    );
    let isRepeated = false;
    const watched = once && {
      ...once,
      repeated: () => {
        isRepeated = true;
        once.repeated();
      },
    };
    let isUnsettled = false;
    const settling =
      settle &&
      (() =>
        settle().catch((error: unknown) => {
          isUnsettled = true;
          throw error;
        }));
    try {
      const results = await make(watched, settling);
      // What a repetition answers was counted the first time.
      if (isRepeated) admission?.settle(0, NOTHING_WRITTEN);
      else
        admission?.settle(
          results.filter(({ outcome }) => outcome === 'inserted').length,
          storedOf(operations, results, dim === collection.dim ? whole : writtenBy(operations, dim), dim),
        );
      return results;
    } catch (error) {
      admission?.settle(null, isUnsettled || wroteNothing(error) ? NOTHING_WRITTEN : null);
      throw error;
    }
  }

  /** As ItemWrites.writeEncoded, within the quotas. `ids`: those of the items. Errors also: limit_exceeded. */
  async writeEncoded(
    collection: CollectionRecord,
    items: EncodedItems,
    call: CallOptions,
    { writer, ids, ...options }: EncodedWriteOptions & { writer: KeyWriter | undefined; ids: string[] },
  ): Promise<{ statuses: UpsertStatus[]; versions: (number | null)[] }> {
    const { writes } = this.parts;
    if (!BoundedWrites.areBounded(collection, writer)) return writes.writeEncoded(collection, items, call, options);
    const whole: Written = { items: items.count, bytes: items.storedBytes() };
    const intended: Intended = { ids: [...new Set(ids)], written: whole };
    const admission = await this.admit(collection, writer, intended, async () => false);
    try {
      const written = await writes.writeEncoded(collection, items, call, options);
      // Without conditions, all of it is stored.
      admission?.settle(written.statuses.filter((status) => status === 'inserted').length, whole);
      return written;
    } catch (error) {
      admission?.settle(null, wroteNothing(error) ? NOTHING_WRITTEN : null);
      throw error;
    }
  }

  /**
   * Lets a part of a call that changes what matches through, makes it, and counts what it says that it stored. Errors:
   * limit_exceeded; those of the part.
   */
  async part<Result>(
    collection: CollectionRecord,
    writer: KeyWriter | undefined,
    { written, isPart }: { written: Written; isPart: boolean },
    make: () => Promise<{ result: Result; stored: Written }>,
  ): Promise<Result> {
    const admission = await this.admit(collection, writer, { ids: [], written, isPart }, async () => false);
    let stored: Written | null = null;
    try {
      const made = await make();
      stored = made.stored;
      return made.result;
    } finally {
      admission?.settle(0, stored);
    }
  }

  /**
   * null: it is let through though it is beyond a quota, as it was begun before. Errors: limit_exceeded; unavailable.
   */
  private async admit(
    collection: CollectionRecord,
    writer: KeyWriter | undefined,
    { ids, written, once, isPart = false }: Intended,
    isBegun: () => Promise<boolean>,
  ): Promise<Admission | null> {
    const { quotas } = this.parts;
    const admission = writer?.admission ?? this.parts.keyQuotas;
    const refused = async (error: unknown, note: () => void): Promise<null> => {
      const isExcess = isQuiverError(error) && error.kind === 'limit_exceeded';
      if (isExcess && (await isBegun())) return null;
      if (isExcess) note();
      throw error;
    };
    const charge =
      writer === undefined
        ? undefined
        : await admission
            .take(writer, written)
            .catch((error: unknown) => refused(error, () => admission.noteRefusal()));
    if (charge === null) return null;
    let reservation: number | null | undefined;
    try {
      const intended = { ids, bytes: written.bytes, once, isPart };
      reservation =
        collection.quota === undefined
          ? undefined
          : await quotas
              .reserve(collection, intended)
              .catch((error: unknown) => refused(error, () => quotas.noteRefusal()));
    } catch (error) {
      if (charge !== undefined) admission.settle(charge, NOTHING_WRITTEN);
      throw error;
    }
    return {
      settle: (added, stored) => {
        if (typeof reservation === 'number') quotas.settle(reservation, added);
        if (charge !== undefined) admission.settle(charge, stored);
      },
    };
  }

  /** Whether some shard has done its part of the write. Errors: key_reused; those of the shards. */
  async isBegun(collection: CollectionRecord, once: Once, call: CallOptions): Promise<boolean> {
    const { scatter, shards, sets, clock } = this.parts;
    const marks = await sets.inOne(collection, call, (current) =>
      dedupRecordsOf({ scatter, shards }, current, once, clock.wallMs(), call),
    );
    return marks.some((dedup) => dedup !== null);
  }
}

/** What was stored of all that was sent. */
function storedOf(
  operations: readonly ItemOperation[],
  results: readonly ItemResult[],
  whole: Written,
  dim: number,
): Written {
  const isStored = ({ outcome }: ItemResult): boolean => outcome === 'inserted' || outcome === 'updated';
  if (results.every(isStored)) return whole;
  return writtenBy(
    operations.filter((_, i) => isStored(results[i])),
    dim,
  );
}

/** What operations store; those that delete store nothing. */
function writtenBy(operations: readonly ItemOperation[], dim: number): Written {
  const storing = operations.filter(
    (operation): operation is UpsertOperation | PatchOperation => operation.type !== 'delete',
  );
  return { items: storing.length, bytes: storing.reduce((sum, operation) => sum + storedBytesOf(operation, dim), 0) };
}

/** Whether an error says so. */
function wroteNothing(error: unknown): boolean {
  if (!isQuiverError(error)) return false;
  if (error.kind === 'conflict') return error.shown?.written === undefined;
  return ['not_found', 'limit_exceeded', 'key_reused', 'remodelled'].includes(error.kind);
}
