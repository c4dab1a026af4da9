import type { WriteResult } from '../../../shared/contract/shard/shard-client';
import assert from 'node:assert';
import type { AppliedEntry, LogEntry, ReplicaState, SettledWrite } from '../../../node/replication/core/replica-state';
import type { ReplicaStorage } from '../../../node/replication/replica-storage';

/** What became of every write. */
const INSERTED: WriteResult = { outcomes: ['inserted'], firstVersion: 0, present: [] };

/** A replica's storage in memory, whose writes take a moment; what it applied is the list of payloads as texts. */
export class MemoryReplicaStorage implements ReplicaStorage {
  readonly state: ReplicaState;
  readonly applied: string[] = [];
  /** Makes the next append or apply fail. */
  failure: Error | null = null;
  private entries: LogEntry[] = [];
  private queue: Promise<unknown> = Promise.resolve();

  constructor(state: Partial<ReplicaState> = {}) {
    this.state = {
      promisedEpoch: 0,
      lastLedEpoch: 0,
      firstSequence: 1,
      lastSequence: 0,
      precedingEpoch: 0,
      epochStarts: [],
      appliedSequence: 0,
      settled: [],
      ...state,
    };
  }

  append(change: {
    truncateAfter?: number;
    entries?: LogEntry[];
    promisedEpoch?: number;
    lastLedEpoch?: number;
  }): Promise<void> {
    return this.next(() => {
      const { state } = this;
      if (change.truncateAfter !== undefined) {
        assert(change.truncateAfter >= state.appliedSequence);
        this.entries = this.entries.filter(({ sequence }) => sequence <= (change.truncateAfter as number));
        state.lastSequence = change.truncateAfter;
        state.epochStarts = state.epochStarts.filter(({ sequence }) => sequence <= state.lastSequence);
      }
      for (const entry of change.entries ?? []) {
        assert.equal(entry.sequence, state.lastSequence + 1);
        this.entries.push(entry);
        if (entry.epoch > (state.epochStarts.at(-1)?.epoch ?? 0))
          state.epochStarts.push({ epoch: entry.epoch, sequence: entry.sequence });
        state.lastSequence = entry.sequence;
      }
      state.promisedEpoch = change.promisedEpoch ?? state.promisedEpoch;
      state.lastLedEpoch = change.lastLedEpoch ?? state.lastLedEpoch;
    });
  }

  read(fromSequence: number, maxBytes: number): Promise<LogEntry[]> {
    assert(fromSequence >= this.state.firstSequence && maxBytes > 0);
    return Promise.resolve(this.entries.filter(({ sequence }) => sequence >= fromSequence).slice(0, 10));
  }

  apply(sequence: number): Promise<AppliedEntry[]> {
    return this.next(() => {
      const { state } = this;
      const results: AppliedEntry[] = [];
      for (const entry of this.entries.filter(
        (one) => one.sequence > state.appliedSequence && one.sequence <= sequence,
      )) {
        state.appliedSequence = entry.sequence;
        if (entry.write === null) {
          results.push({ sequence: entry.sequence, result: null });
          continue;
        }
        const { session, requestNumber } = entry.write.source;
        const known = state.settled.find(
          (one: SettledWrite) => one.session === session && one.requestNumber === requestNumber,
        );
        if (known !== undefined) {
          results.push({ sequence: entry.sequence, result: null, duplicateOf: known.sequence });
          continue;
        }
        this.applied.push(entry.write.payload.toString());
        state.settled.push({ session, requestNumber, sequence: entry.sequence, result: INSERTED });
        results.push({ sequence: entry.sequence, result: INSERTED });
      }
      return results;
    });
  }

  newestWithin(limits: { entries: number }): number {
    return Math.max(this.state.firstSequence, this.state.lastSequence + 1 - limits.entries);
  }

  bytesBetween(from: number, below: number): number {
    return this.entries
      .filter(({ sequence }) => sequence >= from && sequence < below)
      .reduce((sum, { write }) => sum + (write?.payload.length ?? 0), 0);
  }

  firstBeyond(from: number, bytes: number): number {
    let below = from;
    while (below <= this.state.lastSequence && this.bytesBetween(from, below) < bytes) below += 1;
    return below;
  }

  async trim(sequence: number): Promise<void> {
    const gone = this.entries.filter((entry) => entry.sequence < sequence);
    if (gone.length === 0) return;
    this.entries = this.entries.slice(gone.length);
    this.state.precedingEpoch = gone[gone.length - 1].epoch;
    this.state.firstSequence = sequence;
  }

  async reclaim(): Promise<void> {}

  /** Nothing that is asked for from now on ever ends. */
  hang(): void {
    this.queue = new Promise(() => undefined);
  }

  async close(): Promise<void> {
    await this.queue;
  }

  private next<Result>(work: () => Result): Promise<Result> {
    const result = this.queue.then(async () => {
      await new Promise((wake) => setImmediate(wake));
      if (this.failure !== null) throw this.failure;
      return work();
    });
    this.queue = result.catch(() => undefined);
    return result;
  }
}
