import { createHash, webcrypto } from 'node:crypto';
import type { z } from 'zod';
import { isQuiverError, QuiverError } from '../base/errors/quiver-error';
import type { BackupSeals, SealState } from './backup-seals';
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
  /** Only some collections were asked for. Absent: all, or a program wrote it that did not note it. */
  isOfSome?: true | undefined;
  collections: BackedUpCollection[];
  /** Keys of the API, as the cluster store holds them, without the secrets themselves. */
  keys: string[];
  /** Bytes that this backup wrote, and all that it consists of. */
  copiedBytes: number;
  totalBytes: number;
  /** Collections that it was to have, and why it has not; absent: it has all of them. */
  leftOut?: LeftOutCollection[] | undefined;
}

/** A collection of which a backup has nothing, because a shard of it could not be written. */
export interface LeftOutCollection {
  name: string;
  uid: string;
  reason: string;
}

/** What a verification found. */
export interface BackupCheck {
  checkedAt: string;
  objects: number;
  bytes: number;
  /** Names of objects that are missing or differ from what was written; the first of them. */
  damaged: string[];
}

/** A place of a shard's log, and a time by which it was passed, in milliseconds since 1970. */
export interface TimedLogPosition {
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
  position?: TimedLogPosition | undefined;
}

/** The content of one shard. */
export interface ShardManifest {
  /**
   * Its own token; a later backup builds upon it where the shard has it still (node/engine/shard/backup/lineage.ts).
   * Programs before gave several the same.
   */
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
  /**
   * What is stored of how far it counts versions; null: it counts none. Missing where a program wrote it that knew
   * none.
   */
  versions?: number | null | undefined;
  /** The number of the last batch. */
  operation: number;
  /** The indexes as they were some time before, and what changed since; null: they are made again. */
  index: SavedIndex | null;
  journal: CheckedObject[];
  /**
   * The marks of writes that are done once, by their numbers; absent: it had none, or a program wrote it that left them
   * out.
   */
  marks?: CheckedObject[] | undefined;
  /** Where it stood in its log, with what is needed to go on from there; absent: as its position. */
  log?: { sequence: number; epoch: number; gate: string | null; sessions: CheckedObject[] } | undefined;
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
  /**
   * The collections, by their uids, whose logs it reads from the beginning. Missing from claims of earlier versions.
   */
  logs?: string[] | undefined;
}

/** Most bytes of an object that is JSON: it is in memory as a whole. */
export const TEXT_BYTES_MAX = 64 * 1024 * 1024;
/** Of the place in a content that is shown where it does not fit. */
const PLACE_LENGTH = 200;

/** Values of what `sealedText` puts around a content. */
const FRAME_VALUES_MAX = 64;
/** Of a content that is not sealed: some 100,000 objects, which are a shard of 800 GB. */
const UNSEALED_VALUES_MAX = 500_000;
/** Of one that is named with its checksum by another: as many as a shard may have objects. */
const VALUES_MAX = 5_000_000;
const [QUOTE, COMMA, BRACKET, BACKSLASH, BRACE] = Buffer.from('",[\\{');

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
  const found = await target.get(key, bytes);
  if (found === null) throw damaged(key, 'is missing');
  if (found.length !== bytes || (await sha256Beside(found)) !== sha256)
    throw damaged(key, 'does not match its checksum');
  return found;
}

/**
 * A text with its format and checksum. `sealed`: by whose seals, and under which name in the target; without, it has no
 * seal, as programs before seals wrote it. These pass over a seal.
 */
export function sealedText(content: unknown, sealed?: { seals: BackupSeals; key: string }): Buffer {
  const text = JSON.stringify(content);
  const seal = sealed && sealed.seals.of(sealed.key, text).toString('hex');
  return Buffer.from(
    JSON.stringify({
      format: BACKUP_FORMAT,
      sha256: sha256Of(Buffer.from(text)),
      content: text,
      ...(seal !== undefined && { seal }),
    }),
  );
}

/** What an object holds. */
export interface OpenedContent<Content> {
  content: Content;
  seal: SealState;
  /** The checksum of the content, by which another content of the same name is told from it. */
  sha256: string;
}

/** What an object is that `sealedText` made, and whether its seal is good. Errors: as contentOf. */
export function openedContent<Content>(
  schema: z.ZodType<Content>,
  seals: BackupSeals,
  key: string,
  bytes: Buffer,
): OpenedContent<Content> {
  const { text, json, seal, sha256 } = checkedText(key, bytes);
  const state = seals.check(key, json, seal);
  if (state !== 'sealed') mustBeSmall(key, json, UNSEALED_VALUES_MAX);
  return { content: fitting(schema, key, text), seal: state, sha256 };
}

/** Errors: storage_damaged, also for what does not fit the schema; invalid_parameter for one of a later version. */
export function contentOf<Content>(schema: z.ZodType<Content>, key: string, bytes: Buffer): Content {
  const { text, json } = checkedText(key, bytes);
  mustBeSmall(key, json, VALUES_MAX);
  return fitting(schema, key, text);
}

/**
 * Whether an error says that an object can't be used as it is, so that whoever reads several goes on with the others.
 */
export function isUnreadable(error: unknown): error is QuiverError {
  return (
    isQuiverError(error) &&
    (error.kind === 'storage_damaged' || error.kind === 'invalid_parameter' || error.kind === 'storage_failed')
  );
}

/** `json`: the bytes of the text. */
function checkedText(key: string, bytes: Buffer): { text: string; json: Buffer; seal: Buffer | null; sha256: string } {
  mustBeSmall(key, bytes, FRAME_VALUES_MAX);
  const { format, sha256, content, seal } = objectIn(key, bytes);
  if (typeof format === 'number' && format > BACKUP_FORMAT) {
    throw new QuiverError(
      'invalid_parameter',
      `the backup has format ${format}, which a later version wrote; this program knows ${BACKUP_FORMAT}`,
    );
  }
  const json = typeof content === 'string' ? Buffer.from(content) : null;
  if (format !== BACKUP_FORMAT || json === null || sha256 !== sha256Of(json))
    throw damaged(key, 'does not match its checksum');
  return {
    text: content as string,
    json,
    seal: seal === undefined ? null : Buffer.from(typeof seal === 'string' ? seal : '', 'hex'),
    sha256,
  };
}

/**
 * A text of a few bytes for each value takes minutes and gigabytes to be parsed, so values are counted before. Errors:
 * storage_damaged.
 */
function mustBeSmall(key: string, json: Buffer, valuesMax: number): void {
  if (hasMoreValues(json, valuesMax)) throw damaged(key, `has more than ${valuesMax} values`);
}

/** Whether a JSON text may have more values than `max`. A text that is no JSON is judged in some way. */
function hasMoreValues(json: Buffer, max: number): boolean {
  let values = 1;
  let isString = false;
  for (let i = 0; i < json.length; i++) {
    const byte = json[i];
    if (isString) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) isString = false;
    } else if (byte === QUOTE) {
      isString = true;
    } else if ((byte === COMMA || byte === BRACKET || byte === BRACE) && ++values > max) {
      return true;
    }
  }
  return false;
}

function objectIn(key: string, bytes: Buffer): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(bytes.toString());
    if (typeof found === 'object' && found !== null) return found as Record<string, unknown>;
  } catch (cause) {
    throw damaged(key, 'is unreadable', cause);
  }
  throw damaged(key, 'is unreadable');
}

function fitting<Content>(schema: z.ZodType<Content>, key: string, text: string): Content {
  let found: ReturnType<typeof schema.safeParse>;
  try {
    found = schema.safeParse(JSON.parse(text));
  } catch (cause) {
    throw damaged(key, 'is unreadable', cause);
  }
  if (found.success) return found.data;
  const [{ path, message }] = found.error.issues;
  throw damaged(
    key,
    `does not hold what it should: ${path.length === 0 ? 'it' : path.join('.').slice(0, PLACE_LENGTH)}: ${message}`,
  );
}

/** Every object of a shard but its manifest. */
export function objectsOf({ segments, live, journal, index, marks, log }: ShardManifest): CheckedObject[] {
  return [
    ...segments,
    ...live,
    ...journal,
    ...(marks ?? []),
    ...(index?.files.flatMap(({ parts }) => parts) ?? []),
    ...(log?.sessions ?? []),
  ];
}

function damaged(key: string, what: string, cause?: unknown): QuiverError {
  return new QuiverError('storage_damaged', `the backup is damaged: ${key} ${what}`, { cause });
}
