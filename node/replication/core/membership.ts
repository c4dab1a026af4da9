import {
  isLaterAssignment,
  isSameReplica,
  minInSyncOf,
  type ReplicaId,
  type ShardAssignment,
} from '../../../shared/cluster-store/entries/shard-assignment';
import type { ReplicaEffect } from './effects';
import { TIMINGS } from './timings';

/**
 * Why a primary changes the assignment. shrink, expand: the in-sync set changes. settle: nothing changes; it only makes
 * sure that an earlier, refused change can't be made any more. use: the shard is about to be written to. resume: a new
 * epoch for itself. move: the end of a move. handover: another primary.
 */
export type ChangeKind = 'shrink' | 'expand' | 'settle' | 'use' | 'resume' | 'move' | 'handover';

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
 * The shard's assignment, as the cluster store is known to have it, and the one change of it that this replica has
 * requested. Until the answer comes, it is unknown which of the two is in force. So whatever needs the consent of the
 * in-sync set needs that of every member of either (the maximal set, as in Kafka's KIP-497).
 */
export class Membership {
  confirmed: ShardAssignment | null = null;
  revision = 0;
  pending: PendingChange | null = null;
  /**
   * Members of sets that were requested under the current revision and refused. A copy of such a request may still be
   * under way and succeed (it was refused because a node entry was missing); only a new revision excludes that.
   */
  private unsettled: ReplicaId[] = [];
  /**
   * The last change that was refused: because a node entry was missing, or because the cluster store holds an earlier
   * assignment than the confirmed one (`isBehind`). Then it was restored from a backup, and refuses every change.
   * `pauseMs`: how long to wait before the next; `untilMs`: until when, null when that is over.
   */
  private refused: { kind: ChangeKind; isBehind: boolean; pauseMs: number; untilMs: number | null } | null = null;
  private changes = 0;
  private readonly changeIdPrefix: string;
  private readonly emit: (effect: ReplicaEffect) => void;

  constructor(options: { changeIdPrefix: string; emit: (effect: ReplicaEffect) => void }) {
    this.changeIdPrefix = options.changeIdPrefix;
    this.emit = options.emit;
  }

  /** Adopts what the cluster store has. False if it is not newer than what is known. */
  adopt(assignment: ShardAssignment, revision: number): boolean {
    if (
      this.confirmed !== null &&
      !isLaterAssignment({ assignment, revision }, { assignment: this.confirmed, revision: this.revision })
    )
      return false;
    // Whether the change was made or not: it required the previous revision, so it can't be made after this one.
    this.pending = null;
    this.unsettled = [];
    this.refused = null;
    this.confirmed = assignment;
    this.revision = revision;
    return true;
  }

  /**
   * Members that may be in sync by any assignment that may be in force; acknowledgements and leases are needed from all
   * of them.
   */
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

  /** Members that are required only because of a refused change. */
  leftovers(): ReplicaId[] {
    return this.unsettled.filter((member) => !this.confirmed?.inSync.some((known) => isSameReplica(known, member)));
  }

  /** Whether the confirmed in-sync set is large enough to commit. A change under way does not count. */
  hasEnough(): boolean {
    return this.confirmed !== null && this.confirmed.inSync.length >= minInSyncOf(this.confirmed);
  }

  /**
   * Whether nobody may have written to the shard yet, so that replicas without data are new. A change under way does
   * not count.
   */
  isUnused(): boolean {
    return this.confirmed?.unused === true;
  }

  /**
   * Whether a change of this kind was refused a moment ago and should wait, longer each time. The node entry that was
   * missing may stay away, and the cluster store answers at once. While the store is behind, that holds for every kind.
   */
  wasJustRefused(kind: ChangeKind, nowMs: number): boolean {
    const { refused } = this;
    return (
      refused !== null &&
      (refused.isBehind || refused.kind === kind) &&
      refused.untilMs !== null &&
      nowMs < refused.untilMs
    );
  }

  /** Whether no change is under way or waits to be requested again, and only the confirmed set can be in force. */
  isSettled(): boolean {
    return this.pending === null && (this.refused?.untilMs ?? null) === null && this.leftovers().length === 0;
  }

  propose(proposal: Proposal, nowMs: number): void {
    const changeId = `${this.changeIdPrefix}-${++this.changes}`;
    this.pending = {
      ...proposal,
      assignment: { ...proposal.assignment, changeId },
      expectedRevision: this.revision,
      sentAt: nowMs,
    };
    this.ask(this.pending);
  }

  /** The answer to a change: ours is no longer pending. The caller then adopts what the answer contains. */
  answered(changeId: string, revision: number, nowMs: number): void {
    if (this.pending?.assignment.changeId !== changeId || revision > this.revision) return;
    const { kind, assignment } = this.pending;
    const isBehind = revision < this.revision;
    const before =
      this.refused !== null && this.refused.kind === kind && !this.refused.isBehind ? this.refused.pauseMs : null;
    // A primary that hands over serves nobody until it has done so.
    const again =
      before === null || kind === 'handover' ? TIMINGS.changeRetryMs : Math.min(before * 2, TIMINGS.refusedPauseMaxMs);
    const pauseMs = isBehind ? TIMINGS.behindRetryMs : again;
    this.refused = { kind, isBehind, pauseMs, untilMs: nowMs + pauseMs };
    for (const member of assignment.inSync)
      if (!this.unsettled.some((known) => isSameReplica(known, member))) this.unsettled.push(member);
    this.pending = null;
  }

  /** Sends an unanswered change again, unmodified. */
  tick(nowMs: number): void {
    if (this.refused !== null && this.refused.untilMs !== null && nowMs >= this.refused.untilMs)
      this.refused.untilMs = null;
    if (this.pending === null || nowMs - this.pending.sentAt < TIMINGS.changeRetryMs) return;
    this.pending.sentAt = nowMs;
    this.ask(this.pending);
  }

  nextTickAt(): number {
    if (this.pending !== null) return this.pending.sentAt + TIMINGS.changeRetryMs;
    // For the other kinds, a primary's heartbeats are often enough.
    const { refused } = this;
    return refused !== null && (refused.isBehind || refused.kind === 'resume')
      ? (refused.untilMs ?? Infinity)
      : Infinity;
  }

  private ask(pending: PendingChange): void {
    const { assignment, expectedRevision, requires } = pending;
    this.emit({ type: 'change', assignment, expectedRevision, requires });
  }
}
