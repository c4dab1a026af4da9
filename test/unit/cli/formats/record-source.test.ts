import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { findFiles, type Format, openFile, type SourceOptions } from '../../../../cli/formats/open-source';
import type { RecordChunk, RecordSource } from '../../../../cli/formats/record-source';
import { runSeed, seededRandom } from '../../../support/values/random';

/** What every format promises: from the mark of any chunk, reading goes on with exactly the rows that are left. */

const folder = mkdtempSync(join(tmpdir(), 'quiver-sources-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const options: SourceOptions = {
  format: null,
  delimiter: null,
  columns: null,
  split: { by: 'chunks', size: 60, overlap: 10 },
};
const seed = runSeed('sources');
const random = seededRandom(seed);
const upTo = (n: number): number => Math.floor(random() * n);
const words = (): string =>
  Array.from({ length: 1 + upTo(6) }, () => ['plain', 'ünï', '"q"', 'a,b', '日本', 'x\ny', ''][upTo(7)]).join(' ');

async function open(name: string, format: Format, content: string | Buffer): Promise<RecordSource> {
  writeFileSync(join(folder, name), content);
  return openFile({ path: join(folder, name), format, name }, options);
}

async function all(source: RecordSource, cursor: unknown = null): Promise<RecordChunk[]> {
  const chunks: RecordChunk[] = [];
  for await (const chunk of source.read(cursor, null)) chunks.push(chunk);
  return chunks;
}

const rowsOf = (chunks: RecordChunk[]): unknown[] =>
  chunks.flatMap(({ records, unreadable }) => [...records, ...unreadable]);

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const ROWS = 2100;
const floats = (dim: number): Buffer => Buffer.from(Float32Array.from({ length: dim }, () => random() - 0.5).buffer);
const npyHead = (rows: number, dim: number): Buffer => {
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows}, ${dim}), }`.padEnd(117, ' ');
  return Buffer.from(`\u0093NUMPY\u0001\u0000\u0076\u0000${text}\n`, 'latin1');
};

const FILES: [name: string, format: Format, content: string | Buffer, rows: number][] = [
  [
    'a.jsonl',
    'jsonl',
    Array.from({ length: ROWS }, (_, i) =>
      i % 97 === 5 ? 'broken' : `${JSON.stringify({ id: i, text: words() })}${i % 3 === 0 ? '\r' : ''}`,
    ).join('\n'),
    ROWS,
  ],
  [
    'a.csv',
    'csv',
    `\ufeffid,text\r\n${Array.from({ length: ROWS }, (_, i) => (i % 97 === 5 ? `${i}` : `${i},${quoted(words())}`)).join('\r\n')}\r\n`,
    ROWS,
  ],
  ['a.tsv', 'tsv', `id\ttext\n${Array.from({ length: ROWS }, (_, i) => `${i}\t${quoted(words())}\n`).join('')}`, ROWS],
  [
    'a.fvecs',
    'fvecs',
    Buffer.concat(Array.from({ length: ROWS }, () => Buffer.concat([Buffer.from([3, 0, 0, 0]), floats(3)]))),
    ROWS,
  ],
  ['a.npy', 'npy', Buffer.concat([npyHead(ROWS, 5), floats(ROWS * 5)]), ROWS],
  ['a.txt', 'text', Array.from({ length: 9000 }, words).join('. '), 0],
];

describe('a source', () => {
  test.each(FILES)('%s goes on from every mark', async (name, format, content, rows) => {
    const chunks = await all(await open(name, format, content));
    if (rows > 0) expect(rowsOf(chunks)).toHaveLength(rows);
    expect(chunks.length).toBeGreaterThan(2);
    for (const [i, { cursor }] of chunks.entries()) {
      // As a checkpoint keeps it.
      const rest = await all(
        await openFile({ path: join(folder, name), format, name }, options),
        JSON.parse(JSON.stringify(cursor)),
      );
      expect(rowsOf(rest)).toEqual(rowsOf(chunks.slice(i + 1)));
    }
  });

  test.each(FILES.filter(([, format]) => format !== 'text'))(
    '%s is the same compressed, also from a mark',
    async (name, format, content) => {
      const plain = await all(await open(name, format, content));
      const zipped = await all(await open(`${name}.gz`, format, gzipSync(content)));
      expect(rowsOf(zipped)).toEqual(rowsOf(plain));
      const rest = await all(
        await openFile({ path: join(folder, `${name}.gz`), format, name }, options),
        zipped[0].cursor,
      );
      expect(rowsOf(rest)).toEqual(rowsOf(plain.slice(1)));
    },
  );

  test.each(FILES)('%s with damaged bytes gives rows, or one clear error', async (name, format, content) => {
    const bytes = Buffer.from(content);
    for (let run = 0; run < 25; run++) {
      const damaged = Buffer.from(bytes.subarray(0, run % 2 === 0 ? bytes.length : upTo(bytes.length)));
      for (let i = 0; i < 3; i++)
        if (damaged.length > 0)
          damaged[run % 3 === 0 ? upTo(Math.min(150, damaged.length)) : upTo(damaged.length)] = upTo(256);
      const outcome = await open(`damaged-${name}`, format, damaged)
        .then(all)
        .then(
          () => null,
          (error: Error) => error,
        );
      if (outcome !== null)
        expect({ name: outcome.name, message: outcome.message }).toEqual({
          name: 'CommandError',
          message: expect.stringContaining(format === 'jsonl' ? 'line' : name),
        });
    }
  });

  test('of CSV tells rows with too few values and the line of each, also behind quoted line ends', async () => {
    const source = await open('lines.csv', 'csv', 'id,text\n1,"a\nb"\n2\n3,c\n');
    const [{ records, unreadable }] = await all(source);
    expect(records).toEqual([
      { fields: { id: '1', text: 'a\nb' }, number: 2 },
      { fields: { id: '3', text: 'c' }, number: 5 },
    ]);
    expect(unreadable).toEqual([{ number: 4, reason: '1 value, where there are 2 columns' }]);
  });
});

test.each([
  ['semicolons', 'id;text\n1;"a;b,c"\n', ';', { id: '1', text: 'a;b,c' }],
  ['tabs', 'id\ttext\n1\ta,b\n', '\t', { id: '1', text: 'a,b' }],
  ['commas beside semicolons', 'id,text;,n\n1,a;b,2\n', ',', { id: '1', 'text;': 'a;b', n: '2' }],
  ["Excel's own line", '\ufeffsep=|\r\nid|text\r\n1|a\r\n', '|', { id: '1', text: 'a' }],
  ['one column', 'id\n1\n', ',', { id: '1' }],
  ['no line end', 'id;text', ';', null],
])('CSV is read whatever separates its values: %s', async (_what, text, delimiter, fields) => {
  const chunks = await all(await open('found.csv', 'csv', text));
  expect(chunks.flatMap(({ records }) => records.map((record) => record.fields))).toEqual(
    fields === null ? [] : [fields],
  );
  for (const { cursor } of chunks) expect(cursor).toMatchObject({ delimiter });
});

test.each([
  ['space around them', ' id ,\ttext\n1,a\n', { id: '1', text: 'a' }],
  ['none', ',id,text,,\n0,1,a,,\n', { column_1: '0', id: '1', text: 'a', column_4: '', column_5: '' }],
])('names of CSV columns may have %s', async (_what, text, fields) => {
  expect((await all(await open('names.csv', 'csv', text)))[0].records[0].fields).toEqual(fields);
});

describe('quotes of CSV', () => {
  /** Fields of the second column by the numbers of their lines, and bad lines. */
  const read = async (text: string): Promise<Record<number, unknown>> => {
    const chunks = await all(await open('quotes.csv', 'csv', text));
    return Object.fromEntries([
      ...chunks.flatMap(({ records }) => records.map(({ number, fields }) => [number, fields.text])),
      ...chunks.flatMap(({ unreadable }) => unreadable.map(({ number, reason }) => [number, new Error(reason)])),
    ]);
  };
  const stray = new Error('a value in quotes with more behind the quote that ends it');
  const open_ = new Error('a quote that is never closed');

  test.each([
    [
      'within a value are characters of it',
      '1,a 5" pipe\n2,b "c" d\n3,e"\n',
      { 2: 'a 5" pipe', 3: 'b "c" d', 4: 'e"' },
    ],
    [
      'within quotes may be the first character',
      '1,"""a"" b"\n2,"""c""\nd"\n3,e\n',
      { 2: '"a" b', 3: '"c"\nd', 5: 'e' },
    ],
    ['that close too early make the row bad', '1,"a"b\n2,c\n3,"d" \n4,"e"\n', { 2: stray, 3: 'c', 4: stray, 5: 'e' }],
    ['that are not closed take no other rows', '1,"a\n2,b\n3,"c"\n4,d\n', { 2: stray, 3: 'b', 4: 'c', 5: 'd' }],
    [
      'that are not closed until the end take no other rows',
      '1,a\n\n2,"b\n3,c\n4,d',
      { 2: 'a', 4: open_, 5: 'c', 6: 'd' },
    ],
    ['that are not closed in several rows', '1,"a\n2,"b\n3,c\n4,"d\n', { 2: stray, 3: stray, 4: 'c', 5: open_ }],
    ['within values stand beside those within quotes', '1 "x","""a"" b"\n2,"c" d\n', { 2: '"a" b', 3: stray }],
    ['in the last line', '1,a\n2,"', { 2: 'a', 3: open_ }],
  ])('%s', async (_what, rows, expected) => {
    expect(await read(`id,text\n${rows}`)).toEqual(expected);
    expect(await read(`id,text\n${rows}`.replaceAll(/\n(?!d)/g, '\r\n'))).toEqual(expected);
  });

  test('are found in a file of many pieces, from each mark on', async () => {
    const lines = Array.from({ length: 4000 }, (_, i) =>
      i % 799 === 7
        ? `${i},"${i}`
        : i % 1001 === 9
          ? `${i},"${i}"!`
          : `${i},${quoted(`${i} "words"\n ${'and '.repeat(50)}more`)}`,
    );
    const source = await open('pieces.csv', 'csv', `id,text\n${lines.join('\n')}\n`);
    const chunks = await all(source);
    const bad = lines.filter((line) => !line.endsWith('more"')).map((line) => line.split(',')[0]);
    expect(chunks.flatMap(({ unreadable }) => unreadable)).toHaveLength(bad.length);
    const ids = chunks.flatMap(({ records }) => records.map(({ fields }) => fields.id));
    expect(ids).toEqual(lines.map((line) => line.split(',')[0]).filter((id) => !bad.includes(id)));
    for (const at of [0, 2, 6]) {
      const rest = await all(
        await openFile({ path: join(folder, 'pieces.csv'), format: 'csv', name: 'pieces.csv' }, options),
        chunks[at].cursor,
      );
      expect(rowsOf(rest)).toEqual(rowsOf(chunks.slice(at + 1)));
    }
  });

  test('leave the line ends of a file as they are, also behind a bad row and from a mark', async () => {
    const rows = [
      'id,text',
      '1,"a\nb"',
      '2,"c\nd\ne"x',
      '3,f',
      '4,"g"',
      ...Array.from({ length: 600 }, (_, i) => `${5 + i},h\ni`),
    ];
    const chunks = await all(await open('excel.csv', 'csv', `${rows.join('\r\n')}\r\n`));
    const texts = chunks.flatMap(({ records }) => records.map(({ fields }) => fields.text));
    expect(texts).toEqual(['a\nb', 'f', 'g', ...Array.from({ length: 600 }, () => 'h\ni')]);
    const rest = await all(
      await openFile({ path: join(folder, 'excel.csv'), format: 'csv', name: 'excel.csv' }, options),
      chunks[0].cursor,
    );
    expect(rowsOf(rest)).toEqual(rowsOf(chunks.slice(1)));
    // Before the first line end: that of the bad line counts.
    const back = await all(await open('back.csv', 'csv', 'id,text\r1,"a"x\r2,b\r'));
    expect(rowsOf(back)).toEqual([
      { fields: { id: '2', text: 'b' }, number: 3 },
      { number: 2, reason: stray.message },
    ]);
  });

  test('do not have the rest of a file read in one piece', async () => {
    const rows = Array.from({ length: 3000 }, (_, i) => `${i},row`).join('\n');
    const chunks = await all(await open('open.csv', 'csv', `id,text\n0,"a\n${rows}`));
    expect(chunks.flatMap(({ records }) => records)).toHaveLength(3000);
    expect(chunks.map(({ records, unreadable }) => records.length + unreadable.length)).toEqual([
      500, 500, 500, 500, 500, 500, 1,
    ]);
  });

  test('do not hide that a file ends in an error', async () => {
    const rows = `id,text\n1,"a"x\n${Array.from({ length: 60_000 }, (_, i) => `${i},row\n`).join('')}`;
    await expect(
      open('latin-1.csv', 'csv', Buffer.concat([Buffer.from(rows), Buffer.from([0xe9, 0x0a])])).then(all),
    ).rejects.toThrow('latin-1.csv is not UTF-8 text');
    const whole = gzipSync(Buffer.from(rows));
    await expect(open('cut-1.csv.gz', 'csv', whole.subarray(0, whole.length - 20)).then(all)).rejects.toThrow(
      /cut-1\.csv\.gz can't be read/,
    );
  });

  test.each([
    [
      'id,text\n1, "a, b"\n',
      '3 values, where there are 2 columns; a quote opens a value only where no space is before it',
    ],
    ['id,text\n1,"a \\"b\\" c"\n', 'a quote behind a backslash: within quotes, CSV has quotes doubled'],
  ])('of %j are said to be what is wrong', async (text, reason) => {
    expect(await read(text)).toEqual({ 2: new Error(reason) });
  });

  test('that are wrong in the line of names are an error', async () => {
    await expect(read('id,"text\n1,a\n2,b\n')).rejects.toThrow(
      'quotes.csv names no columns: in line 1 there is a quote that is never closed',
    );
  });
});

test('ids of 64 bits stay apart as numbers of JSON lines', async () => {
  const chunks = await all(
    await open('wide.jsonl', 'jsonl', '{"id":9007199254740993}\n{"id":9007199254740992}\n{"id":7}\n'),
  );
  expect(chunks[0].records.map(({ fields }) => fields.id)).toEqual(['9007199254740993', '9007199254740992', 7]);
});

test('text that is not UTF-8 is refused, also where a piece of it ends within a character', async () => {
  const lines = await all(
    await open('latin.jsonl', 'jsonl', Buffer.from('{"id":"M\xfcller"}\n{"id":"a"}\n', 'latin1')),
  );
  expect(lines[0]).toMatchObject({
    records: [{ fields: { id: 'a' } }],
    unreadable: [{ number: 1, reason: 'not UTF-8' }],
  });
  await expect(open('latin.csv', 'csv', Buffer.from('id\nM\xfcller\n', 'latin1')).then(all)).rejects.toThrow(
    'latin.csv is not UTF-8 text; iconv makes it that',
  );
  await expect(open('cut.csv', 'csv', Buffer.from('id\nM\u00fc').subarray(0, -1)).then(all)).rejects.toThrow(
    'cut.csv is not UTF-8 text',
  );
  // Each of two offsets of three bytes has characters across the ends of pieces.
  for (const offset of ['', 'x']) {
    const text = `id\n${offset}${'日本\n'.repeat(50_000)}`;
    const chunks = await all(await open('long.csv', 'csv', text));
    expect(chunks.flatMap(({ records }) => records)).toHaveLength(50_000);
  }
});

test('a compressed CSV that is cut off fails as other formats do', async () => {
  const whole = gzipSync(Buffer.from(`id\n${Array.from({ length: 5000 }, (_, i) => `${i}-${random()}\n`).join('')}`));
  await expect(open('cut.csv.gz', 'csv', whole.subarray(0, whole.length / 2)).then(all)).rejects.toThrow(
    /cut\.csv\.gz can't be read/,
  );
});

describe('Zstandard', () => {
  // {"id":"z1","text":"a zebra"} as zstd 1.5.4 compresses it.
  const frame = Buffer.from('KLUv/QRY6QAAeyJpZCI6InoxIiwidGV4dCI6ImEgemVicmEifQrLCIfr', 'base64');

  test('frames that come together are all read', async () => {
    const chunks = await all(await open('two.jsonl.zst', 'jsonl', Buffer.concat([frame, frame, frame])));
    expect(chunks.flatMap(({ records }) => records.map(({ fields }) => fields.id))).toEqual(['z1', 'z1', 'z1']);
  });

  test.each([3, 12, frame.length - 8])('a file that is cut off after %d bytes more fails', async (bytes) => {
    await expect(
      open('cut.jsonl.zst', 'jsonl', Buffer.concat([frame, frame.subarray(0, bytes)])).then(all),
    ).rejects.toThrow(/cut\.jsonl\.zst can't be read/);
  });
});

test('what lies in hidden folders of a folder is no source, wherever that one is', () => {
  const hidden = join(folder, '.hidden', 'data');
  for (const name of ['a.csv', '.ipynb_checkpoints/b.csv', 'deep/.git/c.csv', '_temporary/d.csv', 'deep/e.csv']) {
    mkdirSync(join(hidden, dirname(name)), { recursive: true });
    writeFileSync(join(hidden, name), 'id,vector\n');
  }
  expect(findFiles([hidden], null).files.map(({ name }) => name)).toEqual(['a.csv', 'deep/e.csv']);
});

test('a list of bad rows in a folder is no source', () => {
  const inner = join(folder, 'inner');
  mkdirSync(inner);
  for (const name of ['a.jsonl', 'inner.rejects.jsonl']) writeFileSync(join(inner, name), '{}\n');
  expect(findFiles([inner], null).files.map(({ name }) => name)).toEqual(['a.jsonl']);
});
