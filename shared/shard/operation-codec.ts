import { isUtf8 } from 'node:buffer';
import { QuiverError } from '../errors/quiver-error';
import type { Filter } from '../filter/filter';
import { filterFromText, filterToText } from '../filter/filter-text';
import { encodingOf } from '../text/text-encoding';
import { resultOf } from '../time/work-slices';
import {
  ANY_VERSION,
  type Conditional,
  type DeleteOperation,
  type ImportOperation,
  type MetadataPatch,
  type PatchOperation,
  type StageOperation,
  type UpsertOperation,
  type WriteOperation,
} from './shard-client';
import { SHARD_STAGES } from './shard-stage';

/**
 * The operations of one write as bytes, for the wire and for the replicated log. Little-endian. Every operation begins at
 * a multiple of 4 bytes, so that its vector can be read in place:
 *
 *   header   u8 version, 3 zero bytes, u32 number of operations
 *   upsert   u8 1, u24 flags, u32 id bytes, f64 stamp, u32 dim, u32 metadata bytes, u32 text bytes,
 *            dim × f32, id, metadata, text, zeros to the next multiple of 4, [f64 expected]
 *   delete   u8 2, u24 flags, u32 id bytes, [u32 filter bytes,] id, [filter,] zeros, [f64 expected]
 *   stage    u8 3, u24 flags, u32 reshard bytes, f64 term, f64 forget, u32 number of the stage, reshard, zeros,
 *            [f64 version floor]
 *   import   u8 4, u24 flags, u32 id bytes, f64 stamp, u32 dim, u32 metadata bytes, u32 text bytes, f64 term,
 *            dim × f32, id, metadata, text, zeros, [f64 version]; without the flag of metadata, the item is to be taken away
 *
 *   patch    u8 5, u24 flags, u32 id bytes, u32 dim (0: no vector), u32 metadata bytes, u32 text bytes, u32 filter bytes,
 *            u32 most bytes of the metadata, u32 most fields of them, dim × f32, id, metadata, text, filter, zeros,
 *            [f64 expected]
 *
 * Stages and imports are of version 2, and so is a write that has any. Version 3 says that the shard counts versions from
 * here on; without it, no operation has a number behind it, and there are no patches. Flags: 256 there is a number behind
 * the operation, 512 it is alone in its conflicts. Of a patch: 128 its metadata replace what is there, 1024 they are those
 * of the patch before. 4 the id is UTF-16. Of an upsert and an
 * import: 1 metadata and 2 text are present; 8 the metadata and 16 the text are UTF-16. Strings are UTF-16 if they are not well-formed Unicode, otherwise UTF-8. Of a delete: 32 a filter is present, as
 * JSON; 64 the filter is that of the delete before, because thousands of deletes may share one. A reader refuses unknown
 * versions and flags. Operations that an earlier reader does not know (a type, a flag) are written under a higher version,
 * and others stay at theirs: replicas judge what they acknowledge by the version alone.
 */
export const OPERATIONS_VERSION = 3;
/** Of writes without stages and imports, to shards that need not count versions. */
const PLAIN_VERSION = 1;
/** The same with stages and imports. */
const RESHARD_VERSION = 2;
/** From a write of this version on, a shard counts versions. */
const COUNTED_VERSION = 3;

const HEADER_BYTES = 8;
const UPSERT_BYTES = 28;
const DELETE_BYTES = 8;
const STAGE_BYTES = 28;
const IMPORT_BYTES = 36;
const PATCH_BYTES = 32;

const TYPE_UPSERT = 1;
const TYPE_DELETE = 2;
const TYPE_STAGE = 3;
const TYPE_IMPORT = 4;
const TYPE_PATCH = 5;

const FLAG_METADATA = 1;
const FLAG_TEXT = 2;
const FLAG_ID_UTF16 = 4;
const FLAG_METADATA_UTF16 = 8;
const FLAG_TEXT_UTF16 = 16;
const FLAG_FILTER = 32;
const FLAG_SAME_FILTER = 64;
const FLAG_REPLACES = 128;
const FLAG_NUMBER = 256;
const FLAG_ALONE = 512;
const FLAG_SAME_METADATA = 1024;
const ITEM_FLAGS = FLAG_METADATA | FLAG_TEXT | FLAG_ID_UTF16 | FLAG_METADATA_UTF16 | FLAG_TEXT_UTF16;
/** By version, what operations may have besides. */
const COUNTED_FLAGS = FLAG_NUMBER | FLAG_ALONE;
const DELETE_FLAGS = FLAG_ID_UTF16 | FLAG_FILTER | FLAG_SAME_FILTER;
const PATCH_FLAGS = ITEM_FLAGS | FLAG_FILTER | FLAG_SAME_FILTER | FLAG_REPLACES | FLAG_SAME_METADATA;
const NUMBER_BYTES = 8;

/** `counted`: whether the shard counts versions from here on, as every node that may read this must know how to. */
export function operationsToBytes(operations: readonly WriteOperation[], counted: boolean): Buffer {
  return resultOf(operationsToBytesInSteps(operations, counted));
}

/** Whether some operation is one that only a counted write can hold. */
export function mustBeCounted(operations: readonly WriteOperation[]): boolean {
  return operations.some((operation) => operation.type === 'patch' || numberOf(operation) !== undefined);
}

/** Like {@link operationsToBytes}, one operation measured or written per step. */
export function* operationsToBytesInSteps(operations: readonly WriteOperation[], counted: boolean): Generator<undefined, Buffer> {
  let size = HEADER_BYTES;
  const filters = filtersToWrite(operations);
  const isSame = metadataRepeated(operations);
  for (let i = 0; i < operations.length; i++) {
    size += aligned(operationBytes(operations[i], filters[i], isSame[i])) + (counted && numberOf(operations[i]) !== undefined ? NUMBER_BYTES : 0);
    yield;
  }
  const bytes = Buffer.allocUnsafeSlow(size);
  const plain = operations.some(({ type }) => type === 'stage' || type === 'import') ? RESHARD_VERSION : PLAIN_VERSION;
  bytes.writeUInt32LE(counted ? COUNTED_VERSION : plain, 0);
  bytes.writeUInt32LE(operations.length, 4);
  let at = HEADER_BYTES;
  for (let i = 0; i < operations.length; i++) {
    const end = writeOperation(bytes, at, operations[i], filters[i], isSame[i]);
    const start = at;
    at = aligned(end);
    bytes.fill(0, end, at);
    if (counted) at = writeNumber(bytes, start, at, operations[i]);
    yield;
  }
  return bytes;
}

/** The filter of a delete or a patch: its JSON, the word `same` (which is not JSON) for the filter of the one before, or none. */
type FilterToWrite = string | undefined;

function filtersToWrite(operations: readonly WriteOperation[]): FilterToWrite[] {
  let previous: Filter | undefined;
  return operations.map((operation) => {
    if ((operation.type !== 'delete' && operation.type !== 'patch') || operation.filter === undefined) return undefined;
    if (operation.filter === previous) return 'same';
    previous = operation.filter;
    return filterToText(previous);
  });
}

/** Of each operation, whether it is a patch with the metadata of the patch before: thousands may share some. */
function metadataRepeated(operations: readonly WriteOperation[]): boolean[] {
  let previous: MetadataPatch | undefined;
  return operations.map((operation) => {
    if (operation.type !== 'patch' || operation.metadata === undefined) return false;
    const isSame = operation.metadata === previous;
    previous = operation.metadata;
    return isSame;
  });
}

/** Whether a shard counts versions from this write on. */
export function isCounted(bytes: Buffer): boolean {
  return operationsVersionOf(bytes) >= COUNTED_VERSION;
}

/** The version under which operations were written; 0 for bytes that are too short to be any. */
export function operationsVersionOf(bytes: Buffer): number {
  return bytes.length < HEADER_BYTES ? 0 : bytes.readUInt32LE(0);
}

/**
 * The operations that `bytes` hold. Vectors are views of `bytes` where these are aligned in memory, otherwise copies.
 * So the bytes must not change as long as an operation is in use. Errors: internal when the bytes are malformed.
 */
export function operationsFromBytes(bytes: Buffer): WriteOperation[] {
  return resultOf(operationsInSteps(bytes));
}

/** Like {@link operationsFromBytes}, one operation per step. */
export function* operationsInSteps(bytes: Buffer): Generator<undefined, WriteOperation[]> {
  const version = operationsVersionOf(bytes);
  if (version < PLAIN_VERSION || version > OPERATIONS_VERSION) throw malformed('unknown header');
  const count = bytes.readUInt32LE(4);
  if (count > (bytes.length - HEADER_BYTES) / DELETE_BYTES) throw malformed('more operations announced than can be there');
  const operations: WriteOperation[] = new Array(count);
  const reader = new OperationReader(bytes, HEADER_BYTES, version >= COUNTED_VERSION);
  for (let i = 0; i < count; i++) {
    operations[i] = reader.next();
    yield;
  }
  if (!reader.atEnd) throw malformed('bytes after the last operation');
  return operations;
}

function operationBytes(operation: WriteOperation, filter: FilterToWrite, isSame: boolean): number {
  if (operation.type === 'stage') return STAGE_BYTES + stringBytes(operation.reshard);
  if (operation.type === 'import') {
    const { externalId, item } = operation;
    return IMPORT_BYTES + stringBytes(externalId) + (item === null ? 0 : item.vector.byteLength + stringBytes(item.metadata) + stringBytes(item.text ?? undefined));
  }
  const idBytes = stringBytes(operation.externalId);
  if (operation.type === 'patch') {
    const { vector, metadata, text } = operation;
    return (
      PATCH_BYTES + (vector?.byteLength ?? 0) + idBytes + (isSame ? 0 : stringBytes(metadata?.json)) + stringBytes(text) + (filter === undefined || filter === 'same' ? 0 : Buffer.byteLength(filter))
    );
  }
  if (operation.type === 'delete') return DELETE_BYTES + idBytes + (filter === undefined || filter === 'same' ? 0 : 4 + Buffer.byteLength(filter));
  const { vector, metadata, text } = operation;
  return UPSERT_BYTES + vector.byteLength + idBytes + stringBytes(metadata) + stringBytes(text);
}

/** What stands behind an operation. */
function numberOf(operation: WriteOperation): number | undefined {
  if (operation.type === 'stage') return operation.versionFloor;
  return operation.type === 'import' ? operation.item?.version : operation.expected;
}

/** Puts the number of the operation at `start` to its end, and the flags that belong to it into its head. Answers the end. */
function writeNumber(bytes: Buffer, start: number, end: number, operation: WriteOperation): number {
  const number = numberOf(operation);
  const isAlone = 'alone' in operation && operation.alone === true;
  if (number === undefined && !isAlone) return end;
  const flags = (number === undefined ? 0 : FLAG_NUMBER) | (isAlone ? FLAG_ALONE : 0);
  bytes.writeUInt32LE((bytes.readUInt32LE(start) | (flags << 8)) >>> 0, start);
  return number === undefined ? end : bytes.writeDoubleLE(number, end);
}

function stringBytes(text: string | undefined): number {
  return text === undefined ? 0 : Buffer.byteLength(text, encodingOf(text));
}

function writeString(bytes: Buffer, at: number, text: string | undefined): number {
  return text === undefined ? 0 : bytes.write(text, at, encodingOf(text));
}

/** The flags of a string: `present` if it is given, and `utf16` if that is its encoding. */
function stringFlags(text: string | undefined, present: number, utf16: number): number {
  if (text === undefined) return 0;
  return encodingOf(text) === 'utf8' ? present : present | utf16;
}

function writeOperation(bytes: Buffer, at: number, operation: WriteOperation, filter: FilterToWrite, isSame: boolean): number {
  switch (operation.type) {
    case 'upsert':
      return writeUpsert(bytes, at, operation);
    case 'delete':
      return writeDelete(bytes, at, operation, filter);
    case 'patch':
      return writePatch(bytes, at, operation, filter, isSame);
    case 'stage':
      return writeStage(bytes, at, operation);
    case 'import':
      return writeImport(bytes, at, operation);
  }
}

function writeStage(bytes: Buffer, at: number, { reshard, term, forget, stage }: StageOperation): number {
  const reshardBytes = writeString(bytes, at + STAGE_BYTES, reshard);
  bytes.writeUInt32LE(TYPE_STAGE | (stringFlags(reshard, 0, FLAG_ID_UTF16) << 8), at);
  bytes.writeUInt32LE(reshardBytes, at + 4);
  bytes.writeDoubleLE(term, at + 8);
  bytes.writeDoubleLE(forget, at + 16);
  bytes.writeUInt32LE(SHARD_STAGES.indexOf(stage), at + 24);
  return at + STAGE_BYTES + reshardBytes;
}

function writeImport(bytes: Buffer, at: number, { externalId, item, term }: ImportOperation): number {
  const vector = item?.vector ?? new Float32Array(0);
  const metadata = item?.metadata;
  const text = item?.text ?? undefined;
  bytes.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), at + IMPORT_BYTES);
  const idAt = at + IMPORT_BYTES + vector.byteLength;
  const idBytes = writeString(bytes, idAt, externalId);
  const metadataBytes = writeString(bytes, idAt + idBytes, metadata);
  const textBytes = writeString(bytes, idAt + idBytes + metadataBytes, text);
  const flags = stringFlags(externalId, 0, FLAG_ID_UTF16) | stringFlags(metadata, FLAG_METADATA, FLAG_METADATA_UTF16) | stringFlags(text, FLAG_TEXT, FLAG_TEXT_UTF16);
  bytes.writeUInt32LE(TYPE_IMPORT | (flags << 8), at);
  bytes.writeUInt32LE(idBytes, at + 4);
  bytes.writeDoubleLE(item?.stamp ?? 0, at + 8);
  bytes.writeUInt32LE(vector.length, at + 16);
  bytes.writeUInt32LE(metadataBytes, at + 20);
  bytes.writeUInt32LE(textBytes, at + 24);
  bytes.writeDoubleLE(term, at + 28);
  return idAt + idBytes + metadataBytes + textBytes;
}

function writeUpsert(bytes: Buffer, at: number, operation: UpsertOperation): number {
  const { vector, metadata, text } = operation;
  // Typed arrays are little-endian in memory on every platform that this project's addon supports.
  bytes.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), at + UPSERT_BYTES);
  const idAt = at + UPSERT_BYTES + vector.byteLength;
  const idBytes = writeString(bytes, idAt, operation.externalId);
  const metadataBytes = writeString(bytes, idAt + idBytes, metadata);
  const textBytes = writeString(bytes, idAt + idBytes + metadataBytes, text);
  const flags = stringFlags(operation.externalId, 0, FLAG_ID_UTF16) | stringFlags(metadata, FLAG_METADATA, FLAG_METADATA_UTF16) | stringFlags(text, FLAG_TEXT, FLAG_TEXT_UTF16);
  bytes.writeUInt32LE(TYPE_UPSERT | (flags << 8), at);
  bytes.writeUInt32LE(idBytes, at + 4);
  bytes.writeDoubleLE(operation.stamp, at + 8);
  bytes.writeUInt32LE(vector.length, at + 16);
  bytes.writeUInt32LE(metadataBytes, at + 20);
  bytes.writeUInt32LE(textBytes, at + 24);
  return idAt + idBytes + metadataBytes + textBytes;
}

function writePatch(bytes: Buffer, at: number, operation: PatchOperation, filter: FilterToWrite, isSame: boolean): number {
  const { externalId, metadata, text, vector = new Float32Array(0) } = operation;
  bytes.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), at + PATCH_BYTES);
  const hasFilter = filter !== undefined && filter !== 'same';
  const json = isSame ? undefined : metadata?.json;
  const idAt = at + PATCH_BYTES + vector.byteLength;
  const idBytes = writeString(bytes, idAt, externalId);
  const metadataBytes = writeString(bytes, idAt + idBytes, json);
  const textAt = idAt + idBytes + metadataBytes;
  const textBytes = writeString(bytes, textAt, text);
  const filterBytes = hasFilter ? bytes.write(filter, textAt + textBytes, 'utf8') : 0;
  let flags = stringFlags(externalId, 0, FLAG_ID_UTF16) | stringFlags(json, FLAG_METADATA, FLAG_METADATA_UTF16) | stringFlags(text, FLAG_TEXT, FLAG_TEXT_UTF16);
  flags |= (hasFilter ? FLAG_FILTER : 0) | (filter === 'same' ? FLAG_SAME_FILTER : 0) | (isSame ? FLAG_SAME_METADATA : 0) | (!isSame && metadata?.replaces === true ? FLAG_REPLACES : 0);
  bytes.writeUInt32LE((TYPE_PATCH | (flags << 8)) >>> 0, at);
  for (const [i, number] of [idBytes, vector.length, metadataBytes, textBytes, filterBytes, metadata?.bytesMax ?? 0, metadata?.fieldsMax ?? 0].entries()) bytes.writeUInt32LE(number, at + 4 + i * 4);
  return textAt + textBytes + filterBytes;
}

function writeDelete(bytes: Buffer, at: number, operation: DeleteOperation, filter: FilterToWrite): number {
  const hasFilter = filter !== undefined && filter !== 'same';
  const idAt = at + DELETE_BYTES + (hasFilter ? 4 : 0);
  const idBytes = writeString(bytes, idAt, operation.externalId);
  const flags = stringFlags(operation.externalId, 0, FLAG_ID_UTF16) | (hasFilter ? FLAG_FILTER : 0) | (filter === 'same' ? FLAG_SAME_FILTER : 0);
  bytes.writeUInt32LE(TYPE_DELETE | (flags << 8), at);
  bytes.writeUInt32LE(idBytes, at + 4);
  if (!hasFilter) return idAt + idBytes;
  // JSON text is well-formed: JSON.stringify writes lone surrogates as escapes.
  const filterBytes = bytes.write(filter, idAt + idBytes, 'utf8');
  bytes.writeUInt32LE(filterBytes, at + DELETE_BYTES);
  return idAt + idBytes + filterBytes;
}

class OperationReader {
  private readonly bytes: Buffer;
  private at: number;
  /** The filter of the last delete or patch that had one, and the metadata of the last patch that had some. */
  private filter: Filter | undefined;
  private metadata: MetadataPatch | undefined;
  private readonly counted: boolean;

  constructor(bytes: Buffer, at: number, counted: boolean) {
    this.bytes = bytes;
    this.at = at;
    this.counted = counted;
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
    const plain = flags & ~more;
    if (type === TYPE_UPSERT && (plain & ~ITEM_FLAGS) === 0) return { type: 'upsert', ...this.item(start, UPSERT_BYTES, plain), ...this.condition(more) };
    if (type === TYPE_DELETE && (plain & ~DELETE_FLAGS) === 0) return { ...this.delete(start, plain), ...this.condition(more) };
    if (type === TYPE_STAGE && (plain & ~FLAG_ID_UTF16) === 0) return { ...this.stage(start, plain), ...(more === 0 ? {} : { versionFloor: this.version() }) };
    if (type === TYPE_IMPORT && (plain & ~ITEM_FLAGS) === 0) return this.import(start, plain, more);
    if (this.counted && type === TYPE_PATCH && (plain & ~PATCH_FLAGS) === 0) return { ...this.patch(start, plain), ...this.condition(more) };
    throw malformed('unknown type of operation');
  }

  private condition(flags: number): Conditional {
    if (flags === 0) return {};
    const expected = (flags & FLAG_NUMBER) === 0 ? undefined : this.number();
    if (expected !== undefined && expected < ANY_VERSION) throw malformed('a condition that is none');
    return { ...(expected === undefined ? {} : { expected }), ...((flags & FLAG_ALONE) === 0 ? {} : { alone: true }) };
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
    if (!Number.isSafeInteger(term) || !Number.isSafeInteger(forget) || stage === undefined) throw malformed('a stage that is none');
    this.need(start, STAGE_BYTES + reshardBytes);
    this.end(start + STAGE_BYTES + reshardBytes);
    return { type: 'stage', term, reshard: this.string(start + STAGE_BYTES, reshardBytes, flags & FLAG_ID_UTF16), stage, forget };
  }

  private import(start: number, flags: number, more: number): ImportOperation {
    const { bytes } = this;
    this.need(start, IMPORT_BYTES);
    const term = bytes.readDoubleLE(start + 28);
    const item = this.item(start, IMPORT_BYTES, flags);
    if (!Number.isSafeInteger(term)) throw malformed('a term that is none');
    const { externalId, vector, stamp, metadata, text = null } = item;
    const version = more === 0 ? {} : { version: this.version() };
    return { type: 'import', term, externalId, item: metadata === undefined ? null : { vector, stamp, metadata, text, ...version } };
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
    const [idBytes, dim, metadataBytes, textBytes, filterBytes, bytesMax, fieldsMax] = Array.from({ length: 7 }, (_, i) => bytes.readUInt32LE(start + 4 + i * 4));
    const hasMetadata = (flags & FLAG_METADATA) !== 0;
    const hasText = (flags & FLAG_TEXT) !== 0;
    const hasFilter = (flags & FLAG_FILTER) !== 0;
    const isFiltered = hasFilter || (flags & FLAG_SAME_FILTER) !== 0;
    const isSame = (flags & FLAG_SAME_METADATA) !== 0;
    if ((!hasMetadata && metadataBytes > 0) || (!hasText && textBytes > 0) || (!hasFilter && filterBytes > 0) || (hasMetadata && isSame)) throw malformed('a string that is not announced');
    const idAt = start + PATCH_BYTES + dim * 4;
    const metadataAt = idAt + idBytes;
    const textAt = metadataAt + metadataBytes;
    const filterAt = textAt + textBytes;
    this.need(start, filterAt + filterBytes - start);
    if (hasFilter) this.filter = filterFromText(this.string(filterAt, filterBytes, 0));
    if (isFiltered && this.filter === undefined) throw malformed('a filter that is none, or is not there');
    if (hasMetadata) this.metadata = { json: this.string(metadataAt, metadataBytes, flags & FLAG_METADATA_UTF16), replaces: (flags & FLAG_REPLACES) !== 0, bytesMax, fieldsMax };
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
  private item(start: number, headBytes: number, flags: number): Omit<UpsertOperation, 'type'> {
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
    if ((!hasMetadata && metadataBytes > 0) || (!hasText && textBytes > 0)) throw malformed('a string that is not announced');
    const length = headBytes + vectorBytes + idBytes + metadataBytes + textBytes;
    this.need(start, length);
    const idAt = start + headBytes + vectorBytes;
    const metadataAt = idAt + idBytes;
    const textAt = metadataAt + metadataBytes;
    this.end(start + length);
    return {
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
    return start % 4 === 0 ? new Float32Array(buffer, start, length / 4) : new Float32Array(buffer.slice(start, start + length));
  }

  private string(at: number, length: number, isUtf16: number): string {
    if (isUtf16 !== 0) {
      if (length % 2 !== 0) throw malformed('half a code unit');
      return this.bytes.toString('utf16le', at, at + length);
    }
    const text = this.bytes.toString('utf8', at, at + length);
    // Bytes that are not UTF-8 decode to U+FFFD, but that character may also be in the text itself.
    if (text.includes('\ufffd') && !isUtf8(this.bytes.subarray(at, at + length))) throw malformed('a string that is no UTF-8');
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

function aligned(bytes: number): number {
  return Math.ceil(bytes / 4) * 4;
}

function malformed(what: string): QuiverError {
  return new QuiverError('internal', `malformed operations: ${what}`);
}
