import { isSameReplica, type ReplicaId, type ShardAssignment } from '../../../shared/cluster/shard-assignment';
import type { ReplicaEffect } from './effects';
import { TIMINGS } from './timings';

/**
 * Why a primary changes the assignment. shrink, expand: the in-sync set. settle: nothing, only so that an earlier refused
 * change can't be made any more. resume: a new epoch for itself. move: the end of a move. handover: another primary.
 */
export type ChangeKind = 'shrink' | 'expand' | 'settle' | 'resume' | 'move' | 'handover';

export interface Proposal {
  kind: ChangeKind;
  assignment: ShardAssignment;
  /** Node entries that must hold these stores for the change to be made. */
  requires: ReplicaId[];
}

interface PendingChange extends Proposal {
  expectedRevision: number;
  sentAt: number;
}

/**
 * The shard's assignment as the cluster store is known to have it, and the one change of it that this replica has asked
 * for. Which of the two is in force is unknown until the answer is: whatever needs the in-sync set's consent needs it of
 * every member of either (the maximal set, as in Kafka's KIP-497).
 */
export class Membership {
  confirmed: ShardAssignment | null = null;
  revision = 0;
  pending: PendingChange | null = null;
  /**
   * Members of sets that were asked for under the current revision and refused. A copy of such a request may still be under
   * way and succeed (it was refused for a node entry that was missing); only another revision puts an end to that.
   */
  private unsettled: ReplicaId[] = [];
  private changes = 0;
  private readonly changeIdPrefix: string;
  private readonly emit: (effect: ReplicaEffect) => void;

  constructor(options: { changeIdPrefix: string; emit: (effect: ReplicaEffect) => void }) {
    this.changeIdPrefix = options.changeIdPrefix;
    this.emit = options.emit;
  }

  /** Takes in what the cluster store has; false when it is older than or the same as what is known. */
  adopt(assignment: ShardAssignment, revision: number): boolean {
    if (revision <= this.revision) return false;
    // Whether it was made or not: the change was bound to the revision before and can't be made after this one.
    this.pending = null;
    this.unsettled = [];
    this.confirmed = assignment;
    this.revision = revision;
    return true;
  }

  /** Members that can be in force as in sync; acknowledgements and leases are needed of all of them. */
  maximal(): ReplicaId[] {
    const members = [...(this.confirmed?.inSync ?? [])];
    for (const member of [...(this.pending?.assignment.inSync ?? []), ...this.unsettled]) {
      if (!members.some((known) => isSameReplica(known, member))) members.push(member);
    }
    return members;
  }

  /** Whether a replica may be promoted: it is, or may be, in sync, or it is eligible. */
  mustBeComplete(replica: ReplicaId): boolean {
    return [...this.maximal(), ...(this.confirmed?.eligible ?? [])].some((member) => isSameReplica(member, replica));
  }

  /** Members that are required for a refused change only. */
  leftovers(): ReplicaId[] {
    return this.unsettled.filter((member) => !this.confirmed?.inSync.some((known) => isSameReplica(known, member)));
  }

  /** Whether the confirmed in-sync set is large enough to commit. A change under way does not count. */
  hasEnough(): boolean {
    return this.confirmed !== null && this.confirmed.inSync.length >= minInSyncOf(this.confirmed);
  }

  propose(proposal: Proposal, nowMs: number): void {
    const changeId = `${this.changeIdPrefix}-${++this.changes}`;
    this.pending = { ...proposal, assignment: { ...proposal.assignment, changeId }, expectedRevision: this.revision, sentAt: nowMs };
    this.ask(this.pending);
  }

  /** The answer to a change: ours is not pending any more. Adopting what the answer says is the caller's next step. */
  answered(changeId: string, revision: number): void {
    if (this.pending?.assignment.changeId !== changeId || revision > this.revision) return;
    this.unsettled.push(...this.pending.assignment.inSync);
    this.pending = null;
  }

  /** Sends an unanswered change again, the very same one. */
  tick(nowMs: number): void {
    if (this.pending === null || nowMs - this.pending.sentAt < TIMINGS.changeRetryMs) return;
    this.pending.sentAt = nowMs;
    this.ask(this.pending);
  }

  nextTickAt(): number {
    return this.pending === null ? Infinity : this.pending.sentAt + TIMINGS.changeRetryMs;
  }

  private ask(pending: PendingChange): void {
    const { assignment, expectedRevision, requires } = pending;
    this.emit({ type: 'change', assignment, expectedRevision, requires });
  }
}

/** The smallest in-sync set that commits; a shard with one replica needs no other. */
export function minInSyncOf(assignment: ShardAssignment): number {
  return assignment.replicas.length === 1 ? 1 : assignment.minInSync;
}
