import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { CollectionCatalog } from '../coordinator/service/collections/collection-catalog';
import {
  collectionPath,
  type CollectionRecord,
  collectionToValue,
} from '../coordinator/service/collections/collection-record';
import { RocksKeyValueStore } from '../node/engine/kv/rocks-key-value-store';
import { StoreBudget } from '../node/engine/kv/store-budget';
import { shardNoteName, StoreNotes } from '../node/engine/kv/store-notes';
import { readStoreStamp } from '../node/engine/kv/store-stamp';
import { blankSpec } from '../node/engine/shard/opening/rest-note';
import { readConfig } from '../shared/base/config/config';
import { isDamage, isQuiverError, QuiverError } from '../shared/base/errors/quiver-error';
import { syncFolder } from '../shared/base/files/stable-folder';
import { KeyValueClusterStore } from './cluster-store/key-value-cluster-store';
import {
  CLUSTER_FOLDER,
  CLUSTER_NOTE,
  collectionFolders,
  closeClusterFolder,
  NOTES_FOLDER,
  openClusterFolder,
  SHARDS_FOLDER,
} from './cluster-folder';
import { openStages, rebuiltCollections } from './rebuilt-collections';

/**
 * `quiver repair`: what of a data folder of the embedded form (DATA_DIR) is missing, and what an operator decides about
 * it. For a service that is stopped. Exits with 0; with 1 and one line on standard error when it can't be done, and
 * without an option also when something is missing; with 2 for other words.
 */

const USAGE = `usage: quiver repair [option]
Looks through the data folder (DATA_DIR) of a stopped service, without a cluster, and says which data are gone. With one of:
  --accept-loss <collection>[/<shard>]  the next start serves what is left of the shard, or begins it empty
  --accept-loss cluster                 the same for the collections and keys themselves
  --rebuild-cluster                     lists the collections again by what lies beside their shards; keys are not kept there
docs/operations.md says what each costs.
`;

interface Folder {
  dataDir: string;
  notes: StoreNotes;
  budget: StoreBudget;
}

async function main(words: string[]): Promise<void> {
  const [option, value, ...rest] = words;
  const isKnown =
    option === undefined ||
    (option === '--accept-loss' && value !== undefined && rest.length === 0) ||
    (option === '--rebuild-cluster' && value === undefined);
  if (!isKnown) {
    (option === '--help' || option === '-h' ? process.stdout : process.stderr).write(USAGE);
    process.exitCode = option === '--help' || option === '-h' ? 0 : 2;
    return;
  }
  const { dataDir, storeCacheBytes, storeWriteBufferBytes } = readConfig(process.env, availableParallelism());
  if (!['cluster', 'node'].some((name) => existsSync(join(dataDir, name))))
    throw new QuiverError(
      'storage_failed',
      `${dataDir} (DATA_DIR) is no data folder of a service: neither cluster nor node is in it`,
    );
  if (existsSync(join(dataDir, 'node', 'store.json')))
    throw new QuiverError(
      'invalid_parameter',
      `${dataDir} is the data folder of a node of a cluster: what it lost, other replicas have, or a backup`,
    );
  const folder: Folder = {
    dataDir,
    notes: await StoreNotes.load(join(dataDir, NOTES_FOLDER), {
      warn: (_fields, message) => void process.stderr.write(`${message}\n`),
    }),
    budget: new StoreBudget({ cacheBytes: storeCacheBytes, writeBufferBytes: storeWriteBufferBytes }),
  };
  if (option === '--rebuild-cluster') return rebuild(folder);
  if (option === '--accept-loss' && value === CLUSTER_NOTE) return acceptClusterLoss(folder);
  if (option === '--accept-loss') return acceptLoss(folder, value);
  return report(folder);
}

/** What is there and what is not, by files alone: what is damaged inside, a start tells. */
async function report(folder: Folder): Promise<void> {
  const records = await collections(folder);
  let missing = 0;
  for (const record of records) {
    for (let shard = 0; shard < record.shards; shard += 1) {
      const why = await lossOf(folder, record, shard);
      if (why === null) continue;
      missing += 1;
      say(
        `shard ${shard} of ${record.shards} of collection "${record.name}" (${shardPath(folder, record, shard)}): ${why}`,
      );
    }
  }
  const uids = new Set(records.map(({ uid }) => uid));
  for (const uid of await collectionFolders(folder.dataDir))
    if (!uids.has(uid)) say(`${join(folder.dataDir, SHARDS_FOLDER, uid)} is of no collection; it is left alone`);
  say(
    missing === 0
      ? `nothing is missing of ${records.length} ${records.length === 1 ? 'collection' : 'collections'}`
      : 'put them back from a copy, restore the collections from a backup, or accept the loss (--accept-loss)',
  );
  if (missing > 0) process.exitCode = 1;
}

/** null: nothing of the shard is missing. */
async function lossOf({ dataDir, notes }: Folder, { uid }: CollectionRecord, shard: number): Promise<string | null> {
  const name = shardNoteName({ collectionUid: uid, shard });
  if (await notes.isLossAccepted(name)) return null;
  const records = join(dataDir, SHARDS_FOLDER, uid, String(shard), 'records');
  if ((await readStoreStamp(records)) === null)
    return blankSpec(dirname(records)) !== null && !notes.isKnown(name) ? null : 'its data are gone';
  try {
    await notes.mustNotBeEarlier(name, records);
    return null;
  } catch (error) {
    if (isDamage(error)) return error.message;
    throw error;
  }
}

async function acceptLoss(folder: Folder, words: string): Promise<void> {
  const [, name, number] = /^([^/]+)(?:\/(\d{1,9}))?$/.exec(words) ?? [];
  const record = (await collections(folder)).find((one) => one.name === name);
  if (record === undefined) throw new QuiverError('not_found', `there is no collection "${name ?? words}"`);
  const shards = number === undefined ? Array.from({ length: record.shards }, (_, shard) => shard) : [Number(number)];
  if (shards.some((shard) => shard >= record.shards))
    throw new QuiverError('not_found', `collection "${record.name}" has the shards 0 to ${record.shards - 1}`);
  for (const shard of shards) {
    await folder.notes.acceptLoss(shardNoteName({ collectionUid: record.uid, shard }));
    say(
      `shard ${shard} of collection "${record.name}": the loss is accepted. The next start serves what is left of it, or begins it empty and keeps what was left beside it as ${shard}.retired (${shard}-2.retired where that is there)`,
    );
  }
}

async function acceptClusterLoss({ dataDir, notes, budget }: Folder): Promise<void> {
  const folder = join(dataDir, CLUSTER_FOLDER);
  // By it, a store that lacks what was stored is refused.
  await rm(join(folder, 'SYNCED'), { force: true });
  const store = await RocksKeyValueStore.open(folder, budget, { mustExist: true }).catch((error: unknown) => {
    if (!isDamage(error)) throw error;
    throw new QuiverError(
      'storage_damaged',
      `nothing of ${folder} can be read (${String(error.details.place)}): have it made anew (quiver repair --rebuild-cluster)`,
      { cause: error },
    );
  });
  const cluster = await KeyValueClusterStore.open({ store });
  const records = await listed(cluster);
  await notes.forget(CLUSTER_NOTE);
  await notes.opened(CLUSTER_NOTE, folder, cluster.revision);
  await closeClusterFolder(dataDir, cluster, notes);
  say(
    `the loss is accepted: ${records.length} collections are listed (${records.map(({ name }) => name).join(', ')}), with the keys of then. Shards of others are left alone in ${join(dataDir, SHARDS_FOLDER)}`,
  );
}

async function rebuild(folder: Folder): Promise<void> {
  const { dataDir, notes, budget } = folder;
  const place = join(dataDir, CLUSTER_FOLDER);
  if (await isSound(folder))
    throw new QuiverError('invalid_parameter', `${place} is there and sound: there is nothing to make anew`);
  const { listed: found, leftOut } = await rebuiltCollections(dataDir, new Date().toISOString());
  const damaged = new Map<string, number[]>();
  for (const { record } of found) damaged.set(record.uid, await openStages(dataDir, record));
  const anew = `${place}.new`;
  await rm(anew, { recursive: true, force: true });
  const cluster = await KeyValueClusterStore.open({ store: await RocksKeyValueStore.open(anew, budget) });
  try {
    for (const { record } of found)
      await cluster.transact([], [{ type: 'put', key: collectionPath(record.name), value: collectionToValue(record) }]);
  } finally {
    await cluster.close();
  }
  if (existsSync(place)) await rename(place, `${place}.retired-${Date.now()}`);
  await rename(anew, place);
  await syncFolder(dataDir);
  await notes.forget(CLUSTER_NOTE);
  await notes.opened(CLUSTER_NOTE, place, cluster.revision);
  for (const { record, remark } of found) {
    const lost = damaged.get(record.uid) ?? [];
    const what = [remark, lost.length === 0 ? '' : `damaged: ${lost.join(', ')}`]
      .filter((text) => text !== '')
      .join('; ');
    say(
      `collection "${record.name}": ${record.shards} ${record.shards === 1 ? 'shard' : 'shards'}${what === '' ? '' : ` (${what})`}`,
    );
  }
  for (const { uid, why } of leftOut) say(`left alone: ${join(dataDir, SHARDS_FOLDER, uid)}, because ${why}`);
  say(
    'not kept, so gone: API keys (the next start makes key 1 from API_KEY, or a new one that it shows), their ' +
      'quotas and use, reshards, backups and restores under way, and what is remembered of Idempotency-Keys of ' +
      'uploads and changes of collections',
  );
}

/** Errors: storage_failed, also while a process has it open. */
async function isSound({ dataDir, notes, budget }: Folder): Promise<boolean> {
  try {
    await closeClusterFolder(dataDir, await openClusterFolder(dataDir, budget, notes), notes);
    return true;
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
}

/** The collections, of a data folder that no process has open. Errors: as of openClusterFolder. */
async function collections({ dataDir, notes, budget }: Folder): Promise<CollectionRecord[]> {
  const cluster = await openClusterFolder(dataDir, budget, notes);
  try {
    return await listed(cluster);
  } finally {
    await closeClusterFolder(dataDir, cluster, notes);
  }
}

function listed(store: KeyValueClusterStore): Promise<CollectionRecord[]> {
  return new CollectionCatalog({ store }).list();
}

function shardPath({ dataDir }: Folder, { uid }: CollectionRecord, shard: number): string {
  return join(dataDir, SHARDS_FOLDER, uid, String(shard));
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

main(process.argv.slice(3)).catch((error: unknown) => {
  process.stderr.write(`${isQuiverError(error) ? error.message : String((error as Error).stack)}\n`);
  process.exitCode = 1;
});
