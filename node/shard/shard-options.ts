import type { BackoffPauses } from '../../shared/time/retry-backoff';
import type { KeyValueStore } from '../kv/key-value-store';
import type { IndexFactories } from './shard-indexes';

/** The pauses between attempts to open a shard again that can't be opened or written to, or that diverges repeatedly. */
export const REOPEN_PAUSES: BackoffPauses = { firstMs: 1_000, longestMs: 30_000 };

/** Where a shard reports what happens to it. */
export interface ShardLogger {
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}

/** The options that all shards of a node share. */
export interface ShardOptions {
  factories: IndexFactories;
  openStore(folder: string): Promise<KeyValueStore>;
  recallTarget: number;
  buildThreads: number;
  /** Most distinct metadata fields of a shard (MAX_COLLECTION_FIELDS); unbounded if absent. */
  fieldsMax?: number | undefined;
  logger: ShardLogger;
  /** Most shards open at the same time. */
  openShardsMax: number;
}
