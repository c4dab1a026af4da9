import assert from 'node:assert';
import type { LogPosition } from './messages';
import type { EpochStart } from './replica-state';

/** The epoch of each entry of a log, without the entries. */
export class LogIndex {
  /** [firstSequence, lastSequence]; firstSequence = lastSequence + 1 if the log is empty. */
  firstSequence: number;
  lastSequence: number;
  private precedingEpoch: number;
  /** Ascending in both fields; the first one may begin before firstSequence. */
  private starts: EpochStart[];

  constructor(state: {
    firstSequence: number;
    lastSequence: number;
    precedingEpoch: number;
    epochStarts: EpochStart[];
  }) {
    this.firstSequence = state.firstSequence;
    this.lastSequence = state.lastSequence;
    this.precedingEpoch = state.precedingEpoch;
    this.starts = state.epochStarts.map((start) => ({ ...start }));
  }

  /** The position of the last entry. */
  get last(): LogPosition {
    return { epoch: this.epochAt(this.lastSequence), sequence: this.lastSequence };
  }

  /** Whether the epoch of the entry at `sequence` is known: the entry is in the log, or is the one just before it. */
  covers(sequence: number): boolean {
    return sequence >= this.firstSequence - 1 && sequence <= this.lastSequence;
  }

  epochAt(sequence: number): number {
    assert(this.covers(sequence), `entry ${sequence} is outside [${this.firstSequence}, ${this.lastSequence}]`);
    if (sequence < this.firstSequence) return this.precedingEpoch;
    let i = this.starts.length - 1;
    while (this.starts[i].sequence > sequence) i--;
    return this.starts[i].epoch;
  }

  has(position: LogPosition): boolean {
    return this.covers(position.sequence) && this.epochAt(position.sequence) === position.epoch;
  }

  /**
   * The last entry at or before `sequence` whose epoch is at most `epoch`. It serves to truncate and compare logs: two
   * replicas that ask each other in turn find their last common entry in as many steps as there are epochs in between.
   * If the log does not reach back that far: the entry before its first.
   */
  latestAt(sequence: number, epoch: number): LogPosition {
    let at = Math.max(this.firstSequence - 1, Math.min(sequence, this.lastSequence));
    for (let i = this.starts.length - 1; i >= 0 && at >= this.firstSequence; i--) {
      const start = this.starts[i];
      if (start.sequence <= at && start.epoch <= epoch) break;
      if (start.sequence <= at) at = start.sequence - 1;
    }
    at = Math.max(at, this.firstSequence - 1);
    return { epoch: this.epochAt(at), sequence: at };
  }

  append(position: LogPosition): void {
    assert.equal(position.sequence, this.lastSequence + 1, 'a gap in the log');
    const lastEpoch = this.epochAt(this.lastSequence);
    assert(position.epoch >= lastEpoch, 'epochs fall along the log');
    if (position.epoch > lastEpoch || this.starts.length === 0) this.starts.push({ ...position });
    this.lastSequence = position.sequence;
  }

  truncateAfter(sequence: number): void {
    assert(sequence >= this.firstSequence - 1 && sequence <= this.lastSequence);
    this.lastSequence = sequence;
    while (this.starts.length > 0 && this.starts[this.starts.length - 1].sequence > sequence) this.starts.pop();
  }

  trim(firstSequence: number, precedingEpoch: number): void {
    assert(firstSequence <= this.lastSequence + 1);
    if (firstSequence <= this.firstSequence) return;
    this.firstSequence = firstSequence;
    this.precedingEpoch = precedingEpoch;
    while (this.starts.length > 0 && (this.starts[1]?.sequence ?? this.lastSequence + 1) <= firstSequence)
      this.starts.shift();
  }
}
