import type { ByteArena } from '../records/byte-arena';
import {
  COLUMN_NAMES,
  type DirectoryPage,
  directoryPage,
  PAGE_SLOTS,
  SLOT_BYTES,
  columnsFromPages,
} from './directory-pages';

const MAGIC = 0x32524944;
/** Of a save with a further column: when items expire. Only of a directory that has such items. */
const EXPIRING_MAGIC = 0x33524944;
/** Of a save without versions, which had none to save. */
const UNVERSIONED_MAGIC = 0x31524944;
const HEADER_BYTES = 24;

/**
 * The saved form: u32 magic, u32 slots, f64 highest stamp, u32 chunk count, u32 0, the columns one after the other,
 * with EXPIRING_MAGIC f64 expiry of each slot,
 * then for each chunk u32 length (0 for a dropped one) and its bytes. `slots`: those from there on are empty. The
 * columns are copied now. Chunks of the arena only get new bytes at their end, so they are read later without copying.
 */
export function directoryChunks(
  pages: readonly DirectoryPage[],
  slots: number,
  { chunks, end }: ReturnType<ByteArena['snapshot']>,
  facts: { highestStamp: number; expiries: Float64Array | null },
): Iterable<Buffer> {
  const copy = columnsFromPages(pages, slots);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(facts.expiries === null ? MAGIC : EXPIRING_MAGIC, 0);
  header.writeUInt32LE(copy.flags.length, 4);
  header.writeDoubleLE(facts.highestStamp, 8);
  header.writeUInt32LE(chunks.length, 16);
  return (function* () {
    try {
      yield header;
      for (const name of COLUMN_NAMES) yield Buffer.from(copy[name].buffer);
      if (facts.expiries !== null) yield Buffer.from(facts.expiries.buffer);
      for (const chunk of chunks) {
        const length = Buffer.alloc(4);
        length.writeUInt32LE(chunk?.length ?? 0, 0);
        yield length;
        if (chunk !== null) yield Buffer.isBuffer(chunk) ? chunk : chunk.read();
      }
    } finally {
      end();
    }
  })();
}

export interface SavedDirectory {
  pages: DirectoryPage[];
  highestStamp: number;
  /** null: no item expires. */
  expiries: Float64Array | null;
}

/** The bytes of a save, from the first to the last. */
export interface SavedBytes {
  /** Of all of it. */
  readonly size: number;
  /** The next `length` bytes, until the next call. Rejects where there are not so many. */
  take(length: number): Buffer | Promise<Buffer>;
}

/**
 * Reads a save in parts, so that its size in memory once is all that it takes; chunks are passed on in their order,
 * null for a dropped one. Errors: those of malformed bytes, as a plain Error.
 */
export async function readDirectory(
  saved: SavedBytes,
  onChunk: (chunk: Buffer | null) => void,
): Promise<SavedDirectory> {
  let left = saved.size;
  const take = (length: number): Buffer | Promise<Buffer> => {
    if (length > left) throw new Error('saved directory: ends early');
    left -= length;
    return saved.take(length);
  };
  if (saved.size < HEADER_BYTES) throw new Error('saved directory: unknown format');
  const header = await take(HEADER_BYTES);
  const [magic, slots, highestStamp, chunkCount] = [
    header.readUInt32LE(0),
    header.readUInt32LE(4),
    header.readDoubleLE(8),
    header.readUInt32LE(16),
  ];
  if (magic !== MAGIC && magic !== UNVERSIONED_MAGIC && magic !== EXPIRING_MAGIC)
    throw new Error('saved directory: unknown format');
  if (slots * (magic === UNVERSIONED_MAGIC ? SLOT_BYTES - Float64Array.BYTES_PER_ELEMENT : SLOT_BYTES) > left)
    throw new Error('saved directory: ends early');
  const pages = Array.from({ length: Math.ceil(slots / PAGE_SLOTS) }, () => directoryPage());
  for (const name of COLUMN_NAMES) {
    if (magic === UNVERSIONED_MAGIC && name === 'versions') continue;
    for (const [number, page] of pages.entries()) {
      const { buffer, byteOffset, BYTES_PER_ELEMENT } = page[name];
      const length = Math.min(PAGE_SLOTS, slots - number * PAGE_SLOTS) * BYTES_PER_ELEMENT;
      new Uint8Array(buffer, byteOffset, length).set(await take(length));
    }
  }
  let expiries: Float64Array | null = null;
  if (magic === EXPIRING_MAGIC) {
    expiries = new Float64Array(slots);
    new Uint8Array(expiries.buffer).set(await take(slots * Float64Array.BYTES_PER_ELEMENT));
  }
  for (let i = chunkCount; i > 0; i--) {
    const length = (await take(4)).readUInt32LE(0);
    onChunk(length === 0 ? null : await take(length));
  }
  if (left !== 0) throw new Error('saved directory: bytes after its end');
  return { pages, highestStamp, expiries };
}
