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
    for await (const piece of inUtf8(this.bytes.open(byte), this.bytes.name)) yield* this.valuesOf(records.push(piece), records.lineEnd);
    yield* this.valuesOf(records.push(null), records.lineEnd);
  }

  /** Neighbours are parsed together. */
  private *valuesOf({ bytes, records }: { bytes: Buffer; records: CsvRecord[] }, lineEnd: string | null): Generator<ParsedRow> {
    const options: Options = { delimiter: this.options.delimiter, record_delimiter: lineEnd ?? [], relax_column_count: true, relax_quotes: true, skip_empty_lines: true };
    for (let at = 0; at < records.length;) {
      let end = at;
      while (end < records.length && records[end].fault === null) end += 1;
      const good = records.slice(at, end);
      const rows = good.length === 0 ? [] : (parse(bytes.subarray(good[0].from, good.at(-1)!.to), options) as string[][]);
      if (rows.length !== good.length) throw new Error(`${good.length} rows of ${this.bytes.name} were read as ${rows.length}`);
      for (const [i, record] of good.entries()) yield { record, values: rows[i], lineEnd };
      if (end < records.length) yield { record: records[end], values: [], lineEnd };
      at = end + 1;
    }
  }
}

function namesOf(values: string[], file: string): string[] {
  const twice = values.find((name, i) => values.indexOf(name) !== i);
  if (twice !== undefined) throw new CommandError(`${file} has two columns named "${twice}"; name them with --columns`);
  return values;
}
