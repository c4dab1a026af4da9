import type { StoreEntry } from '../../../shared/cluster-store/cluster-store';
import type { JobRights } from '../../service/jobs-service';
import { QuiverError } from '../../../shared/base/errors/quiver-error';

/**
 * What is to be done with a backup, one entry each. What is finished is in the target alone, and has no entry.
 *
 *   running ──▶ (none): it is in the target       running ──given up──▶ cancelling ──its data are gone──▶ (none)
 *   deleting ──its data are gone──▶ (none)        running ──an error──▶ cancelling, with the error ──it is void──▶
 *   failed
 */
export const BACKUPS_PATH = '/q/backups/';
/** What is being restored, and what failed to be. */
export const RESTORES_PATH = '/q/restores/';
/** When the last scheduled backup was due, so that the next controller knows. */
export const SCHEDULE_PATH = '/q/backup-schedule';

/** They hold what many collections hold. */
export const BACKUP_RIGHTS: JobRights = { see: 'admin', change: 'admin' };

/** `verifying`: only of earlier versions, for which a verification is a job now. */
const BACKUP_STATES = ['running', 'cancelling', 'failed', 'deleting', 'verifying'] as const;
export type BackupState = (typeof BACKUP_STATES)[number];
const RESTORE_STATES = ['running', 'cancelling', 'failed', 'done'] as const;
export type RestoreState = (typeof RESTORE_STATES)[number];

export interface ShardProgress {
  shard: number;
  state: 'waiting' | 'running' | 'done';
  items: number;
  copiedBytes: number;
  totalBytes: number;
  /** Why it did not answer the last time, with its name; absent: it did. */
  waitsFor?: string | undefined;
}

export interface BackedUpProgress {
  name: string;
  shards: ShardProgress[];
  /** Why nothing of it is taken; absent: it is, as far as is known. */
  leftOut?: string | undefined;
}

export interface BackupRecord {
  id: string;
  target: string;
  state: BackupState;
  /** The collections that are wanted; null: all. */
  collections: string[] | null;
  scheduled: boolean;
  startedAt: string;
  endedAt: string | null;
  error: string | null;
  progress: BackedUpProgress[];
}

/** One collection that is being restored. */
export interface RestoredCollection {
  /** Its name and uid in the backup. */
  from: string;
  fromUid: string;
  /** Its record when it is there (collectionToValue). */
  record: string;
  /**
   * Of a restore to a moment: the backup that it is reached from ('': none), and up to which place each log is
   * followed.
   */
  base?: string;
  upTo?: number[];
  /** The same: all of the logs must have a good seal. */
  isSealed?: boolean;
  /**
   * Of one that goes into a collection which is there and empty, `record` with its identity. `begun`: its reshard was
   * stored, in the same transaction. `isFinal`: its new shards take over, whatever comes; in the transaction that says
   * so to whoever drives the reshard.
   */
  into?: { begun: boolean; isFinal?: boolean };
  shardsReady: number;
}

export interface RestoreRecord {
  id: string;
  backup: string;
  /** The moment, as it was asked for; absent: that of the backup. */
  until?: string;
  target: string;
  state: RestoreState;
  collections: RestoredCollection[];
  /**
   * All is restored, and made visible from here on: a name that is not reserved any more was visible, and changed or
   * deleted by a client since. Missing from records of earlier versions.
   */
  isPublishing?: boolean | undefined;
  /**
   * Its claim was in the target before its backups were void, so their data stay until it is over. Absent: not yet, or
   * the target refuses claims, or a program wrote it that did not note it.
   */
  isHeld?: boolean | undefined;
  /**
   * The backups that it reads, by their ids, with the checksums of their manifests as they were judged when it was
   * asked for. Missing from records of earlier versions.
   */
  manifests?: Record<string, string> | undefined;
  keys: boolean;
  /** What whoever asked for it should know. Missing from records of earlier versions. */
  warnings?: string[] | undefined;
  startedAt: string;
  endedAt: string | null;
  error: string | null;
}

/** Whether some of it can be seen already, or is about to be: then it can't be given up any more. */
export function isPastReturn({
  isPublishing,
  collections,
}: Pick<RestoreRecord, 'isPublishing' | 'collections'>): boolean {
  return isPublishing === true || collections.some(({ into }) => into?.isFinal === true);
}

/** The backups that a restore reads: one, or for a moment one of each collection, where it has any. */
export function basesOf({ backup, collections }: Pick<RestoreRecord, 'backup' | 'collections'>): string[] {
  return [...new Set([backup, ...collections.map(({ base }) => base ?? '')])].filter((id) => id !== '');
}

/**
 * The collections of the backup that are reached from no backup, by their uids: their logs are read from the beginning.
 */
export function logsOf({ collections }: Pick<RestoreRecord, 'collections'>): string[] {
  return [...new Set(collections.filter(({ base }) => base === '').map(({ fromUid }) => fromUid))];
}

export function backupPath(id: string): string {
  return BACKUPS_PATH + id;
}

export function restorePath(id: string): string {
  return RESTORES_PATH + id;
}

/** By which a restore holds its backup in the target: in the form of a backup's id. */
export function claimIdOf(restore: string): string {
  return restore.replace(/^restore-/, '');
}

/** Errors: storage_failed when the text is none. */
export function backupFromEntry(entry: Pick<StoreEntry, 'key' | 'value'>): BackupRecord {
  const record = parsed<BackupRecord>(entry);
  if (typeof record.id !== 'string' || typeof record.target !== 'string' || !Array.isArray(record.progress))
    throw unreadable(entry);
  // Whoever does not know its state must not take it for one that is to be taken back.
  if (!BACKUP_STATES.includes(record.state)) throw unreadable(entry);
  return record;
}

/** Errors: storage_failed when the text is none. */
export function restoreFromEntry(entry: Pick<StoreEntry, 'key' | 'value'>): RestoreRecord {
  const record = parsed<RestoreRecord>(entry);
  if (typeof record.id !== 'string' || typeof record.backup !== 'string' || !Array.isArray(record.collections))
    throw unreadable(entry);
  if (!record.collections.every((one) => typeof one?.record === 'string')) throw unreadable(entry);
  if (!RESTORE_STATES.includes(record.state)) throw unreadable(entry);
  return record;
}

function parsed<Content>(entry: Pick<StoreEntry, 'key' | 'value'>): Content {
  try {
    const content: unknown = JSON.parse(entry.value);
    if (typeof content === 'object' && content !== null) return content as Content;
  } catch (cause) {
    throw unreadable(entry, cause);
  }
  throw unreadable(entry);
}

function unreadable({ key }: Pick<StoreEntry, 'key'>, cause?: unknown): QuiverError {
  return new QuiverError('storage_failed', `the entry ${key} is unreadable`, { cause });
}
