import { readJsonLines } from '../../../../../../../coordinator/service/documents/formats/readers/read-json-lines';
import type { ParsedDocument } from '../../../../../../../coordinator/service/documents/formats/parsed-document';

function read(lines: string): ParsedDocument {
  return readJsonLines(Buffer.from(lines), { charactersMax: 1_000_000 });
}

test('each line is a piece, with its fields as they are', () => {
  const { text, rows } = read(
    '{"title":"A","tags":["x","y"],"author":{"name":"B","age":null}}\n\n{"text":"Own","n":1}',
  );
  expect(text).toBe('title: A\ntags: x, y\nauthor.name: B\n\nOwn');
  expect(rows).toEqual([
    { start: 0, end: 34, fields: { title: 'A', tags: ['x', 'y'], author: { name: 'B', age: null } } },
    { start: 36, end: 39, fields: { n: 1 } },
  ]);
});

test.each([
  ['{"a":1}\n{"a":', "The JSON lines file can't be read: line 2 is no JSON"],
  ['\n[1]', 'line 2 is no object'],
  ['null', 'line 1 is no object'],
  [`{"a":${'['.repeat(100_000)}`, 'line 1 is no JSON'],
  [`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'line 1 is nested too deep'],
  ['{"a":""}', 'The file is empty'],
])('%#: a line that is no object is refused with its number', (lines, why) => {
  expect(() => read(lines)).toThrow(why);
});
