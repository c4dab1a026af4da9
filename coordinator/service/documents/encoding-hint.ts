/** Bytes that tell an encoding. */
export const ENCODING_HEAD_BYTES = 64;
/** Fewer tell nothing by their NULs. */
const NULS_LEAST = 4;

const FORMS: readonly [RegExp, string][] = [
  [/^(?:\u00ff\u00fe\0\0|\0\0\u00fe\u00ff)/, 'it is UTF-32: iconv -f UTF-32 -t UTF-8 makes it that'],
  [/^(?:\u00ff\u00fe|\u00fe\u00ff)/, 'it is UTF-16: iconv -f UTF-16 -t UTF-8 makes it that'],
  [/^\u001f\u008b/, 'it is compressed by gzip'],
  [
    /^(?:PK\u0003\u0004|%PDF-|\u0089PNG|\u00ff\u00d8\u00ff|PAR1|\u007fELF)/,
    'it is a file of another kind, and no text',
  ],
];

/** What bytes that are not UTF-8, or have NULs in them, most likely are, and the way out. `head`: the first of them. */
export function encodingHint(head: Buffer): string {
  const text = head.toString('latin1', 0, ENCODING_HEAD_BYTES);
  const form = FORMS.find(([begin]) => begin.test(text));
  if (form !== undefined) return form[1];
  if (hasNulsOfUtf16(head)) return 'it is UTF-16 as it seems: iconv -f UTF-16LE -t UTF-8 makes it that, or -f UTF-16BE';
  return 'iconv makes it that, as of Windows’ Western texts iconv -f WINDOWS-1252 -t UTF-8';
}

/** UTF-16 of Latin letters has a NUL beside each; it is UTF-8, too. */
export function hasNulsOfUtf16(head: Buffer): boolean {
  const nuls = head.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0);
  return head.length >= NULS_LEAST && nuls * 3 >= head.length;
}
