import type { Logger } from '../../../shared/base/logs/logger';
import type { KeyValueStore } from '../kv/key-value-store';
import type { BackupAccess } from './backup/backup-access';
import type { IndexFactories } from './shard-indexes';

/** Where a shard reports what happens to it. */
export type ShardLogger = Pick<Logger, 'info' | 'warn' | 'error'>;

/** The options that all shards of a node share. */
export interface ShardOptions {
  factories: IndexFactories;
  /**
   * Opens a store, or makes it; one that `mustExist` is never made, and with `reading` perhaps opened to be read alone
   * until it is changed. Errors: as of RocksKeyValueStore.
   */
  openStore(folder: string, how?: { mustExist: boolean; reading?: boolean }): Promise<KeyValueStore>;
  recallTarget: number;
  buildThreads: number;
  /** Most distinct metadata fields of a shard (MAX_COLLECTION_FIELDS); unbounded if absent. */
  fieldsMax?: number | undefined;
  logger: ShardLogger;
  /** The clock by which items expire; default: the system's. */
  wallMs?: (() => number) | undefined;
  /** Absent: shards are not backed up, and not restored. */
  backups?: BackupAccess | undefined;
}
