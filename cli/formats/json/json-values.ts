import { CommandError, EXIT_CODES } from '../../command-error';
import { PIECE_BYTES_MAX } from '../record-source';

/** Where reading goes on. */
export interface JsonPosition {
  byte: number;
  /** Lines or values before that. */
  line: number;
  /** Within an array whose elements are the values. */
  isInArray?: boolean;
}

/** A piece of JSON with its number from 1, and the place behind it. */
export interface JsonPiece {
  line: Buffer;
  number: number;
  end: number;
  isInArray: boolean;
}

const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Array.from(
  '"\\,[]{}',
  (character) => character.charCodeAt(0),
);
const BYTE_ORDER_MARK_BYTES = 3;
const LINE_FEED = 0x0a;

const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0x1e;

/**
 * The elements of a JSON array, or values one after the other, however they are laid out in lines: of a file of any
 * size, with one value in memory. What is no JSON comes as a piece that can't be parsed. Throws a CommandError for an
 * array that is cut off.
 */
export async function* jsonValues(
  bytes: AsyncIterable<Buffer>,
  from: JsonPosition,
  name: string,
): AsyncGenerator<JsonPiece[]> {
  const scan = new ValueScan(from, name);
  for await (const piece of bytes) {
    const values = scan.push(piece);
    if (values.length > 0) yield values;
  }
  const last = scan.end();
  if (last !== null) yield [last];
  if (scan.isInArray) throw new CommandError(`${name} is cut off: its array has no end`, EXIT_CODES.usage);
}

/** The values of a line that holds several, with commas or white space between them, or nothing. */
export function valuesOfLine(line: Buffer): Buffer[] {
  const scan = new ValueScan({ byte: 0, line: 0 }, '');
  const values = scan.push(line);
  const last = scan.end();
  return [...values, ...(last === null ? [] : [last])].map((value) => value.line);
}

/** Looks at each byte once, in pieces of any size. */
class ValueScan {
  isInArray: boolean;
  private byte: number;
  private number: number;
  /** The value that is not whole: its parts so far; null: there is none. */
  private parts: Buffer[] | null = null;
  private partBytes = 0;
  /** Objects and lists that are open; 0: a single value. */
  private depth = 0;
  private isInText = false;
  private isEscaped = false;

  constructor(
    from: JsonPosition,
    private readonly name: string,
  ) {
    this.byte = from.byte;
    this.number = from.line;
    this.isInArray = from.isInArray ?? false;
  }

  push(piece: Buffer): JsonPiece[] {
    const values: JsonPiece[] = [];
    let start = 0;
    let at = 0;
    while (at < piece.length) {
      if (this.parts === null) {
        if (this.begin(piece[at], this.byte + at)) start = at;
        else {
          at += 1;
          continue;
        }
      }
      const end = this.endOf(piece, at);
      if (end === null) break;
      values.push(this.whole(piece.subarray(start, end), this.byte + end));
      at = end;
    }
    if (this.parts !== null) {
      this.parts.push(piece.subarray(start));
      this.partBytes += piece.length - start;
      if (this.partBytes > PIECE_BYTES_MAX)
        throw new CommandError(
          `item ${this.number + 1} of ${this.name} is longer than ${PIECE_BYTES_MAX >> 20} MiB`,
          EXIT_CODES.usage,
        );
    }
    this.byte += piece.length;
    return values;
  }

  end(): JsonPiece | null {
    return this.parts === null ? null : this.whole(Buffer.alloc(0), this.byte);
  }

  /** Whether a value begins with this byte. */
  private begin(byte: number, place: number): boolean {
    if (isSpace(byte) || byte === COMMA || (place < BYTE_ORDER_MARK_BYTES && byte >= 0x80)) return false;
    if (byte === (this.isInArray ? CLOSE_LIST : OPEN_LIST)) {
      this.isInArray = byte === OPEN_LIST;
      return false;
    }
    this.parts = [];
    this.partBytes = 0;
    this.depth = 0;
    return true;
  }

  /** The place behind the value that is open, or null if it goes on. */
  private endOf(piece: Buffer, from: number): number | null {
    for (let at = from; at < piece.length; at++) {
      const byte = piece[at];
      if (this.isEscaped) this.isEscaped = false;
      else if (this.isInText) {
        if (byte === BACKSLASH) this.isEscaped = true;
        else if (byte === QUOTE) {
          this.isInText = false;
          if (this.depth === 0) return at + 1;
        }
      } else if (byte === QUOTE) this.isInText = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.depth += 1;
      else if (this.depth > 0) {
        if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) this.depth -= 1;
        if (this.depth === 0) return at + 1;
      } else if (isSpace(byte) || byte === COMMA || byte === CLOSE_LIST)
        return at === from && this.partBytes === 0 ? at + 1 : at;
    }
    return null;
  }

  private whole(last: Buffer, end: number): JsonPiece {
    const line = this.parts === null || this.parts.length === 0 ? last : Buffer.concat([...this.parts, last]);
    this.parts = null;
    this.isInText = false;
    this.isEscaped = false;
    this.number += 1;
    return { line, number: this.number, end, isInArray: this.isInArray };
  }
}

/**
 * How a file of JSON is laid out, by its first line: a value a line, or values over several lines or within an array.
 * Answers the bytes again, from their beginning.
 */
export async function jsonLayout(
  bytes: AsyncIterable<Buffer>,
): Promise<{ isLines: boolean; bytes: AsyncIterable<Buffer> }> {
  const source = bytes[Symbol.asyncIterator]();
  const seen: Buffer[] = [];
  let isLines: boolean | null = null;
  let size = 0;
  let first: number | null = null;
  while (isLines === null) {
    const { value, done } = await source.next();
    if (done) break;
    seen.push(value);
    size += value.length;
    first ??=
      value.find(
        (byte, at) => !isSpace(byte) && !(size === value.length && at < BYTE_ORDER_MARK_BYTES && byte >= 0x80),
      ) ?? null;
    if (first === OPEN_LIST) isLines = false;
    else if ((first !== null && first !== OPEN_OBJECT) || size > PIECE_BYTES_MAX) isLines = true;
    else if (value.includes(LINE_FEED)) isLines = looksLikeLines(Buffer.concat(seen).toString('utf8'));
  }
  async function* again(): AsyncGenerator<Buffer> {
    try {
      yield* seen;
      for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
    } finally {
      await source.return?.();
    }
  }
  return { isLines: isLines ?? true, bytes: again() };
}

/** Null: the second line is needed, and not there yet. */
function looksLikeLines(text: string): boolean | null {
  const [, line, rest] = /^\ufeff?\s*([^\n]*)\n\s*([^]*)$/.exec(text) ?? [];
  if (line === undefined) return null;
  try {
    JSON.parse(line);
    return true;
  } catch {
    if (rest === '') return null;
    // Of an object over several lines, the first ends where something may follow, and a name or a value does.
    return !/[{[,:]\s*$/.test(line) || (rest.startsWith('{') && !/[[:]\s*$/.test(line));
  }
}
