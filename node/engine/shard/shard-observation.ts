import type { ShardStatus } from '../../../shared/contract/shard/shard-read';
import type { StoreMemory } from '../kv/key-value-store';

/** What operators can see of an open shard in addition to what callers see. */
export interface ShardObservation {
  status: ShardStatus;
  /** Bytes in memory; `vectorIndex`: codes and graph links, without the originals mapped from the disk. */
  memory: { vectorIndex: number; directory: number; filterIndex: number; keywordIndex: number; store: StoreMemory };
  /** `atMs`: wall time of the last checkpoint; if there was none, when the shard was opened. */
  checkpoint: { atMs: number; unsavedChanges: number };
  /** Items that were hidden because they had expired, since it was opened. */
  expiredItems: number;
  /** How far the time by which its items expire, and its writes are dated, is ahead of the clock of this machine. */
  clockAheadMs: number;
  /** Writes with an Idempotency-Key that it remembers, and what that takes on the disk. */
  marks: { count: number; bytes: number };
}

/** A replica of a shard on this node, for its metrics. */
export interface ReplicaObservation {
  collectionUid: string;
  shard: number;
  leads: boolean;
  epoch: number;
  /** Log positions: stored, and applied to the records. */
  lastSequence: number;
  appliedSequence: number;
  /** Writes whose callers wait. */
  pendingWrites: number;
  /** How many entries the follower furthest behind lacks; 0 on a follower. */
  lagMax: number;
  data: ShardObservation;
}
