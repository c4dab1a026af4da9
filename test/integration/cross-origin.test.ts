import { ApiClient, dataOf, errorOf } from '../support/targets/api-client';
import { type PlainServer, startPlainServer } from '../support/servers/plain-server';

/** Pages of other origins in browsers: what they may ask and read. */

const APP = 'https://app.example.com';
const OTHER = 'https://other.example.com';
const asks = (origin: string, method = 'POST'): Record<string, string> => ({
  origin,
  'access-control-request-method': method,
  'access-control-request-headers': 'x-api-key,content-type',
});

let server: PlainServer;
let api: ApiClient;
afterEach(() => server?.stop());
async function start(environment: Record<string, string>): Promise<void> {
  server = await startPlainServer({ RATE_LIMIT_PER_MINUTE: '0', ...environment });
  api = new ApiClient(server);
}
const preflight = (path: string, headers: Record<string, string>) =>
  api.call({ method: 'OPTIONS', path, headers, key: null });

test('without the setting no page may, and OPTIONS is no method', async () => {
  await start({});
  expect((await preflight('/v1/collections', asks(APP))).httpStatus).toBe(200);
  const answer = await api.get('/v1/collections', { headers: { origin: APP } });
  dataOf(answer);
  expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control') || name === 'vary')).toEqual(
    [],
  );
});

test('a page of a listed origin asks first, without a key, and reads answers and errors', async () => {
  await start({ CORS_ORIGINS: `${APP},http://localhost:3000`, BAD_KEY_LIMIT_PER_MINUTE: '1' });
  for (let i = 0; i < 3; i++) {
    const { httpStatus, headers, text } = await preflight('/v1/collections/a/upsert', asks(APP));
    expect([httpStatus, text, headers['content-type']]).toEqual([204, '', undefined]);
    expect(headers).toMatchObject({
      'access-control-allow-origin': APP,
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-max-age': '7200',
      vary: expect.stringContaining('origin'),
    });
    for (const name of [
      'x-api-key',
      'authorization',
      'content-type',
      'idempotency-key',
      'x-strict',
      'prefer',
      'x-request-id',
      'traceparent',
    ])
      expect(headers['access-control-allow-headers']).toContain(name);
    expect(headers['access-control-allow-credentials']).toBeUndefined();
  }
  const answer = await api.get('/v1/collections', { headers: { origin: APP } });
  dataOf(answer);
  expect(answer.headers).toMatchObject({ 'access-control-allow-origin': APP, vary: 'origin' });
  for (const name of ['x-request-id', 'retry-after', 'ratelimit-remaining', 'preference-applied'])
    expect(answer.headers['access-control-expose-headers']).toContain(name);
  const unknown = await api.get('/v1/collections/none', { headers: { origin: APP } });
  errorOf(unknown, 404);
  expect(unknown.headers).toMatchObject({ 'access-control-allow-origin': APP, vary: 'origin, prefer' });
  errorOf(await api.get('/v1/me', { key: 'wrong', headers: { origin: APP } }), 401);
  const limited = await api.get('/v1/me', { key: 'wrong', headers: { origin: APP } });
  errorOf(limited, 429);
  expect(limited.headers).toMatchObject({ 'access-control-allow-origin': APP });
});

test('others get nothing of the kind, and their answers are kept apart from it', async () => {
  await start({ CORS_ORIGINS: APP });
  for (const origin of [OTHER, 'null', `${APP}.evil.example`, 'http://app.example.com', `${APP}:8443`]) {
    const asked = await preflight('/v1/collections', asks(origin));
    errorOf(asked, 401);
    expect(asked.headers['access-control-allow-origin']).toBeUndefined();
    const answer = await api.get('/v1/collections', { headers: { origin } });
    expect(answer.headers).toMatchObject({ vary: 'origin' });
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  }
  expect((await api.get('/v1/collections')).headers.vary).toBe('origin');
  // The page and its files are for their own origin alone.
  expect((await api.get('/ui', { headers: { origin: APP } })).headers['access-control-allow-origin']).toBeUndefined();
});

test('every origin', async () => {
  await start({ CORS_ORIGINS: '*', HTTP_STATUS: 'real' });
  for (const origin of [OTHER, 'null']) {
    expect(
      (await preflight('/v1/collections', { ...asks(origin), 'access-control-request-private-network': 'true' }))
        .headers,
    ).toMatchObject({ 'access-control-allow-origin': '*' });
    const refused = await api.get('/v1/collections/none', { headers: { origin } });
    expect([refused.httpStatus, refused.headers['access-control-allow-origin'], refused.headers.vary]).toEqual([
      404,
      '*',
      'prefer',
    ]);
  }
});

test('whose pages may use /mcp may read its answers, and those of the API may use it', async () => {
  await start({ CORS_ORIGINS: APP, MCP: 'true', MCP_ORIGINS: 'https://tools.example.com' });
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  for (const [origin, isAllowed] of [
    [APP, true],
    ['https://tools.example.com', true],
    ['http://localhost:5173', true],
    [OTHER, false],
  ] as const) {
    const answer = await api.post('/mcp', message, {
      headers: { origin, accept: 'application/json, text/event-stream' },
    });
    expect([origin, answer.httpStatus === 403, answer.headers['access-control-allow-origin']]).toEqual([
      origin,
      !isAllowed,
      isAllowed ? origin : undefined,
    ]);
    expect((await preflight('/mcp', asks(origin))).headers['access-control-allow-origin']).toBe(
      isAllowed ? origin : undefined,
    );
  }
  // Of the API, pages of tools read nothing.
  expect(
    (await api.get('/v1/collections', { headers: { origin: 'https://tools.example.com' } })).headers[
      'access-control-allow-origin'
    ],
  ).toBeUndefined();
});
