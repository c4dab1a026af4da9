import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { CommandLine } from '../support/processes/command-line';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { madeVector } from '../support/values/made-vectors.cjs';

/** `quiver import` and `quiver export` against a real service. */

interface StoredItem {
  external_id: string;
  vector: number[];
  metadata: Record<string, unknown>;
  text: string | null;
  expires_at?: string;
}

const DIM = 4;
const server = new EmbeddedProcess();
let cli: CommandLine;

beforeAll(async () => {
  await server.start();
  cli = new CommandLine({ QUIVER_URL: server.baseUrl, QUIVER_API_KEY: server.apiKey });
});
afterAll(async () => {
  cli.remove();
  await server.destroy();
});

async function stored(collection: string): Promise<StoredItem[]> {
  const items: StoredItem[] = [];
  let cursor: string | undefined;
  do {
    const page = await server.data('POST', `/v1/collections/${collection}/scroll`, { cursor, limit: 1000 });
    // Not the version, which is another in each collection.
    for (const { external_id, vector, metadata, text, expires_at } of page.vectors)
      items.push({ external_id, vector, metadata, text, expires_at });
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return items.sort((a, b) => (a.external_id < b.external_id ? -1 : 1));
}

const floats = (row: number, dim = DIM): number[] => Array.from(madeVector(row, dim));
/** What the service answers for a vector: its shortest decimals, which are the same float32 values. */
const asFloats = (vector: number[]): number[] => Array.from(Float32Array.from(vector));

function madeTable(format: string, file: string, rows: number, dim: number, options = {}): void {
  execFileSync(process.execPath, [
    resolve(__dirname, '../support/values/made-tables.mjs'),
    format,
    cli.path(file),
    String(rows),
    String(dim),
    JSON.stringify(options),
  ]);
}

/** Row i of a made table as it must be stored. */
function madeItem(i: number, dim: number): Partial<StoredItem> {
  return {
    external_id: `r${i}`,
    text: i % 5 === 4 ? null : `text number ${i}`,
    metadata: {
      ...(i % 10 === 3 ? {} : { year: 1900 + (i % 120) }),
      tags: Array.from({ length: i % 4 }, (_, n) => `t${(i + n) % 7}`),
    },
    vector: floats(i, dim),
  };
}

function expectMade(items: StoredItem[], rows: number, dim: number): void {
  const expected = Array.from({ length: rows }, (_, i) => madeItem(i, dim)).sort((a, b) =>
    a.external_id! < b.external_id! ? -1 : 1,
  );
  expect(
    items.map((item) => ({
      external_id: item.external_id,
      text: item.text,
      metadata: item.metadata,
      vector: asFloats(item.vector),
    })),
  ).toEqual(expected);
}

describe('quiver import', () => {
  test('stores JSON lines as the columns say, and makes the collection', async () => {
    const lines = [0, 1, 2].map((i) =>
      JSON.stringify({ id: `a${i}`, embedding: floats(i), content: `words ${i}`, year: 2000 + i, nothing: null }),
    );
    writeFileSync(cli.path('a.jsonl'), `${lines.join('\r\n')}\n\n`);
    const { messages } = await cli.succeed(['import', 'a.jsonl', '--into', 'lines', '--create', '--metric', 'l2']);
    expect(messages).toContain('id: id; vector: embedding; text: content; metadata: year, nothing\n');
    expect(messages).toMatch(/stored 3 rows in "lines".*: 3 new, 0 replaced/);
    expect(
      (await stored('lines')).map(({ external_id, vector, metadata, text }) => [
        external_id,
        asFloats(vector),
        metadata,
        text,
      ]),
    ).toEqual([0, 1, 2].map((i) => [`a${i}`, floats(i), { year: 2000 + i }, `words ${i}`]));
    expect(await server.data('GET', '/v1/collections/lines')).toMatchObject({ dim: DIM, distance_metric: 'l2' });
  });

  test('stores CSV with quotes and TSV that is compressed, with numbers and truth values made of text', async () => {
    writeFileSync(
      cli.path('b.csv'),
      '\ufeffid,vector,title,year,isNew\n"x, 1","[1,2,3,4]","two\nlines ""quoted""",007,true\ny,1 2 3 4.5,,1999.5,no\n',
    );
    await cli.succeed(['import', 'b.csv', '--into', 'table', '--create']);
    expect((await stored('table')).map(({ external_id, metadata, text }) => ({ external_id, metadata, text }))).toEqual(
      [
        { external_id: 'x, 1', metadata: { year: '007', isNew: true }, text: 'two\nlines "quoted"' },
        { external_id: 'y', metadata: { year: 1999.5, isNew: 'no' }, text: null },
      ],
    );
    writeFileSync(cli.path('b.tsv.gz'), gzipSync('k\td0\td1\td2\td3\tyear\none\t1\t2\t3\t4\t12\n'));
    await cli.succeed(['import', 'b.tsv.gz', '--into', 'table', '--id', 'k', '--vector', 'd*', '--strings']);
    expect((await stored('table')).find(({ external_id }) => external_id === 'one')).toMatchObject({
      vector: [1, 2, 3, 4],
      metadata: { year: '12' },
    });
  });

  test('stores Parquet with lists, nulls and structs, from pages and row groups of any size', async () => {
    madeTable('parquet', 'c.parquet', 150, DIM, { rowGroupSize: 100, pageSize: 300 });
    await cli.succeed(['import', 'c.parquet', '--into', 'parquet', '--create']);
    expectMade(await stored('parquet'), 150, DIM);
    madeTable('parquet', 'nested.parquet', 3, DIM, { nested: true, codec: 'UNCOMPRESSED' });
    await cli.succeed(['import', 'nested.parquet', '--into', 'nested', '--create', '--metadata', 'place,year']);
    expect((await stored('nested')).map(({ metadata }) => metadata)).toEqual(
      [0, 1, 2].map((i) => ({ place: { x: i, y: i / 2 }, year: 1900 + i })),
    );
  });

  test.each(['arrow', 'arrow-stream'])('stores %s', async (format) => {
    madeTable(format, `${format}.arrow`, 30, DIM);
    await cli.succeed(['import', `${format}.arrow`, '--into', format, '--create']);
    expectMade(await stored(format), 30, DIM);
  });

  test('stores vectors alone: .npy, .fvecs, and .bvecs by standard input that is compressed', async () => {
    const head = `{'descr': '<f8', 'fortran_order': False, 'shape': (2, 4), }`.padEnd(117, ' ');
    writeFileSync(
      cli.path('d.npy'),
      Buffer.concat([
        Buffer.from(`\u0093NUMPY\u0001\u0000\u0076\u0000${head}\n`, 'latin1'),
        Buffer.from(new Float64Array([...floats(0), ...floats(1)]).buffer),
      ]),
    );
    await cli.succeed(['import', 'd.npy', '--into', 'npy', '--create']);
    expect((await stored('npy')).map(({ external_id, vector }) => [external_id, asFloats(vector)])).toEqual([
      [expect.stringMatching(/^d\.npy:0-[0-9a-f]{12}$/), floats(0)],
      [expect.stringMatching(/^d\.npy:1-[0-9a-f]{12}$/), floats(1)],
    ]);
    const vecs = (i: number): Buffer =>
      Buffer.concat([Buffer.from(Int32Array.of(DIM).buffer), Buffer.from(madeVector(i, DIM).buffer)]);
    writeFileSync(cli.path('d.fvecs'), Buffer.concat([vecs(5), vecs(6)]));
    await cli.succeed(['import', 'd.fvecs', '--into', 'npy', '--id-prefix', 'f']);
    const bvecs = Buffer.from([4, 0, 0, 0, 1, 2, 3, 255]);
    await cli.succeed(['import', '-', '--format', 'bvecs', '--into', 'npy', '--id-prefix', 'b'], {
      input: gzipSync(bvecs),
    });
    const others = (await stored('npy')).filter(({ external_id }) => !external_id.startsWith('d.npy'));
    expect(
      others.map(({ external_id, vector }) => [external_id.replace(/-[0-9a-f]{12}$/, ''), asFloats(vector)]),
    ).toEqual([
      ['bstdin:0', [1, 2, 3, 255]],
      ['fd.fvecs:0', floats(5)],
      ['fd.fvecs:1', floats(6)],
    ]);
  });

  test('stores a folder of plain texts in chunks that the service embeds, and Zstandard', async () => {
    mkdirSync(join(cli.folder, 'texts/deep'), { recursive: true });
    writeFileSync(cli.path('texts/one.txt'), `The fox jumps. ${'It runs over the hill and far away. '.repeat(30)}`);
    writeFileSync(cli.path('texts/deep/two.txt'), 'A whale sings.');
    writeFileSync(cli.path('texts/.hidden.txt'), 'no');
    await cli.succeed(['import', 'texts', '--into', 'texts', '--create', '--dim', '32']);
    const items = await stored('texts');
    expect(items.map(({ external_id }) => external_id.replace(/-[0-9a-f]{12}$/, ''))).toEqual([
      'deep/two.txt#0',
      'one.txt#0',
      'one.txt#1',
      'one.txt#2',
    ]);
    expect(items[0]).toMatchObject({ text: 'A whale sings.', metadata: { source: 'deep/two.txt', chunk_index: 0 } });
    // {"id":"z1","text":"a zebra"} as zstd 1.5.4 compresses it.
    const zebra = Buffer.from('KLUv/QRY6QAAeyJpZCI6InoxIiwidGV4dCI6ImEgemVicmEifQrLCIfr', 'base64');
    await cli.succeed(['import', '-', '--format', 'jsonl', '--into', 'texts'], { input: zebra });
    const found = await cli.succeed(['search', 'texts', '--text', 'a zebra', '-k', '1', '--show-text']);
    expect(found.output).toMatch(/1\s+1\s+z1\s+\{\}\s+a zebra/);
  });

  test('never writes over the rows of another file where neither has ids, and says what is new', async () => {
    const row = (title: string): string => `title,vector\n${title} 1,"[1,0,0,0]"\n${title} 2,"[0,1,0,0]"\n`;
    for (const folder of ['first', 'second']) {
      mkdirSync(cli.path(folder));
      writeFileSync(cli.path(`${folder}/same.csv`), row(folder));
    }
    expect((await cli.succeed(['import', 'first/same.csv', '--into', 'noid', '--create'])).messages).toContain(
      '2 new, 0 replaced',
    );
    expect((await cli.succeed(['import', 'second/same.csv', '--into', 'noid'])).messages).toContain(
      '2 new, 0 replaced',
    );
    expect((await cli.succeed(['import', 'first/same.csv', '--into', 'noid'])).messages).toContain('0 new, 2 replaced');
    expect(
      (await cli.succeed(['import', '-', '--format', 'csv', '--into', 'noid'], { input: row('piped') })).messages,
    ).toContain('2 new, 0 replaced');
    const { output } = await cli.succeed(['import', '-', '--format', 'csv', '--into', 'noid', '--json'], {
      input: row('another'),
    });
    expect(JSON.parse(output)).toMatchObject({ stored: 2, new: 2, replaced: 0 });
    expect((await stored('noid')).map(({ text }) => text).sort((a, b) => (a! < b! ? -1 : 1))).toEqual([
      'another 1',
      'another 2',
      'first 1',
      'first 2',
      'piped 1',
      'piped 2',
      'second 1',
      'second 2',
    ]);
  });

  test('gives each file of a folder columns of its own, leaves out what is no data, and passes over what can’t be read', async () => {
    mkdirSync(cli.path('mixed/data'), { recursive: true });
    const items = {
      a: { id: 'a', embedding: [1, 2, 3, 4], year: 1 },
      b: { key: 'b', vector: [5, 6, 7, 8], content: 'words' },
    };
    writeFileSync(cli.path('mixed/README.md'), '# About');
    for (let i = 10; i < 20; i++) writeFileSync(cli.path(`mixed/photo${i}.jpg`), 'no data');
    writeFileSync(cli.path('mixed/dataset_info.json'), '{\n  "features": {}\n}\n');
    writeFileSync(cli.path('mixed/0.csv'), 'only,"names of columns, or a row that is taken for them"\n');
    writeFileSync(cli.path('mixed/1.jsonl'), JSON.stringify(items.a));
    writeFileSync(cli.path('mixed/2.jsonl'), JSON.stringify(items.b));
    writeFileSync(cli.path('mixed/3.csv'), Buffer.from('id,vector\nM\xfcller,1 2 3 4\n', 'latin1'));
    writeFileSync(
      cli.path('mixed/4.jsonl.gz'),
      gzipSync(JSON.stringify({ id: 'cut', vector: [1, 1, 1, 1] })).subarray(0, -9),
    );
    writeFileSync(cli.path('mixed/5.parquet'), 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n');
    writeFileSync(cli.path('mixed/6.npy'), '');
    writeFileSync(cli.path('mixed/7.jsonl'), JSON.stringify({ id: 'long', vector: [1, 2, 3] }));
    writeFileSync(cli.path('mixed/data/8.arrow'), 'ARROW1 but no more');
    writeFileSync(cli.path('mixed/data/9.jsonl'), JSON.stringify({ id: 'z', vector: [9, 9, 9, 9] }));
    const { code, messages } = await cli.run(['import', 'mixed', '--into', 'mixed', '--create']);
    expect(code).toBe(2);
    expect(messages).toContain('README.md is left out: a text beside data');
    expect(messages).toContain('dataset_info.json is left out: it describes data');
    expect(messages).toContain('photo10.jpg is left out: it is of no known format');
    expect(messages).toContain('and 2 more files are left out');
    expect(messages.match(/^.* has no rows$/gm)).toEqual(['0.csv has no rows']);
    expect(messages).toContain('6 files were not stored: mixed.rejects.jsonl says which and why');
    const rejects = readFileSync(cli.path('mixed.rejects.jsonl'), 'utf8').trim().split('\n');
    expect(rejects.map((line) => (JSON.parse(line) as { place: string }).place)).toEqual([
      '3.csv',
      '4.jsonl.gz',
      '5.parquet',
      '6.npy',
      '7.jsonl',
      'data/8.arrow',
    ]);
    expect(rejects[2]).toContain('git lfs pull');
    expect(rejects[4]).toContain('7.jsonl has vectors of 3 dimensions, the collection \\"mixed\\" has 4');
    expect(
      (await stored('mixed')).map(({ external_id, text, metadata, vector }) => [
        external_id,
        text,
        metadata,
        asFloats(vector),
      ]),
    ).toEqual([
      ['a', null, { year: 1 }, [1, 2, 3, 4]],
      ['b', 'words', {}, [5, 6, 7, 8]],
      ['z', null, {}, [9, 9, 9, 9]],
    ]);
    // The same command again, once a file is mended.
    writeFileSync(cli.path('mixed/3.csv'), 'id,vector\nMüller,1 2 3 4\n');
    const again = await cli.run(['import', 'mixed', '--into', 'mixed']);
    expect(again).toMatchObject({ code: 2, messages: expect.stringContaining('1 new, 3 replaced') });
  });

  test('takes columns from folders whose names say them, as tables are laid out, but never as ids', async () => {
    const files = {
      'parts/lang=en/key=7/a.jsonl':
        '{"title":"one","vector":[1,0,0,0]}\n{"title":"two","lang":"own","vector":[0,1,0,0]}\n',
      'parts/lang=S%C3%A3o Tom%C3%A9/key=__HIVE_DEFAULT_PARTITION__/b.csv': 'title,vector\nthree,"[0,0,1,0]"\n',
      'parts/plain/c.jsonl': '{"title":"four","vector":[0,0,0,1]}\n',
    };
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(cli.path(name)), { recursive: true });
      writeFileSync(cli.path(name), content);
    }
    await cli.succeed(['import', 'parts', '--into', 'parts', '--create', '--no-text']);
    const metadata = (await stored('parts')).map((item) => item.metadata as { title: string });
    expect(metadata.sort((a, b) => (a.title < b.title ? -1 : 1))).toEqual([
      { title: 'four' },
      { title: 'one', lang: 'en', key: 7 },
      { title: 'three', lang: 'São Tomé' },
      { title: 'two', lang: 'own', key: 7 },
    ]);
  });

  test('ends with one sentence where vectors have another dimension than the collection', async () => {
    writeFileSync(
      cli.path('wide.jsonl'),
      Array.from({ length: 20 }, (_, i) => JSON.stringify({ id: i, vector: [1, 2, 3] })).join('\n'),
    );
    await cli.succeed(['create', 'narrow', '--dim', '4']);
    const { code, messages } = await cli.run(['import', 'wide.jsonl', '--into', 'narrow', '--quiet']);
    expect({ code, messages }).toEqual({
      code: 2,
      messages: 'wide.jsonl has vectors of 3 dimensions, the collection "narrow" has 4\n',
    });
  });

  test('never writes over its source', async () => {
    const path = cli.path('mine.jsonl');
    const content = '{"id":1,"vector":[1,0,0,0]}\nbad\n';
    writeFileSync(path, content);
    for (const words of [
      ['--rejects', path],
      ['--checkpoint', path, '--restart'],
    ]) {
      expect(await cli.run(['import', 'mine.jsonl', '--into', 'mine', '--create', ...words])).toMatchObject({
        code: 2,
        messages: expect.stringContaining(`${words[0]} must be another file`),
      });
    }
    expect(readFileSync(path, 'utf8')).toBe(content);
  });

  test('lists bad rows with their lines and reasons, stores the others, and ends with 3', async () => {
    const good = (id: string): string => JSON.stringify({ id, vector: [1, 2, 3, 4] });
    const lines = [
      good('g1'),
      'no json',
      JSON.stringify({ id: 'short', vector: [1] }),
      JSON.stringify({ vector: [1, 2, 3, 4] }),
      good('g2'),
      JSON.stringify({ id: 'deep', vector: [1, 2, 3, 4], blob: 'x'.repeat(70_000) }),
      // As MongoDB dumps ids; any other object is none.
      JSON.stringify({ id: { $oid: 'g3' }, vector: [1, 2, 3, 4] }),
      JSON.stringify({ id: { of: 'g4' }, vector: [1, 2, 3, 4] }),
    ];
    writeFileSync(cli.path('bad.jsonl'), lines.join('\n'));
    const { code, output } = await cli.run(['import', 'bad.jsonl', '--into', 'bad', '--create', '--json']);
    expect(code).toBe(3);
    expect(JSON.parse(output)).toMatchObject({ rows: 8, stored: 3, rejected: 5, rejects: 'bad.jsonl.rejects.jsonl' });
    const rejects = readFileSync(cli.path('bad.jsonl.rejects.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>);
    expect(rejects.map(({ place, external_id }) => [place, external_id]).sort(([a], [b]) => (a < b ? -1 : 1))).toEqual([
      ['line 2', null],
      ['line 3', 'short'],
      ['line 4', null],
      ['line 6', 'deep'],
      ['line 8', null],
    ]);
    expect(rejects.find(({ place }) => place === 'line 8')?.reason).toBe(
      'the id in column "id" is neither a text nor a number',
    );
    expect(rejects.find(({ place }) => place === 'line 3')?.reason).toBe(
      'the vector has 1 number, the collection 4 dimensions',
    );
    expect(rejects.find(({ place }) => place === 'line 6')?.reason).toContain('MAX_METADATA_BYTES');
    expect((await stored('bad')).map(({ external_id }) => external_id)).toEqual(['g1', 'g2', 'g3']);
    const stopped = await cli.run(['import', 'bad.jsonl', '--into', 'bad', '--max-rejects', '1', '--restart']);
    expect(stopped).toMatchObject({ code: 3, messages: expect.stringContaining('more than 1 rows are bad') });
  });

  test('goes on after kill -9 and a restart of the service, and ends with exactly the rows of the file', async () => {
    const rows = 4000;
    madeTable('parquet', 'k.parquet', rows, 32, { rowGroupSize: 1500, pageSize: 20_000 });
    // Slower than any machine, so that there is always something left to be killed.
    const slow = createServer((request, response) => {
      setTimeout(() => {
        const asked = forward(
          `${server.baseUrl}${request.url}`,
          { method: request.method, headers: request.headers },
          (answer) => {
            response.writeHead(answer.statusCode ?? 500, answer.headers);
            answer.pipe(response);
          },
        );
        asked.on('error', () => response.destroy());
        request.pipe(asked);
      }, 25);
    });
    await new Promise<void>((done) => slow.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
    const words = [
      'import',
      'k.parquet',
      '--into',
      'killed',
      '--create',
      '--lanes',
      '2',
      '--batch-rows',
      '20',
      '--url',
      url,
    ];
    const checkpoint = (): { rows: number } | null => {
      try {
        return (JSON.parse(readFileSync(cli.path('check.json'), 'utf8')) as { state: { rows: number } }).state;
      } catch {
        return null;
      }
    };
    let before = 0;
    for (let kills = 0; kills < 2; kills++) {
      const { child, outcome } = cli.start([...words, '--checkpoint', 'check.json']);
      let isOver = false;
      void outcome.then(() => (isOver = true));
      await eventually('the import has come further', () => isOver || (checkpoint()?.rows ?? 0) > before);
      child.kill('SIGKILL');
      expect(await outcome).toMatchObject({ code: null });
      before = checkpoint()!.rows;
      expect(before).toBeGreaterThan(0);
      expect(before).toBeLessThan(rows);
    }
    const last = cli.start([...words, '--checkpoint', 'check.json']);
    await eventually('the import goes on', () => (checkpoint()?.rows ?? rows) > before);
    await server.kill();
    await server.start();
    const { code, messages } = await last.outcome;
    expect({ code, messages }).toEqual({
      code: 0,
      messages: expect.stringMatching(
        new RegExp(`going on after ${before.toLocaleString('en')} rows[^]*stored 4,000 rows`),
      ),
    });
    slow.closeAllConnections();
    await new Promise((done) => slow.close(done));
    expect(checkpoint()).toBeNull();
    expectMade(await stored('killed'), rows, 32);
  });

  test('refuses a checkpoint of a file that has changed, until it is told to restart', async () => {
    writeFileSync(cli.path('e.jsonl'), `${JSON.stringify({ id: 1, vector: [1, 2, 3, 4] })}\n`);
    await cli.succeed(['create', 'changed', '--dim', '4']);
    const { code } = await cli.run(
      ['import', 'e.jsonl', '--into', 'changed', '--checkpoint', 'e.json', '--retry-for', '0.1'],
      { environment: { QUIVER_API_KEY: 'wrong-key' } },
    );
    expect(code).toBe(6);
    writeFileSync(cli.path('e.json'), JSON.stringify({ version: 1, identity: { source: 'another' }, state: {} }));
    expect(await cli.run(['import', 'e.jsonl', '--into', 'changed', '--checkpoint', 'e.json'])).toMatchObject({
      code: 2,
      messages: expect.stringContaining('since then has changed: source'),
    });
    await cli.succeed(['import', 'e.jsonl', '--into', 'changed', '--checkpoint', 'e.json', '--restart']);
    expect(await stored('changed')).toHaveLength(1);
  });

  test.each([
    [['import', 'nowhere.jsonl', '--into', 'x'], 2, /nowhere\.jsonl is not there/],
    [['import', 'a.jsonl', '--into', 'x'], 5, /--create makes it/],
    [
      ['import', 'a.jsonl', '--into', 'lines', '--vector', 'vec'],
      2,
      /there is no column "vec"; there is: id, embedding/,
    ],
    [['import', 'a.jsonl'], 2, /required option '--into/],
    [['import', '-', '--format', 'jsonl', '--into', 'nothing', '--create'], 2, /there are no rows to import/],
    [
      ['import', 'b.tsv.gz', '--format', 'jsonl', '--into', 'nothing', '--create'],
      2,
      /no row can be read: line 1: not JSON/,
    ],
  ])('%j ends with %d', async (words, code, messages) => {
    expect(await cli.run(words)).toMatchObject({ code, messages: expect.stringMatching(messages) });
  });
});

describe('quiver export', () => {
  test.each(['jsonl', 'jsonl.gz', 'parquet', 'npy'])('to .%s and back gives the same collection', async (ending) => {
    const name = `round-${ending.replace('.', '-')}`;
    await server.data('POST', '/v1/collections', { name, dim: DIM });
    const items = Array.from({ length: 1203 }, (_, i) => ({
      external_id: `é ${i}/"x"`,
      vector: floats(i),
      metadata: i % 3 === 0 ? {} : { n: i / 7, deep: { list: [1, null, 'a'] }, flag: true },
      ...(i % 2 === 0 ? { text: i % 8 === 0 ? '' : `line\n${i}` } : {}),
      ...(i % 5 === 0 ? { expires_at: '2099-01-01T00:00:00.000Z' } : {}),
    }));
    await server.data('POST', `/v1/collections/${name}/bulk_upsert`, { items: items.slice(0, 1000) });
    await server.data('POST', `/v1/collections/${name}/bulk_upsert`, { items: items.slice(1000) });
    await cli.succeed(['export', name, '--to', `${name}.${ending}`]);
    expect(await cli.run(['export', name, '--to', `${name}.${ending}`])).toMatchObject({
      code: 2,
      messages: expect.stringContaining('is there already'),
    });
    await cli.succeed(['import', `${name}.${ending}`, '--into', `${name}-2`, '--create']);
    const [original, copy] = [await stored(name), await stored(`${name}-2`)];
    expect(copy).toEqual(original);
    expect(copy.length).toBe(1203);
  });

  test('writes what a filter finds to standard output', async () => {
    const { output } = await cli.succeed([
      'export',
      'lines',
      '--to',
      '-',
      '--filter',
      '{"year": {"$gte": 2001}}',
      '--no-vectors',
    ]);
    expect(
      output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([1, 2].map((i) => ({ external_id: `a${i}`, text: `words ${i}`, metadata: { year: 2000 + i } })));
  });
});
