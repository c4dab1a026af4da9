import assert from 'node:assert';
import {
  isSameReplica,
  minInSyncOf,
  type ReplicaId,
  type ShardAssignment,
} from '../../../shared/cluster-store/entries/shard-assignment';
import type { LogEntry } from './replica-state';
import type { CommitProgress } from './commit-progress';
import type { GivenShares } from './shares/given-shares';
import type { ReplicaEffect } from './effects';
import {
  decideAbdication,
  decideExpand,
  decideMembership,
  wantsHandover,
  type MembershipView,
} from './membership-decision';
import type { Membership } from './membership';
import type { AppendAck, RecordedMatch } from './messages';
import type { Peer } from './peer';
import type { HeartbeatPace } from './pace';
import { Peers, type Rest } from './peers';
import type { ReadGrant } from './shares/read-grant';
import type { StableLog } from './stable-log';
import { StorePace, Syncs } from './store-pace';
import { SHARE_GIVEN_MS, TIMINGS } from './timings';

/**
 * The phases of a primary:
 *
 *   promising ──promise stored──▶ waiting ──own lease grant over──▶ active ──barrier applied──▶ serving
 *
 * promising: sends nothing. waiting: sends its log to the others and counts their answers, commits nothing.
 * active: accepts writes, commits, changes the in-sync set. serving: reads, too. Before its barrier is committed, it
 * may not know everything that its predecessors committed.
 */
export type PrimaryPhase = 'promising' | 'waiting' | 'active' | 'serving';

/** Whether something may be done now; `wait`: ask again after the next step. */
export type Clearance = 'yes' | 'wait' | 'misrouted' | 'unavailable';

/** After how long without a read a quiet shard is unread, and without a write too dormant, in milliseconds. */
export interface RestTimes {
  unreadAfterMs: number;
  dormantAfterMs: number;
}

/** The leading half of a replica, for one epoch. */
export class Primary {
  readonly epoch: number;
  readonly peers: Peers;
  phase: PrimaryPhase = 'promising';
  /** Sequence of the epoch's first entry; Infinity before there is one. */
  barrier = Infinity;
  /** See MembershipView.handoverTo. */
  handoverTo: string | null | undefined = undefined;
  private readonly promiseToken: number;
  /** When the log last stored something, or had nothing to store, and what it was about to store then. */
  private own: { atMs: number; underway: number | null };
  /** Where the log ended when it was looked at last, and since when. */
  private grown: { sequence: number; atMs: number };
  /** When it was asked last, and since when without a pause in which it could hear of nothing itself. */
  private steppedAt: number;
  private awakeSince: number;
  /** How often its own disk takes long beside theirs. */
  private readonly slowness = new StorePace();
  private readonly syncs = new Syncs();
  /** The last revision of the assignment, and since when it is known: the cluster store was there then. */
  private heard = { revision: 0, atMs: -Infinity };
  /** When it was told of a read last. */
  private readAt: number;
  private readonly restsAfter: RestTimes;
  private askedAt = -Infinity;
  /**
   * Not null: nothing happened since a quiet shard's last heartbeat, and nothing can happen but by time or by what is
   * not said again and again (`stir`). Then a step moves times, and finds all else as it was.
   */
  private rest: Rest[] | null = null;
  /** What the peers were last made of. */
  private reconciled: { assignment: ShardAssignment; pending: Membership['pending']; leftovers: number } | null = null;
  private readonly self: ReplicaId;
  private readonly log: StableLog;
  private readonly progress: CommitProgress;
  private readonly membership: Membership;
  private readonly grant: ReadGrant;
  private readonly shares: GivenShares;

  constructor(options: {
    self: ReplicaId;
    epoch: number;
    log: StableLog;
    progress: CommitProgress;
    membership: Membership;
    grant: ReadGrant;
    shares: GivenShares;
    inherited: RecordedMatch[];
    restsAfter: RestTimes;
    nowMs: number;
    emit: (effect: ReplicaEffect) => void;
  }) {
    assert(options.epoch >= options.log.promisedEpoch, 'leads under an epoch that it promised away');
    assert(options.epoch > options.log.lastLedEpoch, 'leads an epoch a second time');
    this.self = options.self;
    this.epoch = options.epoch;
    this.log = options.log;
    this.progress = options.progress;
    this.membership = options.membership;
    this.grant = options.grant;
    this.shares = options.shares;
    this.peers = new Peers({
      ...options,
      mustBeComplete: (replica) => this.membership.mustBeComplete(replica),
      shareWith: (peer, atMs) => this.shareWith(peer, atMs),
    });
    // The epoch is not announced to anybody before it is promised. Otherwise, once another primary has committed under
    // a later epoch, this replica could take part in two epochs at once.
    this.promiseToken = this.log.append({ promisedEpoch: this.epoch, lastLedEpoch: this.epoch });
    this.own = { atMs: options.nowMs, underway: this.log.oldestUnderway };
    this.grown = { sequence: this.log.lastSequence, atMs: options.nowMs };
    this.steppedAt = options.nowMs;
    this.readAt = options.nowMs;
    this.restsAfter = options.restsAfter;
    this.awakeSince = options.nowMs;
  }

  /** Whether what it is told again needs no full step. */
  get isAtRest(): boolean {
    return this.rest !== null;
  }

  /** Something happens that may change anything. */
  stir(): void {
    this.rest = null;
  }

  /** Does what is due. */
  advance(nowMs: number): void {
    if (this.rest !== null && this.advanceAtRest(this.rest, nowMs)) return;
    this.rest = null;
    this.advanceFully(nowMs);
  }

  /** As `answered`, for an answer that says nothing new; false, with nothing done, if it may. */
  answeredAgain(ack: AppendAck, nowMs: number): boolean {
    if (this.rest === null || ack.epoch !== this.epoch) return false;
    return this.peers.byNode.get(ack.replica.node)?.answeredAgain(ack, nowMs) === true;
  }

  /**
   * As `advanceFully` while nothing happens: what that looks at is as it was, but for the time. What may follow from
   * time alone is asked here: that a peer does not answer, or that the process stood still. False, with nothing done,
   * if so.
   */
  private advanceAtRest(rest: Rest[], nowMs: number): boolean {
    if (this.stoodStill(nowMs) || !this.peers.areAnswering(rest, nowMs)) return false;
    this.steppedAt = nowMs;
    this.own.atMs = nowMs;
    this.shares.expire(nowMs);
    this.peers.heartbeatAgain(rest, nowMs, this.restingPace(nowMs));
    return true;
  }

  /**
   * The peers, if every one is in sync and has everything, each member is one of them, and nothing is asked of the
   * cluster store or is to be. Only in a step in which the shard is quiet.
   */
  private restOf(nowMs: number): Rest[] | null {
    if (
      this.log.oldestUnderway !== null ||
      !this.membership.isSettled() ||
      !this.slowness.isCalm ||
      this.membership.isUnused()
    )
      return null;
    const { replicas, inSync } = this.membership.confirmed!;
    const rest = this.peers.rest(nowMs);
    const isPeer = (member: ReplicaId): boolean => rest!.some(({ replica }) => isSameReplica(replica, member));
    if (
      rest === null ||
      rest.length !== inSync.length - 1 ||
      !inSync.every((member) => isSameReplica(member, this.self) || isPeer(member))
    )
      return null;
    return replicas.every((node) => inSync.some((member) => member.node === node)) ? rest : null;
  }

  private advanceFully(nowMs: number): void {
    if (this.stoodStill(nowMs)) this.awakeSince = nowMs;
    this.steppedAt = nowMs;
    const underway = this.log.oldestUnderway;
    if (underway === null || underway !== this.own.underway) {
      if (this.own.underway !== null) this.noteOwnPace(nowMs - this.own.atMs, nowMs);
      this.own = { atMs: nowMs, underway };
    }
    if (this.heard.revision !== this.membership.revision)
      this.heard = { revision: this.membership.revision, atMs: nowMs };
    if (this.phase === 'promising' && this.log.isStored(this.promiseToken)) this.phase = 'waiting';
    if (this.phase === 'promising') return this.changeMembership(nowMs);
    this.reconcilePeers(nowMs);
    if (this.phase === 'waiting' && this.isGrantOver(nowMs)) this.writeBarrier(nowMs);
    this.commit(nowMs);
    if (this.phase === 'active' && this.isBarrierApplied()) this.phase = 'serving';
    const isQuiet = this.isQuiet(nowMs);
    if (!isQuiet) this.peers.quicken();
    this.peers.judgePaces((peer) => this.membership.confirmed!.inSync.some((member) => peer.is(member)), nowMs);
    this.changeMembership(nowMs);
    this.peers.pump(nowMs);
    this.peers.heartbeat(nowMs, isQuiet ? this.restingPace(nowMs) : 'quick');
    if (isQuiet) this.rest = this.restOf(nowMs);
  }

  /** Whether no step came when one was due, for so long that others may have been heard of meanwhile. */
  private stoodStill(nowMs: number): boolean {
    return nowMs - Math.max(this.steppedAt, this.peers.sleepsUntil) > TIMINGS.replicaTimeoutMs;
  }

  /** Appends a write as the log's next entry; answers its sequence. Call only when mayWrite says yes. */
  append(write: LogEntry['write'], nowMs: number): number {
    assert(this.phase === 'active' || this.phase === 'serving');
    this.peers.grows(nowMs);
    const sequence = this.log.lastSequence + 1;
    this.log.append({ entries: [{ epoch: this.epoch, sequence, write }] });
    return sequence;
  }

  answered(ack: AppendAck, nowMs: number): void {
    if (this.phase === 'promising') return;
    this.peers.answered(ack, nowMs);
    const { withdrawsSharesSince } = this.peers;
    if (withdrawsSharesSince !== null && ack.sentAt > withdrawsSharesSince) this.shares.returned(ack.replica);
  }

  /** A client reads the shard. */
  read(nowMs: number): void {
    this.readAt = nowMs;
    this.peers.read(nowMs);
  }

  /** Something waits for the lease. */
  renew(): void {
    this.peers.quicken();
  }

  mayWrite(nowMs: number): Clearance {
    if (this.phase === 'promising' || this.phase === 'waiting') return 'wait';
    if (this.handsOver(nowMs)) return 'wait';
    if (!this.membership.hasEnough()) return 'unavailable';
    // What a replica has acknowledged that may still begin empty could be lost.
    return this.membership.isUnused() ? 'wait' : 'yes';
  }

  /** Yes exactly when `hasLease`: a reader that is let in although its answer does not count asks again without end. */
  mayServe(nowMs: number): Clearance {
    if (this.hasLease(nowMs)) return 'yes';
    return this.phase === 'serving' && !this.peers.releasesLease && this.isAlone() ? 'unavailable' : 'wait';
  }

  /**
   * Whether no other replica can have become an active primary by now. Each one that could is a member of the maximal
   * set. It granted a lease to this primary after the `sentAt` that it answered, and waits until its own grant is over.
   */
  hasLease(nowMs: number): boolean {
    return this.readableUntil() > nowMs;
  }

  /** Until when it has the lease, unless a later step ends it before. */
  readableUntil(): number {
    if (this.phase !== 'serving' || this.peers.releasesLease) return -Infinity;
    if (!this.hasPeersAtRest() && this.isAlone()) return this.mayServeAlone() ? Infinity : -Infinity;
    return this.leaseUntil();
  }

  /**
   * Gives the peer a share in the lease if it is in sync and the share ends before the lease does. Answers which of its
   * acknowledgements earned it, by AppendHeader.sharesSince; 0 if it gets none.
   */
  shareWith(peer: Peer, nowMs: number): number {
    // While nothing happens, each of them may.
    if (this.rest === null && !this.mayShareWith(peer, nowMs)) return 0;
    const until = peer.heard.atMs + SHARE_GIVEN_MS;
    if (!peer.isStoring(nowMs, this.log.lastSequence) || until <= nowMs || !this.outlasts(until)) return 0;
    this.shares.give({ node: peer.node, store: peer.store! }, until);
    return peer.heard.sentAt;
  }

  private mayShareWith(peer: Peer, nowMs: number): boolean {
    if (this.phase !== 'serving' || this.peers.releasesLease || this.peers.withdrawsSharesSince !== null) return false;
    const assignment = this.membership.confirmed!;
    const isMember = ({ inSync }: { inSync: ReplicaId[] }): boolean => inSync.some((member) => peer.is(member));
    if (!isMember(assignment) || !this.membership.hasEnough() || this.keepsLearnerOut(nowMs)) return false;
    // One that is about to leave gets none, so that nobody has to wait for it then.
    return isMember(this.membership.pending?.assignment ?? assignment) && !assignment.removing.includes(peer.node);
  }

  private hasPeersAtRest(): boolean {
    return this.rest !== null && this.rest.length > 0;
  }

  /** Whether nothing is to be done, has been for a while, and can be expected. */
  private isQuiet(nowMs: number): boolean {
    if (this.grown.sequence !== this.log.lastSequence) this.grown = { sequence: this.log.lastSequence, atMs: nowMs };
    if (this.phase !== 'serving' || nowMs - this.grown.atMs < TIMINGS.quietAfterMs) return false;
    if (
      this.handoverTo !== undefined ||
      this.peers.releasesLease ||
      this.peers.withdrawsSharesSince !== null ||
      this.membership.pending !== null
    )
      return false;
    const { replicas, inSync, removing } = this.membership.confirmed!;
    const isAsWanted = removing.length === 0 && replicas.length === inSync.length && this.membership.hasEnough();
    return isAsWanted && this.peers.areUpToDate(nowMs);
  }

  private restingPace(nowMs: number): Exclude<HeartbeatPace, 'quick'> {
    const unreadMs = nowMs - this.readAt;
    if (unreadMs < this.restsAfter.unreadAfterMs) return 'quiet';
    return Math.min(unreadMs, nowMs - this.grown.atMs) < this.restsAfter.dormantAfterMs ? 'unread' : 'dormant';
  }

  /** Whether a learner would be in sync but for the shares, whose end its promise has to reach. */
  private keepsLearnerOut(nowMs: number): boolean {
    const { replicas, inSync } = this.membership.confirmed!;
    // Most often there is no learner, and each heartbeat to each peer asks.
    if (this.shares.until <= nowMs || replicas.every((node) => inSync.some((member) => member.node === node)))
      return false;
    const view = this.view(nowMs);
    return decideExpand(view) === null && decideExpand({ ...view, sharesUntil: -Infinity }) !== null;
  }

  /** Whether no other replica can be an active primary before `until`. */
  outlasts(until: number): boolean {
    return this.leaseUntil() >= until;
  }

  handsOver(nowMs: number): boolean {
    return this.peers.releasesLease || wantsHandover(this.view(nowMs));
  }

  isGrantOver(nowMs: number): boolean {
    return nowMs > this.grant.until;
  }

  isBarrierApplied(): boolean {
    return this.progress.applied >= this.barrier;
  }

  /** How much of the log a member is known to have on stable storage. */
  matchOf(member: ReplicaId): number {
    if (member.node === this.self.node) return member.store === this.self.store ? this.log.storedSequence : 0;
    const peer = this.peers.byNode.get(member.node);
    return peer?.is(member) ? peer.match : 0;
  }

  nextTickAt(): number {
    if (this.phase === 'promising') return this.steppedAt + TIMINGS.heartbeatMs;
    const wait = this.phase === 'waiting' ? this.grant.until + 1 : Infinity;
    return Math.min(wait, this.peers.nextTickAt(), this.membership.nextTickAt());
  }

  /**
   * Until when everyone who may be promoted has promised not to lead: the maximal set and, while too few are in sync,
   * those who are eligible, who may be promoted when the few are taken for dead.
   */
  private leaseUntil(): number {
    if (this.rest !== null) return this.leaseAtRest(this.rest);
    const eligible = this.membership.hasEnough() ? [] : (this.membership.confirmed?.eligible ?? []);
    let until = Infinity;
    for (const member of [...this.membership.maximal(), ...eligible]) {
      if (isSameReplica(member, this.self)) continue;
      const peer = this.peers.byNode.get(member.node);
      until = Math.min(until, peer?.is(member) === true ? peer.leaseUntil : -Infinity);
    }
    return until;
  }

  /** Then the peers are all others of the maximal set, and enough are in sync. */
  private leaseAtRest(rest: readonly Rest[]): number {
    let until = Infinity;
    for (const { peer } of rest) if (peer.leaseUntil < until) until = peer.leaseUntil;
    return until;
  }

  private noteOwnPace(tookMs: number, nowMs: number): void {
    if (!this.syncs.isAnother(tookMs, nowMs)) return;
    this.peers.ownPace.note(tookMs);
    let quickestMs = Infinity;
    for (const { meanPace } of this.peers.byNode.values()) quickestMs = Math.min(quickestMs, meanPace.meanMs);
    this.slowness.note(tookMs, quickestMs, nowMs);
  }

  private isAlone(): boolean {
    const maximal = this.membership.maximal();
    return maximal.length === 1 && isSameReplica(maximal[0], this.self);
  }

  /**
   * Nobody else is in sync or eligible, so nobody else can be promoted. With a larger minimum, an eligible replica can
   * be.
   */
  private mayServeAlone(): boolean {
    return this.membership.confirmed !== null && minInSyncOf(this.membership.confirmed) === 1;
  }

  private reconcilePeers(nowMs: number): void {
    const assignment = this.membership.confirmed!;
    const { pending } = this.membership;
    const leftovers = this.membership.leftovers().length;
    const { reconciled } = this;
    // Each step asks, and most change nothing of it.
    if (
      reconciled !== null &&
      reconciled.assignment === assignment &&
      reconciled.pending === pending &&
      reconciled.leftovers === leftovers
    )
      return;
    this.reconciled = { assignment, pending, leftovers };
    this.peers.reconcile([...assignment.replicas, ...this.membership.maximal().map((member) => member.node)], nowMs);
  }

  /** Reads by earlier primaries are over now: none of them has this replica's lease. */
  private writeBarrier(nowMs: number): void {
    this.phase = 'active';
    this.barrier = this.append(null, nowMs);
  }

  /**
   * An entry is committed when every member of the maximal set has it, in this epoch, on stable storage. Whoever is
   * promoted next is one of them, and promised a later epoch before it led. With fewer replicas than the minimum
   * nothing is committed, so that eligible replicas stay complete. Who may still answer reads has to have it, too.
   */
  private commit(nowMs: number): void {
    if (this.phase !== 'active' && this.phase !== 'serving') return;
    if (!this.membership.hasEnough()) return;
    if (this.progress.committed >= this.log.lastSequence) return this.progress.applyNext(this.log.storedSequence);
    let sequence = this.log.storedSequence;
    for (const member of [...this.membership.maximal(), ...this.shares.holders(nowMs)])
      sequence = Math.min(sequence, this.matchOf(member));
    this.progress.advance(sequence, this.log.storedSequence);
  }

  private changeMembership(nowMs: number): void {
    this.membership.tick(nowMs);
    if (this.membership.pending !== null || this.phase === 'waiting') return;
    const proposal =
      this.phase === 'promising'
        ? decideAbdication(this.view(nowMs))
        : (decideMembership(this.view(nowMs)) ?? this.resumption(nowMs));
    if (proposal?.kind !== 'handover') this.peers.withdrawsSharesSince = null;
    if (proposal === null || this.membership.wasJustRefused(proposal.kind, nowMs)) return;
    if (proposal.kind === 'handover' && this.membership.hasEnough() && this.mustWithdrawShares(nowMs)) return;
    this.membership.propose(proposal, nowMs);
    if (proposal.kind === 'settle') this.askedAt = nowMs;
    if (proposal.kind !== 'handover') return;
    if (!this.membership.hasEnough()) {
      // It serves nothing, and its successor waits as after a death. If none of the others is a member any more, it is
      // asked for again only after as long a silence.
      this.awakeSince = nowMs;
      return;
    }
    // Reads end here, so the successor need not wait for leases that nobody uses.
    this.peers.releasesLease = true;
    this.peers.nextHeartbeatAt = nowMs;
  }

  /**
   * A successor that need not wait for leases does not wait for shares in them either. So nobody may have one any more.
   */
  mustWithdrawShares(nowMs: number): boolean {
    if (this.shares.holders(nowMs).length === 0) return false;
    if (this.peers.withdrawsSharesSince === null) {
      this.peers.withdrawsSharesSince = nowMs;
      // Truly later, so that its answers are told from those to what was sent before.
      this.peers.nextHeartbeatAt = nowMs + 1;
    }
    return true;
  }

  /** A primary that gave up its leases for a handover that did not happen continues only under a new epoch. */
  private resumption(
    nowMs: number,
  ): { kind: 'resume'; assignment: NonNullable<Membership['confirmed']>; requires: ReplicaId[] } | null {
    if (!this.peers.releasesLease || wantsHandover(this.view(nowMs))) return null;
    const assignment = this.membership.confirmed!;
    return { kind: 'resume', assignment: { ...assignment, epoch: assignment.epoch + 1 }, requires: [] };
  }

  private view(nowMs: number): MembershipView {
    return {
      self: this.self,
      assignment: this.membership.confirmed!,
      leftovers: this.membership.leftovers(),
      peers: this.peers.byNode,
      lastSequence: this.log.lastSequence,
      committed: this.progress.committed,
      barrier: this.barrier,
      serving: this.phase === 'serving',
      handoverTo: this.handoverTo,
      ownStallMs: this.own.underway === null ? 0 : nowMs - Math.max(this.own.atMs, this.awakeSince),
      awakeMs: nowMs - this.awakeSince,
      ownSlowMs: this.slowness.isSlow(nowMs) ? this.peers.ownPace.meanMs : 0,
      heardMs: nowMs - this.heard.atMs,
      askedMs: nowMs - this.askedAt,
      sharesUntil: this.shares.until,
      shareHolders: this.shares.holders(nowMs),
      nowMs,
    };
  }
}
