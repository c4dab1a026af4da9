import type { ReplicaId } from '../../../shared/cluster-store/entries/shard-assignment';
import type { AppendAck, LogPosition } from './messages';
import { MeanStorePace, StorePace, Syncs } from './store-pace';
import { LEASE_TAKEN_MS, LIMITS, TIMINGS } from './timings';

/**
 * How a primary gets its log to a peer:
 *
 *   probing ──agreed at next − 1──▶ streaming ──mismatch, new stream, other store──▶ probing
 *      └──────────its log is behind the primary's first entry──────────▶ snapshot ──ended──▶ probing
 */
export type PeerState = 'probing' | 'streaming' | 'snapshot';

/** What the primary of one epoch knows about another replica, from that replica's answers to appends of this epoch. */
export class Peer {
  readonly node: string;
  /** The store that answered last; positions and leases belong to this store only. null: none has answered. */
  store: string | null = null;
  state: PeerState = 'probing';
  /**
   * Last entry that is on its stable storage and equal to the primary's log. Never falls while the store is the same,
   * unless the store went back to an earlier state.
   */
  match = 0;
  /** First entry that was not sent to it yet; > match. */
  next: number;
  /** Last entries of appends that were sent but are not stored yet. */
  inFlight: number[] = [];
  lastAckAt: number;
  /** When something was sent that it has not answered, the first since its last answer; null when it has. */
  private askedAt: number | null = null;
  /** When it last stored something new, or had nothing to store. */
  lastProgressAt: number;
  /** Until when this store's answers allow the primary to serve reads. */
  leaseUntil = -Infinity;
  /** The latest append that this store is known to have received, by when it was sent and when the answer came. */
  heard = { sentAt: -Infinity, atMs: -Infinity };
  /** What it was told of last to be committed, and what it waits for. */
  announced = 0;
  awaited = 0;
  readonly pace = new StorePace();
  readonly meanPace = new MeanStorePace();
  private readonly syncs = new Syncs();
  /** It is not to be in sync before, because it is slow. */
  slowUntil = -Infinity;
  /** Since when the first of those in flight is what it has to store next. */
  private headSince = -Infinity;
  snapshotAsked = false;
  /** When it was found to have gone back: what it answers to anything that was sent until then may be from before. */
  private wentBackAt = -Infinity;
  /** When the last copy for it ended, well or not. */
  copiedAt = -Infinity;

  constructor(options: { node: string; next: number; nowMs: number }) {
    this.node = options.node;
    this.next = options.next;
    this.lastAckAt = options.nowMs;
    this.lastProgressAt = options.nowMs;
  }

  is(replica: ReplicaId): boolean {
    return this.node === replica.node && this.store === replica.store;
  }

  hasOtherStoreThan(replica: ReplicaId): boolean {
    return this.store !== null && this.store !== replica.store;
  }

  isFresh(nowMs: number): boolean {
    return this.store !== null && nowMs - this.lastAckAt < TIMINGS.freshMs;
  }

  /** Whether it should stay out of the in-sync set, where it is not needed. */
  isLeftOut(nowMs: number): boolean {
    return this.slowUntil > nowMs;
  }

  /** Whether it is on its way to hold everything: a copy is made for it, or it stored something lately. */
  isCatchingUp(nowMs: number): boolean {
    return this.state === 'snapshot' || nowMs - Math.max(this.lastProgressAt, this.copiedAt) < TIMINGS.catchUpPauseMs;
  }

  /**
   * For how long it has been silent: since its last answer, but not for longer than heartbeats that it could have
   * answered went out at their usual pace.
   */
  silentMs(nowMs: number): number {
    return this.askedAt === null ? 0 : nowMs - Math.max(this.lastAckAt, this.askedAt - TIMINGS.heartbeatMs);
  }

  /** Something is sent to it that it has to answer. */
  asked(nowMs: number): void {
    this.askedAt ??= nowMs;
  }

  /** Whether it has not answered, or not stored anything, for too long to wait for it. */
  isOverdue(nowMs: number, lastSequence: number): boolean {
    if (this.silentMs(nowMs) > TIMINGS.replicaTimeoutMs) return true;
    return this.match < lastSequence && nowMs - this.lastProgressAt > TIMINGS.stallTimeoutMs;
  }

  /** Whether it keeps up, so that it is not about to leave the in-sync set. */
  isStoring(nowMs: number, lastSequence: number): boolean {
    return this.match >= lastSequence || nowMs - this.lastProgressAt < TIMINGS.replicaTimeoutMs;
  }

  /** Records that it answered, whatever the answer. */
  noteAnswer(ack: AppendAck, nowMs: number): void {
    if (this.store !== ack.replica.store) {
      this.store = ack.replica.store;
      this.match = 0;
      this.leaseUntil = -Infinity;
      this.heard = { sentAt: -Infinity, atMs: -Infinity };
      this.probe(this.next);
    }
    this.lastAckAt = nowMs;
    this.askedAt = null;
    this.awaited = Math.max(this.awaited, ack.awaited);
  }

  /**
   * Whether it says, of something that was sent after all that it is known to have received, that it lacks what it is
   * known to have. `matchEpoch`: that of the entry `match`.
   */
  hasLess({ replica, sentAt, result }: AppendAck, matchEpoch: number): boolean {
    if (replica.store !== this.store || sentAt <= this.heard.sentAt) return false;
    if (result.type === 'match') return result.match < this.match;
    // One that has the entry never looks for a common one before it.
    return result.type === 'mismatch' && (result.hint.sequence < this.match || result.hint.epoch < matchEpoch);
  }

  /** Whether this may have been said before the store went back. */
  isFromBefore(ack: AppendAck): boolean {
    return ack.sentAt <= this.wentBackAt;
  }

  /**
   * Its store is in an earlier state than it was: nothing counts of what it said, and of what it says to anything sent
   * until now.
   */
  wentBack(nowMs: number): void {
    this.match = 0;
    this.leaseUntil = -Infinity;
    this.heard = { sentAt: -Infinity, atMs: -Infinity };
    this.awaited = 0;
    this.wentBackAt = nowMs;
    this.lastProgressAt = nowMs;
  }

  matched(
    result: { match: number; agreed: number },
    sentAt: number,
    at: { nowMs: number; lastSequence: number; ownMs: number },
  ): void {
    if (result.match > this.match || result.match >= at.lastSequence) this.lastProgressAt = at.nowMs;
    this.match = Math.max(this.match, result.match);
    this.leaseUntil = Math.max(this.leaseUntil, sentAt + LEASE_TAKEN_MS);
    if (sentAt > this.heard.sentAt) this.heard = { sentAt, atMs: at.nowMs };
    if (this.inFlight.length > 0 && this.inFlight[0] <= this.match) {
      this.notePace(at.nowMs - this.headSince, at);
      this.headSince = at.nowMs;
      while (this.inFlight.length > 0 && this.inFlight[0] <= this.match) this.inFlight.shift();
    }
    if (this.state !== 'streaming' && result.agreed >= this.next - 1) {
      this.state = 'streaming';
      this.inFlight = [];
      this.next = result.agreed + 1;
    }
    this.next = Math.max(this.next, this.match + 1);
  }

  /**
   * What `noteAnswer` and `matched` do with an answer that says what is known; only for a peer that has the whole log,
   * to whom nothing is on its way. False, with nothing done: it says something else.
   */
  answeredAgain(ack: AppendAck, nowMs: number): boolean {
    const { replica, awaited, sentAt, result } = ack;
    if (replica.store !== this.store || awaited > 0 || result.type !== 'match' || result.match !== this.match)
      return false;
    this.lastAckAt = nowMs;
    this.askedAt = null;
    this.lastProgressAt = nowMs;
    if (sentAt + LEASE_TAKEN_MS > this.leaseUntil) this.leaseUntil = sentAt + LEASE_TAKEN_MS;
    if (sentAt > this.heard.sentAt) {
      this.heard.sentAt = sentAt;
      this.heard.atMs = nowMs;
    }
    return true;
  }

  private notePace(tookMs: number, { nowMs, ownMs }: { nowMs: number; ownMs: number }): void {
    if (!this.syncs.isAnother(tookMs, nowMs)) return;
    this.pace.note(tookMs, ownMs, nowMs);
    this.meanPace.note(tookMs);
  }

  /**
   * Whether it has the log up to `lastSequence` and nothing else, nothing is under way to it, and time alone does not
   * make it slow.
   */
  isAtRest(lastSequence: number, nowMs: number): boolean {
    if (
      this.state !== 'streaming' ||
      this.match !== lastSequence ||
      this.next !== lastSequence + 1 ||
      this.inFlight.length > 0
    )
      return false;
    return this.store !== null && this.pace.isCalm && !this.isLeftOut(nowMs);
  }

  /** Whether a mismatch at `prev` tells something new; a late one does not. */
  isNewMismatch(prev: number): boolean {
    return this.state === 'probing' ? prev === this.next - 1 : prev > this.match;
  }

  /** Starts again at `next`, which is beyond what it is known to have. */
  probe(next: number): void {
    this.state = 'probing';
    this.snapshotAsked = false;
    this.inFlight = [];
    this.next = Math.max(next, this.match + 1);
  }

  /** The entries to send now, if any; counts them as sent. */
  takeRange(lastSequence: number, nowMs: number): { from: number; to: number } | null {
    if (this.state !== 'streaming' || this.next > lastSequence || this.inFlight.length >= LIMITS.appendsInFlightMax)
      return null;
    const range = { from: this.next, to: Math.min(lastSequence, this.next + LIMITS.appendEntriesMax - 1) };
    if (this.inFlight.length === 0) this.headSince = nowMs;
    this.inFlight.push(range.to);
    this.next = range.to + 1;
    return range;
  }
}

/** Where to continue after a peer said that `hint` is the last entry that may be common. */
export type Continuation = { type: 'probe'; next: number } | { type: 'snapshot' };

/** `log` is the primary's; see LogIndex.latestAt. */
export function continuationAfter(
  hint: LogPosition,
  log: { firstSequence: number; latestAt(sequence: number, epoch: number): LogPosition },
): Continuation {
  if (hint.sequence < log.firstSequence - 1) return { type: 'snapshot' };
  const common = log.latestAt(hint.sequence, hint.epoch);
  return common.epoch > hint.epoch ? { type: 'snapshot' } : { type: 'probe', next: common.sequence + 1 };
}
