import { randomUUID } from 'node:crypto';
import { access, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import { shardKey } from '../../../shared/cluster-store/entries/members';
import { makeStableFolder, replaceFile, syncFolder } from '../../../shared/base/files/stable-folder';
import { LogWatermark, WATERMARK_FILE } from '../../replication/log/log-watermark';
import { retiredFolder } from '../../engine/shard/opening/noted-opening';

const FILE_NAME = /^([A-Za-z0-9-]{1,64})\.(\d{1,9})$/;

/**
 * Which store each shard's data on this node are, by the replication protocol's meaning: another store is another
 * replica, and nothing that the one before acknowledged counts for it. A shard's store is the node's own until its data
 * are lost or damaged and begun again; then it is one of its own, so that one bad shard costs no other its data.
 *
 * `stores/<collection uid>.<shard>` holds the id. It is there from the first opening on, apart from the data: data that
 * are missing beside it were lost, and are not those of a shard that is new.
 */
export class ShardStores {
  private constructor(
    private readonly folder: string,
    private readonly nodeStore: string,
    /** By shardKey; what was opened here at least once. */
    private readonly ids: Map<string, string>,
  ) {}

  /** Reads what `folder` (of the node) says of its shards. Errors: storage_failed. */
  static async load(folder: string, nodeStore: string): Promise<ShardStores> {
    const stores = join(folder, 'stores');
    await makeStableFolder(stores);
    const ids = new Map<string, string>();
    for (const name of await readdir(stores)) {
      const match = FILE_NAME.exec(name);
      if (match === null) continue;
      const id = (await readFile(join(stores, name), 'utf8')).trim();
      if (id === '')
        throw new QuiverError(
          'storage_failed',
          `${join(stores, name)} is damaged, it is empty: put it back, or remove it, and the shard is copied from another replica if it had a store of its own`,
        );
      ids.set(shardKey({ collectionUid: match[1], shard: Number(match[2]) }), id);
    }
    return new ShardStores(folder, nodeStore, ids);
  }

  idOf(id: ShardId): string {
    return this.ids.get(shardKey(id)) ?? this.nodeStore;
  }

  /** Whether the shard was opened here before. */
  isKnown(id: ShardId): boolean {
    return this.ids.has(shardKey(id));
  }

  /** The stores that are not the node's, by shardKey: what others have to be told. */
  ownStores(): Record<string, string> {
    return Object.fromEntries([...this.ids].filter(([, store]) => store !== this.nodeStore));
  }

  /**
   * Whether the shard was open here once and its data are gone. `wasHeld`: the cluster says that this store held some.
   */
  async isLost(id: ShardId, wasHeld: boolean): Promise<boolean> {
    if (!wasHeld && !this.ids.has(shardKey(id))) return false;
    // A copy that was being installed when the process ended has put the data aside; opening puts them back.
    const places = [this.pathOf(id), `${this.pathOf(id)}.outgoing`];
    const found = await Promise.all(places.map((place) => isThere(join(place, 'records'))));
    return !found.includes(true);
  }

  /** Notes that the shard was opened, on stable storage when it resolves. */
  async opened(id: ShardId): Promise<void> {
    if (!this.ids.has(shardKey(id))) await this.note(id, this.nodeStore);
  }

  /**
   * Begins the shard again under a store id of its own: what is left of the data is put aside as `<shard>.retired`, in
   * the place of what was put there before. Nothing of the shard may be open. Errors: those of the file system.
   */
  async renew(id: ShardId): Promise<void> {
    const data = this.pathOf(id);
    await makeStableFolder(dirname(data));
    if (await isThere(data)) {
      await rm(retiredFolder(data), { recursive: true, force: true });
      await rename(data, retiredFolder(data));
    }
    await syncFolder(dirname(data));
    // Last: after a crash before it the data are missing beside the old id, and this is done again.
    await this.note(id, randomUUID());
  }

  /** Forgets a shard whose data are removed for good, and removes what was put aside of it. */
  async forget(id: ShardId): Promise<void> {
    await rm(retiredFolder(this.pathOf(id)), { recursive: true, force: true });
    if (this.ids.delete(shardKey(id))) await rm(this.fileOf(id), { force: true });
  }

  private async note(id: ShardId, store: string): Promise<void> {
    const file = this.fileOf(id);
    await replaceFile(file, `${store}\n`);
    await syncFolder(dirname(file));
    this.ids.set(shardKey(id), store);
  }

  private fileOf({ collectionUid, shard }: ShardId): string {
    return join(this.folder, 'stores', `${collectionUid}.${shard}`);
  }

  /**
   * The highest epoch that the shard's data have promised to follow, without opening them. 0 if there are none; null if
   * nothing was noted, because the data were copied here and took no write yet. Errors: storage_failed.
   */
  async promisedEpoch(id: ShardId): Promise<number | null> {
    const data = this.pathOf(id);
    if (!(await isThere(data))) return 0;
    const watermarkPath = join(data, WATERMARK_FILE);
    if (!(await isThere(watermarkPath))) return null;
    const watermark = await LogWatermark.open(watermarkPath);
    await watermark.close();
    return watermark.state?.promisedEpoch ?? null;
  }

  /** Where the shard's data are. */
  pathOf({ collectionUid, shard }: ShardId): string {
    return join(this.folder, 'shards', collectionUid, String(shard));
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
