import type { MachineLimits } from './machine-limits';

/** How much this process accepts. */
export interface Capacity {
  /** Collections in all; in a cluster, of the whole cluster. */
  collectionsMax: number;
  /** Shards that may exist in this process (on a node: replicas of shards). */
  shardsMax: number;
  /** Where `shardsMax` comes from, for messages. */
  shardsMaxSource: string;
  /** Shards that may be open, even if more were made before. More would take the files that connections need. */
  openShardsMax: number;
  /** Beyond so many open ones, those are closed that nobody uses, where that is done. */
  restingFrom: number;
  /** Connections of the API port. */
  connectionsMax: number;
}

/**
 * Open files of one shard. An empty shard has seven: RocksDB's lock, log, manifest and two for folders, the mark of
 * what was synced, and the originals of the vectors. RocksDB adds one for each of its first tables, of which it keeps
 * four before it merges them, and two while it writes new ones. Adapt this number when the store changes.
 */
export const FILES_PER_SHARD = 13;
/** An empty shard takes 0.7 MB of memory; with the tables of an index and a little data it takes about this much. */
const BYTES_PER_SHARD = 1024 * 1024;
/**
 * What is known of a shard that is closed until its next use, and of its collection: records of the store, names,
 * counts.
 */
const BYTES_PER_RESTING_SHARD = 24 * 1024;
/**
 * A quarter of the memory may go into the fixed cost of shards. The rest is for their data, request bodies and models.
 */
const MEMORY_PARTS = 4;
/**
 * Files of a process without shards and clients: about thirty of Node, the log and the store of the cluster's entries;
 * as many files of positions of words; links to members; probes and scrapers.
 */
const FILES_OF_PROCESS = 128;
/** One file in three is for connections: enough for clients where files are scarce, however many shards there are. */
const CONNECTIONS_PARTS = 3;
/** An upload has a spool file beside its connection. */
const FILES_PER_CONNECTION = 2;
/** One process can't serve more connections than this. */
const CONNECTIONS_MAX = 10_000;
/** A collection's record, its metrics and its part of answers take some kilobytes. */
const BYTES_PER_COLLECTION = 512 * 1024;
const COLLECTIONS_MIN = 100;
/** One call lists all collections, and creating one reads all of them. */
const COLLECTIONS_MAX = 10_000;
/** The same where shards that nobody uses are closed, and ask nobody. */
const RESTING_COLLECTIONS_MAX = 50_000;

/**
 * Answers may take an eighth of the memory, and of the address space that a limit leaves; a quarter of one thread's
 * heap, where all may be.
 */
const ANSWER_PARTS = { memory: 8, addressSpace: 8, heap: 4 };
/** Far more than clients need that read; on a machine with little memory they wait for each other. */
const ANSWER_BYTES = { most: 512 * 1024 * 1024, least: 16 * 1024 * 1024 };

/** What answers may hold in this process, by the setting, where 0 means as much as the machine allows. */
export function answerBytesOf(
  setting: number,
  { memoryBytes, addressSpaceLeft, heapBytes }: Pick<MachineLimits, 'memoryBytes' | 'addressSpaceLeft' | 'heapBytes'>,
): number {
  if (setting > 0) return setting;
  const byMachine = Math.min(
    memoryBytes / ANSWER_PARTS.memory,
    addressSpaceLeft / ANSWER_PARTS.addressSpace,
    heapBytes / ANSWER_PARTS.heap,
  );
  return Math.floor(Math.max(ANSWER_BYTES.least, Math.min(ANSWER_BYTES.most, byMachine)));
}

/**
 * The capacity by the settings, where 0 means as much as the machine allows. `rests`: shards that nobody uses are
 * closed. Files are divided between connections and shards, so that neither can use up the other's: a process full of
 * shards still answers.
 */
export function capacityOf(
  settings: { collectionsMax: number; shardsMax: number; rests?: boolean },
  machine: Pick<MachineLimits, 'openFilesMax' | 'memoryBytes'>,
): Capacity {
  const connectionFiles = Math.min(
    Math.floor(machine.openFilesMax / CONNECTIONS_PARTS),
    CONNECTIONS_MAX * FILES_PER_CONNECTION,
  );
  const openShardsMax = Math.max(
    1,
    Math.floor((machine.openFilesMax - FILES_OF_PROCESS - connectionFiles) / FILES_PER_SHARD),
  );
  const byMemory = Math.max(1, Math.floor(machine.memoryBytes / MEMORY_PARTS / BYTES_PER_SHARD));
  const byRest = Math.max(byMemory, Math.floor(machine.memoryBytes / MEMORY_PARTS / BYTES_PER_RESTING_SHARD));
  const rests = settings.rests === true;
  const byMachine = rests ? byRest : Math.min(openShardsMax, byMemory);
  const wanted = settings.shardsMax > 0 ? settings.shardsMax : byMachine;
  const collectionsByMemory = rests ? byRest : Math.floor(machine.memoryBytes / BYTES_PER_COLLECTION);
  return {
    collectionsMax:
      settings.collectionsMax > 0
        ? settings.collectionsMax
        : Math.min(Math.max(collectionsByMemory, COLLECTIONS_MIN), rests ? RESTING_COLLECTIONS_MAX : COLLECTIONS_MAX),
    shardsMax: rests ? wanted : Math.min(wanted, openShardsMax),
    shardsMaxSource: sourceOf(),
    openShardsMax,
    restingFrom: Math.min(openShardsMax, byMemory),
    connectionsMax: Math.max(1, Math.floor(connectionFiles / FILES_PER_CONNECTION)),
  };

  function sourceOf(): string {
    if (rests && settings.shardsMax === 0)
      return `the memory of ${Math.round(machine.memoryBytes / 1024 / 1024)} MiB (MAX_SHARDS sets another)`;
    if (!rests && (wanted > openShardsMax || (settings.shardsMax === 0 && openShardsMax <= byMemory)))
      return `the ${machine.openFilesMax} files that may be open (ulimit -n)`;
    return settings.shardsMax > 0
      ? 'MAX_SHARDS'
      : `the memory of ${Math.round(machine.memoryBytes / 1024 / 1024)} MiB (MAX_SHARDS sets another)`;
  }
}
