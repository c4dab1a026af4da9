import { isSameReplica, type ReplicaId } from '../../../shared/cluster-store/entries/shard-assignment';
import type { CommitProgress } from './commit-progress';
import type { ReplicaEffect } from './effects';
import { HeldShare } from './shares/held-share';
import type { AppendMessage, AppendResult, LogPosition, RecordedMatch } from './messages';
import type { ReadGrant } from './shares/read-grant';
import type { LogEntry } from './replica-state';
import type { StableLog } from './stable-log';
import type { WriteLedger } from './write-ledger';

interface OwedAck {
  /** The answer is sent once this change of the log is on stable storage. */
  token: number;
  to: string;
  epoch: number;
  /** null: a match, as far as the log is stored by then. */
  result: AppendResult | null;
}

/**
 * Accepts the appends of the primary that this replica promised to follow. Safety rests on three rules. Nothing of an
 * epoch below the promised one is accepted. Entries are appended only after an entry that both logs have. An answer in
 * an epoch is sent only when the promise of that epoch and everything the answer claims are on stable storage.
 */
export class Follower {
  /** Matches that primaries recorded, by store, the latest of each. */
  readonly recorded = new Map<string, RecordedMatch>();
  /** The log equals that of the primary of `agreedEpoch` up to here. */
  private agreed = 0;
  private agreedEpoch = 0;
  private latestSentAt = 0;
  private owed: OwedAck[] = [];
  private readonly share = new HeldShare();
  /**
   * The heartbeat that was taken last, if nothing happened since, and what its answer said: to say it again changes
   * times only.
   */
  private again: { message: AppendMessage; result: AppendResult } | null = null;
  /** The node whose appends these are. */
  private primary = '';
  /** What reads wait for, and what the primary was asked to tell of for them. */
  private wanted = 0;
  private awaited = 0;
  private readonly self: ReplicaId;
  private readonly log: StableLog;
  private readonly progress: CommitProgress;
  private readonly ledger: WriteLedger;
  private readonly grant: ReadGrant;
  private readonly emit: (effect: ReplicaEffect) => void;

  constructor(options: {
    self: ReplicaId;
    log: StableLog;
    progress: CommitProgress;
    ledger: WriteLedger;
    grant: ReadGrant;
    emit: (effect: ReplicaEffect) => void;
  }) {
    this.self = options.self;
    this.log = options.log;
    this.progress = options.progress;
    this.ledger = options.ledger;
    this.grant = options.grant;
    this.emit = options.emit;
  }

  /** Something happens that may change anything. */
  forget(): void {
    this.again = null;
  }

  /**
   * Takes a heartbeat that says what the last one said, as `append` does: the promise and the share last longer, and it
   * is answered. False, with nothing done: it says something else, or something happened since.
   */
  takeAgain(message: AppendMessage, nowMs: number): boolean {
    if (this.again === null || !isSaidAgain(message, this.again.message)) return false;
    this.note(message, nowMs);
    this.grant.extend(nowMs);
    this.send(message.from, message.epoch, this.latestSentAt, this.again.result);
    return true;
  }

  append(message: AppendMessage, nowMs: number): void {
    if (this.isFenced(message.epoch)) {
      this.send(message.from, message.epoch, message.sentAt, { type: 'fenced', promisedEpoch: this.log.promisedEpoch });
      return;
    }
    if (this.hasLater(message)) return;
    if (this.noteRecorded(message.recorded)) return;
    if (message.epoch !== this.agreedEpoch) this.follow(message.epoch);
    this.primary = message.from;
    this.note(message, nowMs);
    if (message.releasesLease) this.grant.release(nowMs);
    else this.grant.extend(nowMs);

    const promise = message.epoch > this.log.promisedEpoch ? { promisedEpoch: message.epoch } : undefined;
    if (!this.agreesBefore(message)) {
      if (promise !== undefined) this.log.append(promise);
      const hint = this.log.index.latestAt(message.prev.sequence, message.prev.epoch);
      this.owe(message, { type: 'mismatch', prev: message.prev.sequence, hint });
      return;
    }
    if (!this.take(message.entries, promise)) return;
    this.agreed = Math.max(this.agreed, message.prev.sequence + message.entries.length);
    this.owe(message, null);
    this.progress.advance(Math.min(message.commit, this.agreed), this.log.storedSequence);
    this.ask();
    if (this.isAtRest(message)) this.again = { message, result: this.match() };
  }

  /**
   * Whether the same message again would change times only: it is a heartbeat of whom this replica promised to follow,
   * the promise is stored, nothing in it is news any more, and nobody waits for a commit.
   */
  private isAtRest(message: AppendMessage): boolean {
    const { epoch, entries, releasesLease, withdrawsShare, recorded } = message;
    if (
      entries.length > 0 ||
      releasesLease ||
      withdrawsShare ||
      epoch !== this.log.promisedEpoch ||
      epoch !== this.log.storedPromise
    )
      return false;
    return this.wanted <= this.progress.committed && !recorded.some((one) => this.isNews(one) || this.isMissed(one));
  }

  /** When it came, and what it says of a share. */
  private note(message: AppendMessage, nowMs: number): void {
    if (message.sentAt > this.latestSentAt) {
      this.share.hear(message.sentAt, nowMs);
      this.latestSentAt = message.sentAt;
    }
    if (message.withdrawsShare) this.share.giveUp();
    else if (message.sharesSince > 0 && this.isMeant(message)) this.share.take(message.sharesSince);
  }

  /**
   * Whether the share is this store's. One that took the place of a lost one may get what was said to that, and late
   * twice.
   */
  private isMeant({ recorded }: AppendMessage): boolean {
    for (const { replica } of recorded) if (replica.node === this.self.node) return replica.store === this.self.store;
    return false;
  }

  /**
   * Whether it may answer reads as a follower. Then no primary acknowledges a write that it has not stored: not this
   * one, which counts on it, and no later one, which waits for its promise to this one to end.
   */
  mayAnswer(nowMs: number): boolean {
    return this.agreedEpoch === this.log.promisedEpoch && this.share.isValid(nowMs);
  }

  /** Until when it may, unless a later step ends that before. */
  answersUntil(): number {
    return this.agreedEpoch === this.log.promisedEpoch ? this.share.until : -Infinity;
  }

  /**
   * Asks the primary to say when what is stored here is committed, because reads wait for it. One question at a time:
   * it is told by appends and heartbeats, too.
   */
  await(): void {
    this.wanted = this.log.storedSequence;
    this.ask();
  }

  /** Sends the answers that waited for the storage. */
  stored(): void {
    while (this.owed.length > 0 && this.log.isStored(this.owed[0].token)) {
      const { to, epoch, result } = this.owed.shift()!;
      if (epoch !== this.log.promisedEpoch || epoch !== this.agreedEpoch) continue;
      this.send(to, epoch, this.latestSentAt, result ?? this.match());
    }
    this.progress.applyNext(this.log.storedSequence);
  }

  /** The log is no longer the one that was compared: it was replaced, or this replica led in between. */
  reset(): void {
    this.again = null;
    this.agreed = 0;
    this.owed = [];
    this.wanted = 0;
    this.awaited = 0;
    this.share.giveUp();
  }

  /**
   * Whether a snapshot up to the entry `last` by the primary of `epoch` may replace this replica's data: it must not
   * remove anything that this replica acknowledged, perhaps before its process began. A replica that has the entry
   * `last` has all that is in the snapshot, and perhaps more that counts. One that has not lacks what is committed, so
   * that it is neither in sync nor eligible.
   */
  mayInstall(epoch: number, last: LogPosition): boolean {
    if (last.sequence < this.progress.committed || this.log.index.has(last)) return false;
    return epoch === this.log.promisedEpoch;
  }

  isFenced(epoch: number): boolean {
    return epoch < this.log.promisedEpoch;
  }

  agreesBefore(message: AppendMessage): boolean {
    return this.log.index.has(message.prev);
  }

  /** No primary has entries of an epoch after its own: those are of its successor, and came into its log since. */
  private hasLater({ epoch, entries }: AppendMessage): boolean {
    return entries.length > 0 && entries[entries.length - 1].epoch > epoch;
  }

  private ask(): void {
    const { committed } = this.progress;
    if (this.wanted <= committed || this.awaited > committed || this.agreedEpoch !== this.log.storedPromise) return;
    this.awaited = this.wanted;
    this.send(this.primary, this.agreedEpoch, this.latestSentAt, this.match(), this.awaited);
  }

  private follow(epoch: number): void {
    this.reset();
    this.agreedEpoch = epoch;
    this.latestSentAt = 0;
  }

  /** False if this store can't follow. */
  private take(entries: LogEntry[], promise: { promisedEpoch: number } | undefined): boolean {
    const index = this.log.index;
    const fresh = entries.findIndex((entry) => entry.sequence > index.lastSequence || !index.has(entry));
    if (fresh < 0) {
      if (promise !== undefined) this.log.append(promise);
      return true;
    }
    const unknown = entries.find((entry) => entry.unknown !== undefined);
    if (unknown !== undefined) {
      this.emit({ type: 'unknown', sequence: unknown.sequence, reason: unknown.unknown! });
      return false;
    }
    const first = entries[fresh].sequence;
    const conflicts = first <= index.lastSequence;
    if (conflicts && first <= this.progress.committed) {
      this.emit({ type: 'diverged', sequence: first });
      return false;
    }
    if (conflicts) this.ledger.truncateAfter(first - 1);
    const added = fresh === 0 ? entries : entries.slice(fresh);
    this.log.append({ ...promise, ...(conflicts ? { truncateAfter: first - 1 } : {}), entries: added });
    for (const entry of added) if (entry.write !== null) this.ledger.appended(entry.sequence, entry.write.source);
    return true;
  }

  /**
   * Answers at once if everything claimed is stored. Heartbeats don't wait for entries, so that a slow disk does not
   * cost the lease.
   */
  private owe(message: AppendMessage, result: AppendResult | null): void {
    const isPromised = this.log.storedPromise === message.epoch;
    const isHeartbeat = message.entries.length === 0;
    if (isPromised && (result !== null || isHeartbeat || this.log.isStored(this.log.lastToken))) {
      this.send(message.from, message.epoch, this.latestSentAt, result ?? this.match());
    } else {
      this.owed.push({ token: this.log.lastToken, to: message.from, epoch: message.epoch, result });
    }
  }

  private match(): AppendResult {
    return { type: 'match', match: Math.min(this.agreed, this.log.storedSequence), agreed: this.agreed };
  }

  private send(to: string, epoch: number, sentAt: number, result: AppendResult, awaited = 0): void {
    this.emit({ type: 'sendAck', to, ack: { epoch, replica: this.self, sentAt, awaited, result } });
  }

  /**
   * Remembers the matches. True if this store holds less than it acknowledged. A match of an epoch below the promised
   * one proves nothing: a later primary may have truncated the log.
   */
  private noteRecorded(recorded: RecordedMatch[]): boolean {
    for (const one of recorded) {
      if (this.isNews(one)) this.recorded.set(one.replica.node, one);
      if (!this.isMissed(one)) continue;
      this.emit({ type: 'lossy', recorded: one.match, last: this.log.lastSequence });
      return true;
    }
    return false;
  }

  private isNews({ replica, epoch, match }: RecordedMatch): boolean {
    const known = this.recorded.get(replica.node);
    return (
      known === undefined ||
      epoch > known.epoch ||
      (epoch === known.epoch && (match > known.match || replica.store !== known.replica.store))
    );
  }

  /** Whether this store acknowledged it and does not hold it. */
  private isMissed({ replica, epoch, match }: RecordedMatch): boolean {
    return isSameReplica(replica, this.self) && epoch >= this.log.promisedEpoch && match > this.log.lastSequence;
  }
}

/** Whether a heartbeat says what the one before said. Beats hand out the same list of matches again and again. */
function isSaidAgain(message: AppendMessage, before: AppendMessage): boolean {
  if (
    message.epoch !== before.epoch ||
    message.from !== before.from ||
    message.commit !== before.commit ||
    message.recorded !== before.recorded
  )
    return false;
  if (message.prev.sequence !== before.prev.sequence || message.prev.epoch !== before.prev.epoch) return false;
  return message.entries.length === 0 && !message.releasesLease && !message.withdrawsShare;
}
