import { InvalidValueError, QuiverClient, type QuiverCollection } from '../../../../../clients/typescript/src/index';
import { jsonValue } from '../../../../../clients/typescript/src/sent-values';
import { recordingFetch, success } from '../../../../support/http/recording-fetch';

/** What programs have in metadata, filters, ids and vectors, as the TypeScript client sends it. */

const base64 = (...numbers: number[]): string => Buffer.from(Float32Array.from(numbers).buffer).toString('base64');

function collectionOver<Meta extends object = Record<string, unknown>>(
  ...script: Parameters<typeof recordingFetch>
): { items: QuiverCollection<Meta>; client: QuiverClient; bodies: () => any[] } {
  const { fetch, calls } = recordingFetch(...script);
  const client = new QuiverClient({ url: 'http://service:1', apiKey: 'secret', fetch, retry: { retries: 0 } });
  return {
    client,
    items: client.collection<Meta>('c'),
    bodies: () => calls.map(({ body }) => (body === null ? null : JSON.parse(body))),
  };
}

function errorOf(run: () => unknown): InvalidValueError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidValueError);
    return error as InvalidValueError;
  }
  throw new Error('nothing was thrown');
}

test.each<[string, unknown, unknown]>([
  ['a moment', new Date('2024-01-02T03:04:05.678+05:30'), '2024-01-01T21:34:05.678Z'],
  ['a whole number of BigInt', 7n, 7],
  ['one beyond 2^53', 2n ** 53n, '9007199254740992'],
  ['one below', -(2n ** 63n), '-9223372036854775808'],
  ['a Map', new Map<unknown, unknown>([['a', new Map([[1, 2n]])]]), { a: { '1': 2 } }],
  ['a Set', new Set([1, new Date(0)]), [1, '1970-01-01T00:00:00.000Z']],
  ['an array of float32', Float32Array.of(0.5, 1), [0.5, 1]],
  [
    'numbers of float32 in their shortest digits',
    Float32Array.of(0.1, -3.3e-30, 2 ** 40, 16777217.5),
    [0.1, -3.3e-30, 2 ** 40, 16777218],
  ],
  ['an array of BigInt', BigInt64Array.of(1n, 2n ** 62n), [1, String(2n ** 62n)]],
  ['bytes', Uint8Array.of(0, 255), 'AP8='],
  ['a Buffer', Buffer.from([0, 255]), 'AP8='],
  ['an ArrayBuffer', Uint8Array.of(0, 255).buffer, 'AP8='],
  ['what has toJSON', new URL('http://x/'), 'http://x/'],
  [
    'deep values',
    { list: [{ at: new Date(0) }, 1], none: null },
    { list: [{ at: '1970-01-01T00:00:00.000Z' }, 1], none: null },
  ],
  ['a name that objects have', JSON.parse('{"__proto__": 1, "x": 2}'), JSON.parse('{"__proto__": 1, "x": 2}')],
])('%s becomes a value of JSON', (_name, given, expected) => {
  expect(JSON.stringify(jsonValue({ x: given }, 'metadata'))).toBe(JSON.stringify({ x: expected }));
});

test('what is JSON already is not copied', () => {
  const given = { a: [1, 'x', null, true], b: { c: undefined } };
  expect(jsonValue(given, 'metadata')).toBe(given);
  const proto = JSON.parse('{"__proto__": {"n": 1}, "big": 0}') as Record<string, unknown>;
  proto.big = 1n;
  expect(JSON.stringify(jsonValue(proto, 'metadata'))).toBe('{"__proto__":{"n":1},"big":1}');
});

const loop: Record<string, unknown> = {};
loop.self = loop;
test.each<[unknown, string]>([
  [{ x: Number.NaN }, 'metadata.x: NaN is no value of JSON'],
  [{ list: [1, { deep: Number.POSITIVE_INFINITY }] }, 'metadata.list[1].deep: Infinity is no value of JSON'],
  [{ at: new Date('never') }, 'metadata.at: is an invalid Date'],
  [{ f: () => 1 }, 'metadata.f: is a function, which JSON has not'],
  [{ s: Symbol('x') }, 'metadata.s: is a symbol, which JSON has not'],
  [{ p: Promise.resolve(1) }, 'metadata.p: is a Promise: await it'],
  [{ f: Float32Array.of(0.5, Number.NaN) }, 'metadata.f[1]: NaN is no value of JSON'],
  [{ e: new TypeError('x') }, 'metadata.e: is an Error: give its message'],
  [{ r: /x/ }, 'metadata.r: is a RegExp, which JSON has not'],
  [new Map<unknown, unknown>([[{}, 1]]), 'metadata: a key of the Map is no text'],
  [
    new Map<unknown, unknown>([
      [1, 1],
      ['1', 2],
    ]),
    'metadata: two keys of the Map are "1" as texts',
  ],
  [Float64Array.of(Number.NaN), 'metadata[0]: NaN is no value of JSON'],
  [loop, 'metadata: is nested too deeply, or holds itself'],
])('what JSON has not is named by its place: %#', (given, message) => {
  expect(errorOf(() => jsonValue(given, 'metadata')).message).toBe(message);
});

test('an item that can not be sent is named with its place, and nothing is sent', async () => {
  const { items, bodies } = collectionOver();
  const good = { external_id: 'a', text: 'x' };
  const bad = { external_id: 'b7', vector: [1, 2], metadata: { tags: [Number.NaN] } };
  const error = await items.bulkUpsert([good, bad]).catch((reason: unknown) => reason as InvalidValueError);
  expect(error).toMatchObject({
    message: 'item 1 ("b7"), metadata.tags[0]: NaN is no value of JSON',
    position: 1,
    external_id: 'b7',
    field: 'metadata.tags[0]',
    name: 'InvalidValueError',
  });
  await expect(items.upsertMany([good, bad])).rejects.toThrow('item 1 ("b7"), metadata.tags[0]: NaN');
  await expect(items.upsert(bad)).rejects.toThrow('"b7", metadata.tags[0]: NaN');
  await expect(items.upsert({ external_id: 'a', vector: [0.5, Number.NaN] })).rejects.toThrow(
    '"a", vector: number 1 is NaN',
  );
  await expect(items.search({ vector: [1], filters: { $or: [{ year: { $gt: Number.NaN } }] } })).rejects.toThrow(
    'filters.$or[0].year.$gt: NaN',
  );
  await expect(items.bulkSearch([{ vector: [1] }, { vector: [1e39] }])).rejects.toThrow(
    'queries[1].vector: number 0 is 1e+39, beyond what float32 holds',
  );
  await expect(items.patch('a', { metadata: { n: Number.NaN } })).rejects.toThrow('metadata.n: NaN');
  expect(bodies()).toEqual([]);
});

test('items that can not be sent are handed over, and the others written', async () => {
  const { items, bodies } = collectionOver(success({ results: [{}, {}] }));
  const rejected: string[] = [];
  const given = [
    { external_id: 'a', text: 'x' },
    { external_id: 'b', vector: [Number.NaN] },
    { external_id: 'c', text: 'y' },
  ];
  const progress = await items.upsertMany(given, {
    onRejected: (item, error) => rejected.push(`${item.external_id} ${error.message}`),
  });
  expect(progress).toMatchObject({ items: 2, rejected: 1 });
  expect(rejected).toEqual(['b item 1 ("b"), vector: number 0 is NaN']);
  expect(bodies()[0].items.map(({ external_id }: { external_id: string }) => external_id)).toEqual(['a', 'c']);
});

test('whole numbers are ids, and one is not the text of another in one call', async () => {
  const { items, bodies } = collectionOver(
    success({ results: [] }),
    success({ vectors: [] }),
    success({ deleted_ids: [] }),
  );
  await items.bulkUpsert([1, 2n, -3, 'x', '01', 1].map((external_id) => ({ external_id, text: 'x' })));
  await items.fetch([1, 2n, 'x']);
  await items.deleteBatch([1]);
  expect(bodies()[0].items.map(({ external_id }: { external_id: string }) => external_id)).toEqual([
    '1',
    '2',
    '-3',
    'x',
    '01',
    '1',
  ]);
  expect(bodies()[1].ids).toEqual(['1', '2', 'x']);
  expect(bodies()[2].external_ids).toEqual(['1']);
  const collision = items.upsertMany<string | number>([
    { external_id: '1', text: 'x' },
    { external_id: 1, text: 'x' },
  ]);
  await expect(collision).rejects.toThrow(
    'item 1 ("1"), external_id: the number 1 of item 1 and the text "1" of item 0 are one id',
  );
  for (const id of [1.5, Number.NaN, 2 ** 53, null, {}, true])
    await expect(items.get(id as never)).rejects.toBeInstanceOf(InvalidValueError);
});

test('arrays of every number type are vectors', async () => {
  const { items, bodies } = collectionOver(...Array.from({ length: 9 }, () => success({ results: [] })));
  const types = [
    Float64Array,
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
  ];
  for (const type of types) await items.search({ vector: type.of(1, 2) });
  await items.search({ vector: BigInt64Array.of(1n, 2n) });
  expect(bodies().map(({ vector }) => vector)).toEqual(Array.from({ length: 9 }, () => base64(1, 2)));
  await expect(items.search({ vector: [[1]] as never })).rejects.toThrow('vector: is a list of lists, not one vector');
  await expect(items.search({ vector: ['1'] as never })).rejects.toThrow('vector: number 0 is of type string');
  await expect(items.search({ vector: { a: 1 } as never })).rejects.toThrow(
    'vector: is object, not a list of numbers; metadata are given as metadata',
  );
  for (const vector of ['some text', 'cats'])
    await expect(items.search({ vector })).rejects.toThrow('vector: is a text that is no base64 of float32 values');
});

test('an answer is gone through, and has a length, as its list, without other members than before', async () => {
  const hit = { external_id: 'a', score: 1, metadata: { year: 1851, at: '2024-01-01T00:00:00.000Z' } };
  const { items, client, bodies } = collectionOver<{ year: number; at: string }>(
    success({ results: [] }),
    success({ results: [hit], k: 1 }),
    success({ vectors: [hit], next_cursor: null }),
    success({ results: [hit] }),
  );
  await items.upsert({
    external_id: 'a',
    text: 'x',
    metadata: { year: 1851n, at: new Date(0) },
    expires_at: new Date(0),
  });
  expect(bodies()[0]).toMatchObject({
    metadata: { year: 1851, at: '1970-01-01T00:00:00.000Z' },
    expires_at: '1970-01-01T00:00:00.000Z',
  });
  const answer = await items.search({ vector: [1] });
  const years: number[] = [];
  for (const { metadata } of answer) years.push(metadata.year);
  expect(years).toEqual([1851]);
  expect(answer).toHaveLength(1);
  expect(JSON.stringify(answer)).toBe(JSON.stringify({ results: [hit], k: 1 }));
  expect(answer).toEqual({ results: [hit], k: 1 });
  expect([...(await items.scrollPage())].map(({ metadata }) => metadata.at)).toEqual(['2024-01-01T00:00:00.000Z']);
  expect(Array.from(await client.query({ query: 'x', collection_name: 'c' }))).toEqual([hit]);
});

describe('a collection that is got or created', () => {
  const keyword_fields = [{ path: 'title', weight: 1 }];
  const there = { name: 'c', dim: 3, distance_metric: 'l2', language: 'en', keyword_fields };
  const missing = (): Response => new Response('{"status":"error","data":null,"error":{"code":404,"message":"none"}}');
  const taken = (): Response => new Response('{"status":"error","data":null,"error":{"code":409,"message":"exists"}}');

  test('is what is there, or made', async () => {
    const { client, bodies } = collectionOver(
      success(there),
      missing(),
      success(there),
      missing(),
      taken(),
      success(there),
    );
    const wanted = {
      name: 'c',
      dim: 3,
      distance_metric: 'l2' as const,
      description: 'for a new one',
      keyword_fields: [{ path: 'title' }],
    };
    for (let i = 0; i < 3; i++) expect((await client.getOrCreate(wanted)).name).toBe('c');
    expect(bodies()).toEqual([null, null, wanted, null, wanted, null]);
  });

  test('is refused where it differs in what can not be changed', async () => {
    const { client } = collectionOver(success(there), success(there), success(there));
    await expect(client.getOrCreate({ name: 'c', dim: 4 })).rejects.toMatchObject({
      name: 'ConflictError',
      code: 409,
      message: 'collection "c" is there, but its dim is 3, not 4; its distance_metric is l2, not cosine',
    });
    await expect(client.getOrCreate({ name: 'c', dim: 3, distance_metric: 'l2', language: 'de' })).rejects.toThrow(
      'its language is en, not de',
    );
    const other = { name: 'c', dim: 3, distance_metric: 'l2' as const, keyword_fields: [{ path: 'title', weight: 2 }] };
    await expect(client.getOrCreate(other)).rejects.toThrow(
      'its keyword_fields is [{"path":"title","weight":1}], not ',
    );
  });

  test('compares the embedding as the service shows it, and a dimension only where one is given', async () => {
    const shown = { model: 'big:m', dtype: null, query_prefix: 'q: ', passage_prefix: null, truncate_dim: null };
    const made = { ...there, distance_metric: 'cosine', embedding: shown };
    const { client } = collectionOver(success(made), success(made));
    const wanted = { name: 'c', embedding: { model: 'big:m', query_prefix: 'q: ' } };
    expect((await client.getOrCreate(wanted)).name).toBe('c');
    await expect(client.getOrCreate({ name: 'c', embedding: { model: 'big:m' } })).rejects.toThrow('its embedding is ');
  });
});
