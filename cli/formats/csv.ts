import { type Options, parse } from 'csv-parse/sync';
import { CommandError } from '../command-error';
import { type ByteSource, inUtf8 } from './byte-source';
import { type CsvRecord, CsvRecords } from './csv-records';
import {
  CHUNK_BYTES,
  CHUNK_ROWS,
  type KnownFields,
  type RecordChunk,
  type RecordSource,
  type SourceRecord,
  type UnreadableRow,
} from './record-source';

/** Where a row ends. */
interface Position {
  byte: number;
  /** Lines before that. */
  line: number;
  /** What ends rows; null: nothing did yet. */
  lineEnd: string | null;
}

interface CsvCursor extends Position {
  columns: string[];
  delimiter: string;
}

/** What separates values, the likeliest first. */
const DELIMITERS = [',', ';', '\t', '|'];
/** A first line that is longer is looked at so far. */
const HEAD_BYTES = 1 << 16;
/** Excel's own way to say it, in a line before the names. */
const SEPARATOR_LINE = /^\ufeff?sep=(.)\r?$/i;
const SPACED_QUOTE = /^\s+"/;
const DECIMAL_COMMA = /^\s*[-+]?\d+,\d+(?:[eE][-+]?\d+)?\s*$/;

interface ParsedRow {
  record: CsvRecord;
  /** None of a bad row. */
  values: string[];
  lineEnd: string | null;
}

/**
 * Comma or tab separated values with a line of names at the head, or with names that are given. Quoted as RFC 4180 has
 * it; a quote that is not the first character of a value is one of it (csv-records.ts).
 */
export class CsvSource implements RecordSource {
  readonly columns = null;
  readonly known: KnownFields = {};
  readonly hasTextOnly = true;

  constructor(
    private readonly bytes: ByteSource,
    /** Without a delimiter, the first line tells it. */
    private readonly options: { delimiter: string | null; columns?: string[] },
  ) {
    this.delimiter = options.delimiter;
  }

  private delimiter: string | null;

  async *read(cursor: unknown): AsyncGenerator<RecordChunk> {
    const start = cursor as CsvCursor | null;
    this.delimiter ??= start?.delimiter ?? null;
    let columns = start?.columns ?? this.options.columns ?? null;
    let records: SourceRecord[] = [];
    let unreadable: UnreadableRow[] = [];
    let size = 0;
    let last: Position = { byte: start?.byte ?? 0, line: start?.line ?? 0, lineEnd: start?.lineEnd ?? null };
    const chunk = (): RecordChunk => {
      const made: RecordChunk = {
        records,
        unreadable,
        place: 'line',
        idPrefix: '',
        cursor: { ...last, columns: columns ?? [], delimiter: this.delimiter ?? ',' } satisfies CsvCursor,
        share: this.bytes.share,
      };
      records = [];
      unreadable = [];
      size = 0;
      return made;
    };
    for await (const { record, values, lineEnd } of this.rows(last)) {
      const { number, fault } = record;
      const from = last.byte;
      last = { byte: record.byte, line: record.line, lineEnd };
      if (fault !== null) {
        if (columns === null)
          throw new CommandError(`${this.bytes.name} names no columns: in line ${number} there is ${fault}`);
        unreadable.push({ number, reason: fault });
      } else if (number === 1 && SEPARATOR_LINE.test(values.join(this.delimiter ?? ','))) {
        continue;
      } else if (columns === null) {
        columns = namesOf(values, this.bytes.name);
        continue;
      } else if (values.length !== columns.length) {
        const isSpaced = values.some((value) => SPACED_QUOTE.test(value));
        unreadable.push({
          number,
          reason: `${values.length === 1 ? '1 value' : `${values.length} values`}, where there ${columns.length === 1 ? 'is 1 column; what stands between them is said by --delimiter' : `are ${columns.length} columns`}${isSpaced ? '; a quote opens a value only where no space is before it' : ''}`,
        });
      } else {
        records.push({ fields: Object.fromEntries(columns.map((name, i) => [name, values[i]])), number });
      }
      size += record.byte - from;
      if (records.length + unreadable.length >= CHUNK_ROWS || size >= CHUNK_BYTES) yield chunk();
    }
    if (records.length + unreadable.length > 0) yield chunk();
  }

  private async *rows({ byte, line, lineEnd }: Position): AsyncGenerator<ParsedRow> {
    let records: CsvRecords | null = null;
    const opened = (delimiter: string): CsvRecords =>
      new CsvRecords(Buffer.from(delimiter), this.bytes.name, byte, line, lineEnd);
    let head: Buffer = Buffer.alloc(0);
    for await (const piece of inUtf8(this.bytes.open(byte), this.bytes.name)) {
      if (records === null) {
        head = head.length === 0 ? piece : Buffer.concat([head, piece]);
        if (this.delimiter === null && head.length < HEAD_BYTES && !/[\r\n]/.test(head.toString('latin1'))) continue;
        records = opened((this.delimiter ??= this.delimiterOf(head)));
        records.append(head);
      } else records.append(piece);
      yield* this.parsed(records);
    }
    if (records === null) {
      records = opened((this.delimiter ??= this.delimiterOf(head)));
      records.append(head);
    }
    records.end();
    yield* this.parsed(records);
  }

  /** Of which there are most in the first line, outside of quotes. */
  private delimiterOf(head: Buffer): string {
    const [line] = head
      .subarray(0, HEAD_BYTES)
      .toString('utf8')
      .split(/[\r\n]/);
    const said = SEPARATOR_LINE.exec(line);
    if (said !== null) return said[1];
    const bare = line.replaceAll(/"(?:[^"]|"")*"/g, '');
    const counts = DELIMITERS.map((delimiter) => bare.split(delimiter).length - 1);
    const { columns } = this.options;
    if (columns !== undefined) return DELIMITERS[Math.max(0, counts.indexOf(columns.length - 1))];
    return DELIMITERS[counts.indexOf(Math.max(...counts))];
  }

  /**
   * The rows that are whole. Neighbours are parsed together, but no more than a chunk: there may be very many behind a
   * bad one.
   */
  private *parsed(records: CsvRecords): Generator<ParsedRow> {
    for (;;) {
      const good: CsvRecord[] = [];
      let size = 0;
      let next = records.next();
      for (
        ;
        next !== null && next.fault === null;
        next = good.length < CHUNK_ROWS && size < CHUNK_BYTES ? records.next() : null
      ) {
        good.push(next);
        size += next.to - next.from;
      }
      const { lineEnd } = records;
      if (good.length > 0) yield* this.valuesOf(good, records.bytes, lineEnd);
      if (next !== null) yield { record: next, values: [], lineEnd };
      else if (good.length === 0) return;
    }
  }

  private *valuesOf(records: CsvRecord[], bytes: Buffer, lineEnd: string | null): Generator<ParsedRow> {
    const delimiter = this.delimiter ?? ',';
    const options: Options = {
      delimiter,
      record_delimiter: lineEnd ?? [],
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
    };
    const rows = parse(bytes.subarray(records[0].from, records.at(-1)!.to), options) as string[][];
    if (rows.length !== records.length)
      throw new Error(`${records.length} rows of ${this.bytes.name} were read as ${rows.length}`);
    for (const [i, record] of records.entries()) yield { record, values: rows[i], lineEnd };
  }
}

/** Whether a text is a number as many countries write it. */
export function isDecimalComma(text: unknown): boolean {
  return typeof text === 'string' && DECIMAL_COMMA.test(text);
}

/** Names without space around them; a column without a name is called by its number. */
function namesOf(values: string[], file: string): string[] {
  const names = values.map((value, i) => value.trim() || `column_${i + 1}`);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new CommandError(`${file} has two columns named "${twice}"; name them with --columns`);
  return names;
}
