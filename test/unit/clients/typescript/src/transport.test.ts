import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import {
  ApiError,
  BadAnswerError,
  BadRequestError,
  ConflictError,
  ConnectionError,
  ForbiddenError,
  NotFoundError,
  QuiverClient,
  type QuiverOptions,
  QuiverError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnauthorizedError,
  ValidationError,
  VersionConflictError,
} from '../../../../../clients/typescript/src/index';
import { brokenConnection, failure, recordingFetch, success } from '../../../../support/http/recording-fetch';

/** How requests are sent, repeated and given up: clients/typescript/src/transport.ts, over a scripted fetch. */

const QUICK = { delayMs: 1, delayMaxMs: 2 };
const VECTOR = new Float32Array([1, 0]);

function clientOver(script: Parameters<typeof recordingFetch>, options: Partial<QuiverOptions> = {}) {
  const { fetch, calls } = recordingFetch(...script);
  return {
    client: new QuiverClient({ url: 'http://service:1/base/', apiKey: 'secret', fetch, retry: QUICK, ...options }),
    calls,
  };
}

/** What a call throws. */
async function errorOf(call: Promise<unknown>): Promise<any> {
  return call.then(
    () => expect(null).toBe('an error'),
    (error: unknown) => error,
  );
}

test('a request goes to the address with the key, the headers and its body as JSON', async () => {
  const { client, calls } = clientOver([success({ results: [] })], { headers: { 'x-team': 'search' } });
  await client.collection('a b').search({ vector: [1, 0], k: 3 }, { headers: { 'x-request-id': 'mine' } });
  await client.collection('a').similarity('x&y', 'ü/?');
  expect(calls[0]).toMatchObject({
    method: 'POST',
    headers: { 'x-api-key': 'secret', 'x-team': 'search', 'x-request-id': 'mine', 'content-type': 'application/json' },
  });
  expect(calls[0].url.href).toBe('http://service:1/base/v1/collections/a%20b/search');
  expect(JSON.parse(calls[0].body ?? '')).toEqual({ vector: Buffer.from(VECTOR.buffer).toString('base64'), k: 3 });
  expect(calls[1]).toMatchObject({ body: null });
  expect(calls[1].url.search).toBe(`?id1=x%26y&id2=${encodeURIComponent('ü/?')}`);
});

test('an answer that points elsewhere is not followed, because the key would go along', async () => {
  const elsewhere: string[] = [];
  const other = createServer((request, response) => {
    elsewhere.push(String(request.headers['x-api-key']));
    response.end('{"status":"success","data":{}}');
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const service = createServer((request, response) =>
    response.writeHead(307, { location: location + request.url }).end(),
  ).listen(0, '127.0.0.1');
  await once(service, 'listening');
  try {
    const client = new QuiverClient({
      url: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
      apiKey: 'secret',
      retry: QUICK,
    });
    const error = await errorOf(client.me());
    expect(error).toBeInstanceOf(BadAnswerError);
    expect(error).toMatchObject({ httpStatus: 307, message: expect.stringContaining(`it points to ${location}/v1/`) });
    expect(elsewhere).toEqual([]);
  } finally {
    for (const server of [other, service]) server.close().closeAllConnections();
  }
});

test.each<[string, Partial<QuiverOptions>]>([
  ['a key', { apiKey: 'my-secret-key' }],
  ['a token', { token: 'my-secret-key' }],
  ['a header of its own', { apiKey: 'other', headers: { authorization: 'my-secret-key' } }],
])('neither console.log nor JSON of a client and its parts shows %s', async (_, options) => {
  const { client } = clientOver([success({})], options);
  for (const shown of [client, client.keys, client.backups, client.cluster, client.collection('a')]) {
    expect(inspect(shown, { depth: null, showHidden: true, getters: true })).not.toContain('my-secret-key');
    expect(JSON.stringify(shown)).not.toContain('my-secret-key');
  }
});

test('a key or token that no header can hold is refused without being shown', async () => {
  const makes = (options: Partial<QuiverOptions>) => () => new QuiverClient({ url: 'http://service:1', ...options });
  for (const secret of ['my-secret\nkey', 'my-secret-key\u0000', 'my-secret-ключ']) {
    expect(makes({ apiKey: secret })).toThrow(
      new TypeError("the key has a character that it can't have, such as the end of a line"),
    );
    expect(makes({ token: secret })).toThrow(/^the token has a character/);
    const error = await errorOf(clientOver([success({})], { token: () => secret }).client.me());
    expect(inspect(error)).not.toContain('my-secret');
  }
  const { client, calls } = clientOver([success({})], { apiKey: 'a-key-from-a-file\n' });
  await client.me();
  expect(new Headers(calls[0].headers).get('x-api-key')).toBe('a-key-from-a-file');
  const token = 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln';
  const other = clientOver([success({})], { apiKey: `${token}\n` });
  await other.client.me();
  expect(new Headers(other.calls[0].headers).get('authorization')).toBe(`Bearer ${token}`);
});

test('an address that is none is refused at once', () => {
  expect(() => new QuiverClient({ url: 'localhost' })).toThrow('the url is no address: "localhost"');
  expect(() => new QuiverClient({ url: 'localhost:8000' })).toThrow(
    'the url must begin with http:// or https://, not "localhost:8000"',
  );
});

test.each([
  'http://user:a-key@localhost:8000',
  'https://a-key@localhost',
  'http://user:a-key@local host',
  'ftp://user:a-key@localhost',
  'http://user:a-key@b@localhost',
])('a key in the address is refused at once, and never shown: %s', (url) => {
  let found: unknown = null;
  try {
    void new QuiverClient({ url });
  } catch (error) {
    found = error;
  }
  expect(found).toBeInstanceOf(TypeError);
  expect(inspect(found, { depth: 5 })).not.toContain('a-key');
});

test('the environment says where the service is and which key to use, unless the caller does', async () => {
  const { fetch, calls } = recordingFetch(success({}));
  const { QUIVER_URL, QUIVER_API_KEY } = process.env;
  try {
    delete process.env.QUIVER_URL;
    delete process.env.QUIVER_API_KEY;
    await new QuiverClient({ fetch }).me();
    Object.assign(process.env, { QUIVER_URL: 'https://quiver.example', QUIVER_API_KEY: 'of the environment' });
    await new QuiverClient({ fetch }).me();
    await new QuiverClient({ fetch, url: 'http://service', apiKey: 'mine' }).me();
  } finally {
    Object.assign(process.env, { QUIVER_URL, QUIVER_API_KEY });
    if (QUIVER_URL === undefined) delete process.env.QUIVER_URL;
    if (QUIVER_API_KEY === undefined) delete process.env.QUIVER_API_KEY;
  }
  expect(calls.map(({ url, headers }) => [url.origin, headers['x-api-key']])).toEqual([
    ['http://localhost:8000', undefined],
    ['https://quiver.example', 'of the environment'],
    ['http://service', 'mine'],
  ]);
});

test.each([
  [400, BadRequestError],
  [401, UnauthorizedError],
  [403, ForbiddenError],
  [404, NotFoundError],
  [409, ConflictError],
  [422, ValidationError],
  [429, RateLimitError],
  [500, ServerError],
  [418, ApiError],
])('code %d is an error of its own class, with what is known of it', async (code, type) => {
  const { client } = clientOver([failure(code, 'that is why', { 'retry-after': '7' })], { retry: { retries: 0 } });
  const error = await errorOf(client.createCollection({ name: 'a', dim: 2 }));
  expect(error).toBeInstanceOf(type);
  expect(error).toBeInstanceOf(QuiverError);
  expect(error.constructor).toBe(type);
  expect(error).toMatchObject({
    name: type.name,
    message: 'that is why',
    code,
    requestId: 'request-1',
    retryAfterMs: 7000,
    method: 'POST',
    path: '/v1/collections',
    attempts: 1,
  });
});

test.each([
  ['a page of a proxy', new Response('<html>Bad gateway</html>', { status: 502 }), 502],
  ['JSON of something else', new Response('{"status":"up"}'), 200],
  ['nothing', new Response(''), 200],
])('%s is no answer of the service', async (_what, answer, httpStatus) => {
  const { client } = clientOver([answer], { retry: { retries: 0 } });
  const error = await errorOf(client.health());
  expect(error).toBeInstanceOf(BadAnswerError);
  expect(error).toMatchObject({ httpStatus });
});

describe('repetitions', () => {
  const collection = (client: QuiverClient) => client.collection('a');
  const passing = {
    broken: brokenConnection('ECONNRESET'),
    failing: failure(500, 'shard 0 is not available'),
    gateway: new Response('x', { status: 503 }),
  };
  const untouched = { refused: brokenConnection('ECONNREFUSED'), limited: failure(429, 'too many requests') };

  test.each(Object.entries({ ...passing, ...untouched }))(
    'what may be carried out twice is sent again after: %s',
    async (_what, trouble) => {
      const { client, calls } = clientOver([trouble, trouble, success({ results: [] })]);
      await collection(client).upsert({ external_id: 'x', vector: VECTOR });
      expect(calls).toHaveLength(3);
      expect(new Set(calls.map(({ body }) => body)).size).toBe(1);
    },
  );

  test.each(Object.entries(passing))(
    'what may not is not, because it may have been carried out: %s',
    async (_what, trouble) => {
      const { client, calls } = clientOver([trouble, success({})]);
      expect(await errorOf(client.keys.create({ name: 'a', role: 'admin' }))).toBeInstanceOf(QuiverError);
      expect(calls).toHaveLength(1);
    },
  );

  test.each(Object.entries(untouched))('it is when the service has not begun with it: %s', async (_what, trouble) => {
    const { client, calls } = clientOver([trouble, success({})]);
    await client.keys.create({ name: 'a', role: 'admin' });
    expect(calls).toHaveLength(2);
  });

  test.each([400, 401, 403, 404, 409, 422])('code %d stays what it is', async (code) => {
    const { client, calls } = clientOver([failure(code, 'no')]);
    await errorOf(client.health());
    expect(calls).toHaveLength(1);
  });

  test('they have an end, and the error counts them', async () => {
    const { client, calls } = clientOver([failure(500, 'no')]);
    expect(await errorOf(client.health({ retries: 2 }))).toMatchObject({ attempts: 3 });
    expect(calls).toHaveLength(3);
  });

  test('a stream that was read is not sent again, a text is', async () => {
    const limited = failure(429, 'too many requests');
    const answer = success({ document_id: 'd', chunks_created: 1 });
    const streamed = clientOver([limited, answer]);
    expect(
      await errorOf(streamed.client.uploadDocument({ collection_name: 'a', file: [Buffer.from('a text')] })),
    ).toBeInstanceOf(RateLimitError);
    const texts = clientOver([limited, answer]);
    await texts.client.uploadDocument({ collection_name: 'a', file: 'a text' });
    expect(texts.calls).toHaveLength(2);
    expect(texts.calls[1].body).toContain('\r\n\r\na text\r\n');
  });
});

describe('conditional writes', () => {
  const conflict = (more: object = {}): Response =>
    new Response(
      JSON.stringify({
        status: 'error',
        data: null,
        error: { code: 409, message: 'it has version 9', conflicts: [{ external_id: 'x', version: 9 }], ...more },
      }),
    );
  const item = { external_id: 'x', vector: VECTOR, if_version: 7 };

  test('that conflict tell the present versions', async () => {
    const { client, calls } = clientOver([conflict({ written: ['y'] })]);
    const error = await errorOf(client.collection('a').upsert(item));
    expect(error).toBeInstanceOf(VersionConflictError);
    expect(error).toBeInstanceOf(ConflictError);
    expect(error).toMatchObject({
      name: 'VersionConflictError',
      code: 409,
      conflicts: [{ external_id: 'x', version: 9 }],
      written: ['y'],
      afterLostAnswer: false,
    });
    expect(calls).toHaveLength(1);
  });

  test.each([
    ['broken', brokenConnection('ECONNRESET'), true],
    ['failing', failure(500, 'commit unknown'), true],
    ['gateway', new Response('x', { status: 502 }), true],
    ['refused', brokenConnection('ECONNREFUSED'), false],
    ['limited', failure(429, 'too many requests'), false],
  ])('are repeated, and a conflict then says whether it may be their own: %s', async (_what, trouble, isLost) => {
    const { client, calls } = clientOver([trouble, conflict()]);
    expect(await errorOf(client.collection('a').upsert(item))).toMatchObject({
      name: 'VersionConflictError',
      afterLostAnswer: isLost,
    });
    expect(calls).toHaveLength(2);
  });

  test('of which a repetition would tell as conflicts what the first one wrote are not repeated', async () => {
    const skipping = clientOver([failure(500, 'commit unknown'), success({ results: [] })]);
    expect(await errorOf(skipping.client.collection('a').bulkUpsert([item], { on_error: 'skip' }))).toBeInstanceOf(
      ServerError,
    );
    expect(skipping.calls).toHaveLength(1);
    const others = clientOver([failure(500, 'commit unknown'), success({ results: [] })]);
    await others.client.collection('a').bulkUpsert([{ external_id: 'x', vector: VECTOR }], { on_error: 'skip' });
    expect(others.calls).toHaveLength(2);
  });
});

test.each(['create', 'restore', 'delete', 'cancelRestore'] as const)(
  'backups.%s is not sent again once it may have begun',
  async (method) => {
    const { client, calls } = clientOver([failure(500, 'lost'), success({})]);
    expect(await errorOf((client.backups[method] as (given: never) => Promise<unknown>)('b' as never))).toBeInstanceOf(
      ServerError,
    );
    expect(calls).toHaveLength(1);
  },
);

test('a stream that does not begin is asked for again', async () => {
  const never = () => new Promise<Response>(() => undefined);
  const whole = new Response('{"status":"success","data":{"collection":"a","vectors":[],"count":0},"error":null}');
  const { client, calls } = clientOver([never, failure(500, 'shard 0 is not available'), whole]);
  expect(await client.collection('a').export({}, { timeoutMs: 500 }).next()).toMatchObject({ done: true });
  expect(calls).toHaveLength(3);
});

test('an operation that the client does not know can be called, too', async () => {
  const { client, calls } = clientOver([failure(429, 'later'), success({ answer: 42 })]);
  expect(
    await client.request<{ answer: number }>({
      method: 'PATCH',
      path: '/v1/new',
      query: { a: 1, b: undefined },
      json: { x: true },
    }),
  ).toEqual({ answer: 42 });
  expect(calls[1]).toMatchObject({ method: 'PATCH', body: '{"x":true}' });
  expect(calls[1].url.href).toBe('http://service:1/base/v1/new?a=1');
});

test('what the service says of a request that it carried out is handed over', async () => {
  const warnings: string[] = [];
  const { client } = clientOver(
    [
      new Response(
        '{"status":"success","data":{"results":[]},"error":null,"warnings":["filter is not known: filters?"]}',
      ),
    ],
    {
      onWarning: (warning) => warnings.push(warning),
    },
  );
  expect(await client.collection('a').search({ vector: VECTOR })).toEqual({ results: [] });
  expect(warnings).toEqual(['POST /v1/collections/a/search: filter is not known: filters?']);
});

describe('warnings that nobody takes', () => {
  const warned = (text: string) =>
    new Response(JSON.stringify({ status: 'success', data: { results: [] }, error: null, warnings: [text] }));

  test('are written to the console, each kind once', async () => {
    const spy = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    try {
      const { client } = clientOver([
        warned('a text is long: items[3] (12 tokens)'),
        warned('a text is long: items[4] (17 tokens)'),
        warned('"limit" is not a field'),
      ]);
      for (let i = 0; i < 3; i++) await client.collection('a').search({ vector: VECTOR });
      expect(spy.mock.calls).toEqual([
        ['quiver: POST /v1/collections/a/search: a text is long: items[3] (12 tokens)'],
        ['quiver: POST /v1/collections/a/search: "limit" is not a field'],
      ]);
      const quiet = clientOver([warned('"limit" is not a field')], { onWarning: null });
      await quiet.client.collection('a').search({ vector: VECTOR });
      expect(spy).toHaveBeenCalledTimes(2);
    } finally {
      spy.mockRestore();
    }
  });

  test('are errors of a strict client', async () => {
    const { client, calls } = clientOver([success({ results: [] })], { strict: true });
    await client.collection('a').search({ vector: VECTOR });
    expect(calls[0]).toMatchObject({ headers: { 'x-strict': 'true' } });
  });
});

describe('the end of patience', () => {
  const never = () => new Promise<Response>(() => undefined);

  test('an answer that does not come is a TimeoutError, which is repeated as the others', async () => {
    const { client, calls } = clientOver([never]);
    expect(await errorOf(client.health({ timeoutMs: 5, retries: 1 }))).toBeInstanceOf(TimeoutError);
    expect(calls).toHaveLength(2);
  });

  test('an answer that stands still half-way, too', async () => {
    const { client } = clientOver([
      () =>
        new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(Buffer.from('{"status":"success","data":{"vectors":[')),
          }),
        ),
    ]);
    expect(await errorOf(client.collection('a').export({}, { timeoutMs: 20 }).next())).toBeInstanceOf(TimeoutError);
  });

  test('a signal ends a call before, while and between it is sent, with its reason', async () => {
    const reason = new Error('enough');
    const unsent = clientOver([success({})]);
    expect(await errorOf(unsent.client.health({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(unsent.calls).toHaveLength(0);

    const sending = new AbortController();
    const { client } = clientOver([never]);
    const call = errorOf(client.health({ signal: sending.signal }));
    sending.abort(reason);
    expect(await call).toBe(reason);

    const waiting = new AbortController();
    const limited = clientOver([
      () => {
        setImmediate(() => waiting.abort(reason));
        return failure(429, 'later', { 'retry-after': '30' });
      },
    ]);
    expect(await errorOf(limited.client.health({ signal: waiting.signal }))).toBe(reason);
    expect(limited.calls).toHaveLength(1);
  });

  test('a connection that broke says so, with what the runtime said', async () => {
    const { client } = clientOver([brokenConnection('ECONNREFUSED')], { retry: { retries: 0 } });
    const error = await errorOf(client.health());
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ mayHaveArrived: false, message: expect.stringContaining('ECONNREFUSED') });
  });
});

describe('writes with an Idempotency-Key', () => {
  const write = (client: QuiverClient) => client.createCollection({ name: 'a', dim: 2 });
  const keyOf = ({ headers }: { headers: Record<string, string> }): string | undefined => headers['idempotency-key'];

  test('have the same key in all attempts, and are repeated when an answer was lost', async () => {
    const { client, calls } = clientOver(
      [brokenConnection('ECONNRESET'), failure(500, 'lost'), success({ name: 'a' }), success({ name: 'a' })],
      { idempotencyKeys: true },
    );
    await write(client);
    await write(client);
    const keys = calls.map(keyOf);
    expect(keys[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(keys.slice(1, 3)).toEqual([keys[0], keys[0]]);
    expect(keys[3]).not.toBe(keys[0]);
  });

  test('have none unless that is asked for, and reads never have one', async () => {
    const { client, calls } = clientOver([success({ name: 'a' })]);
    await write(client);
    const asked = clientOver([success({ collections: [] })], { idempotencyKeys: true });
    await asked.client.listCollections();
    expect([...calls, ...asked.calls].map(keyOf)).toEqual([undefined, undefined]);
  });
});

describe('a bearer token', () => {
  const TOKEN = `eyJhbGciOiJFUzI1NiJ9.${'e30'}.c2lnbmF0dXJl`;

  test('goes in the place of a key, also where a key was to be and a token is', async () => {
    for (const options of [{ apiKey: undefined, token: 'opaque' }, { apiKey: TOKEN }]) {
      const { client, calls } = clientOver([success({ collections: [] })], options);
      await client.listCollections();
      expect(calls[0].headers).toMatchObject({ authorization: `Bearer ${options.token ?? TOKEN}` });
      expect(calls[0].headers).not.toHaveProperty('x-api-key');
    }
  });

  test('is asked for before each request, and once more when it was refused', async () => {
    const asked: boolean[] = [];
    const token = async ({ refused }: { refused: boolean }): Promise<string> => `token-${asked.push(refused)}`;
    const { client, calls } = clientOver(
      [
        success({ collections: [] }),
        failure(401, 'no'),
        success({ collections: [] }),
        failure(401, 'no'),
        failure(401, 'no'),
      ],
      { token, retry: { retries: 0 } },
    );
    await client.listCollections();
    await client.listCollections();
    expect(await errorOf(client.listCollections())).toBeInstanceOf(UnauthorizedError);
    expect(asked).toEqual([false, false, true, false, true]);
    expect(calls.map(({ headers }) => headers.authorization)).toEqual([1, 2, 3, 4, 5].map((i) => `Bearer token-${i}`));
  });

  test('that can not be had fails the call, and nothing is sent', async () => {
    const failed = new Error('no identity provider');
    const { client, calls } = clientOver([], { token: () => Promise.reject(failed) });
    await expect(client.listCollections()).rejects.toBe(failed);
    expect(calls).toEqual([]);
  });
});
