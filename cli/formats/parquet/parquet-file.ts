import type { FileHandle } from 'node:fs/promises';
import type {
  Compressors,
  Encoding,
  FileMetaData,
  PageHeader,
  RowGroup,
  SchemaElement,
  SchemaTree,
} from 'hyparquet' with { 'resolution-mode': 'import' };
import { CommandError } from '../../command-error';
import { brotliDecompress, type Decompressor, gunzip, zstdDecompress } from '../decompression';
import type { HeldPages } from './held-pages';
import { lz4BlockDecompress } from '../lz4-frame';
import { checkDeltas } from './parquet-deltas';
import { checkRuns, highestLevels, readLevels } from './parquet-levels';
import { converterOf, isLeftToLibrary, storedElement, storedText } from './parquet-values';
import { PIECE_BYTES_MAX } from '../record-source';
import { timestampText } from '../table-values';
import { checkThrift } from './thrift-check';

/** The packages for Parquet are modules of the other kind and only needed with such a file. */
export async function loadParquet() {
  const [main, column, datapage, conversion, compressors] = await Promise.all([
    import('hyparquet'),
    import('hyparquet/src/column.js'),
    import('hyparquet/src/datapage.js'),
    import('hyparquet/src/convert.js'),
    import('hyparquet-compressors'),
  ]);
  // That of the library takes the block of no bytes, a page of nulls, for damage.
  const lz4: Decompressor = (bytes, length) => (length === 0 ? NO_BYTES : compressors.compressors.LZ4!(bytes, length));
  const own = {
    ...compressors.compressors,
    GZIP: gunzip,
    BROTLI: brotliDecompress,
    ZSTD: zstdDecompress,
    LZ4: lz4,
    LZ4_RAW: lz4BlockDecompress,
  };
  const bounded = Object.entries(own).map(([codec, decompress]) => [codec, withBound(codec, decompress)]);
  return { ...main, ...column, ...datapage, ...conversion, compressors: Object.fromEntries(bounded) as Compressors };
}

/** What a byte can become at most, of codecs that make room for what the head says before they look at the bytes. */
const RATIO_MAX: Readonly<Record<string, number>> = { SNAPPY: 64, LZ4: 256, LZ4_RAW: 256 };

function withBound(codec: string, decompress: Decompressor): Decompressor {
  return (bytes, length) => {
    if (!(length >= 0 && length <= PIECE_BYTES_MAX && length <= (RATIO_MAX[codec] ?? Infinity) * (bytes.length + 1)))
      throw new Error(`a page would have ${length} bytes`);
    return decompress(bytes, length);
  };
}

export type ParquetLibrary = Awaited<ReturnType<typeof loadParquet>>;
type ColumnDecoder = Parameters<ParquetLibrary['convert']>[1];

/** Where a column's chunk of a row group lies, and what its values are. */
export interface ChunkPosition {
  start: number;
  end: number;
  decoder: ColumnDecoder;
  /** What a stored value means; null: itself, or the library knows. */
  convert: ((value: unknown) => unknown) | null;
}

/** A page of a chunk, decompressed and decoded, with its levels. */
export interface DecodedPage {
  /** Of the file. */
  offset: number;
  repetitionLevels: Uint8Array;
  /** Empty: no value can be missing. */
  definitionLevels: Uint8Array;
  values: ArrayLike<unknown>;
}

/** The encoded levels of a page, and its values, decompressed. */
interface PageParts {
  repetition: Uint8Array;
  definition: Uint8Array;
  values: Uint8Array;
  count: number;
}

/** Its values are as they are encoded. */
interface EncodedPage extends Omit<DecodedPage, 'offset' | 'values'> {
  page: ReturnType<ParquetLibrary['readDataPage']>;
}

const NO_BYTES = new Uint8Array(0);
const NO_LEVELS = NO_BYTES;

/** Values of one page, also where some bytes stand for many of them. Writers end a page after some ten thousand. */
const PAGE_VALUES_MAX = 4 << 20;
/** Read ahead, so that a page's head costs no read of its own. */
const AHEAD_BYTES = 1 << 20;
/** The same of all columns that are read side by side. */
const AHEAD_ALL_BYTES = 128 << 20;
/**
 * What a value takes in memory once it is decoded: one of a dictionary is there once; a number; a text or whatever else
 * is an object.
 */
const [SHARED_BYTES, NUMBER_BYTES, OBJECT_BYTES] = [8, 24, 48];
const NUMBERS: readonly (string | undefined)[] = ['BOOLEAN', 'INT32', 'FLOAT', 'DOUBLE'];
/** A head holds statistics besides; more is damage. */
const HEAD_BYTES_MAX = 1 << 20;

/** Goes through the pages of one column chunk, with one of them in memory. */
export class PageReader {
  private offset: number;
  private dictionary: ArrayLike<unknown> | undefined;
  private held = Buffer.alloc(0);
  private heldAt = 0;
  private dictionaryBytes = 0;
  private pageBytes = 0;
  private readonly highest: ReturnType<typeof highestLevels>;
  /** For the values alone: the library would make a list of numbers of every level. */
  private readonly withoutLevels: ColumnDecoder;

  constructor(
    private readonly library: ParquetLibrary,
    private readonly file: FileHandle,
    private readonly name: string,
    private readonly place: ChunkPosition,
    /** Columns that are read side by side. */
    private readonly columns: number,
    private readonly pages: HeldPages,
  ) {
    this.offset = place.start;
    this.highest = highestLevels(place.decoder.schemaPath);
    this.withoutLevels = { ...place.decoder, schemaPath: place.decoder.schemaPath.slice(0, 1) };
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
      else if (head.type === 'DATA_PAGE' || head.type === 'DATA_PAGE_V2')
        return { offset, ...(await this.readData(head)) };
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
        checkThrift(bytes);
        const head = this.library.parquetHeader(reader);
        this.offset += reader.offset;
        this.checkHead(head);
        return head;
      } catch (error) {
        // It may reach beyond what was read.
        if (!(error instanceof RangeError) || bytes.length < length || length > HEAD_BYTES_MAX) throw error;
      }
    }
  }

  private checkHead(head: PageHeader): void {
    const { compressed_page_size: compressed, uncompressed_page_size: uncompressed } = head;
    if (!(compressed >= 0 && compressed <= this.place.end - this.offset))
      throw this.damaged(`a page would have ${compressed} bytes, compressed`);
    if (!(uncompressed >= 0 && uncompressed <= PIECE_BYTES_MAX))
      throw this.damaged(`a page would have ${uncompressed} bytes`);
    const values = (head.data_page_header ?? head.data_page_header_v2 ?? head.dictionary_page_header)?.num_values ?? 0;
    const nulls = head.data_page_header_v2?.num_nulls ?? 0;
    if (!(values >= 0 && values <= PAGE_VALUES_MAX)) throw this.damaged(`a page would have ${values} values`);
    if (!(nulls >= 0 && nulls <= values)) throw this.damaged(`a page would have ${nulls} nulls of ${values} values`);
  }

  /**
   * Looks at all pages, before somebody else reads them who believes their runs; answers how many bytes these become,
   * at most `bytesMax` and a page.
   */
  async check(bytesMax: number): Promise<number> {
    let bytes = 0;
    for (let head = await this.head(); head !== null && bytes <= bytesMax; head = await this.head()) {
      bytes += head.uncompressed_page_size;
      if (head.type === 'DATA_PAGE' || head.type === 'DATA_PAGE_V2') bytes += await this.checkData(head);
      else this.offset += head.compressed_page_size;
    }
    return bytes;
  }

  /** Answers how many bytes its values become beside those that are stored. */
  private async checkData(head: PageHeader): Promise<number> {
    const stored = await this.stored(head);
    const { encoding } = headerOf(head)!;
    const { repetition, definition } = this.highest;
    const parts = head.type === 'DATA_PAGE' ? this.firstParts(stored, head) : this.secondParts(stored, head);
    this.checkLevels(parts.repetition, parts.count, repetition);
    this.checkLevels(parts.definition, parts.count, definition);
    const definitionLevels = this.levels(parts.definition, parts.count, definition);
    return (
      parts.count * SHARED_BYTES +
      this.checkEncoded(parts.values, encoding, definition === 0 ? parts.count : countOf(definitionLevels, definition))
    );
  }

  private checkLevels(bytes: Uint8Array, count: number, highest: number): void {
    if (highest > 0) this.ifDamaged(() => checkRuns(bytes, 32 - Math.clz32(highest), count, 'levels'));
  }

  /** What a page takes in memory, as it is stored and decoded. */
  private decodedBytes(head: PageHeader): number {
    const { num_values: values, encoding } = (head.data_page_header ??
      head.data_page_header_v2 ??
      head.dictionary_page_header) as { num_values: number; encoding?: Encoding };
    const isShared = head.type !== 'DICTIONARY_PAGE' && encoding?.endsWith('_DICTIONARY') === true;
    const each = isShared ? SHARED_BYTES : NUMBERS.includes(this.place.decoder.type) ? NUMBER_BYTES : OBJECT_BYTES;
    return head.compressed_page_size + head.uncompressed_page_size + values * each;
  }

  private async readDictionary(head: PageHeader): Promise<void> {
    const { decoder } = this.place;
    if (head.dictionary_page_header === undefined) throw this.damaged('a page has no head of its kind');
    this.dictionaryBytes = this.decodedBytes(head);
    this.pages.hold(this, this.dictionaryBytes);
    const bytes = await this.bytes(head.compressed_page_size);
    this.offset += head.compressed_page_size;
    const view = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), offset: 0 };
    const { data } = this.library.readPage(view, head, decoder, undefined, undefined, 0);
    this.dictionary = data === undefined ? undefined : this.meant(this.library.convert(data, decoder));
  }

  private async readData(head: PageHeader): Promise<Omit<DecodedPage, 'offset'>> {
    const { decoder } = this.place;
    if (headerOf(head) === undefined) throw this.damaged('a page has no head of its kind');
    this.pageBytes = this.decodedBytes(head);
    this.pages.hold(this, this.dictionaryBytes + this.pageBytes);
    const bytes = await this.stored(head);
    const { page, ...levels } = head.type === 'DATA_PAGE' ? this.firstPage(bytes, head) : this.secondPage(bytes, head);
    const { encoding } = headerOf(head)!;
    const values = this.library.convertWithDictionary(
      page.dataPage,
      this.dictionary as never,
      encoding,
      decoder,
    ) as ArrayLike<unknown>;
    // Those of a dictionary are made once.
    return {
      values: this.dictionary !== undefined && encoding.endsWith('_DICTIONARY') ? values : this.meant(values),
      ...levels,
    };
  }

  /** The bytes of a data page, behind which reading goes on. */
  private async stored(head: PageHeader): Promise<Buffer> {
    const bytes = await this.bytes(head.compressed_page_size);
    this.offset += head.compressed_page_size;
    if (headerOf(head) === undefined) throw this.damaged('a page has no head of its kind');
    return bytes;
  }

  private meant(values: ArrayLike<unknown>): ArrayLike<unknown> {
    const { convert } = this.place;
    return convert === null ? values : Array.from(values, convert);
  }

  /** A page of version 1: the levels are compressed with the values, each kind behind its length. */
  private firstPage(bytes: Buffer, head: PageHeader): EncodedPage {
    const header = head.data_page_header!;
    const { repetition, definition, values: encoded } = this.firstParts(bytes, head);
    const repetitionLevels = this.levels(repetition, header.num_values, this.highest.repetition);
    const definitionLevels = this.levels(definition, header.num_values, this.highest.definition);
    const values =
      this.highest.definition === 0 ? header.num_values : countOf(definitionLevels, this.highest.definition);
    this.holdEncoded(encoded, header.encoding, values);
    return {
      page: this.library.readDataPage(encoded, { ...header, num_values: values }, this.withoutLevels),
      repetitionLevels,
      definitionLevels,
    };
  }

  private firstParts(bytes: Buffer, head: PageHeader): PageParts {
    const { codec, compressors } = this.place.decoder;
    const whole = this.library.decompressPage(bytes, head.uncompressed_page_size, codec, compressors);
    const view = new DataView(whole.buffer, whole.byteOffset, whole.length);
    let at = 0;
    const next = (highest: number): Uint8Array => {
      if (highest === 0) return NO_BYTES;
      if (at + 4 > whole.length) throw this.damaged('a page is cut off');
      const from = at + 4;
      at = from + view.getUint32(at, true);
      return whole.subarray(from, at);
    };
    const repetition = next(this.highest.repetition);
    const definition = next(this.highest.definition);
    return { repetition, definition, values: whole.subarray(at), count: head.data_page_header!.num_values };
  }

  /** A page of version 2: the levels stand before the values, uncompressed. */
  private secondPage(bytes: Buffer, head: PageHeader): EncodedPage {
    const header = head.data_page_header_v2!;
    const { repetition, definition, values } = this.secondParts(bytes, head);
    const repetitionLevels = this.levels(repetition, header.num_values, this.highest.repetition);
    const definitionLevels = this.levels(definition, header.num_values, this.highest.definition);
    this.holdEncoded(values, header.encoding, header.num_values - header.num_nulls);
    const plain = {
      ...head,
      uncompressed_page_size: head.uncompressed_page_size - repetition.length - definition.length,
      data_page_header_v2: {
        ...header,
        repetition_levels_byte_length: 0,
        definition_levels_byte_length: 0,
        is_compressed: false,
      },
    };
    return { page: this.library.readDataPageV2(values, plain, this.withoutLevels), repetitionLevels, definitionLevels };
  }

  private secondParts(bytes: Buffer, head: PageHeader): PageParts {
    const header = head.data_page_header_v2!;
    const { repetition_levels_byte_length: repetitionBytes, definition_levels_byte_length: definitionBytes } = header;
    const valuesAt = repetitionBytes + definitionBytes;
    if (!(repetitionBytes >= 0 && definitionBytes >= 0 && valuesAt <= bytes.length))
      throw this.damaged('a page is cut off');
    const { codec, compressors } = this.place.decoder;
    const stored = bytes.subarray(valuesAt);
    const values =
      header.is_compressed === false
        ? stored
        : this.library.decompressPage(stored, head.uncompressed_page_size - valuesAt, codec, compressors);
    return {
      repetition: bytes.subarray(0, repetitionBytes),
      definition: bytes.subarray(repetitionBytes, valuesAt),
      values,
      count: header.num_values,
    };
  }

  /**
   * The library would make as many values as a run or a block says. Answers how many bytes of texts it makes of what
   * stands there in fewer.
   */
  private checkEncoded(bytes: Uint8Array, encoding: string, count: number): number {
    if (encoding.startsWith('DELTA_') && count > 0) return this.ifDamaged(() => checkDeltas(bytes, encoding, count));
    const isIndices = encoding.endsWith('_DICTIONARY');
    // Truth values stand behind their length, indices behind their width.
    if ((!isIndices && encoding !== 'RLE') || count === 0) return 0;
    if (bytes.length === 0) throw this.damaged('a page is cut off');
    // Of no bits, all are the first value.
    if (isIndices && bytes[0] === 0) return 0;
    this.ifDamaged(() => checkRuns(bytes.subarray(isIndices ? 1 : 4), isIndices ? bytes[0] : 1, count));
    return 0;
  }

  /** The same, of what is held then. */
  private holdEncoded(bytes: Uint8Array, encoding: string, count: number): void {
    const textBytes = this.checkEncoded(bytes, encoding, count);
    if (textBytes > 0) this.pages.hold(this, this.dictionaryBytes + this.pageBytes + textBytes);
  }

  private ifDamaged<Result>(look: () => Result): Result {
    try {
      return look();
    } catch (error) {
      throw this.damaged((error as Error).message);
    }
  }

  private levels(bytes: Uint8Array, count: number, highest: number): Uint8Array {
    return highest === 0 ? NO_LEVELS : this.ifDamaged(() => readLevels(bytes, count, highest));
  }

  /** So many bytes from where it is; a copy that nothing else changes. */
  private async bytes(length: number): Promise<Buffer> {
    const at = this.offset - this.heldAt;
    if (at < 0 || at + length > this.held.length) {
      const wanted = Math.min(
        Math.max(length, Math.min(AHEAD_BYTES, Math.floor(AHEAD_ALL_BYTES / this.columns))),
        this.place.end - this.offset,
      );
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

function headerOf(head: PageHeader): { encoding: Encoding } | undefined {
  return head.type === 'DATA_PAGE' ? head.data_page_header : head.data_page_header_v2;
}

function countOf(levels: Uint8Array, level: number): number {
  let count = 0;
  for (let i = 0; i < levels.length; i++) if (levels[i] === level) count += 1;
  return count;
}

/** The chunks of a row group by the paths of their columns, the first of each. */
export type GroupChunks = ReadonlyMap<string, RowGroup['columns'][number]>;

export function groupChunks({ columns }: RowGroup): GroupChunks {
  const found = new Map<string, RowGroup['columns'][number]>();
  for (const column of columns) {
    const name = column.meta_data?.path_in_schema.join('.');
    if (name !== undefined && !found.has(name)) found.set(name, column);
  }
  return found;
}

/** The path of a leaf, as chunks name it. */
export function pathOf(path: readonly SchemaTree[]): string {
  return path
    .slice(1)
    .map(({ element }) => element.name)
    .join('.');
}

/** Where the chunk of a leaf is, in a row group. */
export function chunkPosition(
  library: ParquetLibrary,
  chunks: GroupChunks,
  group: number,
  path: SchemaTree[],
  fileBytes: number,
): ChunkPosition {
  const names = path.slice(1).map(({ element }) => element.name);
  const chunk = chunks.get(pathOf(path))?.meta_data;
  if (chunk === undefined) throw new CommandError(`column ${names.join('.')} is not in row group ${group}`);
  const start = Number(chunk.dictionary_page_offset || chunk.data_page_offset);
  const end = start + Number(chunk.total_compressed_size);
  if (!(start >= 0 && end >= start && end <= fileBytes))
    throw new CommandError(`column ${names.join('.')} would be from byte ${start} to ${end} of ${fileBytes}`);
  const leaf = path[path.length - 1];
  // Of a type that is several columns, each is as the library needs it.
  const isWhole = path.some((node) => isLeftToLibrary({ ...node, children: [] }));
  const decoder = {
    ...chunk,
    pathInSchema: names,
    element: isWhole ? leaf.element : storedElement(leaf.element),
    schemaPath: path,
    parsers: parsersOf(library),
    compressors: library.compressors,
    utf8: false,
  } as ColumnDecoder;
  // Of lists, which most likely are vectors, they stay in their typed array.
  const isTyped = leaf.element.type === 'FLOAT' && path.some(({ element }) => element.repetition_type === 'REPEATED');
  return { start, end, decoder, convert: isWhole || isTyped ? null : converterOf(leaf.element) };
}

/** Texts that are none stay bytes, and moments keep their nanoseconds. */
export function parsersOf(library: ParquetLibrary): ParquetLibrary['DEFAULT_PARSERS'] {
  return {
    ...library.DEFAULT_PARSERS,
    stringFromBytes: (bytes: Uint8Array | undefined) => bytes && storedText(bytes),
    timestampFromNanoseconds: (nanos: bigint) => timestampText(nanos, 'ns'),
  } as ParquetLibrary['DEFAULT_PARSERS'];
}

/** The metadata at the end of a file; every list of theirs has the room that it takes. */
export async function readParquetMetadata(
  library: ParquetLibrary,
  file: FileHandle,
  size: number,
): Promise<FileMetaData> {
  const slice = sliceOf(file, size);
  const end = Buffer.from(await slice(Math.max(0, size - FOOTER_END_BYTES)));
  const length = end.length < FOOTER_END_BYTES ? 0 : end.readUInt32LE(0);
  const isHere = length > 0 && length <= size - FOOTER_END_BYTES;
  // The library says what a file is that has none.
  if (!isHere || end.toString('latin1', 4) !== 'PAR1') return library.parquetMetadataAsync({ byteLength: size, slice });
  if (length > FOOTER_BYTES_MAX)
    throw new Error(
      `its footer has ${length} bytes; at most ${FOOTER_BYTES_MAX} are read: write larger row groups, or several files`,
    );
  const footer = new Uint8Array(await slice(size - FOOTER_END_BYTES - length));
  checkThrift(footer.subarray(0, length));
  const metadata = library.parquetMetadata(footer, { geoparquet: length <= NOTES_BYTES_MAX });
  checkDepth(metadata.schema);
  return metadata;
}

/** A tree is told by how many of the elements behind each are below it; the library gives each the whole path to it. */
function checkDepth(schema: readonly SchemaElement[]): void {
  const left: number[] = [];
  for (const { num_children: children = 0 } of schema) {
    while (left.at(-1) === 0) left.pop();
    if (left.length > 0) left.push((left.pop() as number) - 1);
    if (children > 0) left.push(children);
    if (left.length > SCHEMA_DEPTH_MAX) throw new Error('its columns are nested too deep');
  }
}

/** Far more than a file needs whose parts can be held (see checkThrift). */
const FOOTER_BYTES_MAX = 64 << 20;
/** Deeper ones are damage. */
const SCHEMA_DEPTH_MAX = 100;
/**
 * In a larger footer, notes of geometries are not looked for: they are JSON, which takes many times its bytes in
 * memory.
 */
const NOTES_BYTES_MAX = 8 << 20;
/** Length of the metadata, and the magic number. */
const FOOTER_END_BYTES = 8;

/** Any part of a file, as the library asks for it. A damaged file has parts where none can be. */
export function sliceOf(file: FileHandle, size: number): (from: number, to?: number) => Promise<ArrayBuffer> {
  const read = async (from: number, to: number): Promise<ArrayBuffer> => {
    if (!(from >= 0 && from <= to && to <= size))
      throw new Error(`it is damaged: it would go from byte ${from} to ${to} of ${size}`);
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
