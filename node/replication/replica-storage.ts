import type { AppliedEntry, LogChange, LogEntry, ReplicaState } from './core/replica-state';

/**
 * A replica's stable storage: its log and its shard's records in one RocksDB, so that records and applied position
 * change together. Calls of `append` and `apply` may overlap; each kind is carried out in the order of the calls.
 * Errors: storage_failed, after which the replica has failed and must be closed.
 */
export interface ReplicaStorage {
  readonly state: Readonly<ReplicaState>;
  /**
   * Drops every entry after `truncateAfter` (never an applied one: an assertion), appends the entries and raises the
   * promises. All of it is on stable storage when it resolves. Several waiting calls share one sync.
   */
  append(change: LogChange): Promise<void>;
  /**
   * Entries from `fromSequence` on: at least one if there is one, and about `maxBytes` at most. Errors: internal when
   * they were trimmed away.
   */
  read(fromSequence: number, maxBytes: number): Promise<LogEntry[]>;
  /** Applies the entries up to `sequence` in order and answers those that were not applied before. */
  apply(sequence: number): Promise<AppliedEntry[]>;
  /** The first sequence from which on the log holds at most `entries` entries and about `bytes` bytes. */
  newestWithin(limits: { entries: number; bytes: number }): number;
  /** Bytes of the entries from `from` on and below `below`, about. */
  bytesBetween(from: number, below: number): number;
  /**
   * The first sequence such that the entries from `from` on and below it have at least so many bytes; behind the last
   * where they have not.
   */
  firstBeyond(from: number, bytes: number): number;
  /**
   * Deletes entries below `sequence` that are applied and that no copy has pinned. Copies that pinned entries below
   * `pinnedFrom` are outrun: their pins count no more.
   */
  trim(sequence: number, pinnedFrom?: number): Promise<void>;
  /** Gives back what trimmed entries took on the disk. */
  reclaim(): Promise<void>;
  close(): Promise<void>;
}
