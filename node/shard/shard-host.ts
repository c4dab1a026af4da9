import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { QuiverError } from '../../shared/errors/quiver-error';
import type { ShardId, ShardSpec } from '../../shared/shard/shard-client';
import { Shard } from './shard';
import type { ShardOptions } from './shard-options';

/** Collection uids become folder names, so they are held to a safe alphabet. */
const UID = /^[A-Za-z0-9-]{1,64}$/;
/** A shard that diverged is opened anew at most this often, so that a failing disk is not hammered. */
const REOPEN_DELAY_MS = 1_000;

/**
 * The shards of one node, in `folder`: shards/<collection uid>/<shard number>, each with a RocksDB of its own. One store
 * per shard rather than one per node: a shard is dropped by removing its folder, copied by copying it, and a damaged
 * one harms no other; the price is some open files and a small memtable each.
 */
export class ShardHost {
  private readonly shards = new Map<string, Promise<Shard>>();
  private closed = false;

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

  /** Opens or makes a shard; nothing happens when it is open. */
  async open(spec: ShardSpec): Promise<void> {
    if (this.closed) throw new QuiverError('unavailable', 'the node is shutting down');
    const name = nameOf(spec);
    let opening = this.shards.get(name);
    if (opening === undefined) {
      opening = this.openShard(spec);
      this.shards.set(name, opening);
      opening.catch(() => this.shards.get(name) === opening && this.shards.delete(name));
    }
    await opening;
  }

  /** The open shard. Errors: not_found. */
  async shard(id: ShardId): Promise<Shard> {
    const shard = this.shards.get(nameOf(id));
    if (shard === undefined) throw new QuiverError('not_found', `shard ${id.shard} of collection ${id.collectionUid} is not on this node`);
    return shard;
  }

  /** Removes a shard and its data; nothing happens when it is gone. */
  async drop(id: ShardId): Promise<void> {
    const name = nameOf(id);
    const shard = await this.shards.get(name)?.catch(() => undefined);
    this.shards.delete(name);
    await shard?.close({ discard: true });
    const trash = join(this.folder, 'trash');
    await mkdir(trash, { recursive: true });
    const target = join(trash, `${id.collectionUid}-${id.shard}`);
    try {
      await rename(join(this.folder, 'shards', name), target);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    await rm(target, { recursive: true, force: true });
    await this.removeEmptyCollectionFolder(id.collectionUid);
  }

  /** Resolves when no shard has queued writes or background work. */
  async settled(): Promise<void> {
    await Promise.all([...this.shards.values()].map(async (shard) => (await shard).settled()));
  }

  /** Closes every shard, with a checkpoint each; idempotent. */
  async close(): Promise<void> {
    this.closed = true;
    const closing = [...this.shards.values()].map(async (shard) => (await shard.catch(() => undefined))?.close());
    this.shards.clear();
    await Promise.all(closing);
  }

  private openShard(spec: ShardSpec): Promise<Shard> {
    return Shard.open(join(this.folder, 'shards', nameOf(spec)), spec, this.options, (error) => this.reopen(spec, error));
  }

  /** Closes a shard whose indexes can't be trusted and opens it from its records. Calls meanwhile wait for it. */
  private reopen(spec: ShardSpec, cause: Error): void {
    const name = nameOf(spec);
    const diverged = this.shards.get(name);
    if (diverged === undefined || this.closed) return;
    this.options.logger.error({ error: cause, shard: name }, 'a shard could not follow its own records and is opened anew');
    const opening = (async () => {
      await (await diverged).close({ discard: true });
      await new Promise((wake) => setTimeout(wake, REOPEN_DELAY_MS));
      return this.openShard(spec);
    })();
    this.shards.set(name, opening);
    opening.catch((error: unknown) => this.options.logger.error({ error, shard: name }, 'a shard cannot be opened'));
  }

  private async removeEmptyCollectionFolder(uid: string): Promise<void> {
    const folder = join(this.folder, 'shards', uid);
    const left = await readdir(folder).catch(() => null);
    if (left !== null && left.length === 0) await rmdir(folder).catch(() => undefined);
  }
}

function nameOf(id: ShardId): string {
  if (!UID.test(id.collectionUid) || !Number.isInteger(id.shard) || id.shard < 0) {
    throw new QuiverError('internal', 'a shard id that cannot be a folder name', { details: { ...id } });
  }
  return join(id.collectionUid, String(id.shard));
}
