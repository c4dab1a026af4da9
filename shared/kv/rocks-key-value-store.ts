import { mkdirSync } from 'node:fs';
import rocksdb = require('rocksdb');
import { QuiverError } from '../errors/quiver-error';
import { diskTakesWrites } from './disk-room';
import { PAGE_BYTES, PAGE_ENTRIES } from './pages';
import { type KeyRange, type KeyValueChange, type KeyValueEntry, type KeyValueStore, NO_MEMORY, type StoreMemory } from './key-value-store';

/** RocksDB's memtable: large enough that a bulk load makes few small files, small enough to open several stores. */
const WRITE_BUFFER_BYTES = 32 * 1024 * 1024;
const FILE_BYTES = 64 * 1024 * 1024;
const BLOCK_CACHE_BYTES = 32 * 1024 * 1024;
/** What an iterator reads ahead on its native thread in one go. */
const READ_AHEAD_BYTES = 256 * 1024;

/** RocksDB's words when another process, or this one, holds the folder's lock; it has no code for it. */
const LOCK_HELD = /While lock file|lock hold by current process/i;

type Database = rocksdb.RocksDatabase;
type Call<Result> = (database: Database, callback: (error: Error | null | undefined, result?: Result) => void) => void;

/**
 * A KeyValueStore on RocksDB (the `rocksdb` package): the only file that knows the library.
 * RocksDB locks the folder with fcntl, so a second process is refused and a killed one leaves nothing behind.
 * The binding is safe only between open and close, so this class counts running calls and closes after the last.
 * After a failed write its log may end in half a record; what is appended behind it is lost at the next open. So nothing
 * more is written until `recover` has opened the database anew.
 * A torn tail of the write-ahead log (an unfinished, so unacknowledged batch) is cut off at open, RocksDB's
 * kPointInTimeRecovery; anything else that is damaged fails the open.
 */
export class RocksKeyValueStore implements KeyValueStore {
  private running = 0;
  private closing: Promise<void> | null = null;
  private wakeClose: (() => void) | null = null;

  /** The write that failed since the database was opened. */
  private failure: Error | null = null;
  private recovering: Promise<void> | null = null;
  /** Set while the database is being exchanged: calls wait for it. */
  private exchanging: Promise<void> | null = null;

  private constructor(
    private readonly folder: string,
    /** null when the database could not be opened anew. */
    private database: Database | null,
  ) {}

  /** Opens or makes the store in `folder`. Errors: storage_failed, with a message of its own for a folder in use. */
  static async open(folder: string): Promise<RocksKeyValueStore> {
    try {
      mkdirSync(folder, { recursive: true });
    } catch (error) {
      throw new QuiverError('storage_failed', `the data folder ${folder} cannot be made: ${(error as Error).message}`, { cause: error });
    }
    return new RocksKeyValueStore(folder, await openDatabase(folder));
  }

  get(key: Buffer): Promise<Buffer | undefined> {
    return this.getMany([key]).then((values) => values[0]);
  }

  getMany(keys: Buffer[]): Promise<(Buffer | undefined)[]> {
    if (keys.length === 0) return Promise.resolve([]);
    return this.call<(Buffer | undefined)[]>('read', (database, callback) => database.getMany(keys, { asBuffer: true }, callback));
  }

  write(changes: KeyValueChange[], options: { sync: boolean }): Promise<void> {
    if (changes.length === 0) return Promise.resolve();
    const operations = changes.map((change) =>
      change.type === 'put' ? { type: 'put' as const, key: change.key, value: change.value } : { type: 'del' as const, key: change.key },
    );
    return this.change((database, callback) => database.batch(operations, { sync: options.sync }, callback));
  }

  async *scan(range: KeyRange): AsyncIterable<KeyValueEntry[]> {
    if (Buffer.compare(range.from, range.to) >= 0 || range.limit === 0) return;
    while (this.exchanging !== null) await this.exchanging;
    const database = this.enter();
    try {
      const iterator = database.iterator({
        gte: range.from,
        lt: range.to,
        reverse: range.reverse ?? false,
        limit: range.limit ?? -1,
        values: range.values ?? true,
        keyAsBuffer: true,
        valueAsBuffer: true,
        highWaterMark: READ_AHEAD_BYTES,
      });
      try {
        const pageSize = range.pageSize ?? PAGE_ENTRIES;
        for (;;) {
          const page = await readPage(iterator, pageSize);
          if (page.length > 0) yield page;
          if (page.length === 0) return;
        }
      } finally {
        await new Promise<void>((done) => iterator.end(() => done()));
      }
    } finally {
      this.leave();
    }
  }

  clear(range: { from: Buffer; to: Buffer }): Promise<void> {
    if (Buffer.compare(range.from, range.to) >= 0) return Promise.resolve();
    return this.change((database, callback) => database.clear({ gte: range.from, lt: range.to }, callback));
  }

  sizeBytes(): Promise<number> {
    return this.call<number>('read', (database, callback) => database.approximateSize(Buffer.from([0]), Buffer.alloc(32, 0xff), callback));
  }

  memory(): StoreMemory {
    const { database } = this;
    if (database === null || this.closing !== null || this.exchanging !== null) return NO_MEMORY;
    const read = (property: string): number => Number(database.getProperty(property)) || 0;
    return {
      memtableBytes: read('rocksdb.cur-size-all-mem-tables'),
      blockCacheBytes: read('rocksdb.block-cache-usage'),
      tableReaderBytes: read('rocksdb.estimate-table-readers-mem'),
    };
  }

  close(): Promise<void> {
    this.closing ??= (async () => {
      await this.recovering?.catch(() => undefined);
      await this.idle();
      if (this.database !== null) await closeDatabase(this.database);
    })();
    return this.closing;
  }

  recover(): Promise<void> {
    if (this.closing !== null) return Promise.reject(new QuiverError('storage_failed', 'the store is closed'));
    if (this.failure === null) return Promise.resolve();
    this.recovering ??= this.openAnew().finally(() => (this.recovering = null));
    return this.recovering;
  }

  private async openAnew(): Promise<void> {
    if (!(await diskTakesWrites(this.folder))) throw new QuiverError('storage_failed', 'the disk takes no writes at present', { cause: this.failure });
    let exchanged: () => void = () => undefined;
    this.exchanging = new Promise((done) => (exchanged = done));
    try {
      await this.idle();
      const failed = this.database;
      this.database = null;
      // What it can't flush is in its log, or was never acknowledged.
      if (failed !== null) await closeDatabase(failed).catch(() => undefined);
      this.database = await openDatabase(this.folder);
      this.failure = null;
    } finally {
      this.exchanging = null;
      exchanged();
    }
  }

  private async change(start: Call<void>): Promise<void> {
    if (this.failure !== null) throw new QuiverError('storage_failed', 'the store takes no writes until it has recovered from one that failed', { cause: this.failure });
    try {
      await this.call<void>('write', start);
    } catch (error) {
      if (this.closing === null) this.failure ??= error as Error;
      throw error;
    }
  }

  private async call<Result>(verb: string, start: Call<Result>): Promise<Result> {
    while (this.exchanging !== null) await this.exchanging;
    return new Promise<Result>((done, fail) => {
      start(this.enter(), (error, result) => {
        this.leave();
        if (error) fail(new QuiverError('storage_failed', `the store failed to ${verb}`, { cause: error }));
        else done(result as Result);
      });
    });
  }

  private async idle(): Promise<void> {
    if (this.running > 0) await new Promise<void>((done) => (this.wakeClose = done));
  }

  private enter(): Database {
    if (this.closing !== null) throw new QuiverError('storage_failed', 'the store is closed');
    if (this.database === null) throw new QuiverError('storage_failed', 'the store could not be opened again', { cause: this.failure });
    this.running += 1;
    return this.database;
  }

  private leave(): void {
    this.running -= 1;
    if (this.running === 0) this.wakeClose?.();
  }
}

async function openDatabase(folder: string): Promise<Database> {
  const database = rocksdb(folder);
  await new Promise<void>((done, fail) =>
    database.open(
      { createIfMissing: true, writeBufferSize: WRITE_BUFFER_BYTES, maxFileSize: FILE_BYTES, cacheSize: BLOCK_CACHE_BYTES, compression: true },
      (error) => {
        if (!error) return done();
        const inUse = LOCK_HELD.test(error.message);
        const message = inUse ? `the data folder ${folder} is in use by another process` : `the store in ${folder} cannot be opened: ${error.message}`;
        fail(new QuiverError('storage_failed', message, { cause: error }));
      },
    ),
  );
  return database;
}

function closeDatabase(database: Database): Promise<void> {
  return new Promise((done, fail) =>
    database.close((error) => (error ? fail(new QuiverError('storage_failed', `the store cannot be closed: ${error.message}`, { cause: error })) : done())),
  );
}

function readPage(iterator: ReturnType<Database['iterator']>, pageSize: number): Promise<KeyValueEntry[]> {
  return new Promise((done, fail) => {
    const page: KeyValueEntry[] = [];
    let bytes = 0;
    const step = (): void =>
      iterator.next((error, key, value) => {
        if (error) return fail(new QuiverError('storage_failed', 'the store failed to read', { cause: error }));
        if (key === undefined) return done(page);
        page.push({ key, value: value ?? Buffer.alloc(0) });
        bytes += key.length + (value?.length ?? 0);
        if (page.length >= pageSize || bytes >= PAGE_BYTES) return done(page);
        step();
      });
    step();
  });
}
