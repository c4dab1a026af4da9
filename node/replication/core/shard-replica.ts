import assert from 'node:assert';
import {
  isSameReplica,
  type ReplicaId,
  type ShardAssignment,
} from '../../../shared/cluster-store/entries/shard-assignment';
import type { ReplicaState } from './replica-state';
import { CommitProgress } from './commit-progress';
import type { ReplicaEffect, ReplicaRole, WriteAnswer } from './effects';
import type { ReplicaEvent } from './events';
import { Follower } from './follower';
import { GivenShares } from './shares/given-shares';
import { Membership } from './membership';
import type { AppendAck, AppendMessage, LogPosition } from './messages';
import type { PeerState } from './peer';
import { Primary, type PrimaryPhase, type Clearance, type RestTimes } from './primary';
import { ReadGrant } from './shares/read-grant';
import { StableLog } from './stable-log';
import { LIMITS, TIMINGS } from './timings';
import { PendingWrites } from './pending-writes';
import { WriteLedger, type UnappliedWrite } from './write-ledger';

const NOTHING: readonly ReplicaEffect[] = Object.freeze([]);

export interface ShardReplicaOptions {
  self: ReplicaId;
  /** Random, made at the start of the process, so that no other process has the same. */
  changeIdPrefix: string;
  /**
   * What the storage found. A replica made for an assignment must have stored that assignment's epoch as
   * `promisedEpoch` before it gets any message from a primary: the same store may have held the shard, and promised,
   * before it was taken away.
   */
  state: Readonly<ReplicaState>;
  /** Sources of the log's entries after `state.appliedSequence`. */
  unapplied: UnappliedWrite[];
  /** The replica was made just now: it has acknowledged nothing to anyone, even if it starts with a promise. */
  isNew?: boolean;
  /**
   * When it is unread, and when dormant, if not after the usual times: a test can't wait for that, or it needs its
   * lease.
   */
  restsAfter?: Partial<RestTimes> | undefined;
  /** The time of the process's monotonic clock; every later `nowMs` is from the same clock. */
  nowMs: number;
}

/** A replica, for operators. */
export interface ReplicaStatus {
  role: ReplicaRole;
  /** Epoch in which it leads, or that it promised to follow. */
  epoch: number;
  phase: PrimaryPhase | null;
  lastSequence: number;
  storedSequence: number;
  committed: number;
  applied: number;
  /** Empty unless it is the primary. */
  peers: PeerStatus[];
}

export interface PeerStatus {
  node: string;
  store: string | null;
  state: PeerState;
  inSync: boolean;
  match: number;
  /** Entries of the primary's log that it has not stored. */
  lag: number;
  /** Milliseconds since its last answer, monotonic. */
  silentMs: number;
}

/**
 * One replica of one shard: the replication protocol (primary–backup with an in-sync set; Lin et al., PacificA,
 * MSR-TR-2008-25) as a state machine without I/O, clock, timers or randomness. `step` takes one event and answers what
 * must be done, in order.
 *
 * Why it is safe.
 *
 * Writes: a deposed primary needs an acknowledgement from every member of the maximal set. Whoever is promoted is one
 * of them (or, while too few are in sync, nothing commits), and promised the later epoch first. The deposed primary
 * can't remove it from the set, because its compare-and-swap fails. No clock is involved.
 *
 * Reads: the primary needs unexpired leases from the whole maximal set, and the promoted member waits until its own
 * grant is over. That only requires the monotonic clocks of two machines to advance at nearly the same rate.
 *
 * Storage: nothing is announced before it is on stable storage; another store id is another replica.
 */
export class ShardReplica {
  readonly self: ReplicaId;
  private effects: ReplicaEffect[] = [];
  private primary: Primary | null = null;
  private readonly log: StableLog;
  private readonly progress: CommitProgress;
  private readonly ledger: WriteLedger;
  private readonly pendingWrites: PendingWrites;
  private readonly membership: Membership;
  private readonly grant: ReadGrant;
  private readonly shares = new GivenShares();
  private readonly follower: Follower;
  private readonly restsAfter: RestTimes;

  constructor(options: ShardReplicaOptions) {
    const emit = (effect: ReplicaEffect): void => {
      this.effects.push(effect);
    };
    this.self = options.self;
    this.restsAfter = {
      unreadAfterMs: TIMINGS.unreadAfterMs,
      dormantAfterMs: TIMINGS.dormantAfterMs,
      ...options.restsAfter,
    };
    this.log = new StableLog({ state: options.state, emit });
    this.progress = new CommitProgress({ applied: options.state.appliedSequence, emit });
    this.ledger = new WriteLedger({ settled: options.state.settled, unapplied: options.unapplied });
    this.pendingWrites = new PendingWrites({ emit });
    this.membership = new Membership({ changeIdPrefix: options.changeIdPrefix, emit });
    this.grant = new ReadGrant(options.nowMs, options.isNew !== true && options.state.promisedEpoch > 0);
    this.follower = new Follower({
      self: this.self,
      log: this.log,
      progress: this.progress,
      ledger: this.ledger,
      grant: this.grant,
      emit,
    });
  }

  get role(): ReplicaRole {
    return this.primary === null ? 'follower' : 'primary';
  }

  /** Epoch in which it leads, or that it promised to follow. */
  get epoch(): number {
    return this.primary?.epoch ?? this.log.promisedEpoch;
  }

  /** Everything up to here is known to be committed. */
  get committed(): number {
    return this.progress.committed;
  }

  /** Everything up to here is in the records. */
  get applied(): number {
    return this.progress.applied;
  }

  /** The latest time of any entry of its log; 0: none has one. */
  get latestTimeMs(): number {
    return this.log.latestTimeMs;
  }

  /** The assignment as last known; null before the first. */
  get assignment(): ShardAssignment | null {
    return this.membership.confirmed;
  }

  /** `nowMs` must not fall from call to call. */
  step(event: ReplicaEvent, nowMs: number): readonly ReplicaEffect[] {
    if (!this.takeAgain(event, nowMs)) {
      this.primary?.stir();
      this.follower.forget();
      this.take(event, nowMs);
      this.considerLeading(nowMs);
    }
    this.primary?.advance(nowMs);
    const { effects } = this;
    if (effects.length === 0) return NOTHING;
    this.effects = [];
    return effects;
  }

  /** When the next `tick` is due; Infinity when none is. Changes with every step. */
  nextTickAt(): number {
    return this.primary?.nextTickAt() ?? this.membership.nextTickAt();
  }

  /**
   * Whether a linearizable read may begin. If so, take `readPosition` in the same turn, wait until so much is applied,
   * read, and give the answer only if `leaseValid` of the same epoch is true afterwards. `wait`: not yet, ask again
   * after the next step. `unavailable`: too few replicas are in sync.
   */
  mayServe(nowMs: number): Clearance {
    if (this.primary !== null) return this.primary.mayServe(nowMs);
    return this.follower.mayAnswer(nowMs) ? 'yes' : 'misrouted';
  }

  /**
   * What must be applied before a read that begins now. At the primary that is nothing more than there is: every write
   * that was answered is applied, and what is committed but not applied yet was shown to nobody. A follower may not
   * know yet what of its log was answered. But all of it that may have been is stored, because whoever may answer reads
   * is needed for each commit. That is so also for what another process with this store acknowledged.
   */
  get readPosition(): number {
    return this.primary === null ? this.log.storedSequence : 0;
  }

  /** Whether what was read since `mayServe` said yes in `epoch` was current. Compares with the clock at the call. */
  leaseValid(epoch: number, nowMs: number): boolean {
    if (this.primary !== null) return this.primary.epoch === epoch && this.primary.hasLease(nowMs);
    return epoch === this.epoch && this.follower.mayAnswer(nowMs);
  }

  /**
   * Until when what is applied here may be read without asking again, by whoever sees its end at once: the time up to
   * which `mayServe` says yes and nothing is to be waited for, if no step comes before. -Infinity: not now. A step may
   * end it, so it has to be looked at again after each, before its effects are carried out.
   */
  get readableUntil(): number {
    if (this.primary !== null) return this.primary.readableUntil();
    return this.applied >= this.readPosition ? this.follower.answersUntil() : -Infinity;
  }

  /** Whether a `write` event would be accepted now, apart from limits. */
  mayWrite(nowMs: number): Clearance {
    return this.primary?.mayWrite(nowMs) ?? 'misrouted';
  }

  /**
   * Whether a snapshot that the primary of `epoch` made up to the entry `last` may replace this replica's data. Ask
   * directly before the data is replaced, with no step in between and an `installed` event directly after.
   */
  mayInstall(epoch: number, last: LogPosition): boolean {
    return this.primary === null && this.follower.mayInstall(epoch, last);
  }

  /** Entries below this one are applied here and stored by every replica that answers, so they may be trimmed. */
  trimmableBelow(): number {
    let below = this.progress.applied + 1;
    for (const peer of this.primary?.peers.byNode.values() ?? [])
      if (peer.state !== 'snapshot') below = Math.min(below, peer.match + 1);
    return below;
  }

  /** Whether a replica that is not in sync is on its way there, and will need the log from where its copy ends. */
  hasLearner(nowMs: number): boolean {
    const inSync = this.membership.confirmed?.inSync ?? [];
    return [...(this.primary?.peers.byNode.values() ?? [])].some(
      (peer) => !inSync.some((member) => peer.is(member)) && peer.isCatchingUp(nowMs),
    );
  }

  status(nowMs: number): ReplicaStatus {
    const inSync = this.membership.confirmed?.inSync ?? [];
    const peers = [...(this.primary?.peers.byNode.values() ?? [])].map((peer) => ({
      node: peer.node,
      store: peer.store,
      state: peer.state,
      inSync: inSync.some((member) => peer.is(member)),
      match: peer.match,
      lag: this.log.lastSequence - peer.match,
      silentMs: nowMs - peer.lastAckAt,
    }));
    return {
      role: this.role,
      epoch: this.epoch,
      phase: this.primary?.phase ?? null,
      lastSequence: this.log.lastSequence,
      storedSequence: this.log.storedSequence,
      committed: this.progress.committed,
      applied: this.progress.applied,
      peers,
    };
  }

  /**
   * Takes what a quiet replica is told again and again: that time has passed, the same heartbeat, the same answer.
   * Exactly what `take` and `considerLeading` would do, in a fraction of the time. False, with nothing done: it may be
   * anything else.
   */
  private takeAgain(event: ReplicaEvent, nowMs: number): boolean {
    switch (event.type) {
      case 'tick':
        return this.primary !== null && this.primary.isAtRest;
      case 'append':
        return this.primary === null && !this.isNamed() && this.follower.takeAgain(event.message, nowMs);
      case 'appendAck':
        return this.primary !== null && this.primary.answeredAgain(event.ack, nowMs);
      case 'applied':
      case 'assignment':
      case 'cancelHandover':
      case 'changeAnswer':
      case 'handover':
      case 'installed':
      case 'read':
      case 'readWaits':
      case 'renew':
      case 'snapshotEnded':
      case 'stored':
      case 'streamStarted':
      case 'trimmed':
      case 'write':
        return false;
    }
  }

  private take(event: ReplicaEvent, nowMs: number): void {
    switch (event.type) {
      case 'tick':
        if (this.primary === null) this.membership.tick(nowMs);
        return;
      case 'assignment':
        return this.learn(event.assignment, event.revision, nowMs);
      case 'changeAnswer':
        return this.learnAnswer(event, nowMs);
      case 'stored':
        this.log.stored(event.token);
        return this.follower.stored();
      case 'applied':
        return this.noteApplied(event);
      case 'write':
        return this.write(event, nowMs);
      case 'read':
        return this.primary?.read(nowMs);
      case 'renew':
        return this.primary?.renew();
      case 'readWaits':
        return this.primary === null ? this.follower.await() : undefined;
      case 'append':
        return this.append(event.message, nowMs);
      case 'appendAck':
        return this.appendAck(event.ack, nowMs);
      case 'streamStarted':
        return this.primary?.peers.streamStarted(event.node, nowMs);
      case 'snapshotEnded':
        return this.primary?.peers.snapshotEnded(event.node, nowMs);
      case 'installed':
        return this.installed(event.state);
      case 'trimmed':
        return this.log.index.trim(event.firstSequence, event.precedingEpoch);
      case 'handover':
        if (this.primary !== null) this.primary.handoverTo = event.to;
        return;
      case 'cancelHandover':
        if (this.primary !== null) this.primary.handoverTo = undefined;
    }
  }

  private learn(assignment: ShardAssignment, revision: number, nowMs: number): void {
    if (!this.membership.adopt(assignment, revision)) return;
    if (this.primary === null || assignment.epoch <= this.primary.epoch) return;
    // A new epoch of its own: the writes under way are committed under the barrier.
    if (this.isMine(assignment)) this.lead(assignment.epoch, nowMs);
    else this.stepDown();
  }

  private learnAnswer(event: Extract<ReplicaEvent, { type: 'changeAnswer' }>, nowMs: number): void {
    this.membership.answered(event.changeId, event.revision, nowMs);
    if (event.current !== null) this.learn(event.current, event.revision, nowMs);
    else if (this.primary !== null) this.stepDown();
  }

  /** Whether the assignment names it as the primary, so that it may have to lead. */
  private isNamed(): boolean {
    return this.membership.confirmed !== null && this.isMine(this.membership.confirmed);
  }

  private isMine(assignment: ShardAssignment): boolean {
    return assignment.primary !== null && isSameReplica(assignment.primary, this.self);
  }

  /**
   * Leads if the assignment says so. It never resumes an epoch in which it led before (in another process, or until it
   * was fenced by mistake), because it does not know what it did in it. It requests a new epoch.
   */
  private considerLeading(nowMs: number): void {
    const assignment = this.membership.confirmed;
    if (this.primary !== null || assignment === null || this.membership.pending !== null) return;
    if (!this.isMine(assignment) || assignment.epoch < this.log.promisedEpoch) return;
    if (assignment.epoch > this.log.lastLedEpoch) this.lead(assignment.epoch, nowMs);
    else if (!this.membership.wasJustRefused('resume', nowMs)) this.resume(assignment, nowMs);
  }

  private resume(assignment: ShardAssignment, nowMs: number): void {
    this.membership.propose(
      { kind: 'resume', assignment: { ...assignment, epoch: assignment.epoch + 1 }, requires: [] },
      nowMs,
    );
  }

  private lead(epoch: number, nowMs: number): void {
    this.follower.reset();
    const inherited = this.primary?.peers.recorded() ?? [...this.follower.recorded.values()];
    this.primary = new Primary({
      self: this.self,
      epoch,
      log: this.log,
      progress: this.progress,
      membership: this.membership,
      grant: this.grant,
      shares: this.shares,
      inherited,
      restsAfter: this.restsAfter,
      nowMs,
      emit: (effect) => this.effects.push(effect),
    });
    this.effects.push({ type: 'role', role: 'primary', epoch });
  }

  private stepDown(): void {
    if (this.primary === null) return;
    this.primary = null;
    this.pendingWrites.abandon();
    this.effects.push({ type: 'role', role: 'follower', epoch: this.log.promisedEpoch });
  }

  private append(message: AppendMessage, nowMs: number): void {
    // The predecessor that hands over may announce it only after the assignment has arrived.
    if (this.primary !== null && message.releasesLease && message.epoch === this.primary.epoch - 1)
      this.grant.release(nowMs);
    if (this.primary !== null && !this.follower.isFenced(message.epoch)) {
      assert.notEqual(message.epoch, this.primary.epoch, 'two primaries in one epoch');
      this.stepDown();
    }
    this.follower.append(message, nowMs);
  }

  private appendAck(ack: AppendAck, nowMs: number): void {
    if (this.primary === null || ack.epoch !== this.primary.epoch) return;
    if (ack.result.type === 'fenced') {
      if (ack.result.promisedEpoch > this.primary.epoch) this.stepDown();
      return;
    }
    this.primary.answered(ack, nowMs);
  }

  private noteApplied(event: Extract<ReplicaEvent, { type: 'applied' }>): void {
    if (!this.progress.finished(event.upTo)) return;
    for (const entry of event.results) this.pendingWrites.applied(entry.sequence, this.ledger.applied(entry));
    this.progress.applyNext(this.log.storedSequence);
  }

  private installed(state: Readonly<ReplicaState>): void {
    assert(this.primary === null, 'a primary takes no snapshot');
    this.log.reset(state);
    this.progress.reset(state.appliedSequence);
    this.ledger.reset({ settled: state.settled, unapplied: [] });
    this.follower.reset();
  }

  private write(event: Extract<ReplicaEvent, { type: 'write' }>, nowMs: number): void {
    const { writeId, source } = event;
    const answer = (given: WriteAnswer): void => {
      this.effects.push({ type: 'answer', writeId, answer: given });
    };
    if (this.primary === null)
      return answer({ ok: false, kind: 'misrouted', reason: 'this node does not lead the shard' });
    const known = this.ledger.find(source);
    if (known !== undefined) {
      if (known.result !== null) return answer({ ok: true, result: known.result });
      return this.pendingWrites.wait(writeId, known.sequence);
    }
    if (this.ledger.isGivenUp(source))
      return answer({ ok: false, kind: 'unavailable', reason: 'the write was given up by its session' });
    const verdict = this.primary.mayWrite(nowMs);
    if (verdict === 'unavailable')
      return answer({ ok: false, kind: 'unavailable', reason: 'too few replicas of the shard are in sync' });
    if (verdict !== 'yes')
      return answer({ ok: false, kind: 'unavailable', reason: 'the shard is changing its primary' });
    const entries = this.log.lastSequence - this.progress.committed;
    if (
      entries >= LIMITS.uncommittedEntriesMax ||
      this.pendingWrites.bytes + event.payload.length > LIMITS.uncommittedBytesMax
    ) {
      return answer({ ok: false, kind: 'overloaded', reason: 'too many writes of the shard wait for its replicas' });
    }
    const { payload, at } = event;
    const sequence = this.primary.append(
      at === undefined ? { source, payload } : { source, payload, at: Math.max(at, this.log.latestTimeMs) },
      nowMs,
    );
    this.ledger.appended(sequence, source);
    this.pendingWrites.added(writeId, sequence, event.payload.length);
  }
}
