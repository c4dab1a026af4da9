import { readMarkdown } from '../../../../../../../coordinator/service/documents/formats/readers/read-markdown';
import type { ParsedDocument } from '../../../../../../../coordinator/service/documents/formats/parsed-document';

function read(markdown: string): ParsedDocument {
  return readMarkdown(Buffer.from(markdown), { charactersMax: 100_000 });
}

test('the text is the file, and headings are those of its blocks, without markup', () => {
  const source = [
    '# The *Guide* &amp; `code`',
    '',
    'Setext [link](https://a.b)',
    '-----',
    '',
    '```sh',
    '# no heading',
    '```',
    '',
    '    # neither',
    '',
    '> # quoted',
    '',
    '### Third ###',
    'text',
  ].join('\r\n');
  const { text, headings, title } = read(source);
  expect(text).toBe(source.replaceAll('\r\n', '\n'));
  expect(headings.map(({ level, title: words, start }) => [level, words, text.slice(start).split('\n', 1)[0]])).toEqual(
    [
      [1, 'The Guide & code', '# The *Guide* &amp; `code`'],
      [2, 'Setext link', 'Setext [link](https://a.b)'],
      [3, 'Third', '### Third ###'],
    ],
  );
  expect(title).toBe('The Guide & code');
});

test('front matter gives the title and no heading', () => {
  const { headings, title, text } = read('---\ntitle: "A page"\ntags: [x]\n---\n\n# First\n');
  expect(title).toBe('A page');
  expect(headings).toEqual([{ level: 1, title: 'First', start: text.indexOf('# First') }]);
});

test('pictures in the text go, what is around them stays', () => {
  const { text } = read(`before ![x](data:image/png;base64,${'QUJD'.repeat(1_000)}) after`);
  expect(text).toBe('before ![x](data:) after');
});

test('a blank file is refused', () => {
  expect(() => read(' \n')).toThrow('The file is empty');
});
