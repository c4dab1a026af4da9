import { setTimeout as sleep } from 'node:timers/promises';
import type { BackedUpCollection, BackedUpShard, BackupManifest } from '../../shared/backup/backup-format';
import type { ClusterStore } from '../../shared/cluster-store/cluster-store';
import { isQuiverError, QuiverError } from '../../shared/errors/quiver-error';
import type { ShardBackupState } from '../../shared/shard/shard-backup';
import type { ShardClient, ShardId } from '../../shared/shard/shard-client';
import type { Clock } from '../../shared/time/clock';
import { type CollectionRecord, collectionFromEntry, collectionPath, COLLECTIONS_PREFIX, collectionToValue } from '../collections/collection-record';
import { KEYS_PREFIX } from '../keys/key-record';
import type { BackupRecord, ShardProgress } from './backup-record';
import type { BackupRepository } from './backup-repository';
import { type OwnedEntry, Superseded } from '../driving/owned-entry';

/** Shards that are taken at once: each reads a disk and writes to the target. */
const SHARDS_AT_ONCE = 4;
const CALL_MS = 10_000;
const LOOK_EVERY_MS = 100;
/** A shard that does not answer for so long makes the backup fail: its node, and any other replica, are gone. */
const SILENT_MS = 600_000;
/** Progress is stored so often. */
const STORE_EVERY_MS = 2_000;

export interface BackupPassParts {
  store: ClusterStore;
  shards: Pick<ShardClient, 'read'>;
  clock: Clock;
  version: string;
  stop: AbortSignal;
}

/** The cluster store could not be asked, or did not say what became of a change: nothing is wrong with the backup, which goes on from its entry. */
export class StoreAway extends Error {}

/** The collection has other shards than a moment ago: it is taken anew. */
class OtherShards extends Error {}

/** Takes a backup: asks the primary of every shard to write its part, and puts all of it in force at the end. */
export class BackupPass {
  private storedMs: number;
  private storing: Promise<void> = Promise.resolve();
  private superseded: Superseded | null = null;

  constructor(
    private readonly owned: OwnedEntry<BackupRecord>,
    private readonly repository: BackupRepository,
    private readonly parts: BackupPassParts,
  ) {
    this.storedMs = parts.clock.monotonicMs();
  }

  /** Answers what the backup is: another driver may have put it in force. Errors: those that make the backup fail; StoreAway when it is to be tried again; Superseded and `stop` when somebody else goes on. */
  async run(): Promise<BackupManifest> {
    const { id, startedAt } = this.owned.content;
    // A process before this one may have been stopped between the last two steps.
    const finished = await this.repository.find(id);
    if (finished !== null) return this.repository.publish(finished);
    const base = await this.repository.claim(id, startedAt);
    const chosen = await this.chosen();
    const progress = chosen.map(({ name, shards }) => ({
      name,
      shards: Array.from({ length: shards }, (_, shard): ShardProgress => ({ shard, state: 'waiting', items: 0, copiedBytes: 0, totalBytes: 0 })),
    }));
    await ofStore(this.owned.change({ progress }));
    const collections: BackedUpCollection[] = [];
    for (const [i, record] of chosen.entries()) {
      const taken = await this.collection(record, progress[i], base);
      if (taken !== null) collections.push(taken);
      else if (this.owned.content.collections !== null) throw new QuiverError('not_found', `collection "${record.name}" does not exist any more`);
    }
    const { entries: keys } = await ofStore(this.parts.store.list(KEYS_PREFIX));
    await this.storing;
    // From here on it is this driver's alone: an entry that was taken over can't be changed any more.
    await ofStore(this.owned.change({ progress }));
    const shards = collections.flatMap((collection) => collection.shards);
    const manifest: BackupManifest = {
      id,
      startedAt,
      finishedAt: new Date(this.parts.clock.wallMs()).toISOString(),
      version: this.parts.version,
      scheduled: this.owned.content.scheduled,
      collections,
      keys: keys.map(({ value }) => value),
      copiedBytes: sum(progress.flatMap((one) => one.shards.map(({ copiedBytes }) => copiedBytes))),
      totalBytes: sum(shards.map(({ totalBytes }) => totalBytes)),
    };
    return this.repository.publish(manifest);
  }

  private async chosen(): Promise<CollectionRecord[]> {
    const { collections } = this.owned.content;
    const found = (await ofStore(this.parts.store.list(COLLECTIONS_PREFIX))).entries.map(collectionFromEntry).filter(({ state }) => state === 'ready');
    if (collections === null) return found.sort((a, b) => (a.name < b.name ? -1 : 1));
    return collections.map((name) => {
      const record = found.find((one) => one.name === name);
      if (record === undefined) throw new QuiverError('not_found', `collection "${name}" does not exist`);
      return record;
    });
  }

  /** null: it was deleted meanwhile. */
  private async collection(record: CollectionRecord, progress: BackupRecord['progress'][number], base: BackupManifest | null): Promise<BackedUpCollection | null> {
    for (let current: CollectionRecord | null = record; current !== null; current = await this.read(record)) {
      const { uid, shards: count } = current;
      progress.shards = Array.from({ length: count }, (_, shard) => progress.shards[shard] ?? { shard, state: 'waiting', items: 0, copiedBytes: 0, totalBytes: 0 });
      const before = base?.collections.find((one) => one.uid === uid && one.shards.length === count);
      try {
        const shards = await inPool(count, (shard) => this.shard({ collectionUid: uid, shard }, record, progress.shards[shard], before?.shards[shard] ?? null));
        return { name: record.name, record: collectionToValue((await this.read(record)) ?? current), uid, shards };
      } catch (error) {
        if (!(error instanceof OtherShards)) throw error;
        await this.pause();
      }
    }
    return null;
  }

  private async shard(id: ShardId, record: CollectionRecord, progress: ShardProgress, base: BackedUpShard | null): Promise<BackedUpShard> {
    const { clock, shards } = this.parts;
    const order = { backup: this.owned.content.id, target: this.owned.content.target, base: base?.manifest ?? null };
    let answeredMs = clock.monotonicMs();
    for (;;) {
      this.checkStopped();
      let state: ShardBackupState | null = null;
      try {
        state = await shards.read(id, 'backup', order, { deadlineMs: clock.monotonicMs() + CALL_MS });
        answeredMs = clock.monotonicMs();
      } catch (error) {
        if (!isQuiverError(error)) throw error;
        const now = error.kind === 'resharded' || error.kind === 'not_found' ? await this.read(record) : undefined;
        if (now === null || (now !== undefined && now.uid !== id.collectionUid)) throw new OtherShards();
        if ((!error.retryable && error.kind !== 'not_found') || clock.monotonicMs() - answeredMs > SILENT_MS) throw error;
      }
      if (state !== null) {
        Object.assign(progress, { state: state.state === 'done' ? 'done' : 'running', items: state.items, copiedBytes: state.copiedBytes, totalBytes: state.totalBytes });
        this.store();
        if (state.state === 'failed') throw new QuiverError('storage_failed', `shard ${id.shard} of collection "${record.name}" could not be written: ${state.error ?? 'it failed'}`);
        if (state.manifest !== null && state.state === 'done')
          return { manifest: state.manifest, items: state.items, totalBytes: state.totalBytes, needs: state.needs, ...(state.position && { position: state.position }) };
      }
      await this.pause();
    }
  }

  /** The collection as it is now; null when it is gone. */
  private async read({ name, identity }: CollectionRecord): Promise<CollectionRecord | null> {
    const entry = await ofStore(this.parts.store.get(collectionPath(name)));
    const record = entry === null ? null : collectionFromEntry(entry);
    return record !== null && record.identity === identity && record.state === 'ready' ? record : null;
  }

  /** Stores how far it is, now and then. When somebody else has changed the entry, the pass ends; what else goes wrong is left to the next time. */
  private store(): void {
    const nowMs = this.parts.clock.monotonicMs();
    if (nowMs - this.storedMs < STORE_EVERY_MS) return;
    this.storedMs = nowMs;
    this.storing = this.storing
      .then(() => this.owned.change({}))
      .catch((error: unknown) => {
        if (error instanceof Superseded) this.superseded = error;
      });
  }

  private checkStopped(): void {
    if (this.superseded !== null) throw this.superseded;
    if (this.parts.stop.aborted) throw new QuiverError('unavailable', 'the backup was stopped');
  }

  private async pause(): Promise<void> {
    await sleep(LOOK_EVERY_MS, undefined, { signal: this.parts.stop }).catch(() => undefined);
  }
}

/** What the cluster store answers. Errors: StoreAway where another attempt may do better. */
export async function ofStore<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    if (!isQuiverError(cause) || (cause.kind !== 'unavailable' && cause.kind !== 'commit_unknown')) throw cause;
    throw new StoreAway(cause.message, { cause });
  }
}

/** The results of 0 to `count` − 1, some at a time; after an error nothing more begins, and it is thrown when the others came to their end. */
async function inPool<Result>(count: number, run: (i: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  let failure: { error: unknown } | null = null;
  const work = async (): Promise<void> => {
    while (next < count && failure === null) {
      const i = next++;
      try {
        results[i] = await run(i);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(SHARDS_AT_ONCE, count) }, work));
  if (failure !== null) throw (failure as { error: unknown }).error;
  return results;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
