import type { WriteResult } from '../../../shared/contract/shard/shard-client';
import type { WriteSource } from '../../../shared/contract/writes/write-source';

/** One entry of a shard's replicated log. Sequence numbers start at 1 and have no gaps. */
export interface LogEntry {
  epoch: number;
  sequence: number;
  /**
   * null: the barrier that a new primary writes before it serves. `at`: when the primary took the write, by its wall
   * clock, and no earlier than the write before; absent where nobody wants to know. What an entry does never depends on
   * it.
   */
  write: { source: WriteSource; payload: Buffer; at?: number } | null;
  /**
   * Set on an entry that came from a primary of a later version: what of it this program does not know. It is never
   * stored.
   */
  unknown?: string;
}

/** A change of a log and of its replica's promises: first truncate, then append the entries. */
export interface LogChange {
  truncateAfter?: number;
  entries?: LogEntry[];
  promisedEpoch?: number;
  lastLedEpoch?: number;
}

/** Where an epoch's entries begin in the log. */
export interface EpochStart {
  epoch: number;
  sequence: number;
}

/** What a replica knows about itself after a restart. */
export interface ReplicaState {
  /** The highest epoch whose primary it promised to follow; nothing of a lower one is accepted. */
  promisedEpoch: number;
  /** The last epoch in which it led itself; it never resumes that epoch. */
  lastLedEpoch: number;
  /** Entries on stable storage: [firstSequence, lastSequence]; firstSequence = lastSequence + 1 if there are none. */
  firstSequence: number;
  lastSequence: number;
  /** Epoch of the entry before `firstSequence`; 0 if there never was one. */
  precedingEpoch: number;
  /** Ascending; covers [firstSequence, lastSequence]. */
  epochStarts: EpochStart[];
  /** Entries up to this one are in the records; 0 if none. */
  appliedSequence: number;
  /** The latest time of any entry that the log has or had; absent or 0: none has a time. */
  latestTimeMs?: number;
  /**
   * The latest moment of any write that the log has or had, by which items expire (operation-codec.ts); absent or 0:
   * none has one.
   */
  latestMoment?: number;
  /** Results of applied writes that may be sent again, by session and request number. */
  settled: SettledWrite[];
  /**
   * Set if entries or promises that were on stable storage are missing or damaged; the text says which. The replica
   * then accepts and applies nothing, and what it acknowledged before must not be relied on any more.
   */
  lossy?: string;
}

/** A write that was applied, by its name, with what became of it. */
export interface SettledWrite {
  session: string;
  requestNumber: number;
  sequence: number;
  result: WriteResult;
}

/**
 * An entry that was applied, with what became of its write. null for a barrier, for a write that its session had given
 * up, and for a write that `duplicateOf` had already applied under the same name.
 */
export interface AppliedEntry {
  sequence: number;
  result: WriteResult | null;
  duplicateOf?: number;
}
