import type { ReplicaId } from '../../../shared/cluster-store/entries/shard-assignment';
import type { LogEntry } from './replica-state';

/** The position of an entry in a log; {epoch: 0, sequence: 0} is the position before the first entry. */
export interface LogPosition {
  epoch: number;
  sequence: number;
}

/**
 * What a primary sends to every other replica: in order per stream, several at once. Without entries it is a heartbeat.
 */
export interface AppendHeader {
  /** Epoch in which the sender leads. */
  epoch: number;
  /** Node that sends it. */
  from: string;
  /** The entry before the first one of this message: the receiver accepts nothing unless its own log has it, too. */
  prev: LogPosition;
  /**
   * Everything up to this sequence is committed and applied by the sender: what a follower shows is to be found at the
   * primary, too.
   */
  commit: number;
  /**
   * The sender's monotonic clock. It comes back with the acknowledgement, which then is a read lease that starts at
   * this moment.
   */
  sentAt: number;
  /** The sender serves no more reads in this epoch, so the receiver may forget the leases that it granted. */
  releasesLease: boolean;
  /**
   * Not 0: the receiver has a share in the sender's lease, earned by its acknowledgement of what was sent at this
   * moment (`sentAt`). Only in heartbeats.
   */
  sharesSince: number;
  /** The receiver gives its share up, if it has one, and says so by answering this or a later append. */
  withdrawsShare: boolean;
  /**
   * What replicas once acknowledged; only in heartbeats. A store that holds less than it acknowledged has lost entries.
   */
  recorded: RecordedMatch[];
  /**
   * The receiver keeps entries from this one on: they are not in the backup target yet. Absent: nothing is shipped
   * there.
   */
  unshippedFrom?: number;
}

/** A store stated in `epoch` that it has everything up to `match` on stable storage. */
export interface RecordedMatch {
  replica: ReplicaId;
  epoch: number;
  match: number;
}

/**
 * An append as the core requests it. The shell adds the entries [from, to] from its storage, and may make several
 * messages of them, in order, each with the entry before it as `prev`.
 */
export interface OutgoingAppend extends AppendHeader {
  range: { from: number; to: number } | null;
}

/** An append as it is received. `entries[0].sequence` is `prev.sequence + 1`. */
export interface AppendMessage extends AppendHeader {
  entries: LogEntry[];
}

/** The answer to an append; one answer may cover several appends. */
export interface AppendAck {
  /** Epoch of the append. */
  epoch: number;
  /** The replica that answers, with the store that holds the entries. */
  replica: ReplicaId;
  /** `sentAt` of the latest append that it answers. */
  sentAt: number;
  /**
   * Not 0: reads wait at the follower until everything up to this sequence is committed, and it wants to hear of that.
   */
  awaited: number;
  result: AppendResult;
}

export type AppendResult =
  /** The log agrees with the primary's up to `agreed`, and is on stable storage up to `match`. */
  | { type: 'match'; match: number; agreed: number }
  /** The entry at `prev` is missing or of another epoch; the last entry that may be common is at most `hint`. */
  | { type: 'mismatch'; prev: number; hint: LogPosition }
  /** The replica has promised to follow a later primary. */
  | { type: 'fenced'; promisedEpoch: number };
