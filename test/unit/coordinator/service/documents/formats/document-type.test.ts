import { documentTypeOf } from '../../../../../../coordinator/service/documents/formats/document-type';
import { docxFile, zipFile } from '../../../../../support/values/zip-file';

const LIST = 'supported are txt, md, html, pdf, docx, csv, jsonl';

function typeOf(name: string, begin: string | Buffer): string {
  return documentTypeOf(name, Buffer.from(begin));
}

test.each([
  ['notes.txt', 'Hello', 'txt'],
  ['README.MD ', '# Hello', 'md'],
  ['guide.markdown', 'Hello', 'md'],
  ['index.htm', 'Hello', 'html'],
  ['table.tsv', 'a\tb', 'csv'],
  ['rows.ndjson', '{}', 'jsonl'],
  ['empty.txt', '', 'txt'],
  ['page', '\ufeff \n<!DOCTYPE html><p>Hello', 'html'],
])('text in a file named %j is told by its ending', (name, begin, type) => {
  expect(typeOf(name, begin)).toBe(type);
});

test('a PDF and a DOCX are told by their bytes, whatever they are called', () => {
  for (const name of ['notes.txt', 'notes.pdf', 'notes', 'notes.docx']) expect(typeOf(name, '%PDF-1.7\n')).toBe('pdf');
  expect(typeOf('late.pdf', 'GET / HTTP/1.1\n\n%PDF-1.4')).toBe('pdf');
  expect(typeOf('letter.docx', docxFile('<w:p/>'))).toBe('docx');
  expect(typeOf('letter.txt', zipFile({ 'word/document.xml': '<a/>' }))).toBe('docx');
  expect(typeOf('about.txt', 'A PDF begins with %PDF-1.7')).toBe('txt');
});

test.each([
  ['picture.png', '\u0089PNG\r\n', 'This is a picture; this service has no OCR'],
  ['archive.zip', 'PK\u0003\u0004', 'This is a ZIP archive'],
  ['old.doc', '\u00d0\u00cf\u0011\u00e0\u00a1\u00b1', 'This is a Word file of the old kind, or one with a password'],
  ['locked.docx', '\u00d0\u00cf\u0011\u00e0\u00a1\u00b1', 'with a password; save it as DOCX without one'],
  ['text.rtf', '{\\rtf1', 'This is RTF; save it as DOCX'],
  ['log.gz', '\u001f\u008b\u0008', 'This is compressed by gzip'],
  ['named.pdf', 'Hello', 'The file is named .pdf, and is no PDF'],
  ['named.docx', 'Hello', 'The file is named .docx, and is no DOCX'],
  ['program.exe', 'MZ', '.exe files are not supported'],
  ['nothing', 'Hello', 'The file has no ending that tells its type'],
  ['a.constructor', 'Hello', '.constructor files are not supported'],
])('%j is refused for what it is, with the list of what is supported', (name, begin, why) => {
  const act = (): string => typeOf(name, Buffer.from(begin, 'latin1'));
  expect(act).toThrow(why);
  expect(act).toThrow(LIST);
  expect(act).toThrow(expect.objectContaining({ kind: 'invalid_parameter' }));
});

test('OpenDocument and EPUB are no DOCX', () => {
  const odt = Buffer.concat([
    Buffer.from('PK\u0003\u0004', 'latin1'),
    Buffer.alloc(26),
    Buffer.from('mimetypeapplication/vnd.oasis.opendocument.text'),
  ]);
  expect(() => typeOf('letter.docx', odt)).toThrow('This is OpenDocument; save it as DOCX');
});
