/**
 * An ordered, durable map of byte strings: what Quiver needs of RocksDB, and no more.
 * Keys sort by unsigned bytes. Implementations: RocksDB (`rocks-key-value-store.ts`, the only file that knows the
 * library) and memory (`memory-key-value-store.ts`); both pass test/contract/key-value-store.
 *
 * Concurrency: calls may overlap. A batch is atomic; a read that starts after a batch's promise resolved sees it.
 * Errors: storage_failed for every failure of the medium and for a store that is closed; storage_damaged when what is
 * read is not what was written.
 */
export interface KeyValueStore {
  get(key: Buffer): Promise<Buffer | undefined>;
  /** Values in the order of `keys`, `undefined` where absent. */
  getMany(keys: Buffer[]): Promise<(Buffer | undefined)[]>;
  /**
   * Applies all changes or none. With `sync` the promise resolves only when the batch is on stable storage
   * (fsync of the write-ahead log); the call itself does not merge concurrent batches.
   */
  write(changes: KeyValueChange[], options: { sync: boolean }): Promise<void>;
  /**
   * To be called after a `write` or `clear` that failed, before anything is read to learn what became of it and before
   * the next write, which is refused until then: brings the store to what is on the disk. Does nothing otherwise.
   * Errors: storage_failed while the disk takes no writes; reads go on as before.
   */
  recover(): Promise<void>;
  /** Entries with `from` ≤ key < `to` in key order (or falling with `reverse`), over a snapshot taken when the first page is asked for. */
  scan(range: KeyRange): AsyncIterable<KeyValueEntry[]>;
  /** Removes every key with `from` ≤ key < `to`. */
  clear(range: { from: Buffer; to: Buffer }): Promise<void>;
  /** Approximate bytes on disk (0 where it has no meaning). */
  sizeBytes(): Promise<number>;
  /** What it holds in memory at the moment; all 0 while it is closed, or where it has no such parts. */
  memory(): StoreMemory;
  /**
   * Reads every file and compares it with its checksums, a piece at a time at no more than `bytesPerSecond`; ends early
   * when the store closes or `stop` is raised. Errors: storage_damaged, storage_failed.
   */
  verify(options: { bytesPerSecond: number; stop: AbortSignal }): Promise<void>;
  /** Waits for running calls, then closes; idempotent. */
  close(): Promise<void>;
}

/** Bytes of memory, by what they are for. */
export interface StoreMemory {
  /** Writes that are in the log and not yet in a file. */
  memtableBytes: number;
  /** Indexes and filters of open files. */
  tableReaderBytes: number;
}

export const NO_MEMORY: StoreMemory = { memtableBytes: 0, tableReaderBytes: 0 };

export interface KeyRange {
  from: Buffer;
  to: Buffer;
  reverse?: boolean;
  /** Largest number of entries over all pages. */
  limit?: number;
  /** Entries per page handed to the consumer (default 1000), also cut at about 4 MiB. */
  pageSize?: number;
  /** false: `value` is an empty buffer and is not read. Default true. */
  values?: boolean;
}

export interface KeyValueEntry {
  key: Buffer;
  value: Buffer;
}

export type KeyValueChange = { type: 'put'; key: Buffer; value: Buffer } | { type: 'delete'; key: Buffer };
