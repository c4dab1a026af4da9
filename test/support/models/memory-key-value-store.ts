import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { unpackedEntries } from '../../../node/engine/kv/packed-entries';
import { cutIntoPages } from '../../../node/engine/kv/pages';
import {
  type KeyRange,
  type KeyValueChange,
  type KeyValueEntry,
  type KeyValueStore,
  NO_MEMORY,
  type PackedPuts,
  type StoreMemory,
  type StoreSnapshot,
} from '../../../node/engine/kv/key-value-store';

/** A KeyValueStore in memory: for tests, and as the plain definition of what the RocksDB one does. Not durable. */
export class MemoryKeyValueStore implements KeyValueStore {
  /** Latin-1 text of each key (one character per byte, so that text order is byte order) → value. */
  private readonly values = new Map<string, Buffer>();
  /** The keys in order; null after a change of the key set, rebuilt at the next scan. */
  private order: string[] | null = null;
  /** For each snapshot, what its keys had where they have changed since. */
  private readonly snapshots = new Set<Map<string, Buffer | undefined>>();
  private closed = false;
  readonly isOnlyRead = false;

  async takeChanges(): Promise<void> {}

  async get(key: Buffer): Promise<Buffer | undefined> {
    this.assertOpen();
    return copyOf(this.values.get(key.toString('latin1')));
  }

  async getMany(keys: Buffer[]): Promise<(Buffer | undefined)[]> {
    this.assertOpen();
    return keys.map((key) => copyOf(this.values.get(key.toString('latin1'))));
  }

  snapshot(): StoreSnapshot {
    this.assertOpen();
    const before = new Map<string, Buffer | undefined>();
    this.snapshots.add(before);
    const assertKept = (): void => {
      this.assertOpen();
      if (!this.snapshots.has(before)) throw new QuiverError('storage_failed', 'the snapshot is freed');
    };
    const stateAt = (): MemoryKeyValueStore => {
      assertKept();
      const state = new MemoryKeyValueStore();
      for (const [key, value] of this.values) if (!before.has(key)) state.values.set(key, value);
      for (const [key, value] of before) if (value !== undefined) state.values.set(key, value);
      return state;
    };
    return {
      getMany: async (keys) => {
        assertKept();
        return keys
          .map((key) => key.toString('latin1'))
          .map((key) => copyOf(before.has(key) ? before.get(key) : this.values.get(key)));
      },
      async *scan(range) {
        yield* stateAt().scan(range);
      },
      free: () => void this.snapshots.delete(before),
    };
  }

  async write(changes: (KeyValueChange | PackedPuts)[]): Promise<void> {
    this.assertOpen();
    for (const change of changes) {
      if (change.type === 'puts') {
        for (const entry of unpackedEntries(change.entries)) this.put(entry);
      } else if (change.type === 'put') {
        this.put(change);
      } else {
        this.remove(change.key.toString('latin1'));
      }
    }
  }

  async load(pages: AsyncIterable<Buffer>): Promise<void> {
    for await (const page of pages)
      await this.write([...unpackedEntries(page)].map((entry) => ({ type: 'put', ...entry })));
  }

  async recover(): Promise<void> {
    this.assertOpen();
  }

  async *scan(range: KeyRange): AsyncIterable<KeyValueEntry[]> {
    this.assertOpen();
    const keys = this.keysBetween(range.from, range.to);
    if (range.reverse) keys.reverse();
    const entries = keys.slice(0, range.limit ?? keys.length).map((key) => ({
      key: Buffer.from(key, 'latin1'),
      value: range.values === false ? Buffer.alloc(0) : Buffer.from(this.values.get(key) as Buffer),
    }));
    yield* cutIntoPages(entries, range.pageSize);
  }

  async clear(range: { from: Buffer; to: Buffer }): Promise<void> {
    this.assertOpen();
    for (const key of this.keysBetween(range.from, range.to)) this.remove(key);
  }

  async verify(): Promise<void> {
    this.assertOpen();
  }

  async sizeBytes(): Promise<number> {
    return 0;
  }

  reclaim(range: { from: Buffer; to: Buffer }): Promise<void> {
    return this.clear(range);
  }

  async compact(): Promise<void> {}

  memory(): StoreMemory {
    return NO_MEMORY;
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  private put(entry: KeyValueEntry): void {
    const key = entry.key.toString('latin1');
    if (!this.values.has(key)) this.order = null;
    this.keep(key);
    this.values.set(key, Buffer.from(entry.value));
  }

  private remove(key: string): void {
    if (!this.values.has(key)) return;
    this.order = null;
    this.keep(key);
    this.values.delete(key);
  }

  /** What a key has until now, for those who read an earlier state. */
  private keep(key: string): void {
    for (const before of this.snapshots) if (!before.has(key)) before.set(key, this.values.get(key));
  }

  private keysBetween(from: Buffer, to: Buffer): string[] {
    this.order ??= [...this.values.keys()].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    const first = from.toString('latin1');
    const end = to.toString('latin1');
    return this.order.filter((key) => key >= first && key < end);
  }

  private assertOpen(): void {
    if (this.closed) throw new QuiverError('storage_failed', 'the store is closed');
  }
}

function copyOf(value: Buffer | undefined): Buffer | undefined {
  return value === undefined ? undefined : Buffer.from(value);
}
