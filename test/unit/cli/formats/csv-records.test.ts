import { parse } from 'csv-parse/sync';
import { type CsvRecord, CsvRecords } from '../../../../cli/formats/csv-records';
import { runSeed, seededRandom } from '../../../support/values/random';

/** Where rows of CSV begin and end, against the parser that makes values of them. */

const seed = runSeed('csv rows');
const random = seededRandom(seed);
const upTo = (n: number): number => Math.floor(random() * n);
const oneOf = <Value>(values: readonly Value[]): Value => values[upTo(values.length)];

type Row = Omit<CsvRecord, 'from' | 'to'> & { text: string };

/** The rows of a text that comes in pieces of `sizes` bytes. */
function rowsOf(
  text: string,
  { delimiter = ',', sizes = () => 1 << 20 }: { delimiter?: string; sizes?: () => number } = {},
): Row[] {
  const whole = Buffer.from(text);
  const records = new CsvRecords(Buffer.from(delimiter), 'rows.csv', 0, 0, null);
  const rows: Row[] = [];
  const take = (): void => {
    for (let row = records.next(); row !== null; row = records.next()) {
      const { from, to, ...rest } = row;
      rows.push({ text: records.bytes.toString('utf8', from, to), ...rest });
    }
  };
  for (let at = 0; at < whole.length;) {
    const size = sizes();
    records.append(whole.subarray(at, at + size));
    take();
    at += size;
  }
  records.end();
  take();
  return rows;
}

/**
 * What the parser makes of it; null: it finds the quotes wrong. `relaxed`: quotes within values that begin with none
 * are right.
 */
function parsed(text: string, lineEnd: string, delimiter: string, relaxed = false): string[][] | null {
  try {
    return parse(text, {
      delimiter,
      record_delimiter: lineEnd,
      relax_column_count: true,
      relax_quotes: relaxed,
      skip_empty_lines: true,
      bom: true,
    });
  } catch {
    return null;
  }
}

const VALUES = ['', 'plain', 'ünï', '日本', '"q"', 'a,b', 'a¦b', 'x\ny', 'x\r\ny', '\n', '"', '""', ' '];

test.each(['\n', '\r\n', '\r'])(
  'rows that are written as they should be are those that the parser reads, however they come: %j',
  (lineEnd) => {
    for (let run = 0; run < 150; run += 1) {
      const delimiter = oneOf([',', '\t', '¦']);
      const table = Array.from({ length: upTo(9) }, () => Array.from({ length: 1 + upTo(4) }, () => oneOf(VALUES)));
      const written = (value: string): string =>
        /["\r\n,\t¦]/.test(value) || random() < 0.3 ? `"${value.replaceAll('"', '""')}"` : value;
      const lines = table.map(
        (values) => values.map(written).join(delimiter) + lineEnd + (random() < 0.2 ? lineEnd : ''),
      );
      const text = (random() < 0.3 ? '\ufeff' : '') + lines.join('') + (random() < 0.3 ? 'last' : '');
      const most = oneOf([1, 2, 7, 1000]);
      const rows = rowsOf(text, { delimiter, sizes: () => 1 + upTo(most) });
      expect(rows.filter(({ fault }) => fault !== null)).toEqual([]);
      expect(rows.flatMap((row) => parsed(row.text, lineEnd, delimiter)!)).toEqual(parsed(text, lineEnd, delimiter));
      expect(rows).toEqual(rowsOf(text, { delimiter }));
    }
  },
);

test('of any bytes, good rows are right for the parser, bad ones are one line, and none is missing', () => {
  for (let run = 0; run < 600; run += 1) {
    const lineEnd = oneOf(['\n', '\r\n']);
    const text = Array.from({ length: upTo(25) }, () => oneOf(['"', '"', 'a', ',', lineEnd, lineEnd, '""', 'b'])).join(
      '',
    );
    const rows = rowsOf(text);
    expect(rowsOf(text, { sizes: () => 1 + upTo(4) })).toEqual(rows);
    let rest = text;
    for (const row of rows) {
      // Only empty lines are left out.
      const before = rest.slice(0, rest.indexOf(row.text));
      expect(before.replaceAll(lineEnd, '')).toBe('');
      rest = rest.slice(before.length + row.text.length);
      expect(row.byte).toBe(Buffer.byteLength(text) - Buffer.byteLength(rest));
      const line = row.text.endsWith(lineEnd) ? row.text.slice(0, -lineEnd.length) : row.text;
      if (row.fault !== null) expect(line).not.toContain('\n');
      else expect(parsed(row.text, lineEnd, ',', true)).toHaveLength(1);
    }
    expect(rest.replaceAll(lineEnd, '')).toBe('');
  }
});

test('rows have the number of their first line, where lines are empty, in quotes, or bad', () => {
  expect(
    rowsOf('\ufeff\n\na,"x\n\ny"\r\nb\n"c"d\n\n"e\nf').map(({ number, text, fault }) => [number, text, fault === null]),
  ).toEqual([
    [3, 'a,"x\n', false],
    [5, 'y"\r\n', true],
    [6, 'b\n', true],
    [7, '"c"d\n', false],
    [9, '"e\n', false],
    [10, 'f', true],
  ]);
  expect(rowsOf('a\r\n"x\r\ny\nz"\r\nb\r\n"c"d\r\ne\rf\ng').map(({ number, text }) => [number, text])).toEqual([
    [1, 'a\r\n'],
    [2, '"x\r\ny\nz"\r\n'],
    [5, 'b\r\n'],
    [6, '"c"d\r\n'],
    [7, 'e\rf\ng'],
  ]);
});

test('a file in which each line opens a quote that is never closed is looked through once', () => {
  const lines = 40_000;
  const rows = rowsOf('",x",z,"\n'.repeat(lines));
  expect(rows).toHaveLength(lines);
  expect(rows.every(({ text, fault }) => text === '",x",z,"\n' && fault !== null)).toBe(true);
});

test('lines are counted where the first ones are bad, too', () => {
  expect(rowsOf('"a"b\r"c"d\re\rf').map(({ number, fault }) => [number, fault === null])).toEqual([
    [1, false],
    [2, false],
    [3, true],
    [4, true],
  ]);
});
