import type { TimedLogPosition } from '../../../../shared/backup-store/backup-format';
import type { ShippedEntry } from '../../../../shared/backup-store/log-format';
import type { ShardId } from '../../../../shared/contract/shard/shard-client';

/** An entry of a log; without a time where nobody noted it. */
export type LoggedEntry = Omit<ShippedEntry, 'at'> & { at: number | null };

/** A log as it was at one moment. */
export interface LogView {
  /** In which term its primary led; the shipper begins again in another one. */
  term: number;
  /** The first entry that is there, or will be. */
  first: number;
  /** Entries up to this one are committed. */
  committed: number;
  /** Every write that began before the moment is among the entries up to this one, or was not acknowledged. */
  last: number;
}

/** The log of a shard that this process leads, or may lead, for who ships it to a backup target. */
export interface ShippableLog {
  readonly id: ShardId;
  /** The log now; null where this process can't speak for the shard. */
  view(): LogView | null;
  /** The epoch of an entry that is there, or of the one before the first; null for any other. */
  epochOf(sequence: number): number | null;
  /** Committed entries from `from` on: at least one if there is one, and about `maxBytes` at most. */
  entries(from: number, maxBytes: number): Promise<LoggedEntry[]>;
  /**
   * Only of a log that numbers its entries by itself: the target has entries up to this one that it does not have, so
   * its numbers go on behind them. Answers the first that counts.
   */
  goOnBehind?(sequence: number): Promise<number>;
  /** Entries up to this place are in the target. They need not be kept any more. */
  shipped(place: TimedLogPosition): void;
}

/** A log that keeps entries until they are in the backup target. */
export interface KeptLog {
  readonly id: ShardId;
  /** Bytes of entries that are kept for the target alone. */
  readonly keptBytes: number;
  /** Gives up the oldest of these, at least so many bytes where there are as many. Answers how many. */
  giveUp(bytes: number): number;
}
