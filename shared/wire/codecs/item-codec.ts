import { QuiverError } from '../../base/errors/quiver-error';
import type { StoredItem } from '../../contract/shard/shard-read';
import { encodingOf } from '../../base/text/text-encoding';

/**
 * Items, some of which may be absent, as bytes: as in shared/wire/codecs/hit-codec.ts, with the vectors between heads
 * and strings.
 *
 *   u32 number of items, u32 number of floats in all, u32 encoding of the strings (0 UTF-8, 1 UTF-16), and 2 more if
 *   there are versions, 4 more if some items expire, 8 more if some versions tell when items changed
 *   each: f64 stamp, u32 length of id (NONE: no item), u32 length of metadata, u32 length of text (NONE: null),
 *         u32 dim (NONE: no vector), [f64 version (0: none)], [f64 expiry (expiry.ts)],
 *         [u32 1: its version tells when it changed]
 *   the vectors, f32
 *   id, metadata, text of the first item, then of the second, …
 */
const HEADER_BYTES = 12;
const ITEM_BYTES = 24;
const VERSION_BYTES = 8;
const EXPIRY_BYTES = 8;
const DATED_BYTES = 4;
const IS_UTF16 = 1;
const HAS_VERSIONS = 2;
const HAS_EXPIRIES = 4;
const HAS_DATES = 8;
const NONE = 0xffffffff;

export function itemsToBytes(items: readonly (StoredItem | null)[]): Buffer {
  const strings: string[] = [];
  let floats = 0;
  let hasVersions = false;
  let hasExpiries = false;
  let hasDates = false;
  for (const item of items) {
    if (item === null) continue;
    if (item.version !== undefined) hasVersions = true;
    if (item.expiry !== undefined) hasExpiries = true;
    if (item.dated === true) hasDates = true;
    strings.push(item.externalId, item.metadata, item.text ?? '');
    floats += item.vector?.length ?? 0;
  }
  const text = strings.join('');
  const expiryAt = ITEM_BYTES + (hasVersions ? VERSION_BYTES : 0);
  const datedAt = expiryAt + (hasExpiries ? EXPIRY_BYTES : 0);
  const headBytes = datedAt + (hasDates ? DATED_BYTES : 0);
  const vectorsAt = HEADER_BYTES + items.length * headBytes;
  const stringsAt = vectorsAt + floats * 4;
  const encoding = encodingOf(text);
  const bytes = Buffer.allocUnsafe(stringsAt + Buffer.byteLength(text, encoding));
  bytes.fill(0, 0, vectorsAt);
  bytes.writeUInt32LE(items.length, 0);
  bytes.writeUInt32LE(floats, 4);
  bytes.writeUInt32LE(
    (encoding === 'utf8' ? 0 : IS_UTF16) |
      (hasVersions ? HAS_VERSIONS : 0) |
      (hasExpiries ? HAS_EXPIRIES : 0) |
      (hasDates ? HAS_DATES : 0),
    8,
  );
  let at = HEADER_BYTES;
  let vectorAt = vectorsAt;
  for (const item of items) {
    writeHead(bytes, at, item);
    if (hasVersions) bytes.writeDoubleLE(item?.version ?? 0, at + ITEM_BYTES);
    if (hasExpiries) bytes.writeDoubleLE(item?.expiry ?? 0, at + expiryAt);
    if (hasDates) bytes.writeUInt32LE(item?.dated === true ? 1 : 0, at + datedAt);
    at += headBytes;
    const vector = item?.vector;
    if (vector === undefined) continue;
    bytes.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), vectorAt);
    vectorAt += vector.byteLength;
  }
  bytes.write(text, stringsAt, encoding);
  return bytes;
}

function writeHead(bytes: Buffer, at: number, item: StoredItem | null): void {
  if (item === null) {
    bytes.writeUInt32LE(NONE, at + 8);
    return;
  }
  bytes.writeDoubleLE(item.stamp, at);
  bytes.writeUInt32LE(item.externalId.length, at + 8);
  bytes.writeUInt32LE(item.metadata.length, at + 12);
  bytes.writeUInt32LE(item.text === null ? NONE : item.text.length, at + 16);
  bytes.writeUInt32LE(item.vector === undefined ? NONE : item.vector.length, at + 20);
}

/** The items that `bytes` hold; all vectors are views of one copy. Errors: internal when the bytes are malformed. */
export function itemsFromBytes(bytes: Buffer): (StoredItem | null)[] {
  if (bytes.length < HEADER_BYTES) throw malformed();
  const count = bytes.readUInt32LE(0);
  const floatCount = bytes.readUInt32LE(4);
  const form = bytes.readUInt32LE(8);
  if (form > (IS_UTF16 | HAS_VERSIONS | HAS_EXPIRIES | HAS_DATES)) throw malformed();
  const hasVersions = (form & HAS_VERSIONS) !== 0;
  const expiryAt = ITEM_BYTES + (hasVersions ? VERSION_BYTES : 0);
  const hasExpiries = (form & HAS_EXPIRIES) !== 0;
  const datedAt = expiryAt + (hasExpiries ? EXPIRY_BYTES : 0);
  const hasDates = (form & HAS_DATES) !== 0;
  const headBytes = datedAt + (hasDates ? DATED_BYTES : 0);
  const vectorsAt = HEADER_BYTES + count * headBytes;
  const stringsAt = vectorsAt + floatCount * 4;
  if (stringsAt > bytes.length) throw malformed();
  const floats = new Float32Array(bytes.buffer.slice(bytes.byteOffset + vectorsAt, bytes.byteOffset + stringsAt));
  const strings = bytes.toString((form & IS_UTF16) === 0 ? 'utf8' : 'utf16le', stringsAt);
  const items: (StoredItem | null)[] = new Array(count);
  let from = 0;
  let floatAt = 0;
  for (let i = 0, at = HEADER_BYTES; i < count; i++, at += headBytes) {
    const idLength = bytes.readUInt32LE(at + 8);
    if (idLength === NONE) {
      items[i] = null;
      continue;
    }
    const metadataAt = from + idLength;
    const textAt = metadataAt + bytes.readUInt32LE(at + 12);
    const textLength = bytes.readUInt32LE(at + 16);
    const dim = bytes.readUInt32LE(at + 20);
    const end = textLength === NONE ? textAt : textAt + textLength;
    const item: StoredItem = {
      externalId: strings.slice(from, metadataAt),
      stamp: bytes.readDoubleLE(at),
      metadata: strings.slice(metadataAt, textAt),
      text: textLength === NONE ? null : strings.slice(textAt, end),
    };
    const version = hasVersions ? bytes.readDoubleLE(at + ITEM_BYTES) : 0;
    if (version > 0) item.version = version;
    const expiry = hasExpiries ? bytes.readDoubleLE(at + expiryAt) : 0;
    if (expiry !== 0) item.expiry = expiry;
    if (hasDates && bytes.readUInt32LE(at + datedAt) !== 0) item.dated = true;
    if (dim !== NONE) {
      item.vector = floats.subarray(floatAt, floatAt + dim);
      floatAt += dim;
    }
    from = end;
    items[i] = item;
  }
  if (from !== strings.length || floatAt !== floatCount) throw malformed();
  return items;
}

function malformed(): QuiverError {
  return new QuiverError('internal', 'malformed items');
}
