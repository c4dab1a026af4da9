import { createRequire } from 'node:module';
import { addonFile } from '../../../shared/base/process/addon-file';

declare const kind: unique symbol;

/** Memory that databases share. */
export interface BudgetHandle {
  readonly [kind]: 'budget';
}

/** An open database; closed when it is collected, unless it was closed before. */
export interface DatabaseHandle {
  readonly [kind]: 'database';
}

/** A file of a database to be. */
export interface NewTableHandle {
  readonly [kind]: 'new table';
}

/** The state of a database at one moment, which it keeps until the snapshot is freed. */
export interface SnapshotHandle {
  readonly [kind]: 'snapshot';
}

/** A scan of a range of keys. */
export interface CursorHandle {
  readonly [kind]: 'cursor';
}

/** Entries one after the other, each key then value, with the lengths of both. `ended`: there are no more. */
export interface EntryPage {
  bytes: ArrayBuffer;
  lengths: Uint32Array;
  ended: boolean;
}

/**
 * RocksDB, as the addon offers it (node/engine/kv/native/addon.cc): the same names, argument order and meaning. Calls
 * that answer with a promise run on libuv's pool. Failures are Errors with `code` IN_USE, DAMAGED (the data on the disk
 * differ from what was written), STORAGE_FAILED, CLOSED, INVALID_ARGUMENT, OUT_OF_MEMORY or INTERNAL; their messages
 * name files. Calls may overlap, except `next` on the same cursor.
 */
export interface StoreBinding {
  newBudget(cacheBytes: number, writeBufferBytes: number): BudgetHandle;
  budgetMemory(budget: BudgetHandle): { cacheBytes: number; writeBufferBytes: number };
  /**
   * With `mustExist`, DAMAGED where there is no database; without, one is made. With `reading`, a small one that must
   * exist is opened to be read alone, which writes and syncs nothing, until the first call that changes something.
   */
  open(budget: BudgetHandle, folder: string, mustExist: boolean, reading: boolean): Promise<DatabaseHandle>;
  /** As the first call that changes something. */
  takeChanges(database: DatabaseHandle): Promise<void>;
  /** Whether it is open to be read alone. */
  isOnlyRead(database: DatabaseHandle): boolean;
  /** Waits for running calls; frees cursors. */
  close(database: DatabaseHandle, rests: boolean): Promise<void>;
  /**
   * `changes`: key, value, key, value …; null deletes the key, and with true, what stands for the key are entries to
   * put, as of addToTable but in any order. The bytes are copied before the call returns.
   */
  write(database: DatabaseHandle, changes: (Uint8Array | boolean | null)[], sync: boolean): Promise<void>;
  removeRange(database: DatabaseHandle, from: Uint8Array, to: Uint8Array): Promise<void>;
  /**
   * Values one after the other, with the length of each; ABSENT for a key without a value. Of the state in `snapshot`;
   * null: at the time of the call.
   */
  read(
    database: DatabaseHandle,
    keys: Uint8Array[],
    snapshot: SnapshotHandle | null,
  ): Promise<{ bytes: ArrayBuffer; lengths: Uint32Array }>;
  /** The same synchronously, from memory alone; null if a file would have to be read. */
  readCached(
    database: DatabaseHandle,
    keys: Uint8Array[],
    snapshot: SnapshotHandle | null,
  ): { bytes: ArrayBuffer; lengths: Uint32Array } | null;
  /** The state at the time of the call. The database's close frees it, too. */
  newSnapshot(database: DatabaseHandle): SnapshotHandle;
  /** Reads that were begun go on, later ones throw INVALID_ARGUMENT; idempotent. */
  freeSnapshot(snapshot: SnapshotHandle): void;
  /** Makes a table file, apart from any database. */
  newTable(path: string): Promise<NewTableHandle>;
  /**
   * Adds entries in ascending order: u32 key bytes, u32 value bytes (little-endian), key, value, one after the other.
   * The bytes are copied before the call returns. Answers the bytes of the file so far.
   */
  addToTable(table: NewTableHandle, entries: Uint8Array): Promise<number>;
  finishTable(table: NewTableHandle): Promise<void>;
  /**
   * Takes finished tables in, of which no two have keys between each other's; `paths` in UTF-8. They are gone from
   * their place then.
   */
  ingest(database: DatabaseHandle, paths: Uint8Array[]): Promise<void>;
  sizeBytes(database: DatabaseHandle): Promise<number>;
  /** One of RocksDB's numeric properties; 0 if it does not know the name. */
  property(database: DatabaseHandle, name: string): number;
  /**
   * Writes all changes to tables and rewrites every table. Ends early, with STORAGE_FAILED, by `endRewrites`, and when
   * the database is closed.
   */
  compact(database: DatabaseHandle): Promise<void>;
  /** Removes a range of keys, and gives back what they took on the disk. Ends early as `compact` does. */
  reclaim(database: DatabaseHandle, from: Uint8Array, to: Uint8Array): Promise<void>;
  /** Has running calls of `compact` and `reclaim` fail soon, and later ones at once; idempotent, also after `close`. */
  endRewrites(database: DatabaseHandle): void;
  /** Names of the table files in use. */
  tables(database: DatabaseHandle): Promise<string[]>;
  /** Compares each block of a table with its checksum; a table that is gone by now is fine. */
  verifyTable(database: DatabaseHandle, name: string): Promise<void>;
  /** Shows the state in `snapshot`; null: at the time of the call. */
  newCursor(
    database: DatabaseHandle,
    from: Uint8Array,
    to: Uint8Array,
    reverse: boolean,
    values: boolean,
    snapshot: SnapshotHandle | null,
  ): CursorHandle;
  /** The next entries, cut at `bytes`. */
  next(cursor: CursorHandle, count: number, bytes: number): Promise<EntryPage>;
  free(cursor: CursorHandle): Promise<void>;
  /** Milliseconds since the machine started, with a fraction; the time that it slept counts (CLOCK_BOOTTIME). */
  bootTimeMs(): number;
  /**
   * Whole files one after the other, with the length of each; ABSENT for one that is not there. `paths` in UTF-8.
   * STORAGE_FAILED also for one of more than `bytesMax` bytes.
   */
  readFiles(paths: Uint8Array[], bytesMax: number): Promise<{ bytes: ArrayBuffer; lengths: Uint32Array }>;
  /** Another handle for what this one names, open until it is closed itself. Errors: those of the system. */
  duplicateHandle(handle: number): number;
}

/** The length that means: no value, or no file. */
export const ABSENT = 0xffff_ffff;

let binding: StoreBinding | undefined;

/** Loads the addon, once per JavaScript thread. Errors: those of addonFile. */
export function storeBinding(): StoreBinding {
  if (binding === undefined) {
    binding = createRequire(__filename)(addonFile('store')) as StoreBinding;
  }
  return binding;
}
