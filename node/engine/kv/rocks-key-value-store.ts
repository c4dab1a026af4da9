import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDamage, QuiverError } from '../../../shared/base/errors/quiver-error';
import { removeTrialFiles } from '../files/trial-files';
import { diskTakesWrites } from './disk-room';
import { PAGE_BYTES, PAGE_ENTRIES } from './pages';
import {
  type KeyRange,
  type KeyValueChange,
  type KeyValueEntry,
  type KeyValueStore,
  NO_MEMORY,
  type PackedPuts,
  type StoreMemory,
  type StoreSnapshot,
} from './key-value-store';
import {
  ABSENT,
  type CursorHandle,
  type DatabaseHandle,
  type NewTableHandle,
  type EntryPage,
  type SnapshotHandle,
  storeBinding,
} from './store-binding';
import { StoreBudget } from './store-budget';

/** How long a file that was rewritten may be read, by a backup or a copy, and how often that is looked at. */
const OBSOLETE_MS = 10 * 60_000;
const OBSOLETE_CHECK_MS = 100;

/**
 * Up to this many keys are looked up in memory before a thread of the pool is asked. They take some microseconds each;
 * passing the call to a thread costs more than all of them.
 */
const READ_AT_ONCE_MAX = 32;
/** Tables that are loaded are about as large as those that a database makes itself (database.cc). */
const TABLE_BYTES = 64 * 1024 * 1024;

/**
 * A KeyValueStore on RocksDB, by an addon of our own (node/engine/kv/native; docs/decisions/0001-storage-binding.md
 * says why). RocksDB locks the folder with fcntl, so a second process is refused, and a killed process leaves no lock
 * behind.
 *
 * A torn end of the write-ahead log (an unfinished and so unacknowledged batch) is cut off at the open. Any other
 * damage, and a log that ends before the last synced write, makes the open fail with `storage_damaged` and changes
 * nothing on the disk; `details.place` says what is damaged and where. Damage inside a table makes the read that meets
 * it fail, and `verify`.
 *
 * After a failed write, the log may end with half a record, and what is appended behind it would be lost at the next
 * open. So nothing more is written until `recover` has opened the database again.
 */
export class RocksKeyValueStore implements KeyValueStore {
  private readonly binding = storeBinding();
  private running = 0;
  private closing: Promise<void> | null = null;
  private wakeClose: (() => void) | null = null;

  /** The write that failed since the database was opened. */
  private failure: Error | null = null;
  private recovering: Promise<void> | null = null;
  /** Set while the database is being replaced: calls wait for it. */
  private exchanging: Promise<void> | null = null;

  private constructor(
    private readonly folder: string,
    private readonly budget: StoreBudget,
    /** null if the database could not be opened again. */
    private database: DatabaseHandle | null,
  ) {}

  /**
   * Opens the store in `folder`, or makes it; one that `mustExist` is never made. With `reading`, a small one that must
   * exist is opened to be read alone, which changes nothing on the disk and waits for no sync, until its first change.
   * Its memory counts against `budget`; default: a budget of its own. Errors: storage_failed, with a message of its own
   * for a folder in use; storage_damaged, also for one that must exist and does not.
   */
  static async open(
    folder: string,
    budget = new StoreBudget(),
    { mustExist = false, reading = false } = {},
  ): Promise<RocksKeyValueStore> {
    if (!mustExist) makeFolder(folder);
    if (!reading) removeTrialFiles(folder);
    return new RocksKeyValueStore(folder, budget, await openDatabase(folder, budget, { mustExist, reading }));
  }

  get isOnlyRead(): boolean {
    const { database } = this;
    return database !== null && this.closing === null && this.exchanging === null && this.binding.isOnlyRead(database);
  }

  async takeChanges(): Promise<void> {
    if (this.isOnlyRead) await this.change((database) => this.binding.takeChanges(database));
  }

  get(key: Buffer): Promise<Buffer | undefined> {
    return this.getMany([key]).then((values) => values[0]);
  }

  getMany(keys: Buffer[]): Promise<(Buffer | undefined)[]> {
    return this.valuesAt(null, keys);
  }

  snapshot(): StoreSnapshot {
    const database = this.enter();
    try {
      const handle = this.binding.newSnapshot(database);
      return {
        getMany: (keys) => this.valuesAt(handle, keys),
        scan: (range) => this.entriesAt(handle, range),
        free: () => this.binding.freeSnapshot(handle),
      };
    } catch (error) {
      throw failed('read', error, this.folder);
    } finally {
      this.leave();
    }
  }

  private async valuesAt(snapshot: SnapshotHandle | null, keys: Buffer[]): Promise<(Buffer | undefined)[]> {
    if (keys.length === 0) return [];
    const { bytes, lengths } = await this.call('read', async (database) => {
      const cached = keys.length <= READ_AT_ONCE_MAX ? this.binding.readCached(database, keys, snapshot) : null;
      return cached ?? this.binding.read(database, keys, snapshot);
    });
    const values: (Buffer | undefined)[] = [];
    let at = 0;
    for (const length of lengths) {
      values.push(length === ABSENT ? undefined : Buffer.from(bytes, at, length));
      if (length !== ABSENT) at += length;
    }
    return values;
  }

  write(changes: (KeyValueChange | PackedPuts)[], options: { sync: boolean }): Promise<void> {
    if (changes.length === 0) return Promise.resolve();
    const flat: (Buffer | boolean | null)[] = [];
    for (const change of changes) {
      if (change.type === 'puts') flat.push(change.entries, true);
      else flat.push(change.key, change.type === 'put' ? change.value : null);
    }
    return this.change((database) => this.binding.write(database, flat, options.sync));
  }

  async load(pages: AsyncIterable<Buffer>): Promise<void> {
    if (this.failure !== null)
      throw new QuiverError('storage_failed', 'the store takes no writes until it has recovered from one that failed', {
        cause: this.failure,
      });
    const paths: string[] = [];
    let table: NewTableHandle | null = null;
    try {
      for await (const page of pages) {
        if (page.length === 0) continue;
        if (table === null) {
          paths.push(join(this.folder, `new-${randomUUID()}.table`));
          table = await attempted('write', this.folder, this.binding.newTable(paths[paths.length - 1]));
        }
        const bytes = await attempted('write', this.folder, this.binding.addToTable(table, page));
        if (bytes < TABLE_BYTES) continue;
        await attempted('write', this.folder, this.binding.finishTable(table));
        table = null;
      }
      if (table !== null) await attempted('write', this.folder, this.binding.finishTable(table));
      if (paths.length > 0)
        await this.call('write', (database) =>
          this.binding.ingest(
            database,
            paths.map((path) => Buffer.from(path)),
          ),
        );
    } finally {
      // What was taken in is not there any more.
      for (const path of paths) await rm(path, { force: true });
    }
  }

  scan(range: KeyRange): AsyncIterable<KeyValueEntry[]> {
    return this.entriesAt(null, range);
  }

  private async *entriesAt(snapshot: SnapshotHandle | null, range: KeyRange): AsyncIterable<KeyValueEntry[]> {
    let left = range.limit ?? Infinity;
    if (Buffer.compare(range.from, range.to) >= 0 || left === 0) return;
    while (this.exchanging !== null) await this.exchanging;
    const database = this.enter();
    try {
      const cursor = this.newCursor(database, range, snapshot);
      const next = (): Promise<EntryPage> =>
        this.binding.next(cursor, Math.min(range.pageSize ?? PAGE_ENTRIES, left), PAGE_BYTES);
      // Read the next page while the present one is used.
      let reading: Promise<EntryPage> | null = next();
      try {
        while (reading !== null) {
          const page: EntryPage = await reading.catch((error: unknown) => {
            throw failed('read', error, this.folder);
          });
          left -= page.lengths.length / 2;
          reading = page.ended || left <= 0 ? null : next();
          // Its error is handled when its turn comes.
          reading?.catch(() => undefined);
          if (page.lengths.length > 0) yield entriesOf(page);
        }
      } finally {
        await reading?.catch(() => undefined);
        await this.binding.free(cursor);
      }
    } finally {
      this.leave();
    }
  }

  private newCursor(
    database: DatabaseHandle,
    { from, to, reverse = false, values = true }: KeyRange,
    snapshot: SnapshotHandle | null,
  ): CursorHandle {
    try {
      return this.binding.newCursor(database, from, to, reverse, values, snapshot);
    } catch (error) {
      throw failed('read', error, this.folder);
    }
  }

  clear(range: { from: Buffer; to: Buffer }): Promise<void> {
    if (Buffer.compare(range.from, range.to) >= 0) return Promise.resolve();
    return this.change((database) => this.binding.removeRange(database, range.from, range.to));
  }

  async reclaim(range: { from: Buffer; to: Buffer }): Promise<void> {
    if (Buffer.compare(range.from, range.to) >= 0) return;
    await this.call('rewrite', (database) => this.binding.reclaim(database, range.from, range.to));
  }

  sizeBytes(): Promise<number> {
    return this.call('read', (database) => this.binding.sizeBytes(database));
  }

  async compact(): Promise<void> {
    await this.call('rewrite', (database) => this.binding.compact(database));
    // RocksDB removes a file when nobody reads it any more.
    const untilMs = performance.now() + OBSOLETE_MS;
    for (;;) {
      const inUse = new Set(
        (await this.call('read', (database) => this.binding.tables(database))).map((name) => basename(name)),
      );
      const left = (await readdir(this.folder)).filter((name) => name.endsWith('.sst') && !inUse.has(name));
      if (left.length === 0) return;
      if (performance.now() > untilMs || this.closing !== null)
        throw new QuiverError(
          'storage_failed',
          `files that are not needed any more are still read: ${left.join(', ')}`,
        );
      await pause(OBSOLETE_CHECK_MS, new AbortController().signal);
    }
  }

  memory(): StoreMemory {
    const { database } = this;
    if (database === null || this.closing !== null || this.exchanging !== null) return NO_MEMORY;
    try {
      return {
        memtableBytes: this.binding.property(database, 'rocksdb.cur-size-all-mem-tables'),
        tableReaderBytes: this.binding.property(database, 'rocksdb.estimate-table-readers-mem'),
      };
    } catch {
      // It was closed because its folder could not be locked again.
      return NO_MEMORY;
    }
  }

  async verify({ bytesPerSecond, stop }: { bytesPerSecond: number; stop: AbortSignal }): Promise<void> {
    const isOver = (): boolean => stop.aborted || this.closing !== null;
    if (isOver()) return;
    const tables = await this.call('read', (database) => this.binding.tables(database));
    const bytesEach = (await this.sizeBytes()) / Math.max(1, tables.length);
    for (const name of tables) {
      if (isOver()) return;
      const startedMs = performance.now();
      await this.call('read', (database) => this.binding.verifyTable(database, name));
      await pause((bytesEach / bytesPerSecond) * 1000 - (performance.now() - startedMs), stop);
    }
  }

  close(rests = false): Promise<void> {
    this.closing ??= (async () => {
      await this.recovering?.catch(() => undefined);
      // It may have hours to go, and a purge that ends early can be begun again.
      if (this.database !== null) this.binding.endRewrites(this.database);
      await this.idle();
      if (this.database !== null) await this.closeDatabase(this.database, rests);
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
    if (!(await diskTakesWrites(this.folder)))
      throw new QuiverError('storage_failed', 'the disk takes no writes at present', { cause: this.failure });
    let exchanged: () => void = () => undefined;
    this.exchanging = new Promise((done) => (exchanged = done));
    try {
      await this.idle();
      const database = this.database;
      this.database = null;
      // What it can't flush is in its log, or was never acknowledged.
      if (database !== null) await this.closeDatabase(database).catch(() => undefined);
      this.database = await openDatabase(this.folder, this.budget, { mustExist: true, reading: false });
      this.failure = null;
    } finally {
      this.exchanging = null;
      exchanged();
    }
  }

  private async change(start: (database: DatabaseHandle) => Promise<void>): Promise<void> {
    if (isDamage(this.failure)) throw this.failure;
    if (this.failure !== null)
      throw new QuiverError('storage_failed', 'the store takes no writes until it has recovered from one that failed', {
        cause: this.failure,
      });
    try {
      await this.call('write', start);
    } catch (error) {
      if (this.closing === null) this.failure ??= error as Error;
      throw error;
    }
  }

  private async call<Result>(verb: string, start: (database: DatabaseHandle) => Promise<Result>): Promise<Result> {
    while (this.exchanging !== null) await this.exchanging;
    const database = this.enter();
    try {
      return await start(database);
    } catch (error) {
      throw failed(verb, error, this.folder);
    } finally {
      this.leave();
    }
  }

  private closeDatabase(database: DatabaseHandle, rests = false): Promise<void> {
    return this.binding.close(database, rests).catch((error: unknown) => {
      throw failed('close', error, this.folder);
    });
  }

  private async idle(): Promise<void> {
    if (this.running > 0) await new Promise<void>((done) => (this.wakeClose = done));
  }

  private enter(): DatabaseHandle {
    if (this.closing !== null) throw new QuiverError('storage_failed', 'the store is closed');
    if (this.database === null)
      throw new QuiverError('storage_failed', 'the store could not be opened again', { cause: this.failure });
    this.running += 1;
    return this.database;
  }

  private leave(): void {
    this.running -= 1;
    if (this.running === 0) this.wakeClose?.();
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new QuiverError('storage_failed', `the data folder ${folder} cannot be made: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function openDatabase(
  folder: string,
  budget: StoreBudget,
  { mustExist, reading }: { mustExist: boolean; reading: boolean },
): Promise<DatabaseHandle> {
  try {
    return await storeBinding().open(budget.handle, folder, mustExist, reading);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'IN_USE')
      throw new QuiverError('storage_failed', `the data folder ${folder} is in use by another process`, {
        cause: error,
      });
    if (code === 'DAMAGED') throw damaged(error, folder);
    throw new QuiverError('storage_failed', `the store in ${folder} cannot be opened: ${message}`, { cause: error });
  }
}

/** Errors: as of a call of the database. */
function attempted<Result>(verb: string, folder: string, work: Promise<Result>): Promise<Result> {
  return work.catch((error: unknown) => {
    throw failed(verb, error, folder);
  });
}

function failed(verb: string, error: unknown, folder: string): QuiverError {
  if ((error as NodeJS.ErrnoException).code === 'DAMAGED') return damaged(error, folder);
  return new QuiverError('storage_failed', `the store failed to ${verb}`, { cause: error, details: { folder } });
}

function damaged(cause: unknown, folder: string): QuiverError {
  return new QuiverError('storage_damaged', 'stored data are damaged; the log says where', {
    cause,
    details: { folder, place: (cause as Error).message },
  });
}

function entriesOf({ bytes, lengths }: EntryPage): KeyValueEntry[] {
  const entries: KeyValueEntry[] = [];
  for (let i = 0, at = 0; i < lengths.length; i += 2) {
    const valueAt = at + lengths[i];
    entries.push({ key: Buffer.from(bytes, at, lengths[i]), value: Buffer.from(bytes, valueAt, lengths[i + 1]) });
    at = valueAt + lengths[i + 1];
  }
  return entries;
}

/** Waits `ms` milliseconds (not at all if that is not positive), or until `stop` is aborted. */
function pause(ms: number, stop: AbortSignal): Promise<void> {
  if (ms <= 0 || stop.aborted) return Promise.resolve();
  return new Promise((wake) => {
    const done = (): void => {
      clearTimeout(timer);
      stop.removeEventListener('abort', done);
      wake();
    };
    const timer = setTimeout(done, ms);
    timer.unref();
    stop.addEventListener('abort', done);
  });
}
