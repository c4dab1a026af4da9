import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { deflateRawSync, deflateSync } from 'node:zlib';
import { seededRandom, shuffle } from './seeded-random.mjs';

const SEED = 5;
const FOUND = new Set(['.txt', '.md', '.html', '.htm', '.csv', '.jsonl', '.pdf', '.docx']);
const BYTES_LEAST = 600;
/** Of real files, so many of one type at most; the rest are made of the words of others. */
const SHARE_OF_TYPE = 0.3;
const MADE_TYPES = ['docx', 'pdf', 'csv', 'jsonl'];
const PARAGRAPHS = 14;
const LINE_LENGTH = 90;
const LINES_OF_PAGE = 45;
const EXPECTED_TEXT = /^[\t\n\r\x20-\x7e\u00a0-\uffff]*$/;

/**
 * Fills a folder with so many files: those that are found below others, what is made of their words, and 20 broken ones
 * in `broken/`.
 */
export function makeFolder({ folder, count, from, bytes: most }) {
  const random = seededRandom(SEED);
  const good = count - Object.keys(BROKEN).length;
  const paths = new Set(from.flatMap((root) => [...documentsUnder(root, most)]));
  const found = shuffle(
    [...paths].sort((a, b) => (a < b ? -1 : 1)),
    random,
  );
  const byType = new Map();
  const texts = [];
  let written = 0;
  for (const path of found) {
    const type = extname(path).slice(1).replace('htm', 'html').replace('htmll', 'html');
    const known = byType.get(type) ?? 0;
    const bytes = readFileSync(path);
    const isText = type === 'txt' || type === 'md';
    if (isText && texts.length < good) {
      const text = bytes.toString('utf8');
      if (!text.includes('\ufffd') && EXPECTED_TEXT.test(text)) texts.push(...paragraphsOf(text));
    }
    if (known >= good * SHARE_OF_TYPE || written >= good * 0.8 || isDamaged(bytes, type)) continue;
    byType.set(type, known + 1);
    write(join(folder, type, `${String(known).padStart(4, '0')}-${path.split('/').slice(-2).join('-')}`), bytes);
    written += 1;
  }
  const words = shuffle(texts, random);
  for (let at = 0; written < good; written++) {
    const type = MADE_TYPES[written % MADE_TYPES.length];
    const paragraphs = Array.from({ length: 4 + Math.floor(random() * PARAGRAPHS) }, () => words[at++ % words.length]);
    byType.set(type, (byType.get(type) ?? 0) + 1);
    write(join(folder, 'made', `${String(written).padStart(4, '0')}.${type}`), MAKERS[type](paragraphs));
  }
  for (const [name, content] of Object.entries(BROKEN)) write(join(folder, 'broken', name), content());
  process.stdout.write(`${count} files in ${folder}: ${JSON.stringify(Object.fromEntries(byType))}\n`);
}

function* documentsUnder(root, most) {
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || !FOUND.has(extname(entry.name).toLowerCase())) continue;
    const { size } = statSync(path);
    if (size >= BYTES_LEAST && (size <= most || /\.(?:pdf|docx)$/.test(path))) yield path;
  }
}

/** Texts in other encodings are refused, and rightly. */
function isDamaged(bytes, type) {
  if (type === 'pdf' || type === 'docx') return false;
  const text = bytes.toString('utf8');
  return text.includes('\ufffd') || text.includes('\0');
}

function paragraphsOf(text) {
  return text
    .split(/\n\s*\n/)
    .map((one) => one.replace(/\s+/g, ' ').trim())
    .filter((one) => one.length > 120 && one.length < 1_500);
}

function write(path, bytes) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
}

/** @type {Record<string, (paragraphs: string[]) => string | Buffer>} */
const MAKERS = {
  docx: (paragraphs) => docx(paragraphs),
  pdf: (paragraphs) => pdf(paragraphs),
  csv: (paragraphs) =>
    ['title,text', ...paragraphs.map((text, i) => `Row ${i},"${text.replaceAll('"', '""')}"`)].join('\n'),
  jsonl: (paragraphs) => paragraphs.map((text, i) => JSON.stringify({ text, number: i })).join('\n'),
};

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function docx(paragraphs) {
  const styled = (text, style) =>
    `<w:p><w:pPr>${style === '' ? '' : `<w:pStyle w:val="${style}"/>`}</w:pPr><w:r><w:t xml:space="preserve">${escaped(text)}</w:t></w:r></w:p>`;
  const body = paragraphs.map((text, i) => (i % 4 === 0 ? styled(`Part ${i / 4 + 1}`, 'H') : '') + styled(text, ''));
  return zip({
    '_rels/.rels':
      '<Relationships><Relationship Id="r1" Type="http://schemas.openxmlformats.org/2006/relationships/mainDocument" Target="word/document.xml"/></Relationships>',
    'word/styles.xml': '<w:styles xmlns:w="w"><w:style w:styleId="H"><w:name w:val="heading 1"/></w:style></w:styles>',
    'word/document.xml': `<w:document xmlns:w="w"><w:body>${body.join('')}</w:body></w:document>`,
  });
}

/** @param {Record<string, string | Buffer>} files */
function zip(files) {
  const locals = [];
  const directory = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const deflated = Buffer.isBuffer(content) ? content : deflateRawSync(content);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(deflated.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(name.length, 22);
    const entry = Buffer.alloc(14);
    entry.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\u0001\u0002\u0014\0', 'latin1'), common, entry, Buffer.from(name));
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), common, Buffer.from(name), deflated]);
    locals.push(local);
    offset += local.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 'latin1');
  end.writeUInt16LE(Object.keys(files).length, 8);
  end.writeUInt16LE(Object.keys(files).length, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, list, end]);
}

function pdf(paragraphs, trailer = '') {
  const lines = paragraphs.flatMap((text) => [
    ...(text.replace(/[^\x20-\x7e]/g, '').match(new RegExp(`.{1,${LINE_LENGTH}}(?: |$)`, 'g')) ?? []),
    '',
  ]);
  /** @type {(string | Buffer)[]} */
  const objects = ['<</Type/Catalog/Pages 2 0 R>>', '', '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>'];
  const kids = [];
  for (let at = 0; at < lines.length; at += LINES_OF_PAGE) {
    const shown = lines.slice(at, at + LINES_OF_PAGE).map((line) => `(${line.replace(/[()\\]/g, '\\$&')}) Tj T*`);
    const content = deflateSync(`BT /F 10 Tf 14 TL 50 780 Td\n${shown.join('\n')}\nET`);
    kids.push(`${objects.length + 1} 0 R`);
    objects.push(
      `<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 840]/Resources<</Font<</F 3 0 R>>>>/Contents ${objects.length + 2} 0 R>>`,
      Buffer.concat([
        Buffer.from(`<</Length ${content.length}/Filter/FlateDecode>>\nstream\n`),
        content,
        Buffer.from('\nendstream'),
      ]),
    );
  }
  objects[1] = `<</Type/Pages/Kids[${kids.join(' ')}]/Count ${kids.length}>>`;
  const parts = [Buffer.from('%PDF-1.4\n')];
  const offsets = [];
  for (const [i, object] of objects.entries()) {
    offsets.push(parts.reduce((sum, { length }) => sum + length, 0));
    parts.push(Buffer.concat([Buffer.from(`${i + 1} 0 obj\n`), Buffer.from(object), Buffer.from('\nendobj\n')]));
  }
  const start = parts.reduce((sum, { length }) => sum + length, 0);
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const size = objects.length + 1;
  parts.push(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<</Size ${size}/Root 1 0 R${trailer}>>\nstartxref\n${start}\n%%EOF`,
    ),
  );
  return Buffer.concat(parts);
}

const TEXT = ['A paragraph of a document that is about to be damaged, with some words to find.'];
const ENCRYPTED = `/ID[<00><00>]/Encrypt<</Filter/Standard/V 2/R 3/Length 128/P -4/O<${'41'.repeat(32)}>/U<${'42'.repeat(32)}>>>`;
const PART = '<w:document xmlns:w="w"><w:body>';

/**
 * What is wrong with them, each in its way.
 * @type {Record<string, () => string | Buffer>}
 */
const BROKEN = {
  'cut.docx': () => docx(TEXT).subarray(0, 200),
  'cut-at-the-end.docx': () => docx(TEXT).subarray(0, -40),
  'cut.pdf': () => pdf(TEXT).subarray(0, 120),
  'no-pages.pdf': () => Buffer.from('%PDF-1.7\nnothing of it is here'),
  'scanned.pdf': () => pdf(['']),
  'encrypted.pdf': () => pdf(TEXT, ENCRYPTED),
  'is-a-text.pdf': () => 'This text is called a PDF.',
  'is-a-text.docx': () => 'This text is called a DOCX.',
  'is-a-program.txt': () => Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01\0\0', 'latin1'), noise(4_000)]),
  'is-a-picture.md': () => Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), noise(4_000)]),
  'latin1.txt': () => Buffer.from('Der Fährmann überholt größere Schiffe.', 'latin1'),
  'empty.txt': () => '',
  'blank.md': () => ' \n\t\n \n',
  'only-tags.html': () => '<html><head><script>let a = 1;</script></head><body><img src="a.png"></body></html>',
  'open-quote.csv': () => 'name,text\n"Anna,never closed\nBertha,2\n',
  'no-json.jsonl': () => '{"text": "good"}\n{"text": bad}\n',
  'no-objects.jsonl': () => '[1, 2]\n"three"\n',
  'bomb.docx': () => zip({ 'word/document.xml': deflateRawSync(Buffer.alloc(300 << 20, 0x20), { level: 9 }) }),
  'entities.docx': () =>
    zip({
      'word/document.xml': `<!DOCTYPE w [<!ENTITY a "ha">]>${PART}<w:p><w:r><w:t>&a;</w:t></w:r></w:p></w:body></w:document>`,
    }),
  'a-workbook.docx': () =>
    zip({
      '_rels/.rels':
        '<Relationships><Relationship Id="r" Type="http://x/relationships/mainDocument" Target="xl/workbook.xml"/></Relationships>',
      'xl/workbook.xml': '<workbook/>',
    }),
};

function noise(bytes) {
  const random = seededRandom(SEED);
  return Buffer.from(Array.from({ length: bytes }, () => Math.floor(random() * 256)));
}
