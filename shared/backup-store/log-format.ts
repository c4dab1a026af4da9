import { createHash } from 'node:crypto';
import { QuiverError } from '../base/errors/quiver-error';
import { BACKUP_FORMAT } from './backup-format';
import type { BackupSeals, SealState } from './backup-seals';

/**
 * What is in a backup target of the logs of shards (docs/architecture/backup.md).
 *
 *   log/<uid>.<shard>/<first>-<last>-<preceding epoch>-<last epoch>-<from>-<to>   a segment: entries one after the
 *   other heads/<member>.json        how far the shards are shipped that this member leads; put again and again
 *   stages/<uid>.<shard>/<sequence>-<epoch>-<time>-<term>-<stage>   an entry that gave the shard another stage
 *   collections/<uid>.json     a collection's record, and from when to when it was there
 *
 * A segment, little-endian: `QLOG`, u32 format, SHA-256 of what follows; u32 number of entries; each: f64 sequence,
 * f64 epoch, f64 time, u8 kind (0 nothing to apply, 1 a write, 2 a write with its name), of a name f64 request number,
 * f64 settled below, u16 bytes of session, session; of a write u32 bytes of payload, payload.
 *
 * Behind the last entry, the seal: the same number, epoch and time once more, as a write of `QSEAL1` and the
 * HMAC-SHA256 of the entries before. Programs before seals pass over it, because they have had its number.
 */
export const LOG_PREFIX = 'log/';
export const STAGES_PREFIX = 'stages/';
export const HEADS_PREFIX = 'heads/';
export const HISTORIES_PREFIX = 'collections/';

const MAGIC = Buffer.from('QLOG');
const HEAD_BYTES = 40;
const ENTRY_BYTES = 25;
const SEAL_MAGIC = Buffer.from('QSEAL1');
const SEAL_BYTES = 32;
/**
 * A log may have to go on behind a segment whose name anybody could have written: there is room for a century of writes
 * above it.
 */
const SEQUENCE_MAX = 2 ** 52;
/** The greatest time that a Date can have, and that a millisecond before and behind it is one, too. */
const TIME_MAX = 8.64e15 - 1;
/**
 * Far more than a segment has, of which each takes some 25 bytes at least: whoever reads it makes an object of each.
 */
const ENTRIES_MAX = 1_000_000;
/** Most bytes of a segment: it is in memory as a whole. It has some 4 MiB, or one large entry. */
export const SEGMENT_BYTES_MAX = 256 * 1024 * 1024;

/** An entry of a shard's log. */
export interface ShippedEntry {
  sequence: number;
  epoch: number;
  /** When the primary took it, in milliseconds since 1970; never falls from one to the next. */
  at: number;
  /** null: there is nothing to apply. `source`: by which name it is applied once; null: it is in the log once. */
  write: { source: { session: string; requestNumber: number; settledBelow: number } | null; payload: Buffer } | null;
}

/** A segment, by its name. */
export interface LogSegment {
  key: string;
  bytes: number;
  first: number;
  last: number;
  /** The epoch of the entry before the first, and of the last. */
  precedingEpoch: number;
  lastEpoch: number;
  fromMs: number;
  toMs: number;
}

/** How far a shard is shipped. */
export interface LogHead {
  sequence: number;
  epoch: number;
  /** No entry of up to this time is missing, in milliseconds since 1970. */
  untilMs: number;
  /** The first entry of what is there without a gap. */
  since: number;
  /** How often entries were given up since the process began. */
  gaps: number;
  /** Why it does not get on; null: it does. */
  error: string | null;
}

/** What a member says of the shards that it leads, by `<uid>.<shard>`. */
export interface LogHeads {
  member: string;
  at: number;
  shards: Record<string, LogHead>;
}

/** A collection, and when it was there. */
export interface CollectionHistory {
  name: string;
  uid: string;
  /** What stays when it is given another set of shards. */
  identity: string;
  record: string;
  shards: number;
  /** By the clocks of its shards, as all times of logs: a set that takes over begins when the one before ends. */
  fromMs: number;
  /** null: it is there, or its successor awaits that its log tells when it took over. */
  toMs: number | null;
  /** When others took its place, by the logs; it may be in use again since the data of the service were put back. */
  replacedMs?: number | undefined;
  /**
   * Rises from one history to the next one in a target, whatever clocks say. Missing from those of earlier versions.
   */
  order?: number | undefined;
  /** The order of its beginning, where it took over again and so got another one. */
  firstOrder?: number | undefined;
  /** When it took over is not known yet: until then, `fromMs` is when it was seen. */
  awaits?: true | undefined;
  /** When others were in its place, until it took over again; the earliest first. */
  away?: HistoryAway[] | undefined;
}

/** `toMs` is null until its log tells it; `seenMs`: when it was seen to be in use again. */
export interface HistoryAway {
  fromMs: number;
  toMs: number | null;
  seenMs: number;
}

/** Whether a set of shards was what clients used at a time. */
export function wasInUse({ fromMs, toMs, away = [] }: CollectionHistory, ms: number): boolean {
  const holds = (span: { fromMs: number; toMs: number | null }): boolean =>
    span.fromMs <= ms && (span.toMs === null || ms < span.toMs);
  return holds({ fromMs, toMs }) && !away.some(holds);
}

/**
 * In the place of a stage: up to that time nothing came behind the entry. Its head said so, before there was a gap
 * behind it.
 */
export const TOLD = 'told';

/** An entry of a log that gave its shard another stage. */
export interface LoggedStage {
  key: string;
  sequence: number;
  epoch: number;
  at: number;
  /** Of the reshard: an entry of an earlier one than the last changed nothing. */
  term: number;
  /** One of ShardStage, TOLD, or of a later version. */
  stage: string;
}

/** The name of a shard in a target. */
export function shardName({ collectionUid, shard }: { collectionUid: string; shard: number }): string {
  return `${collectionUid}.${shard}`;
}

export function historyKey(uid: string): string {
  return `${HISTORIES_PREFIX}${uid}.json`;
}

export function headsKey(member: string): string {
  return `${HEADS_PREFIX}${member.replace(/[^A-Za-z0-9_-]/g, '_')}.json`;
}

export function segmentKey(
  shard: string,
  { first, last, precedingEpoch, lastEpoch, fromMs, toMs }: Omit<LogSegment, 'key' | 'bytes'>,
): string {
  const numbers = [padded(first), padded(last), precedingEpoch, lastEpoch, fromMs, toMs];
  return `${LOG_PREFIX}${shard}/${numbers.join('-')}`;
}

export function stageKey(shard: string, { sequence, epoch, at, term, stage }: Omit<LoggedStage, 'key'>): string {
  return `${STAGES_PREFIX}${shard}/${padded(sequence)}-${epoch}-${at}-${term}-${stage}`;
}

/** null: it is none. */
export function stageOf(key: string): LoggedStage | null {
  const match = /\/(\d{16})-(\d+)-(\d+)-(\d+)-([a-z]+)$/.exec(key);
  if (match === null || !key.startsWith(STAGES_PREFIX)) return null;
  const stage = match[5];
  const [sequence, epoch, at, term] = match.slice(1, 5).map(Number);
  if (![sequence, epoch, at, term].every((number) => Number.isSafeInteger(number)) || at > TIME_MAX) return null;
  return { key, sequence, epoch, at, term, stage };
}

/** Names that come behind it are those of the shard's segments that begin with this entry or a later one. */
export function segmentsFrom(shard: string, first: number): string {
  return `${LOG_PREFIX}${shard}/${padded(first)}`;
}

/** What the names of the shard's segments that begin with this entry begin with. */
export function segmentsWith(shard: string, first: number): string {
  return `${segmentsFrom(shard, first)}-`;
}

/** null: it is none. */
export function segmentOf({ key, bytes }: { key: string; bytes: number }): LogSegment | null {
  const match = /\/(\d{16})-(\d{16})-(\d+)-(\d+)-(\d+)-(\d+)$/.exec(key);
  if (match === null || !key.startsWith(LOG_PREFIX)) return null;
  const [first, last, precedingEpoch, lastEpoch, fromMs, toMs] = match.slice(1).map(Number);
  const isPossible =
    [first, last, precedingEpoch, lastEpoch, fromMs, toMs].every((number) => Number.isSafeInteger(number)) &&
    first > 0 &&
    first <= last &&
    last <= SEQUENCE_MAX &&
    Math.max(fromMs, toMs) <= TIME_MAX;
  if (!isPossible) return null;
  return { key, bytes, first, last, precedingEpoch, lastEpoch, fromMs, toMs };
}

/**
 * The bytes of a segment. `entries`: at least one, without a gap. `sealed`: by whose seals, and its name; without, it
 * has no seal, as programs before seals wrote it.
 */
export function segmentToBytes(entries: readonly ShippedEntry[], sealed?: { seals: BackupSeals; key: string }): Buffer {
  const parts = partsOf(entries);
  if (sealed !== undefined) {
    const { sequence, epoch, at } = entries[entries.length - 1];
    const payload = Buffer.concat([SEAL_MAGIC, sealed.seals.of(sealed.key, Buffer.concat(parts))]);
    parts.push(...partsOf([{ sequence, epoch, at, write: { source: null, payload } }]));
  }
  const bytes = Buffer.concat([
    Buffer.alloc(HEAD_BYTES),
    u32(entries.length + (sealed === undefined ? 0 : 1)),
    ...parts,
  ]);
  MAGIC.copy(bytes);
  bytes.writeUInt32LE(BACKUP_FORMAT, 4);
  createHash('sha256').update(bytes.subarray(HEAD_BYTES)).digest().copy(bytes, 8);
  return bytes;
}

function partsOf(entries: readonly ShippedEntry[]): Buffer[] {
  const parts: Buffer[] = [];
  for (const { sequence, epoch, at, write } of entries) {
    const head = Buffer.allocUnsafe(ENTRY_BYTES);
    head.writeDoubleLE(sequence, 0);
    head.writeDoubleLE(epoch, 8);
    head.writeDoubleLE(at, 16);
    head[24] = write === null ? 0 : write.source === null ? 1 : 2;
    parts.push(head);
    if (write === null) continue;
    if (write.source !== null) {
      const session = Buffer.from(write.source.session);
      const name = Buffer.allocUnsafe(18);
      name.writeDoubleLE(write.source.requestNumber, 0);
      name.writeDoubleLE(write.source.settledBelow, 8);
      name.writeUInt16LE(session.length, 16);
      parts.push(name, session);
    }
    parts.push(u32(write.payload.length), write.payload);
  }
  return parts;
}

/**
 * The entries of a segment, and whether its seal is good. Errors: storage_damaged; invalid_parameter for one of a later
 * version.
 */
export function openedSegment(
  segment: LogSegment,
  bytes: Buffer,
  seals: BackupSeals,
): { entries: ShippedEntry[]; seal: SealState } {
  const damaged = (what: string, cause?: unknown): QuiverError =>
    new QuiverError('storage_damaged', `the backup is damaged: ${segment.key} ${what}`, { cause });
  if (bytes.length < HEAD_BYTES + 4 || !bytes.subarray(0, 4).equals(MAGIC)) throw damaged('is unreadable');
  const format = bytes.readUInt32LE(4);
  if (format > BACKUP_FORMAT)
    throw new QuiverError(
      'invalid_parameter',
      `${segment.key} has format ${format}, which a later version wrote; this program knows ${BACKUP_FORMAT}`,
    );
  if (!createHash('sha256').update(bytes.subarray(HEAD_BYTES)).digest().equals(bytes.subarray(8, HEAD_BYTES)))
    throw damaged('does not match its checksum');
  let found: ReturnType<typeof entriesIn>;
  try {
    found = entriesIn(segment, bytes);
  } catch (cause) {
    // Lengths that lead beyond its end.
    throw cause instanceof QuiverError ? cause : damaged('is not what its name says', cause);
  }
  const { entries, end, lastAt } = found;
  if (end !== bytes.length || entries[0]?.sequence !== segment.first || entries.at(-1)?.sequence !== segment.last)
    throw damaged('is not what its name says');
  const seal = sealIn(entries);
  if (seal !== null) entries.pop();
  return { entries, seal: seals.check(segment.key, bytes.subarray(HEAD_BYTES + 4, lastAt), seal) };
}

/** `lastAt`: where the last of them begins. Errors: invalid_parameter; RangeError where the bytes are no entries. */
function entriesIn(segment: LogSegment, bytes: Buffer): { entries: ShippedEntry[]; end: number; lastAt: number } {
  const entries: ShippedEntry[] = [];
  let at = HEAD_BYTES + 4;
  let lastAt = at;
  if (bytes.readUInt32LE(HEAD_BYTES) > ENTRIES_MAX) throw new RangeError('it has more entries than any');
  for (let left = bytes.readUInt32LE(HEAD_BYTES); left > 0; left -= 1) {
    lastAt = at;
    const entry: ShippedEntry = {
      sequence: bytes.readDoubleLE(at),
      epoch: bytes.readDoubleLE(at + 8),
      at: bytes.readDoubleLE(at + 16),
      write: null,
    };
    const kind = bytes[at + 24];
    at += ENTRY_BYTES;
    if (kind > 2)
      throw new QuiverError('invalid_parameter', `${segment.key} has an entry of a kind that a later version wrote`);
    if (kind > 0) {
      let source = null;
      if (kind === 2) {
        const end = at + 18 + bytes.readUInt16LE(at + 16);
        source = {
          session: bytes.toString('utf8', at + 18, end),
          requestNumber: bytes.readDoubleLE(at),
          settledBelow: bytes.readDoubleLE(at + 8),
        };
        at = end;
      }
      const start = at + 4;
      at = start + bytes.readUInt32LE(at);
      entry.write = { source, payload: bytes.subarray(start, at) };
    }
    entries.push(entry);
  }
  return { entries, end: at, lastAt };
}

/** Why a segment is not taken that has to have a seal of this service. */
export function unsealedSegment(key: string): string {
  return `${key} is not sealed by this service: an earlier version wrote it, or somebody else; "unsealed": true takes it on trust`;
}

/** Whether this service has sealed a segment, by its last bytes alone: nothing is made of the others. */
export function isSealedSegment(key: string, bytes: Buffer, seals: BackupSeals): boolean {
  const at = bytes.length - SEAL_BYTES;
  const end = at - SEAL_MAGIC.length - 4 - ENTRY_BYTES;
  if (end < HEAD_BYTES + 4 || !bytes.subarray(at - SEAL_MAGIC.length, at).equals(SEAL_MAGIC)) return false;
  return seals.check(key, bytes.subarray(HEAD_BYTES + 4, end), bytes.subarray(at)) === 'sealed';
}

/** The seal that the last entry is; null: it is none. */
function sealIn(entries: readonly ShippedEntry[]): Buffer | null {
  const [before, last] = [entries.at(-2), entries[entries.length - 1]];
  const payload = last.write?.payload;
  const isSeal =
    before?.sequence === last.sequence &&
    payload?.length === SEAL_MAGIC.length + SEAL_BYTES &&
    payload.subarray(0, SEAL_MAGIC.length).equals(SEAL_MAGIC);
  return isSeal ? payload.subarray(SEAL_MAGIC.length) : null;
}

function padded(number: number): string {
  return String(number).padStart(16, '0');
}

function u32(number: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(number);
  return bytes;
}
