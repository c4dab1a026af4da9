import { z } from 'zod';
import type { BackupCheck, BackupClaim, BackupManifest, ShardManifest } from './backup-format';
import { isObjectName } from './backup-target';
import type { CollectionHistory, LoggedStage, LogHeads } from './log-format';

/**
 * What each JSON object of a backup target may hold, with bounds: whoever can write there may have written it. Members
 * that a later version added are left out.
 */

/** Shards of a collection (REQUEST_BOUNDS has the same). */
export const SHARDS_MAX = 256;
/** Far beyond what there is: lists of collections and of keys are in memory as a whole. */
const COLLECTIONS_MAX = 100_000;
const KEYS_MAX = 100_000;
/** Segments of some 8 MiB: a shard of 8 TB. */
const OBJECTS_MAX = 1_000_000;
/** Far beyond any that is written: a segment of records has some 8 MiB. */
const OBJECT_BYTES_MAX = 256 * 1024 * 1024;
const RECORD_LENGTH_MAX = 256 * 1024;
const TEXT_LENGTH_MAX = 10_000;
/** The greatest time that a Date can have. */
const TIME_MAX = 8.64e15;
/** As many as a claim may name. */
const BASES_MAX = 10_000;
const DAMAGED_MAX = 1_000;
const INDEX_FILES_MAX = 64;
const SESSIONS_MAX = 100_000;
/**
 * These are in memory as a whole when a shard is restored: marks and sessions as they are, of live records 8 MiB for
 * each object.
 */
const HELD_BYTES_MAX = 256 * 1024 * 1024;
const LIVE_OBJECTS_MAX = 256;

const count = z.int().min(0);
const number = z.number().min(0).max(Number.MAX_SAFE_INTEGER);
const timeMs = z.number().min(-TIME_MAX).max(TIME_MAX);
const time = z.iso.datetime();
const name = z.string().min(1).max(255);
const uid = z.string().regex(/^[\w-]{1,64}$/);
const id = z.string().regex(/^\d{8}T\d{6}Z-[0-9a-f]{8}$/);
const text = z.string().max(TEXT_LENGTH_MAX);

const checkedObject = z.object({
  key: z.string().max(1024).startsWith('data/').refine(isObjectName, 'no name of an object'),
  bytes: count.max(OBJECT_BYTES_MAX),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
const objects = listOf(checkedObject, OBJECTS_MAX);
const heldObjects = objects.refine(
  (all) => all.reduce((sum, { bytes }) => sum + bytes, 0) <= HELD_BYTES_MAX,
  'more bytes than are read at once',
);

const backedUpShard = z.object({
  manifest: checkedObject,
  items: count,
  totalBytes: count,
  needs: listOf(id, BASES_MAX),
  position: z.object({ sequence: count, epoch: number, at: timeMs }).optional(),
});

const backedUpCollection = z.object({
  name,
  record: z.string().max(RECORD_LENGTH_MAX),
  uid,
  shards: z.array(backedUpShard).min(1).max(SHARDS_MAX),
});

export const BACKUP_MANIFEST: z.ZodType<BackupManifest> = z.object({
  id,
  startedAt: time,
  finishedAt: time,
  version: z.string().max(100),
  scheduled: z.boolean(),
  isOfSome: z.literal(true).optional(),
  collections: listOf(backedUpCollection, COLLECTIONS_MAX),
  keys: listOf(z.string().max(RECORD_LENGTH_MAX), KEYS_MAX),
  copiedBytes: count,
  totalBytes: count,
  leftOut: listOf(z.object({ name, uid, reason: text }), COLLECTIONS_MAX).optional(),
});

/** Of a checkpoint what names files, and what backups look at; the rest is as the shard wrote it. */
const checkpoint = z.looseObject({
  operation: count,
  lastRecno: count,
  number: count.max(1e15),
  vectors: z.string().regex(/^(?!\.+$)[\w.-]{0,200}$/),
  files: recordOf(z.string().max(100), z.object({ bytes: count, crc: count }), INDEX_FILES_MAX),
});

export const SHARD_MANIFEST: z.ZodType<ShardManifest> = z.object({
  lineage: z.string().max(100),
  dim: count,
  items: count,
  lastRecno: count,
  segments: listOf(checkedObject.extend({ from: count, to: count, count }), OBJECTS_MAX),
  live: listOf(checkedObject, LIVE_OBJECTS_MAX),
  spec: z.string().max(RECORD_LENGTH_MAX),
  versions: number.nullable().optional(),
  operation: count,
  index: z
    .object({
      checkpoint,
      files: listOf(z.object({ path: z.string().max(200), bytes: count, parts: objects }), INDEX_FILES_MAX),
    })
    .nullable(),
  journal: objects,
  marks: heldObjects.optional(),
  log: z
    .object({
      sequence: count,
      epoch: number,
      gate: z.string().max(RECORD_LENGTH_MAX).nullable(),
      sessions: heldObjects,
    })
    .optional(),
});

export const BACKUP_CLAIM: z.ZodType<BackupClaim> = z.object({
  id,
  startedAt: z.string().max(100),
  bases: listOf(id, BASES_MAX),
  logs: listOf(uid, COLLECTIONS_MAX).optional(),
});

export const BACKUP_CHECK: z.ZodType<BackupCheck> = z.object({
  checkedAt: time,
  objects: count,
  bytes: count,
  damaged: listOf(z.string().max(1024), DAMAGED_MAX),
});

export const LOG_HEADS: z.ZodType<LogHeads> = z.object({
  member: z.string().max(TEXT_LENGTH_MAX),
  at: timeMs,
  shards: recordOf(
    z.string().regex(/^[\w-]{1,64}\.\d{1,9}$/),
    z.object({ sequence: count, epoch: number, untilMs: timeMs, since: count, gaps: count, error: text.nullable() }),
    OBJECTS_MAX,
  ),
});

export const COLLECTION_HISTORY: z.ZodType<CollectionHistory> = z.object({
  name,
  uid,
  identity: uid,
  record: z.string().max(RECORD_LENGTH_MAX),
  shards: count.min(1).max(SHARDS_MAX),
  fromMs: timeMs,
  toMs: timeMs.nullable(),
  replacedMs: timeMs.optional(),
  order: count.optional(),
  firstOrder: count.optional(),
  awaits: z.literal(true).optional(),
  away: listOf(z.object({ fromMs: timeMs, toMs: timeMs.nullable(), seenMs: timeMs }), OBJECTS_MAX).optional(),
});

export const LOGGED_STAGE: z.ZodType<Omit<LoggedStage, 'key'>> = z.object({
  sequence: count,
  epoch: number,
  at: timeMs,
  term: count,
  stage: z.string().regex(/^[a-z]{1,32}$/),
});

/** Sessions of a replicated log: pairs of a key and a value, as base64. */
export const LOG_SESSIONS: z.ZodType<[string, string][]> = listOf(
  z.tuple([z.string().max(RECORD_LENGTH_MAX), z.string().max(OBJECT_BYTES_MAX)]),
  SESSIONS_MAX,
);

/** A list that is given up at its first bad element: a million of them would be a million complaints. */
function listOf<Item extends z.ZodType>(item: Item, max: number) {
  return z
    .array(z.unknown())
    .max(max)
    .transform((given, context): z.output<Item>[] => {
      const found: z.output<Item>[] = [];
      for (const [i, value] of given.entries()) {
        const one = item.safeParse(value);
        if (!one.success) {
          complain(context, one.error, String(i));
          return z.NEVER;
        }
        found.push(one.data);
      }
      return found;
    });
}

/** The same of an object that is a map. */
function recordOf<Value extends z.ZodType>(key: z.ZodType<string>, value: Value, max: number) {
  return z.record(z.string(), z.unknown()).transform((given, context): Record<string, z.output<Value>> => {
    const entries = Object.entries(given);
    if (entries.length > max) {
      context.issues.push({ code: 'custom', message: `must have at most ${max} members`, input: undefined });
      return z.NEVER;
    }
    const found: [string, z.output<Value>][] = [];
    for (const [member, held] of entries) {
      const [name, one] = [key.safeParse(member), value.safeParse(held)];
      if (!name.success || !one.success) {
        complain(context, (name.error ?? one.error)!, member);
        return z.NEVER;
      }
      found.push([member, one.data]);
    }
    return Object.fromEntries(found);
  });
}

function complain(
  context: { issues: z.core.$ZodRawIssue[] },
  { issues: [{ path, message }] }: z.ZodError,
  at: string,
): void {
  context.issues.push({ code: 'custom', message, input: undefined, path: [at, ...path] });
}
