import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyModel } from '../support/onnx/tiny-model';
import { ApiClient, type ApiAnswer, dataOf } from '../support/targets/api-client';
import { type PlainServer, startPlainServer } from '../support/servers/plain-server';

/**
 * Over every operation of the OpenAPI document: what a request has that is not known is told, and with `strict` refused
 * by name.
 */

interface Operation {
  method: string;
  path: string;
  parameters: { name: string; in: string; required: boolean }[];
  body: { example: Record<string, unknown>; isOpen: boolean } | null;
  isForm: boolean;
  answersEnvelope: boolean;
}

/** What the plain service or its state can't do: these fail by themselves, and tell nothing beside. */
const FAILING = /\/answer$|backup|restore|reshard|reembed|cluster|sign_in|demo|jobs\/\{id\}/;
const UNKNOWN = 'zzyzx';

const folder = mkdtempSync(join(tmpdir(), 'quiver-strict-'));
let server: PlainServer;
let api: ApiClient;
let keyId: number;
let documentId: string;

beforeAll(async () => {
  writeTinyModel(folder, { labels: 1 });
  server = await startPlainServer({
    RATE_LIMIT_PER_MINUTE: '0',
    EMBEDDING_MODEL: 'builtin',
    RERANK_MODEL: `m=${folder}`,
    MCP: 'true',
  });
  api = new ApiClient(server);
  dataOf(await api.post('/v1/collections', { name: 'articles', dim: 3 }));
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

async function operations(): Promise<Operation[]> {
  const document = (await api.get('/openapi.json')).json as any;
  return Object.entries<any>(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries<any>(methods).map(([method, { parameters, requestBody, responses }]): Operation => {
        const json = requestBody?.content['application/json'];
        return {
          method: method.toUpperCase(),
          path,
          parameters,
          body:
            json === undefined ? null : { example: json.example, isOpen: json.schema.properties?.strict === undefined },
          isForm: requestBody?.content['multipart/form-data'] !== undefined,
          answersEnvelope: responses[200].content['application/json']?.schema.oneOf !== undefined,
        };
      }),
    )
    .filter(({ answersEnvelope }) => answersEnvelope);
}

/** What is needed for every operation on an item, a key or a collection to succeed. */
async function prepare(): Promise<void> {
  await api.post('/v1/collections', { name: 'articles', dim: 3 });
  for (const id of ['a-1', 'a-2'])
    dataOf(
      await api.post('/v1/collections/articles/upsert', {
        external_id: id,
        vector: [1, 2, 3],
        metadata: { topic: 'rivers', lang: 'en' },
        text: 'rivers',
      }),
    );
  for (const id of ['a-1', 'rivers'])
    dataOf(
      await api.call({
        method: 'PUT',
        path: `/v1/collections/articles/judgements/${id}`,
        body: [{ query: 'rivers', relevant: { 'a-1': 1 } }],
      }),
    );
  const document = { collection_name: 'articles', document_key: 'rivers', text: 'rivers', wait: true };
  documentId = dataOf(await api.post('/v1/documents', document)).document_id;
  keyId = dataOf(await api.post('/v1/admin/keys', { name: `k${Math.random()}`, role: 'readonly' })).id;
}

function pathOf({ path, parameters }: Operation): string {
  const filled = path
    .replace(/\{name\}|\{collection\}/, 'articles')
    .replace('{shard}', '0')
    .replace('{document_id}', documentId)
    .replace('{id}', () => (path.includes('/admin/keys') ? String(keyId) : 'a-1'));
  const wanted = parameters.filter((one) => one.in === 'query' && one.required).map(({ name }) => `${name}=a-1`);
  return `${filled}?${[...wanted, `${UNKNOWN}=1`].join('&')}`;
}

function send(
  operation: Operation,
  more: Record<string, unknown>,
  headers: Record<string, string> = {},
  query = '',
): Promise<ApiAnswer> {
  const { method, body, isForm } = operation;
  const path = pathOf(operation) + query;
  if (isForm) {
    const fields = { collection_name: 'articles', ...more };
    const boundary = 'b0undary';
    const parts = Object.entries(fields).map(
      ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${String(value)}\r\n`,
    );
    const file = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nrivers\r\n--${boundary}--\r\n`;
    return api.call({
      method,
      path,
      body: parts.join('') + file,
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}`, ...headers },
    });
  }
  const name =
    method === 'POST' && operation.path === '/v1/collections' ? { name: `made-${Object.keys(more).length}` } : {};
  const example = body?.example;
  if (example === undefined || Array.isArray(example)) return api.call({ method, path, headers, body: example });
  return api.call({ method, path, headers, body: { ...example, ...name, ...more } });
}

const warningsOf = ({ json }: ApiAnswer): string[] => (json as { warnings?: string[] }).warnings ?? [];

test('every operation tells of parameters and fields that it does not know', async () => {
  const silent: string[] = [];
  for (const operation of await operations()) {
    await prepare();
    const title = `${operation.method} ${operation.path}`;
    const hasBody = (operation.body !== null && !operation.body.isOpen) || operation.isForm;
    const answer = await send(operation, hasBody ? { [`${UNKNOWN}_body`]: 1 } : {});
    if (answer.json?.status !== 'success') {
      if (!FAILING.test(operation.path)) silent.push(`${title}: ${answer.text}`);
      continue;
    }
    const told = warningsOf(answer);
    const wanted = [
      `"${UNKNOWN}" is not a field and was ignored`,
      ...(hasBody ? [`"${UNKNOWN}_body" is not a field and was ignored`] : []),
    ];
    for (const warning of wanted) if (!told.includes(warning)) silent.push(`${title}: ${JSON.stringify(told)}`);
  }
  expect(silent).toEqual([]);
});

test.each([
  ['the header', { 'x-strict': 'true' }, {}, ''],
  ['the query string', {}, {}, '&strict=true'],
  ['the body', {}, { strict: true }, ''],
])(
  'every operation refuses them all by name, when %s says so, and does nothing',
  async (_where, headers, more, query) => {
    const taken: string[] = [];
    await prepare();
    const before = dataOf(await api.get('/v1/collections'));
    const keysBefore = dataOf(await api.get('/v1/admin/keys')).keys.length;
    for (const operation of await operations()) {
      const hasBody = (operation.body !== null && !operation.body.isOpen) || operation.isForm;
      if (Object.keys(more).length > 0 && !hasBody) continue;
      const answer = await send(operation, hasBody ? { [`${UNKNOWN}_body`]: 1, ...more } : {}, headers, query);
      const { code, message } = answer.json?.error ?? { code: 0, message: '' };
      const isNamed =
        message.includes(`"${UNKNOWN}" is not a field`) &&
        (!hasBody || message.includes(`"${UNKNOWN}_body" is not a field`));
      if (code !== 422 || !isNamed) taken.push(`${operation.method} ${operation.path}: ${answer.text}`);
    }
    expect(taken).toEqual([]);
    expect(dataOf(await api.get('/v1/collections'))).toEqual(before);
    expect(dataOf(await api.get('/v1/admin/keys')).keys.length).toBe(keysBefore);
  },
);

test('a request without anything unknown is the same with strict, which must be true or false', async () => {
  await prepare();
  const search = { vector: [1, 2, 3], k: 1, strict: true };
  for (let i = 0; i < 3; i++)
    expect((await api.post('/v1/collections/articles/search', search)).json).toMatchObject({
      status: 'success',
      error: null,
    });
  expect(
    warningsOf(await api.post('/v1/collections/articles/search?strict=1', search, { headers: { 'x-strict': 'TRUE' } })),
  ).toEqual([]);
  for (const answer of [
    await api.post('/v1/collections/articles/search', { ...search, strict: 'yes' }),
    await api.post('/v1/collections/articles/search?strict=maybe', search),
    await api.post('/v1/collections/articles/search', search, { headers: { 'x-strict': 'maybe' } }),
  ]) {
    expect(answer.json?.status).toBe('error');
    expect(answer.json?.error?.message).toContain('strict must be true or false');
  }
});

test('a body that says nothing of strict is not strict because an equal one was', async () => {
  await prepare();
  const answers = [];
  for (const strict of [true, false, true, undefined, true])
    answers.push(
      (await api.post('/v1/collections/articles/search?zz=1', { vector: [1, 2, 3], k: 2, strict })).json?.error?.code ??
        0,
    );
  expect(answers).toEqual([422, 0, 422, 0, 422]);
});

test('a body where none is taken is told, but for one that says nothing', async () => {
  await prepare();
  const path = '/v1/collections/articles/similarity?id1=a-1&id2=a-2';
  for (const body of ['{}', 'null', '']) expect(warningsOf(await api.post(path, body))).toEqual([]);
  expect(warningsOf(await api.post(path, { id1: 'a-1' }))).toEqual([
    'this call takes no body, and what was sent was ignored',
  ]);
  expect((await api.post(`${path}&strict=true`, { id1: 'a-1' })).json?.error).toMatchObject({
    code: 422,
    message: 'refused because of strict: this call takes no body',
  });
  const chunked = { key: server.adminKey, headers: { 'transfer-encoding': 'chunked', 'x-strict': 'true' } };
  expect((await api.post(path, undefined, chunked)).json?.status).toBe('success');
  for (const body of [{ strict: true }, { strict: false }]) expect(warningsOf(await api.post(path, body))).toEqual([]);
  expect((await api.post(path, { id1: 'a-1', strict: true })).json?.error).toMatchObject({
    code: 422,
    message: 'refused because of strict: this call takes no body',
  });
  for (const body of ['not JSON', '[1, 2, 3]', JSON.stringify({ strict: true, long: 'x'.repeat(5000) })])
    expect(warningsOf(await api.post(path, body))).toEqual(['this call takes no body, and what was sent was ignored']);
});

test('fields of objects within a body are told with the object that has them', async () => {
  await prepare();
  const projection = { method: 'pca', dimensions: 2, axis: 1, strict: true };
  const sample = '/v1/collections/articles/sample';
  expect(warningsOf(await api.post(sample, { projection }))).toEqual([
    'projection: "axis" is not a field and was ignored',
    'projection: "strict" is not a field and was ignored',
  ]);
  expect((await api.post(sample, { projection, strict: true })).json?.error).toMatchObject({
    code: 422,
    message: expect.stringContaining('projection: "axis" is not a field'),
  });
  expect(warningsOf(await api.post('/v1/collections', { name: 'limited', dim: 3, quota: { item: 5 } }))).toEqual([
    'quota: "item" is not a field and was ignored; did you mean items?',
  ]);
  const order_by = [{ field: 'lang' }, { field: 'topic', dirction: 'desc' }, { field: 'x', dirction: 'desc' }];
  const search = { vector: [1, 2, 3], order_by };
  const told = 'order_by[1] and 1 more: "dirction" is not a field and was ignored; did you mean direction?';
  expect(warningsOf(await api.post('/v1/collections/articles/search', search))).toContain(told);
  const queries = [{ vector: [1, 2, 3] }, search];
  expect(warningsOf(await api.post('/v1/collections/articles/bulk_search', { queries }))).toContain(
    `queries[1].${told}`,
  );
  const expand = { befor: 1 };
  expect(
    (await api.post('/v1/collections/articles/search', { ...search, expand, strict: true })).json?.error?.message,
  ).toBe(
    'refused because of strict: order_by[1] and 1 more: "dirction" is not a field; did you mean direction?; expand: "befor" is not a field; did you mean before?',
  );
  const stats = [{ field: 'year', op: ['min'] }];
  const by = { field: 'lang', stats, by: { field: 'topic', stats, size: 1 } };
  expect(
    warningsOf(await api.post('/v1/collections/articles/aggregate', { facets: [{ field: 'lang', limt: 1 }], by })),
  ).toEqual(
    expect.arrayContaining([
      'facets[0]: "limt" is not a field and was ignored; did you mean limit?',
      'by.by: "size" is not a field and was ignored; did you mean limit?',
      'by.stats[0]: "op" is not a field and was ignored',
      'by.by.stats[0]: "op" is not a field and was ignored',
    ]),
  );
  const key = { name: 'scoped', role: 'readonly', collections: [{ name: 'articles', rôle: 'readwrite' }] };
  expect((await api.post('/v1/admin/keys', { ...key, strict: true })).json?.error).toMatchObject({
    code: 422,
    message: expect.stringContaining('collections[0]: "rôle" is not a field'),
  });
});

test('content beside another text is told, because text counts', async () => {
  await prepare();
  const path = '/v1/collections/articles';
  const item = { external_id: 'a', vector: [1, 2, 3], text: 'this', content: 'that' };
  const told = '"content" is another name for text, which is given';
  expect(warningsOf(await api.post(`${path}/upsert`, item))).toContain(`${told} and was ignored`);
  const items = [{ ...item, content: 'this' }, item, item];
  expect(warningsOf(await api.post(`${path}/bulk_upsert`, { items }))).toEqual([
    `items[1] and 1 more: ${told} and was ignored`,
  ]);
  expect((await api.post(`${path}/upsert`, { ...item, text: 'another', strict: true })).json?.error).toMatchObject({
    code: 422,
    message: `refused because of strict: ${told}`,
  });
  const { content: _, ...named } = item;
  expect(warningsOf(await api.post(`${path}/upsert`, { ...named, content: null }))).toEqual([]);
});

test('names of fields that others use are told with what they are here', async () => {
  await prepare();
  const told = async (path: string, body: unknown): Promise<string[]> => warningsOf(await api.post(path, body));
  const search = '/v1/collections/articles/search';
  for (const [name, field] of [
    ['limit', 'k'],
    ['topK', 'k'],
    ['top_k', 'k'],
    ['n_results', 'k'],
    ['filter', 'filters'],
    ['filtr', 'filters'],
    ['where', 'filters'],
    ['scoreThreshold', 'min_score'],
  ]) {
    expect(await told(search, { vector: [1, 2, 3], [name]: 1 })).toEqual([
      `"${name}" is not a field and was ignored; did you mean ${field}?`,
    ]);
  }
  expect(await told(search, { vector: [1, 2, 3], namespace: 'a' })).toEqual([
    '"namespace" is not a field and was ignored; make a collection for each, or filter by a field of the metadata',
  ]);
  expect(await told('/v1/collections', { name: 'peers', dim: 3, metric: 'l2' })).toEqual([
    '"metric" is not a field and was ignored; did you mean distance_metric?',
  ]);
  const items = [1, 2, 3].map((n) => ({
    external_id: `p${n}`,
    vector: [n, 2, 3],
    payload: {},
    ...(n === 2 ? { id: 'x' } : {}),
  }));
  expect(await told('/v1/collections/articles/bulk_upsert', { items })).toEqual([
    'items[0] and 2 more: "payload" is not a field and was ignored; did you mean metadata?',
    'items[1]: "id" is not a field and was ignored',
  ]);
  const refused = await api.post('/v1/collections/articles/bulk_upsert', { items, strict: true, wait: true });
  expect(refused.json?.error?.code).toBe(422);
  for (const name of [
    '"wait" is not a field',
    'items[0] and 2 more: "payload" is not a field; did you mean metadata?',
    'items[1]: "id"',
  ])
    expect(refused.json?.error?.message).toContain(name);
});

test('whole numbers beyond 2^53 are told with their place, and refused where the request is strict', async () => {
  await prepare();
  const bulk = '/v1/collections/articles/bulk_upsert';
  const item = (id: string, metadata: string): string =>
    `{"external_id":"${id}","vector":[1,2,9007199254740993],"metadata":${metadata}}`;
  const answer = await api.post(
    bulk,
    `{"items":[${item('n1', '{"a":9007199254740991,"b":[1,{"c":-9007199254740993}]}')},${item('n2', '{"x.y":12345678901234567890,"s":"9007199254740993","f":1e300}')}]}`,
  );
  expect(warningsOf(answer)).toEqual([
    expect.stringMatching(/^items\[0\]\.metadata\.b\[1\]\.c is -9007199254740993, beyond 2\^53/),
    expect.stringMatching(/^items\[1\]\.metadata\.x\.y is 12345678901234567890, .* it becomes 12345678901234567000;/),
  ]);
  const filter = '{"vector":[1,2,3],"filters":{"n":{"$in":[1,36028797018963969]}}}';
  expect(warningsOf(await api.post('/v1/collections/articles/search', filter))).toEqual(
    expect.arrayContaining([expect.stringMatching(/^filters\.n\.\$in\[1\] is 36028797018963969,/)]),
  );
  expect(
    (await api.post(bulk, `{"strict":true,"items":[${item('n3', '{"a":9007199254740993}')}]}`)).json?.error,
  ).toMatchObject({ code: 422 });
  expect((await api.get('/v1/collections/articles/vectors/n3')).json?.error?.code).toBe(404);
  // Many items, of which one has such a number: the body is read in parts, aside.
  const many = Array.from({ length: 900 }, (_, i) =>
    item(`m${i}`, i === 777 ? '{"a":9007199254740993}' : `{"a":${i},"pad":"${'x'.repeat(100)}"}`),
  );
  expect(warningsOf(await api.post(bulk, `{"items":[${many.join(',')}]}`))).toEqual([
    expect.stringMatching(/^items\[777\]\.metadata\.a is/),
  ]);
});
