import type { ShardAssignment } from '../../../shared/cluster/shard-assignment';
import type { WriteSource } from '../../../shared/shard/write-source';
import type { AppendAck, AppendMessage } from './messages';
import type { AppliedEntry, ReplicaState } from './replica-state';

/** What happens to a replica; one at a time into ShardReplica.step. */
export type ReplicaEvent =
  /** Time has passed: due at ShardReplica.nextTickAt, harmless at any time. */
  | { type: 'tick' }
  /** The shard's assignment as a watch or a linearizable read has it; older ones than known are ignored. */
  | { type: 'assignment'; assignment: ShardAssignment; revision: number }
  /**
   * The answer to a `change`: `current` is what the cluster store holds at `revision` (the new assignment when applied),
   * null when the shard is gone. No answer at all is fine: the change is asked for again.
   */
  | { type: 'changeAnswer'; changeId: string; applied: boolean; current: ShardAssignment | null; revision: number }
  /** An `append` effect's change is on stable storage; in the order of the tokens. */
  | { type: 'stored'; token: number }
  /** An `apply` effect is done; `results` has the entries from the one after the last applied up to `upTo`. */
  | { type: 'applied'; upTo: number; results: AppliedEntry[] }
  /** A client's write. `writeId` is the caller's own, unique per process; answered by one `answer` effect. */
  | { type: 'write'; writeId: number; source: WriteSource; payload: Buffer }
  | { type: 'append'; message: AppendMessage }
  | { type: 'appendAck'; ack: AppendAck }
  /** The stream to a peer was set up anew: what was under way on the old one may be lost. */
  | { type: 'streamStarted'; node: string }
  /** A snapshot asked for by `snapshot` was installed by the peer, or failed. */
  | { type: 'snapshotEnded'; node: string }
  /** This replica's data was replaced by a snapshot: nothing of the old log is left. */
  | { type: 'installed'; state: ReplicaState }
  /** The log now begins at `firstSequence`; `precedingEpoch` is the epoch of the entry before it. */
  | { type: 'trimmed'; firstSequence: number; precedingEpoch: number }
  /** Lead no longer: hand over to `to`, or to the in-sync replica with the longest log. Takes no more writes from now on. */
  | { type: 'handover'; to: string | null }
  | { type: 'cancelHandover' };
