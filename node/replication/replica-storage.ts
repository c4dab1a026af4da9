import type { WriteOutcome } from '../../shared/shard/shard-client';
import type { WriteSource } from '../rpc/node-shards';

/** One entry of a shard's replicated log. Sequence numbers start at 1 and have no gaps. */
export interface LogEntry {
  epoch: number;
  sequence: number;
  /** null: the barrier that a new primary writes before it serves. */
  write: { source: WriteSource; payload: Buffer } | null;
}

/** Where an epoch's entries begin in the log. */
export interface EpochStart {
  epoch: number;
  sequence: number;
}

/** What a replica knows of itself after a restart. */
export interface ReplicaState {
  /** The highest epoch whose primary it promised to follow; nothing of a lower one is accepted. */
  promisedEpoch: number;
  /** The last epoch it led itself: never resumed. */
  lastLedEpoch: number;
  /** Entries on stable storage: [firstSequence, lastSequence]; firstSequence = lastSequence + 1 when there are none. */
  firstSequence: number;
  lastSequence: number;
  /** Epoch of the entry before `firstSequence`, 0 if there never was one. */
  precedingEpoch: number;
  /** Rising; covers [firstSequence, lastSequence]. */
  epochStarts: EpochStart[];
  /** Entries up to this one are in the records; 0 if none. */
  appliedSequence: number;
  /** Outcomes of applied writes that may be sent again: by session and request number. */
  settled: SettledWrite[];
  /**
   * Set when entries or promises that were on stable storage are missing or damaged: what is. Nothing is taken or applied
   * then, and what the replica acknowledged before must not be believed any more.
   */
  lossy?: string;
}

export interface SettledWrite {
  session: string;
  requestNumber: number;
  sequence: number;
  outcomes: WriteOutcome[];
}

/**
 * A replica's stable storage: its log and its shard's records in one RocksDB, so that what is applied and how far move
 * together. Calls of `append` and `apply` may overlap; each kind is carried out in the order it was called.
 * Errors: storage_failed, after which the replica has failed and must be closed.
 */
export interface ReplicaStorage {
  readonly state: Readonly<ReplicaState>;
  /**
   * Drops every entry after `truncateAfter` (never an applied one: an assertion), appends the entries, raises the promises;
   * all of it on stable storage when it resolves. Several waiting calls share one sync.
   */
  append(change: { truncateAfter?: number; entries?: LogEntry[]; promisedEpoch?: number; lastLedEpoch?: number }): Promise<void>;
  /** Entries from `fromSequence` on, at least one if there is one, and no more than about `maxBytes`. Errors: internal when they are trimmed away. */
  read(fromSequence: number, maxBytes: number): Promise<LogEntry[]>;
  /**
   * Applies the entries up to `sequence` in order and answers the outcomes of those not applied before, null for a barrier
   * and for a write that its session had given up or that was applied already under the same name (`duplicateOf` names that one).
   */
  apply(sequence: number): Promise<AppliedEntry[]>;
  /** The first sequence from which on the log holds at most so many entries and about so many bytes. */
  newestWithin(limits: { entries: number; bytes: number }): number;
  /** Lets go of entries below `sequence` that are applied and that no reader has pinned. */
  trim(sequence: number): Promise<void>;
  close(): Promise<void>;
}

export interface AppliedEntry {
  sequence: number;
  outcomes: WriteOutcome[] | null;
  duplicateOf?: number;
}
