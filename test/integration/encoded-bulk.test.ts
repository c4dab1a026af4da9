import { startThreadedServer, type ThreadedServer } from '../support/servers/threaded-server';

/**
 * Large bulk writes through real HTTP threads: encoded as they come, and the long way, which an escape in the body
 * makes them go.
 */

const DIM = 8;
/** So many are more than 64 KiB. */
const ITEMS = 300;

let server: ThreadedServer;

beforeAll(async () => {
  server = await startThreadedServer({ HTTP_THREADS: '2' });
});
afterAll(() => server.stop());

async function call(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<any> {
  const answer = await fetch(server.baseUrl + path, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json', ...headers },
    body: body ?? null,
  });
  return answer.json();
}

async function collection(name: string, more: object = {}): Promise<void> {
  expect(await call('POST', '/v1/collections', JSON.stringify({ name, dim: DIM, shards: 1, ...more }))).toMatchObject({
    status: 'success',
  });
}

interface Item {
  external_id: string;
  vector: number[];
  metadata?: object;
}

function items(salt: number, idOf = (i: number): string => `id-${i}`): Item[] {
  return Array.from({ length: ITEMS }, (_, i) => ({
    external_id: idOf(i),
    vector: Array.from({ length: DIM }, (__, d) => Math.sin(i * DIM + d + salt)),
    ...(i % 5 !== 0 && { metadata: { n: i, tag: `t${i % 7}`, price: i / 8, list: [1, null, true], none: {} } }),
  }));
}

const encodedBody = (given: Item[], more: object = {}): string => JSON.stringify({ items: given, ...more });
/** The same as the other, but for an escape, which the encoder does not take. */
const longBody = (given: Item[], more: object = {}): string =>
  encodedBody(given, more).replace('"external_id":"i', '"external_id":"\\u0069');

async function exported(name: string): Promise<any> {
  const { data } = await call('GET', `/v1/collections/${name}/export?limit=10000&include_vectors=true`);
  return data.vectors.map(({ version: _version, ...item }: { version: number }) => item);
}

const outcomes = ({ data }: any): unknown =>
  data.results.map(({ version: _version, ...outcome }: { version: number }) => outcome);

test.each([1, 3])('store the same, and answer the same, in a collection of %d shards', async (shards) => {
  const [short, other] = [`encoded-${shards}`, `long-${shards}`];
  await collection(short, { shards });
  await collection(other, { shards });
  expect(encodedBody(items(0)).length).toBeGreaterThan(64 * 1024);
  // The second writes each id twice, and finds some that are there.
  for (const given of [items(0), items(1, (i) => `id-${200 + (i % 150)}`)]) {
    const answers = [
      await call('POST', `/v1/collections/${short}/bulk_upsert`, encodedBody(given)),
      await call('POST', `/v1/collections/${other}/bulk_upsert`, longBody(given)),
    ];
    expect(answers.map(({ status }) => status)).toEqual(['success', 'success']);
    expect(outcomes(answers[0])).toEqual(outcomes(answers[1]));
    if (shards > 1) continue;
    const versions = answers.map(({ data }) => data.results.map(({ version }: { version: number }) => version));
    for (const [first, ...more] of versions) expect(more).toEqual(more.map((_: number, i: number) => first + i + 1));
  }
  const stored = await exported(short);
  expect(stored).toHaveLength(350);
  expect(stored).toEqual(await exported(other));
  const search = JSON.stringify({ vector: items(0)[7].vector, k: 5, filters: { tag: 't0' } });
  const [found, wanted] = [
    await call('POST', `/v1/collections/${short}/search`, search),
    await call('POST', `/v1/collections/${other}/search`, search),
  ];
  expect(found.data.results[0].external_id).toBe('id-7');
  expect(found.data.results).toEqual(wanted.data.results);
});

test.each([
  ['of another dimension', (given: Item[]) => given.map((item) => ({ ...item, vector: item.vector.slice(1) })), {}],
  [
    'one of which has another dimension',
    (given: Item[]) => given.map((item, i) => (i === 200 ? { ...item, vector: item.vector.slice(1) } : item)),
    {},
  ],
  [
    'one of which has another dimension, where such are skipped',
    (given: Item[]) => given.map((item, i) => (i === 200 ? { ...item, vector: item.vector.slice(1) } : item)),
    { on_error: 'skip' },
  ],
  [
    'all of which have another dimension, where such are skipped',
    (given: Item[]) => given.map((item) => ({ ...item, vector: item.vector.slice(1) })),
    { on_error: 'skip' },
  ],
  ['more than a request may have', (given: Item[]) => [...given, ...given, ...given, ...given], {}],
  ['with an option that there is not', (given: Item[]) => given, { on_error: 'perhaps' }],
])('items %s: are answered the same', async (_what, change, more) => {
  const name = `same-${_what.replace(/\W/g, '-')}`.slice(0, 60);
  await collection(`${name}-encoded`);
  await collection(`${name}-long`);
  const given = change(items(0));
  const answers = [
    await call('POST', `/v1/collections/${name}-encoded/bulk_upsert`, encodedBody(given, more)),
    await call('POST', `/v1/collections/${name}-long/bulk_upsert`, longBody(given, more)),
  ];
  const [encoded, long] = answers.map((answer) =>
    JSON.stringify({ ...answer, request_id: null })
      .replaceAll(`${name}-encoded`, 'c')
      .replaceAll(`${name}-long`, 'c')
      .replaceAll(/"version":\d+/g, '"version":0'),
  );
  expect(encoded).toBe(long);
  expect(await exported(`${name}-encoded`)).toEqual(await exported(`${name}-long`));
});

test('several shards, a time to live, a quota and an Idempotency-Key get the items, too', async () => {
  for (const [name, more, headers] of [
    ['sharded', { shards: 3 }, {}],
    ['living', { ttl_seconds: 3600 }, {}],
    ['bounded', { quota: { items: ITEMS } }, {}],
    ['once', {}, { 'idempotency-key': 'the-first' }],
  ] as const) {
    await collection(name, name === 'bounded' ? {} : more);
    const given = items(3);
    const answer = await call('POST', `/v1/collections/${name}/bulk_upsert`, encodedBody(given), headers);
    expect(answer.data.results.map(({ external_id, status }: any) => `${external_id} ${status}`)).toEqual(
      given.map(({ external_id }) => `${external_id} inserted`),
    );
    if (name === 'once')
      expect(await call('POST', `/v1/collections/${name}/bulk_upsert`, encodedBody(given), headers)).toMatchObject({
        data: answer.data,
      });
    expect(new Set((await exported(name)).map(({ external_id }: Item) => external_id))).toEqual(
      new Set(given.map(({ external_id }) => external_id)),
    );
  }
});

test('many at once, of other sizes, keep their memory apart', async () => {
  await collection('many');
  const writes = Array.from({ length: 24 }, (_, n) => [
    ...items(n, (i) => `w${n}-${i}`),
    ...items(-n, (i) => `v${n}-${i}`).slice(0, (n % 3) * 40),
  ]);
  const answers = await Promise.all(
    writes.map((given) => call('POST', '/v1/collections/many/bulk_upsert', encodedBody(given))),
  );
  for (const [n, answer] of answers.entries()) {
    expect(answer).toMatchObject({ status: 'success' });
    expect(outcomes(answer)).toEqual(
      (writes[n] as Item[]).map(({ external_id }) => expect.objectContaining({ external_id, status: 'inserted' })),
    );
  }
  const stored = new Map((await exported('many')).map((item: Item) => [item.external_id, item]));
  const wanted = writes.flat();
  expect(stored.size).toBe(wanted.length);
  for (const { external_id, vector, metadata = {} } of wanted) {
    expect(stored.get(external_id)).toMatchObject({ metadata });
    expect(Float32Array.from((stored.get(external_id) as Item).vector)).toEqual(Float32Array.from(vector));
  }
});
