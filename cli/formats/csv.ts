import { Readable } from 'node:stream';
import { type CsvError, type Options, parse } from 'csv-parse';
import { parse as parseWhole } from 'csv-parse/sync';
import { CommandError } from '../command-error';
import { type ByteSource, inUtf8 } from './byte-source';
import { ByteWindow } from './byte-window';
import { CHUNK_BYTES, CHUNK_ROWS, type KnownFields, PIECE_BYTES_MAX, type RecordChunk, type RecordSource, type SourceRecord, type UnreadableRow } from './record-source';

/** Where a row ends. */
interface Place {
  byte: number;
  /** Lines before that. */
  line: number;
}

interface CsvMark extends Place {
  columns: string[];
}

interface ParsedRow extends Place {
  values: string[];
}

interface BadRow extends Place {
  number: number;
  fault: string;
}

const QUOTE = 0x22;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const STRAY_QUOTE = 'a value in quotes with more behind the quote that ends it';
const OPEN_QUOTE = 'a quote that is never closed';

/**
 * Comma or tab separated values with a line of names at the head, or with names that are given. Quoted as RFC 4180 has it; a
 * quote that is not the first character of a value is one of it. A row with a quote that is not closed as it should be is the
 * line in which it is opened: reading goes on with the next one, whatever the quote would have taken.
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
      if ('fault' in row) {
        if (columns === null) throw new CommandError(`${this.bytes.name} names no columns: in line ${row.number} there is ${row.fault}`);
        unreadable.push({ number: row.number, reason: row.fault });
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

  private async *rows(start: Place): AsyncGenerator<ParsedRow | BadRow> {
    const window = new ByteWindow(inUtf8(this.bytes.open(start.byte), this.bytes.name), start.byte);
    try {
      for (let next: Place | null = start; next !== null;) {
        const bad: BadRow | null = yield* this.rowsUntilBad(window, next);
        if (bad !== null) yield bad;
        next = bad;
      }
    } finally {
      await window.close();
    }
  }

  /** Answers the first bad row, behind which a parser must begin anew; null when all rows are read. */
  private async *rowsUntilBad(window: ByteWindow, start: Place): AsyncGenerator<ParsedRow, BadRow | null> {
    let isOpen = false;
    const options: Options = {
      delimiter: this.options.delimiter,
      bom: start.byte === 0,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      skip_records_with_error: true,
      // A quote that is never closed would hold the rest of the file.
      max_record_size: PIECE_BYTES_MAX,
      on_record: (values: string[], { bytes, lines }) => ({ values, byte: start.byte + bytes, line: start.line + lines }) as unknown as string[],
      on_skip: (error) => {
        if (error?.code === 'CSV_QUOTE_NOT_CLOSED') isOpen = true;
        else if (error !== undefined) throw error;
        return undefined;
      },
    };
    const feed = window.from(start.byte);
    const bytes = Readable.from(feed, { objectMode: false });
    const parser = bytes.pipe(parse(options));
    // A pipe takes no errors along.
    bytes.on('error', (error) => parser.destroy(error));
    let last = start;
    try {
      for await (const row of parser as AsyncIterable<ParsedRow>) {
        if (row.values.some((value) => value.charCodeAt(0) === QUOTE)) {
          const text = window.slice(last.byte, row.byte);
          if (!this.isQuotedRight(text)) return badRow(last, text, STRAY_QUOTE);
        }
        window.forget(row.byte);
        last = { byte: row.byte, line: row.line };
        yield row;
      }
    } catch (error) {
      if ((error as CsvError).code === 'CSV_MAX_RECORD_SIZE') return badRow(last, window.slice(last.byte, window.end), OPEN_QUOTE);
      throw error instanceof CommandError ? error : new CommandError(`${this.bytes.name} can't be read: ${(error as Error).message}`, undefined, { cause: error });
    } finally {
      bytes.destroy();
      // Resolves when it waits for no piece any more, which another would miss.
      await feed.return(undefined);
    }
    return isOpen ? badRow(last, window.slice(last.byte, window.end), OPEN_QUOTE) : null;
  }

  /** Of a row that has a value which begins with a quote: whether the quote is written as one within quotes. */
  private isQuotedRight(row: Buffer): boolean {
    try {
      parseWhole(row, { delimiter: this.options.delimiter, bom: true, relax_column_count: true, skip_empty_lines: true });
      return true;
    } catch {
      return false;
    }
  }
}

/** The first line of what a quote took, behind lines that are empty. */
function badRow(start: Place, text: Buffer, fault: string): BadRow {
  const lineEnd = text.includes(LINE_FEED) ? LINE_FEED : RETURN;
  let byte = 0;
  let line = 0;
  while (text[byte] === LINE_FEED || text[byte] === RETURN) if (text[byte++] === lineEnd) line += 1;
  const end = text.indexOf(lineEnd, byte);
  return { fault, number: start.line + line + 1, byte: start.byte + (end < 0 ? text.length : end + 1), line: start.line + line + 1 };
}

function namesOf(values: string[], file: string): string[] {
  const twice = values.find((name, i) => values.indexOf(name) !== i);
  if (twice !== undefined) throw new CommandError(`${file} has two columns named "${twice}"; name them with --columns`);
  return values;
}
