import { isUtf8 } from 'node:buffer';
import { CommandError } from '../../command-error';
import type { ByteSource } from '../byte-source';
import { type BulkAction, bulkActionOf, shapedRows } from './json-shapes';
import { jsonLayout, type JsonPiece, type JsonPosition, jsonValues, valuesOfLine } from './json-values';
import { parseLenient } from './lossless-json';
import {
  CHUNK_BYTES,
  CHUNK_ROWS,
  type KnownFields,
  PIECE_BYTES_MAX,
  type RecordChunk,
  type RecordSource,
  type SourceRecord,
  type UnreadableRow,
} from '../record-source';

const LINE_END = 0x0a;
/** Its characters can't be told: two ids might become one. */
const NOT_UTF8 = 'not UTF-8';

/** Lines of a text with their numbers from 1 and the place behind each; without the end of the line. */
export async function* linesOf(
  bytes: AsyncIterable<Buffer>,
  cursor: JsonPosition = { byte: 0, line: 0 },
): AsyncGenerator<{ line: Buffer; number: number; end: number }[]> {
  let { byte, line: number } = cursor;
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
      if (heldBytes > PIECE_BYTES_MAX)
        throw new CommandError(`line ${number + 1} is longer than ${PIECE_BYTES_MAX >> 20} MiB`);
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

interface JsonCursor extends JsonPosition {
  /** Of JSON lines; else values that are laid out in any way. */
  isLines: boolean;
  /** The line of Elasticsearch's bulk format that says what becomes of the next. */
  action: BulkAction | null;
}

/**
 * JSON objects: one a line, where blank lines are passed over, several a line, over several lines, or as elements of an
 * array. An object that holds the rows of another product (json-shapes.ts) is each of them.
 */
export class JsonLinesSource implements RecordSource {
  readonly columns = null;
  known: KnownFields = {};
  readonly hasTextOnly = false;
  private action: BulkAction | null = null;

  constructor(private readonly bytes: ByteSource) {}

  async *read(cursor: unknown): AsyncGenerator<RecordChunk> {
    const from = cursor as JsonCursor | null;
    const start: JsonPosition = from ?? { byte: 0, line: 0 };
    this.action = from?.action ?? null;
    const { isLines, bytes } =
      from === null
        ? await jsonLayout(this.bytes.open())
        : { isLines: from.isLines, bytes: this.bytes.open(start.byte) };
    let records: SourceRecord[] = [];
    let unreadable: UnreadableRow[] = [];
    let size = 0;
    let last: JsonCursor = { ...start, isLines, action: this.action };
    const place = isLines ? 'line' : 'item';
    const chunk = (): RecordChunk => {
      const made: RecordChunk = { records, unreadable, place, idPrefix: '', cursor: last, share: this.bytes.share };
      records = [];
      unreadable = [];
      size = 0;
      return made;
    };
    const pieces: AsyncIterable<(Omit<JsonPiece, 'isInArray'> & { isInArray?: boolean })[]> = isLines
      ? linesOf(bytes, start)
      : jsonValues(bytes, start, this.bytes.name);
    let failure: Error | null = null;
    try {
      for await (const lines of pieces) {
        for (const { line, number, end, isInArray } of lines) {
          const isFirst = number === 1 && start.byte === 0;
          const text = line
            .toString(
              'utf8',
              isFirst && line.length >= 3 && line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? 3 : 0,
            )
            .trim();
          const rows = text === '' ? [] : this.rowsOf(line, text);
          last = {
            byte: end,
            line: number,
            isLines,
            action: this.action,
            ...(isInArray === undefined ? {} : { isInArray }),
          };
          if (typeof rows === 'string') unreadable.push({ number, reason: rows });
          else for (const fields of rows) records.push({ fields, number });
          size += line.length;
          if (
            records.length + unreadable.length >= CHUNK_ROWS ||
            (size >= CHUNK_BYTES && records.length + unreadable.length > 0)
          )
            yield chunk();
        }
      }
    } catch (error) {
      // What was read before stays read.
      failure = error as Error;
    }
    if (records.length + unreadable.length > 0) yield chunk();
    if (failure !== null) throw failure;
  }

  /** What a piece holds; a text says why it holds nothing. */
  private rowsOf(line: Buffer, text: string): Record<string, unknown>[] | string {
    const value = isUtf8(line) ? objectOf(text) : NOT_UTF8;
    if (typeof value === 'string') return (value === NOT_UTF8 ? null : this.rowsBeside(line)) ?? value;
    return this.rowsOfValue(value);
  }

  /** Of objects that stand beside each other in a line; null: it is anything else. */
  private rowsBeside(line: Buffer): Record<string, unknown>[] | null {
    const pieces = valuesOfLine(line);
    const values =
      pieces.length === 1 && pieces[0].length === line.length
        ? []
        : pieces.map((piece) => objectOf(piece.toString('utf8')));
    const rows: Record<string, unknown>[] = [];
    for (const value of values) {
      const found = typeof value === 'string' ? value : this.rowsOfValue(value);
      if (typeof found === 'string') return null;
      rows.push(...found);
    }
    return values.length === 0 ? null : rows;
  }

  private rowsOfValue(value: Record<string, unknown>): Record<string, unknown>[] | string {
    const { action } = this;
    if (action !== null) {
      this.action = null;
      if (action.id !== null) this.known = { id: '_id' };
      const stored = action.kind === 'update' ? (value.doc ?? value.upsert) : value;
      if (typeof stored !== 'object' || stored === null) return 'an update without a document';
      return [{ ...stored, ...(action.id === null ? {} : { _id: action.id }) }];
    }
    const next = bulkActionOf(value);
    if (next?.kind === 'delete') return `a deletion of ${String(next.id)}`;
    if (next !== null) {
      this.action = next;
      return [];
    }
    const shaped = shapedRows(value);
    if (shaped === null || typeof shaped === 'string') return shaped ?? [value];
    this.known = shaped.known;
    return shaped.rows;
  }
}

/** The object, or why there is none. */
function objectOf(text: string): Record<string, unknown> | string {
  try {
    // Ids of 64 bits as numbers: two of them must not become one.
    const value = parseLenient(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    // A list of lists of numbers is one of vectors.
    if (Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'number'))
      return { vector: value };
    return typeof value === 'string' ? 'a text alone, and no object such as {"text": …}' : 'not a JSON object';
  } catch (error) {
    return `not JSON: ${(error as Error).message}`;
  }
}
