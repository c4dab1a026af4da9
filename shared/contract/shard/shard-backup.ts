import type { CheckedObject, TimedLogPosition } from '../../backup-store/backup-format';
import { QuiverError } from '../../base/errors/quiver-error';

/** What a shard is asked to do for a backup. Asked again, it goes on, and answers how far it is. */
export interface ShardBackupOrder {
  /** The backup's id. */
  backup: string;
  target: string;
  /** The manifest of this shard in an earlier backup, whose data need not be written again; null: there is none. */
  base: CheckedObject | null;
}

/** How far a shard is with a backup. */
export interface ShardBackupState {
  state: 'running' | 'done' | 'failed';
  /** Bytes written so far. */
  copiedBytes: number;
  /** Bytes of all that it consists of; as many as are known yet. */
  totalBytes: number;
  items: number;
  /** Of one that is done. */
  manifest: CheckedObject | null;
  /** The place of its log at which it was taken; null: it has none. */
  position: TimedLogPosition | null;
  needs: string[];
  /** Why it failed. */
  error: string | null;
}

/** What a shard begins with: the part that belongs to it of a collection in a backup. */
export interface ShardSeed {
  target: string;
  /** The backup's id. */
  backup: string;
  /** The collection's uid in the backup. */
  collectionUid: string;
  /**
   * The checksum of the backup's manifest that whoever asked for it has judged. Absent: an earlier coordinator asked.
   */
  sha256?: string;
  /** How many shards the new collection has. */
  shards: number;
  /**
   * Up to which place of its log each shard of the old collection is followed, from where the backup has it. `backup`
   * is empty where the log begins with the shard. `isSealed`: all of it must have a good seal; absent: it need not,
   * because whoever asked takes it without, or is an earlier coordinator.
   */
  log?: { upTo: number[]; isSealed?: boolean };
}

const FILLED = 'is being filled from a backup';

/** Of a shard that takes from a backup what it begins with, and serves once it has it. */
export function beingFilled(shard: number): QuiverError {
  return new QuiverError('unavailable', `shard ${shard} ${FILLED}; the call may be retried`);
}

export function isBeingFilled(error: QuiverError): boolean {
  return error.message.includes(FILLED);
}
