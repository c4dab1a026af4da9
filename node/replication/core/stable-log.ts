import assert from 'node:assert';
import type { ReplicaEffect } from './effects';
import { LogIndex } from './log-index';
import type { LogChange, ReplicaState } from './replica-state';

interface Underway {
  token: number;
  lastSequence: number;
  truncateAfter: number | undefined;
  promisedEpoch: number;
}

/**
 * The replica's own log and promises, both as requested from the storage and as they are on stable storage. Nothing is
 * sent to anyone before it is on stable storage.
 */
export class StableLog {
  index: LogIndex;
  /** As requested. */
  promisedEpoch: number;
  lastLedEpoch: number;
  /** On stable storage. */
  storedSequence: number;
  storedPromise: number;
  /**
   * The latest time of any entry that was in the log, also of those that were truncated: no later one may have an
   * earlier time, whatever the clock of its primary says.
   */
  latestTimeMs: number;
  private underway: Underway[] = [];
  private token = 0;
  private readonly emit: (effect: ReplicaEffect) => void;

  constructor(options: { state: Readonly<ReplicaState>; emit: (effect: ReplicaEffect) => void }) {
    this.emit = options.emit;
    this.index = new LogIndex(options.state);
    this.promisedEpoch = options.state.promisedEpoch;
    this.lastLedEpoch = options.state.lastLedEpoch;
    this.storedSequence = options.state.lastSequence;
    this.storedPromise = options.state.promisedEpoch;
    this.latestTimeMs = options.state.latestTimeMs ?? 0;
  }

  get lastSequence(): number {
    return this.index.lastSequence;
  }

  /** The token of the latest requested change. */
  get lastToken(): number {
    return this.token;
  }

  /** Requests a change; its token comes back by `stored`. */
  append(change: LogChange): number {
    const promisedEpoch = change.promisedEpoch ?? this.promisedEpoch;
    assert(promisedEpoch >= this.promisedEpoch, 'a promise is never taken back');
    this.promisedEpoch = promisedEpoch;
    this.lastLedEpoch = change.lastLedEpoch ?? this.lastLedEpoch;
    if (change.truncateAfter !== undefined) {
      this.index.truncateAfter(change.truncateAfter);
      this.storedSequence = Math.min(this.storedSequence, change.truncateAfter);
    }
    for (const entry of change.entries ?? []) {
      this.index.append(entry);
      const at = entry.write?.at;
      if (at !== undefined && at > this.latestTimeMs) this.latestTimeMs = at;
    }
    const token = ++this.token;
    this.underway.push({ token, lastSequence: this.lastSequence, truncateAfter: change.truncateAfter, promisedEpoch });
    this.emit({ type: 'append', token, ...change });
    return token;
  }

  /** The token of the oldest change that is not on stable storage; null when all are. */
  get oldestUnderway(): number | null {
    return this.underway[0]?.token ?? null;
  }

  /** Whether the change of this token is on stable storage. */
  isStored(token: number): boolean {
    return this.underway.length === 0 || this.underway[0].token > token;
  }

  /** Answers to changes from before a `reset` are ignored. */
  stored(token: number): void {
    const change = this.underway[0];
    if (change === undefined || token < change.token) return;
    assert.equal(token, change.token, 'the storage answers in order');
    this.underway.shift();
    this.storedPromise = change.promisedEpoch;
    // An entry that a later change removes again must not count as stored.
    let sequence = change.lastSequence;
    for (const later of this.underway) sequence = Math.min(sequence, later.truncateAfter ?? sequence);
    this.storedSequence = Math.max(this.storedSequence, sequence);
  }

  /** The storage's content was replaced; everything in `state` is on stable storage. Promises under way are kept. */
  reset(state: Readonly<ReplicaState>): void {
    this.index = new LogIndex(state);
    this.storedSequence = state.lastSequence;
    this.storedPromise = state.promisedEpoch;
    this.latestTimeMs = Math.max(this.latestTimeMs, state.latestTimeMs ?? 0);
    this.underway = [];
    this.lastLedEpoch = Math.max(this.lastLedEpoch, state.lastLedEpoch);
    const promised = this.promisedEpoch;
    this.promisedEpoch = state.promisedEpoch;
    if (promised > state.promisedEpoch) this.append({ promisedEpoch: promised });
  }
}
