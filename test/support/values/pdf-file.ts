import { deflateSync } from 'node:zlib';

/** A PDF of these objects, the first of which is the catalogue. */
export function pdfOfObjects(objects: (string | Buffer)[], trailer = ''): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.4\n')];
  const offsets: number[] = [];
  let length = parts[0].length;
  const add = (part: Buffer): void => {
    parts.push(part);
    length += part.length;
  };
  for (const [i, object] of objects.entries()) {
    offsets.push(length);
    add(Buffer.concat([Buffer.from(`${i + 1} 0 obj\n`), Buffer.from(object), Buffer.from('\nendobj\n')]));
  }
  const at = length;
  const lines = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const size = objects.length + 1;
  add(Buffer.from(`xref\n0 ${size}\n0000000000 65535 f \n${lines}trailer\n<</Size ${size}/Root 1 0 R${trailer}>>\n`));
  add(Buffer.from(`startxref\n${at}\n%%EOF`));
  return Buffer.concat(parts);
}

/** A stream, compressed `times` times. */
export function pdfStream(content: string | Buffer, times = 0): Buffer {
  let bytes: Buffer = Buffer.from(content);
  for (let i = 0; i < times; i++) bytes = deflateSync(bytes);
  const filters = times === 0 ? '' : `/Filter[${'/FlateDecode'.repeat(times)}]`;
  return Buffer.concat([
    Buffer.from(`<</Length ${bytes.length}${filters}>>\nstream\n`),
    bytes,
    Buffer.from('\nendstream'),
  ]);
}

/** A PDF with a line of text on each page, and these entries in its outline, one for each page. */
export function pdfFile(pages: string[], outline: string[] = []): Buffer {
  const pageAt = (i: number): number => 5 + 2 * i;
  const entryAt = (i: number): number => pageAt(pages.length) + i;
  const streams = pages.flatMap((text, i) => [
    `<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents ${pageAt(i) + 1} 0 R>>`,
    pdfStream(text === '' ? '' : `BT /F 12 Tf 50 700 Td (${text}) Tj ET`),
  ]);
  const entries = outline.map((title, i) => {
    const next = i + 1 < outline.length ? `/Next ${entryAt(i + 1)} 0 R` : '';
    return `<</Title(${title})/Parent 4 0 R/Dest[${pageAt(i)} 0 R/Fit]${next}>>`;
  });
  const kids = pages.map((_, i) => `${pageAt(i)} 0 R`).join(' ');
  const first = outline.length === 0 ? '' : `/First ${entryAt(0)} 0 R/Last ${entryAt(outline.length - 1)} 0 R`;
  return pdfOfObjects([
    '<</Type/Catalog/Pages 2 0 R/Outlines 4 0 R>>',
    `<</Type/Pages/Kids[${kids}]/Count ${pages.length}>>`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
    `<</Type/Outlines${first}>>`,
    ...streams,
    ...entries,
  ]);
}
