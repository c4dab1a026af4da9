import { columnsOf, fieldsOf, sorted } from '../../../../dashboard/browse/columns';

const item = (external_id: string, metadata: Record<string, unknown>) => ({ external_id, metadata, text: null });
const items = [
  item('b', { year: 10, kind: 'x', text: 'long' }),
  item('a', { year: 9 }),
  item('c', { kind: 'a' }),
  item('d', { year: 'none' }),
];

test('columns are the fields of most items, without the text', () => {
  expect(fieldsOf(items)).toEqual(['year', 'kind']);
  expect(columnsOf(['year', 'kind'], ['year'])).toEqual(['kind']);
  expect(columnsOf('abcdefgh'.split(''), [])).toHaveLength(6);
});

test.each([
  ['by id', { field: null, isRising: true }, 'abcd'],
  ['by a number, what has none behind', { field: 'year', isRising: true }, 'abdc'],
  ['falling, what is missing still last', { field: 'year', isRising: false }, 'dbac'],
  ['as it came', null, 'bacd'],
])('sorts %s', (_, sort, wanted) => {
  expect(
    sorted(items, sort)
      .map(({ external_id: id }) => id)
      .join(''),
  ).toBe(wanted);
});
