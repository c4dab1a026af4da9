import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { closeHttpServer } from '../../coordinator/api/http/http-server';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import { ApiClient, dataOf, errorOf } from '../support/targets/api-client';
import { eventually } from '../support/eventually';
import { type PlainServer, startPlainServer } from '../support/servers/plain-server';
import { RawConnection } from '../support/http/raw-connection';
import { collectionViewOf } from '../support/targets/collection-view';

/** What the wire, clients and failing services may do to the HTTP layer. */

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

const envelopeIn = (text: string): any => JSON.parse(text.slice(text.lastIndexOf('{"status"')));

describe('bodies that are too large', () => {
  const MAX = 100_000;
  beforeEach(async () => {
    await start({ MAX_BODY_BYTES: String(MAX) });
    dataOf(await api.post('/v1/collections', { name: 'c', dim: 3 }));
  });

  test.each(['/v1/collections/c/upsert', '/v1/collections'])(
    'are a 400 that a client reads although it sends all of it first: POST %s',
    async (path) => {
      for (const size of [MAX + 1, 30 * MAX]) {
        const connection = await RawConnection.open(server);
        await connection.send(head(`POST ${path}`, { 'content-length': size }));
        for (let sent = 0; sent < size; sent += MAX)
          await connection.send(Buffer.alloc(Math.min(MAX, size - sent), ' '));
        const text = await connection.until(/"message":"[^"]+"}}/);
        expect(envelopeIn(text).error).toEqual({ code: 400, message: expect.stringContaining(String(MAX)) });
        connection.socket.destroy();
      }
    },
  );

  test('are a 400 when their length is not announced', async () => {
    const connection = await RawConnection.open(server);
    await connection.send(head('POST /v1/collections/c/upsert', { 'transfer-encoding': 'chunked' }));
    const chunk = `${(10_000).toString(16)}\r\n${' '.repeat(10_000)}\r\n`;
    for (let i = 0; i < 40; i++) await connection.send(chunk);
    await connection.send('0\r\n\r\n');
    const text = await connection.closed();
    expect(text).toContain('connection: close');
    expect(envelopeIn(text).error.code).toBe(400);
  });

  test('are a 400 when they unpack beyond the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000, ' '));
    expect(bomb.length).toBeLessThan(MAX);
    errorOf(await api.post('/v1/collections/c/upsert', bomb, { headers: { 'content-encoding': 'gzip' } }), 400);
  });

  test('of exactly the limit are taken', async () => {
    const body = JSON.stringify({ external_id: 'a', vector: [1, 2, 3] });
    dataOf(await api.post('/v1/collections/c/upsert', body + ' '.repeat(MAX - body.length)));
    errorOf(await api.post('/v1/collections/c/upsert', body + ' '.repeat(MAX - body.length + 1)), 400);
  });
});

describe('connections', () => {
  test('a refused request with a small body leaves its connection usable', async () => {
    await start();
    const connection = await RawConnection.open(server);
    const body = JSON.stringify({ name: 'a', dim: 3 });
    await connection.send(head('POST /v1/collections', { 'x-api-key': 'wrong', 'content-length': body.length }) + body);
    await connection.until(/"code":401/);
    await connection.send(head('POST /v1/collections', { 'content-length': body.length }) + body);
    await connection.until(/"status":"success"/);
    connection.socket.destroy();
  });

  test('a client that asks first is invited, or told why not', async () => {
    await start();
    const body = JSON.stringify({ name: 'a', dim: 3 });
    const invited = await RawConnection.open(server);
    await invited.send(head('POST /v1/collections', { expect: '100-continue', 'content-length': body.length }));
    await invited.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    await invited.send(body);
    await invited.until(/"status":"success"/);
    invited.socket.destroy();

    const refused = await RawConnection.open(server);
    await refused.send(
      head('POST /v1/collections', { expect: '100-continue', 'content-length': 50_000_000, 'x-api-key': 'wrong' }),
    );
    const text = await refused.closed();
    expect(text).not.toContain('100 Continue');
    expect(envelopeIn(text).error.code).toBe(401);
  });

  test('an expectation that nobody knows is no reason to refuse', async () => {
    await start();
    expect(dataOf(await api.get('/v1/collections', { headers: { expect: 'the-unexpected' } }))).toEqual({
      collections: [],
    });
  });

  test.each([
    ['bytes that are no HTTP', 'what is this\r\n\r\n'],
    ['a header too large', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`],
    ['two lengths', 'POST /v1/query HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello'],
    [
      'a broken chunk',
      'POST /v1/query HTTP/1.1\r\nhost: a\r\nx-api-key: admin-secret\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
    ],
  ])('%s: a 400 in the envelope, then the end', async (_title, bytes) => {
    await start();
    const connection = await RawConnection.open(server);
    await connection.send(bytes);
    const text = await connection.closed();
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(envelopeIn(text)).toEqual({
      status: 'error',
      data: null,
      error: { code: 400, message: expect.any(String) },
    });
    dataOf(await api.get('/v1/health'));
  });

  test('a request without a host is served, a tunnel refused, both in the envelope', async () => {
    await start();
    const hostless = await RawConnection.open(server);
    await hostless.send(`GET /v1/collections HTTP/1.1\r\nx-api-key: ${server.adminKey}\r\nconnection: close\r\n\r\n`);
    expect(envelopeIn(await hostless.closed()).data).toEqual({ collections: [] });
    const tunnel = await RawConnection.open(server);
    await tunnel.send('CONNECT example.org:443 HTTP/1.1\r\nhost: example.org:443\r\n\r\n');
    const text = await tunnel.closed();
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(envelopeIn(text).error).toEqual({ code: 404, message: expect.stringContaining('CONNECT') });
  });

  test.each(['http://[a', 'http://[a%C3%28', 'http://', '//', '*'])(
    'a target that is hardly one (%s) is answered in the envelope',
    async (target) => {
      await start();
      const connection = await RawConnection.open(server);
      await connection.send(`GET ${target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`);
      const text = await connection.closed();
      expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(envelopeIn(text)).toMatchObject({ status: expect.stringMatching(/^(success|error)$/) });
    },
  );

  test('more bytes than announced are no second request', async () => {
    await start();
    const connection = await RawConnection.open(server);
    await connection.send(`${head('POST /v1/collections', { 'content-length': 2 })}{}{"name":"a","dim":3}`);
    const text = await connection.closed();
    expect(text).toContain('"status":"error"');
    expect(text).not.toContain('success');
    expect(dataOf(await api.get('/v1/collections')).collections).toEqual([]);
  });

  test('a client that hangs up in the middle of its body harms nobody', async () => {
    await start();
    dataOf(await api.post('/v1/collections', { name: 'c', dim: 3 }));
    const lines = ['/v1/collections', '/v1/collections/c/upsert', '/v1/documents/upload'];
    for (const path of lines) {
      const connection = await RawConnection.open(server);
      await connection.send(
        `${head(`POST ${path}`, { 'content-length': 1000, 'content-type': 'multipart/form-data; boundary=x' })}--x\r\n`,
      );
      connection.socket.destroy();
    }
    await eventually(
      'all three are over',
      () => server.answered.filter(({ code }) => code === 400).length === lines.length,
    );
    expect(dataOf(await api.get('/v1/collections/c')).vector_count).toBe(0);
  });

  test('closing lets running requests finish and ends idle connections', async () => {
    await start();
    let finish: () => void = () => undefined;
    const running = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let entered: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      entered = resolve;
    });
    server.service.collections.list = async () => {
      entered();
      await running;
      return [];
    };
    const idle = await RawConnection.open(server);
    await idle.send(head('GET /v1/health', { 'x-api-key': 'wrong' }));
    await idle.until(/401/);
    const slow = api.get('/v1/collections');
    await begun;
    const closed = closeHttpServer(server.server, 5000);
    await idle.closed();
    await expect(api.get('/')).rejects.toThrow(/ECONNREFUSED/);
    finish();
    const answer = await slow;
    expect(dataOf(answer)).toEqual({ collections: [] });
    expect(answer.headers.connection).toBe('close');
    await closed;
  });

  test('closing cuts off what does not finish in time', async () => {
    await start();
    let isRunning = false;
    server.service.collections.list = () => {
      isRunning = true;
      return new Promise(() => undefined);
    };
    const endless = api.get('/v1/collections').catch((error: Error) => error);
    await eventually('the request runs', () => isRunning);
    await closeHttpServer(server.server, 100);
    expect(await endless).toMatchObject({ code: 'ECONNRESET' });
  });
});

describe('failing services', () => {
  test('an error that is not for clients is a bare 500, and whole for the observer', async () => {
    await start();
    const failures: [Error, string][] = [
      [new TypeError('secret path /var/lib'), 'internal server error'],
      [new QuiverError('internal', 'secret detail'), 'internal server error'],
      [
        new QuiverError('unavailable', 'shard 3 cannot be reached; the call may be retried'),
        'shard 3 cannot be reached; the call may be retried',
      ],
    ];
    for (const [failure, message] of failures) {
      server.service.collections.list = () => Promise.reject(failure);
      expect(errorOf(await api.get('/v1/collections'), 500)).toBe(message);
      expect(server.answered[server.answered.length - 1]).toMatchObject({
        code: 500,
        error: failure,
        endpoint: '/v1/collections',
      });
    }
    server.service.collections.list = () => {
      throw new Error('at once');
    };
    expect(errorOf(await api.get('/v1/collections'), 500)).toBe('internal server error');
  });

  test('an export that fails before its first vector answers in the envelope', async () => {
    await start();
    const view = collectionViewOf({ dim: 1 });
    // oxlint-disable-next-line require-yield -- it fails before its first page
    async function* pages(): AsyncGenerator<never> {
      throw new QuiverError('unavailable', 'shard 0 is away; the call may be retried');
    }
    server.service.vectors.export = async () => ({ collection: view, pages: pages() });
    expect(errorOf(await api.get('/v1/collections/c/export'), 500)).toContain('shard 0');
  });

  test('an export that fails half-way breaks off, and never looks complete', async () => {
    await start();
    const view = collectionViewOf({ dim: 1 });
    async function* pages() {
      for (let i = 0; i < 5000; i++)
        yield [{ externalId: `v${i}`, vector: Float32Array.of(i), metadata: '{}', text: null }];
      throw new Error('the disk is gone');
    }
    server.service.vectors.export = async () => ({ collection: view, pages: pages() });
    const connection = await RawConnection.open(server);
    await connection.send(head('GET /v1/collections/c/export', {}));
    const text = await connection.closed();
    expect(text).toContain('"external_id":"v100"');
    expect(text).not.toContain('"error":null');
    expect(text.endsWith('0\r\n\r\n')).toBe(false);
    expect(server.answered[server.answered.length - 1]).toMatchObject({
      code: 500,
      error: expect.objectContaining({ message: 'the disk is gone' }),
    });
  });

  test('an export is made no faster than its client reads, and stops with its client', async () => {
    await start();
    const view = collectionViewOf({ dim: 768 });
    let made = 0;
    let ended = false;
    async function* pages() {
      try {
        for (;;) {
          made++;
          yield [{ externalId: 'v', vector: new Float32Array(768).fill(1 / 3), metadata: '{}', text: null }];
        }
      } finally {
        ended = true;
      }
    }
    server.service.vectors.export = async () => ({ collection: view, pages: pages() });
    const { port } = new URL(server.baseUrl);
    const outgoing = request({ port, path: '/v1/collections/c/export', headers: { 'x-api-key': server.adminKey } });
    outgoing.on('error', () => undefined);
    await new Promise((resolve) => {
      outgoing.on('response', resolve);
      outgoing.end();
    });
    let before = -1;
    let looksAlike = 0;
    await eventually('nothing more is made', () => {
      looksAlike = made === before ? looksAlike + 1 : 0;
      before = made;
      return looksAlike === 20;
    });
    expect(made).toBeLessThan(5000);
    outgoing.destroy();
    await eventually('the export is ended', () => ended);
  });
});

describe('an overloaded process', () => {
  test('refuses with 429 "server busy", and still answers health', async () => {
    await start({}, { overload: { requestsMax: 1, bodyBytesMax: 1000, smallBodyBytes: 0, delayMsMax: 1e9 } });
    let finish: () => void = () => undefined;
    let entered: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      entered = resolve;
    });
    const original = server.service.collections.get.bind(server.service.collections);
    server.service.collections.get = async (name) => {
      entered();
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return original(name);
    };
    const first = api.get('/v1/collections/none');
    await begun;
    const refused = await api.get('/v1/collections');
    expect(errorOf(refused, 429)).toContain('server busy');
    expect(refused.headers['retry-after']).toBe('1');
    dataOf(await api.get('/v1/health'));
    finish();
    errorOf(await first, 404);
    dataOf(await api.get('/v1/collections'));
  });

  test('refuses bodies when too many bytes are in flight', async () => {
    await start({}, { overload: { requestsMax: 10, bodyBytesMax: 1000, smallBodyBytes: 0, delayMsMax: 1e9 } });
    const holder = await RawConnection.open(server);
    await holder.send(head('POST /v1/collections', { 'content-length': 900 }));
    await holder.send('{');
    const body = { name: 'a', dim: 3, description: 'x'.repeat(300) };
    const isBusy = async () => (await api.post('/v1/collections', body)).json?.error?.code === 429;
    await eventually('the bytes are held', isBusy);
    holder.socket.destroy();
    await eventually('the bytes are given back', async () => !(await isBusy()));
    // Alone, a body larger than the bound still passes.
    dataOf(await api.post('/v1/collections', { name: 'b', dim: 3, description: 'x'.repeat(2000) }));
  });

  test('refuses when the event loop runs late', async () => {
    await start({}, { overload: { requestsMax: 10, bodyBytesMax: 1000, smallBodyBytes: 0, delayMsMax: -1 } });
    errorOf(await api.get('/v1/collections'), 429);
    dataOf(await api.get('/v1/health'));
  });
});

test('the observer hears of every answer once', async () => {
  await start();
  await api.get('/v1/collections/none', { headers: { 'x-request-id': 'one' } });
  await api.get('/v1/nothing', { headers: { 'x-request-id': 'two' } });
  await api.get('/', { key: null, headers: { 'x-request-id': 'three' } });
  await api.get('/v1/health', { key: 'wrong', headers: { 'x-request-id': 'four' } });
  expect(
    server.answered.map(({ requestId, endpoint, code, keyId, method }) => [requestId, method, endpoint, code, keyId]),
  ).toEqual([
    ['one', 'GET', '/v1/collections/{name}', 404, 1],
    ['two', 'GET', 'unmatched', 404, 1],
    ['three', 'GET', '/', 200, null],
    ['four', 'GET', '/v1/health', 401, null],
  ]);
  for (const { durationMs, error } of server.answered) {
    expect(durationMs).toBeGreaterThanOrEqual(0);
    expect(error).toBeNull();
  }
});
