import type {
  KeyRange,
  KeyValueChange,
  KeyValueEntry,
  KeyValueStore,
  PackedPuts,
  StoreMemory,
  StoreSnapshot,
} from '../../../node/engine/kv/key-value-store';

/**
 * A store that shows a batch before its writer hears of it, and reads before their reader does, for as long as a test
 * wants: what a store on other threads may do at any time.
 */
export class EarlyStore implements KeyValueStore {
  private holds = { writes: false, reads: false };
  private held: { kind: 'writes' | 'reads'; go: () => void }[] = [];

  constructor(private readonly store: KeyValueStore) {}

  /** Calls that are made from here on stay without an answer until `letGo`. */
  hold(kind: 'writes' | 'reads'): void {
    this.holds[kind] = true;
  }

  letGo(kind: 'writes' | 'reads'): void {
    this.holds[kind] = false;
    for (const { go } of this.held.filter((one) => one.kind === kind)) go();
    this.held = this.held.filter((one) => one.kind !== kind);
  }

  /** How many calls wait. */
  waiting(kind: 'writes' | 'reads'): number {
    return this.held.filter((one) => one.kind === kind).length;
  }

  get isOnlyRead(): boolean {
    return this.store.isOnlyRead;
  }

  takeChanges(): Promise<void> {
    return this.store.takeChanges();
  }

  write(changes: (KeyValueChange | PackedPuts)[], options: { sync: boolean }): Promise<void> {
    return this.late('writes', this.store.write(changes, options));
  }

  get(key: Buffer): Promise<Buffer | undefined> {
    return this.late('reads', this.store.get(key));
  }

  getMany(keys: Buffer[]): Promise<(Buffer | undefined)[]> {
    return this.late('reads', this.store.getMany(keys));
  }

  snapshot(): StoreSnapshot {
    const snapshot = this.store.snapshot();
    return {
      getMany: (keys) => this.late('reads', snapshot.getMany(keys)),
      scan: (range) => snapshot.scan(range),
      free: () => snapshot.free(),
    };
  }

  scan(range: KeyRange): AsyncIterable<KeyValueEntry[]> {
    return this.store.scan(range);
  }

  load(pages: AsyncIterable<Buffer>): Promise<void> {
    return this.store.load(pages);
  }

  recover(): Promise<void> {
    return this.store.recover();
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

  close(): Promise<void> {
    return this.store.close();
  }

  private async late<Result>(kind: 'writes' | 'reads', call: Promise<Result>): Promise<Result> {
    const isHeld = this.holds[kind];
    const result = await call;
    if (isHeld) await new Promise<void>((go) => this.held.push({ kind, go }));
    return result;
  }
}
