import { isUtf8 } from 'node:buffer';
import { CommandError } from '../command-error';
import type { ByteSource } from './byte-source';
import { parseLossless } from './lossless-json';
import { CHUNK_BYTES, CHUNK_ROWS, type KnownFields, PIECE_BYTES_MAX, type RecordChunk, type RecordSource, type SourceRecord, type UnreadableRow } from './record-source';

interface LineMark {
  byte: number;
  line: number;
}

const LINE_END = 0x0a;
/** Its characters can't be told: two ids might become one. */
const NOT_UTF8 = 'not UTF-8';

/** Lines of a text with their numbers from 1 and the place behind each; without the end of the line. */
export async function* linesOf(bytes: AsyncIterable<Buffer>, mark: LineMark = { byte: 0, line: 0 }): AsyncGenerator<{ line: Buffer; number: number; end: number }[]> {
  let { byte, line: number } = mark;
  let held: Buffer[] = [];
  let heldBytes = 0;
  for await (const piece of bytes) {
    const lines: { line: Buffer; number: number; end: number }[] = [];
    let from = 0;
    for (let to = piece.indexOf(LINE_END); to >= 0; to = piece.indexOf(LINE_END, from)) {
      const rest = piece.subarray(from, to);
      const line = heldBytes === 0 ? rest : Buffer.concat([...held, rest]);
      byte += line.length + 1;
      number += 1;
      lines.push({ line: withoutReturn(line), number, end: byte });
      held = [];
      heldBytes = 0;
      from = to + 1;
    }
    if (from < piece.length) {
      held.push(piece.subarray(from));
      heldBytes += piece.length - from;
      if (heldBytes > PIECE_BYTES_MAX) throw new CommandError(`line ${number + 1} is longer than ${PIECE_BYTES_MAX >> 20} MiB`);
    }
    if (lines.length > 0) yield lines;
  }
  if (heldBytes > 0) {
    const line = Buffer.concat(held);
    yield [{ line: withoutReturn(line), number: number + 1, end: byte + line.length }];
  }
}

function withoutReturn(line: Buffer): Buffer {
  return line.length > 0 && line[line.length - 1] === 0x0d ? line.subarray(0, -1) : line;
}

/** A JSON object a line. Blank lines are passed over. */
export class JsonLinesSource implements RecordSource {
  readonly columns = null;
  readonly known: KnownFields = {};
  readonly hasNullsForNothing = false;
  readonly hasTextOnly = false;

  constructor(private readonly bytes: ByteSource) {}

  async *read(mark: unknown): AsyncGenerator<RecordChunk> {
    const start = (mark as LineMark | null) ?? { byte: 0, line: 0 };
    let records: SourceRecord[] = [];
    let unreadable: UnreadableRow[] = [];
    let size = 0;
    let last = start;
    const chunk = (): RecordChunk => {
      const made: RecordChunk = { records, unreadable, place: 'line', idPrefix: '', mark: last, share: this.bytes.share };
      records = [];
      unreadable = [];
      size = 0;
      return made;
    };
    for await (const lines of linesOf(this.bytes.open(start.byte), start)) {
      for (const { line, number, end } of lines) {
        const isFirst = number === 1 && start.byte === 0;
        const text = line.toString('utf8', isFirst && line.length >= 3 && line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? 3 : 0).trim();
        last = { byte: end, line: number };
        if (text === '') continue;
        const fields = isUtf8(line) ? objectOf(text) : NOT_UTF8;
        if (typeof fields === 'string') unreadable.push({ number, reason: isFirst && text.startsWith('[') ? 'a JSON array, where one object a line is expected' : fields });
        else records.push({ fields, number });
        size += line.length;
        if (records.length + unreadable.length >= CHUNK_ROWS || size >= CHUNK_BYTES) yield chunk();
      }
    }
    if (records.length + unreadable.length > 0) yield chunk();
  }
}

/** The object, or why there is none. */
function objectOf(text: string): Record<string, unknown> | string {
  try {
    // Ids of 64 bits as numbers: two of them must not become one.
    const value = parseLossless(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    return 'not a JSON object';
  } catch (error) {
    return `not JSON: ${(error as Error).message}`;
  }
}
