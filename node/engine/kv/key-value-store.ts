/**
 * An ordered, durable map of byte strings: the part of RocksDB that Quiver needs. Keys sort by unsigned bytes.
 * Implementations: RocksDB (`rocks-key-value-store.ts`, the only file that knows the library) and the model in memory
 * that tests have; both pass test/contract/key-value-store.
 *
 * Concurrency: calls may overlap. A batch is atomic; a read that starts after a batch's promise has resolved sees it. A
 * read shows one state, that at its call, which may have a batch whose promise has not resolved yet.
 * Errors: storage_failed for every failure of the medium and for a closed store; storage_damaged when the data read
 * differ from the data written.
 */
export interface KeyValueStore {
  get(key: Buffer): Promise<Buffer | undefined>;
  /** Values in the order of `keys`, `undefined` where absent. */
  getMany(keys: Buffer[]): Promise<(Buffer | undefined)[]>;
  /** The state at the call, for reads that come later. What is deleted meanwhile takes room until it is freed. */
  snapshot(): StoreSnapshot;
  /** Nothing of it was changed since it was opened, and nothing is open for that. */
  readonly isOnlyRead: boolean;
  /** From here on it is not only read, as from the first change on. Errors: as `write`. */
  takeChanges(): Promise<void>;
  /**
   * Applies all changes or none. With `sync` the promise resolves only when the batch is on stable storage (fsync of
   * the write-ahead log); the call itself does not merge concurrent batches. The memory of changes is the caller's
   * again when the promise is settled.
   */
  write(changes: (KeyValueChange | PackedPuts)[], options: { sync: boolean }): Promise<void>;
  /**
   * Puts many entries at once, past the write-ahead log: `pages` of packed entries (packed-entries.ts), ascending over
   * all of them. For keys of which the store has none yet, in one that nobody else reads or writes meanwhile. When it
   * resolves, they are on stable storage; after an error some may be there.
   */
  load(pages: AsyncIterable<Buffer>): Promise<void>;
  /**
   * Restores the state that is on the disk after a `write` or `clear` has failed; otherwise does nothing. Call it
   * before reading what became of that write, and before the next write, which is refused until then. Errors:
   * storage_failed while the disk accepts no writes; reads continue as before.
   */
  recover(): Promise<void>;
  /**
   * Entries with `from` ≤ key < `to` in key order (descending with `reverse`), over a snapshot taken when the first
   * page is requested.
   */
  scan(range: KeyRange): AsyncIterable<KeyValueEntry[]>;
  /** Removes every key with `from` ≤ key < `to`. */
  clear(range: { from: Buffer; to: Buffer }): Promise<void>;
  /**
   * As `clear`, and what the keys took on the disk is given back by the end: it writes again what is beside them in
   * files. Writes and reads go on. Errors: storage_failed, also when the store closes meanwhile.
   */
  reclaim(range: { from: Buffer; to: Buffer }): Promise<void>;
  /** Approximate bytes on disk (0 if that has no meaning). */
  sizeBytes(): Promise<number>;
  /** What it holds in memory now; all 0 while it is closed, or if it has no such parts. */
  memory(): StoreMemory;
  /**
   * Reads every file and compares it with its checksums, piece by piece and at no more than `bytesPerSecond`. Ends
   * early when the store closes or `stop` is aborted. Errors: storage_damaged, storage_failed.
   */
  verify(options: { bytesPerSecond: number; stop: AbortSignal }): Promise<void>;
  /**
   * Rewrites all files, so that what was deleted or replaced before the call is in none of them. Writes and reads go
   * on. A scan that is under way keeps files that it reads, and this waits for it. Errors: storage_failed.
   */
  compact(): Promise<void>;
  /**
   * Waits for running calls, then closes; idempotent. `rests`: it is opened again when somebody uses it, who should not
   * wait for what can be done now.
   */
  close(rests?: boolean): Promise<void>;
}

/**
 * The state of a store at one moment. Errors: as the store's; storage_failed once it is freed, or the store was closed
 * or recovered.
 */
export interface StoreSnapshot {
  getMany(keys: Buffer[]): Promise<(Buffer | undefined)[]>;
  /** It has begun when its first page is requested. */
  scan(range: KeyRange): AsyncIterable<KeyValueEntry[]>;
  /** Reads that have begun go on; idempotent. */
  free(): void;
}

/** Bytes of memory by purpose. */
export interface StoreMemory {
  /** Writes that are in the log but not yet in a file. */
  memtableBytes: number;
  /** Indexes and filters of open files. */
  tableReaderBytes: number;
}

export const NO_MEMORY: StoreMemory = { memtableBytes: 0, tableReaderBytes: 0 };

export interface KeyRange {
  from: Buffer;
  to: Buffer;
  reverse?: boolean;
  /** Greatest number of entries over all pages. */
  limit?: number;
  /** Entries per page (default 1000); a page also ends at about 4 MiB. */
  pageSize?: number;
  /** false: `value` is an empty buffer and is not read. Default true. */
  values?: boolean;
}

export interface KeyValueEntry {
  key: Buffer;
  value: Buffer;
}

export type KeyValueChange = { type: 'put'; key: Buffer; value: Buffer } | { type: 'delete'; key: Buffer };

/**
 * Many puts in one piece of memory (packed-entries.ts): a thousand rows as objects of their own cost more than their
 * bytes.
 */
export interface PackedPuts {
  type: 'puts';
  entries: Buffer;
}
