import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { EmptyState } from './empty-state';
import type {
  KeyRange,
  KeyValueChange,
  KeyValueEntry,
  KeyValueStore,
  PackedPuts,
  StoreMemory,
  StoreSnapshot,
} from './key-value-store';

/** A store that holds nothing until its first change, and is made with it: one that nobody writes to takes no files. */
export class LaterKeyValueStore implements KeyValueStore {
  private readonly nothing = new EmptyState();
  private made: KeyValueStore | null = null;
  private making: Promise<KeyValueStore> | null = null;
  private closing: Promise<void> | null = null;

  /** `make`: makes the store, empty. Where that fails, the change fails, and the next one tries it again. */
  constructor(private readonly make: () => Promise<KeyValueStore>) {}

  get isOnlyRead(): boolean {
    return this.made === null;
  }

  async takeChanges(): Promise<void> {
    await this.changed();
  }

  get(key: Buffer): Promise<Buffer | undefined> {
    return this.present.get(key);
  }

  getMany(keys: Buffer[]): Promise<(Buffer | undefined)[]> {
    return this.present.getMany(keys);
  }

  snapshot(): StoreSnapshot {
    return this.present.snapshot();
  }

  scan(range: KeyRange): AsyncIterable<KeyValueEntry[]> {
    return this.present.scan(range);
  }

  async write(changes: (KeyValueChange | PackedPuts)[], options: { sync: boolean }): Promise<void> {
    if (changes.length > 0) await (this.made ?? (await this.changed())).write(changes, options);
  }

  async load(pages: AsyncIterable<Buffer>): Promise<void> {
    await (await this.changed()).load(pages);
  }

  async recover(): Promise<void> {
    await this.made?.recover();
  }

  async clear(range: { from: Buffer; to: Buffer }): Promise<void> {
    await this.made?.clear(range);
  }

  async reclaim(range: { from: Buffer; to: Buffer }): Promise<void> {
    await this.made?.reclaim(range);
  }

  async compact(): Promise<void> {
    await this.made?.compact();
  }

  sizeBytes(): Promise<number> {
    return this.present.sizeBytes();
  }

  verify(options: { bytesPerSecond: number; stop: AbortSignal }): Promise<void> {
    return this.present.verify(options);
  }

  memory(): StoreMemory {
    return this.present.memory();
  }

  close(rests = false): Promise<void> {
    this.closing ??= (async () => {
      await this.making?.catch(() => undefined);
      this.nothing.close();
      await this.made?.close(rests);
    })();
    return this.closing;
  }

  private get present(): KeyValueStore | EmptyState {
    return this.made ?? this.nothing;
  }

  private async changed(): Promise<KeyValueStore> {
    if (this.made !== null) return this.made;
    if (this.closing !== null) throw new QuiverError('storage_failed', 'the store is closed');
    this.making ??= this.make()
      .then((store) => (this.made = store))
      .finally(() => (this.making = null));
    return this.making;
  }
}
