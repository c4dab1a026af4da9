import type { ReplicaId, ShardAssignment } from '../../../shared/cluster/shard-assignment';
import type { WriteOutcome } from '../../../shared/shard/shard-client';
import type { AppendAck, OutgoingAppend } from './messages';
import type { LogChange } from './replica-state';

/** What a replica wants done, in order. */
export type ReplicaEffect =
  /** Give to ReplicaStorage.append in this order; answer `stored` with the token. */
  | ({ type: 'append'; token: number } & LogChange)
  /** Give to ReplicaStorage.apply; answer `applied`. One at a time. */
  | { type: 'apply'; upTo: number }
  /** Send on the stream to the node; may be dropped. */
  | { type: 'sendAppend'; to: string; message: OutgoingAppend }
  | { type: 'sendAck'; to: string; ack: AppendAck }
  | { type: 'answer'; writeId: number; answer: WriteAnswer }
  /**
   * Compare-and-swap the shard's assignment: only if its revision is `expectedRevision` and the node entries of `requires`
   * exist with these stores. An identical one that was sent before may still be under way.
   */
  | { type: 'change'; assignment: ShardAssignment; expectedRevision: number; requires: ReplicaId[] }
  /** Send a snapshot to the node, made by the primary of `epoch` (see ShardReplica.mayInstall), then `snapshotEnded`. */
  | { type: 'snapshot'; to: string; epoch: number }
  /** This store holds less than it once acknowledged: go on only with a new store id and an empty store. */
  | { type: 'lossy'; recorded: number; last: number }
  | { type: 'role'; role: ReplicaRole; epoch: number };

/** follower: everything but the primary, learners too. */
export type ReplicaRole = 'follower' | 'primary';

/** How a write ended. All errors but commit_unknown are definite: the write will not appear. */
export type WriteAnswer =
  | { ok: true; outcomes: WriteOutcome[] }
  | { ok: false; kind: 'misrouted' | 'unavailable' | 'overloaded' | 'commit_unknown'; reason: string };
