import { MemoryKeyValueStore } from '../models/memory-key-value-store';
import { unpackedEntries } from '../../../node/engine/kv/packed-entries';
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

const EVERYTHING = { from: Buffer.from([0]), to: Buffer.alloc(40, 0xff) };

/**
 * A store whose machine can lose power: batches written without a sync, and after the last one with, survive in part,
 * the older ones first. Outlives `close`, as a disk does.
 */
export class PowerLossStore implements KeyValueStore {
  private durable = new MemoryKeyValueStore();
  private current = new MemoryKeyValueStore();
  private unsynced: KeyValueChange[][] = [];
  readonly isOnlyRead = false;

  async takeChanges(): Promise<void> {}

  async write(given: (KeyValueChange | PackedPuts)[], options: { sync: boolean }): Promise<void> {
    // The memory of packed entries is used again.
    const changes = given.flatMap((change): KeyValueChange[] =>
      change.type === 'puts'
        ? [...unpackedEntries(Buffer.from(change.entries))].map((entry) => ({ type: 'put', ...entry }))
        : [change],
    );
    await this.current.write(changes);
    this.unsynced.push(changes);
    if (options.sync) await this.harden(this.unsynced.length);
  }

  async load(pages: AsyncIterable<Buffer>): Promise<void> {
    for await (const page of pages)
      await this.write(
        [...unpackedEntries(page)].map((entry) => ({ type: 'put', ...entry })),
        { sync: true },
      );
  }

  async clear(range: { from: Buffer; to: Buffer }): Promise<void> {
    const gone: KeyValueChange[] = [];
    for await (const page of this.current.scan({ ...range, values: false }))
      gone.push(...page.map(({ key }) => ({ type: 'delete' as const, key })));
    await this.write(gone, { sync: false });
  }

  /** Keeps a share of what was not synced. Nothing may be running. */
  async losePower(share: number): Promise<void> {
    await this.harden(Math.floor(this.unsynced.length * share));
    this.unsynced = [];
    this.current = new MemoryKeyValueStore();
    for await (const page of this.durable.scan(EVERYTHING))
      await this.current.write(page.map((entry) => ({ type: 'put', ...entry })));
  }

  get(key: Buffer): Promise<Buffer | undefined> {
    return this.current.get(key);
  }

  getMany(keys: Buffer[]): Promise<(Buffer | undefined)[]> {
    return this.current.getMany(keys);
  }

  snapshot(): StoreSnapshot {
    return this.current.snapshot();
  }

  scan(range: KeyRange): AsyncIterable<KeyValueEntry[]> {
    return this.current.scan(range);
  }

  async recover(): Promise<void> {}

  reclaim(range: { from: Buffer; to: Buffer }): Promise<void> {
    return this.clear(range);
  }

  async compact(): Promise<void> {}

  async sizeBytes(): Promise<number> {
    return 0;
  }

  async verify(): Promise<void> {}

  memory(): StoreMemory {
    return NO_MEMORY;
  }

  async close(): Promise<void> {}

  private async harden(batches: number): Promise<void> {
    for (const batch of this.unsynced.splice(0, batches)) await this.durable.write(batch);
  }
}
