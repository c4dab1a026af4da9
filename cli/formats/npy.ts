import { CommandError } from '../command-error';
import { PieceReader, type ByteSource } from './byte-source';
import { CHUNK_BYTES, CHUNK_ROWS, type KnownFields, type RecordChunk, type RecordSource } from './record-source';
import { VECTOR_FIELD } from './vector-files';

/** What the head of a `.npy` file says. */
export interface NpyHead {
  rows: number;
  dim: number;
  /** Bytes of one number. */
  width: number;
  /** Turns the bytes of some numbers, which may be changed, into floats. */
  decode: (bytes: Buffer) => Float32Array;
}

const MAGIC = Buffer.from('\u0093NUMPY', 'latin1');
/** The head is a line of Python; a longer one is damage. */
const HEAD_BYTES_MAX = 1 << 20;

/** NumPy types by their letter and width. */
const DECODERS: Record<string, (bytes: Buffer) => Float32Array> = {
  f2: (bytes) => Float32Array.from(new Uint16Array(copyOf(bytes)), floatOfHalf),
  f4: (bytes) => new Float32Array(copyOf(bytes)),
  f8: (bytes) => Float32Array.from(new Float64Array(copyOf(bytes))),
  i1: (bytes) => Float32Array.from(new Int8Array(copyOf(bytes))),
  u1: (bytes) => Float32Array.from(bytes),
  i2: (bytes) => Float32Array.from(new Int16Array(copyOf(bytes))),
  u2: (bytes) => Float32Array.from(new Uint16Array(copyOf(bytes))),
  i4: (bytes) => Float32Array.from(new Int32Array(copyOf(bytes))),
  u4: (bytes) => Float32Array.from(new Uint32Array(copyOf(bytes))),
  u8: (bytes) => Float32Array.from(new BigUint64Array(copyOf(bytes)), Number),
  b1: (bytes) => Float32Array.from(bytes),
  i8: (bytes) => Float32Array.from(new BigInt64Array(copyOf(bytes)), Number),
};

function copyOf(bytes: Buffer): ArrayBuffer {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
}

/** IEEE 754 binary16. */
export function floatOfHalf(half: number): number {
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  const size =
    exponent === 0
      ? fraction * 2 ** -24
      : exponent === 31
        ? fraction === 0
          ? Infinity
          : Number.NaN
        : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return (half & 0x8000) === 0 ? size : -size;
}

/**
 * Reads the head of a `.npy` file (versions 1 to 3): an array of two dimensions in C order, of numbers. Throws a
 * CommandError that says what is not as it must be.
 */
export async function readNpyHead(reader: PieceReader, name: string): Promise<NpyHead> {
  const start = await reader.read(12);
  const fail = (reason: string): never => {
    throw new CommandError(`${name} can't be imported: ${reason}`);
  };
  if (start.length < 10 || !start.subarray(0, 6).equals(MAGIC)) fail('it is no .npy file');
  const isLong = start[6] >= 2;
  if (start[6] > 3 || start.length < 12) fail(`it is of version ${start[6]} of the format, or cut off`);
  const textBytes = isLong ? start.readUInt32LE(8) : start.readUInt16LE(8);
  if (textBytes > HEAD_BYTES_MAX) fail(`its head would have ${textBytes} bytes`);
  const already = isLong ? 0 : 2;
  const rest = await reader.read(Math.max(0, textBytes - already));
  const text = Buffer.concat([start.subarray(12 - already), rest]).toString('latin1');
  const type = /'descr'\s*:\s*'([<>|=])([a-zA-Z]\d+)'/.exec(text);
  const order = /'fortran_order'\s*:\s*(True|False)/.exec(text);
  const shape = /'shape'\s*:\s*\(([\d\s,L]*)\)/.exec(text);
  if (type === null || order === null || shape === null) return fail('its head is not that of an array of numbers');
  const [, endian, kind] = type;
  const decode = DECODERS[kind];
  if (decode === undefined) return fail(`its numbers are of type ${kind}; save it as float32`);
  const sizes = shape[1]
    .split(',')
    .map((size) => size.replaceAll(/[\sL]/g, ''))
    .filter((size) => size !== '')
    .map(Number);
  if (sizes.length !== 2 || !sizes.every(Number.isSafeInteger))
    return fail(`its shape is (${sizes.join(', ')}); it must have two dimensions: vectors and their components`);
  if (order[1] === 'True') return fail('it is in Fortran order; save numpy.ascontiguousarray(x)');
  const width = Number(kind.slice(1));
  const swap = endian === '>' && width > 1 ? { 2: 'swap16', 4: 'swap32', 8: 'swap64' }[width] : undefined;
  return {
    rows: sizes[0],
    dim: sizes[1],
    width,
    decode: swap === undefined ? decode : (bytes) => decode(Buffer.from(bytes)[swap as 'swap16']()),
  };
}

/** NumPy's `.npy`: a vector a row. */
export class NpySource implements RecordSource {
  readonly columns = [VECTOR_FIELD];
  readonly known: KnownFields = { vector: VECTOR_FIELD };
  readonly hasTextOnly = false;

  constructor(private readonly bytes: ByteSource) {}

  async *read(cursor: unknown): AsyncGenerator<RecordChunk> {
    const reader = new PieceReader(this.bytes.open());
    const head = await readNpyHead(reader, this.bytes.name);
    const { dim, width, decode } = head;
    const rowBytes = dim * width;
    let row = (cursor as { row: number } | null)?.row ?? 0;
    await reader.skip(row * rowBytes);
    const rowsAtOnce = Math.max(1, Math.min(CHUNK_ROWS, Math.floor(CHUNK_BYTES / Math.max(1, rowBytes))));
    try {
      while (row < head.rows) {
        const rows = Math.min(rowsAtOnce, head.rows - row);
        const piece = await reader.read(rows * rowBytes);
        if (piece.length < rows * rowBytes)
          throw new CommandError(
            `${this.bytes.name} is cut off: it ends in row ${row + Math.floor(piece.length / Math.max(1, rowBytes))} of ${head.rows}`,
          );
        const floats = decode(piece);
        const records = Array.from({ length: rows }, (_, i) => ({
          fields: { [VECTOR_FIELD]: floats.subarray(i * dim, (i + 1) * dim) },
          number: row + i,
        }));
        row += rows;
        yield { records, unreadable: [], place: 'row', idPrefix: '', cursor: { row }, share: row / head.rows };
      }
    } finally {
      await reader.close();
    }
  }
}
