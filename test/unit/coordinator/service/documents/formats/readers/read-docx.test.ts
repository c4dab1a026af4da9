import { deflateRawSync } from 'node:zlib';
import { readDocx } from '../../../../../../../coordinator/service/documents/formats/readers/read-docx';
import type { ParsedDocument } from '../../../../../../../coordinator/service/documents/formats/parsed-document';
import { docxFile, zipFile, type ZipContent } from '../../../../../../support/values/zip-file';

function read(body: string, parts?: Record<string, ZipContent>): ParsedDocument {
  return readDocx(docxFile(body, parts), { charactersMax: 100_000 });
}

function p(text: string, properties = ''): string {
  return `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
}

const STYLES = `<w:styles xmlns:w="w">
  <w:style w:styleId="H1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="7"/></w:numPr></w:pPr></w:style>
  <w:style w:styleId="H2"><w:name w:val="heading 2"/>
    <w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="7"/></w:numPr></w:pPr></w:style>
  <w:style w:styleId="Own"><w:name w:val="Mine"/><w:basedOn w:val="H2"/></w:style></w:styles>`;
const NUMBERING = `<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="3">
  <w:lvl w:ilvl="0"><w:start w:val="2"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1"/></w:lvl>
  <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl>
  </w:abstractNum><w:num w:numId="7"><w:abstractNumId w:val="3"/></w:num></w:numbering>`;

test('paragraphs, lines, tabs and tables are text; what was deleted, and what is there twice, is not', () => {
  const { text } = read(
    `${p('One &amp; two ')}<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r>` +
      `<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>` +
      `<w:ins><w:r><w:t xml:space="preserve"> new</w:t></w:r></w:ins></w:p>` +
      `<w:tbl><w:tr><w:tc>${p('1')}</w:tc><w:tc>${p('2')}${p('2b')}</w:tc></w:tr>` +
      `<w:tr><w:tc>${p('3')}</w:tc></w:tr></w:tbl>` +
      `<w:p><mc:AlternateContent xmlns:mc="mc"><mc:Choice><w:r><w:t>once</w:t></w:r></mc:Choice>` +
      `<mc:Fallback><w:r><w:t>once</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>`,
  );
  expect(text).toBe('One & two\n\na\tb\nc new\n\n1\t2\n2b\n3\n\nonce');
});

test('headings have their level by style, also one that is based on another, and the number that a reader sees', () => {
  const { text, headings } = read(
    p('Install', '<w:pStyle w:val="H1"/>') +
      p('text') +
      p('Linux', '<w:pStyle w:val="H2"/>') +
      p('Mac', '<w:pStyle w:val="Own"/>') +
      p('Use', '<w:pStyle w:val="H1"/>') +
      p('First', '<w:pStyle w:val="H2"/>') +
      p('Plain', '<w:outlineLvl w:val="2"/>'),
    { 'word/styles.xml': STYLES, 'word/numbering.xml': NUMBERING },
  );
  expect(headings.map(({ level, title }) => [level, title])).toEqual([
    [1, '2 Install'],
    [2, '2.a) Linux'],
    [2, '2.b) Mac'],
    [1, '3 Use'],
    [2, '3.a) First'],
    [3, 'Plain'],
  ]);
  for (const { start, title } of headings) expect(text.slice(start, start + title.length)).toBe(title);
});

test('notes stand at the end, and the properties give the title', () => {
  const { text, title } = read(p('Body'), {
    'word/footnotes.xml': `<w:footnotes xmlns:w="w"><w:footnote>${p('A note')}</w:footnote></w:footnotes>`,
    'docProps/core.xml': '<c xmlns:dc="dc"><dc:creator>x</dc:creator><dc:title>The title</dc:title></c>',
  });
  expect(text).toBe('Body\n\nA note');
  expect(title).toBe('The title');
});

const LAUGHS = '<!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><w:document><w:p><w:t>&b;</w:t></w:p></w:document>';

test.each<[string, () => Buffer, string]>([
  ['no archive', () => Buffer.from('PK\u0003\u0004 and nothing'), 'it is cut off, or no ZIP archive'],
  ['no document', () => zipFile({ 'a.txt': 'x' }), 'it has no document in it'],
  ['entities', () => zipFile({ 'word/document.xml': LAUGHS }), 'declares a document type'],
  ['an entity that nobody declared', () => docxFile(p('&b;')), 'is no XML (Invalid character entity'],
  ['elements that do not match', () => docxFile('<w:p></w:r>'), 'is no XML'],
  ['deep elements', () => docxFile('<w:p>'.repeat(10_000)), 'too many elements within each other'],
  ['a password', () => zipFile({ 'word/document.xml': { deflated: Buffer.from('x'), flags: 1 } }), 'it has a password'],
  [
    'damage',
    () => zipFile({ 'word/document.xml': { deflated: Buffer.from('xyz') } }),
    'word/document.xml in it is damaged',
  ],
  ['a cut', () => docxFile(p('x')).subarray(60), 'its directory is cut off'],
  ['nothing', () => docxFile('<w:p/>'), 'The file is empty'],
  [
    'a workbook',
    () =>
      zipFile({
        '_rels/.rels': '<R><Relationship Type="x/relationships/mainDocument" Target="xl/workbook.xml"/></R>',
        'xl/workbook.xml': '<w/>',
      }),
    'This is a workbook; supported are',
  ],
])('a file with %s is refused', (_what, file, why) => {
  expect(() => readDocx(file(), { charactersMax: 1_000 })).toThrow(why);
});

test('a part that unpacks to more than any document is refused, whatever it says of its length', () => {
  const bomb = { deflated: deflateRawSync(Buffer.alloc(200 * 1024 * 1024)), claims: 100 };
  expect(() => readDocx(zipFile({ 'word/document.xml': bomb }), { charactersMax: 1_000 })).toThrow(
    'word/document.xml in the file has more than 134217728 bytes when it is unpacked',
  );
});
