import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { RocksKeyValueStore } from '../node/engine/kv/rocks-key-value-store';
import type { StoreBudget } from '../node/engine/kv/store-budget';
import type { StoreNotes } from '../node/engine/kv/store-notes';
import { isDamage, QuiverError } from '../shared/base/errors/quiver-error';
import { ownerOf } from './folder-owner';
import { KeyValueClusterStore } from './cluster-store/key-value-cluster-store';

/** What the data folder of the embedded form holds: the collections and keys, the shards, and what is noted of both. */
export const CLUSTER_FOLDER = 'cluster';
export const SHARDS_FOLDER = join('node', 'shards');
export const NOTES_FOLDER = 'notes';
/** Under which the store of collections and keys is noted; no shard has such a name. */
export const CLUSTER_NOTE = 'cluster';

/**
 * Opens the store of collections and keys, and makes it only where nothing says that there was one: beside shards, a
 * new one would list nothing of what is stored, and have another first key. Errors: storage_failed, which names the
 * process that has the folder; storage_damaged
 * with the ways out.
 */
export async function openClusterFolder(
  dataDir: string,
  budget: StoreBudget,
  notes: StoreNotes,
): Promise<KeyValueClusterStore> {
  const folder = join(dataDir, CLUSTER_FOLDER);
  const mustExist = notes.names().length > 0 || (await collectionFolders(dataDir)).length > 0;
  try {
    await notes.mustNotBeEarlier(CLUSTER_NOTE, folder);
    const store = await KeyValueClusterStore.open({
      store: await RocksKeyValueStore.open(folder, budget, { mustExist }),
      beforeFirstWrite: () => notes.written(CLUSTER_NOTE, folder),
    });
    try {
      await notes.opened(CLUSTER_NOTE, folder, store.revision);
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  } catch (error) {
    if (isInUse(error))
      throw new QuiverError('storage_failed', `the data folder ${dataDir} is in use by ${ownerOf(dataDir)}`, {
        cause: error,
      });
    if (!isDamage(error)) throw error;
    const { place = error.message } = error.details;
    const uids = await collectionFolders(dataDir);
    const beside =
      uids.length === 0
        ? 'data were here before'
        : `${join(dataDir, SHARDS_FOLDER)} holds shards of ${uids.length} ${uids.length === 1 ? 'collection' : 'collections'}`;
    throw new QuiverError(
      'storage_damaged',
      `the collections and keys in ${folder} are gone, damaged or an earlier copy (${String(place)}), and ${beside}, so nothing is begun in their place: ` +
        'put the folder back from a copy, serve what is left of it (quiver repair --accept-loss cluster), or have the collections listed again from what lies beside their shards, without the keys (quiver repair --rebuild-cluster); docs/operations.md says what each costs',
      { cause: error, details: { folder, ...error.details } },
    );
  }
}

function isInUse(error: unknown): boolean {
  return ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'IN_USE';
}

/** Closes it, and notes how far it is. Errors: storage_failed. */
export async function closeClusterFolder(
  dataDir: string,
  store: KeyValueClusterStore,
  notes: StoreNotes,
): Promise<void> {
  await store.close();
  await notes.closed(CLUSTER_NOTE, join(dataDir, CLUSTER_FOLDER), store.revision);
}

/** The uids of the collections of which there are shards on the disk. Errors: those of the file system. */
export async function collectionFolders(dataDir: string): Promise<string[]> {
  const shards = join(dataDir, SHARDS_FOLDER);
  const uids = await entriesOf(shards);
  const found = await Promise.all(
    uids.map(async (uid) => ((await shardFolders(dataDir, uid)).length > 0 ? [uid] : [])),
  );
  return found.flat().sort();
}

/** The numbers of the shards of a collection that are on the disk, ascending. Errors: those of the file system. */
export async function shardFolders(dataDir: string, uid: string): Promise<number[]> {
  const names = await entriesOf(join(dataDir, SHARDS_FOLDER, uid));
  return names
    .filter((name) => /^\d{1,9}$/.test(name))
    .map(Number)
    .sort((a, b) => a - b);
}

async function entriesOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}
