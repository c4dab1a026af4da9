import { type Options, parse } from 'csv-parse/sync';
import { CommandError } from '../command-error';
import { type ByteSource, inUtf8 } from './byte-source';
import { type CsvRecord, CsvRecords } from './csv-records';
import { CHUNK_BYTES, CHUNK_ROWS, type KnownFields, type RecordChunk, type RecordSource, type SourceRecord, type UnreadableRow } from './record-source';

/** Where a row ends. */
interface Place {
  byte: number;
  /** Lines before that. */
  line: number;
  /** What ends rows; null: nothing did yet. */
  lineEnd: string | null;
}

interface CsvMark extends Place {
  columns: string[];
}

interface ParsedRow {
  record: CsvRecord;
  /** None of a bad row. */
  values: string[];
  lineEnd: string | null;
}

/**
 * Comma or tab separated values with a line of names at the head, or with names that are given. Quoted as RFC 4180 has it; a
 * quote that is not the first character of a value is one of it (csv-records.ts).
 */
export class CsvSource implements RecordSource {
  readonly columns = null;
  readonly known: KnownFields = {};
  readonly hasNullsForNothing = true;
  readonly hasTextOnly = true;

  constructor(
    private readonly bytes: ByteSource,
    private readonly options: { delimiter: string; columns?: string[] },
  ) {}

  async *read(mark: unknown): AsyncGenerator<RecordChunk> {
    const start = mark as CsvMark | null;
    let columns = start?.columns ?? this.options.columns ?? null;
    let records: SourceRecord[] = [];
    let unreadable: UnreadableRow[] = [];
    let size = 0;
    let last: Place = { byte: start?.byte ?? 0, line: start?.line ?? 0, lineEnd: start?.lineEnd ?? null };
    const chunk = (): RecordChunk => {
      const made: RecordChunk = { records, unreadable, place: 'line', idPrefix: '', mark: { ...last, columns: columns ?? [] } satisfies CsvMark, share: this.bytes.share };
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
        if (columns === null) throw new CommandError(`${this.bytes.name} names no columns: in line ${number} there is ${fault}`);
        unreadable.push({ number, reason: fault });
      } else if (columns === null) {
        columns = namesOf(values, this.bytes.name);
        continue;
      } else if (values.length !== columns.length) {
        unreadable.push({ number, reason: `${values.length} values, where there are ${columns.length} columns` });
      } else {
        records.push({ fields: Object.fromEntries(columns.map((name, i) => [name, values[i]])), number });
      }
      size += record.byte - from;
      if (records.length + unreadable.length >= CHUNK_ROWS || size >= CHUNK_BYTES) yield chunk();
    }
    if (records.length + unreadable.length > 0) yield chunk();
  }

  private async *rows({ byte, line, lineEnd }: Place): AsyncGenerator<ParsedRow> {
    const records = new CsvRecords(Buffer.from(this.options.delimiter), this.bytes.name, byte, line, lineEnd);
    for await (const piece of inUtf8(this.bytes.open(byte), this.bytes.name)) {
      records.append(piece);
      yield* this.parsed(records);
    }
    records.end();
    yield* this.parsed(records);
  }

  /** The rows that are whole. Neighbours are parsed together, but no more than a chunk: there may be very many behind a bad one. */
  private *parsed(records: CsvRecords): Generator<ParsedRow> {
    for (;;) {
      const good: CsvRecord[] = [];
      let size = 0;
      let next = records.next();
      for (; next !== null && next.fault === null; next = good.length < CHUNK_ROWS && size < CHUNK_BYTES ? records.next() : null) {
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
    const { delimiter } = this.options;
    const options: Options = { delimiter, record_delimiter: lineEnd ?? [], relax_column_count: true, relax_quotes: true, skip_empty_lines: true };
    const rows = parse(bytes.subarray(records[0].from, records.at(-1)!.to), options) as string[][];
    if (rows.length !== records.length) throw new Error(`${records.length} rows of ${this.bytes.name} were read as ${rows.length}`);
    for (const [i, record] of records.entries()) yield { record, values: rows[i], lineEnd };
  }
}

function namesOf(values: string[], file: string): string[] {
  const twice = values.find((name, i) => values.indexOf(name) !== i);
  if (twice !== undefined) throw new CommandError(`${file} has two columns named "${twice}"; name them with --columns`);
  return values;
}
