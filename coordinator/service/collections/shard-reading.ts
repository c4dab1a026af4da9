import type { ShardStatus } from '../../../shared/contract/shard/shard-read';

/** One shard of a collection, for operators. */
export interface ShardReading {
  /** The collection's name. */
  collection: string;
  collectionUid: string;
  shard: number;
  /** null: the shard does not answer. */
  status: ShardStatus | null;
}
