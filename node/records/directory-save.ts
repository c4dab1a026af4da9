import { COLUMN_NAMES, type DirectoryColumns, type DirectoryPage, SLOT_BYTES, columnsFromPages, columnsOf } from './directory-pages';

const MAGIC = 0x32524944;
/** Of a save with a further column: when items expire. Only of a directory that has such items. */
const EXPIRING_MAGIC = 0x33524944;
/** Of a save without versions, which had none to save. */
const UNVERSIONED_MAGIC = 0x31524944;
const HEADER_BYTES = 24;

/**
 * The saved form: u32 magic, u32 slots, f64 highest stamp, u32 chunk count, u32 0, the columns one after the other, with
 * EXPIRING_MAGIC f64 expiry of each slot,
 * then for each chunk u32 length (0 for a dropped one) and its bytes. The columns are copied now. Chunks of the arena
 * only get new bytes at their end, so they are read later without copying.
 */
export function directoryChunks(pages: readonly DirectoryPage[], chunks: (Buffer | null)[], facts: { highestStamp: number; expiries: Float64Array | null }): Iterable<Buffer> {
  const copy = columnsFromPages(pages);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(facts.expiries === null ? MAGIC : EXPIRING_MAGIC, 0);
  header.writeUInt32LE(copy.flags.length, 4);
  header.writeDoubleLE(facts.highestStamp, 8);
  header.writeUInt32LE(chunks.length, 16);
  return (function* () {
    yield header;
    for (const name of COLUMN_NAMES) yield Buffer.from(copy[name].buffer);
    if (facts.expiries !== null) yield Buffer.from(facts.expiries.buffer);
    for (const chunk of chunks) {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(chunk?.length ?? 0, 0);
      yield length;
      if (chunk !== null) yield chunk;
    }
  })();
}

export interface SavedDirectory {
  columns: DirectoryColumns;
  chunks: (Buffer | null)[];
  highestStamp: number;
  /** null: no item expires. */
  expiries: Float64Array | null;
}

/** The chunks are views of `bytes`. Errors: those of malformed bytes, as a plain Error. */
export function readDirectory(bytes: Buffer): SavedDirectory {
  const magic = bytes.length < HEADER_BYTES ? 0 : bytes.readUInt32LE(0);
  if (magic !== MAGIC && magic !== UNVERSIONED_MAGIC && magic !== EXPIRING_MAGIC) throw new Error('saved directory: unknown format');
  let at = HEADER_BYTES;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error('saved directory: ends early');
    at += length;
    return bytes.subarray(at - length, at);
  };
  const slots = bytes.readUInt32LE(4);
  const isSaved = (name: (typeof COLUMN_NAMES)[number]): boolean => magic !== UNVERSIONED_MAGIC || name !== 'versions';
  if (slots * (magic === UNVERSIONED_MAGIC ? SLOT_BYTES - Float64Array.BYTES_PER_ELEMENT : SLOT_BYTES) > bytes.length) throw new Error('saved directory: ends early');
  const columns = columnsOf(slots);
  for (const name of COLUMN_NAMES) if (isSaved(name)) new Uint8Array(columns[name].buffer).set(take(columns[name].byteLength));
  let expiries: Float64Array | null = null;
  if (magic === EXPIRING_MAGIC) {
    const saved = take(slots * Float64Array.BYTES_PER_ELEMENT);
    expiries = new Float64Array(slots);
    new Uint8Array(expiries.buffer).set(saved);
  }
  const chunks: (Buffer | null)[] = [];
  for (let i = bytes.readUInt32LE(16); i > 0; i--) {
    const length = take(4).readUInt32LE(0);
    chunks.push(length === 0 ? null : take(length));
  }
  if (at !== bytes.length) throw new Error('saved directory: bytes after its end');
  return { columns, chunks, highestStamp: bytes.readDoubleLE(8), expiries };
}
