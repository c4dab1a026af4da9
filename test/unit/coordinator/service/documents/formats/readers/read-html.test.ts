import { readHtml } from '../../../../../../../coordinator/service/documents/formats/readers/read-html';
import type { ParsedDocument } from '../../../../../../../coordinator/service/documents/formats/parsed-document';

function read(html: string | Buffer, charactersMax = 100_000): ParsedDocument {
  return readHtml(Buffer.from(html), { charactersMax });
}

test('text is what a browser shows: blocks are lines, spaces are joined, cells are parted by tabs', () => {
  const { text } = read(`<!doctype html><html><body>
    <p>One  <b>bold</b>
       word.</p><p>Two<br>lines.</p>
    <ul><li>first</li><li>second</li></ul>
    <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
    <pre>  kept
    as is</pre><div>A</div><div>B</div>`);
  expect(text).toBe('One bold word.\n\nTwo\nlines.\n\nfirst\nsecond\n\na\tb\n1\t2\n\n  kept\n    as is\n\nA\nB');
});

test('what is no text of the page is left out, and entities are read', () => {
  const { text, title } = read(
    `<head><title>A &amp; B</title><style>p{}</style></head><p>x &lt; y &eacute;</p><script>alert("</p>")</script>` +
      `<noscript>no</noscript><svg><title>drawing</title><text>in it</text></svg>` +
      `<!-- comment --><template>t</template>end`,
  );
  expect(text).toBe('x < y é\n\nend');
  expect(title).toBe('A & B');
});

test('a page without a closed head, or with a drawing that is not closed, is read all the same', () => {
  expect(read('<head><title>T</title><body>all').text).toBe('all');
  expect(read('<head><meta x><p>one<svg><path><p>two').text).toBe('one\n\ntwo');
});

test('headings are where their words begin, in one line', () => {
  const { text, headings } = read('<h1>1 <i>Install</i></h1><p>a</p><h2>\n 1.1\n Linux </h2>b<h3></h3><h2>1.2 Mac<p>c');
  expect(headings.map(({ level, title }) => [level, title])).toEqual([
    [1, '1 Install'],
    [2, '1.1 Linux'],
    [2, '1.2 Mac c'],
  ]);
  for (const { start, title } of headings.slice(0, 2)) expect(text.slice(start, start + title.length)).toBe(title);
});

test('a page says its encoding by a mark or a declaration; else it is UTF-8', () => {
  expect(read(Buffer.from('<meta charset="iso-8859-1"><p>caf\u00e9', 'latin1')).text).toBe('café');
  expect(read(Buffer.from('\ufeff<p>café', 'utf16le')).text).toBe('café');
  expect(read('<meta charset=utf-16><p>café').text).toBe('café');
  expect(() => read(Buffer.from('<p>caf\u00e9', 'latin1'))).toThrow('not valid UTF-8');
  expect(() => read('<meta charset="klingon"><p>x')).toThrow('says that its encoding is "klingon"');
});

test('more text than the limit, and a page without any, are refused', () => {
  expect(() => read('<p>123456</p>', 5)).toThrow(expect.objectContaining({ kind: 'limit_exceeded' }));
  expect(() => read('<script>1</script><p> </p>')).toThrow('The file is empty');
});

test('elements that are never closed cost no more than their bytes', () => {
  const deep = '<div><b><a>'.repeat(100_000);
  expect(read(`${deep}end`, 10).text).toBe('end');
});
