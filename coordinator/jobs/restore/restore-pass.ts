import { type ErrorKind, isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { isBeingFilled } from '../../../shared/contract/shard/shard-backup';
import type { ShardClient } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import { unlessStopped } from '../../../shared/base/time/deadline';
import { RetryBackoff } from '../../../shared/base/time/retry-backoff';
import type { CollectionCatalog } from '../../service/collections/collection-catalog';
import type { CollectionQuota } from '../../service/collections/collection-quota';
import {
  collectionFromEntry,
  collectionPath,
  type CollectionRecord,
  dropPath,
  shardSettings,
  type DropIntent,
} from '../../service/collections/collection-record';
import { endSeeds } from '../../service/collections/ended-seeds';
import type { ReshardRequests } from '../reshard/reshard-requests';
import type { DriverLeadership, OwnedEntry } from '../driving/owned-entry';
import type { RestoreRecord } from '../backup/backup-record';
import { RestoreIntoEmpty } from './restore-into-empty';

const CALL_MS = 10_000;
const PAUSES = { firstMs: 200, longestMs: 2_000 };
/**
 * A shard that does not serve for so long, though nobody is filling it, makes the restore fail: nodes may be away for a
 * while.
 */
const SILENT_MS = 1_200_000;
/** What no other attempt mends. */
const LASTING: ReadonlySet<ErrorKind> = new Set([
  'invalid_parameter',
  'dimension_mismatch',
  'limit_exceeded',
  'storage_damaged',
  'internal',
]);

export interface RestorePassParts {
  store: ClusterStore;
  leadership: DriverLeadership;
  reshards: Pick<ReshardRequests, 'plannedRestore' | 'mustBeEmpty'>;
  shards: Pick<ShardClient, 'make' | 'read'>;
  catalog: CollectionCatalog;
  quota: CollectionQuota;
  clock: Clock;
  /** Drops shards, and then the intent to do so. */
  drop: (intent: DropIntent) => Promise<void>;
  /** Resolves when everybody knows the aliases as they are. Errors: unavailable. */
  aliasesSettled: () => Promise<void>;
  stop: AbortSignal;
}

/** One collection of a restore. */
interface Part {
  record: CollectionRecord;
  /** Where it goes into a collection that is there; null: its name was free. */
  into: RestoreIntoEmpty | null;
}

/**
 * Restores collections: reserves their names, has their shards made with what the backup has of them, and makes them
 * visible when all of them serve. Until then nobody sees any of them. Those that go into a collection which is there
 * and empty take its place first, one after the other: that may fail, because somebody writes to it.
 */
export class RestorePass {
  constructor(
    private readonly owned: OwnedEntry<RestoreRecord>,
    private readonly parts: RestorePassParts,
  ) {}

  /**
   * Answers the names of those that clients have deleted since they were restored. Errors: those that make the restore
   * fail.
   */
  async run(): Promise<string[]> {
    const parts = this.all();
    if (this.owned.content.isPublishing !== true) {
      await this.restore(parts).catch((error: unknown) => Promise.reject(describePartialRestore(error, parts)));
      await this.owned.change({ isPublishing: true });
    }
    for (const { record, into } of parts) {
      if (into !== null || (await this.stateOf(record)) !== 'creating') continue;
      const { seed: _seed, ...published } = record;
      // Its name may be that of an alias which others still know.
      await this.parts.aliasesSettled();
      await this.parts.catalog.publish(published);
    }
    const gone = await Promise.all(
      parts.map(async ({ record }) => ((await this.isThere(record)) ? [] : [record.name])),
    );
    return gone.flat();
  }

  /** Errors: those that make the restore fail. */
  private async restore(parts: Part[]): Promise<void> {
    const { catalog, quota } = this.parts;
    for (const { record, into } of parts) {
      if (into !== null) await into.begin();
      // By an earlier version, which noted nothing before it published.
      else if ((await this.stateOf(record)) !== 'ready') await catalog.reserve(record, quota, () => this.owned.guards);
    }
    await Promise.all(parts.map((part, i) => this.filled(part, i)));
    for (const { record, into } of parts) if (into === null || (await into.isSeeding())) await this.endSeeds(record);
    await this.swap(parts.flatMap(({ into }) => into ?? []));
  }

  /** Takes back what is not visible yet. Errors: unavailable. */
  async undo(): Promise<void> {
    for (const { record, into } of this.all()) {
      if (into !== null) {
        await into.undo();
        continue;
      }
      // Shards are opened when all names are reserved: of one that is not, and was not, there are none.
      if ((await this.stateOf(record)) === null && !(await this.isBeingDropped(record))) continue;
      const intent = await this.parts.catalog.abandon(record);
      if (intent !== null) await this.parts.drop(intent);
    }
  }

  /** Once one of them has taken its place, it stays: clients may have written to it. So all are looked at before. */
  private async swap(waiting: RestoreIntoEmpty[]): Promise<void> {
    for (const into of waiting) await into.mustBeEmpty();
    for (const into of waiting) {
      await into.handOver();
      await into.outcome();
    }
  }

  private all(): Part[] {
    return this.records().map((record, at) => ({
      record,
      into:
        this.owned.content.collections[at].into === undefined
          ? null
          : new RestoreIntoEmpty(this.owned, this.parts, record, at),
    }));
  }

  private records(): CollectionRecord[] {
    const { collections, target, backup, manifests = {} } = this.owned.content;
    return collections.map(({ record, fromUid, base = backup, upTo, isSealed }) => ({
      ...collectionFromEntry({ key: '', value: record }),
      seed: {
        target,
        backup: base,
        collectionUid: fromUid,
        ...(manifests[base] !== undefined && { sha256: manifests[base] }),
        ...(upTo && { log: { upTo, ...(isSealed === true && { isSealed }) } }),
      },
    }));
  }

  private async isThere({ name, identity }: CollectionRecord): Promise<boolean> {
    const entry = await this.parts.store.get(collectionPath(name));
    return entry !== null && collectionFromEntry(entry).identity === identity;
  }

  /** It was reserved, and given up by an attempt before. */
  private async isBeingDropped({ uid }: CollectionRecord): Promise<boolean> {
    return (await this.parts.store.get(dropPath(uid))) !== null;
  }

  /** null: the name is free, or another collection's, or this one's with other shards. */
  private async stateOf({ name, uid }: CollectionRecord): Promise<CollectionRecord['state'] | null> {
    const entry = await this.parts.store.get(collectionPath(name));
    const found = entry === null ? null : collectionFromEntry(entry);
    return found?.uid === uid ? found.state : null;
  }

  private async filled({ record, into }: Part, i: number): Promise<void> {
    if (into === null ? (await this.stateOf(record)) === 'ready' : !(await into.isSeeding())) return;
    const shards = Array.from({ length: record.shards }, (_, shard) => shard);
    this.owned.content.collections[i].shardsReady = 0;
    await Promise.all(
      shards.map(async (shard) => {
        await this.shardServes(record, shard, into);
        this.owned.content.collections[i].shardsReady += 1;
      }),
    );
    await this.owned.change({});
  }

  /** What clients write from here on is in no backup. */
  private async endSeeds(record: CollectionRecord): Promise<void> {
    const ids = Array.from({ length: record.shards }, (_, shard) => ({ collectionUid: record.uid, shard }));
    await endSeeds(this.parts.store, ids);
    await Promise.all(ids.map(({ shard }) => this.shardServes(record, shard)));
  }

  private async shardServes(
    record: CollectionRecord,
    shard: number,
    into: RestoreIntoEmpty | null = null,
  ): Promise<void> {
    const { clock, shards, stop } = this.parts;
    const id = { collectionUid: record.uid, shard };
    const pauses = new RetryBackoff(PAUSES);
    for (let heardMs = clock.monotonicMs(); ;) {
      if (stop.aborted) throw stopped();
      await into?.mustBeThere();
      try {
        // In the embedded form a shard is filled while it is opened.
        await unlessStopped(shards.make({ ...id, ...shardSettings(record) }), stop, stopped);
        await shards.read(id, 'count', null, { deadlineMs: clock.monotonicMs() + CALL_MS });
        return;
      } catch (error) {
        // A backup that can't be used is no parameter of this call, and will not become better.
        if (!isQuiverError(error) || LASTING.has(error.kind)) throw error;
        if (isBeingFilled(error)) heardMs = clock.monotonicMs();
        else if (clock.monotonicMs() - heardMs > SILENT_MS)
          throw new QuiverError(
            'invalid_parameter',
            `shard ${shard} of collection "${record.name}" could not be filled: ${error.message}`,
            { cause: error },
          );
      }
      await pauses.pause(stop);
    }
  }
}

/** What makes a restore fail names those that have taken their place before. */
function describePartialRestore(error: unknown, parts: Part[]): unknown {
  const names = parts.flatMap(({ into }) => (into?.isFinal === true ? [into.record.name] : []));
  if (names.length === 0 || !isQuiverError(error) || error.retryable) return error;
  return new QuiverError(error.kind, `${error.message}; restored before that, and left so: ${names.join(', ')}`, {
    cause: error,
  });
}

function stopped(): QuiverError {
  return new QuiverError('unavailable', 'the restore was stopped');
}
