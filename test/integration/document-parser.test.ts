import { readdirSync, readFileSync, rmSync, writeFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import type { DocumentParser } from '../../coordinator/service/documents/formats/document-parser';
import type { ParsedDocument } from '../../coordinator/service/documents/formats/parsed-document';
import { eventually } from '../support/eventually';
import { openDocumentParser } from '../support/processes/document-parsers';
import { mainThreadTimeOf } from '../support/processes/processor-time';
import { pdfFile, pdfOfObjects, pdfStream } from '../support/values/pdf-file';
import { docxFile, zipFile } from '../support/values/zip-file';

const FIXTURES = join(__dirname, '../fixtures/documents');

let parser: DocumentParser;
afterEach(() => parser.close());

function read(name: string, bytes: string | Buffer, signal?: AbortSignal): Promise<ParsedDocument> {
  return parser.parse({ content: { bytes: Buffer.from(bytes) }, name }, { signal });
}

/** The document that a healthy parser reads. */
async function expectHealth(): Promise<void> {
  expect((await read('a.txt', 'Hello')).text).toBe('Hello');
}

test('the process starts with the first document, and ends when there was none for a while', async () => {
  parser = openDocumentParser({ idleMs: 50 });
  expect(parser.pid).toBe(null);
  const [first, second] = await Promise.all([read('a.txt', 'One\r\ntwo'), read('b.md', '# Two')]);
  expect([first.text, second.headings[0].title]).toEqual(['One\ntwo', 'Two']);
  const { pid } = parser;
  expect(pid).not.toBe(null);
  await eventually('the process ends', () => parser.pid === null);
  await expectHealth();
  expect(parser.pid).not.toBe(pid);
});

test('a document of every type has its text, and a PDF its pages and its outline', async () => {
  parser = openDocumentParser();
  const rows = await read('a.csv', 'a,b\n1,x\n2,y\n');
  expect(rows.rows).toEqual([
    { start: 0, end: 9, fields: { a: 1, b: 'x' } },
    { start: 11, end: 20, fields: { a: 2, b: 'y' } },
  ]);
  expect((await read('a.jsonl', '{"text":"x"}')).rows).toHaveLength(1);
  expect((await read('a.html', '<h1>A</h1><p>b')).text).toBe('A\n\nb');
  expect((await read('a.docx', docxFile('<w:p><w:r><w:t>Word</w:t></w:r></w:p>'))).text).toBe('Word');
  expect(await read('named.txt', pdfFile(['First page', '', 'Third page'], ['One', 'Two', 'Third page']))).toEqual({
    type: 'pdf',
    text: 'First page\n\nThird page',
    pages: [0, 10, 12],
    headings: [
      { level: 1, title: 'One', start: 0 },
      { level: 1, title: 'Two', start: 10 },
      { level: 1, title: 'Third page', start: 12 },
    ],
  });
});

test('a file is read by its path, and one that is longer than a message in parts', async () => {
  parser = openDocumentParser();
  const folder = mkdtempSync(join(tmpdir(), 'quiver-parsed-'));
  try {
    const text = 'A line with é in it.\n'.repeat(100_000);
    writeFileSync(join(folder, 'long'), text);
    const read = await parser.parse({ content: { path: join(folder, 'long') }, name: 'long.txt' });
    expect(read.text === text).toBe(true);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('files that others made', () => {
  const EXPECTED = JSON.parse(readFileSync(join(FIXTURES, 'expected.json'), 'utf8')) as Record<
    string,
    { title?: string; pages: number; headings: [number, string][]; has: string[]; characters: number }
  >;

  test.each(Object.entries(EXPECTED))('%s', async (name, { title, pages, headings, has, characters }) => {
    parser = openDocumentParser();
    const document = await read(name, readFileSync(join(FIXTURES, name)));
    expect(document.title).toBe(title);
    expect(document.pages.length).toBe(pages);
    expect(document.headings.slice(0, headings.length).map(({ level, title: words }) => [level, words])).toEqual(
      headings,
    );
    const joined = document.text.replace(/\s+/g, ' ');
    for (const words of has) expect(joined).toContain(words);
    expect(document.text.length).toBe(characters);
  });

  test('headings of one page of a PDF stand where their words do', async () => {
    parser = openDocumentParser();
    const { headings, text, pages } = await read('a.pdf', readFileSync(join(FIXTURES, 'handbook.pdf')));
    const begins = headings.map(({ start }) => text.slice(start).split('\n', 1)[0]);
    expect(begins.map((line) => line.replace(/\s/g, ''))).toEqual(
      headings.map(({ title }) => title.replace(/\s/g, '')),
    );
    expect(headings.filter(({ start }) => start < pages[1])).toHaveLength(3);
  });

  test('each is expected', () => {
    expect(readdirSync(FIXTURES).sort()).toEqual([...Object.keys(EXPECTED), 'README.md', 'expected.json'].sort());
  });
});

test.each<[string, string, () => string | Buffer, string, string]>([
  ['an empty file', 'a.pdf.txt', () => '', 'invalid_parameter', 'The file is empty'],
  ['bytes that are no UTF-8', 'a.md', () => Buffer.from([0x61, 0xe9, 0x20]), 'invalid_parameter', 'iconv'],
  [
    'a PDF that is cut off',
    'a.pdf',
    () => pdfFile(['x']).subarray(0, 40),
    'invalid_parameter',
    "The PDF file can't be read",
  ],
  [
    'a scanned PDF',
    'a.pdf',
    () => pdfFile(['', '']),
    'invalid_parameter',
    'The PDF has no text in it; this service has no OCR',
  ],
  [
    'an encrypted PDF',
    'a.pdf',
    () =>
      pdfOfObjects(
        ['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[]/Count 0>>'],
        `/ID[<00><00>]/Encrypt<</Filter/Standard/V 2/R 3/Length 128/P -4/O<${'41'.repeat(32)}>/U<${'42'.repeat(32)}>>>`,
      ),
    'invalid_parameter',
    'The PDF is encrypted; save it without a password',
  ],
  ['more text than the limit', 'a.txt', () => 'x'.repeat(200_001), 'limit_exceeded', 'more than 200000 characters'],
  [
    'a file larger than the limit',
    'a.pdf',
    () => Buffer.concat([pdfFile(['x']), Buffer.alloc(2_000_000)]),
    'limit_exceeded',
    'larger than 1000000 bytes',
  ],
  ['what is not supported', 'a.exe', () => 'MZ', 'invalid_parameter', 'supported are txt, md'],
])('%s is refused, and the same process reads the next document', async (_what, name, file, kind, message) => {
  parser = openDocumentParser({ limits: { bytesMax: 1_000_000, charactersMax: 200_000 } });
  await expectHealth();
  const { pid } = parser;
  await expect(read(name, file())).rejects.toMatchObject({ kind, message: expect.stringContaining(message) });
  await expectHealth();
  expect(parser.pid).toBe(pid);
});

describe('files that are made to harm', () => {
  const MANY = 200_000;

  test.each<[string, string, () => string | Buffer]>([
    [
      'a ZIP bomb',
      'a.docx',
      () => zipFile({ 'word/document.xml': { deflated: deflateRawSync(Buffer.alloc(300 << 20)), claims: 9 } }),
    ],
    [
      'a document of one long paragraph',
      'a.docx',
      () => docxFile(`<w:p>${`<w:r><w:t>${'a'.repeat(50)}</w:t></w:r>`.repeat(1_000_000)}</w:p>`),
    ],
    ['billion laughs', 'a.docx', () => docxFile('<!DOCTYPE a [<!ENTITY b "c">]>&b;')],
    ['a page whose content unpacks to very much', 'a.pdf', () => bombPdf(pdfStream(Buffer.alloc(256 << 20, ' '), 2))],
    [
      'a page tree that is a circle',
      'a.pdf',
      () => pdfOfObjects(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[2 0 R 2 0 R]/Count 1000000>>']),
    ],
    [
      'an endless chain of objects',
      'a.pdf',
      () =>
        pdfOfObjects([
          '<</Type/Catalog/Pages 2 0 R>>',
          ...Array.from({ length: 20_000 }, (_, i) => `${((i + 1) % 20_000) + 2} 0 R`),
        ]),
    ],
    [
      'an outline that is a circle',
      'a.pdf',
      () => pdfFile(['x'], ['a', 'b']).toString('latin1').replace('/Dest', '/First 7 0 R/Dest'),
    ],
    ['elements that are never closed', 'a.html', () => '<table><tr><td><svg><b><a><p><nobr>'.repeat(MANY)],
    ['a tag without an end', 'a.html', () => `<p ${'a="b" '.repeat(MANY)}`],
    ['lists within lists', 'a.md', () => Array.from({ length: 3_000 }, (_, i) => `${' '.repeat(i)}- a`).join('\n')],
    ['quotes within quotes', 'a.md', () => '>'.repeat(50_000)],
    ['open brackets', 'a.md', () => `# ${'['.repeat(MANY)}`],
    ['one line of many megabytes', 'a.jsonl', () => `{"text":"${'x'.repeat(60_000_000)}"}`],
    ['columns without an end', 'a.csv', () => `${'a,'.repeat(MANY)}\n${'1,'.repeat(MANY)}`],
    ['very many rows', 'a.csv', () => `a\n${'1\n'.repeat(2_000_000)}`],
  ])('%s is read or refused, and the next document is read', async (_what, name, file) => {
    parser = openDocumentParser({ limits: { memoryMiB: 400, timeMs: 60_000 } });
    const outcome = await read(name, file()).then(
      ({ text }) => typeof text,
      ({ kind, message }) => {
        expect(message).not.toMatch(/parser ended|\/work|node_modules/);
        return kind as string;
      },
    );
    expect(['string', 'invalid_parameter', 'limit_exceeded']).toContain(outcome);
    await expectHealth();
  });

  test('what takes more memory than it may ends the process, and says so', async () => {
    parser = openDocumentParser({ limits: { memoryMiB: 192 } });
    await expect(read('a.csv', `a\n${'1\n'.repeat(900_000)}`)).rejects.toMatchObject({
      kind: 'limit_exceeded',
      message: 'The file takes more than 192 MiB to read (PARSER_MEMORY_MB); divide it',
    });
    await expectHealth();
  });

  test('what takes longer than it may ends the process, and says so', async () => {
    parser = openDocumentParser({ limits: { timeMs: 1 } });
    await expect(read('a.pdf', pdfFile(['x']))).rejects.toMatchObject({
      kind: 'limit_exceeded',
      message: "The file can't be read within 1 ms (PARSER_TIMEOUT_MS); divide it",
    });
  });

  function bombPdf(content: Buffer): Buffer {
    return pdfOfObjects([
      '<</Type/Catalog/Pages 2 0 R>>',
      '<</Type/Pages/Kids[3 0 R]/Count 1>>',
      '<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>',
      content,
    ]);
  }
});

describe('the process', () => {
  /** A program in its place, whose lines are these. */
  function programOf(lines: string): { program: string; remove: () => void } {
    const folder = mkdtempSync(join(tmpdir(), 'quiver-parser-'));
    writeFileSync(join(folder, 'program.js'), lines);
    return { program: join(folder, 'program.js'), remove: () => rmSync(folder, { recursive: true }) };
  }

  test('that dies while it reads is told and replaced, and its document read again', async () => {
    const told: unknown[] = [];
    parser = openDocumentParser({ log: { info: () => undefined, warn: (facts: unknown) => void told.push(facts) } });
    await expectHealth();
    const { pid } = parser;
    const long = read('a.csv', `a\n${'1\n'.repeat(400_000)}`);
    process.kill(pid!, 'SIGKILL');
    expect((await long).rows).toHaveLength(400_000);
    expect(told).toEqual([expect.objectContaining({ attempt: 1, crash: expect.stringContaining('SIGKILL') })]);
    expect(parser.pid).not.toBe(pid);
  });

  test('that dies each time fails the document alone', async () => {
    const { program, remove } = programOf('process.on("message", ({ say }) => say === "end" && process.exit(7))');
    try {
      const told: unknown[] = [];
      parser = openDocumentParser({
        program,
        log: { info: () => undefined, warn: (facts: unknown) => void told.push(facts) },
      });
      await expect(read('a.txt', 'x')).rejects.toMatchObject({
        kind: 'invalid_parameter',
        message: "The file can't be read: its parser ended 2 times",
      });
      expect(told).toHaveLength(2);
    } finally {
      remove();
    }
  });

  test('has none of the environment, and may not write files or start processes', async () => {
    const { program, remove } = programOf(`
      const tried = [];
      for (const [name, act] of Object.entries({
        write: () => require('fs').writeFileSync(${JSON.stringify(join(tmpdir(), 'quiver-not-written'))}, 'x'),
        start: () => require('child_process').spawnSync('true').error,
      })) {
        let error;
        try { error = act(); } catch (thrown) { error = thrown; }
        tried.push(name + ' ' + (error?.code ?? 'done'));
      }
      tried.push('environment ' + Object.keys(process.env).join());
      process.on('message', ({ say }) => {
        if (say !== 'end') return;
        process.send({ say: 'text', text: tried.join('; ') });
        process.send({ say: 'done', document: {} });
      });`);
    try {
      parser = openDocumentParser({ program });
      expect((await read('a.txt', 'x')).text).toBe('write ERR_ACCESS_DENIED; start ERR_ACCESS_DENIED; environment ');
    } finally {
      remove();
    }
  });

  test('is given up with its document: by the caller, and by the end of the service', async () => {
    const { program, remove } = programOf(`
      let bytes = 0;
      process.on('message', (request) => {
        if (request.say === 'begin') bytes = 0;
        else if (request.say === 'part') bytes += request.bytes.length;
        else {
          while (bytes > 1);
          process.send({ say: 'text', text: 'read' });
          process.send({ say: 'done', document: {} });
        }
      });`);
    try {
      parser = openDocumentParser({ program });
      const isBusy = async (): Promise<void> => {
        const before = mainThreadTimeOf(parser.pid!)!;
        await eventually('it is busy', () => mainThreadTimeOf(parser.pid!)! > before + 100);
      };
      expect((await read('a.txt', 'a')).text).toBe('read');
      const { pid } = parser;
      const abort = new AbortController();
      const endless = read('b.txt', 'endless', abort.signal);
      const waiting = read('c.txt', 'c', abort.signal);
      const next = read('d.txt', 'd');
      const failed = [endless, waiting].map((each) => expect(each).rejects.toMatchObject({ kind: 'unavailable' }));
      await isBusy();
      abort.abort();
      await Promise.all(failed);
      expect((await next).text).toBe('read');
      expect(parser.pid).not.toBe(pid);
      const last = expect(read('e.txt', 'endless')).rejects.toMatchObject({ kind: 'unavailable' });
      await isBusy();
      await parser.close();
      await last;
      await expect(read('f.txt', 'f')).rejects.toMatchObject({ kind: 'unavailable' });
      expect(parser.pid).toBe(null);
    } finally {
      remove();
    }
  });
});
