import type { ShardStatus } from '../../shared/shard/shard-read';
import type { StoreMemory } from '../kv/key-value-store';

/** What operators may know of an open shard beyond what its callers do. */
export interface ShardObservation {
  status: ShardStatus;
  /** Bytes in memory; `vectorIndex`: codes and graph links, the originals mapped from the disk not counted. */
  memory: { vectorIndex: number; directory: number; filterIndex: number; keywordIndex: number; store: StoreMemory };
  /** `atMs`: wall time of the last checkpoint, or when the shard was opened if there was none. */
  checkpoint: { atMs: number; unsavedChanges: number };
}

/** A replica of a shard on this node, for its metrics. */
export interface ReplicaObservation {
  collectionUid: string;
  shard: number;
  leads: boolean;
  epoch: number;
  /** Log positions: stored, applied to the records. */
  lastSequence: number;
  appliedSequence: number;
  /** Writes whose callers wait. */
  pendingWrites: number;
  /** Entries that the follower furthest behind lacks; 0 on a follower. */
  lagMax: number;
  data: ShardObservation;
}
