import { fileText, nameOfFile, readFile } from '../../../../dashboard/lab/judged-file';

const judged = [{ query: 'rivers', relevant: { 'a-1': 2, 'a-2': 0 } }];

test('what is written is read: queries, variants, and how many hits count', () => {
  const file = { judged, variants: [{ name: 'mine', options: { alpha: 0.5 } }], k: 5 };
  expect(readFile(fileText(file))).toEqual(file);
  expect(JSON.parse(fileText(file))).toEqual({ judged, variants: [{ name: 'mine', alpha: 0.5 }], k: 5 });
});

test('a list of queries is a file, too, with a mark of its encoding or without', () => {
  expect(readFile(`\uFEFF${JSON.stringify(judged)}`)).toEqual({ judged, variants: null, k: null });
});

test.each([
  ['{', /^The file is not JSON/],
  ['null', /has no judged queries. It is/],
  ['{"queries": []}', /has no judged queries. It is/],
  ['[]', /has no judged queries\.$/],
  ['[{"query": "a", "relevant": {"b": 1}}, {"query": "a"}]', /^Query 2 of the file must be/],
  ['{"judged": [{"query": "a", "relevant": {}}], "variants": [1]}', /^The variants of the file must be/],
])('%s is refused with what is wrong', (text, said) => {
  expect(() => readFile(text)).toThrow(said);
});

test.each([
  ['my queries (2).json', 'my-queries-2'],
  ['rivers.JSON', 'rivers'],
  ['—.json', ''],
])('a file called %s suggests the name "%s"', (file, name) => {
  expect(nameOfFile(file)).toBe(name);
});
