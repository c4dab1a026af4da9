import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { openVectorCodec } from '../../coordinator/api/body/vector-codec';
import { HttpLoad } from '../../coordinator/api/load/http-load';
import { readConfig } from '../../shared/base/config/config';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import { ApiClient, dataOf, errorOf } from '../support/targets/api-client';
import { eventually } from '../support/eventually';
import { type PlainServer, startPlainServer } from '../support/servers/plain-server';
import { RawConnection } from '../support/http/raw-connection';
import { collectionViewOf } from '../support/targets/collection-view';
import { openPlainCodec } from '../support/http/scanned-body';

/** What one client may do to the others through the HTTP layer: nothing that they notice. */

let server: PlainServer;
let api: ApiClient;

async function start(
  environment: Record<string, string> = {},
  replace: Parameters<typeof startPlainServer>[1] = {},
): Promise<void> {
  server = await startPlainServer(environment, replace);
  api = new ApiClient(server);
}

afterEach(() => server.stop());

const head = (line: string, headers: Record<string, string | number>): string =>
  `${line} HTTP/1.1\r\n${Object.entries({ host: 'test', 'x-api-key': server.adminKey, ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;

const MIB = 1024 * 1024;

describe.each([
  ['native', (limits: ReturnType<typeof readConfig>) => openVectorCodec(limits)],
  ['plain', (limits: ReturnType<typeof readConfig>) => openPlainCodec(limits)],
])('bodies that would take the thread, with the %s scanner', (kind, codecFor) => {
  async function startFor(environment: Record<string, string> = {}): Promise<void> {
    await start(environment, { codec: codecFor(readConfig(environment, 1)) });
    dataOf(await api.post('/v1/collections', { name: 'c', dim: 3 }));
  }

  /**
   * The most processor time that this process took while another client waited for its small search, with `request` at
   * work; and what that was told. A pause of the whole process is nobody's fault.
   */
  async function beside(
    request: () => ReturnType<ApiClient['post']>,
  ): Promise<{ message: string; code: number | undefined; longestMs: number }> {
    let isOver = false;
    let longestMs = 0;
    const honest = (async () => {
      while (!isOver) {
        const before = process.cpuUsage();
        dataOf(await api.post('/v1/collections/c/search', { vector: [1, 2, 3] }));
        const { user, system } = process.cpuUsage(before);
        longestMs = Math.max(longestMs, (user + system) / 1000);
      }
    })();
    const answer = await request();
    isOver = true;
    await honest;
    return { message: answer.json?.error?.message ?? '', code: answer.json?.error?.code, longestMs };
  }

  /** Two fifths of what an unbounded parse takes at the least; forty times what is measured. */
  const WAIT_MS = 2000;
  const filled = (start: string, piece: string, end: string, bytes: number): string =>
    start + piece.repeat(Math.floor(bytes / piece.length)) + end;

  test.each([
    [
      'brackets without end',
      'bulk_search',
      () => filled('{"queries":[{"x":', '[', '', 30 * MIB),
      400,
      'MAX_JSON_DEPTH',
    ],
    [
      'small objects without end',
      'bulk_search',
      () => filled('{"queries":[', '{},', '{}]}', 30 * MIB),
      422,
      'maximum of 20',
    ],
    [
      'small objects in another member',
      'bulk_search',
      () => filled('{"queries":[],"x":[', '{},', '{}]}', 30 * MIB),
      400,
      'MAX_JSON_VALUES',
    ],
    [
      'small objects in one element',
      'rerank',
      () => filled('{"vector":[1,2,3],"candidates":[[', '{},', '{}]]}', 30 * MIB),
      400,
      'candidates[0] has more than 100000 values (MAX_JSON_VALUES)',
    ],
    [
      'a list that breaks off',
      'bulk_upsert',
      () => filled('{"items":[', '{"external_id":"a","vector":[1,2,3]},', '', 30 * MIB),
      422,
      'unexpected end',
    ],
    [
      'one string of escapes',
      'bulk_search',
      () => filled('{"queries":[],"x":"', '\\n', '"}', 30 * MIB),
      400,
      'outside of queries (MAX_REQUEST_BYTES)',
    ],
    [
      'keys without end',
      'search',
      () => filled('{"filters":{"a":1', ',"b":1', '}}', 1.5 * MIB),
      400,
      'body has more than 16384 keys (MAX_JSON_KEYS)',
    ],
    [
      'more than a search may have',
      'search',
      () => filled('{"x":"', 'y', '"}', 3 * MIB),
      400,
      '2097152 bytes (MAX_REQUEST_BYTES)',
    ],
  ])('%s: refused by name, and nobody waits', async (_title, endpoint, body, code, message) => {
    await startFor();
    const bytes = Buffer.from(body());
    const outcome = await beside(() => api.post(`/v1/collections/c/${endpoint}`, bytes));
    expect(outcome).toEqual({ code, message: expect.stringContaining(message), longestMs: expect.any(Number) });
    expect(outcome.longestMs).toBeLessThan(WAIT_MS);
  });

  test('the largest honest bulk passes, whatever its metadata are, and nobody waits', async () => {
    await startFor();
    /** As many elements and bytes as metadata may have. */
    const fullOf = (piece: string): string => {
      const list = `{"a":[${new Array(Math.min(4_094, Math.floor(65_000 / (piece.length + 1)))).fill(piece).join()}],"b":"`;
      return `${list}${'x'.repeat(65_536 - list.length - 2)}"}`;
    };
    const kinds = [fullOf('1'), fullOf('{}'), fullOf('"word and word"'), `{"a":"${'x'.repeat(65_536 - 8)}"}`];
    // All that the contract allows; a fifth of it where the scanner shares the thread.
    const count = kind === 'native' ? 1000 : 200;
    const items = Array.from(
      { length: count },
      (_, i) => `{"external_id":"${i}","vector":[${i},0.5,1],"metadata":${kinds[i % kinds.length]}}`,
    );
    const body = Buffer.from(`{"items":[${items.join()}]}`);
    expect(body.length).toBeGreaterThan((62 * MIB * count) / 1000);
    const outcome = await beside(() => api.post('/v1/collections/c/bulk_upsert', body));
    expect(outcome).toEqual({ code: undefined, message: '', longestMs: expect.any(Number) });
    expect(outcome.longestMs).toBeLessThan(WAIT_MS);
    const { vectors } = dataOf(await api.post('/v1/collections/c/vectors/fetch', { ids: ['0', '3', `${count - 1}`] }));
    expect(vectors.map(({ vector }: any) => vector)).toEqual([
      [0, 0.5, 1],
      [3, 0.5, 1],
      [count - 1, 0.5, 1],
    ]);
    expect(vectors[1].metadata).toEqual({ a: 'x'.repeat(65_528) });
  });

  test('one bad item far inside a large bulk is named, and nothing is stored', async () => {
    await startFor();
    const items: object[] = Array.from({ length: 900 }, (_, i) => ({
      external_id: `item-${i}`,
      vector: [1, 2, 3],
      metadata: { text: 'x'.repeat(1000) },
    }));
    items[777] = { external_id: 'bad one', vector: [1, 'x', 3] };
    const answer = await api.post('/v1/collections/c/bulk_upsert', { items, include_timing: true });
    expect(errorOf(answer, 422)).toBe('items[777].vector[1] (external_id "bad one") must be a number');
    expect(dataOf(await api.get('/v1/collections/c')).vector_count).toBe(0);
  });

  test('a list under an escaped name is a list all the same', async () => {
    await startFor();
    dataOf(
      await api.post('/v1/collections/c/bulk_upsert', '{"it\\u0065ms":[{"external_id":"a","v\\u0065ctor":[1,2,3]}]}'),
    );
    dataOf(
      await api.post(
        '/v1/collections/c/bulk_upsert',
        '{"items":[{"external_id":"lost","vector":[1,2,3]}],"it\\u0065ms":[{"external_id":"b","vector":[1,2,3]}]}',
      ),
    );
    dataOf(
      await api.post(
        '/v1/collections/c/bulk_upsert',
        '{"items":[{"external_id":"lost","vector":[1,2,3]}],"items":[{"external_id":"c","vector":[1,2,3]}]}',
      ),
    );
    const { vectors } = dataOf(await api.get('/v1/collections/c/export'));
    expect(vectors.map(({ external_id }: any) => external_id)).toEqual(['a', 'b', 'c']);
    errorOf(
      await api.post('/v1/collections/c/bulk_upsert', '{"items":[{"external_id":"lost","vector":[1,2,3]}],"items":5}'),
      422,
    );
  });

  test('work for a client that has gone ends', async () => {
    await startFor();
    const body = Buffer.from(
      filled(
        '{"items":[',
        '{"external_id":"a","vector":[1,2,3],"metadata":{"a":[1,2,3,4,5,6,7,8,9,10]}},',
        '{}]}',
        20 * MIB,
      ),
    );
    const connection = await RawConnection.open(server);
    await connection.send(head('POST /v1/collections/c/bulk_upsert', { 'content-length': body.length }));
    await connection.send(body);
    connection.socket.destroy();
    await eventually('it is over', () => server.answered.some(({ endpoint }) => endpoint.endsWith('/bulk_upsert')));
    expect(server.answered.find(({ endpoint }) => endpoint.endsWith('/bulk_upsert'))).toMatchObject({ code: 400 });
  });
});

describe('a connection whose request was refused before its body was read', () => {
  const form = (collection: string, file: string, content: string): string =>
    `--x\r\ncontent-disposition: form-data; name="collection_name"\r\n\r\n${collection}\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="${file}"\r\n\r\n${content}\r\n--x--\r\n`;
  const formType = { 'content-type': 'multipart/form-data; boundary=x' };
  const KB300 = 'y'.repeat(300_000);
  const gzip = { 'content-encoding': 'gzip' };

  const refusals: [string, string, Record<string, string | number>, () => Buffer | string, number][] = [
    ['broken gzip', '/v1/collections/c/upsert', gzip, () => KB300, 400],
    [
      'gzip cut short by garbage',
      '/v1/collections/c/upsert',
      gzip,
      () => Buffer.concat([gzipSync(KB300).subarray(0, 60), Buffer.from(KB300)]),
      400,
    ],
    ['gzip that unpacks to too much', '/v1/collections/c/upsert', gzip, () => gzipSync(Buffer.alloc(50_000_000)), 400],
    ['an encoding that nobody knows', '/v1/collections/c/upsert', { 'content-encoding': 'br' }, () => KB300, 400],
    [
      'an upload to a collection that is not there',
      '/v1/documents/upload',
      formType,
      () => form('none', 'a.txt', KB300),
      404,
    ],
    ['an upload of another type', '/v1/documents/upload', formType, () => form('c', 'a.pdf', KB300), 400],
    ['an upload that is no form', '/v1/documents/upload', { 'content-type': 'text/plain' }, () => KB300, 422],
    ['an upload of a broken form', '/v1/documents/upload', formType, () => `--x\r\n${KB300}`, 422],
    ['a packed upload', '/v1/documents/upload', { ...formType, ...gzip }, () => KB300, 400],
    ['a path that is not there', '/v1/nothing', {}, () => KB300, 404],
    ['a bad key', '/v1/collections/c/upsert', { 'x-api-key': 'wrong' }, () => KB300, 401],
    ['a body over the limit', '/v1/collections/c/upsert', {}, () => Buffer.alloc(900_000, ' '), 400],
    ['a body that is no JSON', '/v1/collections/c/upsert', {}, () => KB300, 422],
    ['a bad parameter', '/v1/collections/c/recommend/a?k=x', {}, () => KB300, 400],
  ];

  test.each(refusals)('%s: serves the next one', async (_title, path, headers, body, code) => {
    await start({ MAX_REQUEST_BYTES: '800000', MAX_UPLOAD_BYTES: '20000000' });
    dataOf(await api.post('/v1/collections', { name: 'c', dim: 3 }));
    const bytes = Buffer.from(body());
    for (let round = 0; round < 2; round++) {
      const connection = await RawConnection.open(server);
      await connection.send(head(`POST ${path}`, { ...headers, 'content-length': bytes.length }));
      await connection.send(bytes);
      await connection.until(new RegExp(`"code":${code}`));
      expect(connection.text).not.toMatch(/connection: close/i);
      await connection.send(head('GET /v1/collections/c', {}));
      await connection.until(/"status":"success"/);
      connection.socket.destroy();
    }
  });

  test.each(refusals)(
    '%s, its length not announced: the answer says that it closes, and does',
    async (_title, path, headers, body, code) => {
      await start({ MAX_REQUEST_BYTES: '800000', MAX_UPLOAD_BYTES: '20000000' });
      dataOf(await api.post('/v1/collections', { name: 'c', dim: 3 }));
      const bytes = Buffer.from(body());
      const connection = await RawConnection.open(server);
      await connection.send(head(`POST ${path}`, { ...headers, 'transfer-encoding': 'chunked' }));
      await connection.send(`${bytes.length.toString(16)}\r\n`);
      await connection.send(bytes);
      await connection.send('\r\n0\r\n\r\n');
      await connection.until(new RegExp(`"code":${code}`));
      if (/connection: close/i.test(connection.text)) {
        await connection.closed();
      } else {
        await connection.send(head('GET /v1/collections/c', {}));
        await connection.until(/"status":"success"/);
        connection.socket.destroy();
      }
    },
  );

  test('and is still being sent: the connection stays until all of it is there, or a reset would take the answer away', async () => {
    await start();
    const connection = await RawConnection.open(server);
    const chunk = `${(1000).toString(16)}\r\n${'a'.repeat(1000)}\r\n`;
    await connection.send(head('POST /v1/collections/%ff/search', { 'transfer-encoding': 'chunked' }) + chunk);
    await connection.until(/connection: close[^]*"code":400/);
    for (let i = 0; i < 10; i++) {
      await connection.send(chunk);
      // A round trip: whatever the server did with the first connection has arrived.
      dataOf(await api.get('/v1/collections'));
      expect(connection.socket.readyState).toBe('open');
    }
    await connection.send('0\r\n\r\n');
    await connection.closed();
    expect(connection.socket.errored).toBeNull();
  });

  test('and was never invited to send it: the answer says that it closes', async () => {
    await start();
    const connection = await RawConnection.open(server);
    await connection.send(
      head('POST /v1/collections', { expect: '100-continue', 'content-length': 100, 'x-api-key': 'wrong' }),
    );
    expect(await connection.closed()).toMatch(/connection: close[^]*"code":401/i);
  });
});

test('a packed body is bounded as sent, too', async () => {
  await start({ MAX_REQUEST_BYTES: '100000' });
  dataOf(await api.post('/v1/collections', { name: 'c', dim: 3 }));
  const empty = gzipSync('');
  const members = Buffer.concat(new Array(5000).fill(empty));
  const body = gzipSync('{"external_id":"a","vector":[1,2,3]}');
  const connection = await RawConnection.open(server);
  await connection.send(
    head('POST /v1/collections/c/upsert', { 'transfer-encoding': 'chunked', 'content-encoding': 'gzip' }),
  );
  for (let i = 0; i < 2; i++)
    await connection.send(
      Buffer.concat([Buffer.from(`${members.length.toString(16)}\r\n`), members, Buffer.from('\r\n')]),
    );
  await connection.send(
    Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]),
  );
  expect(await connection.closed()).toMatch(
    /"code":400,"message":"body exceeds the maximum of 100000 bytes \(MAX_REQUEST_BYTES\)/,
  );
});

describe('clients that stand still', () => {
  const view = collectionViewOf({ dim: 768 });

  test('an answer that nobody takes ends, what makes it stops, and its place is free', async () => {
    // All of them wait before the first is cut off, however slow the machine is.
    const stallMs = 5_000;
    await start(
      { STALL_TIMEOUT_MS: String(stallMs) },
      { overload: { requestsMax: 20, bodyBytesMax: 1000, smallBodyBytes: 10_000, delayMsMax: 1e9 } },
    );
    let ended = 0;
    async function* pages() {
      try {
        for (;;) yield [{ externalId: 'v', vector: new Float32Array(768).fill(1 / 3), metadata: '{}', text: null }];
      } finally {
        ended++;
      }
    }
    server.service.vectors.export = async () => ({ collection: view, pages: pages() });
    const connections = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(server)));
    for (const connection of connections) {
      connection.socket.pause();
      await connection.send(head('GET /v1/collections/c/export', {}));
    }
    await eventually('the process is full', async () => (await api.get('/v1/collections')).json?.error?.code === 429);
    await eventually('all are cut off', () => ended === 20);
    dataOf(await api.get('/v1/collections'));
    for (const connection of connections) connection.socket.destroy();
  });

  test('an answer that is taken slowly goes on to its end', async () => {
    const stallMs = 1000;
    await start({ STALL_TIMEOUT_MS: String(stallMs) });
    const text = 'x'.repeat(1000);
    const hits = Array.from({ length: 20_000 }, (_, i) => ({
      externalId: `hit-${i}`,
      score: 1,
      metadata: JSON.stringify({ text }),
    }));
    server.service.search.search = async () => ({
      hits,
      totalCount: hits.length,
      timing: { embeddingMs: 0, searchMs: 0, totalMs: 0 },
    });
    const connection = await RawConnection.open(server);
    const body = JSON.stringify({ vector: [1, 2, 3] });
    let taken = 0;
    connection.socket.on('data', (piece: Buffer) => {
      taken += piece.length;
      if (taken < 100_000) return;
      taken = 0;
      connection.socket.pause();
      setTimeout(() => connection.socket.resume(), 10);
    });
    await connection.send(
      head('POST /v1/collections/c/search', { 'content-length': body.length, connection: 'close' }) + body,
    );
    const startMs = performance.now();
    const received = await connection.closed();
    expect(performance.now() - startMs).toBeGreaterThan(stallMs);
    expect(received.length).toBeGreaterThan(20_000_000);
    expect(received).toMatch(/,"error":null\}\r\n0\r\n\r\n$/);
  });

  test.each([
    ['a byte now and then', 1],
    ['less than the least pace', 1024],
  ])('an answer of which a client takes %s ends, although it never stands still', async (_name, bytes) => {
    await start({ STALL_TIMEOUT_MS: '3000', STALL_BYTES_PER_SECOND: '1000000' });
    let ended = 0;
    async function* pages() {
      try {
        for (;;) yield [{ externalId: 'v', vector: new Float32Array(768).fill(1 / 3), metadata: '{}', text: null }];
      } finally {
        ended++;
      }
    }
    server.service.vectors.export = async () => ({ collection: view, pages: pages() });
    const { hostname, port } = new URL(server.baseUrl);
    const socket = connect({
      host: hostname,
      port: Number(port),
      onread: { buffer: Buffer.alloc(bytes), callback: () => false },
    });
    socket.on('error', () => undefined);
    socket.write(head('GET /v1/collections/c/export', {}));
    const reads = setInterval(() => socket.resume(), 20);
    await eventually('it is cut off', () => ended === 1);
    clearInterval(reads);
    socket.destroy();
  });

  test('a body that stops coming is refused, and its place is free', async () => {
    await start(
      { STALL_TIMEOUT_MS: '1000' },
      { overload: { requestsMax: 10, bodyBytesMax: 200_000, smallBodyBytes: 10_000, delayMsMax: 1e9 } },
    );
    const connection = await RawConnection.open(server);
    await connection.send(`${head('POST /v1/collections', { 'content-length': 190_000 })}{`);
    await connection.until(
      /"code":400,"message":"the body stopped coming: nothing of it arrived for 1000 ms \(STALL_TIMEOUT_MS\)"/,
    );
    dataOf(await api.post('/v1/collections', { name: 'a', dim: 3, description: 'x'.repeat(9000) }));
    connection.socket.destroy();
  });

  test('bodies that are only announced keep no small request out', async () => {
    const load = new HttpLoad();
    await start(
      {},
      { load, overload: { requestsMax: 100, bodyBytesMax: 200_000, smallBodyBytes: 10_000, delayMsMax: 1e9 } },
    );
    dataOf(await api.post('/v1/collections', { name: 'c', dim: 3 }));
    const holder = await RawConnection.open(server);
    await holder.send(`${head('POST /v1/collections/c/bulk_upsert', { 'content-length': 199_000 })}{`);
    const large = JSON.stringify({ external_id: 'a', vector: [1, 2, 3], text: 'x'.repeat(100_000) });
    await eventually('the bytes are held', () => load.bodyBytes === 199_000);
    errorOf(await api.post('/v1/collections/c/upsert', large), 429);
    dataOf(await api.post('/v1/collections/c/search', { vector: [1, 2, 3] }));
    holder.socket.destroy();
  });
});

describe('what the public port shows', () => {
  test('no path of the machine is in an answer; the log has it', async () => {
    await start();
    const failure = new QuiverError(
      'storage_failed',
      'the store in /var/lib/quiver/shards/7 cannot be opened: IO error: /var/lib/quiver/shards/7/LOCK',
    );
    server.service.collections.list = () => Promise.reject(failure);
    expect(errorOf(await api.get('/v1/collections'), 500)).toBe(
      'the store in (a file) cannot be opened: IO error: (a file)',
    );
    expect(server.answered[server.answered.length - 1].error).toBe(failure);
  });

  test('bad keys are limited without a limit for good ones', async () => {
    await start({ RATE_LIMIT_PER_MINUTE: '0', BAD_KEY_LIMIT_PER_MINUTE: '3' });
    for (let i = 0; i < 3; i++) errorOf(await api.get('/v1/collections', { key: `guess-${i}` }), 401);
    errorOf(await api.get('/v1/collections', { key: 'guess' }), 429);
    dataOf(await api.get('/v1/collections'));
  });

  test.each([
    [
      '/v1/collections/c/recommend/a?k=9007199254740991',
      'k is 9007199254740991, more than the maximum of 10000 (MAX_K)',
    ],
    ['/v1/collections/c/recommend/a?k=99999999999999999999999', 'more than the maximum of 10000 (MAX_K)'],
    ['/v1/collections/c/recommend/a?k=1.5', 'k must be an integer, not "1.5"'],
    ['/v1/collections/c/recommend/a?k=', 'k must be an integer, not ""'],
    ['/v1/collections/c/recommend/a?k=0', 'k must be at least 1'],
    ['/v1/collections/c/recommend/a?offset=-1', 'offset must be at least 0'],
  ])('a number that is none is told so: %s', async (path, message) => {
    await start();
    dataOf(await api.post('/v1/collections', { name: 'c', dim: 3 }));
    expect(errorOf(await api.post(path), 400)).toContain(message);
  });

  test.each([
    ['/v1/collections/c/export?limit=100000000000000000', 'limit must be at most 100000'],
    ['/v1/collections/c/export?limit=ten', 'limit must be an integer, not "ten"'],
    ['/v1/admin/keys/first', 'id must be an integer, not "first"'],
  ])('and elsewhere: %s', async (path, message) => {
    await start();
    dataOf(await api.post('/v1/collections', { name: 'c', dim: 3 }));
    expect(errorOf(await api.get(path), 400)).toContain(message);
  });

  test('a number beyond what is exact in a body, likewise', async () => {
    await start();
    dataOf(await api.post('/v1/collections', { name: 'c', dim: 3 }));
    expect(errorOf(await api.post('/v1/collections/c/search', '{"vector":[1,2,3],"k":9007199254740993}'), 422)).toBe(
      'k must be at most 9007199254740991',
    );
    expect(errorOf(await api.post('/v1/collections/c/search', '{"vector":[1,2,3],"k":1e400}'), 422)).toBe(
      'k is out of range',
    );
  });

  test('metrics and documentation can be left out', async () => {
    await start({ API_METRICS: 'false', API_DOCS: 'false' });
    for (const path of ['/metrics', '/docs', '/docs/', '/docs/swagger-ui.css', '/openapi.json']) {
      expect(errorOf(await api.get(path, { key: null }), 404)).toBe(`there is no GET ${path}`);
    }
    const { docs, endpoints } = dataOf(await api.get('/', { key: null }));
    expect(docs).toBeNull();
    expect(endpoints.map(({ path }: any) => path).filter((path: string) => !path.startsWith('/v1'))).toEqual(['/']);
  });

  test('nothing is taken for another type than it says, and no page runs, loads or is framed by what is not ours', async () => {
    await start();
    for (const path of [
      '/',
      '/v1/collections',
      '/v1/nothing',
      '/metrics',
      '/openapi.json',
      '/docs',
      '/docs/',
      '/docs/swagger-ui.css',
      '/docs/swagger-ui-init.js',
      '/docs/nothing',
      '/docs/oauth2-redirect.html',
    ]) {
      const { headers } = await api.get(path);
      expect({ path, sniff: headers['x-content-type-options'] }).toEqual({ path, sniff: 'nosniff' });
      if (!path.startsWith('/docs')) continue;
      expect({ path, frame: headers['x-frame-options'] }).toEqual({ path, frame: 'DENY' });
      // A redirect's own page has nothing at all.
      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'(; script-src 'self'; style-src 'self';.*frame-ancestors 'none')?$/,
      );
    }
    expect((await api.get('/docs/')).text).not.toMatch(/<style|style=|<script>|javascript:/);
    const broken = await RawConnection.open(server);
    await broken.send('what is this\r\n\r\n');
    expect(await broken.closed()).toMatch(/x-content-type-options: nosniff/i);
  });
});
