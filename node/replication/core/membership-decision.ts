import {
  isSameReplica,
  minInSyncOf,
  type ReplicaId,
  type ShardAssignment,
  withMoveEnded,
} from '../../../shared/cluster-store/entries/shard-assignment';
import type { Proposal } from './membership';
import type { Peer } from './peer';
import { TIMINGS } from './timings';

/** What is being stored, what waits behind it, and as much again. */
const SYNCS_OF_HANDOVER = 4;

/** What an active primary knows when it decides whether to change the assignment. */
export interface MembershipView {
  self: ReplicaId;
  /** As confirmed; no change is pending. */
  assignment: ShardAssignment;
  /** See Membership.leftovers. */
  leftovers: ReplicaId[];
  peers: ReadonlyMap<string, Peer>;
  lastSequence: number;
  committed: number;
  /** The first entry of its epoch. Once the primary is `serving`, it is committed and applied. */
  barrier: number;
  serving: boolean;
  /** The node to which the primary should hand over; null: to any; undefined: it was not asked to. */
  handoverTo: string | null | undefined;
  /** For how long the primary's own log has stored nothing of what waits for it; 0 if nothing waits. */
  ownStallMs: number;
  /** How long its own log takes for what it stores, if that is slow beside the others; else 0. */
  ownSlowMs: number;
  /** For how long nothing was heard of the assignment, and nothing was asked for to that end. */
  heardMs: number;
  askedMs: number;
  /** For how long it could have heard of others: since it leads, or since its process last stood still. */
  awakeMs: number;
  /** When the last share that was given to a follower is over; see GivenShares. */
  sharesUntil: number;
  /** Who may hold one. */
  shareHolders: ReplicaId[];
  nowMs: number;
}

/**
 * The next change of the assignment; null if it is as it should be. First a primary that is of no use gives up its
 * role; then a member that is gone is removed; then a new shard is put to use; then others are added; then a move ends;
 * a handover comes last, when nothing is left to write.
 */
export function decideMembership(view: MembershipView): Proposal | null {
  return (
    decideAbdication(view) ??
    decideShrink(view) ??
    decideSettle(view) ??
    decideUse(view) ??
    decideExpand(view) ??
    decideMove(view) ??
    decideAsking(view) ??
    decideHandover(view)
  );
}

/**
 * Gives the primary's role to another complete replica, with the log as it is, like a promotion by the controller,
 * which sees nothing amiss here: the node holds its session and answers. Either the primary's own disk stands still; or
 * it can't commit and hears none of the others, who may well hear each other.
 */
export function decideAbdication(view: MembershipView): Proposal | null {
  const isStalled = view.ownStallMs >= TIMINGS.ownStallTimeoutMs;
  if (!isStalled && !isDeserted(view)) return null;
  const { assignment, self, peers } = view;
  const others = assignment.inSync.filter((member) => !isSameReplica(member, self));
  const minInSync = minInSyncOf(assignment);
  // Eligible replicas are complete as long as too few are in sync.
  const isFromEligible = others.length === 0 && assignment.inSync.length < minInSync;
  const candidates = (isFromEligible ? assignment.eligible : others).filter((member) => {
    const peer = peers.get(member.node);
    // A primary without a promise on its disk has asked nobody yet, and a deserted one hears nobody.
    return peer === undefined || !isStalled
      ? !isSameReplica(member, self)
      : peer.is(member) && peer.isFresh(view.nowMs);
  });
  if (candidates.length === 0) return null;
  const rank = ({ node }: ReplicaId): number => peers.get(node)?.[isStalled ? 'match' : 'lastAckAt'] ?? 0;
  const primary = candidates.reduce((best, one) => (rank(one) > rank(best) ? one : best));
  const inSync = isFromEligible ? [primary] : others;
  const complete = [...assignment.eligible, ...assignment.inSync].filter(
    (member) => !inSync.some((other) => other.node === member.node),
  );
  const eligible = inSync.length >= minInSync ? [] : complete;
  // As in a promotion: in a map that an earlier version made, an eligible replica may be outside the shard.
  const replicas = assignment.replicas.includes(primary.node)
    ? assignment.replicas
    : [...assignment.replicas, primary.node];
  return {
    kind: 'handover',
    assignment: { ...assignment, epoch: assignment.epoch + 1, primary, inSync, eligible, replicas },
    requires: [primary],
  };
}

function isDeserted({ assignment, self, peers, awakeMs, nowMs }: MembershipView): boolean {
  if (assignment.inSync.length >= minInSyncOf(assignment) || awakeMs < TIMINGS.desertedTimeoutMs) return false;
  const others = [...assignment.inSync, ...assignment.eligible].filter((member) => !isSameReplica(member, self));
  return others.every(({ node }) => (peers.get(node)?.silentMs(nowMs) ?? 0) > TIMINGS.desertedTimeoutMs);
}

export function decideShrink(view: MembershipView): Proposal | null {
  const { assignment, nowMs } = view;
  for (const member of assignment.inSync) {
    if (isSameReplica(member, view.self)) continue;
    const peer = view.peers.get(member.node);
    const lost = peer?.hasOtherStoreThan(member) ?? false;
    if (peer !== undefined && !lost && !peer.isOverdue(nowMs, view.lastSequence)) continue;
    const inSync = assignment.inSync.filter((other) => !isSameReplica(other, member));
    // Below the minimum nothing is committed, so a member that leaves now stays complete: it may be promoted if all
    // others are gone.
    const others = assignment.eligible.filter((other) => other.node !== member.node);
    const eligible = inSync.length >= minInSyncOf(assignment) ? [] : lost ? others : [...others, member];
    // Requires the primary's own entry. If the primary has died meanwhile, its entry is gone, and a late shrink must
    // not make its store the only one that counts.
    return { kind: 'shrink', assignment: { ...assignment, inSync, eligible }, requires: [view.self] };
  }
  return decideWithoutSlow(view);
}

/** So many stay in sync however slow one of them is: a second copy is worth more than quick writes. */
function keptThoughSlow(assignment: ShardAssignment): number {
  return Math.max(minInSyncOf(assignment), 2);
}

/** Removes a member for which every write waits, if enough others are in sync. */
function decideWithoutSlow({ assignment, self, peers, nowMs }: MembershipView): Proposal | null {
  if (assignment.inSync.length <= keptThoughSlow(assignment)) return null;
  const slow = assignment.inSync.find(
    (member) => !isSameReplica(member, self) && peers.get(member.node)?.isLeftOut(nowMs) === true,
  );
  if (slow === undefined) return null;
  const inSync = assignment.inSync.filter((other) => !isSameReplica(other, slow));
  return { kind: 'shrink', assignment: { ...assignment, inSync, eligible: [] }, requires: [self] };
}

export function decideSettle(view: MembershipView): Proposal | null {
  const gone = view.leftovers.some((member) => {
    const peer = view.peers.get(member.node);
    return peer === undefined || peer.hasOtherStoreThan(member) || peer.isOverdue(view.nowMs, view.lastSequence);
  });
  return gone ? { kind: 'settle', assignment: view.assignment, requires: [] } : null;
}

/**
 * Ends the time in which a replica without data is a new one, before anything is written. By then every replica in sync
 * has data: it has stored the barrier.
 */
export function decideUse({ assignment, serving }: MembershipView): Proposal | null {
  return serving && assignment.unused === true
    ? { kind: 'use', assignment: { ...assignment, unused: false }, requires: [] }
    : null;
}

export function decideExpand(view: MembershipView): Proposal | null {
  const { assignment } = view;
  const minInSync = minInSyncOf(assignment);
  // Before the barrier is committed, a new member's lease grant could be one to an earlier primary. So only a set that
  // can't commit the barrier at all may grow.
  if (!view.serving && assignment.inSync.length >= minInSync) return null;
  for (const node of assignment.replicas) {
    const peer = view.peers.get(node);
    if (peer === undefined || assignment.inSync.some((member) => member.node === node)) continue;
    if (assignment.removing.includes(node) && assignment.inSync.length >= minInSync) continue;
    if (peer.isLeftOut(view.nowMs) && assignment.inSync.length >= keptThoughSlow(assignment)) continue;
    if (!isCaughtUp(peer, view)) continue;
    // If it is promoted, it waits only for what it promised itself. So that must reach as far as what was given to
    // others.
    if (peer.leaseUntil < view.sharesUntil) continue;
    const member = { node, store: peer.store! };
    const inSync = [...assignment.inSync, member];
    const eligible = inSync.length >= minInSync ? [] : assignment.eligible.filter((other) => other.node !== node);
    return { kind: 'expand', assignment: { ...assignment, inSync, eligible }, requires: [member] };
  }
  return null;
}

/** Whether a learner has everything on which any client or member may rely. */
export function isCaughtUp(peer: Peer, view: MembershipView): boolean {
  return peer.isFresh(view.nowMs) && peer.match >= view.committed && peer.match >= view.barrier;
}

/** The assignment once the move under way has ended; null when there is none, or it can't end yet. */
function moveEnded({ assignment, serving }: MembershipView): ShardAssignment | null {
  return serving && assignment.removing.length > 0 ? withMoveEnded(assignment) : null;
}

/**
 * Ends a move: removes the leaving replicas under a new epoch. A primary that leaves hands over first (see
 * decideHandover).
 */
export function decideMove(view: MembershipView): Proposal | null {
  const assignment = moveEnded(view);
  const { removing } = view.assignment;
  if (assignment === null || removing.includes(view.self.node)) return null;
  // Nothing could be committed without one that answers reads, and nothing is sent to it once it has left.
  if (view.shareHolders.some(({ node }) => removing.includes(node))) return null;
  return { kind: 'move', assignment, requires: [] };
}

/**
 * Whether the primary should give up its role: because it was asked to, because it leaves the shard and its successors
 * are ready, or because its disk is slow and another's is not.
 */
export function wantsHandover(view: MembershipView): boolean {
  return isToHandOver(view) || yieldsToQuicker(view);
}

function isToHandOver(view: MembershipView): boolean {
  return (
    view.handoverTo !== undefined || (moveEnded(view) !== null && view.assignment.removing.includes(view.self.node))
  );
}

/** Writes stop for a handover. So it is begun only while the cluster store is known to be there. */
function yieldsToQuicker(view: MembershipView): boolean {
  return (
    view.ownSlowMs > 0 &&
    view.heardMs < TIMINGS.slowHandoverMs + view.ownSlowMs * SYNCS_OF_HANDOVER &&
    quickerOf(view).length > 0
  );
}

/**
 * Who may take the lead of a primary with a slow disk: whose disk is much quicker. As a follower the slow one is left
 * out of the in-sync set, if two others are in sync; if not, each write would wait for it as before, and nothing were
 * gained.
 */
function quickerOf({ assignment, self, peers, ownSlowMs, serving, nowMs }: MembershipView): ReplicaId[] {
  if (!serving || assignment.inSync.length <= keptThoughSlow(assignment)) return [];
  return assignment.inSync.filter((member) => {
    const peer = peers.get(member.node);
    if (isSameReplica(member, self) || assignment.removing.includes(member.node) || peer === undefined) return false;
    return peer.is(member) && peer.isFresh(nowMs) && !peer.isLeftOut(nowMs) && peer.meanPace.isMuchLessThan(ownSlowMs);
  });
}

/**
 * Asks whether the cluster store is there, by a change that changes nothing, before a primary with a slow disk hands
 * over.
 */
function decideAsking(view: MembershipView): Proposal | null {
  if (
    view.ownSlowMs === 0 ||
    isToHandOver(view) ||
    view.heardMs < TIMINGS.slowAskMs ||
    view.askedMs < TIMINGS.slowAskMs
  )
    return null;
  return quickerOf(view).length > 0 ? { kind: 'settle', assignment: view.assignment, requires: [] } : null;
}

/** Hands the primary's role to an in-sync member that has the whole log. Writes must have stopped. */
export function decideHandover(view: MembershipView): Proposal | null {
  const { assignment } = view;
  if (!view.serving || !wantsHandover(view) || view.committed < view.lastSequence) return null;
  const able = isToHandOver(view) ? assignment.inSync : quickerOf(view);
  const candidates = able.filter((member) => {
    const peer = view.peers.get(member.node);
    return (
      (typeof view.handoverTo === 'string'
        ? member.node === view.handoverTo
        : !assignment.removing.includes(member.node)) &&
      peer?.is(member) === true &&
      peer.isFresh(view.nowMs) &&
      peer.match >= view.lastSequence
    );
  });
  if (candidates.length === 0) return null;
  const primary = candidates[0];
  return { kind: 'handover', assignment: { ...assignment, epoch: assignment.epoch + 1, primary }, requires: [primary] };
}
