import type { ShardAssignment } from '../../../shared/cluster-store/entries/shard-assignment';
import type { WriteSource } from '../../../shared/contract/writes/write-source';
import type { AppendAck, AppendMessage } from './messages';
import type { AppliedEntry, ReplicaState } from './replica-state';

/** What happens to a replica; passed one at a time to ShardReplica.step. */
export type ReplicaEvent =
  /** Time has passed: due at ShardReplica.nextTickAt, harmless at any time. */
  | { type: 'tick' }
  /** The shard's assignment from a watch or a linearizable read. One that is older than the known one is ignored. */
  | { type: 'assignment'; assignment: ShardAssignment; revision: number }
  /**
   * The answer to a `change`. `current` is what the cluster store holds at `revision` (the new assignment if it was
   * applied); null if the shard is gone. If there is no answer, the change is requested again.
   */
  | { type: 'changeAnswer'; changeId: string; applied: boolean; current: ShardAssignment | null; revision: number }
  /** The change of an `append` effect is on stable storage; in the order of the tokens. */
  | { type: 'stored'; token: number }
  /** An `apply` effect is done. `results` has the entries from the one after the last applied up to `upTo`. */
  | { type: 'applied'; upTo: number; results: AppliedEntry[] }
  /**
   * A client's write. `writeId` is chosen by the caller, unique per process; one `answer` effect answers it. `at`: the
   * time of the wall clock, if its entry is to have one.
   */
  | { type: 'write'; writeId: number; source: WriteSource; payload: Buffer; at?: number }
  /**
   * A client has read, or is about to: some time of it is enough (`READ_NOTED_EVERY_MS`). Changes nothing but the pace
   * of heartbeats.
   */
  | { type: 'read' }
  /**
   * Something waits for the lease, which a dormant shard lets run out: heartbeats go out at once, and nothing else
   * changes.
   */
  | { type: 'renew' }
  /** A read waits until this follower has applied `ShardReplica.readPosition`. */
  | { type: 'readWaits' }
  | { type: 'append'; message: AppendMessage }
  | { type: 'appendAck'; ack: AppendAck }
  /** There is a new stream to a peer: what was under way on the old one may be lost. */
  | { type: 'streamStarted'; node: string }
  /** A snapshot requested by `snapshot` was installed by the peer, or failed. */
  | { type: 'snapshotEnded'; node: string }
  /** This replica's data were replaced by a snapshot: nothing of the old log is left. */
  | { type: 'installed'; state: ReplicaState }
  /** The log now begins at `firstSequence`; `precedingEpoch` is the epoch of the entry before it. */
  | { type: 'trimmed'; firstSequence: number; precedingEpoch: number }
  /**
   * Give up the lead: hand over to `to`, or to the in-sync replica with the longest log. Accept no more writes from now
   * on.
   */
  | { type: 'handover'; to: string | null }
  | { type: 'cancelHandover' };
