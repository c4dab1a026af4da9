import { phraseMatches } from '../reading/phrase-items';
import { join } from 'node:path';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { FilteredItems } from '../../filter/filter-index';
import type { Analyser } from '../../../../shared/base/text/analyser';
import { keywordTexts } from '../../keyword/keyword-text';
import { inSlices } from '../../../../shared/base/time/work-slices';
import { ChunkStore } from '../../records/chunk-store';
import { Directory, type DirectoryEntry } from '../../directory/directory';
import type { ItemRecord } from '../../records/record-codec';
import type { RecordStore } from '../../records/record-store';
import { ChunkedSlotSet } from '../../slots/chunked-slot-set';
import { isExpired } from '../../../../shared/contract/writes/expiry';
import type { KeywordFields } from '../../../../shared/contract/shard/keyword-fields';
import type { MetadataStorage } from '../../../../shared/contract/shard/metadata-storage';
import { countAfter } from '../../records/version-count';
import type { VectorIndex, VectorIndexOptions } from '../../vector/vector-index';
import {
  type CheckpointFile,
  CheckpointReader,
  FEW_OPERATIONS,
  type Manifest,
  readCheckpointFile,
  readManifest,
  readSmallCheckpointFiles,
  type SmallCheckpointFiles,
} from './checkpoint';
import type { ShardLogger } from '../shard-options';
import {
  type IndexFactories,
  type ShardIndexes,
  addVectors,
  itemFacts,
  parsedMetadata,
  slotsWithWords,
} from '../shard-indexes';
import type { ShardCounters } from '../writing/shard-writer';

/** Records read and put in one step of the repairs: vectors of 16,384 floats are 64 KiB each. */
const REPAIR_BATCH = 1000;

/** Where ids and metadata are if they are on the disk, in the folder of the shard. */
const METADATA_FOLDER = 'metadata';

interface RecoveryParts {
  folder: string;
  records: RecordStore;
  factories: IndexFactories;
  vectorOptions: VectorIndexOptions;
  /**
   * Whether ids and metadata are on the disk. Of what can't be read there any more, onDamaged of `vectorOptions` is
   * told.
   */
  metadata: MetadataStorage;
  /** The analyser of the shard's keyword text. */
  analyser: Analyser;
  /** What that is made of; undefined: of all strings. */
  keywordFields: KeywordFields | undefined;
  /** Whether positions of words are kept. */
  keywordPositions: boolean;
  logger: ShardLogger;
  /** Items that have expired by now are hidden. */
  nowMs: number;
  /** Whether the shard has, or had, items that expire. */
  expiries: boolean;
}

export interface RecoveredShard {
  indexes: ShardIndexes;
  counters: ShardCounters;
  /** By this moment, what has expired is hidden. */
  expiredByMs: number;
  /** The checkpoint in force; null if there is none that can be used. */
  manifest: Manifest | null;
  /** Items that the next start would have to repair again; Infinity if it would have to rebuild an index. */
  repairs: number;
}

/**
 * Brings a shard's indexes to the state of its records: loads the checkpoint's files, empties every slot that was
 * changed after the checkpoint began, and fills it again from the records. A file that can't be used is rebuilt from
 * all records.
 */
export async function recoverShard(parts: RecoveryParts): Promise<RecoveredShard> {
  const { folder, records, factories, vectorOptions, analyser, keywordFields, logger } = parts;
  // Each of these waits for a turn on the pool: what depends on none of the others begins at once.
  const lastStored = records.lastRecno();
  lastStored.catch(() => undefined);
  const { manifest, journal } = await usableManifest(parts);
  const loading = manifest === null ? null : openSavedVectors(parts, manifest);
  const small: SmallCheckpointFiles = manifest === null ? new Map() : await readSmallCheckpointFiles(folder, manifest);

  /** The content of a file; null (with a log line) if the index has to be rebuilt. */
  const load = async <Index>(name: CheckpointFile, read: (from: Manifest) => Promise<Index>): Promise<Index | null> => {
    if (manifest === null) return null;
    try {
      return await read(manifest);
    } catch (error) {
      logger.warn({ error, file: name, folder }, 'a checkpoint file cannot be used and is rebuilt from the records');
      return null;
    }
  };
  const decoded = async <Index>(
    name: CheckpointFile,
    decode: (bytes: Buffer) => Promise<Index>,
  ): Promise<Index | null> => load(name, async (from) => decode(await readCheckpointFile(folder, from, name, small)));
  const directory = await load('directory', (from) => savedDirectory(parts, from, journal, small));
  const items: FilteredItems = {
    metadataOf: (slot) => parsedMetadata(indexes.directory.metadataOf(slot)),
    factsOf: (slot) => itemFacts(indexes, slot),
    slotsOf: (externalIds) => indexes.directory.slotsOf(externalIds),
    slotsWithWords: (condition) => slotsWithWords(indexes, condition),
    preparePhrase: (condition) => indexes.phrases.prepare(condition),
    slotsExpiring: (low, high) => indexes.directory.slotsExpiring(low, high),
    slotsUpdated: (low, high) => indexes.directory.slotsUpdated(low, high),
  };
  const filters = await decoded('filters', (bytes) => factories.loadFilterIndex(bytes, items));
  const keywords = await decoded('keywords', (bytes) => factories.loadKeywordIndex(bytes, analyser, keywordFields));
  let vectors = await loading;
  let indexes: ShardIndexes;
  let counters: ShardCounters;
  try {
    indexes = {
      directory: directory ?? new Directory(await chunkStore(parts)),
      vectors: vectors ?? (await factories.openVectorIndex(vectorOptions, null)),
      filters: filters ?? (await factories.loadFilterIndex(null, items)),
      keywords: keywords ?? (await factories.loadKeywordIndex(null, analyser, keywordFields)),
      phrases: phraseMatches({
        folder,
        records,
        indexes: () => indexes,
        counters: () => counters,
        logger,
        analyser,
        fields: keywordFields,
        keepsPositions: parts.keywordPositions,
      }),
    };
  } catch (error) {
    directory?.close();
    await vectors?.close();
    throw error;
  }
  try {
    const sound = {
      directory: directory !== null,
      vectors: vectors !== null,
      filters: filters !== null,
      keywords: keywords !== null,
    };
    await repair(records, indexes, sound, journal.touched, vectorOptions.dim);
    await rebuild(records, indexes, sound, vectorOptions.dim);
    // What had expired when the checkpoint was written may be in none of its indexes any more.
    const expiredByMs = Math.max(parts.nowMs, manifest?.writtenAtMs ?? 0);
    hideExpired(indexes, expiredByMs);
    if (indexes.vectors.liveCount !== indexes.directory.liveCount) {
      logger.warn(
        { folder, items: indexes.directory.liveCount, vectors: indexes.vectors.liveCount },
        'the vector index does not match the records and is rebuilt',
      );
      await indexes.vectors.close();
      indexes.vectors = await factories.openVectorIndex(vectorOptions, null);
      vectors = null;
      await rebuild(
        records,
        indexes,
        { directory: true, vectors: false, filters: true, keywords: true },
        vectorOptions.dim,
      );
      removeHidden(indexes);
    }
    counters = {
      lastOperation: Math.max(manifest?.operation ?? 0, journal.lastOperation),
      lastRecno: Math.max(manifest?.lastRecno ?? 0, journal.lastRecno, await lastStored),
      expiries: parts.expiries,
      versions: countAfter(await records.versions(), () => indexes.directory.highestVersion()),
    };
    const isSound = directory !== null && vectors !== null && filters !== null && keywords !== null;
    const isEmpty = counters.lastOperation === 0 && indexes.directory.liveCount === 0;
    // Without a checkpoint all was made from the records, which is done again as fast where it is little.
    const hasNone = manifest === null && counters.lastOperation <= FEW_OPERATIONS;
    return {
      indexes,
      counters,
      expiredByMs,
      manifest,
      repairs: isSound || isEmpty ? journal.touched.size : hasNone ? indexes.directory.liveCount : Infinity,
    };
  } catch (error) {
    indexes.directory.close();
    await indexes.vectors.close();
    throw error;
  }
}

/** Where ids and metadata are kept if they are on the disk; what was there is removed. */
async function chunkStore({ folder, metadata, vectorOptions }: RecoveryParts): Promise<ChunkStore | null> {
  return metadata === 'disk' ? ChunkStore.open(join(folder, METADATA_FOLDER), vectorOptions.onDamaged) : null;
}

/** The directory of a checkpoint. Rejects if it can't be used. */
async function savedDirectory(
  parts: RecoveryParts,
  manifest: Manifest,
  journal: Journal,
  small: SmallCheckpointFiles,
): Promise<Directory> {
  const reader = await CheckpointReader.open(parts.folder, manifest, 'directory', small);
  try {
    const store = await chunkStore(parts);
    try {
      const directory = await Directory.load(reader, journal.touched, store);
      reader.finish();
      return directory;
    } catch (error) {
      store?.close();
      throw error;
    }
  } finally {
    await reader.close();
  }
}

interface Journal {
  /** What each changed slot holds in the end: a record, or null for nothing. */
  touched: Map<number, number | null>;
  lastOperation: number;
  lastRecno: number;
}

/**
 * The manifest in force and the journal after it; null, and an empty journal, if everything has to be rebuilt. Errors:
 * storage_damaged when the records hold less than the checkpoint: they were on stable storage before it was written.
 */
async function usableManifest({
  folder,
  records,
  logger,
}: RecoveryParts): Promise<{ manifest: Manifest | null; journal: Journal }> {
  const manifest = await readManifest(folder).catch((error: unknown) => {
    logger.warn({ error, folder }, 'the checkpoint cannot be used; the indexes are rebuilt from the records');
    return null;
  });
  if (manifest !== null) {
    const journal = await readJournal(records, manifest.operation);
    if (journal !== null) return { manifest, journal };
  }
  const whole = (await readJournal(records, 0)) as Journal;
  if (manifest !== null) {
    const facts = { folder, operation: manifest.operation, lastOperation: whole.lastOperation };
    if (whole.lastOperation < manifest.operation)
      throw new QuiverError('storage_damaged', 'its records lack what its checkpoint holds', { details: facts });
    logger.warn(
      facts,
      'the checkpoint is of before the journal of the records; the indexes are rebuilt from the records',
    );
  }
  return { manifest: null, journal: { ...whole, touched: new Map() } };
}

/**
 * The journal after `operation`; null if it does not hold that operation itself, so that the records are older. Errors:
 * storage_damaged for a gap in it.
 */
async function readJournal(records: RecordStore, operation: number): Promise<Journal | null> {
  const journal: Journal = { touched: new Map(), lastOperation: 0, lastRecno: 0 };
  let isFirst = true;
  // Starts with the entry of `operation` itself, which trimming keeps.
  for await (const page of records.journal(operation)) {
    for (const { operation: number, entry } of page) {
      if (journal.lastOperation > 0 && number !== journal.lastOperation + 1) {
        throw new QuiverError(
          'storage_damaged',
          `the journal of the records goes on at ${number} after ${journal.lastOperation}`,
        );
      }
      journal.lastOperation = number;
      if (isFirst && operation > 0) {
        if (number !== operation) return null;
        isFirst = false;
        continue;
      }
      isFirst = false;
      for (const slot of entry.freedSlots) journal.touched.set(slot, null);
      for (const { slot, recno } of entry.filledSlots) {
        journal.touched.set(slot, recno);
        journal.lastRecno = Math.max(journal.lastRecno, recno);
      }
    }
  }
  return isFirst && operation > 0 ? null : journal;
}

/** null, with a log line, where they have to be rebuilt. Never rejects. */
async function openSavedVectors(
  { factories, vectorOptions, logger }: RecoveryParts,
  manifest: Manifest,
): Promise<VectorIndex | null> {
  try {
    return await factories.openVectorIndex(vectorOptions, manifest.vectors);
  } catch (error) {
    logger.warn(
      { error, folder: vectorOptions.folder },
      'the saved vector index cannot be used and is rebuilt from the records',
    );
    return null;
  }
}

/** Which indexes came from a checkpoint; the others are empty and rebuilt. */
type Sound = Record<Exclude<keyof ShardIndexes, 'phrases'>, boolean>;

async function repair(
  records: RecordStore,
  indexes: ShardIndexes,
  sound: Sound,
  touched: ReadonlyMap<number, number | null>,
  dim: number,
): Promise<void> {
  if (touched.size === 0) return;
  const slots = ChunkedSlotSet.fromArray(Uint32Array.from(touched.keys()).sort());
  // The directory was loaded without them.
  if (sound.vectors) indexes.vectors.remove(slots.toArray());
  if (sound.filters) indexes.filters.removeEverywhere(slots);
  if (sound.keywords) indexes.keywords.removeEverywhere(slots);
  const recnos = [...touched.values()].filter((recno) => recno !== null).sort((a, b) => a - b);
  for (let at = 0; at < recnos.length; at += REPAIR_BATCH) {
    const batch = recnos.slice(at, at + REPAIR_BATCH);
    const items = await records.readItems(batch);
    await putItems(
      indexes,
      sound,
      items.map((item, i) => ({ recno: batch[i], item })),
      dim,
    );
  }
}

/** Hides what has expired, whichever of the indexes hold it. */
function hideExpired(indexes: ShardIndexes, atMs: number): void {
  const { directory } = indexes;
  const expired: number[] = [];
  for (const slot of directory.expiringSlots()) if (isExpired(directory.expiryOf(slot), atMs)) expired.push(slot);
  for (const slot of expired) directory.hide(slot);
  removeHidden(indexes);
}

/** Takes hidden slots out of the indexes that hold them. */
function removeHidden({ directory, vectors, filters, keywords }: ShardIndexes): void {
  if (directory.hiddenCount === 0) return;
  const hidden = ChunkedSlotSet.fromArray(
    Uint32Array.from([...directory.expiringSlots()].filter((slot) => directory.isHidden(slot))),
  );
  vectors.remove(hidden.toArray());
  filters.removeEverywhere(hidden);
  keywords.removeEverywhere(hidden);
}

/** Fills the indexes that are not sound from all records, in one pass. */
async function rebuild(records: RecordStore, indexes: ShardIndexes, sound: Sound, dim: number): Promise<void> {
  const missing: Sound = {
    directory: !sound.directory,
    vectors: !sound.vectors,
    filters: !sound.filters,
    keywords: !sound.keywords,
  };
  if (!Object.values(missing).includes(true)) return;
  for await (const page of records.items()) await putItems(indexes, missing, page, dim);
}

/**
 * Puts items into the chosen indexes, in which their slots are empty; in slices, because the process must also answer
 * during a start.
 */
async function putItems(
  indexes: ShardIndexes,
  chosen: Sound,
  page: { recno: number; item: ItemRecord }[],
  dim: number,
): Promise<void> {
  await inSlices(putSteps(indexes, chosen, page));
  if (chosen.vectors)
    addVectors(
      indexes.vectors,
      page.map(({ item }) => item),
      dim,
    );
}

function* putSteps(
  indexes: ShardIndexes,
  chosen: Sound,
  page: { recno: number; item: ItemRecord }[],
): Generator<undefined, void> {
  for (const { recno, item } of page) {
    if (chosen.directory) indexes.directory.put(item.slot, directoryEntry(recno, item));
    if (!chosen.filters && !chosen.keywords) continue;
    const metadata = parsedMetadata(item.metadata);
    if (chosen.keywords)
      indexes.keywords.putAnalysed(
        item.slot,
        yield* indexes.keywords.analyse(keywordTexts(item.text, metadata, indexes.keywords.fields)),
      );
    if (chosen.filters) indexes.filters.put(item.slot, metadata);
    yield;
  }
}

function directoryEntry(recno: number, item: ItemRecord): DirectoryEntry {
  return {
    externalId: item.externalId,
    recno,
    stamp: item.stamp,
    version: item.version,
    expiry: item.expiry,
    dated: item.dated,
    metadata: item.metadata,
    hasText: item.text !== null,
  };
}
