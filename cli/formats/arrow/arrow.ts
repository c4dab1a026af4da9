import { type FileHandle, open } from 'node:fs/promises';
import type { AsyncRecordBatchFileReader, RecordBatch } from 'apache-arrow';
import { CommandError, EXIT_CODES } from '../../command-error';
import { boundReader } from './arrow-dictionaries';
import { checkBatch, checkBatchHead, ColumnCheck } from './arrow-check';
import { footerShape, messageShape } from './arrow-shapes';
import { fieldReader } from './arrow-values';
import { type ByteSource, headOf, PieceReader } from '../byte-source';
import { type Decompressor, zstdDecompress } from '../decompression';
import { checkFlatbuffer } from './flatbuffer-check';
import { lz4FrameDecompress } from '../lz4-frame';
import { chunkRows, type KnownFields, PIECE_BYTES_MAX, type RecordChunk, type RecordSource } from '../record-source';

/** The package is large, and only needed with such a file. */
export async function loadArrow() {
  const arrow = await import('apache-arrow');
  arrow.compressionRegistry.set(arrow.CompressionType.LZ4_FRAME, {
    decode: (bytes) => decompressed(bytes, lz4FrameDecompress),
  });
  arrow.compressionRegistry.set(arrow.CompressionType.ZSTD, { decode: (bytes) => decompressed(bytes, zstdDecompress) });
  if (arrow.Message.decode !== decodeChecked) {
    decodeUnchecked = arrow.Message.decode.bind(arrow.Message);
    arrow.Message.decode = decodeChecked;
    const { prototype } = arrow.AsyncMessageReader as unknown as {
      prototype: { readMetadata: (length: number) => Promise<unknown> };
    };
    const read = prototype.readMetadata;
    prototype.readMetadata = async function (length) {
      if (!(length <= MESSAGE_BYTES_MAX))
        throw new RangeError(`a message has a head of ${length} bytes; at most ${MESSAGE_BYTES_MAX} are read`);
      return read.call(this, length);
    };
  }
  return arrow;
}

/** Of a message without its columns, or of a footer: names, notes and places alone. */
const MESSAGE_BYTES_MAX = 64 << 20;

type Decode = ArrowLibrary['Message']['decode'];
let decodeUnchecked: Decode;

/** The library reads every message by this function, and believes all that it says. */
const decodeChecked: Decode = (bytes) => {
  checkFlatbuffer(bytes as Uint8Array, messageShape);
  const message = decodeUnchecked(bytes);
  checkBatchHead(message);
  return message;
};

/**
 * The library hands on a buffer without its length, which stands before it
 * (https://arrow.apache.org/docs/format/Columnar.html#recordbatch-message).
 */
const LENGTH_BYTES = 8;
/** What a byte can become at most, of a buffer that becomes large. */
const RATIO_MAX = 256;

function decompressed(bytes: Uint8Array, decompress: Decompressor): Uint8Array {
  if (bytes.byteOffset < LENGTH_BYTES) throw new RangeError('a compressed buffer is cut off');
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset - LENGTH_BYTES).getBigInt64(0, true));
  if (!(length >= 0 && length <= Math.max(PIECE_BYTES_MAX, bytes.length * RATIO_MAX)))
    throw new RangeError(`a compressed buffer would have ${length} bytes`);
  const whole = decompress(bytes, length);
  if (whole.length !== length) throw new RangeError(`a compressed buffer has ${whole.length} bytes, not ${length}`);
  // Numbers of eight bytes are read in place.
  return whole.byteOffset % LENGTH_BYTES === 0 ? whole : whole.slice();
}

type ArrowLibrary = Awaited<ReturnType<typeof loadArrow>>;

/** Length of the footer, and the magic number without its padding. */
const FOOTER_END_BYTES = 10;
const FILE_MAGIC = Buffer.from('ARROW1\0\0', 'latin1');

/** Arrow's IPC format, as a file (also Feather, version 2) or a stream, a record batch in memory at a time. */
export class ArrowSource implements RecordSource {
  readonly columns = null;
  readonly known: KnownFields = {};
  readonly hasTextOnly = false;

  constructor(private readonly bytes: ByteSource) {}

  async *read(cursor: unknown, wanted: ReadonlySet<string> | null): AsyncGenerator<RecordChunk> {
    const start = (cursor as { row: number } | null)?.row ?? 0;
    const arrow = await loadArrow();
    let row = 0;
    try {
      const columns = new ColumnCheck(arrow);
      for await (const { batch, share } of this.batches(arrow)) {
        checkBatch(columns, batch);
        const first = row;
        row += batch.numRows;
        if (row <= start) continue;
        const read = batch.schema.fields.flatMap((field, i) => {
          const isRead = wanted === null || wanted.has(field.name);
          return isRead
            ? [{ name: field.name, value: fieldReader(arrow, batch.data.children[i], field, field.name) }]
            : [];
        });
        const rows = chunkRows(read.length);
        for (let from = Math.max(0, start - first); from < batch.numRows; from += rows) {
          const to = Math.min(batch.numRows, from + rows);
          const records = Array.from({ length: to - from }, (_, i) => ({
            fields: Object.fromEntries(read.map(({ name, value }) => [name, value(from + i)])),
            number: first + from + i,
          }));
          yield { records, unreadable: [], place: 'row', idPrefix: '', cursor: { row: first + to }, share };
        }
      }
    } catch (error) {
      if (error instanceof CommandError) throw error;
      const { message } = error as Error;
      // Of the library, for a type that it has no class for.
      const type = /^Unrecognized type: "(\w+)"/.exec(message)?.[1];
      const what =
        type === undefined
          ? message.startsWith('Unrecognized Int type')
            ? 'whole numbers of more than 64 bits'
            : null
          : `the type ${type}`;
      const reason = what === null ? message : `it has a column of ${what}; write it as another one`;
      throw new CommandError(`${this.bytes.name} can't be read as Arrow: ${reason}`, EXIT_CODES.failed, {
        cause: error,
      });
    }
  }

  /** By the index at the end of a file, or in order. */
  private async *batches(arrow: ArrowLibrary): AsyncGenerator<{ batch: RecordBatch; share: number | null }> {
    const path = this.bytes.plainPath;
    if (path === null || !headOf(path, FILE_MAGIC.length).subarray(0, 6).equals(FILE_MAGIC.subarray(0, 6))) {
      const reader = await arrow.RecordBatchReader.from(this.stream());
      boundReader(arrow, reader);
      for await (const batch of reader as AsyncIterable<RecordBatch>) yield { batch, share: this.bytes.share };
      return;
    }
    const file = await open(path, 'r');
    try {
      await checkFooter(file);
      const closed = await arrow.RecordBatchReader.from(readWithin(file));
      boundReader(arrow, closed);
      const reader = (await closed.open()) as AsyncRecordBatchFileReader;
      for (let i = 0; i < reader.numRecordBatches; i++) {
        const batch = await reader.readRecordBatch(i);
        if (batch !== null) yield { batch, share: (i + 1) / reader.numRecordBatches };
      }
    } finally {
      await file.close();
    }
  }

  /** A file is mostly a stream behind a magic number. */
  private async *stream(): AsyncGenerator<Uint8Array> {
    const reader = new PieceReader(this.bytes.open());
    try {
      const head = await reader.read(FILE_MAGIC.length);
      if (!head.equals(FILE_MAGIC)) yield head;
      for (;;) {
        const piece = await reader.read(1 << 18);
        if (piece.length === 0) return;
        yield piece;
      }
    } finally {
      await reader.close();
    }
  }
}

/** The file, of which no place can be read that it has not: the library would try again for ever. */
function readWithin(file: FileHandle): FileHandle {
  const read = async (buffer: Uint8Array, offset: number, length: number, position: number) => {
    if (!(position >= 0)) throw new RangeError('a part would begin before the file');
    const result = await file.read(buffer, offset, length, position);
    if (result.bytesRead === 0 && length > 0) throw new RangeError('it is cut off');
    return result;
  };
  return { fd: file.fd, stat: async () => file.stat(), read, close: async () => file.close() } as unknown as FileHandle;
}

/**
 * Throws a RangeError when the index of batches is not what it must be. A file that has none is told by the library.
 */
async function checkFooter(file: FileHandle): Promise<void> {
  const { size } = await file.stat();
  if (size < FILE_MAGIC.length + FOOTER_END_BYTES) throw new RangeError('it is cut off');
  const end = Buffer.alloc(FOOTER_END_BYTES);
  await file.read(end, 0, FOOTER_END_BYTES, size - FOOTER_END_BYTES);
  const length = end.readInt32LE(0);
  if (
    !end.subarray(4).equals(FILE_MAGIC.subarray(0, 6)) ||
    !(length > 0 && length <= size - FILE_MAGIC.length - FOOTER_END_BYTES)
  )
    throw new RangeError('it is cut off, or its end is damaged');
  if (length > MESSAGE_BYTES_MAX)
    throw new RangeError(`its footer has ${length} bytes; at most ${MESSAGE_BYTES_MAX} are read`);
  const footer = Buffer.alloc(length);
  await file.read(footer, 0, length, size - FOOTER_END_BYTES - length);
  checkFlatbuffer(footer, footerShape(size));
}
