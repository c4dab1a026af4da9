import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { ReplicaDigest } from '../../../shared/cluster-store/entries/node-report';
import { isSameReplica, type ShardAssignment } from '../../../shared/cluster-store/entries/shard-assignment';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { KeyValueEntry, KeyValueStore } from '../../engine/kv/key-value-store';
import type { Logger } from '../../../shared/base/logs/logger';
import { operationsToBytes } from '../../../shared/contract/writes/operation-codec';
import type { ExpireOperation, ShardSpec } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import type { UnappliedWrite } from '../../replication/core/write-ledger';
import { WATERMARK_FILE } from '../../replication/log/log-watermark';
import type { ReadPermit } from '../../replication/read-permit';
import { Replica, type ReplicaDependencies } from '../../replication/replica';
import type { ReplicaTicks } from '../../replication/replica-ticks';
import type { LogPosition } from '../../replication/core/messages';
import { type LogPin, RocksReplicaStorage } from '../../replication/rocks-replica-storage';
import { digestOf } from '../../replication/replica-digest';
import { installCopy, settleCopy } from '../../replication/shard-copy';
import { SEED_SEQUENCE } from '../../engine/records/seed-position';
import { Shard } from '../../engine/shard/shard';
import type { ShardOptions } from '../../engine/shard/shard-options';
import { makeStableFolder } from '../../../shared/base/files/stable-folder';
import type { WriteBudget } from '../../engine/shard/writing/write-queue';
import type { ReplicaPublisher } from '../threads/replica-publisher';
import type { HostedReplica } from './hosted-replica';

/** Entries looked through at a start for what they are of. */
const READ_BYTES = 8 * 1024 * 1024;
/** How long a write that removes expired items may take. */
const REMOVAL_MS = 30_000;

export interface ReplicatedShardOptions {
  folder: string;
  spec: ShardSpec;
  /**
   * That by which it is opened, null when it is not known. A replica made for its epoch follows no primary of an
   * earlier one.
   */
  assignment: ShardAssignment | null;
  self: { node: string; store: string };
  /** Whether an empty store is that of a new replica. If not, its data were lost. */
  mayBeNew: boolean;
  changeIdPrefix: string;
  shardOptions: ShardOptions;
  budget: WriteBudget;
  clock: Clock;
  /** See Replica. */
  ticks?: ReplicaTicks;
  log: Logger;
  /** Whether logs are shipped to a backup target. */
  isShipped?: boolean;
  dependencies: (hosted: ReplicatedShard) => ReplicaDependencies;
  /** Aborted when it is not to be open any more. */
  ended?: AbortSignal | undefined;
  /** By which other threads read it; null: none do. */
  sharing?: { published: ReplicaPublisher; permit: ReadPermit } | null;
}

/** What is open of a replica's data: the shard with its store, which it closes, and the log in that. */
interface OpenData {
  store: KeyValueStore;
  shard: Shard;
  storage: RocksReplicaStorage;
}

/** A replica of a shard with its data: one store that holds the records and the log. */
export class ReplicatedShard implements HostedReplica {
  readonly spec: ShardSpec;
  readonly replica: Replica;
  private closing: Promise<void> | null = null;
  private installing: Promise<{ sequence: number }> | null = null;
  /** Under which its own writes are known, and how many it has begun. */
  private readonly removalSession = `expiry:${randomUUID()}`;
  private removals = 0;
  private readonly endPermit: () => void;

  private constructor(
    private readonly options: ReplicatedShardOptions,
    private data: OpenData,
    found: { unapplied: UnappliedWrite[]; isNew: boolean },
  ) {
    this.spec = options.spec;
    const { sharing = null } = options;
    this.endPermit = sharing === null ? () => undefined : sharing.published.permit(options.spec, sharing.permit);
    this.replica = new Replica({
      id: { collectionUid: options.spec.collectionUid, shard: options.spec.shard },
      self: options.self,
      storage: data.storage,
      ...found,
      changeIdPrefix: options.changeIdPrefix,
      clock: options.clock,
      ticks: options.ticks,
      log: options.log,
      isShipped: options.isShipped,
      permit: options.sharing?.permit,
      dependencies: options.dependencies(this),
    });
  }

  /**
   * Opens the replica, making it when it does not exist. Errors: storage_failed; storage_damaged when it holds less
   * than it acknowledged.
   */
  static async open(options: ReplicatedShardOptions): Promise<ReplicatedShard> {
    await makeStableFolder(dirname(options.folder));
    await settleCopy(options.folder);
    // The shard may fail before the replica is there to tell of it.
    let isThere!: (hosted: ReplicatedShard) => void;
    let isNot!: (error: unknown) => void;
    const opened = new Promise<ReplicatedShard>((done, fail) => ([isThere, isNot] = [done, fail]));
    opened.catch(() => undefined);
    const data = await ReplicatedShard.openData(
      { ...options, spec: beginningOf(options) },
      !options.mayBeNew,
      opened,
      isNot,
    );
    try {
      const { promisedEpoch, lastSequence, lastLedEpoch, lossy } = data.storage.state;
      if (lossy !== undefined) throw new QuiverError('storage_damaged', `the store has lost what it held: ${lossy}`);
      // One that was restored begins behind an entry, and followed nobody either.
      const isNew = promisedEpoch === 0 && lastSequence <= SEED_SEQUENCE && lastLedEpoch === 0;
      if (isNew && !options.mayBeNew) throw new QuiverError('storage_damaged', 'the store has lost all that it held');
      if (isNew) await data.storage.append({ promisedEpoch: options.assignment?.epoch ?? 0 });
      const hosted = new ReplicatedShard(options, data, { unapplied: await unappliedOf(data.storage), isNew });
      isThere(hosted);
      return hosted;
    } catch (error) {
      isNot(error);
      await closeData(data, 'closed');
      throw error;
    }
  }

  get shard(): Shard {
    return this.data.shard;
  }

  digest(): Promise<ReplicaDigest> {
    return this.reportDamage(digestOf(this.data.store));
  }

  digestAt(...asked: Parameters<RocksReplicaStorage['digestAt']>): Promise<ReplicaDigest | null> {
    return this.reportDamage(this.data.storage.digestAt(...asked));
  }

  /**
   * The store, for a copy of it, and what else the copy has; `pin` keeps the log that continues the copy, until it is
   * released.
   */
  beginCopy(): { store: KeyValueStore; besides: () => readonly KeyValueEntry[]; pin: LogPin } {
    const { store, storage } = this.data;
    return { store, besides: () => storage.times(), pin: storage.pin() };
  }

  /**
   * Takes a copy in the place of the data, one at a time. Errors: unavailable when it is of an earlier epoch than
   * promised or another is being taken, storage_failed.
   */
  async install(epoch: number, chunks: AsyncIterable<Buffer>): Promise<{ sequence: number }> {
    const { role, epoch: promised } = this.replica.status();
    if (role === 'primary' || epoch < promised) throw new QuiverError('unavailable', `epoch ${epoch} is over`);
    if (this.installing !== null || this.closing !== null)
      throw new QuiverError('unavailable', 'another copy is being installed');
    this.installing = this.takeCopy(epoch, chunks);
    try {
      return await this.installing;
    } finally {
      this.installing = null;
    }
  }

  close(reason: 'closed' | 'dropped'): Promise<void> {
    this.replica.close();
    this.endPermit();
    this.closing ??= this.finish(reason);
    return this.closing;
  }

  private async finish(reason: 'closed' | 'dropped'): Promise<void> {
    if (this.installing !== null) await this.installing.catch(() => undefined);
    if (reason === 'dropped') this.data.shard.abandonWrites();
    await closeData(this.data, reason);
  }

  private async takeCopy(epoch: number, chunks: AsyncIterable<Buffer>): Promise<{ sequence: number }> {
    let position = { sequence: 0, epoch: 0 };
    await this.replica.replaceStorage(async () => {
      await closeData(this.data, 'dropped');
      const { promisedEpoch, lastLedEpoch } = this.data.storage.state;
      const { folder, shardOptions } = this.options;
      const mayBegin = (last: LogPosition): boolean => this.replica.mayInstall(epoch, last);
      position = await installCopy({
        folder,
        openStore: (path) => shardOptions.openStore(path),
        chunks: this.untilClosing(chunks),
        promises: { promisedEpoch, lastLedEpoch },
        mayBegin,
      });
      this.data = await ReplicatedShard.openData(this.options, true, Promise.resolve(this));
      return this.data.storage;
    });
    return position;
  }

  /**
   * A copy may take hours to come, and nobody waits for one of a replica that closes. Errors: unavailable, and those of
   * `chunks`.
   */
  private async *untilClosing(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const chunk of chunks) {
      if (this.closing !== null) throw new QuiverError('unavailable', 'the replica is being closed');
      yield chunk;
    }
  }

  /** As its primary, by a write of its own: every replica then removes the same. */
  private async removeExpired(externalIds: string[]): Promise<boolean> {
    const { role, epoch } = this.replica.status();
    if (role !== 'primary') return false;
    const operations = externalIds.map((externalId): ExpireOperation => ({ type: 'expire', externalId }));
    const payload = operationsToBytes(operations);
    const admitted = await this.shard.admit(payload);
    this.removals += 1;
    try {
      const source = { session: this.removalSession, requestNumber: this.removals, settledBelow: this.removals };
      await this.replica.write(
        { source, payload },
        { epoch, deadlineMs: this.options.clock.monotonicMs() + REMOVAL_MS },
      );
    } finally {
      admitted.release();
    }
    return true;
  }

  /**
   * `mustExist`: where the data are gone, nothing is made in their place. `opened`: whom the shard tells of failures,
   * and asks. `failed` is called before it is closed again, as nobody will be there: what waits for that keeps it from
   * closing.
   */
  private static async openData(
    { folder, spec, shardOptions, budget, ended, sharing }: ReplicatedShardOptions,
    mustExist: boolean,
    opened: Promise<ReplicatedShard>,
    failed: (error: unknown) => void = () => undefined,
  ): Promise<OpenData> {
    let store!: KeyValueStore;
    const openStore: ShardOptions['openStore'] = async (path, how) => (store = await shardOptions.openStore(path, how));
    const tell = (act: (hosted: ReplicatedShard) => void): void => void opened.then(act, () => undefined);
    const onFailed = (error: Error): void => tell((hosted) => hosted.fail(error));
    const onDamaged = (error: Error): void => tell((hosted) => hosted.noteDamage(error));
    const shard = await Shard.open(
      folder,
      spec,
      { ...shardOptions, openStore },
      {
        budget,
        mustExist,
        ended,
        publisher: sharing?.published.shards,
        onDiverged: onFailed,
        onWriteFailed: onFailed,
        onDamaged,
        removeExpired: async (ids) => (await opened).removeExpired(ids),
        trimLog: async (waits) => (await opened).replica.trimNow(waits),
        logTimeMs: async () => (await opened).replica.logTimeMs(),
      },
    );
    try {
      return {
        store,
        shard,
        storage: await RocksReplicaStorage.open({ store, shard, watermarkPath: join(folder, WATERMARK_FILE) }),
      };
    } catch (error) {
      failed(error);
      await shard.close('reopened');
      throw error;
    }
  }

  /** A digest reads everything, so it may be the first to meet damage. */
  private async reportDamage<Digest>(digest: Promise<Digest>): Promise<Digest> {
    const { shard } = this.data;
    return digest.catch((error: unknown) => {
      // What was wrong with data in whose place a copy is by now is of no interest.
      if (shard === this.data.shard) shard.noteDamage(error);
      throw error;
    });
  }

  /** Where others hold everything, the data are fetched again; the last replica serves what it can. */
  private noteDamage(error: Error): void {
    const { spec, self, log, assignment } = this.options;
    if ((this.replica.assignment ?? assignment)?.inSync.some(({ node }) => node !== self.node) === true)
      this.fail(error);
    else
      log.error(
        { error, ...spec },
        'stored data of a shard are damaged and no other replica is in sync; what is not damaged is served',
      );
  }

  private fail(error: Error): void {
    // What fails of it while it closes says nothing about the one that is opened next.
    if (this.closing === null) this.options.dependencies(this).onFailed(error);
  }
}

/**
 * What a replica is made with: that of a restored shard with what the backup has, if it counts as complete. Any other
 * one gets a copy of what is there by now.
 */
function beginningOf({ spec, assignment, mayBeNew, self }: ReplicatedShardOptions): ShardSpec {
  if (
    spec.seed === undefined ||
    (mayBeNew &&
      (assignment === null || [...assignment.inSync, ...assignment.eligible].some((one) => isSameReplica(one, self))))
  )
    return spec;
  const { seed: _seed, ...rest } = spec;
  return rest;
}

async function closeData({ shard, storage }: OpenData, reason: 'closed' | 'dropped'): Promise<void> {
  await storage.close();
  await shard.close(reason);
}

/** What the entries are that the log holds and the records do not. */
async function unappliedOf(storage: RocksReplicaStorage): Promise<UnappliedWrite[]> {
  const { appliedSequence, lastSequence } = storage.state;
  const unapplied: UnappliedWrite[] = [];
  for (let next = appliedSequence + 1; next <= lastSequence;) {
    const entries = await storage.read(next, READ_BYTES);
    if (entries.length === 0) break;
    for (const { sequence, write } of entries) unapplied.push({ sequence, source: write?.source ?? null });
    next = entries[entries.length - 1].sequence + 1;
  }
  return unapplied;
}
