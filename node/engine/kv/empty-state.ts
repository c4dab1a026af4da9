import { QuiverError } from '../../../shared/base/errors/quiver-error';
import {
  type KeyRange,
  type KeyValueEntry,
  type KeyValueStore,
  NO_MEMORY,
  type StoreMemory,
  type StoreSnapshot,
} from './key-value-store';

type Reads = Pick<KeyValueStore, 'get' | 'getMany' | 'snapshot' | 'scan' | 'sizeBytes' | 'verify' | 'memory'>;

/**
 * What a store without entries answers to reads. Errors: storage_failed after `close`, and by a snapshot that is freed.
 */
export class EmptyState implements Reads {
  private closed = false;

  async get(_key: Buffer): Promise<undefined> {
    this.assertOpen();
  }

  async getMany(keys: Buffer[]): Promise<undefined[]> {
    this.assertOpen();
    return keys.map(() => undefined);
  }

  snapshot(): StoreSnapshot {
    this.assertOpen();
    let isFree = false;
    const assertKept = (): void => {
      this.assertOpen();
      if (isFree) throw new QuiverError('storage_failed', 'the snapshot is freed');
    };
    return {
      getMany: async (keys) => {
        assertKept();
        return keys.map(() => undefined);
      },
      async *scan() {
        assertKept();
        yield* [];
      },
      free: () => void (isFree = true),
    };
  }

  async *scan(_range: KeyRange): AsyncIterable<KeyValueEntry[]> {
    this.assertOpen();
    yield* [];
  }

  async sizeBytes(): Promise<number> {
    return 0;
  }

  async verify(): Promise<void> {
    this.assertOpen();
  }

  memory(): StoreMemory {
    return NO_MEMORY;
  }

  close(): void {
    this.closed = true;
  }

  private assertOpen(): void {
    if (this.closed) throw new QuiverError('storage_failed', 'the store is closed');
  }
}
