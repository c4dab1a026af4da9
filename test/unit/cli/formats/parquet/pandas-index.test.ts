import type { FileMetaData } from 'hyparquet' with { 'resolution-mode': 'import' };
import { rangeIndexes } from '../../../../../cli/formats/parquet/pandas-index';

const of = (value: string, rows = 3, columns = ['x']): unknown =>
  rangeIndexes(
    { num_rows: BigInt(rows), key_value_metadata: [{ key: 'pandas', value }] } as unknown as FileMetaData,
    columns,
  );
const note = (index: unknown): string => JSON.stringify({ index_columns: [index] });
const range = { kind: 'range', name: 'id', start: 4, stop: 9, step: 2 };

test('an index of whole numbers at one distance is as pandas notes it', () => {
  expect(of(note(range))).toEqual([{ name: 'id', start: 4, step: 2 }]);
  expect(of(note({ ...range, start: 3, stop: 0, step: -1 }))).toEqual([{ name: 'id', start: 3, step: -1 }]);
});

test.each<[string, string, number, string[]]>([
  ['has no name', note({ ...range, name: null }), 3, []],
  ['is stored as well', note(range), 3, ['id']],
  ['is of another number of rows', note(range), 2, []],
  ['is named', note('id'), 3, []],
  ['has no distance', note({ ...range, step: 0 }), 3, []],
  ['is damaged', '{"index_columns":', 3, []],
  ['is something else', '{"index_columns":7}', 3, []],
  ['is no object', note(null), 3, []],
])('one that %s is none', (_what, value, rows, columns) => {
  expect(of(value, rows, columns)).toEqual([]);
});
