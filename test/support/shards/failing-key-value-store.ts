import type {
  KeyRange,
  KeyValueChange,
  KeyValueEntry,
  KeyValueStore,
  PackedPuts,
  StoreMemory,
  StoreSnapshot,
} from '../../../node/engine/kv/key-value-store';
import { QuiverError } from '../../../shared/base/errors/quiver-error';

/**
 * How writes end: as the store does, failed with nothing stored, failed with all in the log: there once it is opened
 * again, or failed with all of it there already.
 */
export type WriteFault = 'none' | 'before' | 'after' | 'shown';

/** A store whose disk fails when told to. The faults are shared by every store of a node, and outlive restarts. */
export class FailingKeyValueStore implements KeyValueStore {
  private readonly logged: (KeyValueChange | PackedPuts)[] = [];

  constructor(
    private readonly store: KeyValueStore,
    private readonly faults: { writes: WriteFault; reads: boolean },
  ) {}

  get isOnlyRead(): boolean {
    return this.store.isOnlyRead;
  }

  takeChanges(): Promise<void> {
    return this.store.takeChanges();
  }

  async write(changes: (KeyValueChange | PackedPuts)[], options: { sync: boolean }): Promise<void> {
    if (this.faults.writes === 'before') throw diskError();
    if (this.faults.writes === 'after') {
      // The memory of packed entries is used again.
      for (const change of changes)
        this.logged.push(change.type === 'puts' ? { type: 'puts', entries: Buffer.from(change.entries) } : change);
      throw diskError();
    }
    await this.store.write(changes, options);
    if (this.faults.writes === 'shown') throw diskError();
  }

  async load(pages: AsyncIterable<Buffer>): Promise<void> {
    if (this.faults.writes !== 'none') throw diskError();
    await this.store.load(pages);
  }

  recover(): Promise<void> {
    return this.store.recover();
  }

  async get(key: Buffer): Promise<Buffer | undefined> {
    if (this.faults.reads) throw diskError();
    return this.store.get(key);
  }

  async getMany(keys: Buffer[]): Promise<(Buffer | undefined)[]> {
    if (this.faults.reads) throw diskError();
    return this.store.getMany(keys);
  }

  snapshot(): StoreSnapshot {
    const snapshot = this.store.snapshot();
    return {
      getMany: async (keys) => {
        if (this.faults.reads) throw diskError();
        return snapshot.getMany(keys);
      },
      scan: (range) => this.scanned(snapshot, range),
      free: () => snapshot.free(),
    };
  }

  scan(range: KeyRange): AsyncIterable<KeyValueEntry[]> {
    return this.scanned(this.store, range);
  }

  private async *scanned(from: Pick<KeyValueStore, 'scan'>, range: KeyRange): AsyncIterable<KeyValueEntry[]> {
    if (this.faults.reads) throw diskError();
    yield* from.scan(range);
  }

  clear(range: { from: Buffer; to: Buffer }): Promise<void> {
    return this.store.clear(range);
  }

  reclaim(range: { from: Buffer; to: Buffer }): Promise<void> {
    return this.store.reclaim(range);
  }

  compact(): Promise<void> {
    return this.store.compact();
  }

  sizeBytes(): Promise<number> {
    return this.store.sizeBytes();
  }

  verify(options: { bytesPerSecond: number; stop: AbortSignal }): Promise<void> {
    return this.store.verify(options);
  }

  memory(): StoreMemory {
    return this.store.memory();
  }

  async close(): Promise<void> {
    const logged = this.logged.splice(0);
    if (logged.length > 0) await this.store.write(logged, { sync: true });
    await this.store.close();
  }
}

function diskError(): QuiverError {
  return new QuiverError('storage_failed', 'the store failed to write', { cause: new Error('EIO') });
}
