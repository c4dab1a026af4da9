import type { Filter } from '../filter/filter';
import { filterToText } from '../filter/filter-text';
import { encodingOf } from '../../base/text/text-encoding';
import {
  DELETE_BYTES,
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
  DEDUP_BYTES,
  NUMBER_BYTES,
  PATCH_BYTES,
  STAGE_BYTES,
  TYPE_DELETE,
  TYPE_EXPIRE,
  TYPE_IMPORT,
  TYPE_DEDUP,
  TYPE_PATCH,
  TYPE_STAGE,
  TYPE_UPSERT,
  UPSERT_BYTES,
} from './operation-format';
import type {
  DeleteOperation,
  ExpireOperation,
  ImportOperation,
  DedupOperation,
  MetadataPatch,
  PatchOperation,
  StageOperation,
  UpsertOperation,
  WriteOperation,
} from '../shard/shard-client';
import { SHARD_STAGES } from '../shard/shard-stage';

/**
 * The filter of a delete or a patch: its JSON, the word `same` (which is not JSON) for the filter of the one before, or
 * none.
 */
export type FilterToWrite = string | undefined;

export function filtersToWrite(operations: readonly WriteOperation[]): FilterToWrite[] {
  let previous: Filter | undefined;
  return operations.map((operation) => {
    if ((operation.type !== 'delete' && operation.type !== 'patch') || operation.filter === undefined) return undefined;
    if (operation.filter === previous) return 'same';
    previous = operation.filter;
    return filterToText(previous);
  });
}

/** Of each operation, whether it is a patch with the metadata of the patch before: thousands may share some. */
export function metadataRepeated(operations: readonly WriteOperation[]): boolean[] {
  let previous: MetadataPatch | undefined;
  return operations.map((operation) => {
    if (operation.type !== 'patch' || operation.metadata === undefined) return false;
    const isSame = operation.metadata === previous;
    previous = operation.metadata;
    return isSame;
  });
}

export function operationBytes(operation: WriteOperation, filter: FilterToWrite, isSame: boolean): number {
  if (operation.type === 'stage') return STAGE_BYTES + stringBytes(operation.reshard);
  if (operation.type === 'dedup') return DEDUP_BYTES + stringBytes(operation.note);
  if (operation.type === 'import') {
    const { externalId, item } = operation;
    return (
      IMPORT_BYTES +
      stringBytes(externalId) +
      (item === null ? 0 : item.vector.byteLength + stringBytes(item.metadata) + stringBytes(item.text ?? undefined))
    );
  }
  const idBytes = stringBytes(operation.externalId);
  if (operation.type === 'expire') return EXPIRE_BYTES + idBytes;
  if (operation.type === 'patch') {
    const { vector, metadata, text } = operation;
    return (
      PATCH_BYTES +
      (vector?.byteLength ?? 0) +
      idBytes +
      (isSame ? 0 : stringBytes(metadata?.json)) +
      stringBytes(text) +
      (filter === undefined || filter === 'same' ? 0 : Buffer.byteLength(filter))
    );
  }
  if (operation.type === 'delete')
    return DELETE_BYTES + idBytes + (filter === undefined || filter === 'same' ? 0 : 4 + Buffer.byteLength(filter));
  const { vector, metadata, text } = operation;
  return UPSERT_BYTES + vector.byteLength + idBytes + stringBytes(metadata) + stringBytes(text);
}

/** What stands behind an operation. */
export function numberOf(operation: WriteOperation): number | undefined {
  if (operation.type === 'stage') return operation.versionFloor;
  if (operation.type === 'dedup' || operation.type === 'expire') return undefined;
  return operation.type === 'import' ? operation.item?.version : operation.expected;
}

/**
 * Puts the number of the operation at `start` to its end, and the flags that belong to it into its head. Answers the
 * end.
 */
export function writeNumber(bytes: Buffer, start: number, end: number, operation: WriteOperation): number {
  const number = numberOf(operation);
  const isAlone = 'alone' in operation && operation.alone === true;
  if (number === undefined && !isAlone) return end;
  const flags = (number === undefined ? 0 : FLAG_NUMBER) | (isAlone ? FLAG_ALONE : 0);
  bytes.writeUInt32LE((bytes.readUInt32LE(start) | (flags << 8)) >>> 0, start);
  return number === undefined ? end : bytes.writeDoubleLE(number, end);
}

/** Says of an import at `start` that its version tells when the item changed, if it does. */
export function writeDated(bytes: Buffer, start: number, operation: WriteOperation): void {
  if (operation.type !== 'import' || operation.item?.dated !== true) return;
  bytes.writeUInt32LE((bytes.readUInt32LE(start) | (FLAG_DATED << 8)) >>> 0, start);
}

/** What a write with a moment has behind an operation about when its item expires. */
function expiryOf(operation: WriteOperation): { expiry: number | undefined; ttl: number | undefined } {
  if (operation.type === 'import') return { expiry: operation.item?.expiry || undefined, ttl: undefined };
  if (operation.type !== 'upsert' && operation.type !== 'patch') return { expiry: undefined, ttl: undefined };
  return { expiry: operation.expiresAt === null ? 0 : operation.expiresAt, ttl: operation.ttlMs };
}

export function expiryBytes(operation: WriteOperation): number {
  const { expiry, ttl } = expiryOf(operation);
  return (expiry === undefined ? 0 : NUMBER_BYTES) + (ttl === undefined ? 0 : NUMBER_BYTES);
}

/** Puts it to the end of the operation at `start`, as {@link writeNumber}. */
export function writeExpiry(bytes: Buffer, start: number, end: number, operation: WriteOperation): number {
  const { expiry, ttl } = expiryOf(operation);
  if (expiry === undefined && ttl === undefined) return end;
  const flags = (expiry === undefined ? 0 : FLAG_EXPIRY) | (ttl === undefined ? 0 : FLAG_TTL);
  bytes.writeUInt32LE((bytes.readUInt32LE(start) | (flags << 8)) >>> 0, start);
  const at = expiry === undefined ? end : bytes.writeDoubleLE(expiry, end);
  return ttl === undefined ? at : bytes.writeDoubleLE(ttl, at);
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

export function writeOperation(
  bytes: Buffer,
  at: number,
  operation: WriteOperation,
  filter: FilterToWrite,
  isSame: boolean,
): number {
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
    case 'dedup':
      return writeDedup(bytes, at, operation);
    case 'expire':
      return writeExpire(bytes, at, operation);
  }
}

function writeDedup(
  bytes: Buffer,
  at: number,
  { token, digest, nowMs, keptMs, bytesMax, step, term, note }: DedupOperation,
): number {
  const noteBytes = writeString(bytes, at + DEDUP_BYTES, note);
  bytes.writeUInt32LE(TYPE_DEDUP | (stringFlags(note, 0, FLAG_NOTE_UTF16) << 8), at);
  bytes.writeUInt32LE(noteBytes, at + 4);
  for (const [i, number] of [nowMs, keptMs, bytesMax, step, term].entries())
    bytes.writeDoubleLE(number, at + 8 + i * 8);
  bytes.write(token, at + 48, 16, 'hex');
  bytes.write(digest, at + 64, 16, 'hex');
  return at + DEDUP_BYTES + noteBytes;
}

function writeExpire(bytes: Buffer, at: number, { externalId }: ExpireOperation): number {
  const idBytes = writeString(bytes, at + EXPIRE_BYTES, externalId);
  bytes.writeUInt32LE(TYPE_EXPIRE | (stringFlags(externalId, 0, FLAG_ID_UTF16) << 8), at);
  bytes.writeUInt32LE(idBytes, at + 4);
  return at + EXPIRE_BYTES + idBytes;
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
  const flags =
    stringFlags(externalId, 0, FLAG_ID_UTF16) |
    stringFlags(metadata, FLAG_METADATA, FLAG_METADATA_UTF16) |
    stringFlags(text, FLAG_TEXT, FLAG_TEXT_UTF16);
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
  const flags =
    stringFlags(operation.externalId, 0, FLAG_ID_UTF16) |
    stringFlags(metadata, FLAG_METADATA, FLAG_METADATA_UTF16) |
    stringFlags(text, FLAG_TEXT, FLAG_TEXT_UTF16);
  bytes.writeUInt32LE(TYPE_UPSERT | (flags << 8), at);
  bytes.writeUInt32LE(idBytes, at + 4);
  bytes.writeDoubleLE(operation.stamp, at + 8);
  bytes.writeUInt32LE(vector.length, at + 16);
  bytes.writeUInt32LE(metadataBytes, at + 20);
  bytes.writeUInt32LE(textBytes, at + 24);
  return idAt + idBytes + metadataBytes + textBytes;
}

function writePatch(
  bytes: Buffer,
  at: number,
  operation: PatchOperation,
  filter: FilterToWrite,
  isSame: boolean,
): number {
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
  let flags =
    stringFlags(externalId, 0, FLAG_ID_UTF16) |
    stringFlags(json, FLAG_METADATA, FLAG_METADATA_UTF16) |
    stringFlags(text, FLAG_TEXT, FLAG_TEXT_UTF16);
  flags |=
    (hasFilter ? FLAG_FILTER : 0) |
    (filter === 'same' ? FLAG_SAME_FILTER : 0) |
    (isSame ? FLAG_SAME_METADATA : 0) |
    (!isSame && metadata?.replaces === true ? FLAG_REPLACES : 0);
  bytes.writeUInt32LE((TYPE_PATCH | (flags << 8)) >>> 0, at);
  for (const [i, number] of [
    idBytes,
    vector.length,
    metadataBytes,
    textBytes,
    filterBytes,
    metadata?.bytesMax ?? 0,
    metadata?.fieldsMax ?? 0,
  ].entries())
    bytes.writeUInt32LE(number, at + 4 + i * 4);
  return textAt + textBytes + filterBytes;
}

function writeDelete(bytes: Buffer, at: number, operation: DeleteOperation, filter: FilterToWrite): number {
  const hasFilter = filter !== undefined && filter !== 'same';
  const idAt = at + DELETE_BYTES + (hasFilter ? 4 : 0);
  const idBytes = writeString(bytes, idAt, operation.externalId);
  const flags =
    stringFlags(operation.externalId, 0, FLAG_ID_UTF16) |
    (hasFilter ? FLAG_FILTER : 0) |
    (filter === 'same' ? FLAG_SAME_FILTER : 0);
  bytes.writeUInt32LE(TYPE_DELETE | (flags << 8), at);
  bytes.writeUInt32LE(idBytes, at + 4);
  if (!hasFilter) return idAt + idBytes;
  // JSON text is well-formed: JSON.stringify writes lone surrogates as escapes.
  const filterBytes = bytes.write(filter, idAt + idBytes, 'utf8');
  bytes.writeUInt32LE(filterBytes, at + DELETE_BYTES);
  return idAt + idBytes + filterBytes;
}
