import type { ReplicaId } from '../../../shared/cluster-store/entries/shard-assignment';
import type { CommitProgress } from './commit-progress';
import type { ReplicaEffect } from './effects';
import type { AppendAck, LogPosition, OutgoingAppend, RecordedMatch } from './messages';
import { type HeartbeatPace, isSeldom, PAUSES, sharedMoment } from './pace';
import { continuationAfter, Peer } from './peer';
import type { StableLog } from './stable-log';
import { MeanStorePace } from './store-pace';
import { TIMINGS } from './timings';

/** What only heartbeats carry. */
const NO_BEAT = { recorded: [], sharesSince: 0 };

/** What the heartbeats to one peer have in common while nothing happens. */
export interface Rest {
  peer: Peer;
  replica: ReplicaId;
  prev: LogPosition;
  recorded: RecordedMatch[];
}

/** A primary's peers: all other replicas that should hold the shard, in sync or not. Sends the log to each of them. */
export class Peers {
  readonly byNode = new Map<string, Peer>();
  nextHeartbeatAt: number;
  private lastHeartbeatAt: number;
  /** Of the last heartbeat. */
  private pace: HeartbeatPace = 'quick';
  /** Set for good when the primary serves no more reads in its epoch. */
  releasesLease = false;
  /** Since when the followers are asked to give up their shares in the lease; null when they are not. */
  withdrawsSharesSince: number | null = null;
  /** The primary's, beside which others are slow. */
  readonly ownPace = new MeanStorePace();
  private readonly self: ReplicaId;
  private readonly epoch: number;
  private readonly log: StableLog;
  private readonly progress: CommitProgress;
  /** What other primaries had recorded, for stores that have not answered this one. */
  private readonly inherited: RecordedMatch[];
  private readonly mustBeComplete: (replica: ReplicaId) => boolean;
  private readonly shareWith: (peer: Peer, nowMs: number) => number;
  private readonly emit: (effect: ReplicaEffect) => void;

  constructor(options: {
    self: ReplicaId;
    epoch: number;
    log: StableLog;
    progress: CommitProgress;
    inherited: RecordedMatch[];
    /** Whether a replica counts as complete: in sync or eligible. */
    mustBeComplete: (replica: ReplicaId) => boolean;
    /** AppendHeader.sharesSince of a heartbeat that is sent to the peer now. */
    shareWith: (peer: Peer, nowMs: number) => number;
    nowMs: number;
    emit: (effect: ReplicaEffect) => void;
  }) {
    this.self = options.self;
    this.epoch = options.epoch;
    this.log = options.log;
    this.progress = options.progress;
    this.inherited = options.inherited;
    this.mustBeComplete = options.mustBeComplete;
    this.shareWith = options.shareWith;
    this.nextHeartbeatAt = options.nowMs;
    this.lastHeartbeatAt = options.nowMs;
    this.emit = options.emit;
  }

  /** Makes the peers equal to `nodes`. */
  reconcile(nodes: Iterable<string>, nowMs: number): void {
    const wanted = new Set(nodes);
    for (const node of this.byNode.keys()) if (!wanted.has(node)) this.byNode.delete(node);
    for (const node of wanted) {
      if (node === this.self.node || this.byNode.has(node)) continue;
      const peer = new Peer({ node, next: this.log.lastSequence + 1, nowMs });
      this.byNode.set(node, peer);
      this.send(peer, null, nowMs);
    }
  }

  /** Sends every peer the entries for which its window has room, and tells it of what its reads wait for. */
  pump(nowMs: number): void {
    for (const peer of this.byNode.values()) {
      this.pumpOne(peer, nowMs);
      if (peer.awaited > peer.announced && peer.awaited <= this.progress.applied) this.send(peer, null, nowMs);
    }
  }

  /** Whether each of them has the whole log, was told that all of it is committed, and answers. */
  areUpToDate(nowMs: number): boolean {
    const { lastSequence } = this.log;
    if (this.progress.applied < lastSequence) return false;
    const isAnswerDue = nowMs >= this.lastHeartbeatAt + TIMINGS.heartbeatMs;
    for (const peer of this.byNode.values()) {
      if (
        peer.match < lastSequence ||
        peer.announced < lastSequence ||
        (isAnswerDue && peer.lastAckAt < this.lastHeartbeatAt)
      )
        return false;
    }
    return true;
  }

  /** When heartbeats are due, or a look at who has answered the last ones. */
  nextTickAt(): number {
    const lookAt = this.lastHeartbeatAt + TIMINGS.heartbeatMs;
    // Without quickening, a look at a moment that is over would lead to the next.
    if (this.nextHeartbeatAt <= lookAt || this.withdrawsSharesSince !== null) return this.nextHeartbeatAt;
    for (const peer of this.byNode.values()) if (peer.lastAckAt < this.lastHeartbeatAt) return lookAt;
    return this.nextHeartbeatAt;
  }

  /** The shard is not quiet any more. */
  quicken(): void {
    // The next one has to be told from those before it.
    if (this.withdrawsSharesSince !== null) return;
    this.nextHeartbeatAt = Math.min(this.nextHeartbeatAt, this.lastHeartbeatAt + TIMINGS.heartbeatMs);
  }

  /** When the next step is due that nothing makes but time, if that is late by intent; else -Infinity. */
  get sleepsUntil(): number {
    return this.pace === 'dormant' ? this.nextHeartbeatAt : -Infinity;
  }

  /** The log is about to grow: whoever has all of it had nothing to store until now. */
  grows(nowMs: number): void {
    for (const peer of this.byNode.values()) if (peer.match >= this.log.lastSequence) peer.lastProgressAt = nowMs;
  }

  /** Somebody reads the shard, and is likely to go on: followers get their shares soon. */
  read(nowMs: number): void {
    if (isSeldom(this.pace) && this.withdrawsSharesSince === null)
      this.nextHeartbeatAt = Math.min(this.nextHeartbeatAt, nowMs);
  }

  /** `pace`: how late the next one may be. */
  heartbeat(nowMs: number, pace: HeartbeatPace): void {
    if (nowMs < this.nextHeartbeatAt) return;
    this.beginPause(nowMs, pace);
    const recorded = this.recorded();
    for (const peer of this.byNode.values())
      this.send(peer, null, nowMs, { recorded, sharesSince: this.sharesSince(peer, nowMs) });
  }

  /** Processes an answer of this epoch that is not `fenced`. */
  answered(ack: AppendAck, nowMs: number): void {
    const peer = this.byNode.get(ack.replica.node);
    if (peer === undefined || peer.isFromBefore(ack)) return;
    if (this.wentBack(peer, ack)) return this.beginAnew(peer, ack, nowMs);
    peer.noteAnswer(ack, nowMs);
    if (ack.result.type === 'match') {
      peer.matched(ack.result, ack.sentAt, { nowMs, lastSequence: this.log.lastSequence, ownMs: this.ownPace.meanMs });
    } else if (ack.result.type === 'mismatch' && peer.isNewMismatch(ack.result.prev)) {
      const next = continuationAfter(ack.result.hint, this.log.index);
      if (next.type === 'snapshot') this.askForSnapshot(peer);
      else this.probeFrom(peer, next.next, nowMs);
    }
    this.pumpOne(peer, nowMs);
  }

  /** What the next heartbeats say if nothing happens until then; null if one of the peers is not at rest. */
  rest(nowMs: number): Rest[] | null {
    const { lastSequence, index } = this.log;
    const { applied } = this.progress;
    if (applied !== lastSequence || !index.covers(lastSequence)) return null;
    const recorded = this.recorded();
    const prev = { epoch: index.epochAt(lastSequence), sequence: lastSequence };
    const rest: Rest[] = [];
    for (const peer of this.byNode.values()) {
      if (!peer.isAtRest(lastSequence, nowMs) || peer.announced !== applied) return null;
      rest.push({ peer, replica: { node: peer.node, store: peer.store! }, prev, recorded });
    }
    return rest;
  }

  /** Whether all of `rest` have answered when they should have, as `areUpToDate` and `isOverdue` ask. */
  areAnswering(rest: readonly Rest[], nowMs: number): boolean {
    const isAnswerDue = nowMs >= this.lastHeartbeatAt + TIMINGS.heartbeatMs;
    for (const { peer } of rest) {
      if ((isAnswerDue && peer.lastAckAt < this.lastHeartbeatAt) || peer.silentMs(nowMs) > TIMINGS.replicaTimeoutMs)
        return false;
    }
    return true;
  }

  /** As `heartbeat` of a quiet shard. */
  heartbeatAgain(rest: readonly Rest[], nowMs: number, pace: Exclude<HeartbeatPace, 'quick'>): void {
    if (nowMs < this.nextHeartbeatAt) return;
    this.beginPause(nowMs, pace);
    for (const { peer, prev, recorded } of rest) {
      const sharesSince = this.sharesSince(peer, nowMs);
      peer.asked(nowMs);
      const { announced: commit, node: to } = peer;
      const message: OutgoingAppend = {
        epoch: this.epoch,
        from: this.self.node,
        prev,
        commit,
        sentAt: nowMs,
        releasesLease: false,
        withdrawsShare: false,
        recorded,
        sharesSince,
        range: null,
      };
      this.emitAppend(to, message, true);
    }
  }

  streamStarted(node: string, nowMs: number): void {
    const peer = this.byNode.get(node);
    if (peer === undefined || peer.state === 'snapshot') return;
    peer.probe(peer.match + 1);
    this.send(peer, null, nowMs);
  }

  snapshotEnded(node: string, nowMs: number): void {
    const peer = this.byNode.get(node);
    if (peer === undefined) return;
    // One that has answered for what was copied streams already. If it needs another copy later, that has to be asked
    // for.
    peer.snapshotAsked = false;
    if (peer.state !== 'snapshot') return;
    peer.copiedAt = nowMs;
    peer.probe(this.log.lastSequence + 1);
    this.send(peer, null, nowMs);
  }

  /** Looks which of them are slow. A learner counts as long as it is out for that. */
  judgePaces(isInSync: (peer: Peer) => boolean, nowMs: number): void {
    for (const peer of this.byNode.values()) {
      const isJudged = peer.isLeftOut(nowMs) || isInSync(peer);
      if (isJudged && peer.pace.isSlow(nowMs)) peer.slowUntil = nowMs + TIMINGS.slowOutMs;
    }
  }

  /** A learner's matches are left out: it may have been emptied and added again under the same store. */
  recorded(): RecordedMatch[] {
    const recorded = this.inherited.filter((one) => !this.byNode.get(one.replica.node)?.store);
    for (const peer of this.byNode.values()) {
      if (peer.store !== null)
        recorded.push({ replica: { node: peer.node, store: peer.store }, epoch: this.epoch, match: peer.match });
    }
    return recorded.filter((one) => this.mustBeComplete(one.replica));
  }

  /**
   * Whether the peer's disk was put back to an earlier state. Of one that counts as complete, or may, what it
   * acknowledged stays: it is told of that (`recorded`), and finds out that it has lost something.
   */
  private wentBack(peer: Peer, ack: AppendAck): boolean {
    const { index } = this.log;
    const matchEpoch = index.covers(peer.match) ? index.epochAt(peer.match) : 0;
    return peer.hasLess(ack, matchEpoch) && !this.mustBeComplete(ack.replica);
  }

  /**
   * It catches up from what it has left. The next heartbeat asks: its answer is one to something that was sent since.
   */
  private beginAnew(peer: Peer, { result }: AppendAck, nowMs: number): void {
    peer.wentBack(nowMs);
    // A copy that is under way ends by itself, and is followed by a question.
    if (peer.state === 'snapshot' || result.type === 'fenced') return;
    const next =
      result.type === 'match'
        ? ({ type: 'probe', next: result.match + 1 } as const)
        : continuationAfter(result.hint, this.log.index);
    if (next.type === 'snapshot') this.askForSnapshot(peer);
    else peer.probe(next.next);
  }

  private pumpOne(peer: Peer, nowMs: number): void {
    for (
      let range = peer.takeRange(this.log.lastSequence, nowMs);
      range !== null;
      range = peer.takeRange(this.log.lastSequence, nowMs)
    ) {
      this.send(peer, range, nowMs);
    }
  }

  private probeFrom(peer: Peer, next: number, nowMs: number): void {
    const [state, before] = [peer.state, peer.next];
    peer.probe(next);
    // The same question is not repeated before the next heartbeat.
    if (state !== 'probing' || peer.next !== before) this.send(peer, null, nowMs);
  }

  private askForSnapshot(peer: Peer): void {
    peer.state = 'snapshot';
    if (peer.snapshotAsked) return;
    peer.snapshotAsked = true;
    this.emit({ type: 'snapshot', to: peer.node, epoch: this.epoch });
  }

  private send(
    peer: Peer,
    range: OutgoingAppend['range'],
    nowMs: number,
    beat: { recorded: RecordedMatch[]; sharesSince: number } = NO_BEAT,
  ): void {
    let prev = (range?.from ?? peer.next) - 1;
    if (!this.log.index.covers(prev)) {
      if (range !== null || peer.state !== 'snapshot') {
        this.askForSnapshot(peer);
        range = null;
      }
      prev = this.log.lastSequence;
    }
    peer.announced = this.progress.applied;
    peer.asked(nowMs);
    const message: OutgoingAppend = {
      epoch: this.epoch,
      from: this.self.node,
      prev: { epoch: this.log.index.epochAt(prev), sequence: prev },
      commit: peer.announced,
      sentAt: nowMs,
      releasesLease: this.releasesLease,
      withdrawsShare: this.withdrawsSharesSince !== null,
      ...beat,
      range,
    };
    this.emitAppend(peer.node, message, beat !== NO_BEAT);
  }

  private emitAppend(to: string, message: OutgoingAppend, isHeartbeat: boolean): void {
    const { pace } = this;
    this.emit(
      isHeartbeat && isSeldom(pace) ? { type: 'sendAppend', to, message, pace } : { type: 'sendAppend', to, message },
    );
  }

  private beginPause(nowMs: number, pace: HeartbeatPace): void {
    this.pace = pace;
    this.lastHeartbeatAt = nowMs;
    this.nextHeartbeatAt = pace === 'quick' ? nowMs + PAUSES.quick : sharedMoment(nowMs, pace);
  }

  /** A share would be over before the next heartbeat of a shard that nobody reads: none is given. */
  private sharesSince(peer: Peer, nowMs: number): number {
    return isSeldom(this.pace) ? 0 : this.shareWith(peer, nowMs);
  }
}
