import type { Expiry } from '../../../shared/contract/writes/expiry';
import { encodingOf } from '../../../shared/base/text/text-encoding';

/**
 * Bytes of one stored version of an item: the value of a `d` key. Little-endian.
 * ```
 * u8 format | u8 flags | u16 0 | u32 slot | f64 stamp | u32 id bytes | u32 metadata bytes | u32 text bytes | u32 dim
 * [f64 version |] [f64 expiry |] id | metadata (UTF-8 JSON) | text | vector (float32 × dim)
 * ```
 * Format 1 has no version: it is what a shard stores before it counts versions. Format 2 has one. Format 3 has a
 * version (0 for none) and when the item expires (expiry.ts); it is only for items that do.
 * Flags: 1 the item has a text, 2 the id is UTF-16, 4 the text is UTF-16 (both UTF-8 otherwise: UTF-16 is for strings
 * with lone surrogates, which UTF-8 can't carry), 8 the version tells when the item changed (stamp-time.ts); a program
 * that does not know this flag ignores it.
 */
export interface ItemRecord {
  externalId: string;
  slot: number;
  stamp: number;
  /** 0: it was stored before versions were counted. */
  version: number;
  /** Left out, or 0: never. */
  expiry?: Expiry | undefined;
  /** Whether the version tells when it changed. */
  dated?: boolean | undefined;
  /** JSON object text. */
  metadata: string;
  text: string | null;
  vector: Float32Array;
}

/**
 * A version that writes another one says so in the shard's specification first (shard-format.ts). So here, others are
 * damage.
 */
const PLAIN_FORMAT = 1;
const VERSIONED_FORMAT = 2;
const EXPIRING_FORMAT = 3;
/** Without the version. */
const HEADER_BYTES = 32;
const VERSION_BYTES = 8;
const EXPIRY_BYTES = 8;
const SLOT_OFFSET = 4;
const STAMP_OFFSET = 8;
const HAS_TEXT = 1;
const ID_IS_UTF16 = 2;
const TEXT_IS_UTF16 = 4;
const IS_DATED = 8;

/** The item as bytes. */
export function recordToBytes(record: ItemRecord): Buffer {
  const bytes = Buffer.allocUnsafe(recordRoom(record));
  return bytes.subarray(0, writeRecord(record, bytes, 0));
}

/** The record has at most so many bytes: a unit of UTF-16 takes three in UTF-8. */
export function recordRoom({ externalId, metadata, text, vector }: ItemRecord): number {
  return (
    HEADER_BYTES +
    VERSION_BYTES +
    EXPIRY_BYTES +
    (externalId.length + metadata.length + (text?.length ?? 0)) * 3 +
    vector.byteLength
  );
}

/** Writes the record to `bytes` from `start` on, where there is {@link recordRoom}; answers how many bytes it has. */
export function writeRecord(record: ItemRecord, bytes: Buffer, start: number): number {
  const { externalId, metadata, text, vector } = record;
  const idEncoding = encodingOf(externalId);
  const textEncoding = text === null ? 'utf8' : encodingOf(text);
  const format = record.expiry ? EXPIRING_FORMAT : record.version === 0 ? PLAIN_FORMAT : VERSIONED_FORMAT;
  const idAt = start + headerBytesOf(format);
  const metadataAt = idAt + bytes.write(externalId, idAt, idEncoding);
  const textAt = metadataAt + bytes.write(metadata, metadataAt);
  const vectorAt = textAt + (text === null ? 0 : bytes.write(text, textAt, textEncoding));
  bytes.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), vectorAt);
  bytes[start] = format;
  bytes[start + 1] =
    (text === null ? 0 : HAS_TEXT) |
    (idEncoding === 'utf16le' ? ID_IS_UTF16 : 0) |
    (textEncoding === 'utf16le' ? TEXT_IS_UTF16 : 0) |
    (record.dated === true ? IS_DATED : 0);
  bytes.writeUInt16LE(0, start + 2);
  bytes.writeUInt32LE(record.slot, start + SLOT_OFFSET);
  bytes.writeDoubleLE(record.stamp, start + STAMP_OFFSET);
  bytes.writeUInt32LE(metadataAt - idAt, start + 16);
  bytes.writeUInt32LE(textAt - metadataAt, start + 20);
  bytes.writeUInt32LE(vectorAt - textAt, start + 24);
  bytes.writeUInt32LE(vector.length, start + 28);
  if (format !== PLAIN_FORMAT) bytes.writeDoubleLE(record.version, start + HEADER_BYTES);
  if (record.expiry) bytes.writeDoubleLE(record.expiry, start + HEADER_BYTES + VERSION_BYTES);
  return vectorAt + vector.byteLength - start;
}

/** The item in these bytes. Errors: those of malformed bytes, as a plain Error. */
export function recordFromBytes(bytes: Buffer): ItemRecord {
  const layout = layoutOf(bytes);
  const vector = new Float32Array(layout.dim);
  new Uint8Array(vector.buffer).set(bytes.subarray(layout.vectorAt, layout.vectorAt + layout.dim * 4));
  return {
    externalId: bytes.toString(layout.flags & ID_IS_UTF16 ? 'utf16le' : 'utf8', layout.idAt, layout.metadataAt),
    slot: bytes.readUInt32LE(SLOT_OFFSET),
    stamp: bytes.readDoubleLE(STAMP_OFFSET),
    version: versionIn(bytes, layout),
    ...(bytes[0] === EXPIRING_FORMAT ? { expiry: bytes.readDoubleLE(HEADER_BYTES + VERSION_BYTES) } : {}),
    ...(layout.flags & IS_DATED ? { dated: true } : {}),
    metadata: bytes.toString('utf8', layout.metadataAt, layout.textAt),
    text: textIn(bytes, layout),
    vector,
  };
}

/** Only the text: cheaper than decoding the whole record. */
export function textFromRecordBytes(bytes: Buffer): string | null {
  return textIn(bytes, layoutOf(bytes));
}

/**
 * A copy of the bytes without what depends on where the item is stored: equal for equal items. Errors: as
 * recordFromBytes.
 */
export function contentOfRecordBytes(bytes: Buffer): Buffer {
  layoutOf(bytes);
  const content = Buffer.from(bytes);
  content.writeUInt32LE(0, SLOT_OFFSET);
  return content;
}

/** Where the item belongs, of bytes that need not be understood further. Errors: as recordFromBytes. */
export function positionOfRecordBytes(bytes: Buffer): Pick<ItemRecord, 'externalId' | 'stamp' | 'version'> {
  const layout = layoutOf(bytes);
  const { flags, idAt, metadataAt } = layout;
  return {
    externalId: bytes.toString(flags & ID_IS_UTF16 ? 'utf16le' : 'utf8', idAt, metadataAt),
    stamp: bytes.readDoubleLE(STAMP_OFFSET),
    version: versionIn(bytes, layout),
  };
}

/** Puts the record into another slot. */
export function moveRecordBytes(bytes: Buffer, slot: number): void {
  bytes.writeUInt32LE(slot, SLOT_OFFSET);
}

interface Layout {
  flags: number;
  dim: number;
  idAt: number;
  metadataAt: number;
  textAt: number;
  vectorAt: number;
}

function layoutOf(bytes: Buffer): Layout {
  if (
    bytes.length < HEADER_BYTES ||
    bytes[0] < PLAIN_FORMAT ||
    bytes[0] > EXPIRING_FORMAT ||
    bytes.length < headerBytesOf(bytes[0])
  )
    throw new Error('record: no record');
  const idAt = headerBytesOf(bytes[0]);
  const metadataAt = idAt + bytes.readUInt32LE(16);
  const textAt = metadataAt + bytes.readUInt32LE(20);
  const vectorAt = textAt + bytes.readUInt32LE(24);
  const dim = bytes.readUInt32LE(28);
  if (vectorAt + dim * 4 !== bytes.length) throw new Error('record: wrong length');
  return { flags: bytes[1], dim, idAt, metadataAt, textAt, vectorAt };
}

function headerBytesOf(format: number): number {
  return HEADER_BYTES + (format === PLAIN_FORMAT ? 0 : VERSION_BYTES) + (format === EXPIRING_FORMAT ? EXPIRY_BYTES : 0);
}

function versionIn(bytes: Buffer, { idAt }: Layout): number {
  return idAt === HEADER_BYTES ? 0 : bytes.readDoubleLE(HEADER_BYTES);
}

function textIn(bytes: Buffer, layout: Layout): string | null {
  if ((layout.flags & HAS_TEXT) === 0) return null;
  return bytes.toString(layout.flags & TEXT_IS_UTF16 ? 'utf16le' : 'utf8', layout.textAt, layout.vectorAt);
}

/** What one batch did to the slots: after a crash, it shows in which slots a checkpoint may be wrong. */
export interface JournalEntry {
  freedSlots: number[];
  /** Slots that got an item, with its record number. */
  filledSlots: readonly { slot: number; recno: number }[];
}

/** u32 freed count, u32 filled count, u32 slots freed, then (u32 slot, f64 recno) filled. */
export function journalToBytes(entry: JournalEntry): Buffer {
  const { freedSlots, filledSlots } = entry;
  const bytes = Buffer.allocUnsafe(8 + freedSlots.length * 4 + filledSlots.length * 12);
  bytes.writeUInt32LE(freedSlots.length, 0);
  bytes.writeUInt32LE(filledSlots.length, 4);
  let at = 8;
  for (const slot of freedSlots) at = bytes.writeUInt32LE(slot, at);
  for (const { slot, recno } of filledSlots) {
    at = bytes.writeUInt32LE(slot, at);
    at = bytes.writeDoubleLE(recno, at);
  }
  return bytes;
}

/** Errors: those of bytes with another length than they announce, as a plain Error. */
export function journalFromBytes(bytes: Buffer): JournalEntry {
  const freedCount = bytes.readUInt32LE(0);
  const filledCount = bytes.readUInt32LE(4);
  if (bytes.length !== 8 + freedCount * 4 + filledCount * 12) throw new Error('journal entry: wrong length');
  const freedSlots = Array.from({ length: freedCount }, (_, i) => bytes.readUInt32LE(8 + i * 4));
  const from = 8 + freedCount * 4;
  const filledSlots = Array.from({ length: filledCount }, (_, i) => ({
    slot: bytes.readUInt32LE(from + i * 12),
    recno: bytes.readDoubleLE(from + i * 12 + 4),
  }));
  return { freedSlots, filledSlots };
}
