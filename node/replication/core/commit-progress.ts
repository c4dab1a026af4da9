import assert from 'node:assert';
import type { ReplicaEffect } from './effects';
import { LIMITS } from './timings';

/**
 * How far the log is known to be committed, and how far it is applied to the records. Neither falls, except by a
 * snapshot.
 */
export class CommitProgress {
  committed: number;
  applied: number;
  /** Last sequence of the apply under way; null when there is none. */
  private applying: number | null = null;
  private readonly emit: (effect: ReplicaEffect) => void;

  constructor(options: { applied: number; emit: (effect: ReplicaEffect) => void }) {
    this.emit = options.emit;
    this.applied = options.applied;
    this.committed = options.applied;
  }

  /** Everything up to `sequence` is committed. Entries that are also stored (up to `storedSequence`) are applied. */
  advance(sequence: number, storedSequence: number): void {
    this.committed = Math.max(this.committed, sequence);
    this.applyNext(storedSequence);
  }

  applyNext(storedSequence: number): void {
    if (this.applying !== null) return;
    const upTo = Math.min(this.committed, storedSequence, this.applied + LIMITS.applyEntriesMax);
    if (upTo <= this.applied) return;
    this.applying = upTo;
    this.emit({ type: 'apply', upTo });
  }

  /** Whether the answer belongs to the apply under way (a snapshot may have come in between). */
  finished(upTo: number): boolean {
    if (this.applying !== upTo) return false;
    assert(upTo > this.applied && upTo <= this.committed);
    this.applying = null;
    this.applied = upTo;
    return true;
  }

  reset(applied: number): void {
    this.applied = applied;
    this.committed = applied;
    this.applying = null;
  }
}
