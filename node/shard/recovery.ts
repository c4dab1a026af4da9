import { QuiverError } from '../../shared/errors/quiver-error';
import type { JsonObject } from '../../shared/filter/filter';
import { keywordText } from '../../shared/text/keyword-text';
import { Directory, type DirectoryEntry } from '../records/directory';
import { type ItemRecord, recordFromBytes } from '../records/record-codec';
import type { RecordStore } from '../records/record-store';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import type { VectorIndexOptions } from '../vector/vector-index';
import { type CheckpointFile, type Manifest, readCheckpointFile, readManifest } from './checkpoint';
import type { ShardLogger } from './shard-options';
import { type IndexFactories, type ShardIndexes, addVectors, parsedMetadata } from './shard-indexes';
import type { ShardCounters } from './shard-writer';

/** Items per step of a rebuild; the vector index takes them in one call. */
const REBUILD_BATCH = 1000;
/** Records read at once for repairs. */
const REPAIR_BATCH = 1000;

export interface RecoveredShard {
  indexes: ShardIndexes;
  counters: ShardCounters;
  /** The checkpoint in force, null when there is none that can be used. */
  manifest: Manifest | null;
}

/**
 * Brings a shard's indexes to the state of its records: the checkpoint's files, with every slot that was touched after
 * the checkpoint began emptied and filled again from the records. A file that can't be used is rebuilt from all records.
 */
export async function recoverShard(parts: {
  folder: string;
  records: RecordStore;
  factories: IndexFactories;
  vectorOptions: VectorIndexOptions;
  logger: ShardLogger;
}): Promise<RecoveredShard> {
  const { folder, records, factories, vectorOptions, logger } = parts;
  const manifest = await usableManifest(folder, logger);
  const journal = await readJournal(records, manifest?.operation ?? 0);
  const repairs = await readRepairs(records, journal.touched);

  /** The content of a file, or null (and a log line) when the index has to be rebuilt. */
  const load = async <Index>(name: CheckpointFile, decode: (bytes: Buffer) => Index): Promise<Index | null> => {
    if (manifest === null) return null;
    try {
      return decode(await readCheckpointFile(folder, manifest, name));
    } catch (error) {
      logger.warn({ error, file: name, folder }, 'a checkpoint file cannot be used and is rebuilt from the records');
      return null;
    }
  };
  const loadedDirectory = await load('directory', (bytes) => Directory.load(bytes, entriesOf(repairs)));
  const directory = loadedDirectory ?? new Directory();
  const metadataOf = (slot: number): JsonObject => parsedMetadata(directory.metadataOf(slot));
  const loadedFilters = await load('filters', (bytes) => factories.loadFilterIndex(bytes, metadataOf));
  const loadedKeywords = await load('keywords', (bytes) => factories.loadKeywordIndex(bytes));
  let loadedVectors = manifest === null ? null : await openSavedVectors(factories, vectorOptions, manifest, logger);

  const touched = ChunkedSlotSet.fromArray([...journal.touched.keys()]);
  loadedVectors?.remove(touched.toArray());
  loadedFilters?.removeEverywhere(touched);
  loadedKeywords?.removeEverywhere(touched);
  const repaired = [...repairs.values()].filter((repair) => repair !== null);
  for (let at = 0; at < repaired.length; at += REBUILD_BATCH) {
    const batch = repaired.slice(at, at + REBUILD_BATCH).map(({ item }) => item);
    if (loadedVectors !== null) addVectors(loadedVectors, batch, vectorOptions.dim);
    for (const item of batch) addToTextIndexes(item, loadedFilters, loadedKeywords);
  }
  if (loadedVectors !== null && loadedDirectory !== null && loadedVectors.liveCount !== directory.liveCount) {
    logger.warn({ folder, items: directory.liveCount, vectors: loadedVectors.liveCount }, 'the vector index does not match the records and is rebuilt');
    await loadedVectors.close();
    loadedVectors = null;
  }

  const indexes: ShardIndexes = {
    directory,
    vectors: loadedVectors ?? (await factories.openVectorIndex(vectorOptions, null)),
    filters: loadedFilters ?? factories.loadFilterIndex(null, metadataOf),
    keywords: loadedKeywords ?? factories.loadKeywordIndex(null),
  };
  await rebuild(records, indexes, vectorOptions.dim, {
    directory: loadedDirectory === null,
    vectors: loadedVectors === null,
    filters: loadedFilters === null,
    keywords: loadedKeywords === null,
  });
  return {
    indexes,
    manifest,
    counters: {
      lastOperation: Math.max(manifest?.operation ?? 0, journal.lastOperation),
      lastRecno: Math.max(manifest?.lastRecno ?? 0, journal.lastRecno, await records.lastRecno()),
    },
  };
}

async function usableManifest(folder: string, logger: ShardLogger): Promise<Manifest | null> {
  const manifest = await readManifest(folder);
  if (!(manifest instanceof Error)) return manifest;
  logger.warn({ error: manifest, folder }, 'the checkpoint cannot be used; the indexes are rebuilt from the records');
  return null;
}

async function openSavedVectors(factories: IndexFactories, options: VectorIndexOptions, manifest: Manifest, logger: ShardLogger) {
  try {
    return await factories.openVectorIndex(options, manifest.vectors);
  } catch (error) {
    logger.warn({ error, folder: options.folder }, 'the saved vector index cannot be used and is rebuilt from the records');
    return null;
  }
}

/** What the journal says of the slots touched after an operation: the record each holds in the end, null for none. */
async function readJournal(records: RecordStore, after: number): Promise<{ touched: Map<number, number | null>; lastOperation: number; lastRecno: number }> {
  const touched = new Map<number, number | null>();
  let lastOperation = 0;
  let lastRecno = 0;
  for await (const page of records.journal(after)) {
    for (const { operation, entry } of page) {
      lastOperation = operation;
      for (const slot of entry.freedSlots) touched.set(slot, null);
      for (const { slot, recno } of entry.filledSlots) {
        touched.set(slot, recno);
        lastRecno = Math.max(lastRecno, recno);
      }
    }
  }
  return { touched, lastOperation, lastRecno };
}

type Repair = { recno: number; item: ItemRecord } | null;

async function readRepairs(records: RecordStore, touched: ReadonlyMap<number, number | null>): Promise<Map<number, Repair>> {
  const repairs = new Map<number, Repair>();
  const entries = [...touched];
  for (let at = 0; at < entries.length; at += REPAIR_BATCH) {
    const batch = entries.slice(at, at + REPAIR_BATCH);
    const filled = batch.filter(([, recno]) => recno !== null) as [number, number][];
    const stored = await records.read(filled.map(([, recno]) => recno));
    for (const [slot, recno] of batch) if (recno === null) repairs.set(slot, null);
    filled.forEach(([slot, recno], i) => {
      const bytes = stored[i];
      if (bytes === undefined) throw new QuiverError('storage_failed', `record ${recno} is in the journal but not in the store`);
      repairs.set(slot, { recno, item: recordFromBytes(bytes) });
    });
  }
  return repairs;
}

function entriesOf(repairs: ReadonlyMap<number, Repair>): Map<number, DirectoryEntry | null> {
  return new Map([...repairs].map(([slot, repair]) => [slot, repair === null ? null : directoryEntry(repair.recno, repair.item)]));
}

function directoryEntry(recno: number, item: ItemRecord): DirectoryEntry {
  return { externalId: item.externalId, recno, stamp: item.stamp, metadata: item.metadata, hasText: item.text !== null };
}

function addToTextIndexes(item: ItemRecord, filters: ShardIndexes['filters'] | null, keywords: ShardIndexes['keywords'] | null): void {
  if (filters === null && keywords === null) return;
  const metadata = parsedMetadata(item.metadata);
  filters?.put(item.slot, metadata);
  keywords?.put(item.slot, keywordText(item.text, metadata));
}

/** Fills the indexes that `missing` names from all records, in one pass. */
async function rebuild(
  records: RecordStore,
  indexes: ShardIndexes,
  dim: number,
  missing: { directory: boolean; vectors: boolean; filters: boolean; keywords: boolean },
): Promise<void> {
  if (!Object.values(missing).includes(true)) return;
  for await (const page of records.items()) {
    for (const { recno, item } of page) {
      if (missing.directory) indexes.directory.put(item.slot, directoryEntry(recno, item));
      addToTextIndexes(item, missing.filters ? indexes.filters : null, missing.keywords ? indexes.keywords : null);
    }
    if (missing.vectors) addVectors(indexes.vectors, page.map(({ item }) => item), dim);
  }
}
