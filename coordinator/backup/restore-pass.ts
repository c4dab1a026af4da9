import { isQuiverError, QuiverError } from '../../shared/errors/quiver-error';
import type { ClusterStore } from '../../shared/cluster-store/cluster-store';
import { isBeingFilled } from '../../shared/shard/shard-backup';
import type { ShardClient } from '../../shared/shard/shard-client';
import type { Clock } from '../../shared/time/clock';
import { RetryBackoff } from '../../shared/time/retry-backoff';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { CollectionQuota } from '../collections/collection-quota';
import { collectionFromEntry, collectionPath, type CollectionRecord, shardSettings, type DropIntent } from '../collections/collection-record';
import { endSeeds } from '../collections/ended-seeds';
import type { RestoreRecord } from './backup-record';
import type { OwnedEntry } from '../driving/owned-entry';

const CALL_MS = 10_000;
const PAUSES = { firstMs: 200, longestMs: 2_000 };
/** A shard that does not serve for so long, though nobody is filling it, makes the restore fail: nodes may be away for a while. */
const SILENT_MS = 1_200_000;

export interface RestorePassParts {
  store: ClusterStore;
  shards: Pick<ShardClient, 'open' | 'read'>;
  catalog: CollectionCatalog;
  quota: CollectionQuota;
  clock: Clock;
  /** Drops shards, and then the intent to do so. */
  drop: (intent: DropIntent) => Promise<void>;
  stop: AbortSignal;
}

/**
 * Restores collections: reserves their names, has their shards made with what the backup has of them, and makes them visible
 * when all of them serve. Until then nobody sees any of them.
 */
export class RestorePass {
  constructor(
    private readonly owned: OwnedEntry<RestoreRecord>,
    private readonly parts: RestorePassParts,
  ) {}

  /** Errors: those that make the restore fail. */
  async run(): Promise<void> {
    const { catalog, quota } = this.parts;
    const records = this.records();
    for (const record of records) if (!(await this.isPublished(record))) await catalog.reserve(record, quota);
    const ready = await Promise.all(records.map((record, i) => this.filled(record, i)));
    for (const record of ready) await this.endSeeds(record);
    for (const record of ready) {
      const { seed: _seed, ...published } = record;
      await catalog.publish(published);
    }
  }

  /** Takes back what is not visible yet. Errors: unavailable. */
  async undo(): Promise<void> {
    for (const record of this.records()) {
      const intent = await this.parts.catalog.abandon(record);
      if (intent !== null) await this.parts.drop(intent);
    }
  }

  private records(): CollectionRecord[] {
    const { collections, target, backup } = this.owned.content;
    return collections.map(({ record, fromUid, base = backup, upTo }) => ({
      ...collectionFromEntry({ key: '', value: record }),
      seed: { target, backup: base, collectionUid: fromUid, ...(upTo && { log: { upTo } }) },
    }));
  }

  private async isPublished({ name, uid }: CollectionRecord): Promise<boolean> {
    const entry = await this.parts.store.get(collectionPath(name));
    const found = entry === null ? null : collectionFromEntry(entry);
    return found?.uid === uid && found.state === 'ready';
  }

  private async filled(record: CollectionRecord, i: number): Promise<CollectionRecord> {
    if (await this.isPublished(record)) return record;
    const shards = Array.from({ length: record.shards }, (_, shard) => shard);
    this.owned.content.collections[i].shardsReady = 0;
    await Promise.all(
      shards.map(async (shard) => {
        await this.shardServes(record, shard);
        this.owned.content.collections[i].shardsReady += 1;
      }),
    );
    await this.owned.change({});
    return record;
  }

  /** What clients write from here on is in no backup. */
  private async endSeeds(record: CollectionRecord): Promise<void> {
    const ids = Array.from({ length: record.shards }, (_, shard) => ({ collectionUid: record.uid, shard }));
    await endSeeds(this.parts.store, ids);
    await Promise.all(ids.map(({ shard }) => this.shardServes(record, shard)));
  }

  private async shardServes(record: CollectionRecord, shard: number): Promise<void> {
    const { clock, shards, stop } = this.parts;
    const id = { collectionUid: record.uid, shard };
    const pauses = new RetryBackoff(PAUSES);
    for (let heardMs = clock.monotonicMs(); ;) {
      if (stop.aborted) throw new QuiverError('unavailable', 'the restore was stopped');
      try {
        // In the embedded form a shard is filled while it is opened.
        await unlessStopped(shards.open({ ...id, ...shardSettings(record) }), stop);
        await shards.read(id, 'count', null, { deadlineMs: clock.monotonicMs() + CALL_MS });
        return;
      } catch (error) {
        // A backup that can't be used is no parameter of this call, and will not become better.
        if (!isQuiverError(error) || error.kind === 'invalid_parameter') throw error;
        if (isBeingFilled(error)) heardMs = clock.monotonicMs();
        else if (clock.monotonicMs() - heardMs > SILENT_MS)
          throw new QuiverError('invalid_parameter', `shard ${shard} of collection "${record.name}" could not be filled: ${error.message}`, { cause: error });
      }
      await pauses.pause(stop);
    }
  }
}

/** What comes of the work after that is of no interest. */
function unlessStopped<Result>(work: Promise<Result>, stop: AbortSignal): Promise<Result> {
  return new Promise((done, fail) => {
    const stopped = (): void => fail(new QuiverError('unavailable', 'the restore was stopped'));
    if (stop.aborted) stopped();
    stop.addEventListener('abort', stopped, { once: true });
    work.then(done, fail).finally(() => stop.removeEventListener('abort', stopped));
  });
}
