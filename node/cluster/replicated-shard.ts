import { dirname, join } from 'node:path';
import type { ReplicaDigest } from '../../shared/cluster/node-report';
import { QuiverError } from '../../shared/errors/quiver-error';
import type { KeyValueStore } from '../kv/key-value-store';
import type { Logger } from '../../shared/logs/logger';
import type { ShardSpec } from '../../shared/shard/shard-client';
import type { Clock } from '../../shared/time/clock';
import type { UnappliedWrite } from '../replication/core/write-ledger';
import { Replica, type ReplicaSurroundings } from '../replication/replica';
import { RocksReplicaStorage } from '../replication/rocks-replica-storage';
import { digestOf } from '../replication/replica-digest';
import { installCopy, settleCopy } from '../replication/shard-copy';
import { Shard } from '../shard/shard';
import type { ShardOptions } from '../shard/shard-options';
import { makeStableFolder } from '../files/stable-folder';
import type { WriteBudget } from '../shard/write-queue';
import type { HostedReplica } from './hosted-replica';

/** Entries looked through at a start for what they are of. */
const READ_BYTES = 8 * 1024 * 1024;
/** The log's high-water mark, beside the store. */
const MARK_FILE = 'log-mark';

export interface ReplicatedShardOptions {
  folder: string;
  spec: ShardSpec;
  /** The assignment's epoch: a replica that is made for it follows no primary of an earlier one. */
  epoch: number;
  self: { node: string; store: string };
  changeIdPrefix: string;
  shardOptions: ShardOptions;
  budget: WriteBudget;
  clock: Clock;
  log: Logger;
  surroundings: (hosted: ReplicatedShard) => ReplicaSurroundings;
}

/** What is open of a replica's data: the store, and the shard and the log in it. */
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

  private constructor(
    private readonly options: ReplicatedShardOptions,
    private data: OpenData,
    found: { unapplied: UnappliedWrite[]; isNew: boolean },
  ) {
    this.spec = options.spec;
    this.replica = new Replica({
      id: { collectionUid: options.spec.collectionUid, shard: options.spec.shard },
      self: options.self,
      storage: data.storage,
      ...found,
      changeIdPrefix: options.changeIdPrefix,
      clock: options.clock,
      log: options.log,
      surroundings: options.surroundings(this),
    });
  }

  /** Opens the replica, making it when it does not exist. Errors: storage_failed; storage_damaged when it holds less than it acknowledged. */
  static async open(options: ReplicatedShardOptions): Promise<ReplicatedShard> {
    await makeStableFolder(dirname(options.folder));
    await settleCopy(options.folder);
    let hosted: ReplicatedShard | null = null;
    const data = await openData(options, (error) => hosted?.fail(error), (error) => hosted?.noteDamage(error));
    try {
      const { promisedEpoch, lastSequence, lastLedEpoch, lossy } = data.storage.state;
      if (lossy !== undefined) throw new QuiverError('storage_damaged', `the store has lost what it held: ${lossy}`);
      const isNew = promisedEpoch === 0 && lastSequence === 0 && lastLedEpoch === 0;
      if (isNew) await data.storage.append({ promisedEpoch: options.epoch });
      hosted = new ReplicatedShard(options, data, { unapplied: await unappliedOf(data.storage), isNew });
      return hosted;
    } catch (error) {
      await closeData(data, 'closed');
      throw error;
    }
  }

  get shard(): Shard {
    return this.data.shard;
  }

  digest(): Promise<ReplicaDigest> {
    return digestOf(this.data.store);
  }

  /** The store, for a copy of it; `release` lets the log be trimmed again. */
  beginCopy(): { store: KeyValueStore; release: () => void } {
    return { store: this.data.store, release: this.data.storage.pin() };
  }

  /**
   * Takes a copy in the place of the data, one at a time. Errors: unavailable when it is of an earlier epoch than promised
   * or another is being taken, storage_failed.
   */
  async install(epoch: number, chunks: AsyncIterable<Buffer>): Promise<{ sequence: number }> {
    const { role, epoch: promised } = this.replica.status();
    if (role === 'primary' || epoch < promised) throw new QuiverError('unavailable', `epoch ${epoch} is over`);
    if (this.installing !== null || this.closing !== null) throw new QuiverError('unavailable', 'another copy is being installed');
    this.installing = this.takeCopy(epoch, chunks);
    try {
      return await this.installing;
    } finally {
      this.installing = null;
    }
  }

  close(reason: 'closed' | 'dropped'): Promise<void> {
    this.replica.close();
    this.closing ??= this.finish(reason);
    return this.closing;
  }

  private async finish(reason: 'closed' | 'dropped'): Promise<void> {
    await this.installing?.catch(() => undefined);
    if (reason === 'dropped') this.data.shard.abandonWrites();
    await closeData(this.data, reason);
  }

  private async takeCopy(epoch: number, chunks: AsyncIterable<Buffer>): Promise<{ sequence: number }> {
    let position = { sequence: 0, epoch: 0 };
    await this.replica.replaceStorage(async () => {
      await closeData(this.data, 'dropped');
      const { promisedEpoch, lastLedEpoch } = this.data.storage.state;
      const { folder, shardOptions } = this.options;
      const mayTakePlace = (reached: { sequence: number }): boolean => this.replica.mayInstall(epoch, reached.sequence);
      position = await installCopy({ folder, openStore: (path) => shardOptions.openStore(path), chunks, promises: { promisedEpoch, lastLedEpoch }, mayTakePlace });
      this.data = await openData(this.options, (error) => this.fail(error), (error) => this.noteDamage(error));
      return this.data.storage;
    });
    return position;
  }

  /** Where others hold everything, the data are fetched anew; the last replica serves what it can. */
  private noteDamage(error: Error): void {
    const { spec, self, log } = this.options;
    if (this.replica.assignment?.inSync.some(({ node }) => node !== self.node) === true) this.fail(error);
    else log.error({ error, ...spec }, 'stored data of a shard are damaged and no other replica is in sync; what is not damaged is served');
  }

  private fail(error: Error): void {
    this.options.surroundings(this).onFailed(error);
  }
}

async function openData(options: ReplicatedShardOptions, onFailed: (error: Error) => void, onDamaged: (error: Error) => void): Promise<OpenData> {
  const { folder, spec, shardOptions, budget } = options;
  const store = await shardOptions.openStore(join(folder, 'records'));
  try {
    const shard = await Shard.open(folder, spec, { ...shardOptions, openStore: async () => borrowed(store) }, { budget, onDiverged: onFailed, onWriteFailed: onFailed, onDamaged });
    try {
      return { store, shard, storage: await RocksReplicaStorage.open({ store, shard, markPath: join(folder, MARK_FILE) }) };
    } catch (error) {
      await shard.close('reopened');
      throw error;
    }
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function closeData({ store, shard, storage }: OpenData, reason: 'closed' | 'dropped'): Promise<void> {
  await storage.close();
  try {
    await shard.close(reason);
  } finally {
    await store.close();
  }
}

/** The store as the shard sees it: not the shard's to close. */
function borrowed(store: KeyValueStore): KeyValueStore {
  return {
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    write: (changes, options) => store.write(changes, options),
    recover: () => store.recover(),
    scan: (range) => store.scan(range),
    clear: (range) => store.clear(range),
    sizeBytes: () => store.sizeBytes(),
    memory: () => store.memory(),
    verify: (options) => store.verify(options),
    close: async () => undefined,
  };
}

/** What the entries are that the log holds and the records do not. */
async function unappliedOf(storage: RocksReplicaStorage): Promise<UnappliedWrite[]> {
  const { appliedSequence, lastSequence } = storage.state;
  const unapplied: UnappliedWrite[] = [];
  for (let next = appliedSequence + 1; next <= lastSequence; ) {
    const entries = await storage.read(next, READ_BYTES);
    if (entries.length === 0) break;
    for (const { sequence, write } of entries) unapplied.push({ sequence, source: write?.source ?? null });
    next = entries[entries.length - 1].sequence + 1;
  }
  return unapplied;
}
