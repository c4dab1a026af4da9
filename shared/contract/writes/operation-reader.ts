import { isUtf8 } from 'node:buffer';
import type { Filter } from '../filter/filter';
import { filterFromText } from '../filter/filter-text';
import {
  aligned,
  COUNTED_FLAGS,
  COUNTED_VERSION,
  DATED_VERSION,
  DELETE_BYTES,
  DELETE_FLAGS,
  EXPIRE_BYTES,
  FLAG_ALONE,
  FLAG_DATED,
  FLAG_EXPIRY,
  FLAG_FILTER,
  FLAG_ID_UTF16,
  FLAG_METADATA,
  FLAG_METADATA_UTF16,
  FLAG_NOTE_UTF16,
  FLAG_NUMBER,
  FLAG_REPLACES,
  FLAG_SAME_FILTER,
  FLAG_SAME_METADATA,
  FLAG_TEXT,
  FLAG_TEXT_UTF16,
  FLAG_TTL,
  IMPORT_BYTES,
  ITEM_FLAGS,
  malformed,
  DEDUP_BYTES,
  DEDUP_VERSION,
  TIMED_VERSION,
  NUMBER_BYTES,
  PATCH_BYTES,
  PATCH_FLAGS,
  STAGE_BYTES,
  TIMED_FLAGS,
  TYPE_DELETE,
  TYPE_EXPIRE,
  TYPE_IMPORT,
  TYPE_DEDUP,
  TYPE_PATCH,
  TYPE_STAGE,
  TYPE_UPSERT,
  UPSERT_BYTES,
} from './operation-format';
import {
  ANY_VERSION,
  type Conditional,
  type DeleteOperation,
  type ExpireOperation,
  type ImportOperation,
  type DedupOperation,
  type MetadataPatch,
  type PatchOperation,
  type StageOperation,
  type UpsertOperation,
  type WriteOperation,
} from '../shard/shard-client';
import type { Expiring } from './expiry';
import { SHARD_STAGES } from '../shard/shard-stage';

/** Reads operations one by one. Errors: internal when the bytes are malformed. */
export class OperationReader {
  private readonly bytes: Buffer;
  private at: number;
  /** The filter of the last delete or patch that had one, and the metadata of the last patch that had some. */
  private filter: Filter | undefined;
  private metadata: MetadataPatch | undefined;
  private readonly counted: boolean;
  private readonly marked: boolean;
  private readonly timed: boolean;
  private readonly dated: boolean;

  /** `version`: that of the write. */
  constructor(bytes: Buffer, at: number, version: number) {
    this.bytes = bytes;
    this.at = at;
    this.counted = version >= COUNTED_VERSION;
    this.marked = version >= DEDUP_VERSION;
    this.timed = version >= TIMED_VERSION;
    this.dated = version >= DATED_VERSION;
  }

  get atEnd(): boolean {
    return this.at === this.bytes.length;
  }

  next(): WriteOperation {
    const start = this.at;
    this.need(start, DELETE_BYTES);
    const kind = this.bytes.readUInt32LE(start);
    const type = kind & 0xff;
    const flags = kind >>> 8;
    const more = this.counted ? flags & COUNTED_FLAGS : 0;
    const expiring =
      this.timed && (type === TYPE_UPSERT || type === TYPE_PATCH || type === TYPE_IMPORT) ? flags & TIMED_FLAGS : 0;
    const dated = this.dated && type === TYPE_IMPORT ? flags & FLAG_DATED : 0;
    const plain = flags & ~more & ~expiring & ~dated;
    if (type === TYPE_UPSERT && (plain & ~ITEM_FLAGS) === 0) {
      const upsert = this.item(start, UPSERT_BYTES, plain);
      // Nearly all: nothing is copied.
      return more === 0 && expiring === 0 ? upsert : { ...upsert, ...this.condition(more), ...this.expiring(expiring) };
    }
    if (type === TYPE_DELETE && (plain & ~DELETE_FLAGS) === 0)
      return { ...this.delete(start, plain), ...this.condition(more) };
    if (type === TYPE_STAGE && (plain & ~FLAG_ID_UTF16) === 0)
      return { ...this.stage(start, plain), ...(more === 0 ? {} : { versionFloor: this.version() }) };
    if (type === TYPE_IMPORT && (plain & ~ITEM_FLAGS) === 0) return this.import(start, plain, more, expiring | dated);
    if (this.counted && type === TYPE_PATCH && (plain & ~PATCH_FLAGS) === 0)
      return { ...this.patch(start, plain), ...this.condition(more), ...this.expiring(expiring) };
    if (this.timed && type === TYPE_EXPIRE && flags === (flags & FLAG_ID_UTF16)) return this.expire(start, flags);
    if (this.marked && type === TYPE_DEDUP && (flags & ~FLAG_NOTE_UTF16) === 0) return this.mark(start, flags);
    throw malformed('unknown type of operation');
  }

  private condition(flags: number): Conditional {
    if (flags === 0) return {};
    const expected = (flags & FLAG_NUMBER) === 0 ? undefined : this.number();
    if (expected !== undefined && expected < ANY_VERSION) throw malformed('a condition that is none');
    return { ...(expected === undefined ? {} : { expected }), ...((flags & FLAG_ALONE) === 0 ? {} : { alone: true }) };
  }

  private expiring(flags: number): Expiring {
    if (flags === 0) return {};
    const expiresAt = (flags & FLAG_EXPIRY) === 0 ? undefined : this.number();
    const ttlMs = (flags & FLAG_TTL) === 0 ? undefined : this.number();
    if ((expiresAt ?? 0) < 0 || (ttlMs ?? 1) < 1) throw malformed('an expiry that is none');
    return {
      ...(expiresAt === undefined ? {} : { expiresAt: expiresAt === 0 ? null : expiresAt }),
      ...(ttlMs === undefined ? {} : { ttlMs }),
    };
  }

  private expire(start: number, flags: number): ExpireOperation {
    const idBytes = this.bytes.readUInt32LE(start + 4);
    this.need(start, EXPIRE_BYTES + idBytes);
    this.end(start + EXPIRE_BYTES + idBytes);
    return { type: 'expire', externalId: this.string(start + EXPIRE_BYTES, idBytes, flags & FLAG_ID_UTF16) };
  }

  private version(): number {
    const version = this.number();
    if (version < 0) throw malformed('a version that is none');
    return version;
  }

  /** The number behind the operation that was just read. */
  private number(): number {
    this.need(this.at, NUMBER_BYTES);
    const number = this.bytes.readDoubleLE(this.at);
    if (!Number.isSafeInteger(number)) throw malformed('a number that is none');
    this.at += NUMBER_BYTES;
    return number;
  }

  private stage(start: number, flags: number): StageOperation {
    const { bytes } = this;
    this.need(start, STAGE_BYTES);
    const reshardBytes = bytes.readUInt32LE(start + 4);
    const term = bytes.readDoubleLE(start + 8);
    const forget = bytes.readDoubleLE(start + 16);
    const stage = SHARD_STAGES[bytes.readUInt32LE(start + 24)];
    if (!Number.isSafeInteger(term) || !Number.isSafeInteger(forget) || stage === undefined)
      throw malformed('a stage that is none');
    this.need(start, STAGE_BYTES + reshardBytes);
    this.end(start + STAGE_BYTES + reshardBytes);
    return {
      type: 'stage',
      term,
      reshard: this.string(start + STAGE_BYTES, reshardBytes, flags & FLAG_ID_UTF16),
      stage,
      forget,
    };
  }

  private mark(start: number, flags: number): DedupOperation {
    const { bytes } = this;
    this.need(start, DEDUP_BYTES);
    const noteBytes = bytes.readUInt32LE(start + 4);
    this.need(start, DEDUP_BYTES + noteBytes);
    const [nowMs, keptMs, bytesMax, step, term] = Array.from({ length: 5 }, (_, i) =>
      bytes.readDoubleLE(start + 8 + i * 8),
    );
    if (![nowMs, keptMs, bytesMax, step, term].every((number) => Number.isSafeInteger(number)))
      throw malformed('a mark that is none');
    const token = bytes.toString('hex', start + 48, start + 64);
    const digest = bytes.toString('hex', start + 64, start + 80);
    this.end(start + DEDUP_BYTES + noteBytes);
    return {
      type: 'dedup',
      token,
      digest,
      nowMs,
      keptMs,
      bytesMax,
      step,
      term,
      note: this.string(start + DEDUP_BYTES, noteBytes, (flags & FLAG_NOTE_UTF16) === 0 ? 0 : FLAG_ID_UTF16),
    };
  }

  private import(start: number, flags: number, more: number, expiring: number): ImportOperation {
    const { bytes } = this;
    this.need(start, IMPORT_BYTES);
    const term = bytes.readDoubleLE(start + 28);
    const item = this.item(start, IMPORT_BYTES, flags);
    if (!Number.isSafeInteger(term)) throw malformed('a term that is none');
    const { externalId, vector, stamp, metadata, text = null } = item;
    const version = more === 0 ? {} : { version: this.version() };
    if ((expiring & FLAG_TTL) !== 0) throw malformed('an expiry that is none');
    const expiry = (expiring & FLAG_EXPIRY) === 0 ? {} : { expiry: this.number() };
    const dated = (expiring & FLAG_DATED) === 0 ? {} : { dated: true };
    return {
      type: 'import',
      term,
      externalId,
      item: metadata === undefined ? null : { vector, stamp, metadata, text, ...version, ...expiry, ...dated },
    };
  }

  private delete(start: number, flags: number): DeleteOperation {
    const { bytes } = this;
    const hasFilter = (flags & FLAG_FILTER) !== 0;
    const isFiltered = hasFilter || (flags & FLAG_SAME_FILTER) !== 0;
    const idAt = start + DELETE_BYTES + (hasFilter ? 4 : 0);
    this.need(start, idAt - start);
    const idBytes = bytes.readUInt32LE(start + 4);
    const filterBytes = hasFilter ? bytes.readUInt32LE(start + DELETE_BYTES) : 0;
    this.need(idAt, idBytes + filterBytes);
    const externalId = this.string(idAt, idBytes, flags & FLAG_ID_UTF16);
    if (hasFilter) this.filter = filterFromText(this.string(idAt + idBytes, filterBytes, 0));
    if (isFiltered && this.filter === undefined) throw malformed('a filter that is none, or is not there');
    this.end(idAt + idBytes + filterBytes);
    return isFiltered ? { type: 'delete', externalId, filter: this.filter } : { type: 'delete', externalId };
  }

  private patch(start: number, flags: number): PatchOperation {
    const { bytes } = this;
    this.need(start, PATCH_BYTES);
    const [idBytes, dim, metadataBytes, textBytes, filterBytes, bytesMax, fieldsMax] = Array.from(
      { length: 7 },
      (_, i) => bytes.readUInt32LE(start + 4 + i * 4),
    );
    const hasMetadata = (flags & FLAG_METADATA) !== 0;
    const hasText = (flags & FLAG_TEXT) !== 0;
    const hasFilter = (flags & FLAG_FILTER) !== 0;
    const isFiltered = hasFilter || (flags & FLAG_SAME_FILTER) !== 0;
    const isSame = (flags & FLAG_SAME_METADATA) !== 0;
    if (
      (!hasMetadata && metadataBytes > 0) ||
      (!hasText && textBytes > 0) ||
      (!hasFilter && filterBytes > 0) ||
      (hasMetadata && isSame)
    )
      throw malformed('a string that is not announced');
    const idAt = start + PATCH_BYTES + dim * 4;
    const metadataAt = idAt + idBytes;
    const textAt = metadataAt + metadataBytes;
    const filterAt = textAt + textBytes;
    this.need(start, filterAt + filterBytes - start);
    if (hasFilter) this.filter = filterFromText(this.string(filterAt, filterBytes, 0));
    if (isFiltered && this.filter === undefined) throw malformed('a filter that is none, or is not there');
    if (hasMetadata)
      this.metadata = {
        json: this.string(metadataAt, metadataBytes, flags & FLAG_METADATA_UTF16),
        replaces: (flags & FLAG_REPLACES) !== 0,
        bytesMax,
        fieldsMax,
      };
    if (isSame && this.metadata === undefined) throw malformed('metadata that are not there');
    this.end(filterAt + filterBytes);
    const patch: PatchOperation = {
      type: 'patch',
      externalId: this.string(idAt, idBytes, flags & FLAG_ID_UTF16),
      vector: dim === 0 ? undefined : this.vector(start + PATCH_BYTES, dim * 4),
      metadata: hasMetadata || isSame ? this.metadata : undefined,
      text: hasText ? this.string(textAt, textBytes, flags & FLAG_TEXT_UTF16) : undefined,
    };
    return isFiltered ? { ...patch, filter: this.filter } : patch;
  }

  /** What an upsert and an import have in common, behind a head of so many bytes. */
  private item(start: number, headBytes: number, flags: number): UpsertOperation {
    const { bytes } = this;
    this.need(start, headBytes);
    const idBytes = bytes.readUInt32LE(start + 4);
    const stamp = bytes.readDoubleLE(start + 8);
    const vectorBytes = bytes.readUInt32LE(start + 16) * 4;
    const metadataBytes = bytes.readUInt32LE(start + 20);
    const textBytes = bytes.readUInt32LE(start + 24);
    if (!Number.isFinite(stamp)) throw malformed('a stamp that is no number');
    const hasMetadata = (flags & FLAG_METADATA) !== 0;
    const hasText = (flags & FLAG_TEXT) !== 0;
    if ((!hasMetadata && metadataBytes > 0) || (!hasText && textBytes > 0))
      throw malformed('a string that is not announced');
    const length = headBytes + vectorBytes + idBytes + metadataBytes + textBytes;
    this.need(start, length);
    const idAt = start + headBytes + vectorBytes;
    const metadataAt = idAt + idBytes;
    const textAt = metadataAt + metadataBytes;
    this.end(start + length);
    return {
      type: 'upsert',
      externalId: this.string(idAt, idBytes, flags & FLAG_ID_UTF16),
      vector: this.vector(start + headBytes, vectorBytes),
      stamp,
      metadata: hasMetadata ? this.string(metadataAt, metadataBytes, flags & FLAG_METADATA_UTF16) : undefined,
      text: hasText ? this.string(textAt, textBytes, flags & FLAG_TEXT_UTF16) : undefined,
    };
  }

  private vector(at: number, length: number): Float32Array {
    const { buffer, byteOffset } = this.bytes;
    const start = byteOffset + at;
    return start % 4 === 0
      ? new Float32Array(buffer, start, length / 4)
      : new Float32Array(buffer.slice(start, start + length));
  }

  private string(at: number, length: number, isUtf16: number): string {
    if (isUtf16 !== 0) {
      if (length % 2 !== 0) throw malformed('half a code unit');
      return this.bytes.toString('utf16le', at, at + length);
    }
    const text = this.bytes.toString('utf8', at, at + length);
    // Bytes that are not UTF-8 decode to U+FFFD, but that character may also be in the text itself.
    if (text.includes('\ufffd') && !isUtf8(this.bytes.subarray(at, at + length)))
      throw malformed('a string that is no UTF-8');
    return text;
  }

  private need(start: number, length: number): void {
    if (start + length > this.bytes.length) throw malformed('cut short');
  }

  private end(at: number): void {
    const end = aligned(at);
    if (end > this.bytes.length) throw malformed('cut short');
    this.at = end;
  }
}
