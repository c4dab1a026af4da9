import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import { DOCUMENT_TYPES, type DocumentType } from './parsed-document';

/** So many bytes of a file's begin tell its type. */
export const TYPE_HEAD_BYTES = 4096;

/** Other endings of the same formats. */
const ENDINGS: Readonly<Record<string, DocumentType>> = {
  txt: 'txt',
  text: 'txt',
  md: 'md',
  markdown: 'md',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  pdf: 'pdf',
  docx: 'docx',
  csv: 'csv',
  tsv: 'csv',
  jsonl: 'jsonl',
  ndjson: 'jsonl',
};
/** A reader of PDF takes what stands before the header, up to here. */
const PDF_HEADER_WITHIN = 1024;
/** How files begin that are no text and no document that is read here, and what they are. */
const OTHERS: readonly [RegExp, string][] = [
  [/^\u00d0\u00cf\u0011\u00e0/, 'a Word file of the old kind, or one with a password; save it as DOCX without one'],
  [/^\{\\rtf/, 'RTF; save it as DOCX'],
  [/^PK\u0003\u0004[^]{26}mimetypeapplication\/vnd\.oasis/, 'OpenDocument; save it as DOCX'],
  [/^PK\u0003\u0004[^]{26}mimetypeapplication\/epub/, 'EPUB'],
  [/^PK[\u0003\u0005]/, 'a ZIP archive'],
  [/^\u001f\u008b/, 'compressed by gzip'],
  [/^(?:\u0089PNG|\u00ff\u00d8\u00ff|GIF8|II\*\0|MM\0\*)/, 'a picture; this service has no OCR'],
  [/^(?:PAR1|\u007fELF|SQLite format|BZh|\u00fd7zXZ|7z\u00bc)/, 'a file of another kind'],
];

/**
 * The type of a file by its first bytes (`TYPE_HEAD_BYTES` of them, or all) and, where these are text, by the ending of
 * its name. Errors: invalid_parameter with what it is instead, and the list of what is supported.
 */
export function documentTypeOf(name: string, head: Uint8Array): DocumentType {
  const begin = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, TYPE_HEAD_BYTES)).toString(
    'latin1',
  );
  if (begin.slice(0, PDF_HEADER_WITHIN).includes('%PDF-') && !isText(begin.split('%PDF-', 1)[0], name)) return 'pdf';
  const ending = /\.(\w{1,16})$/.exec(name.trim())?.[1].toLowerCase() ?? '';
  const byName = Object.hasOwn(ENDINGS, ending) ? ENDINGS[ending] : undefined;
  if (isDocx(begin, byName)) return 'docx';
  const other = OTHERS.find(([form]) => form.test(begin));
  if (other !== undefined) throw notSupported(`This is ${other[1]}`);
  if (byName === 'pdf') throw notSupported('The file is named .pdf, and is no PDF');
  if (byName === 'docx') throw notSupported('The file is named .docx, and is no DOCX');
  if (byName !== undefined) return byName;
  if (/^(?:\u00ef\u00bb\u00bf)?\s*<(?:!doctype html|html)\b/i.test(begin)) return 'html';
  throw notSupported(
    ending === '' ? 'The file has no ending that tells its type' : `.${ending} files are not supported`,
  );
}

/** What stands before a header of PDF may be anything but a text that has one in it. */
function isText(before: string, name: string): boolean {
  return before.trim() !== '' && !/\.pdf$/i.test(name.trim());
}

/** Of other ZIP archives, those that a program for texts made name its folder near their begin. */
function isDocx(begin: string, byName: DocumentType | undefined): boolean {
  if (!begin.startsWith('PK\u0003\u0004') || begin.slice(30).startsWith('mimetypeapplication/')) return false;
  return byName === 'docx' || /PK\u0003\u0004[^]{26}(?:word\/|docProps\/[^]*word\/)/.test(begin);
}

function notSupported(what: string): QuiverError {
  return new QuiverError('invalid_parameter', `${what}; supported are ${DOCUMENT_TYPES.join(', ')}`);
}
