import { CommandError } from '../command-error';
import { PIECE_BYTES_MAX } from './record-source';

/** A row as it stands in the file, with its line end. */
export interface CsvRecord {
  /** Where it is in `bytes` of the reader. */
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

/** Where a row ends, with and without its line end. */
interface RowEnd {
  to: number;
  content: number;
}

/** What is expected: the beginning of a value, the rest of one without quotes or within them, the end of a bad line. */
type State = 'value' | 'plain' | 'quoted' | 'bad';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const FIRST_CAPACITY = 1 << 19;
/** Places that are remembered, at most. */
const DOOMED_MAX = 1_000_000;
const STRAY_QUOTE = 'a value in quotes with more behind the quote that ends it';
const ESCAPED_QUOTE = 'a quote behind a backslash: within quotes, CSV has quotes doubled';
const OPEN_QUOTE = 'a quote that is never closed';

/**
 * Cuts comma separated values into rows. A value that begins with a quote ends with the next one that is not doubled,
 * and the value's end has to follow; any other quote is a character. So a row is bad where something else follows, or
 * nothing: it is given out as the one line in which it begins, and the next line is the next row, whatever the quote
 * would have taken.
 */
export class CsvRecords {
  private held = Buffer.alloc(0);
  /** Of what is held: where the next row begins, and where all ends. */
  private start = 0;
  private filled = 0;
  /** How far the row that begins at `start` was looked at, and what is expected there. */
  private at = 0;
  private state: State = 'value';
  private fault: string | null = null;
  /** Places in the file where the row opened values in quotes. */
  private opened: number[] = [];
  /**
   * Those of bad rows, which are still to come: a row that opens such a value there is bad, too. So no part of a file
   * is looked through again and again, where each line opens a quote that is never closed.
   */
  private readonly doomed = new Map<number, string>();
  private lastDoomed = -1;
  private hasBegun = false;
  private hasEnded = false;

  /** From a place in the file on. `ending`: what ends its rows; null: the first line end that is found. */
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

  /** Where rows are, until more is appended. */
  get bytes(): Buffer {
    return this.held;
  }

  /** Call it when `next` answers null. */
  append(piece: Buffer): void {
    const length = this.filled - this.start;
    if (this.filled + piece.length > this.held.length) {
      const whole = length + piece.length;
      const held =
        whole <= this.held.length / 2 ? this.held : Buffer.allocUnsafeSlow(Math.max(FIRST_CAPACITY, 2 * whole));
      this.held.copy(held, 0, this.start, this.filled);
      this.held = held;
      this.at -= this.start;
      this.start = 0;
      this.filled = length;
    }
    piece.copy(this.held, this.filled);
    this.filled += piece.length;
  }

  /** Nothing more will be appended. */
  end(): void {
    this.hasEnded = true;
  }

  /**
   * The next row that is not empty; null: it is not whole yet, or there is none. Errors: CommandError for one that is
   * too long.
   */
  next(): CsvRecord | null {
    if (!this.hasBegun && !this.begin()) return null;
    for (;;) {
      const end = this.rowEnd();
      if (end === null) return null;
      const record = this.take(end);
      if (end.content > record.from) return record;
    }
  }

  /** Passes over a byte order mark at the file's beginning. Answers false until it is known whether there is one. */
  private begin(): boolean {
    if (this.byte === 0 && this.filled < BYTE_ORDER_MARK.length && !this.hasEnded) return false;
    this.hasBegun = true;
    if (this.byte > 0 || !this.held.subarray(0, Math.min(this.filled, BYTE_ORDER_MARK.length)).equals(BYTE_ORDER_MARK))
      return true;
    this.byte = this.start = this.at = BYTE_ORDER_MARK.length;
    return true;
  }

  /** Where the next row ends, which may be empty. */
  private rowEnd(): RowEnd | null {
    for (;;) {
      const found = this[this.state]();
      if (found === null) continue;
      if (found !== 'more') return found;
      const length = this.filled - this.start;
      if (this.hasEnded && length === 0) return null;
      if (this.hasEnded && this.state !== 'quoted') return { to: this.filled, content: this.filled };
      if (!this.hasEnded && length <= PIECE_BYTES_MAX) return null;
      if (this.state !== 'quoted' || (!this.hasEnded && this.lineEndFrom(this.start) === null))
        throw new CommandError(
          `${this.name} has a row of more than ${PIECE_BYTES_MAX >> 20} MiB in line ${this.line + 1}`,
        );
      this.isBad(OPEN_QUOTE);
    }
  }

  /** Each of the states answers where the row ends, null if there is more to look at, or that it needs more bytes. */
  private value(): RowEnd | null | 'more' {
    if (this.at === this.filled) return 'more';
    if (this.held[this.at] !== QUOTE) {
      this.state = 'plain';
      return null;
    }
    const place = this.byte + this.at - this.start;
    this.opened.push(place);
    const fault = this.doomed.get(place);
    if (fault === undefined) {
      this.state = 'quoted';
      this.at += 1;
    } else this.isBad(fault);
    return null;
  }

  private plain(): RowEnd | null | 'more' {
    const { held, delimiter, filled } = this;
    const first = delimiter[0];
    for (; this.at < filled; this.at += 1) {
      const byte = held[this.at];
      if (byte !== first && byte !== LINE_FEED && byte !== RETURN) continue;
      const found = this.endingAt(this.at);
      if (found !== null || this.state !== 'plain') return found;
    }
    return 'more';
  }

  private quoted(): RowEnd | null | 'more' {
    const { held, filled } = this;
    for (;;) {
      const quote = held.subarray(0, filled).indexOf(QUOTE, this.at);
      if (quote < 0) {
        this.at = filled;
        return 'more';
      }
      const after = quote + 1;
      if (after < filled && held[after] === QUOTE) {
        this.at = after + 1;
        continue;
      }
      this.at = quote;
      if (after === filled) return this.hasEnded ? { to: filled, content: filled } : 'more';
      const found = this.endingAt(after);
      if (found === null && this.state === 'quoted')
        this.isBad(held[quote - 1] === BACKSLASH ? ESCAPED_QUOTE : STRAY_QUOTE);
      return found;
    }
  }

  private bad(): RowEnd | null | 'more' {
    const found = this.lineEndFrom(this.at);
    if (found === null) this.at = Math.max(this.at, this.filled - 1);
    return found ?? 'more';
  }

  private isBad(fault: string): void {
    for (const place of this.opened) {
      if (this.doomed.size >= DOOMED_MAX) break;
      this.doomed.set(place, fault);
      this.lastDoomed = Math.max(this.lastDoomed, place);
    }
    this.state = 'bad';
    this.fault = fault;
    this.at = this.start;
  }

  /** What ends a value there: the row's end, or the next value, which is then expected; null: neither. */
  private endingAt(place: number): RowEnd | null | 'more' {
    const { held, delimiter, filled } = this;
    const byte = held[place];
    if (byte === LINE_FEED || byte === RETURN) {
      const ending = this.ending ?? this.lineEndAt(place);
      if (ending === null || (byte === RETURN && ending === '\r\n' && place + 1 === filled && !this.hasEnded))
        return 'more';
      if (!startsWith(held, place, filled, ending)) return null;
      this.ending = ending;
      return { to: place + ending.length, content: place };
    }
    if (byte !== delimiter[0]) return null;
    if (place + delimiter.length > filled && !this.hasEnded) return 'more';
    if (!held.subarray(place, Math.min(filled, place + delimiter.length)).equals(delimiter)) return null;
    this.at = place + delimiter.length;
    this.state = 'value';
    return null;
  }

  /** The first line end from a place on, in quotes or not; null: there is none yet. */
  private lineEndFrom(place: number): RowEnd | null {
    const text = this.held.subarray(0, this.filled);
    if (this.ending !== null) {
      const at = text.indexOf(this.ending.at(-1)!, place, 'latin1');
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
    if (place + 1 === this.filled) return this.hasEnded ? '\r' : null;
    return this.held[place + 1] === LINE_FEED ? '\r\n' : '\r';
  }

  private take({ to, content }: RowEnd): CsvRecord {
    const { start, fault, line } = this;
    if (fault !== null) this.line += to > content ? 1 : 0;
    else {
      const counted = this.ending === '\r' ? RETURN : LINE_FEED;
      const row = this.held.subarray(start, to);
      for (let at = row.indexOf(counted); at >= 0; at = row.indexOf(counted, at + 1)) this.line += 1;
    }
    this.byte += to - start;
    this.start = this.at = to;
    this.state = 'value';
    this.fault = null;
    this.opened = [];
    if (this.lastDoomed < this.byte) this.doomed.clear();
    return { from: start, to, number: line + 1, fault, byte: this.byte, line: this.line };
  }
}

function startsWith(bytes: Buffer, place: number, end: number, text: string): boolean {
  if (place + text.length > end) return false;
  for (let i = 0; i < text.length; i += 1) if (bytes[place + i] !== text.charCodeAt(i)) return false;
  return true;
}
