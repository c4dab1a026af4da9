import type { FileHandle } from 'node:fs/promises';
import zlib from 'node:zlib';
import type { Compressors, FileMetaData, PageHeader, SchemaTree } from 'hyparquet' with { 'resolution-mode': 'import' };
import { CommandError } from '../command-error';
import { PIECE_BYTES_MAX } from './record-source';

/** The packages for Parquet are modules of the other kind and only needed with such a file. */
export async function loadParquet() {
  const [main, column, datapage, conversion, compressors] = await Promise.all([
    import('hyparquet'),
    import('hyparquet/src/column.js'),
    import('hyparquet/src/datapage.js'),
    import('hyparquet/src/convert.js'),
    import('hyparquet-compressors'),
  ]);
  const { zstdDecompressSync } = zlib as unknown as { zstdDecompressSync?: (bytes: Uint8Array) => Buffer };
  // Node's own are several times as fast as those in JavaScript.
  const own: Compressors = {
    ...compressors.compressors,
    GZIP: (bytes) => zlib.gunzipSync(bytes),
    BROTLI: (bytes) => zlib.brotliDecompressSync(bytes),
    ...(zstdDecompressSync === undefined ? {} : { ZSTD: (bytes: Uint8Array) => zstdDecompressSync(bytes) }),
  };
  return { ...main, ...column, ...datapage, ...conversion, compressors: own };
}

export type ParquetLibrary = Awaited<ReturnType<typeof loadParquet>>;
type ColumnDecoder = Parameters<ParquetLibrary['convert']>[1];

/** Where a column's chunk of a row group lies, and what its values are. */
export interface ChunkPlace {
  start: number;
  end: number;
  decoder: ColumnDecoder;
}

/** A page of a chunk, decompressed and decoded, with its levels. */
export interface DecodedPage {
  /** Of the file. */
  offset: number;
  repetitionLevels: ArrayLike<number>;
  /** Empty: every value is there. */
  definitionLevels: ArrayLike<number>;
  values: ArrayLike<unknown>;
}

/** Read ahead, so that a page's head costs no read of its own. */
const AHEAD_BYTES = 1 << 20;
/** A head holds statistics besides; more is damage. */
const HEAD_BYTES_MAX = 1 << 20;

/** Goes through the pages of one column chunk, with one of them in memory. */
export class PageReader {
  private offset: number;
  private dictionary: ArrayLike<unknown> | undefined;
  private held = Buffer.alloc(0);
  private heldAt = 0;

  constructor(
    private readonly library: ParquetLibrary,
    private readonly file: FileHandle,
    private readonly name: string,
    private readonly place: ChunkPlace,
  ) {
    this.offset = place.start;
  }

  /** Goes to a page by its offset; the dictionary, which is the first page, is read before. */
  async seek(offset: number): Promise<void> {
    const head = await this.head();
    if (head !== null && head.type === 'DICTIONARY_PAGE') await this.readDictionary(head);
    this.offset = offset;
  }

  /** The next page with values; null at the end. */
  async next(): Promise<DecodedPage | null> {
    for (;;) {
      const offset = this.offset;
      const head = await this.head();
      if (head === null) return null;
      if (head.type === 'DICTIONARY_PAGE') await this.readDictionary(head);
      else if (head.type === 'DATA_PAGE' || head.type === 'DATA_PAGE_V2') return { offset, ...(await this.readData(head)) };
      else this.offset += head.compressed_page_size;
    }
  }

  /** Reads a page's head and goes behind it. */
  private async head(): Promise<PageHeader | null> {
    if (this.offset >= this.place.end) return null;
    for (let length = 4096; ; length *= 8) {
      const bytes = await this.bytes(Math.min(length, this.place.end - this.offset));
      const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), offset: 0 };
      try {
        const head = this.library.parquetHeader(reader);
        this.offset += reader.offset;
        if (!(head.compressed_page_size >= 0 && head.compressed_page_size <= PIECE_BYTES_MAX && head.uncompressed_page_size <= PIECE_BYTES_MAX))
          throw this.damaged(`a page would have ${head.uncompressed_page_size} bytes`);
        return head;
      } catch (error) {
        // It may reach beyond what was read.
        if (!(error instanceof RangeError) || bytes.length < length || length > HEAD_BYTES_MAX) throw error;
      }
    }
  }

  private async readDictionary(head: PageHeader): Promise<void> {
    const { decoder } = this.place;
    const bytes = await this.bytes(head.compressed_page_size);
    this.offset += head.compressed_page_size;
    const view = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), offset: 0 };
    const { data } = this.library.readPage(view, head, decoder, undefined, undefined, 0);
    this.dictionary = data === undefined ? undefined : this.library.convert(data, decoder);
  }

  private async readData(head: PageHeader): Promise<Omit<DecodedPage, 'offset'>> {
    const { decoder } = this.place;
    const bytes = await this.bytes(head.compressed_page_size);
    this.offset += head.compressed_page_size;
    const isFirst = head.type === 'DATA_PAGE';
    const encoding = isFirst ? head.data_page_header?.encoding : head.data_page_header_v2?.encoding;
    if (encoding === undefined) throw this.damaged('a page has no head of its kind');
    const page = isFirst
      ? this.library.readDataPage(this.library.decompressPage(bytes, head.uncompressed_page_size, decoder.codec, decoder.compressors), head.data_page_header!, decoder)
      : this.library.readDataPageV2(bytes, head, decoder);
    const values = this.library.convertWithDictionary(page.dataPage, this.dictionary as never, encoding, decoder) as ArrayLike<unknown>;
    return { values, repetitionLevels: page.repetitionLevels ?? [], definitionLevels: page.definitionLevels ?? [] };
  }

  /** So many bytes from where it is; a copy that nothing else changes. */
  private async bytes(length: number): Promise<Buffer> {
    const at = this.offset - this.heldAt;
    if (at < 0 || at + length > this.held.length) {
      const wanted = Math.min(Math.max(length, AHEAD_BYTES), this.place.end - this.offset);
      // Never written again: the views of a page that is in use stay as they are.
      this.held = Buffer.allocUnsafeSlow(wanted);
      this.heldAt = this.offset;
      let read = 0;
      while (read < wanted) {
        const { bytesRead } = await this.file.read(this.held, read, wanted - read, this.offset + read);
        if (bytesRead === 0) break;
        read += bytesRead;
      }
      if (read < length) throw this.damaged('it is cut off');
      return this.held.subarray(0, length);
    }
    return this.held.subarray(at, at + length);
  }

  private damaged(reason: string): CommandError {
    return new CommandError(`${this.name} is damaged: ${reason}`);
  }
}

/** Where the chunk of a leaf is, in a row group. */
export function chunkPlace(library: ParquetLibrary, metadata: FileMetaData, group: number, path: SchemaTree[]): ChunkPlace {
  const names = path.slice(1).map(({ element }) => element.name);
  const chunk = metadata.row_groups[group].columns.find((column) => column.meta_data?.path_in_schema.join('.') === names.join('.'))?.meta_data;
  if (chunk === undefined) throw new CommandError(`column ${names.join('.')} is not in row group ${group}`);
  const start = Number(chunk.dictionary_page_offset || chunk.data_page_offset);
  const decoder = {
    ...chunk,
    pathInSchema: names,
    element: path[path.length - 1].element,
    schemaPath: path,
    parsers: library.DEFAULT_PARSERS,
    compressors: library.compressors,
    utf8: true,
  } as ColumnDecoder;
  return { start, end: start + Number(chunk.total_compressed_size), decoder };
}

/** Any part of a file, as the library asks for it. A damaged file has parts where none can be. */
export function sliceOf(file: FileHandle, size: number): (from: number, to?: number) => Promise<ArrayBuffer> {
  const read = async (from: number, to: number): Promise<ArrayBuffer> => {
    if (!(from >= 0 && from <= to && to <= size)) throw new Error(`it is damaged: it would go from byte ${from} to ${to} of ${size}`);
    const bytes = new Uint8Array(to - from);
    for (let at = 0; at < bytes.length;) {
      const { bytesRead } = await file.read(bytes, at, bytes.length - at, from + at);
      if (bytesRead === 0) throw new Error('it is cut off');
      at += bytesRead;
    }
    return bytes.buffer;
  };
  return (from, to = size) => {
    const part = read(from, to);
    // The library asks for several at once, and hears of the first failure only.
    part.catch(() => {});
    return part;
  };
}
