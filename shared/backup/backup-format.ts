import { createHash, webcrypto } from 'node:crypto';
import { QuiverError } from '../errors/quiver-error';
import type { BackupTarget } from './backup-target';

/**
 * What is in a backup target (docs/architecture/backup.md).
 *
 *   backups/<id>.json                     a finished backup; without it, or with a void, there is none
 *   void/<id>.json                        the backup is deleted or failed, whatever else is there of it
 *   claims/<id>.json                      a backup under way, and whose data it builds upon
 *   data/<id>/<uid>.<shard>/<attempt>/…   what the backup wrote itself; later ones may need it, too
 */
export const BACKUP_FORMAT = 1;

export const BACKUPS_PREFIX = 'backups/';
export const VOIDS_PREFIX = 'void/';
export const CLAIMS_PREFIX = 'claims/';
export const DATA_PREFIX = 'data/';

/** An object with what it has to be. */
export interface CheckedObject {
  key: string;
  bytes: number;
  sha256: string;
}

/** A finished backup. */
export interface BackupManifest {
  id: string;
  /** ISO 8601, UTC. Everything that was acknowledged before it is in the backup. */
  startedAt: string;
  finishedAt: string;
  /** The version of the program that made it. */
  version: string;
  /** Whether a schedule asked for it. */
  scheduled: boolean;
  collections: BackedUpCollection[];
  /** Keys of the API, as the cluster store holds them, without the secrets themselves. */
  keys: string[];
  /** Bytes that this backup wrote, and all that it consists of. */
  copiedBytes: number;
  totalBytes: number;
}

/** A place of a shard's log, and a time by which it was passed, in milliseconds since 1970. */
export interface LogPlace {
  sequence: number;
  epoch: number;
  at: number;
}

export interface BackedUpCollection {
  name: string;
  /** As the cluster store holds it. */
  record: string;
  uid: string;
  /** In the order of their numbers. */
  shards: BackedUpShard[];
}

export interface BackedUpShard {
  manifest: CheckedObject;
  items: number;
  /** What it consists of, whoever wrote that. */
  totalBytes: number;
  /** The backups whose data it needs, itself among them. */
  needs: string[];
  /** The place of its log at which it was taken; absent: it has none, or a program wrote it that shipped none. */
  position?: LogPlace;
}

/** The content of one shard. */
export interface ShardManifest {
  /** Its own token; a later backup builds upon it where the shard has it still (node/shard/backup/lineage.ts). Programs before gave several the same. */
  lineage: string;
  dim: number;
  /** Items, and the highest number of a record. */
  items: number;
  lastRecno: number;
  /** Records in the order of their numbers, none twice; among them some that are gone by now. */
  segments: RecordSegment[];
  /** Which records are there (live-recnos.ts). */
  live: CheckedObject[];
  /** As it is stored with the records: it tells their format. */
  spec: string;
  /** What is stored of how far it counts versions; null: it counts none. Missing where a program wrote it that knew none. */
  versions?: number | null;
  /** The number of the last batch. */
  operation: number;
  /** The indexes as they were some time before, and what changed since; null: they are made anew. */
  index: SavedIndex | null;
  journal: CheckedObject[];
  /** The marks of writes that are done once, by their numbers; absent: it had none, or a program wrote it that left them out. */
  marks?: CheckedObject[];
  /** Where it stood in its log, with what is needed to go on from there; absent: as its position. */
  log?: { sequence: number; epoch: number; gate: string | null; sessions: CheckedObject[] };
}

/** Records with numbers from `from` up to `to`. */
export interface RecordSegment extends CheckedObject {
  from: number;
  to: number;
  count: number;
}

export interface SavedIndex {
  /** The checkpoint's, as the shard had it. */
  checkpoint: unknown;
  /** By path in the shard's folder. */
  files: { path: string; bytes: number; parts: CheckedObject[] }[];
}

/** A backup or a restore under way. */
export interface BackupClaim {
  id: string;
  startedAt: string;
  /** The finished backups whose data it may need. */
  bases: string[];
  /** The collections, by their uids, whose logs it reads from the beginning. Missing from claims of earlier versions. */
  logs?: string[];
}

const ID = /^\d{8}T\d{6}Z-[0-9a-f]{8}$/;

/** Ids sort by time. */
export function backupId(wallMs: number, random: string): string {
  return `${new Date(wallMs).toISOString().replace(/[-:]|\.\d+/g, '')}-${random}`;
}

export function isBackupId(text: string): boolean {
  return ID.test(text);
}

/** The id in the name of an object; null if it has none. */
export function idOfKey(key: string, prefix: string): string | null {
  const [name] = key.slice(prefix.length).split('/');
  const id = name.replace(/\.json$/, '');
  return key.startsWith(prefix) && isBackupId(id) ? id : null;
}

export function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The same beside the thread that everything else waits for. */
export async function sha256Beside(bytes: Buffer): Promise<string> {
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex');
}

/** Writes an object and answers what to find again. Errors: those of the target. */
export async function putChecked(target: BackupTarget, key: string, bytes: Buffer): Promise<CheckedObject> {
  const [sha256] = await Promise.all([sha256Beside(bytes), target.put(key, bytes)]);
  return { key, bytes: bytes.length, sha256 };
}

/** An object that is what it has to be. Errors: storage_damaged, those of the target. */
export async function getChecked(target: BackupTarget, { key, bytes, sha256 }: CheckedObject): Promise<Buffer> {
  const found = await target.get(key);
  if (found === null) throw damaged(key, 'is missing');
  if (found.length !== bytes || (await sha256Beside(found)) !== sha256) throw damaged(key, 'does not match its checksum');
  return found;
}

/** A text with its format and checksum. */
export function sealedText(content: unknown): Buffer {
  const text = JSON.stringify(content);
  return Buffer.from(JSON.stringify({ format: BACKUP_FORMAT, sha256: sha256Of(Buffer.from(text)), content: text }));
}

/** Errors: storage_damaged; invalid_parameter for one of a later version. */
export function contentOf<Content>(key: string, bytes: Buffer): Content {
  let sealed: { format?: unknown; sha256?: unknown; content?: unknown } | null;
  try {
    sealed = JSON.parse(bytes.toString()) as typeof sealed;
  } catch {
    throw damaged(key, 'is unreadable');
  }
  if (typeof sealed !== 'object' || sealed === null) throw damaged(key, 'is unreadable');
  const { format, sha256, content } = sealed;
  if (typeof format === 'number' && format > BACKUP_FORMAT) {
    throw new QuiverError('invalid_parameter', `the backup has format ${format}, which a later version wrote; this program knows ${BACKUP_FORMAT}`);
  }
  if (format !== BACKUP_FORMAT || typeof content !== 'string' || sha256 !== sha256Of(Buffer.from(content))) throw damaged(key, 'does not match its checksum');
  return JSON.parse(content) as Content;
}

/** Every object of a shard but its manifest. */
export function objectsOf({ segments, live, journal, index, marks, log }: ShardManifest): CheckedObject[] {
  return [...segments, ...live, ...journal, ...(marks ?? []), ...(index?.files.flatMap(({ parts }) => parts) ?? []), ...(log?.sessions ?? [])];
}

function damaged(key: string, what: string): QuiverError {
  return new QuiverError('storage_damaged', `the backup is damaged: ${key} ${what}`);
}
