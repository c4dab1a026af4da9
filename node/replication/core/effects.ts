import type { ReplicaId, ShardAssignment } from '../../../shared/cluster-store/entries/shard-assignment';
import type { WriteResult } from '../../../shared/contract/shard/shard-client';
import type { AppendAck, OutgoingAppend } from './messages';
import type { SeldomPace } from './pace';
import type { LogChange } from './replica-state';

/** What the shell must do for the replica, in order. */
export type ReplicaEffect =
  /** Pass to ReplicaStorage.append in this order; answer with `stored` and the token. */
  | ({ type: 'append'; token: number } & LogChange)
  /** Pass to ReplicaStorage.apply; answer with `applied`. One at a time. */
  | { type: 'apply'; upTo: number }
  /**
   * Send on the stream to the node; may be lost. `pace`: of a heartbeat of a shard that nobody reads, which comes less
   * often.
   */
  | { type: 'sendAppend'; to: string; message: OutgoingAppend; pace?: SeldomPace }
  | { type: 'sendAck'; to: string; ack: AppendAck }
  | { type: 'answer'; writeId: number; answer: WriteAnswer }
  /**
   * Change the shard's assignment by compare-and-swap: only if its revision is `expectedRevision` and the node entries
   * of `requires` exist with these stores. An identical request that was sent before may still be under way.
   */
  | { type: 'change'; assignment: ShardAssignment; expectedRevision: number; requires: ReplicaId[] }
  /**
   * Send a snapshot to the node, made by the primary of `epoch` (see ShardReplica.mayInstall), then report
   * `snapshotEnded`.
   */
  | { type: 'snapshot'; to: string; epoch: number }
  /** This store holds less than it once acknowledged. Continue only with a new store id and an empty store. */
  | { type: 'lossy'; recorded: number; last: number }
  /**
   * This store committed another entry at `sequence` than its primary has. That only happens after an operator made a
   * replica lead that lacks writes, or after this one led by an assignment that was put back. Continue as after
   * `lossy`.
   */
  | { type: 'diverged'; sequence: number }
  /**
   * The primary's entry at `sequence` is of a kind that this program does not know, so it must not be acknowledged.
   * Stop the replica as it is; a later version of the program can go on with it.
   */
  | { type: 'unknown'; sequence: number; reason: string }
  | { type: 'role'; role: ReplicaRole; epoch: number };

/** follower: every replica but the primary, including learners. */
export type ReplicaRole = 'follower' | 'primary';

/** How a write ended. All errors except commit_unknown are definite: the write was not and will not be applied. */
export type WriteAnswer =
  | { ok: true; result: WriteResult }
  | { ok: false; kind: 'misrouted' | 'unavailable' | 'overloaded' | 'commit_unknown'; reason: string };
