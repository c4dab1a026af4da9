import { CommandError } from '../command-error';
import { PIECE_BYTES_MAX } from './record-source';

/** A row as it stands in the file, with its line end. */
export interface CsvRecord {
  /** Where it begins in the bytes that were given out with it. */
  from: number;
  to: number;
  /** Its first line, from 1. */
  number: number;
  /** Why its quotes can't be understood; null: they can. Then it is one line. */
  fault: string | null;
  /** Where it ends in the file, and how many lines are before that. */
  byte: number;
  line: number;
}

const QUOTE = 0x22;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const FIRST_CAPACITY = 1 << 19;

type State = 'value' | 'plain' | 'quoted' | 'bad';

/**
 * Cuts comma separated values into rows. A value that begins with a quote ends with the next one that is not doubled, and the
 * value's end has to follow; any other quote is a character. So a row is bad where something else follows, or nothing: it is
 * given out as the one line in which it begins, and the next line is the next row, whatever the quote would have taken.
 */
export class CsvRecords {
  private held = Buffer.alloc(0);
  /** Ends of what is held. */
  private start = 0;
  private end = 0;
  /** How far the row that begins at `start` was looked at, and what is expected there. */
  private at = 0;
  private state: State = 'value';
  private fault: string | null = null;
  private hasBegun = false;
  private hasEnded = false;

  /** From a place in the file on. `lineEnd`: of its rows; null: the first one that is found is that of all. */
  constructor(
    private readonly delimiter: Buffer,
    private readonly name: string,
    private byte: number,
    private line: number,
    private ending: string | null,
  ) {}

  /** What ends rows; null: nothing did yet. */
  get lineEnd(): string | null {
    return this.ending;
  }

  /** The rows that are whole with these bytes; null: that were all. What it answers is good until the next call. Errors: CommandError. */
  push(piece: Buffer | null): { bytes: Buffer; records: CsvRecord[] } {
    if (piece === null) this.hasEnded = true;
    else this.append(piece);
    const records: CsvRecord[] = [];
    if (!this.hasBegun && !this.begin()) return { bytes: this.held, records };
    for (let record = this.next(); record !== null; record = this.next()) if (record.to > record.from) records.push(record);
    return { bytes: this.held, records };
  }

  private append(piece: Buffer): void {
    const length = this.end - this.start;
    if (this.end + piece.length > this.held.length) {
      const whole = length + piece.length;
      const held = whole <= this.held.length / 2 ? this.held : Buffer.allocUnsafeSlow(Math.max(FIRST_CAPACITY, 2 * whole));
      this.held.copy(held, 0, this.start, this.end);
      this.held = held;
      this.at -= this.start;
      this.start = 0;
      this.end = length;
    }
    piece.copy(this.held, this.end);
    this.end += piece.length;
  }

  /** Passes over a byte order mark at the file's beginning. Answers false until it is known whether there is one. */
  private begin(): boolean {
    if (this.byte === 0 && this.end < BYTE_ORDER_MARK.length && !this.hasEnded) return false;
    this.hasBegun = true;
    if (this.byte > 0 || !this.held.subarray(0, Math.min(this.end, BYTE_ORDER_MARK.length)).equals(BYTE_ORDER_MARK)) return true;
    this.byte = this.start = this.at = BYTE_ORDER_MARK.length;
    return true;
  }

  /** The next row, empty lines among them; null: it is not whole yet, or there is none. */
  private next(): CsvRecord | null {
    while (this.at < this.end || this.hasEnded) {
      const next = this[this.state]();
      if (next !== 'more') {
        if (next !== null) return this.take(next);
        continue;
      }
      if (!this.hasEnded) break;
      if (this.start === this.end) return null;
      if (this.state !== 'quoted') return this.take({ to: this.end, content: this.end });
      this.isBad('a quote that is never closed');
    }
    if (this.end - this.start > PIECE_BYTES_MAX) {
      if (this.state !== 'quoted' || this.lineEndFrom(this.start) === null) throw new CommandError(`${this.name} has a row of more than ${PIECE_BYTES_MAX >> 20} MiB in line ${this.line + 1}`);
      this.isBad('a quote that is never closed');
      return this.next();
    }
    return null;
  }

  /** Each of the states answers where the row ends, null if there is more to look at, or that more bytes are needed. */
  private value(): RowEnd | null | 'more' {
    if (this.at === this.end) return 'more';
    const isQuote = this.held[this.at] === QUOTE;
    if (isQuote) this.at += 1;
    this.state = isQuote ? 'quoted' : 'plain';
    return null;
  }

  private plain(): RowEnd | null | 'more' {
    const { held, delimiter, end } = this;
    const first = delimiter[0];
    for (; this.at < end; this.at += 1) {
      const byte = held[this.at];
      if (byte !== first && byte !== LINE_FEED && byte !== RETURN) continue;
      const ending = this.endingAt(this.at);
      if (ending !== null || this.state !== 'plain') return ending;
    }
    return 'more';
  }

  private quoted(): RowEnd | null | 'more' {
    const { held, end } = this;
    for (;;) {
      const quote = held.subarray(0, end).indexOf(QUOTE, this.at);
      if (quote < 0) {
        this.at = end;
        return 'more';
      }
      const after = quote + 1;
      if (after < end && held[after] === QUOTE) {
        this.at = after + 1;
        continue;
      }
      this.at = quote;
      if (after === end) return this.hasEnded ? { to: end, content: end } : 'more';
      const ending = this.endingAt(after);
      if (ending === 'more') return 'more';
      if (ending !== null) return ending;
      if (this.state === 'value') return null;
      this.isBad('a value in quotes with more behind the quote that ends it');
      return null;
    }
  }

  private bad(): RowEnd | null | 'more' {
    const found = this.lineEndFrom(this.at);
    if (found === null) this.at = Math.max(this.at, this.end - 1);
    return found ?? 'more';
  }

  private isBad(fault: string): void {
    this.state = 'bad';
    this.fault = fault;
    this.at = this.start;
  }

  /** What ends a value there: the row's end, or another value, for which the state is set; null: neither. */
  private endingAt(place: number): RowEnd | null | 'more' {
    const { held, delimiter, end } = this;
    const byte = held[place];
    if (byte === LINE_FEED || byte === RETURN) {
      const known = this.lineEnd ?? this.lineEndAt(place);
      if (known === null) return 'more';
      if (byte === RETURN && known === '\r\n' && place + 1 === end && !this.hasEnded) return 'more';
      if (!startsWith(held, place, end, known)) return null;
      this.ending = known;
      return { to: place + known.length, content: place };
    }
    if (byte !== delimiter[0]) return null;
    if (place + delimiter.length > end && !this.hasEnded) return 'more';
    if (!held.subarray(place, Math.min(end, place + delimiter.length)).equals(delimiter)) return null;
    this.at = place + delimiter.length;
    this.state = 'value';
    return null;
  }

  /** The first line end from a place on that ends rows, in quotes or not; null: there is none yet. */
  private lineEndFrom(place: number): RowEnd | null {
    const text = this.held.subarray(0, this.end);
    if (this.lineEnd !== null) {
      const at = text.indexOf(this.lineEnd.at(-1)!, place, 'latin1');
      return at < 0 ? null : { to: at + 1, content: at };
    }
    const feed = text.indexOf(LINE_FEED, place);
    const back = text.indexOf(RETURN, place);
    const at = feed < 0 || (back >= 0 && back < feed) ? back : feed;
    const found = at < 0 ? null : this.lineEndAt(at);
    return found === null ? null : { to: at + found.length, content: at };
  }

  private lineEndAt(place: number): string | null {
    if (this.held[place] === LINE_FEED) return '\n';
    if (place + 1 === this.end) return this.hasEnded ? '\r' : null;
    return this.held[place + 1] === LINE_FEED ? '\r\n' : '\r';
  }

  private take({ to, content }: RowEnd): CsvRecord {
    const { start, fault, line } = this;
    const counted = this.lineEnd === '\r' ? RETURN : LINE_FEED;
    const row = this.held.subarray(start, to);
    for (let at = row.indexOf(counted); at >= 0; at = row.indexOf(counted, at + 1)) this.line += 1;
    this.byte += to - start;
    Object.assign(this, { start: to, at: to, state: 'value', fault: null });
    // An empty line is none.
    return { from: start, to: content === start ? start : to, number: line + 1, fault, byte: this.byte, line: this.line };
  }
}

/** Where a row ends, with and without its line end. */
interface RowEnd {
  to: number;
  content: number;
}

function startsWith(bytes: Buffer, place: number, end: number, text: string): boolean {
  if (place + text.length > end) return false;
  for (let i = 0; i < text.length; i += 1) if (bytes[place + i] !== text.charCodeAt(i)) return false;
  return true;
}
