import type { MachineLimits } from './machine-limits';

/** How much of everything this process takes on. */
export interface Capacity {
  /** Collections in all, of the whole cluster where there is one. */
  collectionsMax: number;
  /** Shards of this process (a node's replicas of shards) beyond which none is made. */
  shardsMax: number;
  /** What `shardsMax` comes from, for messages. */
  shardsMaxSource: string;
  /** Shards beyond which none is opened, whatever was made before: more would take the files that connections need. */
  openShardsMax: number;
  /** Connections of the API port. */
  connectionsMax: number;
}

/**
 * Open files of one shard: seven when it is empty (RocksDB's lock, log, manifest and two for folders, the mark of what was
 * synced; the originals of the vectors), one for each of its first tables, of which RocksDB keeps four before it merges them, and two while it writes
 * new ones. This one number is to follow when the store changes.
 */
export const FILES_PER_SHARD = 13;
/** Memory of an empty shard is 0.7 MB; with an index's tables and a little data it is about this much. */
const BYTES_PER_SHARD = 1024 * 1024;
/** One part of memory in four may go into shards' own weight: the rest is for what they hold, bodies and models. */
const MEMORY_PARTS = 4;
/** Files of a process without shards and clients: about thirty of Node, the log and the cluster's store; links to members; probes and scrapers. */
const FILES_OF_PROCESS = 128;
/** One file in three is for connections: enough for clients where files are short, whatever shards want. */
const CONNECTIONS_PARTS = 3;
/** An upload has a spool file beside its connection. */
const FILES_PER_CONNECTION = 2;
/** Beyond this, more connections than one process can serve. */
const CONNECTIONS_MAX = 10_000;
/** A record of a collection, what metrics hold of it and its answers' share weigh some kilobytes. */
const BYTES_PER_COLLECTION = 512 * 1024;
const COLLECTIONS_MIN = 100;
/** All of them are listed by one call, and read when one is created. */
const COLLECTIONS_MAX = 10_000;

/**
 * What the settings say, 0 meaning as much as the machine allows. Files are parted between connections and shards, so that
 * neither can take the other's: a process that is full of shards still answers.
 */
export function capacityOf(settings: { collectionsMax: number; shardsMax: number }, machine: MachineLimits): Capacity {
  const connectionFiles = Math.min(Math.floor(machine.openFilesMax / CONNECTIONS_PARTS), CONNECTIONS_MAX * FILES_PER_CONNECTION);
  const openShardsMax = Math.max(1, Math.floor((machine.openFilesMax - FILES_OF_PROCESS - connectionFiles) / FILES_PER_SHARD));
  const byMemory = Math.max(1, Math.floor(machine.memoryBytes / MEMORY_PARTS / BYTES_PER_SHARD));
  const byMachine = Math.min(openShardsMax, byMemory);
  const wanted = settings.shardsMax > 0 ? settings.shardsMax : byMachine;
  const collectionsByMemory = Math.floor(machine.memoryBytes / BYTES_PER_COLLECTION);
  return {
    collectionsMax: settings.collectionsMax > 0 ? settings.collectionsMax : Math.min(Math.max(collectionsByMemory, COLLECTIONS_MIN), COLLECTIONS_MAX),
    shardsMax: Math.min(wanted, openShardsMax),
    shardsMaxSource: sourceOf(),
    openShardsMax,
    connectionsMax: Math.max(1, Math.floor(connectionFiles / FILES_PER_CONNECTION)),
  };

  function sourceOf(): string {
    if (wanted > openShardsMax || (settings.shardsMax === 0 && openShardsMax <= byMemory)) return `the ${machine.openFilesMax} files that may be open (ulimit -n)`;
    return settings.shardsMax > 0 ? 'MAX_SHARDS' : `the memory of ${Math.round(machine.memoryBytes / 1024 / 1024)} MiB (MAX_SHARDS sets another)`;
  }
}
