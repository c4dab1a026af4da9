import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type CommandResult, runCommand } from '../support/processes/command-run';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { PgvectorServer } from '../support/servers/pgvector-server';
import { RecordedPeer, bodyOf } from '../support/servers/recorded-peer';

/**
 * `quiver migrate` from peers that answer as the real ones do: test/fixtures/migrate says of each answer where it is
 * from. pgvector is the real one. migrate-peers.test.ts runs against real servers where they are at hand.
 */

const quiver = new EmbeddedProcess();
const folder = mkdtempSync(join(tmpdir(), 'quiver-migrate-'));

beforeAll(() => quiver.start());
afterAll(async () => {
  await quiver.destroy();
  rmSync(folder, { recursive: true, force: true });
});

const environment = (): Record<string, string> => ({
  QUIVER_URL: quiver.baseUrl,
  QUIVER_API_KEY: quiver.apiKey,
  XDG_STATE_HOME: folder,
});

interface Moved extends CommandResult {
  /** The JSON report. */
  report: any;
  rejected: { external_id: string; reason: string }[];
}

async function migrate(peer: string, address: string, ...words: string[]): Promise<Moved> {
  rmSync(join(folder, 'report.json'), { force: true });
  const result = await runCommand(
    [
      'migrate',
      '--from',
      peer,
      address,
      '--report',
      join(folder, 'report.json'),
      '--rejects',
      folder,
      '--page-size',
      '2',
      '--quiet',
      ...words,
    ],
    environment(),
  );
  const text = existsSync(join(folder, 'report.json'))
    ? readFileSync(join(folder, 'report.json'), 'utf8')
    : '{"collections": []}';
  const report = JSON.parse(text);
  const rejected = (report.collections as { reject_file: string | null }[])
    .flatMap(({ reject_file }) => (reject_file === null ? [] : readFileSync(reject_file, 'utf8').trim().split('\n')))
    .map((line) => JSON.parse(line));
  return { ...result, report, rejected };
}

/** Items of a collection here by their ids, as they are stored. */
async function items(collection: string): Promise<Record<string, any>> {
  const { vectors } = await quiver.data('POST', `/v1/collections/${collection}/scroll`, { limit: 1000 });
  const fetched = await quiver.data('POST', `/v1/collections/${collection}/vectors/fetch`, {
    ids: vectors.map((item: any) => item.external_id),
  });
  return Object.fromEntries(
    fetched.vectors.map(({ external_id, vector, metadata, text }: any) => [external_id, { vector, metadata, text }]),
  );
}

/** What a report says on a topic, over all collections. */
const said = (report: any, topic: string): string =>
  report.collections
    .flatMap(({ findings }: any) =>
      findings
        .filter((finding: any) => finding.topic === topic)
        .map(
          ({ effect, detail, items: count }: any) => `${effect}: ${detail}${count === undefined ? '' : ` (${count})`}`,
        ),
    )
    .join('\n');

async function withRecorded(name: string, story: (address: string) => Promise<void>): Promise<void> {
  const peer = new RecordedPeer(name);
  const address = await peer.start();
  try {
    await story(address);
    expect(peer.strange).toEqual([]);
  } finally {
    await peer.stop();
  }
}

/** The commands of the guide for a peer, as words, with another address in the place of the guide's. */
function guideCommands(peer: string, address: string): string[][] {
  const guide = readFileSync(resolve(__dirname, '../../docs/guides/migrating.md'), 'utf8');
  const lines = [...guide.matchAll(/^quiver (migrate --from (\w+) .*)$/gm)].filter((match) => match[2] === peer);
  return lines.map(([, line]) =>
    (line.match(/'[^']*'|"[^"]*"|\S+/g) ?? [])
      .map((word) => word.replaceAll(/^['"]|['"]$/g, ''))
      .map((word) => (/^\w+:\/\/(?:\S+@)?localhost/.test(word) ? address : word)),
  );
}

/** Runs them against an empty service; each must move all it can. */
async function followGuide(peer: string, address: string): Promise<void> {
  const commands = guideCommands(peer, address);
  expect(commands.length).toBeGreaterThan(0);
  for (const command of commands) {
    for (const { name } of (await quiver.data('GET', '/v1/collections')).collections)
      await quiver.data('DELETE', `/v1/collections/${name}`);
    const { exitCode, messages, output } = await runCommand(
      [...command, '--page-size', '2', '--no-report', '--rejects', folder, '--quiet'],
      environment(),
    );
    expect([command, messages, [0, 3].includes(exitCode)]).toEqual([command, '', true]);
    if (!command.includes('--dry-run')) expect(output).toMatch(/ yes /);
  }
}

describe('quiver migrate', () => {
  test('from Qdrant: named vectors into a collection each, ids of 64 bits, a metric that has no counterpart', async () => {
    await withRecorded('qdrant', async (address) => {
      const asked = await migrate('qdrant', address);
      expect(asked).toMatchObject({
        exitCode: 2,
        report: {
          is_plan: true,
          skipped: [{ name: 'words', reason: 'it has no dense vectors' }],
          questions: [expect.stringContaining('several vectors (title, image)'), expect.stringContaining('Manhattan')],
        },
      });
      expect((await quiver.data('GET', '/v1/collections')).collections).toEqual([]);

      const { exitCode, report, rejected } = await migrate(
        'qdrant',
        address,
        '--vector',
        '*',
        '--metric',
        'taxi=l2',
        '--text',
        'shop=story',
        '--rename',
        'shop:image=pictures',
      );
      expect(exitCode).toBe(3);
      expect(report.peer.product).toBe('Qdrant 1.19.0');
      expect(
        report.collections.map((one: any) => [
          one.to,
          one.dim,
          one.metric,
          one.items_there,
          one.items_here,
          one.rejected,
          one.is_exact,
        ]),
      ).toEqual([
        ['shop-title', 2, 'cosine', 3, 2, 1, true],
        ['pictures', 3, 'ip', 3, 3, 0, true],
        ['taxi', 2, 'l2', 1, 1, 0, true],
      ]);
      expect(await items('shop-title')).toEqual({
        7: {
          vector: [0.6, 0.8],
          metadata: { city: 'Berlin', place: { lon: 13.4, lat: 52.5 }, nothing: null, owner: 'a' },
          text: 'A long story',
        },
        '18446744073709551615': { vector: [1, 0], metadata: {}, text: null },
      });
      expect(rejected).toEqual([
        expect.objectContaining({ external_id: '5c56c793-69f3-4fbf-87e6-c4bf54c28c26', reason: 'it has no vector' }),
      ]);
      expect(Object.keys(await items('pictures')).sort()).toEqual([
        '18446744073709551615',
        '5c56c793-69f3-4fbf-87e6-c4bf54c28c26',
        '7',
      ]);
      expect((await items('pictures'))['5c56c793-69f3-4fbf-87e6-c4bf54c28c26'].vector).toEqual([4, 5, 6]);
      for (const [topic, words] of [
        ['sparse vectors', /left out: words/],
        ['multi-vectors', /left out:.*late/],
        ['aliases', /left out: production/],
        ['geo', /place/],
        ['tenants', /owner/],
        ['quantization', /scalar/],
        ['ids', /changed: numbers became strings.*\(2\)/],
        ['nulls', /kept as data.*\(1\)/],
        ['numbers', /beyond 2\^53/],
        ['partitions', /2 shards/],
      ] as const)
        expect([topic, said(report, topic)]).toEqual([topic, expect.stringMatching(words)]);
      await followGuide('qdrant', address);
    });
  });

  test('from Chroma, as its server answered: documents become texts, names fit, an empty collection is told of', async () => {
    await withRecorded('chroma', async (address) => {
      const { exitCode, output, report, rejected } = await migrate('chroma', address);
      expect([exitCode, report.peer.product, report.skipped.map(({ name }: any) => name)]).toEqual([
        3,
        'Chroma, server 1.0.0',
        ['empty'],
      ]);
      expect(await items('t_one')).toEqual({
        a: {
          vector: [0.1, 0.2],
          metadata: { arr: ['x', 'y'], n: '9007199254740993', b: true, f: 1.5, uri: 'http://x' },
          text: 'hello',
        },
        b: { vector: [1, 2], metadata: {}, text: null },
        c: { vector: [3, 4], metadata: { s: 't' }, text: 'x' },
      });
      expect(Object.keys(await items('plain'))).toEqual(['one']);
      expect(rejected).toEqual([
        {
          place: 'plain',
          external_id: 'two',
          reason: 'value 0 of its vector is no finite float32 number there (null)',
        },
      ]);
      expect(await quiver.data('GET', '/v1/collections/plain')).toMatchObject({
        distance_metric: 'cosine',
        description: 'the second',
        vector_count: 1,
      });
      expect(output).toMatch(/t\.one +- +t_one +2 +ip +3 +3 +0 +3 +yes/);
      expect(said(report, 'tenants')).toMatch(/archive/);

      const again = await migrate('chroma', address);
      expect([again.exitCode, again.messages]).toEqual([
        2,
        expect.stringMatching(/"plain" is there already and holds 1 vectors.*--into-existing/),
      ]);
      expect(
        (await migrate('chroma', address, '--into-existing')).report.collections.map((one: any) => one.items_here),
      ).toEqual([1, 3]);
      expect(await migrate('chroma', address, '--collection', 't.one', '--rename', 't.one=plain')).toMatchObject({
        exitCode: 2,
        messages: expect.stringMatching(/metric cosine.*would have ip/),
      });
      await followGuide('chroma', address);
    });
  });

  test('from Weaviate, as its server answered: tenants become collections, references are told of', async () => {
    await withRecorded('weaviate', async (address) => {
      const { exitCode, report, rejected } = await migrate(
        'weaviate',
        address,
        '--vector',
        '*',
        '--text',
        'Article=title',
      );
      expect(exitCode).toBe(3);
      expect(report.collections.map((one: any) => [one.from, one.vector, one.to, one.metric, one.is_exact])).toEqual([
        ['Article', '', 'Article', 'l2', true],
        ['Shop/blue', 'title', 'Shop_blue-title', 'cosine', true],
        ['Shop/red', 'image', 'Shop_red-image', 'ip', true],
        ['Shop/red', 'title', 'Shop_red-title', 'cosine', true],
      ]);
      expect(report.skipped).toEqual([
        expect.objectContaining({ name: 'Shop/cold', reason: expect.stringContaining('COLD') }),
      ]);
      expect(await items('Article')).toEqual({
        '00000000-0000-0000-0000-000000000001': {
          vector: [0.1, 0.2, 0.3],
          metadata: {
            at: '2020-01-01T00:00:00Z',
            big: '9007199254740992',
            place: { latitude: 1.5, longitude: 2.5 },
            year: 2001,
          },
          text: 'one',
        },
      });
      expect(await items('Shop_red-image')).toEqual({
        '00000000-0000-0000-0000-000000000003': { vector: [1, 2, 3], metadata: { name: 'x' }, text: null },
      });
      expect(rejected).toHaveLength(1);
      expect(said(report, 'references')).toMatch(/ofArticle.*\(1\)/);
      expect(said(report, 'multi-vectors')).toMatch(/late/);
      await followGuide('weaviate', address);
    });
  });

  test('from Milvus: keys of 64 bits, vectors of 16 bits, JSON and arrays, a collection that is not loaded', async () => {
    await withRecorded('milvus', async (address) => {
      const { exitCode, report } = await migrate('milvus', address, '--vector', '*', '--rename', 'books:meaning=books');
      expect([exitCode, report.skipped.map(({ reason }: any) => reason)]).toEqual([
        0,
        [expect.stringContaining('load it there first')],
      ]);
      expect(report.collections.map((one: any) => [one.to, one.metric, one.items_here, one.is_exact])).toEqual([
        ['books', 'cosine', 3, true],
        ['books-cover', 'l2', 3, true],
      ]);
      expect(await items('books')).toEqual({
        '-5': {
          vector: [0.1, 0.2],
          metadata: {
            extra: 'dynamic',
            facts: { pages: 12, isbn: '9783161484100123456' },
            shelf: 'a',
            tags: ['x', 'y'],
            title: 'One',
          },
          text: null,
        },
        '9007199254740993': {
          vector: [0.3, 0.4],
          metadata: { facts: null, shelf: 'b', tags: [], title: 'Two' },
          text: null,
        },
        '9223372036854775807': {
          vector: [0.5, 0.6],
          metadata: { facts: [1, 2], shelf: 'b', tags: ['z'], title: 'Three' },
          text: null,
        },
      });
      expect(Object.values(await items('books-cover')).map(({ vector }) => vector)).toEqual(
        expect.arrayContaining([
          [1, 2],
          [0.5, -0.5],
          [0, 0],
        ]),
      );
      expect(said(report, 'sparse vectors')).toMatch(/words/);
      expect(said(report, 'partitions')).toMatch(/shelf[\s\S]*16 partitions/);
      await followGuide('milvus', address);
    });
  });

  test('from Milvus as its own handlers answer: every kind of field, empty arrays, keys of 64 bits and with quotes', async () => {
    await withRecorded('milvus-lite', async (address) => {
      const { exitCode, report } = await migrate('milvus', address, '--vector', '*');
      expect([
        exitCode,
        report.collections.map((one: any) => [one.to, one.metric, one.items_here, one.is_exact]),
      ]).toEqual([
        0,
        [
          ['books-meaning', 'cosine', 3, true],
          ['books-cover', 'l2', 3, true],
          ['books-back', 'ip', 3, true],
          ['tags-vector', 'ip', 4, true],
        ],
      ]);
      const rest = { ok: true, small: -8, half: 0.1, exact: 0.1 };
      expect(await items('books-meaning')).toEqual({
        '-5': {
          vector: [0.1, 0.2],
          metadata: {
            ...rest,
            title: 'One "1" ü',
            facts: { pages: 12, isbn: '9783161484100123456', none: null },
            tags: ['x', 'y'],
            pages: [1, '9007199254740993'],
            big: '9007199254740993',
            extra: 'dynamic',
            more: { deep: [1.5, null] },
          },
          text: null,
        },
        '9007199254740993': {
          vector: [0.3, 0.4],
          metadata: { ...rest, title: 'Two', facts: {}, tags: [], pages: [3], big: 0 },
          text: null,
        },
        '9223372036854775807': {
          vector: [0.5, 0.6],
          metadata: { ...rest, title: 'Three', facts: [1, 2], tags: ['z'], pages: [], big: -5 },
          text: null,
        },
      });
      const vectorsOf = async (collection: string): Promise<unknown> =>
        Object.fromEntries(Object.entries(await items(collection)).map(([id, { vector }]) => [id, vector]));
      expect(await vectorsOf('books-cover')).toEqual({
        '-5': [1, 2],
        '9007199254740993': [0.5, -0.5],
        '9223372036854775807': [0, 0],
      });
      expect(await vectorsOf('books-back')).toEqual({
        '-5': [1, 2],
        '9007199254740993': [3, 4],
        '9223372036854775807': [-1, 0.5],
      });
      expect(await vectorsOf('tags-vector')).toEqual({
        "it's": [0, 1],
        'a"b': [1, 1],
        'ü/日本': [2, 1],
        'back\\slash': [3, 1],
      });
      expect(said(report, 'sparse vectors')).toMatch(/words/);
    });
  });

  test('from Elasticsearch: every shard, vectors that are not in _source, documents without a vector', async () => {
    await withRecorded('elasticsearch', async (address) => {
      const { exitCode, report, rejected } = await migrate(
        'elasticsearch',
        address,
        '--vector',
        'embedding',
        '--text',
        'title',
      );
      expect([exitCode, report.peer.product, report.skipped.map(({ name }: any) => name)]).toEqual([
        3,
        'Elasticsearch 9.2.0',
        ['logs'],
      ]);
      expect(report.collections).toEqual([
        expect.objectContaining({ to: 'news', items_there: 4, items_here: 3, is_exact: true }),
      ]);
      expect(await items('news')).toEqual({
        'a/b': {
          vector: [0.1, 0.2],
          metadata: { place: { lat: 1.5, lon: 2.5 }, inner: { label: 'x' } },
          text: 'First',
        },
        b: { vector: [0.3, 0.4], metadata: { none: null }, text: 'Second' },
        d: { vector: [0.5, 0.6], metadata: { at: '2026-01-01' }, text: 'Fourth' },
      });
      expect(rejected.map(({ external_id }) => external_id)).toEqual(['c']);
      await followGuide('elasticsearch', address);
    });
    await withRecorded('opensearch', async (address) => {
      const { exitCode, report, rejected } = await migrate('elasticsearch', address);
      expect([exitCode, report.peer.product, report.skipped]).toEqual([
        3,
        'OpenSearch 3.5.0',
        [expect.objectContaining({ name: 'outside', reason: expect.stringContaining('out of _source') })],
      ]);
      expect(
        report.collections.map((one: any) => [
          one.to,
          one.vector,
          one.metric,
          one.items_there,
          one.items_here,
          one.is_exact,
        ]),
      ).toEqual([
        ['docs', 'v', 'ip', 4, 3, true],
        ['small', 'deep.v', 'l2', 1, 1, true],
      ]);
      expect(await items('docs')).toEqual({
        1: {
          vector: [0.5, 2],
          metadata: { title: 'One', place: '41.12,-71.34', part: [{ w: [1, 2], a: 1 }] },
          text: null,
        },
        2: { vector: [0.25, -1], metadata: { title: 'Two', none: null, big: '9007199254740993' }, text: null },
        'a/b': { vector: [1, 1], metadata: { title: 'Four' }, text: null },
      });
      expect(await items('small')).toEqual({ x: { vector: [1, -128], metadata: { deep: { n: 1 } }, text: null } });
      expect(rejected.map(({ external_id }) => external_id)).toEqual(['3']);
      // OpenSearch answers the kinds of numbers in capitals.
      expect(said(report, 'vector types')).toMatch(/left out: bits, a vector of bits[\s\S]*changed: deep\.v \(byte\)/);
      expect(said(report, 'multi-vectors')).toMatch(/left out: part\.w/);
    });
  });

  test('from a real pgvector: keys of one and several columns, types of columns, rows that a condition picks', async () => {
    const peer = new PgvectorServer();
    await peer.start();
    try {
      expect(
        await runCommand(['migrate', '--from', 'pgvector', peer.address, '--no-report'], environment()),
      ).toMatchObject({
        exitCode: 1,
        messages: expect.stringContaining('no extension "vector"'),
      });
      await peer.run(`CREATE EXTENSION vector;
        CREATE TABLE posts (id bigint PRIMARY KEY, embedding vector(3), small halfvec(2), words sparsevec(5), title text, at timestamptz, price numeric, tags text[], facts jsonb, big bigint);
        CREATE INDEX ON posts USING hnsw (embedding vector_l2_ops);
        INSERT INTO posts VALUES (1, '[0.1,0.2,0.3]', '[1,2]', '{1:1}/5', 'One', '2026-01-01Z', 1.10, '{a,b}', '{"x":{"y":null}}', 9007199254740993),
          (9007199254740993, '[4,5,6]', '[0.5,0.25]', NULL, 'Two', NULL, NULL, NULL, NULL, 1), (3, NULL, NULL, NULL, 'Three', NULL, NULL, NULL, NULL, NULL);
        CREATE TABLE pairs (a int NOT NULL, b text NOT NULL, "the ""v""" vector(2), PRIMARY KEY (b, a));
        INSERT INTO pairs VALUES (1, 'x', '[1,2]'), (2, 'x', '[3,4]'), (1, 'y/z', '[5,6]');
        CREATE TABLE keyless (v vector(2));`);
      const { exitCode, report, rejected } = await migrate(
        'pgvector',
        peer.address,
        '--vector',
        'embedding',
        '--text',
        'posts=title',
        '--metric',
        'pairs=ip',
      );
      expect([exitCode, report.skipped.map(({ name }: any) => name), report.peer.product]).toEqual([
        3,
        ['keyless'],
        expect.stringMatching(/^PostgreSQL \d+.*, pgvector \d/),
      ]);
      expect(report.collections.map((one: any) => [one.to, one.metric, one.items_here, one.is_exact])).toEqual([
        ['pairs', 'ip', 3, true],
        ['posts', 'l2', 2, true],
      ]);
      expect(report.peer.address).not.toContain('postgres@');
      expect(await items('posts')).toEqual({
        1: {
          vector: [0.1, 0.2, 0.3],
          metadata: {
            at: '2026-01-01T00:00:00+00:00',
            big: '9007199254740993',
            tags: ['a', 'b'],
            facts: { x: { y: null } },
            price: 1.1,
          },
          text: 'One',
        },
        '9007199254740993': {
          vector: [4, 5, 6],
          metadata: { at: null, big: 1, tags: null, facts: null, price: null },
          text: 'Two',
        },
      });
      expect(Object.keys(await items('pairs')).sort()).toEqual(['x/1', 'x/2', 'y%2Fz/1']);
      expect(rejected.map(({ external_id }) => external_id)).toEqual(['3']);
      expect(
        (
          await migrate(
            'pgvector',
            peer.address,
            '--collection',
            'pairs',
            '--rename',
            'pairs=some',
            '--where',
            "t.b = 'x'",
          )
        ).report.collections[0],
      ).toMatchObject({
        items_there: 2,
        items_here: 2,
        is_exact: true,
      });
      await followGuide('pgvector', peer.address);
    } finally {
      await peer.stop();
    }
  });

  test('killed with SIGKILL on the way and run again, it goes on where it was and ends exact', async () => {
    const peer = new LargeQdrant(5000);
    const address = await peer.start();
    const words = [
      'migrate',
      '--from',
      'qdrant',
      address,
      '--no-report',
      '--rejects',
      folder,
      '--page-size',
      '100',
      '--batch',
      '100',
      '--quiet',
    ];
    try {
      const child = spawn(process.execPath, [resolve(__dirname, '../../scripts/quiver.cjs'), ...words], {
        env: { PATH: process.env.PATH, ...environment() },
        stdio: 'ignore',
      });
      const ended = new Promise((done) => child.once('exit', (_, signal) => done(signal)));
      peer.onPage = (from) => {
        // Its answer never comes; pages before it are on their way.
        if (from >= 2500) child.kill('SIGKILL');
        return from < 2500;
      };
      expect(await ended).toBe('SIGKILL');
      peer.onPage = () => true;
      const pagesBefore = peer.pages;
      const result = await runCommand(words, environment());
      expect(result).toMatchObject({
        exitCode: 0,
        output: expect.stringMatching(/large +- +large +2 +l2 +5,?000 +5,?000 +0 +5,?000 +yes/),
      });
      // Not from the start: the cursor is saved several times a second, and the first run came half way.
      expect(peer.pages - pagesBefore).toBeLessThan(50);
      expect(
        (await quiver.data('POST', '/v1/collections/large/vectors/fetch', { ids: ['0', '2499', '4999'] })).vectors.map(
          (item: any) => item.metadata.row,
        ),
      ).toEqual([0, 2499, 4999]);
    } finally {
      await peer.stop();
    }
  });

  test('says what is wrong with the command line, the address or the key before anything is written', async () => {
    for (const [words, exitCode, message] of [
      [['--from', 'pinecone', 'http://127.0.0.1:1'], 2, /Allowed choices are qdrant/],
      [['http://127.0.0.1:1'], 2, /--from/],
      [['--from', 'qdrant', 'localhost:6333'], 2, /must begin with http/],
      [['--from', 'pgvector', 'http://127.0.0.1:1'], 2, /postgres:\/\//],
      [['--from', 'qdrant', 'http://127.0.0.1:1', '--tenant', 'x'], 2, /--tenant means nothing to qdrant/],
      [['--from', 'qdrant', 'http://127.0.0.1:1', '--metric', 'manhattan'], 2, /"manhattan" is not a metric/],
      [['--from', 'qdrant', 'http://127.0.0.1:1', '--rename', 'x'], 2, /OLD=NEW/],
      [['--from', 'qdrant', 'http://127.0.0.1:1', '--retry-for', '0.01'], 1, /127\.0\.0\.1:1/],
      [['--from', 'pgvector', 'postgres://127.0.0.1:1/db'], 1, /PostgreSQL.*ECONNREFUSED/],
    ] as const) {
      const result = await runCommand(['migrate', ...words], environment());
      expect([words, result.exitCode, result.messages]).toEqual([words, exitCode, expect.stringMatching(message)]);
    }
  });
});

/** Answers as Qdrant does, for one collection with so many points. */
class LargeQdrant {
  pages = 0;
  /** Says whether a page is answered. */
  onPage: (from: number) => boolean = () => true;
  private readonly server: Server;

  constructor(private readonly count: number) {
    this.server = createServer((request, response) => {
      void bodyOf(request).then((body) => {
        const answer = this.answer(request.url!, body);
        if (answer !== undefined)
          response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      });
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((listening) => this.server.listen(0, '127.0.0.1', listening));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private answer(path: string, body: string): unknown {
    if (path === '/') return { title: 'qdrant', version: '1.19.0' };
    if (path === '/collections') return { result: { collections: [{ name: 'large' }] } };
    if (path === '/aliases') return { result: { aliases: [] } };
    if (path.endsWith('/count')) return { result: { count: this.count } };
    if (path === '/collections/large')
      return {
        result: {
          config: { params: { vectors: { size: 2, distance: 'Euclid' } }, hnsw_config: { m: 16, ef_construct: 100 } },
          payload_schema: {},
        },
      };
    const { limit, offset = 0 } = JSON.parse(body) as { limit: number; offset?: number };
    this.pages += 1;
    if (!this.onPage(offset)) return undefined;
    const points = Array.from({ length: Math.min(limit, this.count - offset) }, (_, i) => ({
      id: offset + i,
      payload: { row: offset + i },
      vector: [offset + i, 1],
    }));
    return { result: { points, next_page_offset: offset + limit < this.count ? offset + limit : null } };
  }
}
