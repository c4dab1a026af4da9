import { CommandError } from '../command-error';
import { PieceReader, type ByteSource } from './byte-source';
import { CHUNK_BYTES, CHUNK_ROWS, type KnownFields, type RecordChunk, type RecordSource } from './record-source';

/** The name that the one column of such a file gets. */
export const VECTOR_FIELD = 'vector';

interface RowCursor {
  row: number;
}

/** No service takes more, and a file that says so is damaged. */
const DIM_MAX = 65_536;

/**
 * `.fvecs`, `.bvecs` and `.ivecs` of the TEXMEX data sets: each vector is its number of components as int32, then the
 * components as float32, uint8 or int32, all little-endian. Every vector has the same length.
 */
export class VecsSource implements RecordSource {
  readonly columns = [VECTOR_FIELD];
  readonly known: KnownFields = { vector: VECTOR_FIELD };
  readonly hasTextOnly = false;

  constructor(
    private readonly bytes: ByteSource,
    private readonly kind: 'fvecs' | 'bvecs' | 'ivecs',
  ) {}

  async *read(cursor: unknown): AsyncGenerator<RecordChunk> {
    const reader = new PieceReader(this.bytes.open());
    const head = await reader.read(4);
    if (head.length === 0) return;
    const first = this.dimOf(head);
    const width = this.kind === 'bvecs' ? 1 : 4;
    const rowBytes = 4 + first * width;
    const rowsAtOnce = Math.max(1, Math.min(CHUNK_ROWS, Math.floor(CHUNK_BYTES / rowBytes)));
    let row = (cursor as RowCursor | null)?.row ?? 0;
    // Of the first row, its length is read already.
    let ahead = head;
    if (row > 0) {
      await reader.skip(row * rowBytes - head.length);
      ahead = Buffer.alloc(0);
    }
    try {
      for (;;) {
        const piece = Buffer.concat([ahead, await reader.read(rowsAtOnce * rowBytes - ahead.length)]);
        ahead = Buffer.alloc(0);
        if (piece.length === 0) return;
        if (piece.length % rowBytes !== 0)
          throw this.damaged(row + Math.floor(piece.length / rowBytes), 'it is cut off');
        const records = [];
        for (let at = 0; at < piece.length; at += rowBytes) {
          const dim = piece.readInt32LE(at);
          if (dim !== first) throw this.damaged(row, `it has ${dim} components, the first has ${first}`);
          records.push({
            fields: { [VECTOR_FIELD]: floatsOf(piece.subarray(at + 4, at + rowBytes), this.kind) },
            number: row,
          });
          row += 1;
        }
        yield {
          records,
          unreadable: [],
          place: 'row',
          idPrefix: '',
          cursor: { row } satisfies RowCursor,
          share: this.bytes.share,
        };
      }
    } finally {
      await reader.close();
    }
  }

  /** Components of the first vector. */
  private dimOf(head: Buffer): number {
    const dim = head.length < 4 ? 0 : head.readInt32LE(0);
    if (dim < 1 || dim > DIM_MAX)
      throw new CommandError(
        `${this.bytes.name} is no .${this.kind} file: its first vector would have ${dim} components`,
      );
    return dim;
  }

  private damaged(row: number, reason: string): CommandError {
    return new CommandError(`${this.bytes.name} is damaged at row ${row}: ${reason}`);
  }
}

function floatsOf(bytes: Buffer, kind: 'fvecs' | 'bvecs' | 'ivecs'): Float32Array {
  if (kind === 'bvecs') return Float32Array.from(bytes);
  const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  return kind === 'fvecs' ? new Float32Array(copy) : Float32Array.from(new Int32Array(copy));
}
