import { type CsvError, parse } from 'csv-parse/sync';
import { brokenFile, emptyFile, ROWS_MAX, tooMany } from '../parser-limits';
import type { ParsedDocument } from '../parsed-document';
import { textOfUtf8 } from './decoded-text';
import { RowText } from './row-text';

/** What separates values, the likeliest first. */
const DELIMITERS = [',', ';', '\t', '|'];
/** Excel's own way to say it, in a line before the names. */
const SEPARATOR_LINE = /^sep=(.)\n/i;
/** A number as a program writes it: with leading zeros it is a name. */
const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/;
const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, false: false };

/**
 * A table: the first line names its columns, each further one is a row. A column whose values are all numbers, or all
 * `true` and `false`, has these as metadata; others are texts. Errors: invalid_parameter; limit_exceeded.
 */
export function readCsv(bytes: Buffer, { charactersMax }: { charactersMax: number }): ParsedDocument {
  const source = textOfUtf8(bytes, charactersMax);
  const said = SEPARATOR_LINE.exec(source);
  const body = said === null ? source : source.slice(said[0].length);
  const [names, ...lines] = linesOf(body, said?.[1] ?? delimiterOf(body));
  if (names === undefined) throw emptyFile();
  const columns = namesOf(names);
  const readers = columns.map((_, column) => readerOf(lines, column));
  const rowText = new RowText(charactersMax);
  for (const line of lines) {
    const fields = line.flatMap((value, i): [string, unknown][] =>
      value.trim() === '' ? [] : [[columns[i] ?? `column_${i + 1}`, (readers[i] ?? String)(value)]],
    );
    rowText.add(Object.fromEntries(fields));
  }
  return { type: 'csv', pages: [], headings: [], ...rowText.end() };
}

function linesOf(body: string, delimiter: string): string[][] {
  try {
    const lines = parse(body, {
      delimiter,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      to: ROWS_MAX + 2,
    });
    if (lines.length > ROWS_MAX + 1) throw tooMany('rows', ROWS_MAX);
    return lines;
  } catch (error) {
    const { code, message } = error as CsvError;
    if (code?.startsWith('CSV_') !== true) throw error;
    if (code === 'CSV_QUOTE_NOT_CLOSED') throw brokenFile('CSV', 'a quote in it is not closed');
    throw brokenFile('CSV', message.charAt(0).toLowerCase() + message.slice(1, 300));
  }
}

/** Of which there are most in the first line, outside of quotes. */
function delimiterOf(body: string): string {
  const end = body.indexOf('\n');
  const bare = body.slice(0, end < 0 ? body.length : end).replaceAll(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => bare.split(delimiter).length - 1);
  return DELIMITERS[counts.indexOf(Math.max(...counts))];
}

/** Without space around them; one without a name is called by its number, a second of a name by one that none has. */
function namesOf(values: string[]): string[] {
  const given = values.map((value, i) => value.trim() || `column_${i + 1}`);
  const taken = new Set(given);
  const seen = new Set<string>();
  return given.map((name) => {
    if (!seen.has(name)) {
      seen.add(name);
      return name;
    }
    let count = 2;
    while (taken.has(`${name}_${count}`)) count += 1;
    taken.add(`${name}_${count}`);
    return `${name}_${count}`;
  });
}

/** How the values of a column are read, by all of them. */
function readerOf(lines: string[][], column: number): (value: string) => unknown {
  let isNumber = true;
  let isBoolean = true;
  for (const line of lines) {
    const value = (line[column] ?? '').trim();
    if (value === '') continue;
    isNumber &&= NUMBER.test(value);
    isBoolean &&= Object.hasOwn(BOOLEANS, value.toLowerCase());
    if (!isNumber && !isBoolean) return (text) => text.trim();
  }
  return isNumber ? Number : (text) => BOOLEANS[text.trim().toLowerCase()];
}
