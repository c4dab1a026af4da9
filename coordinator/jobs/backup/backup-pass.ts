import { setTimeout as sleep } from 'node:timers/promises';
import type {
  BackedUpCollection,
  BackedUpShard,
  BackupManifest,
  LeftOutCollection,
} from '../../../shared/backup-store/backup-format';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../../service/readable-entries';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ShardBackupState } from '../../../shared/contract/shard/shard-backup';
import type { ShardClient, ShardId } from '../../../shared/contract/shard/shard-client';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import {
  type CollectionRecord,
  collectionFromEntry,
  collectionPath,
  COLLECTIONS_PREFIX,
  collectionToValue,
} from '../../service/collections/collection-record';
import { KEYS_PREFIX } from '../../service/keys/key-record';
import type { BackupRecord, BackedUpProgress, ShardProgress } from './backup-record';
import { type BackupRepository, notOurs } from './backup-repository';
import { type OwnedEntry, Superseded } from '../driving/owned-entry';
import { obstacleOf, ofShards } from '../driving/obstacle';
import { ShardTurns } from './shard-turns';

const CALL_MS = 10_000;
const CHECK_EVERY_MS = 100;
/** Shards of one collection that wait for their turn at once. */
const SHARDS_AT_ONCE = 4;
/** Of what is said about a collection that is left out. */
const REASON_LENGTH_MAX = 1_000;
/** Of a collection whose record can't be read. */
const NO_UID = 'unknown';
/** Progress is stored so often. */
const STORE_EVERY_MS = 2_000;

export interface BackupPassParts {
  store: ClusterStore;
  shards: Pick<ShardClient, 'read'>;
  clock: Clock;
  version: string;
  log: Logger;
  stop: AbortSignal;
}

/**
 * The cluster store could not be asked, or did not say what became of a change: nothing is wrong with the backup, which
 * goes on from its entry.
 */
export class StoreAway extends Error {}

/** A collection that could not be taken. */
type FailedCollection = LeftOutCollection & { error: unknown };

/** What ends the pass, and not only the part of one collection. */
class PassEnds extends Error {
  constructor(override readonly cause: QuiverError) {
    super(cause.message);
  }
}

/** The collection has other shards than a moment ago: it is taken again. */
class OtherShards extends Error {}

/** Takes a backup: asks the primary of every shard to write its part, and puts all of it in force at the end. */
export class BackupPass {
  private storedMs: number;
  private storing: Promise<void> = Promise.resolve();
  private superseded: Superseded | null = null;
  private readonly turns: ShardTurns;
  /** Aborted when the pass ends: nobody goes on behind it. */
  private readonly ended = new AbortController();

  constructor(
    private readonly owned: OwnedEntry<BackupRecord>,
    private readonly repository: BackupRepository,
    private readonly parts: BackupPassParts,
  ) {
    this.storedMs = parts.clock.monotonicMs();
    this.turns = new ShardTurns(() => parts.clock.monotonicMs());
  }

  /**
   * Answers what the backup is: another driver may have put it in force. Errors: those that make the backup fail;
   * StoreAway when it is to be tried again; Superseded and `stop` when somebody else goes on.
   */
  async run(): Promise<BackupManifest> {
    const { id, startedAt } = this.owned.content;
    // A process before this one may have been stopped between the last two steps.
    const finished = await this.repository.load(id);
    if (finished !== null && finished.seal !== 'sealed') throw notOurs(id);
    if (finished !== null) return this.repository.publish(finished.manifest);
    const { chosen, damaged } = await this.chosen();
    const bases = await this.repository.claim(id, startedAt, chosen);
    const progress = chosen.map(({ name, shards }): BackedUpProgress => ({
      name,
      shards: Array.from({ length: shards }, (_, shard): ShardProgress => ({
        shard,
        state: 'waiting',
        items: 0,
        copiedBytes: 0,
        totalBytes: 0,
      })),
    }));
    progress.push(...damaged.map(({ name, reason }) => ({ name, shards: [], leftOut: reason })));
    await ofStore(this.owned.change({ progress }));
    const { collections, leftOut: failed } = await this.all(chosen, progress, bases);
    const leftOut = [...failed, ...damaged];
    if (collections.length === 0 && damaged.length > 0) throw new QuiverError('storage_failed', damaged[0].reason);
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
      ...(this.owned.content.collections !== null && { isOfSome: true }),
      collections,
      keys: keys.map(({ value }) => value),
      copiedBytes: sum(progress.flatMap((one) => one.shards.map(({ copiedBytes }) => copiedBytes))),
      totalBytes: sum(shards.map(({ totalBytes }) => totalBytes)),
      ...(leftOut.length > 0 && { leftOut }),
    };
    return this.repository.publish(manifest);
  }

  /** The collections that are wanted; `damaged`: those of them whose record can't be read. */
  private async chosen(): Promise<{ chosen: CollectionRecord[]; damaged: LeftOutCollection[] }> {
    const { collections } = this.owned.content;
    const damaged: LeftOutCollection[] = [];
    const found = readableEntries(
      (await ofStore(this.parts.store.list(COLLECTIONS_PREFIX))).entries,
      collectionFromEntry,
      ({ key, reason }) => damaged.push({ name: key.slice(COLLECTIONS_PREFIX.length), uid: NO_UID, reason }),
    ).filter(({ state }) => state === 'ready');
    if (collections === null) return { chosen: found.sort((a, b) => (a.name < b.name ? -1 : 1)), damaged };
    const isDamaged = new Map(damaged.map((one) => [one.name, one]));
    const chosen = collections.flatMap((name) => {
      const record = found.find((one) => one.name === name);
      if (record === undefined && !isDamaged.has(name))
        throw new QuiverError('not_found', `collection "${name}" does not exist`);
      return record ?? [];
    });
    return { chosen, damaged: collections.flatMap((name) => isDamaged.get(name) ?? []) };
  }

  /**
   * All of them, side by side: what becomes of one is nothing to the others. Errors: that of the first of them when
   * none could be taken; those that end the pass.
   */
  private async all(
    chosen: CollectionRecord[],
    progress: BackedUpProgress[],
    bases: BackupManifest[],
  ): Promise<{ collections: BackedUpCollection[]; leftOut: LeftOutCollection[] }> {
    let failure: { error: unknown } | null = null;
    const taken = await Promise.all(
      chosen.map(async (record, i): Promise<BackedUpCollection | FailedCollection | null> => {
        try {
          const collection = await this.collection(record, progress[i], bases);
          if (collection !== null) this.turns.taken();
          else if (this.owned.content.collections !== null)
            throw new PassEnds(new QuiverError('not_found', `collection "${record.name}" does not exist any more`));
          return collection;
        } catch (error) {
          if (isOfPass(error) || this.isEnded) {
            failure ??= { error: error instanceof PassEnds ? error.cause : error };
            this.ended.abort();
            return null;
          }
          this.parts.log.error(
            { error, backup: this.owned.content.id, collection: record.name },
            'a collection is left out of a backup',
          );
          const reason = (isQuiverError(error) ? error.message : 'it failed; the log says why').slice(
            0,
            REASON_LENGTH_MAX,
          );
          progress[i].leftOut = reason;
          return { name: record.name, uid: record.uid, reason, error };
        }
      }),
    );
    if (failure !== null) throw (failure as { error: unknown }).error;
    const collections = taken.filter((one) => one !== null && 'shards' in one);
    const failed = taken.filter((one) => one !== null && 'error' in one);
    if (collections.length === 0 && failed.length > 0) throw failed[0].error;
    return { collections, leftOut: failed.map(({ name, uid, reason }) => ({ name, uid, reason })) };
  }

  /** null: it was deleted meanwhile. */
  private async collection(
    record: CollectionRecord,
    progress: BackedUpProgress,
    bases: BackupManifest[],
  ): Promise<BackedUpCollection | null> {
    for (let current: CollectionRecord | null = record; current !== null; current = await this.read(record)) {
      const { uid, shards: count } = current;
      progress.shards = Array.from(
        { length: count },
        (_, shard) => progress.shards[shard] ?? { shard, state: 'waiting', items: 0, copiedBytes: 0, totalBytes: 0 },
      );
      const before = bases
        .flatMap(({ collections }) => collections)
        .find((one) => one.uid === uid && one.shards.length === count);
      try {
        const shards = await inPool(count, (shard) =>
          this.shard({ collectionUid: uid, shard }, record, progress.shards[shard], before?.shards[shard] ?? null),
        );
        return { name: record.name, record: collectionToValue((await this.read(record)) ?? current), uid, shards };
      } catch (error) {
        if (!(error instanceof OtherShards)) throw error;
        await this.pause();
      }
    }
    return null;
  }

  private async shard(
    id: ShardId,
    record: CollectionRecord,
    progress: ShardProgress,
    base: BackedUpShard | null,
  ): Promise<BackedUpShard> {
    const { clock, shards } = this.parts;
    const order = { backup: this.owned.content.id, target: this.owned.content.target, base: base?.manifest ?? null };
    const turn = this.turns.begin();
    try {
      for (;;) {
        await turn.come();
        this.checkStopped();
        let state: ShardBackupState | null = null;
        try {
          state = await shards.read(id, 'backup', order, { deadlineMs: clock.monotonicMs() + CALL_MS });
          turn.answered();
          progress.waitsFor = undefined;
        } catch (error) {
          if (!isQuiverError(error)) throw error;
          const now = error.kind === 'resharded' || error.kind === 'not_found' ? await this.read(record) : undefined;
          if (now === null || (now !== undefined && now.uid !== id.collectionUid)) throw new OtherShards();
          const named = ofShards(`shard ${id.shard} of collection "${record.name}"`, error);
          if (!error.retryable && error.kind !== 'not_found') throw named;
          if (turn.silent()) throw named;
          progress.waitsFor = obstacleOf(named).slice(0, REASON_LENGTH_MAX);
          this.store();
        }
        if (state !== null) {
          Object.assign(progress, {
            state: state.state === 'done' ? 'done' : 'running',
            items: state.items,
            copiedBytes: state.copiedBytes,
            totalBytes: state.totalBytes,
          });
          this.store();
          if (state.state === 'failed')
            throw new QuiverError(
              'storage_failed',
              `shard ${id.shard} of collection "${record.name}" could not be written: ${state.error ?? 'it failed'}`,
            );
          if (state.manifest !== null && state.state === 'done')
            return {
              manifest: state.manifest,
              items: state.items,
              totalBytes: state.totalBytes,
              needs: state.needs,
              ...(state.position && { position: state.position }),
            };
        }
        await this.pause();
      }
    } finally {
      turn.end();
    }
  }

  /** The collection as it is now; null when it is gone. */
  private async read({ name, identity }: CollectionRecord): Promise<CollectionRecord | null> {
    const entry = await ofStore(this.parts.store.get(collectionPath(name)));
    const record = entry === null ? null : collectionFromEntry(entry);
    return record !== null && record.identity === identity && record.state === 'ready' ? record : null;
  }

  /**
   * Stores how far it is, now and then. When somebody else has changed the entry, the pass ends; what else goes wrong
   * is left to the next time.
   */
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
    if (this.isEnded) throw new QuiverError('unavailable', 'the backup was stopped');
  }

  private get isEnded(): boolean {
    return this.parts.stop.aborted || this.ended.signal.aborted;
  }

  private async pause(): Promise<void> {
    await sleep(CHECK_EVERY_MS, undefined, { signal: this.parts.stop }).catch(() => undefined);
  }
}

/** Whether an error is of the pass as a whole: somebody else goes on, or the cluster store is away. */
function isOfPass(error: unknown): boolean {
  return error instanceof Superseded || error instanceof StoreAway || error instanceof PassEnds;
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

/**
 * The results of 0 to `count` − 1, some at a time; after an error nothing more begins, and it is thrown when the others
 * came to their end.
 */
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
