import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ApiClient, dataOf } from '../support/targets/api-client';
import { CommandLine } from '../support/processes/command-line';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';

/** The commands that ask and change a service, against a real one. */

const backups = mkdtempSync(join(tmpdir(), 'quiver-command-backups-'));
const server = new EmbeddedProcess({ environment: { BACKUP_TARGET: `file:${backups}` } });
let cli: CommandLine;

beforeAll(async () => {
  await server.start();
  cli = new CommandLine({ QUIVER_URL: server.baseUrl, QUIVER_API_KEY: server.apiKey });
  await cli.succeed(['create', 'things', '--dim', '2', '--metric', 'ip', '--description', 'some things']);
  await server.data('POST', '/v1/collections/things/bulk_upsert', {
    items: [
      { external_id: 'a', vector: [1, 0], text: 'red apple', metadata: { year: 1 } },
      { external_id: 'b', vector: [0, 1], text: 'green pear', metadata: { year: 2 } },
      { external_id: 'c', vector: [0.5, 0.5], metadata: { year: 3 } },
    ],
  });
});
afterAll(async () => {
  cli.remove();
  await server.destroy();
  rmSync(backups, { recursive: true, force: true });
});

const ids = (output: string): string[] =>
  (JSON.parse(output) as { results: { external_id: string }[] }).results.map(({ external_id }) => external_id);

describe('quiver', () => {
  test('shows collections, as a table and as JSON', async () => {
    const { output } = await cli.succeed(['collections']);
    expect(output).toMatch(/^name +vectors +dim +metric.*\nthings +3 +2 +ip /);
    expect(JSON.parse((await cli.succeed(['collections', 'things', '--json'])).output)).toMatchObject({
      name: 'things',
      description: 'some things',
    });
    await cli.succeed(['create', 'things', '--dim', '2', '--if-missing']);
    expect(await cli.run(['create', 'things', '--dim', '2'])).toMatchObject({
      code: 1,
      messages: expect.stringContaining('exists'),
    });
  });

  test('searches by vector, text, item, words and filter', async () => {
    expect(ids((await cli.succeed(['search', 'things', '--vector', '[1, 0]', '-k', '2', '--json'])).output)).toEqual([
      'a',
      'c',
    ]);
    writeFileSync(cli.path('v.txt'), Buffer.from(Float32Array.of(0, 1).buffer).toString('base64'));
    expect(
      ids(
        (await cli.succeed(['search', 'things', '--vector', '@v.txt', '--filter', '{"year": {"$gt": 2}}', '--json']))
          .output,
      ),
    ).toEqual(['c']);
    expect(ids((await cli.succeed(['search', 'things', '--item', 'a', '-k', '1', '--json'])).output)).toEqual(['c']);
    const legs = JSON.stringify([{ query_text: 'pear' }, { text: 'pear', weight: 0 }]);
    expect((await cli.succeed(['search', 'things', '--legs', legs, '--json'])).output).toEqual(
      (await cli.succeed(['search', 'things', '--text', 'pear', '--hybrid', '0', '--json'])).output,
    );
    const twice = await cli.run(['search', 'things', 'pear', '--legs', legs]);
    expect(twice.messages).toContain('--legs says what to search for');
    expect(ids((await cli.succeed(['search', 'things', '--text', 'pear', '--hybrid', '0', '--json'])).output)).toEqual([
      'b',
    ]);
    const { output } = await cli.succeed([
      'search',
      'things',
      '--vector',
      '[1, 0]',
      '-k',
      '1',
      '--fields',
      'year',
      '--show-text',
    ]);
    expect(output).toBe('#  score  id  year  text\n1      1  a   1     red apple\n');
    // A list of one number is a vector, not base64.
    for (const one of ['[1]', '1', '[]'])
      expect(await cli.run(['search', 'things', '--vector', one])).toMatchObject({
        code: one === '[]' ? 2 : 1,
        messages: expect.stringContaining(one === '[]' ? 'It must be numbers' : 'dimension 1'),
      });
    expect(await cli.run(['search', 'things'])).toMatchObject({
      code: 2,
      messages: expect.stringContaining('a text, --vector, --item or --positives'),
    });
    expect(await cli.run(['search', 'nothing', '--text', 'x'])).toMatchObject({
      code: 5,
      messages: expect.stringContaining('nothing'),
    });
  });

  test('takes the text behind the collection, and filters as people write them', async () => {
    expect(
      ids((await cli.succeed(['search', 'things', 'green', 'pear', '--mode', 'keyword', '--json'])).output),
    ).toEqual(['b']);
    const where = async (...words: string[]): Promise<string[]> =>
      ids((await cli.succeed(['search', 'things', '--vector', '[1, 0]', '--json', ...words])).output);
    expect(await where('--where', 'year >= 2')).toEqual(['c', 'b']);
    expect(await where('--where', 'year in (1, 3)', '--filter', '{"year": {"$gt": 1}}')).toEqual(['c']);
    const exported = await cli.succeed(['export', 'things', '--to', '-', '--no-vectors', '--where', 'not year < 3']);
    expect(exported.output).toBe('{"external_id":"c","metadata":{"year":3}}\n');
    expect(await cli.run(['search', 'things', 'x', '--where', 'year >='])).toMatchObject({
      code: 2,
      messages: expect.stringContaining('expected a value, at character 8:'),
    });
    expect(await cli.run(['search', 'things', 'x', '--text', 'y'])).toMatchObject({
      code: 2,
      messages: expect.stringContaining('say the text once'),
    });
    expect(await cli.run(['search', 'things', 'x', '--where', 'year = 99'])).toMatchObject({
      code: 0,
      messages: 'nothing was found\n',
    });
  });

  test('shows where words were found', async () => {
    const words = ['search', 'notes', 'rivers', '--hybrid', '0', '-k', '1', '--fields', 'topic', '--highlight'];
    await server.data('POST', '/v1/collections', { name: 'notes', dim: 2, language: 'en' });
    await server.data('POST', '/v1/collections/notes/upsert', {
      external_id: 'a',
      vector: [1, 0],
      text: 'The river floods',
      metadata: { topic: 'rivers' },
    });
    const { output } = await cli.succeed(words);
    expect(output).toMatch(/ topic +found\n1 .* rivers  The \[river\] floods\n$/);
    expect((await cli.succeed([...words, 'topic'])).output).toMatch(/rivers  \[rivers\]\n$/);
  });

  test('orders hits, and counts what passes', async () => {
    const { output, messages } = await cli.succeed([
      ...['search', 'things', '--vector', '[1, 0]', '-k', '2', '--where', 'year > 0'],
      ...['--order-by', 'none, year desc', '--total', '--fields', 'year'],
    ]);
    expect(output).toBe('#  score  id  year\n1    0.5  c   3\n2      1  a   1\n');
    expect(messages).toContain('total: 3\n');
    expect((await cli.succeed(['count', 'things', '--where', 'year > 1'])).output).toBe('2\n');
    expect(JSON.parse((await cli.succeed(['count', 'things', '--json'])).output)).toEqual({ count: 3 });
  });

  test('goes on page by page, by what a page printed', async () => {
    const asked = ['search', 'things', '--vector', '[1, 0]', '-k', '2', '--cursor'];
    const first = await cli.succeed([...asked, 'first']);
    const cursor = /^more: --cursor (\S+)$/m.exec(first.messages)![1];
    const second = await cli.succeed([...asked, cursor]);
    const idsIn = (output: string): string[] => [...output.matchAll(/^\d+ +\S+ +(\w)/gm)].map(([, id]) => id);
    expect([...idsIn(first.output), ...idsIn(second.output)]).toEqual(['a', 'c', 'b']);
    expect(second.messages).not.toContain('more:');
    const json = JSON.parse((await cli.succeed([...asked, 'first', '--json'])).output);
    expect(json.results.map(({ external_id: id }: { external_id: string }) => id)).toEqual(['a', 'c']);
    expect(typeof json.next_cursor).toBe('string');
    expect(await cli.run([...asked, cursor, '--where', 'year > 0'])).toMatchObject({
      code: 1,
      messages: expect.stringContaining('it belongs to another search'),
    });
  });

  test('shows how a text is cut', async () => {
    const { output, messages } = await cli.succeed(['analyse', 'things', 'Ｂig', 'rivers']);
    expect(output).toBe(
      'term    start  end  of      stop word\nbig         0    3  Ｂig            -\nrivers      4   10  rivers          -\n',
    );
    expect(messages).toBe('unicode, version 1\n');
    expect(
      JSON.parse((await cli.succeed(['analyse', 'things', 'a a', '--as', 'query', '--json'])).output),
    ).toMatchObject({ terms: [{ term: 'a', start: 0, end: 1, stop_word: false }] });
  });

  test('says why a search does not find an item', async () => {
    await server.data('POST', '/v1/collections', { name: 'missed', dim: 2 });
    const items = [0, 1, 2].map((n) => ({ external_id: `t${n}`, vector: [1, n], text: `word${n}`, metadata: { n } }));
    await server.data('POST', '/v1/collections/missed/bulk_upsert', { items });
    const asked = ['search', 'missed', '--vector', '1,0', '-k', '1'];
    const { output } = await cli.succeed([...asked, '--why', 't2', '--where', 'n > 0']);
    expect(output).toMatch(/^it is at place 2, and the page has places 1 to 1\n/);
    expect(output).toMatch(/^vector +0\.4472 +2 +- +1$/m);
    expect(JSON.parse((await cli.succeed([...asked, '--why', 't0', '--json'])).output)).toMatchObject({
      lost_at: null,
    });
    expect((await cli.succeed(['search', 'missed', 'word1', '--mode', 'keyword', '--why', 't0'])).output).toMatch(
      /^it is not among the first/,
    );
  });

  test('gives collections other names, moves them and takes them away', async () => {
    for (const name of ['named-1', 'named-2']) await server.data('POST', '/v1/collections', { name, dim: 2 });
    expect((await cli.succeed(['aliases', 'create', 'named', 'named-1'])).messages).toBe('named: named-1\n');
    expect((await cli.succeed(['aliases', 'switch', 'named', 'named-2'])).messages).toBe('named: named-2\n');
    expect((await cli.succeed(['aliases', 'list'])).output).toMatch(/^named +named-2 +\S+ +\S+$/m);
    expect(JSON.parse((await cli.succeed(['collections', 'named', '--json'])).output)).toMatchObject({
      name: 'named-2',
    });
    expect((await cli.run(['aliases', 'create', 'named', 'named-1'])).messages).toContain('already exists');
    expect((await cli.run(['delete', 'named-2', '--yes'])).messages).toContain('force');
    await cli.succeed(['aliases', 'delete', 'named']);
    expect(JSON.parse((await cli.succeed(['aliases', 'list', '--json'])).output)).toEqual([]);
    await cli.succeed(['aliases', 'create', 'named', 'named-1']);
    await cli.succeed(['delete', 'named-1', '--yes', '--force']);
    await cli.succeed(['delete', 'named-2', '--yes']);
    expect(JSON.parse((await cli.succeed(['aliases', 'list', '--json'])).output)).toEqual([]);
  });

  test('compares searches by judged queries', async () => {
    await server.data('POST', '/v1/collections', { name: 'judged', dim: 64 });
    const items = ['red car', 'blue boat', 'the boat'].map((text, i) => ({ external_id: `t${i}`, text }));
    await server.data('POST', '/v1/collections/judged/bulk_upsert', { items });
    const file = join(cli.folder, 'judged.json');
    const queries = [
      { query: 'car', relevant: { t0: 1 } },
      { query: 'boat', relevant: { t1: 1, gone: 1 } },
    ];
    writeFileSync(file, JSON.stringify(queries));
    expect((await cli.succeed(['judgements', 'put', 'judged', 'things', file])).messages).toBe('things, queries: 2\n');
    expect((await cli.succeed(['judgements', 'list', 'judged'])).output).toMatch(/^things +2 +3 /m);
    expect(JSON.parse((await cli.succeed(['judgements', 'show', 'judged', 'things'])).output)).toEqual(queries);
    const variants = [
      '--variant',
      '{"name": "words", "alpha": 0}',
      '--variant',
      '{"alpha": 0, "filters": {"$id": ["t0"]}}',
    ];
    const { output, messages } = await cli.succeed(['evaluate', 'judged', 'things', '--k', '3', ...variants]);
    expect(output).toMatch(/^words +0\.\d{4} \(0\.\d{4} to 1\.0000\)/m);
    expect(output).toMatch(/ 0, 1$/m);
    expect(messages).toContain(
      'queries: 2; in brackets 95 % intervals\njudged items that are not in the collection: 1\n',
    );
    const asJson = ['--json', '--file', file, '--at-least', '0.99'];
    const failed = await cli.run(['evaluate', 'judged', 'things', '--variant', '{"alpha": 0}', ...asJson]);
    expect(failed.code).toBe(1);
    expect(failed.messages).toMatch(/ndcg is 0\.\d{4}, less than 0\.99/);
    // A file may have the variants beside the queries; the command line goes before them.
    const whole = { judged: queries, variants: [{ name: 'of the file', alpha: 0 }, { alpha: 1 }], k: 2 };
    writeFileSync(file, JSON.stringify(whole));
    const evaluated = async (...words: string[]) => {
      const asked = await cli.succeed(['evaluate', 'judged', 'things', '--file', file, '--json', ...words]);
      const { k, variants: found } = JSON.parse(asked.output);
      return [k, ...found.map(({ name }: { name: string }) => name)];
    };
    expect(await evaluated()).toEqual([2, 'of the file', '{"alpha":1}']);
    expect(await evaluated('--k', '5', '--variant', '{"alpha": 0.25}')).toEqual([5, '{"alpha":0.25}']);
    expect((await cli.succeed(['judgements', 'put', 'judged', 'things', file])).messages).toBe('things, queries: 2\n');
    for (const [wrong, said] of [
      [{ queries }, 'must be a list of queries'],
      [{ ...whole, variants: {} }, 'Its "variants" must be a list'],
      [{ ...whole, k: 0 }, 'Its "k" must be a whole number from 1 to 100'],
    ] as const) {
      writeFileSync(file, JSON.stringify(wrong));
      expect(await cli.run(['evaluate', 'judged', 'things', '--file', file])).toMatchObject({
        code: 2,
        messages: expect.stringContaining(said),
      });
    }
    await cli.succeed(['judgements', 'delete', 'judged', 'things']);
    expect((await cli.run(['judgements', 'show', 'judged', 'things'])).code).toBe(5);
  });

  test('counts values: facets, ranges and statistics, of all or by groups', async () => {
    await server.data('POST', '/v1/collections', { name: 'shop', dim: 2, shards: 2 });
    const rows: [string, string, number, string?][] = [
      ['hat', 'red', 5, '2024-01-31'],
      ['hat', 'blue', 15, '2024-02-01'],
      ['cap', 'red', 25],
    ];
    await server.data('POST', '/v1/collections/shop/bulk_upsert', {
      items: rows.map(([kind, colour, price, at], i) => ({
        external_id: `${i}`,
        vector: [1, i],
        metadata: { kind, 'main colour': colour, price, ...(at !== undefined && { at }) },
      })),
    });
    const shown = async (...words: string[]) => {
      const { output, messages } = await cli.succeed(['aggregate', 'shop', ...words]);
      return [output, messages];
    };
    expect(
      await shown(
        ...['--facet', 'kind,main colour', '--limit', '1', '--stats', 'price', '--ops', 'min,p99'],
        ...['--range', 'price=10', '--range', 'at=month', '--where', 'price >= 5'],
      ),
    ).toEqual([
      'kind  count\nhat       2\n\nmain colour  count\nred              2\n\n' +
        'price from  to  count\n         0  10      1\n        10  20      1\n        20  30      1\n\n' +
        'at from               to                    count\n' +
        '2024-01-01T00:00:00Z  2024-02-01T00:00:00Z      1\n2024-02-01T00:00:00Z  2024-03-01T00:00:00Z      1\n\n' +
        'field  min  p99\nprice    5   25\n',
      'kind: there are more values (--limit)\nmain colour: there are more values (--limit)\n',
    ]);
    expect(await shown('--by', 'main colour,kind', '--stats', 'price', '--ops', 'sum')).toEqual([
      'main colour  kind  count\nred          cap       1\nred          hat       1\nblue         hat       1\n\n' +
        'main colour  kind  field  sum\nred          cap   price   25\nred          hat   price    5\nblue         hat   price   15\n',
      '',
    ]);
    const own = ['--facet', 'kind,at', '--where', 'kind = cap', '--no-own-filter', '--order', 'value'];
    expect(await shown(...own)).toEqual([
      'kind  count\ncap       1\nhat       2\n\nat  count\n',
      'at: 1 item without it\n',
    ]);
    expect((await shown('--over', 'x', '-k', '2', '--stats', 'price'))[1]).toBe('of the 2 best hits\n');
    expect(JSON.parse((await cli.succeed(['aggregate', 'shop', '--facet', 'kind', '--json'])).output).facets).toEqual([
      expect.objectContaining({ field: 'kind', more: false }),
    ]);
    for (const [words, said] of [
      [[], 'say what to count'],
      [['--range', 'price=x'], 'must be numbers'],
      [['--range', '=3'], 'such as price=0,10,100'],
      [['--stats', 'price', '--ops', 'mean'], 'must be of min'],
      [['--by', 'a,b,c'], 'one field, or two'],
      [['--by', 'a', '--prefix', 'x'], '--prefix needs --facet'],
    ] as const)
      expect(await cli.run(['aggregate', 'shop', ...words])).toMatchObject({
        code: 2,
        messages: expect.stringContaining(said),
      });
    await cli.succeed(['delete', 'shop', '--yes']);
  });

  test('finds items like one whose id no address can hold', async () => {
    await server.data('POST', '/v1/collections', { name: 'dots', dim: 2 });
    await server.data('POST', '/v1/collections/dots/bulk_upsert', {
      items: ['.', 'x', 'y'].map((id, i) => ({ external_id: id, vector: [1, i] })),
    });
    expect(ids((await cli.succeed(['search', 'dots', '--item', '.', '--json'])).output)).toEqual(['x', 'y']);
  });

  test.each<[string[], number, Record<string, string>]>([
    [['search', 'things', '--item', '..'], 5, {}],
    [['search', '..', 'x'], 2, {}],
    [['collections', '.'], 2, {}],
    [['delete', '..', '--yes'], 2, {}],
    [['import', 'nothing.jsonl', '--into', '.'], 2, {}],
    [['collections'], 2, { QUIVER_API_KEY: 'a\nb' }],
  ])('answers %j without a stack: %d', async (words, code, environment) => {
    const outcome = await cli.run(words, { environment });
    expect(outcome.code).toBe(code);
    expect(outcome.messages).not.toContain('    at ');
  });

  test('says its version, and that it waits for a rate limit', async () => {
    const version = (JSON.parse(readFileSync(resolve(__dirname, '../../package.json'), 'utf8')) as { version: string })
      .version;
    for (const word of ['version', '--version']) expect((await cli.succeed([word])).output).toBe(`${version}\n`);
    const answers = [
      { status: 'error', data: null, error: { code: 429, message: 'too many requests' } },
      { status: 'success', data: { collections: [] }, error: null },
    ];
    const busy = createServer((_request, response) => {
      response.setHeader('retry-after', '1');
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answers.shift()));
    });
    await new Promise<void>((done) => busy.listen(0, '127.0.0.1', done));
    const { messages } = await cli.succeed([
      'collections',
      '--url',
      `http://127.0.0.1:${(busy.address() as AddressInfo).port}`,
    ]);
    expect(messages).toContain('waiting 1 s: too many requests\n');
    busy.closeAllConnections();
    await new Promise((done) => busy.close(done));
  });

  test('changes what keyword search looks in, and waits until that is so', async () => {
    await server.data('POST', '/v1/collections', { name: 'titled', dim: 1 });
    expect((await cli.succeed(['reindex', 'titled', 'title:3, text'])).messages).toBe('"titled" has other fields\n');
    const shown = JSON.parse((await cli.succeed(['reindex', 'titled', 'title:3,text', '--json'])).output);
    expect(shown.keyword_fields).toEqual([
      { path: 'title', weight: 3 },
      { path: 'text', weight: 1 },
    ]);
    const other = JSON.parse((await cli.succeed(['reindex', 'titled', 'title:3:de, a:fr, text', '--json'])).output);
    expect(other.keyword_fields).toEqual([
      { path: 'title', weight: 3, analyser: 'de' },
      { path: 'a', weight: 1, analyser: 'fr' },
      { path: 'text', weight: 1 },
    ]);
    const cut = await cli.succeed(['analyse', 'titled', 'Häuser', '--field', 'title']);
    expect(cut.messages).toBe('snowball-de, version 1\n');
    expect(await cli.run(['reindex', 'titled', 'title:3:xx'])).toMatchObject({ code: 1 });
    expect((await cli.succeed(['reindex', 'titled', 'all', '--no-wait'])).messages).toMatch(
      /^"titled" gets other fields: job reindex-\w+\n$/,
    );
    expect(await cli.run(['reindex', 'missing', 'all'])).toMatchObject({ code: 5 });
  });

  test('changes the words of a collection, and clears what is none', async () => {
    await cli.succeed(['create', 'worded', '--dim', '1', '--synonyms', '[["car", "automobile"]]']);
    const change = async (...given: string[]) =>
      JSON.parse((await cli.succeed(['update', 'worded', ...given, '--json'])).output);
    expect(await change('--stop-words', '{"add": ["item"]}', '--description', 'd', '--ttl-seconds', '9')).toMatchObject(
      {
        description: 'd',
        ttl_seconds: 9,
        synonyms: [['car', 'automobile']],
        stop_words: { add: ['item'], remove: [] },
      },
    );
    const none = ['--synonyms', 'none', '--stop-words', 'none', '--description', 'none', '--ttl-seconds', 'none'];
    expect(await change(...none)).toMatchObject({
      description: null,
      ttl_seconds: null,
      synonyms: null,
      stop_words: null,
    });
    expect(await cli.run(['update', 'worded'])).toMatchObject({ code: 2 });
    expect(await cli.run(['update', 'worded', '--synonyms', '{}'])).toMatchObject({ code: 2 });
  });

  test('makes a collection whose items expire, and purges it', async () => {
    await cli.succeed([
      'create',
      'passing',
      '--dim',
      '2',
      '--ttl-seconds',
      '3600',
      '--keyword-fields',
      'title:3, a:b',
      '--no-keyword-positions',
    ]);
    expect(JSON.parse((await cli.succeed(['collections', 'passing', '--json'])).output)).toMatchObject({
      ttl_seconds: 3600,
      keyword_positions: false,
      keyword_fields: [
        { path: 'title', weight: 3 },
        { path: 'a:b', weight: 1 },
      ],
    });
    expect((await cli.succeed(['purge', 'passing', '--state'])).output).toMatch(/^shard +node +state.*\n *0 +none/);
    expect((await cli.succeed(['purge', 'passing'])).messages).toMatch(/^purged "passing": \d+ bytes less\n$/);
    expect(JSON.parse((await cli.succeed(['purge', 'passing', '--state', '--json'])).output)).toMatchObject({
      state: 'done',
    });
    expect(await cli.run(['purge', 'nothing'])).toMatchObject({ code: 5 });
    await cli.succeed(['delete', 'passing', '--yes']);
  });

  test('deletes items, what a filter finds, and a collection only when it is sure', async () => {
    await server.data('POST', '/v1/collections', { name: 'doomed', dim: 1 });
    await server.data('POST', '/v1/collections/doomed/bulk_upsert', {
      items: ['..', 'x', 'y'].map((id, n) => ({ external_id: id, vector: [1], metadata: { n } })),
    });
    expect(await cli.run(['delete', 'doomed', '..', 'z'])).toMatchObject({
      code: 5,
      messages: 'deleted 1 of 2\nnot there: z\n',
    });
    expect((await cli.succeed(['delete', 'doomed', '--filter', '{"n": 1}'])).messages).toBe('deleted 1\n');
    expect(await cli.run(['delete', 'doomed'])).toMatchObject({
      code: 2,
      messages: expect.stringContaining('with its 1 vectors'),
    });
    await cli.succeed(['delete', 'doomed', '--yes']);
    expect(await cli.run(['delete', 'doomed', '--yes'])).toMatchObject({ code: 5 });
  });

  test('makes keys that a script can take, and shows what is used', async () => {
    const secret = (await cli.succeed(['keys', 'create', 'reader'])).output.trim();
    expect(await cli.run(['delete', 'things', '--yes'], { environment: { QUIVER_API_KEY: secret } })).toMatchObject({
      code: 6,
    });
    await cli.succeed(['collections'], { environment: { QUIVER_API_KEY: secret } });
    const { id } = (JSON.parse((await cli.succeed(['keys', '--json'])).output) as { id: number; name: string }[]).find(
      ({ name }) => name === 'reader',
    )!;
    expect((await cli.succeed(['keys', 'usage'])).output).toMatch(/^key +total.*\n[^]*reader +\d[^]*\nall +\d/);
    await cli.succeed(['keys', 'disable', String(id)]);
    expect(await cli.run(['collections'], { environment: { QUIVER_API_KEY: secret } })).toMatchObject({ code: 6 });
    await cli.succeed(['keys', 'delete', String(id)]);
    expect(await cli.run(['keys', 'delete', String(id)])).toMatchObject({ code: 5 });
  });

  test('limits keys, shows their limits, and changes a part of them', async () => {
    await server.data('POST', '/v1/collections', { name: 'team-a-1', dim: 1 });
    const limits = [
      '--role',
      'readonly',
      '--collections',
      'team-a-*:readwrite,things',
      '--networks',
      '127.0.0.0/8,::1',
      '--rate',
      '50',
      '--quota-items',
      '3',
      '--quota-period',
      'day',
      '--days',
      '7',
    ];
    const environment = { QUIVER_API_KEY: (await cli.succeed(['keys', 'create', 'bounded', ...limits])).output.trim() };
    const keys = async () =>
      JSON.parse((await cli.succeed(['keys', 'list', '--json'])).output) as { id: number; name: string }[];
    const bounded = async () => (await keys()).find(({ name }) => name === 'bounded')!;
    const { id } = await bounded();
    expect(await bounded()).toMatchObject({
      role: 'readonly',
      collections: [
        { prefix: 'team-a-', role: 'readwrite' },
        { name: 'things', role: 'readonly' },
      ],
      allowed_networks: ['127.0.0.0/8', '::1'],
      rate_limit_per_minute: 50,
      quota: { items: 3, bytes: null, period: 'day' },
      expires_at: expect.any(String),
    });
    expect((await cli.succeed(['keys'])).output).toMatch(
      /bounded .* team-a-\*:readwrite,things; from 127\.0\.0\.0\/8,::1; 50 a minute; 3 items a day\n/,
    );
    const writer = new ApiClient({ baseUrl: server.baseUrl, adminKey: environment.QUIVER_API_KEY });
    dataOf(await writer.post('/v1/collections/team-a-1/upsert', { external_id: 'a', vector: [1] }));
    expect((await cli.succeed(['keys', 'usage', String(id)])).messages).toMatch(
      /\nstored of its quota: 1 item, which counts anew at \d{4}-\d\d-\d\dT00:00:00\.000Z\n$/,
    );
    expect((await cli.run(['delete', 'things', 'x'], { environment })).code).toBe(6);
    // What is left out stays.
    expect(
      (
        await cli.succeed([
          'keys',
          'set',
          String(id),
          '--quota-bytes',
          '1000000',
          '--rate',
          'default',
          '--networks',
          'all',
          '--name',
          'limited',
        ])
      ).messages,
    ).toBe(`key ${id} "limited" (readonly): team-a-*:readwrite,things; 3 items and 977 KiB a day\n`);
    expect(
      (
        await cli.succeed([
          'keys',
          'set',
          String(id),
          '--quota-items',
          'any',
          '--collections',
          '*',
          '--role',
          'readwrite',
          '--days',
          'never',
        ])
      ).messages,
    ).toBe(`key ${id} "limited" (readwrite): 977 KiB a day\n`);
    expect((await cli.succeed(['keys', 'set', String(id), '--no-quota'])).messages).toBe(
      `key ${id} "limited" (readwrite): no limits\n`,
    );
    expect((await keys()).find((one) => one.id === id)).toMatchObject({
      collections: null,
      allowed_networks: null,
      rate_limit_per_minute: null,
      quota: null,
      expires_at: null,
    });
    for (const wrong of [
      [],
      ['--rate', 'x'],
      ['--collections', 'a:owner'],
      ['--collections', ','],
      ['--quota-items', '0'],
      ['--quota-period', 'week'],
    ]) {
      expect(await cli.run(['keys', 'set', String(id), ...wrong])).toMatchObject({ code: 2 });
    }
    expect(await cli.run(['keys', 'set', String(id), '--networks', 'nowhere'])).toMatchObject({ code: 1 });
    expect(await cli.run(['keys', 'set', '1', '--quota-items', '5'])).toMatchObject({
      code: 1,
      messages: expect.stringContaining('cannot have a quota'),
    });
    await cli.succeed(['keys', 'delete', String(id)]);
    await cli.succeed(['delete', 'team-a-1', '--yes']);
  });

  test('shows the cluster, and says why this form can not be drained', async () => {
    expect((await cli.succeed(['cluster'])).output).toMatch(/^embedded[^]*node +state[^]*shards, all ok/);
    expect((await cli.run(['drain', 'nobody'])).code).not.toBe(0);
  });

  test('backs up, verifies, restores under another name, and deletes the backup', async () => {
    const made = await cli.succeed(['backup', 'create', 'things']);
    const id = made.output.trim();
    expect(id).toMatch(/^\d{8}T\d{6}Z-[0-9a-f]{8}$/);
    expect(made.messages).toContain('3 items');
    expect((await cli.succeed(['backup', 'list'])).output).toMatch(
      new RegExp(`^id +state.*\n${id} +done +.* things\n$`),
    );
    expect((await cli.succeed(['backup', 'verify', id])).messages).toContain(`backup ${id} is whole`);
    expect(await cli.run(['restore', id])).toMatchObject({
      code: 1,
      messages: expect.stringContaining('already exists'),
    });
    expect(
      (await cli.succeed(['restore', id, 'things', '--rename', 'things=before', '--shards', '2'])).messages,
    ).toContain('restored: before');
    expect(JSON.parse((await cli.succeed(['collections', 'before', '--json'])).output)).toMatchObject({
      shards: 2,
      vector_count: 3,
      description: 'some things',
    });
    const [there, here] = await Promise.all(
      ['before', 'things'].map(async (name) => cli.succeed(['export', name, '--to', '-'])),
    );
    expect(there.output).toBe(here.output);
    expect(here.output.trim().split('\n')).toHaveLength(3);
    await cli.succeed(['delete', 'before', '--yes']);
    await cli.succeed(['backup', 'delete', id]);
    await eventually(
      'the backup is gone',
      async () => (await server.data('GET', '/v1/admin/backups')).backups.length === 0,
    );
    expect(await cli.run(['backup', 'verify', id])).toMatchObject({ code: 5, messages: expect.stringContaining(id) });
    expect(await cli.run(['restore', id])).toMatchObject({ code: 5 });
  });

  test('measures searches', async () => {
    const { output } = await cli.succeed([
      'bench',
      'things',
      '--seconds',
      '0.2',
      '--connections',
      '2',
      '-k',
      '2',
      '--json',
    ]);
    expect(JSON.parse(output)).toMatchObject({
      collection: 'things',
      recall: 1,
      searches: expect.any(Number),
      p99_ms: expect.any(Number),
    });
  });

  test('keeps profiles that only their owner can read, with a key from standard input', async () => {
    const environment = { QUIVER_URL: '', QUIVER_API_KEY: '' };
    await cli.succeed(['profile', 'set', 'here', '--url', server.baseUrl, '--key'], {
      input: `${server.apiKey}\n`,
      environment,
    });
    expect(statSync(cli.path('.config/quiver/profiles.json')).mode & 0o777).toBe(0o600);
    expect((await cli.succeed(['profile', 'list'], { environment })).output).toContain(
      `*  here  ${server.baseUrl}  yes`,
    );
    await cli.succeed(['collections'], { environment });
    expect(await cli.run(['collections', '--url', server.baseUrl], { environment })).toMatchObject({ code: 6 });
  });

  test('completes commands, options and choices in bash', async () => {
    const { output } = await cli.succeed(['completion', 'bash']);
    writeFileSync(cli.path('completion.bash'), output);
    const complete = (...words: string[]): string[] => {
      const script = `source completion.bash; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _quiver; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return spawnSync('bash', ['-c', script], { cwd: cli.folder, encoding: 'utf8' }).stdout.trim().split('\n');
    };
    expect(complete('quiver', 'imp')).toEqual(['import']);
    expect(complete('quiver', 'keys', 'cre')).toEqual(['create']);
    expect(complete('quiver', 'import', 'x', '--form')).toEqual(['--format']);
    expect(complete('quiver', 'import', 'x', '--format', 'par')).toEqual(['parquet']);
    for (const [shell, check] of [
      ['zsh', '-n'],
      ['fish', '--no-execute'],
    ]) {
      const script = await cli.succeed(['completion', shell]);
      writeFileSync(cli.path('script'), script.output);
      const { error, status } = spawnSync(shell, [check, cli.path('script')]);
      if (error === undefined) expect(status).toBe(0);
    }
  });
});
