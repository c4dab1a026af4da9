import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { SharedFiles } from '../files/shared-files';
import { VarintReader } from '../keyword/varint-reader';
import { VarintWriter } from '../keyword/varint-writer';

/** Orders of words that stand together in a file, and are read at once. */
const CHUNK_BYTES = 1 << 16;
const MAGIC = Buffer.from('QVRPOS01');
const TRAILER_BYTES = MAGIC.length + 8;
/** A footer has some dozen bytes for each chunk. */
const FOOTER_BYTES_MAX = 1 << 26;

// The format: chunks, the footer as JSON, its length and its CRC (32 bits each, the lowest byte first), MAGIC. A chunk
// is a table and the orders of its items (word-orders.ts) one behind the other. The table is varints, for each item:
// how much its record number is above the one before it, its slot less the one before it (2 · the difference, or
// 2 · −difference − 1 below 0), the bytes of its order.

/** By what it is told whether a file belongs to what a shard holds. */
export interface PositionOrigin {
  /** Name and version of what makes the terms. */
  terms: string;
  /** The name of the store of the records. */
  store: string;
}

interface ChunkFacts {
  documents: number;
  tableBytes: number;
  tableCrc: number;
  bytes: number;
  crc: number;
}

export interface ChunkBytes {
  facts: ChunkFacts;
  bytes: Buffer;
}

interface Footer {
  origin: PositionOrigin;
  chunks: ChunkFacts[];
}

/** The items of a chunk. */
export interface PositionedItems {
  slots: Uint32Array;
  recnos: Float64Array;
  /** Where the order of each ends among those of the chunk, which is where that of the next begins. */
  ends: Uint32Array;
}

/** Writes a file, item by item in the order of their record numbers. */
export class PositionWriter {
  private readonly table = new VarintWriter();
  private orders: Buffer[] = [];
  private bytes = 0;
  private documents = 0;
  private last = { slot: 0, recno: 0 };
  private readonly chunks: ChunkFacts[] = [];

  private constructor(private readonly file: FileHandle) {}

  static async begin(path: string): Promise<PositionWriter> {
    return new PositionWriter(await open(path, 'w', 0o600));
  }

  async add(slot: number, recno: number, order: Buffer): Promise<void> {
    const { last, table } = this;
    const leap = slot - last.slot;
    table.varint(recno - last.recno);
    table.varint(leap < 0 ? -2 * leap - 1 : 2 * leap);
    table.varint(order.length);
    this.last = { slot, recno };
    this.orders.push(order);
    this.bytes += order.length;
    this.documents += 1;
    if (this.bytes >= CHUNK_BYTES) await this.endChunk();
  }

  /** On stable storage when it resolves, under the name with which it began. */
  async finish(origin: PositionOrigin): Promise<void> {
    await this.endChunk();
    const footer = Buffer.from(JSON.stringify({ origin, chunks: this.chunks } satisfies Footer));
    const trailer = Buffer.alloc(TRAILER_BYTES);
    trailer.writeUInt32LE(footer.length, 0);
    trailer.writeUInt32LE(crc32(footer), 4);
    MAGIC.copy(trailer, 8);
    await this.write([footer, trailer]);
    await this.file.sync();
  }

  close(): Promise<void> {
    return this.file.close();
  }

  private async endChunk(): Promise<void> {
    if (this.documents === 0) return;
    const table = this.table.take();
    const orders = Buffer.concat(this.orders);
    const { documents } = this;
    this.chunks.push({
      documents,
      tableBytes: table.length,
      tableCrc: crc32(table),
      bytes: orders.length,
      crc: crc32(orders),
    });
    this.orders = [];
    this.bytes = 0;
    this.documents = 0;
    this.last = { slot: 0, recno: 0 };
    await this.write([table, orders]);
  }

  private async write(pieces: Buffer[]): Promise<void> {
    const wanted = pieces.reduce((sum, { length }) => sum + length, 0);
    const { bytesWritten } = await this.file.writev(pieces);
    if (bytesWritten !== wanted) throw new Error(`only ${bytesWritten} of ${wanted} bytes could be written`);
  }
}

/** Of the whole process; a shard has a file for some ten thousand items and more. */
export const POSITION_FILES_OPEN = 32;
const opened = new SharedFiles(POSITION_FILES_OPEN);

/** What a file has. */
interface PositionContent {
  bytes: number;
  origin: PositionOrigin;
  chunks: readonly (ChunkFacts & { at: number })[];
}

/** A file that can be read. It is open while it is, and for a while afterwards. */
export class PositionFile {
  private content: PositionContent = { bytes: 0, origin: { terms: '', store: '' }, chunks: [] };

  private constructor(private readonly path: string) {}

  /** Rejects where it is not as it was written, as far as its beginning and end tell. */
  static async open(path: string): Promise<PositionFile> {
    const file = new PositionFile(path);
    try {
      file.content = await opened.reading(file, path, contentOf);
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  get bytes(): number {
    return this.content.bytes;
  }

  get origin(): PositionOrigin {
    return this.content.origin;
  }

  get chunkCount(): number {
    return this.content.chunks.length;
  }

  get documents(): number {
    return this.content.chunks.reduce((sum, { documents }) => sum + documents, 0);
  }

  /** The items of a chunk. Rejects if their table is damaged. */
  async items(chunk: number): Promise<PositionedItems> {
    const facts = this.content.chunks[chunk];
    return itemsOf(await this.at(facts.at, facts.tableBytes), facts);
  }

  /** The same of some that follow each other, read at once, with the orders of their words. */
  async read(first: number, count: number): Promise<ChunkBytes[]> {
    const chunks = this.content.chunks.slice(first, first + count);
    const { at } = chunks[0];
    const bytes = await this.at(
      at,
      chunks.reduce((sum, one) => sum + one.tableBytes + one.bytes, 0),
    );
    return chunks.map((facts) => ({ facts, bytes: bytes.subarray(facts.at - at) }));
  }

  /** After those who read it now. */
  close(): Promise<void> {
    return opened.forget(this);
  }

  private at(from: number, length: number): Promise<Buffer> {
    return opened.reading(this, this.path, (file) => read(file, from, length));
  }
}

async function contentOf(file: FileHandle): Promise<PositionContent> {
  const { size } = await file.stat();
  const trailer = await read(file, size - TRAILER_BYTES, TRAILER_BYTES);
  if (!trailer.subarray(8).equals(MAGIC)) throw new Error('it ends early, or is of another version');
  const length = trailer.readUInt32LE(0);
  if (length > FOOTER_BYTES_MAX) throw new Error('its end is damaged');
  const footer = await read(file, size - TRAILER_BYTES - length, length);
  mustHave(footer, trailer.readUInt32LE(4));
  const { origin, chunks } = JSON.parse(footer.toString()) as Footer;
  let at = 0;
  const placed = chunks.map((chunk) => {
    const from = at;
    at += chunk.tableBytes + chunk.bytes;
    return { ...chunk, at: from };
  });
  if (at !== size - TRAILER_BYTES - length) throw new Error('its length is not what its end says');
  return { bytes: size, origin, chunks: placed };
}

/** A chunk as it was read. Throws if any of it is damaged. */
export function decodedChunk({ facts, bytes }: ChunkBytes): { items: PositionedItems; orders: Buffer } {
  const orders = bytes.subarray(facts.tableBytes, facts.tableBytes + facts.bytes);
  mustHave(orders, facts.crc);
  return { items: itemsOf(bytes.subarray(0, facts.tableBytes), facts), orders };
}

function itemsOf(table: Buffer, { tableCrc, documents, bytes }: ChunkFacts): PositionedItems {
  mustHave(table, tableCrc);
  const reader = new VarintReader(table);
  const slots = new Uint32Array(documents);
  const recnos = new Float64Array(documents);
  const ends = new Uint32Array(documents);
  let recno = 0;
  let slot = 0;
  let end = 0;
  for (let i = 0; i < documents; i++) {
    recnos[i] = recno += reader.varint();
    const leap = reader.varint();
    slots[i] = slot += leap % 2 === 0 ? leap / 2 : -(leap + 1) / 2;
    ends[i] = end += reader.varint();
  }
  if (end !== bytes) throw new Error('a table is damaged');
  return { slots, recnos, ends };
}

async function read(file: FileHandle, at: number, length: number): Promise<Buffer> {
  if (at < 0) throw new Error('it ends early');
  const bytes = Buffer.allocUnsafeSlow(length);
  for (let done = 0; done < length;) {
    const { bytesRead } = await file.read(bytes, done, length - done, at + done);
    if (bytesRead === 0) throw new Error('it ends early');
    done += bytesRead;
  }
  return bytes;
}

function mustHave(bytes: Buffer, crc: number): void {
  if (crc32(bytes) !== crc) throw new Error('its bytes are not those that were written');
}
