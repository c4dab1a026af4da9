import { encodingHint } from '../../../../../coordinator/service/documents/encoding-hint';

test.each<[string, Buffer | string, RegExp]>([
  ['UTF-16', '\u00ff\u00fea\0', /^it is UTF-16: iconv -f UTF-16 /],
  ['UTF-16 with the other byte first', '\u00fe\u00ff\0a', /^it is UTF-16: /],
  ['UTF-32', '\u00ff\u00fe\0\0a\0\0\0', /^it is UTF-32: /],
  ['UTF-16 without a mark', Buffer.from('é, and then letters', 'utf16le'), /^it is UTF-16 as it seems: /],
  ['gzip', '\u001f\u008b\u0008', /^it is compressed by gzip$/],
  ['a PDF', '%PDF-1.7', /^it is a file of another kind/],
  ['Latin letters', 'M\u00fcller', /iconv -f WINDOWS-1252 -t UTF-8$/],
  ['nothing', '', /WINDOWS-1252/],
])('%s is told by its first bytes', (_what, head, hint) => {
  expect(encodingHint(typeof head === 'string' ? Buffer.from(head, 'latin1') : head)).toMatch(hint);
});
