import type { Logger } from '../../shared/logs/logger';
import type { KeyValueStore } from '../kv/key-value-store';
import type { IndexFactories } from './shard-indexes';

/** Where a shard tells what happened to it. */
export type ShardLogger = Pick<Logger, 'info' | 'warn' | 'error'>;

/** What every shard of a node is made with. */
export interface ShardOptions {
  factories: IndexFactories;
  openStore(folder: string): Promise<KeyValueStore>;
  recallTarget: number;
  buildThreads: number;
  /** Most distinct metadata fields of a shard (MAX_COLLECTION_FIELDS); without it there is no bound. */
  fieldsMax?: number | undefined;
  logger: ShardLogger;
}
