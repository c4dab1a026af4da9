import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { QuiverError } from '../../shared/errors/quiver-error';
import type { ShardId, ShardSpec } from '../../shared/shard/shard-client';
import { RetryBackoff } from '../../shared/time/retry-backoff';
import { syncFolder } from '../files/stable-folder';
import { diskTakesWrites } from '../kv/disk-room';
import { Shard, specText } from './shard';
import type { ReplicaObservation } from './shard-observation';
import { REOPEN_PAUSES, type ShardOptions } from './shard-options';
import { WriteBudget } from './write-queue';

/** Collection uids become folder names, so they are held to a safe alphabet. */
const UID = /^[A-Za-z0-9-]{1,64}$/;
/** Waiting bytes of all shards beyond which writers are turned away: some seconds of a bulk load. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024;

/** A shard that is to be here: opening, open, or waiting to be opened anew. */
interface HostedShard {
  readonly spec: ShardSpec;
  /** Rejected while the shard can't be opened; replaced by each attempt. */
  shard: Promise<Shard>;
  /** The same once it is open, null while it is being opened anew. */
  open: Shard | null;
  openedAtMs: number;
  retry: NodeJS.Timeout | null;
}

/**
 * The shards of one node, in `folder`: shards/<collection uid>/<shard number>, each with a RocksDB of its own. One store
 * per shard rather than one per node: a shard is dropped by removing its folder, copied by copying it, and a damaged
 * one harms no other; the price is some open files and a small memtable each.
 */
export class ShardHost {
  private readonly hosted = new Map<string, HostedShard>();
  /** Shards whose data are being removed. */
  private readonly leaving = new Map<string, Promise<void>>();
  /** Shards that are to be open. */
  get shardCount(): number {
    return this.hosted.size;
  }

  /** Shards that were to be opened when as many were open as may be. */
  private readonly left = new Map<string, ShardSpec>();
  private readonly budget = new WriteBudget(WAITING_BYTES_MAX);
  private closing: Promise<void> | null = null;

  private constructor(
    private readonly folder: string,
    private readonly options: ShardOptions,
  ) {}

  /** Prepares the folder and finishes drops that a crash cut short; opens nothing. */
  static async start(folder: string, options: ShardOptions): Promise<ShardHost> {
    await mkdir(join(folder, 'shards'), { recursive: true });
    await rm(join(folder, 'trash'), { recursive: true, force: true });
    return new ShardHost(folder, options);
  }

  /** Opens or makes a shard; nothing happens when it is open. Errors: storage_failed, also when as many are open as may be; unavailable. */
  async open(spec: ShardSpec): Promise<void> {
    const name = nameOf(spec);
    for (let left = this.leaving.get(name); left !== undefined; left = this.leaving.get(name)) await left.catch(() => undefined);
    if (this.closing !== null) throw shuttingDown();
    let hosted = this.hosted.get(name);
    if (hosted === undefined) {
      // The files that one more would open are those by which the process is reached.
      if (this.hosted.size >= this.options.openShardsMax) {
        this.left.set(name, { ...spec });
        throw this.full();
      }
      this.left.delete(name);
      hosted = this.host(name, spec);
    } else if (specText(hosted.spec) !== specText(spec)) {
      throw new QuiverError('storage_failed', `the shard is ${specText(hosted.spec)}, not ${specText(spec)}`);
    }
    await hosted.shard;
  }

  /**
   * The open shard. Errors: not_found; unavailable while it is being opened anew and can't be; storage_failed when others
   * have taken its place. It is opened once one of them is gone.
   */
  async shard(id: ShardId): Promise<Shard> {
    const hosted = this.hosted.get(nameOf(id));
    if (hosted !== undefined) return hosted.shard;
    if (this.closing !== null) throw shuttingDown();
    const left = this.left.get(nameOf(id));
    if (left !== undefined) {
      await this.open(left);
      return this.shard(id);
    }
    throw new QuiverError('not_found', `shard ${id.shard} of collection ${id.collectionUid} is not on this node`);
  }

  /** Removes a shard and its data; nothing happens when it is gone. */
  drop(id: ShardId): Promise<void> {
    const name = nameOf(id);
    let left = this.leaving.get(name);
    if (left === undefined) {
      left = this.remove(id, name).finally(() => this.leaving.delete(name));
      this.leaving.set(name, left);
    }
    return left;
  }

  /** The shards that are open; each counts as the leader of itself, as `GET /v1/cluster` has it. */
  async observe(): Promise<ReplicaObservation[]> {
    const observations = [...this.hosted.values()].map(async ({ spec, open }): Promise<ReplicaObservation | null> => {
      const data = open === null ? null : await open.observe().catch(() => null);
      if (open === null || data === null) return null;
      const { collectionUid } = spec;
      const { lastOperation } = data.status;
      return { collectionUid, shard: spec.shard, leads: true, epoch: 1, lastSequence: lastOperation, appliedSequence: lastOperation, pendingWrites: open.waitingWrites, lagMax: 0, data };
    });
    return (await Promise.all(observations)).filter((observation) => observation !== null);
  }

  /** Shards that are to be open and are not, most likely because their disk fails. */
  get closedReplicas(): number {
    return [...this.hosted.values()].filter(({ open }) => open === null).length + this.left.size;
  }

  /** Shards that were to be opened when as many were open as may be, and were not asked for since there is room. */
  get leftShards(): number {
    return this.left.size;
  }

  /** Bytes of writes that wait, of all shards. */
  get waitingWriteBytes(): number {
    return this.budget.takenBytes;
  }

  /** Resolves when no shard has queued writes or background work. */
  async settled(): Promise<void> {
    await Promise.all([...this.hosted.values()].map(async (hosted) => (await hosted.shard).settled()));
  }

  /** Closes every shard, with a checkpoint each; idempotent. */
  close(): Promise<void> {
    this.closing ??= this.closeAll();
    return this.closing;
  }

  private async closeAll(): Promise<void> {
    const closings = [...this.hosted.values()].map(async (hosted) => {
      if (hosted.retry !== null) clearTimeout(hosted.retry);
      await (await hosted.shard.catch(() => null))?.close();
    });
    const results = await Promise.allSettled([...closings, ...this.leaving.values()]);
    this.hosted.clear();
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  private async remove(id: ShardId, name: string): Promise<void> {
    const hosted = this.hosted.get(name);
    this.hosted.delete(name);
    this.left.delete(name);
    if (hosted !== undefined && hosted.retry !== null) clearTimeout(hosted.retry);
    const shard = await hosted?.shard.catch(() => undefined);
    await shard?.close('dropped').catch((error: unknown) => this.options.logger.error({ error, shard: name }, 'a shard to be removed failed to close'));
    const trash = join(this.folder, 'trash');
    await mkdir(trash, { recursive: true });
    const target = join(trash, randomUUID());
    const collection = join(this.folder, 'shards', id.collectionUid);
    try {
      await rename(join(this.folder, 'shards', name), target);
      await syncFolder(collection);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    await rm(target, { recursive: true, force: true });
    const left = await readdir(collection).catch(() => null);
    // Another of its shards may be made at the same moment.
    if (left !== null && left.length === 0) await rmdir(collection).catch(() => undefined);
  }

  private full(): QuiverError {
    const { openShardsMax } = this.options;
    return new QuiverError('storage_failed', `the shard is not open: this process holds ${openShardsMax} shards, as many as its limit of open files (ulimit -n) allows; raise the limit or delete collections`);
  }

  private host(name: string, spec: ShardSpec): HostedShard {
    const hosted = { spec: { ...spec }, open: null, openedAtMs: -Infinity, retry: null } as Omit<HostedShard, 'shard'> as HostedShard;
    hosted.shard = this.openShard(name, hosted);
    hosted.shard.catch(() => this.hosted.get(name) === hosted && this.hosted.delete(name));
    this.hosted.set(name, hosted);
    return hosted;
  }

  private async openShard(name: string, hosted: HostedShard): Promise<Shard> {
    const shard = await Shard.open(join(this.folder, 'shards', name), hosted.spec, this.options, {
      budget: this.budget,
      onDiverged: (error) => {
        this.options.logger.error({ error, shard: name }, 'a shard could not follow its own records and is opened anew');
        this.reopen(name, hosted);
      },
      onWriteFailed: (error) => {
        this.options.logger.error({ error, shard: name }, 'a shard could not write to its disk; it takes no writes until the disk does');
        this.awaitDisk(name, hosted, new RetryBackoff(REOPEN_PAUSES));
      },
      onDamaged: (error) => this.options.logger.error({ error, shard: name }, 'stored data of a shard are damaged; what is not is served'),
    });
    hosted.openedAtMs = performance.now();
    hosted.open = shard;
    return shard;
  }

  /** Opens a shard anew when its disk takes writes again; until then it stays open, for its readers. */
  private awaitDisk(name: string, hosted: HostedShard, backoff: RetryBackoff): void {
    if (!this.isHosted(name, hosted)) return;
    hosted.retry = setTimeout(() => {
      void diskTakesWrites(this.folder).then((isUsable) => {
        if (!isUsable) this.awaitDisk(name, hosted, backoff);
        else if (this.isHosted(name, hosted)) {
          this.options.logger.info({ shard: name }, 'the disk takes writes again; the shard is opened anew');
          this.reopen(name, hosted);
        }
      });
    }, backoff.nextMs());
    hosted.retry.unref();
  }

  /** Closes a shard whose indexes or disk can't be trusted and opens it from its records. Calls meanwhile wait for it. */
  private reopen(name: string, hosted: HostedShard): void {
    if (!this.isHosted(name, hosted)) return;
    const failed = hosted.shard;
    hosted.open = null;
    const delayMs = Math.max(0, REOPEN_PAUSES.firstMs - (performance.now() - hosted.openedAtMs));
    this.attempt(name, hosted, new RetryBackoff(REOPEN_PAUSES), async () => {
      await (await failed).close('reopened').catch((error: unknown) => this.options.logger.error({ error, shard: name }, 'a shard to be opened anew failed to close'));
      if (delayMs > 0) await new Promise((wake) => setTimeout(wake, delayMs));
    });
  }

  /** One attempt to open a shard anew; after a failure calls are refused until the next. */
  private attempt(name: string, hosted: HostedShard, backoff: RetryBackoff, prepare: () => Promise<void>): void {
    hosted.shard = (async () => {
      await prepare();
      if (!this.isHosted(name, hosted)) throw shuttingDown();
      try {
        return await this.openShard(name, hosted);
      } catch (error) {
        const retryMs = backoff.nextMs();
        this.options.logger.error({ error, shard: name, retryMs }, 'a shard cannot be opened anew; it is tried again');
        if (this.isHosted(name, hosted)) {
          hosted.retry = setTimeout(() => this.attempt(name, hosted, backoff, async () => undefined), retryMs);
          hosted.retry.unref();
        }
        throw new QuiverError('unavailable', 'the shard is being brought back from its records; the call may be retried', { cause: error });
      }
    })();
    hosted.shard.catch(() => undefined);
  }

  private isHosted(name: string, hosted: HostedShard): boolean {
    return this.closing === null && this.hosted.get(name) === hosted;
  }
}

function shuttingDown(): QuiverError {
  return new QuiverError('unavailable', 'the node is shutting down');
}

function nameOf(id: ShardId): string {
  if (!UID.test(id.collectionUid) || !Number.isInteger(id.shard) || id.shard < 0) {
    throw new QuiverError('internal', 'a shard id that cannot be a folder name', { details: { ...id } });
  }
  // Not path.join, which takes three microseconds of every read.
  return `${id.collectionUid}/${id.shard}`;
}
