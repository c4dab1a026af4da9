import { fieldPaths, fieldsFromParameter } from '../../../../dashboard/search/field-paths';

test('paths lead to values, also within objects', () => {
  expect(
    fieldPaths({ title: 'a', tags: ['b'], author: { name: 'c', born: { year: 1 } }, nothing: null, empty: {} }),
  ).toEqual(['title', 'tags', 'author.name', 'author.born.year', 'nothing', 'empty']);
});

test.each([
  ['["a","b.c"]', ['a', 'b.c']],
  ['[]', []],
  [null, null],
  ['[1]', null],
  ['{', null],
])('an address that says %s gives %p', (text, fields) => {
  expect(fieldsFromParameter(text)).toEqual(fields);
});
