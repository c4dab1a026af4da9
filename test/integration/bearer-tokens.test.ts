import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient, dataOf, errorOf } from '../support/targets/api-client';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { TokenIssuer } from '../support/servers/token-issuer';

/** Tokens of a real issuer on every path of a process whose API is served by two threads. */

const LIMIT = 40;
const issuer = new TokenIssuer();
let server: EmbeddedProcess;
let api: ApiClient;

beforeAll(async () => {
  issuer.addKey('one', 'ES256');
  await issuer.start();
  server = new EmbeddedProcess({
    environment: {
      HTTP_THREADS: '2',
      RATE_LIMIT_PER_MINUTE: String(LIMIT),
      MCP: 'true',
      AUDIT_LOG_READS: 'true',
      JWT_ISSUER: issuer.url,
      JWT_AUDIENCE: issuer.audience,
      JWT_ROLE_CLAIM: 'realm_access.roles',
      JWT_ROLE_MAP: 'operators=admin,apps=readwrite,people=readonly',
      JWT_COLLECTIONS_CLAIM: 'collections',
      JWT_LIMITS_CLAIM: 'limits',
      JWT_QUOTA_ITEMS: '1000',
      JWT_QUOTA_PERIOD: 'total',
    },
  });
  Object.assign((server as unknown as { environment: Record<string, string> }).environment, {
    AUDIT_LOG: join(server.dataDir, 'audit.jsonl'),
  });
  await server.start();
  api = new ApiClient({ baseUrl: server.baseUrl, adminKey: server.apiKey });
});

afterAll(async () => {
  await server?.destroy();
  await issuer.stop();
});

/**
 * What a request sends with a token in the place of a key. Each is a connection of its own, and so are dealt to both
 * threads.
 */
const by = (token: string): { key: null; headers: Record<string, string> } => ({
  key: null,
  headers: { authorization: `Bearer ${token}` },
});
const tokenOf = (sub: string, role: string, collections: string[] = ['*'], more: object = {}): string =>
  issuer.token({ sub, role: undefined, realm_access: { roles: [role] }, collections, ...more });

test('a token may do what its claims say, on every thread, and is told who it is', async () => {
  const operator = by(tokenOf('olga', 'operators'));
  dataOf(await api.post('/v1/collections', { name: 'team-a-1', dim: 2 }, operator));
  dataOf(await api.post('/v1/collections', { name: 'other', dim: 2 }, operator));
  const app = by(tokenOf('app', 'people', ['team-a-*:readwrite', 'other']));
  for (let i = 0; i < 4; i++) {
    dataOf(await api.post('/v1/collections/team-a-1/upsert', { external_id: `${i}`, vector: [1, i] }, app));
    errorOf(await api.post('/v1/collections/other/upsert', { external_id: 'x', vector: [1, 2] }, app), 403);
    errorOf(await api.get('/v1/collections/secret', app), 403);
    errorOf(await api.get('/v1/admin/keys', app), 403);
  }
  expect(dataOf(await api.get('/v1/collections', app)).collections).toHaveLength(2);
  expect(dataOf(await api.get('/v1/me', app))).toMatchObject({
    key_id: null,
    subject: 'app',
    name: 'app',
    role: 'readonly',
    expires_at: expect.any(String),
    collections: [
      { prefix: 'team-a-', role: 'readwrite' },
      { name: 'other', role: 'readonly' },
    ],
  });
  expect(dataOf(await api.get('/v1/me'))).toMatchObject({ key_id: 1, subject: null, name: 'default' });
  const tools = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'search', arguments: { collection: 'team-a-1', vector: [1, 2] } },
  };
  const answer = await api.post('/mcp', tools, {
    ...app,
    headers: { ...app.headers, accept: 'application/json, text/event-stream' },
  });
  expect(answer.text).toContain('external_id');
  errorOf(await api.get('/v1/collections', by(tokenOf('nobody', 'guests'))), 403);
});

test('what is refused says why, in the answer and its header; a key that is given counts', async () => {
  const expired = await api.get('/v1/collections', by(tokenOf('app', 'people', ['*'], { exp: 1_000 })));
  expect(errorOf(expired, 401)).toBe('invalid bearer token: it has expired');
  expect(expired.headers['www-authenticate']).toBe(
    'Bearer realm="quiver", error="invalid_token", error_description="invalid bearer token: it has expired"',
  );
  const none = await api.get('/v1/collections', { key: null });
  expect(errorOf(none, 401)).toMatch(/missing API key or bearer token/);
  expect(none.headers['www-authenticate']).toBe('Bearer realm="quiver"');
  errorOf(await api.get('/v1/collections', { ...by(tokenOf('app', 'operators')), key: 'wrong-key' }), 401);
  const right = await api.get('/v1/collections', { headers: { authorization: 'Basic eDp5' } });
  dataOf(right);
  expect(right.headers['www-authenticate']).toBeUndefined();
  const mcp = await api.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, by('not-a-token'));
  expect([mcp.httpStatus, mcp.headers['www-authenticate']]).toEqual([401, expect.stringContaining('invalid_token')]);
});

test('a subject has its requests per minute through all threads and whatever its tokens, and they are counted', async () => {
  let admitted = 0;
  for (let i = 0; i < LIMIT + 10; i++) {
    const { json } = await api.get('/v1/me', by(tokenOf('busy@example.org', 'people', ['*'], { jti: String(i % 3) })));
    if (json?.status === 'success') admitted += 1;
    else expect(json?.error?.code).toBe(429);
  }
  expect(admitted).toBe(LIMIT);
  dataOf(await api.get('/v1/me', by(tokenOf('calm@example.org', 'people'))));
  const { by_key: usage } = dataOf(await api.get('/v1/admin/keys/usage/summary'));
  const tokens = usage.find((one: { key_id: number }) => one.key_id === 0);
  expect(tokens).toMatchObject({ key_name: 'bearer tokens' });
  expect(tokens.by_endpoint['GET /v1/me']).toBeGreaterThanOrEqual(LIMIT + 1);
});

test('a subject writes as much as its quota has, through all threads and whatever its tokens, and may have limits of its own', async () => {
  dataOf(await api.post('/v1/collections', { name: 'bounded', dim: 2 }));
  const wanda = (items: number, more: object = {}) =>
    by(tokenOf('wanda', 'apps', ['*'], { limits: { quota: { items } }, ...more }));
  const write = (id: string, caller: ReturnType<typeof by>) =>
    api.post('/v1/collections/bounded/upsert', { external_id: id, vector: [1, 2] }, caller);
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => write(`w-${i}`, wanda(3, { jti: String(i % 2) }))),
  );
  const refused = answers.flatMap(({ json }) => (json?.error ? [json.error] : []));
  expect(refused).toHaveLength(5);
  for (const { code, message } of refused)
    expect([code, message]).toEqual([
      400,
      expect.stringMatching(
        /^the subject of this token has stored 3 items, and 1 more are beyond its quota of 3 \(JWT_QUOTA_ITEMS or JWT_LIMITS_CLAIM\)/,
      ),
    ]);
  expect(dataOf(await api.get('/v1/me', wanda(3)))).toMatchObject({
    quota: { items: 3, bytes: null, period: 'total' },
    quota_used: { items: 3, bytes: null, period: 'total', resets_at: null },
  });
  // Raised by its issuer, it goes on from there.
  dataOf(await write('more', wanda(4)));
  errorOf(await write('too-much', wanda(4)), 400);
  const other = by(tokenOf('walter', 'apps'));
  dataOf(await write('other', other));
  expect(dataOf(await api.get('/v1/me', other))).toMatchObject({
    quota: { items: 1000, bytes: null, period: 'total' },
    quota_used: { items: 1 },
  });
  expect(
    (await api.get('/v1/me', by(tokenOf('rapid', 'people', ['*'], { limits: '{"rate_limit_per_minute": 5}' }))))
      .headers['ratelimit-limit'],
  ).toBe('5');
  expect(errorOf(await api.get('/v1/me', by(tokenOf('odd', 'people', ['*'], { limits: { rate: 5 } }))), 403)).toContain(
    'claim limits has "rate"',
  );
});

test('an Idempotency-Key counts for a subject, whatever its tokens and the thread that serves it, and for no other', async () => {
  const [one, two] = [{ jti: '1' }, { jti: '2' }].map((more) => by(tokenOf('once', 'operators', ['*'], more)));
  const other = by(tokenOf('twice', 'operators'));
  dataOf(await api.post('/v1/collections', { name: 'once', dim: 2, quota: { items: 1 } }, one));
  const under = ({ key, headers }: typeof one) => ({ key, headers: { ...headers, 'idempotency-key': 'the same' } });
  const upsert = (caller: typeof one) =>
    api.post('/v1/collections/once/upsert', { external_id: 'a', vector: [1, 2] }, under(caller));
  const answers = await Promise.all([one, two, one, two, one, two].map((caller) => upsert(caller)));
  for (const answer of answers)
    expect(dataOf(answer)).toEqual({ external_id: 'a', status: 'inserted', version: dataOf(answers[0]).version });
  expect(answers.filter(({ headers }) => headers['idempotency-replayed'] !== 'true')).toHaveLength(1);
  expect(dataOf(await upsert(other)).status).toBe('updated');
  // A secret is sealed for the token that it was made with.
  const create = (caller: typeof one) =>
    api.post('/v1/admin/keys', { name: 'made once', role: 'readonly' }, under(caller));
  const made = dataOf(await create(one));
  expect(dataOf(await create(one))).toEqual(made);
  expect(errorOf(await create(two), 409)).toContain('rotate the key');
  expect(dataOf(await create(other)).id).not.toBe(made.id);
});

test('the audit log has the subject, and no token', async () => {
  const path = join(server.dataDir, 'audit.jsonl');
  await eventually('its line is there', () => readFileSync(path, 'utf8').includes('"subject":"olga"'));
  const line = readFileSync(path, 'utf8')
    .split('\n')
    .find((one) => one.includes('"subject":"olga"'));
  expect(JSON.parse(line ?? '')).toMatchObject({
    key_id: null,
    key_name: null,
    subject: 'olga',
    endpoint: '/v1/collections',
    collection: 'team-a-1',
    outcome: 'done',
  });
  expect(readFileSync(path, 'utf8') + server.output).not.toContain('eyJ');
});

test('threads are told new keys; an issuer that is away stops neither keys nor known tokens', async () => {
  const before = issuer.asked.length;
  for (let i = 0; i < 6; i++)
    errorOf(await api.get('/v1/me', by(issuer.token({}, { header: { kid: `invented-${i}` } }))), 401);
  expect(issuer.asked.length - before).toBeLessThanOrEqual(2);
  await issuer.stop();
  for (let i = 0; i < 4; i++) dataOf(await api.get('/v1/me', by(tokenOf(`late-${i}`, 'people'))));
  dataOf(await api.get('/v1/me'));
  const metrics = await (await fetch(`http://127.0.0.1:${server.opsPort}/metrics`)).text();
  expect(metrics).toMatch(/^quiver_token_keys(?:\{.*\})? 1$/m);
});
