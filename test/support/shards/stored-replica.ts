import { join } from 'node:path';
import type { ReplicaStorage } from '../../../node/replication/replica-storage';
import { RocksReplicaStorage } from '../../../node/replication/rocks-replica-storage';
import { Shard } from '../../../node/engine/shard/shard';
import type { IndexFactories } from '../../../node/engine/shard/shard-indexes';
import type { ShardOptions } from '../../../node/engine/shard/shard-options';
import { WriteBudget } from '../../../node/engine/shard/writing/write-queue';
import type { KeyValueStore } from '../../../node/engine/kv/key-value-store';
import { RocksKeyValueStore } from '../../../node/engine/kv/rocks-key-value-store';
import { operationsToBytes } from '../../../shared/contract/writes/operation-codec';
import type { ShardSpec, WriteOperation } from '../../../shared/contract/shard/shard-client';
import type { StoredItem } from '../../../shared/contract/shard/shard-read';
import type { LogEntry } from '../../../node/replication/core/replica-state';
import { earlierOperations } from './earlier-operations';
import { LogMemory, plainFactories } from './shard-node';

/** A replica's data alone, open in a folder: store, records, log. */
export class StoredReplica {
  readonly log = new LogMemory();
  store!: KeyValueStore;
  shard!: Shard;
  storage!: RocksReplicaStorage;

  constructor(
    readonly folder: string,
    private readonly spec: ShardSpec,
    private readonly options: {
      openStore?: (folder: string) => Promise<KeyValueStore>;
      factories?: IndexFactories;
      backups?: ShardOptions['backups'];
      wallMs?: () => number;
    } = {},
  ) {}

  async open(): Promise<this> {
    const {
      openStore = (path: string) => RocksKeyValueStore.open(path),
      factories = plainFactories,
      backups,
      wallMs,
    } = this.options;
    const kept = async (path: string): Promise<KeyValueStore> => (this.store = await openStore(path));
    const dependencies = {
      budget: new WriteBudget(1 << 28),
      onDiverged: (error: Error) => this.log.error({ error }, 'diverged'),
      onWriteFailed: () => undefined,
      // Only what is in the log is done.
      removeExpired: async () => false,
      onDamaged: (error: Error) => this.log.error({ error }, 'damaged'),
    };
    this.shard = await Shard.open(
      this.folder,
      this.spec,
      { factories, openStore: kept, recallTarget: 0.99, buildThreads: 1, logger: this.log, backups, wallMs },
      dependencies,
    );
    this.storage = await RocksReplicaStorage.open({
      store: this.store,
      shard: this.shard,
      watermarkPath: join(this.folder, 'log-mark'),
    });
    return this;
  }

  /** `crashed`: without the checkpoint that a stop writes. */
  async close(how: 'stopped' | 'crashed' = 'stopped'): Promise<void> {
    await this.storage.close();
    await this.shard.close(how === 'stopped' ? 'closed' : 'reopened');
  }

  /** Every item in insertion order. */
  items(): Promise<StoredItem[]> {
    return this.shard.read('scan', { after: null, limit: 1_000_000, filter: null, vectors: true, versions: true });
  }

  /** Every entry of a storage's log from `from` on. */
  static async entries(storage: ReplicaStorage, from: number, maxBytes = 1 << 20): Promise<LogEntry[]> {
    const entries: LogEntry[] = [];
    for (let next = from; ; next = entries[entries.length - 1].sequence + 1) {
      const read = await storage.read(next, maxBytes);
      if (read.length === 0) return entries;
      entries.push(...read);
    }
  }
}

/** A write of a session's, as an entry of the log. `counted`: whether it makes the shard count versions. */
export function writeEntry(
  position: { epoch: number; sequence: number },
  operations: WriteOperation[],
  source: { session?: string; requestNumber?: number; settledBelow?: number } = {},
  counted = true,
): LogEntry {
  const { session = 's', requestNumber = position.sequence, settledBelow = 0 } = source;
  return {
    ...position,
    write: {
      source: { session, requestNumber, settledBelow },
      payload: counted ? operationsToBytes(operations) : earlierOperations(operations, 1),
    },
  };
}
