import { Readable } from 'node:stream';
import { type CsvError, type Options, parse } from 'csv-parse';
import { CommandError } from '../command-error';
import { type ByteSource, inUtf8 } from './byte-source';
import { CHUNK_BYTES, CHUNK_ROWS, type KnownFields, PIECE_BYTES_MAX, type RecordChunk, type RecordSource, type SourceRecord, type UnreadableRow } from './record-source';

interface CsvMark {
  byte: number;
  /** Lines before it. */
  line: number;
  columns: string[];
}

interface ParsedRow {
  values: string[];
  /** Where it ends. */
  byte: number;
  line: number;
}

interface SkippedRow {
  skipped: CsvError;
  byte: number;
  line: number;
}

/** Comma or tab separated values with a line of names at the head, or with names that are given. Quoted as RFC 4180 has it. */
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
    let last = { byte: start?.byte ?? 0, line: start?.line ?? 0 };
    const chunk = (): RecordChunk => {
      const made: RecordChunk = { records, unreadable, place: 'line', idPrefix: '', mark: { ...last, columns: columns ?? [] } satisfies CsvMark, share: this.bytes.share };
      records = [];
      unreadable = [];
      size = 0;
      return made;
    };
    for await (const row of this.rows(last)) {
      const from = last;
      last = { byte: row.byte, line: row.line };
      if ('skipped' in row) {
        unreadable.push({ number: from.line + 1, reason: row.skipped.message });
      } else if (columns === null) {
        columns = namesOf(row.values, this.bytes.name);
        continue;
      } else if (row.values.length !== columns.length) {
        unreadable.push({ number: from.line + 1, reason: `${row.values.length} values, where there are ${columns.length} columns` });
      } else {
        records.push({ fields: Object.fromEntries(columns.map((name, i) => [name, row.values[i]])), number: from.line + 1 });
      }
      size += row.byte - from.byte;
      if (records.length + unreadable.length >= CHUNK_ROWS || size >= CHUNK_BYTES) yield chunk();
    }
    if (records.length + unreadable.length > 0) yield chunk();
  }

  private async *rows(start: { byte: number; line: number }): AsyncGenerator<ParsedRow | SkippedRow> {
    const skipped: SkippedRow[] = [];
    const options: Options = {
      delimiter: this.options.delimiter,
      bom: start.byte === 0,
      relax_column_count: true,
      skip_empty_lines: true,
      skip_records_with_error: true,
      // A quote that is never closed would hold the rest of the file.
      max_record_size: PIECE_BYTES_MAX,
      on_record: (values: string[], { bytes, lines }) => ({ values, byte: start.byte + bytes, line: start.line + lines }) as unknown as string[],
      on_skip: (error) => {
        if (error !== undefined) skipped.push({ skipped: error, byte: start.byte + Number(error.bytes), line: start.line + Number(error.lines) });
        return undefined;
      },
    };
    const bytes = Readable.from(inUtf8(this.bytes.open(start.byte), this.bytes.name), { objectMode: false });
    const parser = bytes.pipe(parse(options));
    // A pipe takes no errors along.
    bytes.on('error', (error) => parser.destroy(error));
    const failed = (error: Error): never => {
      throw error instanceof CommandError ? error : new CommandError(`${this.bytes.name} can't be read: ${error.message}`, undefined, { cause: error });
    };
    try {
      for await (const row of parser as AsyncIterable<ParsedRow>) {
        while (skipped.length > 0 && skipped[0].byte <= row.byte) yield skipped.shift()!;
        yield row;
      }
    } catch (error) {
      failed(error as Error);
    } finally {
      bytes.destroy();
    }
    yield* skipped;
  }
}

function namesOf(values: string[], file: string): string[] {
  const twice = values.find((name, i) => values.indexOf(name) !== i);
  if (twice !== undefined) throw new CommandError(`${file} has two columns named "${twice}"; name them with --columns`);
  return values;
}
