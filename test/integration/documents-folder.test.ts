import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { eventually } from '../support/eventually';
import { CommandLine } from '../support/processes/command-line';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { EmbeddingsServer } from '../support/servers/embeddings-server';
import { GatedProxy, type StopPlace } from '../support/servers/gated-proxy';
import { gate } from '../support/servers/scripted-llm';
import { pdfFile, pdfOfObjects } from '../support/values/pdf-file';
import { docxFile, zipFile } from '../support/values/zip-file';

/** `quiver documents add` as somebody uses it who has a folder, and whose machine fails at any moment. */

const DOCS = resolve(__dirname, '../../docs');

let models: EmbeddingsServer;
let server: EmbeddedProcess;
let proxy: GatedProxy;
let cli: CommandLine;

beforeAll(async () => {
  models = await EmbeddingsServer.start();
  server = new EmbeddedProcess({
    environment: {
      EMBEDDING_PROVIDERS: JSON.stringify({ far: { url: models.url, models: ['letters'] } }),
      PARSER_MEMORY_MB: '512',
    },
  });
  await server.start();
  proxy = await GatedProxy.start(server.port);
  cli = new CommandLine({ QUIVER_URL: proxy.url, QUIVER_API_KEY: server.apiKey });
});
afterEach(() => proxy.reset());
afterAll(async () => {
  cli?.remove();
  await proxy?.close();
  await server?.destroy();
  await models?.close();
});

function write(files: Record<string, string | Buffer>, folder = 'files'): string {
  const root = cli.path(folder);
  rmSync(root, { recursive: true, force: true });
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  return root;
}

const paragraph = (words: string): string => `<w:p><w:r><w:t>${words}</w:t></w:r></w:p>`;
const sentences = (about: string, count: number): string =>
  Array.from({ length: count }, (_, i) => `Sentence ${i} about ${about} is like no other one.`).join(' ');

interface Jobs {
  jobs: { state: string; subject: string; result: { embedded: number } | null; error: string | null }[];
}

const jobsOf = async (collection: string): Promise<Jobs['jobs']> =>
  (await server.data<Jobs>('GET', `/v1/jobs?kind=document&limit=1000&collection=${collection}`)).jobs;

const documentsOf = async (collection: string): Promise<{ document_key: string; chunks: number }[]> =>
  (await server.data('GET', `/v1/collections/${collection}/documents?limit=1000`)).documents;

/** Texts of chunks, each once in its document. */
async function textsOf(collection: string): Promise<string[]> {
  const found = new Set<string>();
  let cursor: string | null = null;
  do {
    const page: any = await server.data('POST', `/v1/collections/${collection}/scroll`, { limit: 1_000, cursor });
    for (const { text, metadata } of page.vectors) found.add(JSON.stringify([metadata.document_id, text]));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return [...found].map((one) => JSON.parse(one)[1] as string).sort();
}

/** Passages that the service has embedded since it started. */
async function embedded(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${server.opsPort}/metrics`)).text();
  return Number(/^quiver_embedding_batch_texts_sum\{[^}]*kind="passage"[^}]*\} (\d+)$/m.exec(text)?.[1]);
}

test('a folder whose files are of all types is found, and what is broken is told by name and reason', async () => {
  await server.data('POST', '/v1/collections', { name: 'mixed', dim: 64 });
  const good: Record<string, string | Buffer> = {
    'plain.txt': 'The ferry leaves at seven.',
    'deep/er/notes.md': '# Bridges\n\nThe bridge is closed in winter.',
    'deep/page.html': '<h1>Locks</h1><p>The lock lifts boats by three metres.',
    'report.pdf': pdfFile(['The harbour was dredged in May']),
    'letter.DOCX': docxFile(paragraph('The pilot comes aboard at noon.')),
    'table.csv': 'ship,cargo\nAnna,timber\nBertha,salt\n',
    'rows.jsonl': '{"text":"The tide turns at four."}\n',
    'a\nname with "signs" \u00fc\u{1f6a2}.md': 'The anchor weighs two tons.',
  };
  const [own, users] = ['41'.repeat(32), '42'.repeat(32)];
  const encrypted = `/ID[<00><00>]/Encrypt<</Filter/Standard/V 2/R 3/Length 128/P -4/O<${own}>/U<${users}>>>`;
  const bomb = zipFile({ 'word/document.xml': { deflated: deflateRawSync(Buffer.alloc(200 << 20)), claims: 9 } });
  const broken: Record<string, [content: string | Buffer, reason: RegExp]> = {
    'bad/bomb.docx': [bomb, /has more than \d+ bytes when it is unpacked/],
    'bad/cut.docx': [docxFile(paragraph('cut')).subarray(0, 90), /it is cut off/],
    'bad/cut.pdf': [pdfFile(['x']).subarray(0, 60), /PDF file can't be read/],
    'bad/empty.md': ['', /empty/],
    'bad/blank.txt': [' \n\t\n', /empty/],
    'bad/quote.csv': ['a,b\n"1,2\n', /quote in it is not closed/],
    'bad/rows.jsonl': ['{"a": 1}\n{"b": no}\n', /line 2/],
    'bad/scan.pdf': [pdfFile(['', '']), /no OCR/],
    'bad/secret.pdf': [
      pdfOfObjects(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[]/Count 0>>'], encrypted),
      /encrypted/,
    ],
    'bad/named.pdf': ['No PDF at all.', /is no PDF/],
    'bad/large.txt': [Buffer.alloc(60 << 20, 'A line of text.\n'), /MAX_UPLOAD_BYTES/],
    [`bad/${'long/'.repeat(120)}name.md`]: ['Too deep.', /document_key/],
  };
  const contents = Object.fromEntries(Object.entries(broken).map(([name, [content]]) => [name, content]));
  const folder = write({
    ...good,
    ...contents,
    'picture.png': 'no document',
    'deep/program.exe': 'none',
    '.git/readme.md': 'hidden',
  });
  symlinkSync(join(folder, 'nothing-here'), join(folder, 'lost.txt'));
  symlinkSync('loop.txt', join(folder, 'loop.txt'));
  symlinkSync(folder, join(folder, 'deep/circle'));
  symlinkSync(join(folder, 'plain.txt'), join(folder, 'linked.txt'));
  const reasons = Object.entries({ ...broken, 'lost.txt': ['', /link to nothing/], 'loop.txt': ['', /leads back/] });
  const missing = reasons.map(([name]) => join(folder, name)).sort();
  const there = [...Object.keys(good), 'linked.txt'].sort();

  const { code, output, messages } = await cli.run(['documents', 'add', folder, '--into', 'mixed']);
  expect({ code, output, messages }).toMatchObject({
    code: 3,
    output: `${there.length} added, 0 unchanged, ${missing.length} failed, 4 hidden or of other types passed over\n`,
  });
  const told = new Map(messages.split('\n').map((line) => [line.split(': ')[0], line]));
  for (const [name, [, reason]] of reasons) expect(told.get(join(folder, name))).toMatch(reason as RegExp);
  expect(messages).toContain(`add them by their own paths: ${join(folder, 'deep/circle')}\n`);
  expect((await documentsOf('mixed')).map(({ document_key: key }) => key).sort()).toEqual(there);
  for (const [query, key] of [
    ['when does the ferry leave', 'plain.txt'],
    ['is the bridge closed in winter', 'deep/er/notes.md'],
    ['the lock lifts boats', 'deep/page.html'],
    ['the harbour was dredged', 'report.pdf'],
    ['the pilot comes aboard', 'letter.DOCX'],
    ['cargo salt of Bertha', 'table.csv'],
    ['the tide turns', 'rows.jsonl'],
  ]) {
    const { results } = await server.data('POST', '/v1/query', { collection_name: 'mixed', query, alpha: 0, top_k: 2 });
    expect(results.map(({ metadata }: any) => metadata.document_key)).toContain(key);
  }

  const again = await cli.run(['documents', 'add', folder, '--into', 'mixed', '--json']);
  expect(again).toMatchObject({ code: 3, messages: '' });
  const report = JSON.parse(again.output);
  expect(report).toMatchObject({ added: 0, unchanged: there.length, ignored: 4, under_way: 0, left: 0 });
  expect(report.failed.map(({ file }: { file: string }) => file).sort()).toEqual(missing);
});

/** Real texts, and one of each format that must be taken apart, with a text that differs from all others. */
function realFiles(): Record<string, string | Buffer> {
  const pages = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && statSync(join(DOCS, name)).size < 12_000)
    .sort()
    .slice(0, 14);
  return {
    ...Object.fromEntries(pages.map((name) => [`pages/${name}`, readFileSync(join(DOCS, name))])),
    'k-report.pdf': pdfFile(Array.from({ length: 5 }, (_, i) => `Page ${i} of the report is about harbours.`)),
    'l-letter.docx': docxFile(Array.from({ length: 9 }, (_, i) => paragraph(sentences(`letter ${i}`, 5))).join('')),
    'm-table.csv': `ship,cargo\n${Array.from({ length: 9 }, (_, i) => `Ship ${i},cargo ${i}\n`).join('')}`,
    'n-page.html': `<h1>Locks</h1><p>${sentences('locks', 30)}`,
  };
}

/** Requests at which the command is killed, one after the other, each in the run after the one before. */
const KILLS: [what: string, asked: string, count: number, place: StopPlace][] = [
  ['before it knows the collection', 'GET /v1/collections/killed', 1, 'answer'],
  ['while it sends the first file', 'POST /v1/documents', 1, 'body'],
  ['before the answer to the third', 'POST /v1/documents', 3, 'answer'],
  ['before it sends another one', 'POST /v1/documents', 5, 'request'],
  ['before it knows what is stored', 'GET /v1/collections/killed/documents', 1, 'answer'],
  ['while it sends one more', 'POST /v1/documents', 4, 'body'],
  ['when all are sent, and it looks at the jobs', 'GET /v1/jobs', 4, 'answer'],
];

test('killed at any place and called again, it embeds each text once, and misses and doubles nothing', async () => {
  await server.data('POST', '/v1/collections', { name: 'killed', dim: 64 });
  const files = realFiles();
  const folder = write(files);
  const words = ['documents', 'add', folder, '--into', 'killed'];
  const before = await embedded();
  for (const [what, asked, count, place] of KILLS) {
    proxy.stopAt = (one, seen) => (one === asked && seen === count ? place : undefined);
    const run = cli.start(words);
    await Promise.race([
      eventually(`it is ${what}`, () => proxy.hasStopped),
      // It would have to be killed before it ends.
      run.outcome.then(({ code, messages }) => {
        if (!proxy.hasStopped) throw new Error(`it ended ${what} with ${code}: ${messages}`);
      }),
    ]);
    run.child.kill('SIGKILL');
    await run.outcome;
    proxy.reset();
  }
  const names = Object.keys(files);
  const { output } = await cli.succeed(words);
  expect(output).toMatch(new RegExp(`^\\d+ added, \\d+ unchanged, 0 failed\n$`));
  expect((await documentsOf('killed')).map(({ document_key: key }) => key).sort()).toEqual(names.sort());
  const texts = await textsOf('killed');
  expect(texts.length).toBeGreaterThan(100);
  expect((await embedded()) - before).toBe(texts.length);
  const jobs = await jobsOf('killed');
  expect(jobs.map(({ state, subject }) => `${subject} ${state}`).sort()).toEqual(names.map((name) => `${name} done`));
  expect(jobs.reduce((sum, { result }) => sum + result!.embedded, 0)).toBe(texts.length);
  proxy.reset();
  expect((await cli.succeed(words)).output).toBe(`0 added, ${names.length} unchanged, 0 failed\n`);
  expect(proxy.asked.filter((asked) => asked.startsWith('POST'))).toEqual([]);
  expect(proxy.asked.length).toBeLessThan(8);
});

test('interrupted, it says what the service goes on with; called again, it waits for that', async () => {
  await server.data('POST', '/v1/collections', { name: 'resumed', embedding: { model: 'far:letters' } });
  const names = Array.from({ length: 12 }, (_, i) => `part-${i}.txt`);
  const folder = write(Object.fromEntries(names.map((name) => [name, sentences(name, 40)])));
  const words = ['documents', 'add', folder, '--into', 'resumed'];
  const held = gate();
  models.before = () => held.opened;
  const first = cli.start(words);
  // Three pages of jobs come before the first file; the next one is a look at what became of all.
  const isLook = (asked: string): boolean => asked === 'GET /v1/jobs';
  await eventually('it waits for all files', () => proxy.asked.filter(isLook).length > 3);
  expect(await jobsOf('resumed')).toHaveLength(names.length);
  first.child.kill('SIGINT');
  const { code, output, messages } = await first.outcome;
  expect({ code, output, messages }).toEqual({
    code: 130,
    output: '',
    messages: expect.stringMatching(
      /^interrupted: 0 added, 0 unchanged, 0 failed, 0 left; 12 more are sent, .*; the same command goes on from here$/m,
    ),
  });
  const second = cli.start(words);
  held.open();
  expect(await second.outcome).toMatchObject({ code: 0, output: expect.stringMatching(/^\d+ added, \d+ unchanged/) });
  const texts = await textsOf('resumed');
  const jobs = await jobsOf('resumed');
  expect(jobs.map(({ state }) => state)).toEqual(names.map(() => 'done'));
  expect(jobs.reduce((sum, { result }) => sum + result!.embedded, 0)).toBe(texts.length);
  expect((await cli.succeed(words)).output).toBe(`0 added, ${names.length} unchanged, 0 failed\n`);
});

test('a service that is killed in the middle is waited for, and ends what it had', async () => {
  await server.data('POST', '/v1/collections', { name: 'lost', embedding: { model: 'far:letters' } });
  const names = Array.from({ length: 10 }, (_, i) => `chapter-${i}.txt`);
  const folder = write(Object.fromEntries(names.map((name) => [name, sentences(name, 20)])));
  const held = gate();
  const isHeld = (texts: readonly string[]): boolean => texts.some((text) => text.includes('chapter-3.txt'));
  models.before = async () => (isHeld(models.asked.at(-1)!.input) ? held.opened : undefined);
  const asked = models.asked.length;
  // Seven files have come; of these one waits for its model, and the others are stored.
  proxy.stopAt = (one, count) => (one === 'POST /v1/documents' && count === 8 ? 'request' : undefined);
  const run = cli.start(['documents', 'add', folder, '--into', 'lost']);
  await eventually('all that it has but one are stored', async () => {
    const states = (await jobsOf('lost')).map(({ state }) => state);
    return proxy.hasStopped && states.length === 7 && states.filter((state) => state === 'done').length === 6;
  });
  await eventually('the model has been asked', () => models.asked.slice(asked).some(({ input }) => isHeld(input)));
  await server.kill();
  const lost = models.asked.length;
  proxy.reset();
  await eventually('it finds nobody', () => proxy.asked.length > 1);
  held.open();
  await server.start();
  const { code, output, messages } = await run.outcome;
  expect({ code, output }).toEqual({ code: 0, output: `${names.length} added, 0 unchanged, 0 failed\n` });
  expect(messages).toContain('no answer from');
  const texts = await textsOf('lost');
  expect((await documentsOf('lost')).map(({ document_key: key }) => key).sort()).toEqual(names);
  // What the model had answered by then is asked for no more.
  const answered = models.asked.slice(asked).filter(({ input }, i) => asked + i >= lost || !isHeld(input));
  expect(answered.flatMap(({ input }) => input).sort()).toEqual(texts);
});

test('one file that changed is replaced alone, and with --again all are cut anew', async () => {
  await server.data('POST', '/v1/collections', { name: 'changed', dim: 64 });
  await server.data('POST', '/v1/aliases', {
    actions: [{ create: { alias: 'current', collection: 'changed' } }],
  });
  const files = { 'a.txt': sentences('rivers', 20), 'b.txt': sentences('cities', 20) };
  const folder = write(files);
  const words = ['documents', 'add', folder, '--into', 'current'];
  await cli.succeed(words);
  write({ ...files, 'a.txt': `${files['a.txt']} And one more.` });
  expect((await cli.succeed(words)).output).toBe('1 added, 1 unchanged, 0 failed\n');
  const before = (await documentsOf('changed')).reduce((sum, one) => sum + one.chunks, 0);
  const again = await cli.succeed([...words, '--again', '--size', '100', '--metadata', '{"team": "law"}']);
  expect(again.output).toBe('2 added, 0 unchanged, 0 failed\n');
  expect((await documentsOf('changed')).reduce((sum, one) => sum + one.chunks, 0)).toBeGreaterThan(before);
  const { results } = await server.data('POST', '/v1/query', { collection_name: 'changed', query: 'rivers', top_k: 1 });
  expect(results[0].metadata.team).toBe('law');
  // Options that the service refuses are those of every file.
  const refused = await cli.run([...words, '--metadata', '{"source": "wiki"}']);
  expect(refused).toMatchObject({ code: 1, messages: expect.stringContaining('may not have source') });
  expect(refused.messages.match(/may not have/g)).toHaveLength(1);
  expect(await cli.run(['documents', 'add', folder, '--into', 'absent'])).toMatchObject({
    code: 5,
    messages: expect.stringContaining('absent'),
  });
});

test('documents are listed, shown and deleted', async () => {
  await server.data('POST', '/v1/collections', { name: 'shown', dim: 64 });
  await cli.succeed(['documents', 'add', write({ 'a.md': '# A\n\nOne.', 'b.txt': 'Two.' }), '--into', 'shown']);
  const { output } = await cli.succeed(['documents', 'list', 'shown']);
  expect(output).toMatch(/^id +key +source +type +pages +chunks +size +updated\n/);
  expect(output).toMatch(/ a\.md +a\.md +md +- +1 /);
  const [{ document_id: id }] = JSON.parse((await cli.succeed(['documents', 'list', 'shown', '--json'])).output);
  expect(JSON.parse((await cli.succeed(['documents', 'show', 'shown', id])).output)).toMatchObject({ chunks: 1 });
  expect((await cli.succeed(['documents', 'delete', 'shown', id])).output).toBe('deleted 1 chunks\n');
  expect(await cli.run(['documents', 'show', 'shown', id])).toMatchObject({ code: 5 });
});
