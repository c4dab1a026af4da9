import { connect } from 'node:net';
import { QuiverClient } from '../../clients/typescript/src/client';
import { ApiClient, dataOf } from '../support/targets/api-client';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { Http2Door } from '../support/http/http2-door';
import type { PlainServer } from '../support/servers/plain-server';
import { startPlainServer } from '../support/servers/plain-server';

/** HTTP statuses that say what became of a request, for who asks for them. */

const REAL = { prefer: 'status=real' };

/** What comes for these bytes, until the connection ends. */
function raw({ baseUrl }: PlainServer, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1', () => socket.write(text));
    socket.on('data', (chunk) => (answer += String(chunk)));
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}

/** Each kind of error: the code that the envelope has, and a request that gets it. */
async function codesOf(
  api: ApiClient,
  headers: Record<string, string>,
): Promise<{ code: number; status: number; headers: Record<string, unknown> }[]> {
  const reader = dataOf(await api.post('/v1/admin/keys', { name: 'reads', role: 'readonly' })).key as string;
  const answers = [
    await api.get('/v1/collections/none', { headers }),
    await api.get('/unknown', { headers }),
    await api.get('/v1/collections', { headers, key: 'wrong' }),
    await api.post('/v1/collections', { name: 'x', dim: 2 }, { headers, key: reader }),
    await api.post('/v1/collections', { name: 'x' }, { headers }),
    await api.post('/v1/collections', '{', { headers }),
    await api.post('/v1/collections/there/upsert', { external_id: 'a', vector: [1] }, { headers }),
    await api.post('/v1/collections', { name: 'there', dim: 2 }, { headers }),
    await api.post('/v1/collections', `{"name":"${'x'.repeat(3_000_000)}"}`, { headers }),
  ];
  return answers.map(({ httpStatus, json, headers: own }) => ({
    code: json?.error?.code ?? 0,
    status: httpStatus,
    headers: own,
  }));
}
const CODES = [404, 404, 401, 403, 422, 422, 400, 409, 400];

let server: PlainServer;
let api: ApiClient;
afterEach(() => server?.stop());

async function start(environment: Record<string, string> = {}): Promise<void> {
  server = await startPlainServer({ RATE_LIMIT_PER_MINUTE: '0', MCP: 'true', ...environment });
  api = new ApiClient(server);
  dataOf(await api.post('/v1/collections', { name: 'there', dim: 2 }));
}

test('by default every status is 200, and a request may have it otherwise', async () => {
  await start();
  const plain = await codesOf(api, {});
  expect(plain.map(({ code, status }) => [code, status])).toEqual(CODES.map((code) => [code, 200]));
  for (const { headers } of plain) expect(headers).toMatchObject({ vary: 'prefer' });
  const real = await codesOf(api, REAL);
  expect(real.map(({ code, status }) => [code, status])).toEqual(CODES.map((code) => [code, code]));
  for (const { headers } of real)
    expect(headers).toMatchObject({ vary: 'prefer', 'preference-applied': 'status=real' });
  expect(real[2].headers['www-authenticate']).toBe('ApiKey realm="quiver", header="x-api-key"');
  expect((await api.get('/v1/collections', { headers: REAL })).headers).toMatchObject({
    'preference-applied': 'status=real',
  });
  expect(
    (await api.get('/v1/collections', { headers: { prefer: 'status=odd' } })).headers['preference-applied'],
  ).toBeUndefined();
});

test('a setting makes it so for all, and a request may have 200', async () => {
  await start({ HTTP_STATUS: 'real' });
  expect((await codesOf(api, {})).map(({ code, status }) => [code, status])).toEqual(CODES.map((code) => [code, code]));
  const asked = await codesOf(api, { prefer: 'status=200' });
  expect(asked.map(({ code, status }) => [code, status])).toEqual(CODES.map((code) => [code, 200]));
  expect(asked[0].headers).toMatchObject({ 'preference-applied': 'status=200' });
  expect((await api.get('/v1/collections')).httpStatus).toBe(200);
  expect(await raw(server, 'NOT HTTP\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[^]*"code":400/);
  expect(await raw(server, 'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n')).toMatch(
    /^HTTP\/1\.1 404 Not Found\r\n[^]*"code":404/,
  );
});

test('too many requests, of a key and of an address', async () => {
  await start({ HTTP_STATUS: 'real', RATE_LIMIT_PER_MINUTE: '2', BAD_KEY_LIMIT_PER_MINUTE: '1' });
  await api.get('/v1/me');
  const refused = await api.get('/v1/me');
  expect([refused.httpStatus, refused.json?.error?.code, Number(refused.headers['retry-after']) > 0]).toEqual([
    429,
    429,
    true,
  ]);
  await api.get('/v1/me', { key: null });
  expect((await api.get('/v1/me', { key: null })).httpStatus).toBe(429);
});

test('over HTTP/2 as over HTTP/1.1, and for pages of other origins', async () => {
  await start({ CORS_ORIGINS: 'https://app.example.com' });
  const door = await Http2Door.open(server.server);
  try {
    const call = (method: string, path: string, headers: Record<string, string>) =>
      door.caller.call({ method, path, headers: { origin: 'https://app.example.com', ...headers } });
    const missing = await call('GET', '/v1/collections/none', { 'x-api-key': server.adminKey, ...REAL });
    expect(missing.httpStatus).toBe(404);
    expect(missing.headers).toMatchObject({
      'preference-applied': 'status=real',
      vary: 'origin, prefer',
      'access-control-allow-origin': 'https://app.example.com',
    });
    const preflight = await call('OPTIONS', '/v1/collections', { 'access-control-request-method': 'POST' });
    expect([preflight.httpStatus, preflight.text, preflight.headers['access-control-allow-methods']]).toEqual([
      204,
      '',
      'GET, POST, PUT, PATCH, DELETE',
    ]);
  } finally {
    await door.close();
  }
});

test('on threads of their own, and under a path', async () => {
  const process = new EmbeddedProcess({
    environment: { HTTP_THREADS: '2', HTTP_STATUS: 'real', CORS_ORIGINS: '*', BASE_PATH: '/tools' },
  });
  try {
    await process.start();
    const threads = new ApiClient({ baseUrl: process.baseUrl, adminKey: process.apiKey });
    for (let i = 0; i < 4; i++) {
      const missing = await threads.get('/tools/v1/collections/none', { headers: { origin: 'null' } });
      expect([missing.httpStatus, missing.json?.error?.code, missing.headers['access-control-allow-origin']]).toEqual([
        404,
        404,
        '*',
      ]);
      expect(
        (
          await threads.call({
            method: 'OPTIONS',
            path: '/tools/v1/collections',
            key: null,
            headers: { origin: 'null', 'access-control-request-method': 'POST' },
          })
        ).httpStatus,
      ).toBe(204);
    }
    expect(dataOf(await threads.get('/'))).toMatchObject({ docs: '/tools/docs', ui: '/tools/ui' });
  } finally {
    await process.destroy();
  }
});

test('what speaks JSON-RPC keeps its own, and files theirs', async () => {
  await start();
  const wrong = await api.post(
    '/mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { key: 'wrong', headers: { prefer: 'status=200' } },
  );
  expect([wrong.httpStatus, wrong.headers['preference-applied']]).toEqual([401, undefined]);
  const metrics = await api.get('/metrics', { headers: REAL });
  expect([metrics.httpStatus, metrics.headers['preference-applied']]).toEqual([200, undefined]);
});

test('the client for programs reads either', async () => {
  for (const HTTP_STATUS of ['200', 'real']) {
    await server?.stop();
    await start({ HTTP_STATUS });
    const client = new QuiverClient({ url: server.baseUrl, apiKey: server.adminKey, retry: { retries: 0 } });
    await expect(client.collection('none').get('a')).rejects.toMatchObject({
      code: 404,
      message: expect.stringContaining('none'),
    });
    await expect(client.createCollection({ name: 'there', dim: 2 })).rejects.toMatchObject({ code: 409 });
  }
});
