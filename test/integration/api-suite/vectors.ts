import { type ApiAnswer, dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

const AWKWARD_IDS = [
  'a/b',
  '..',
  '.',
  '../../etc/passwd',
  'a b',
  '😀🎉',
  'x?y=1&z#w',
  '100%',
  '%2F',
  'ünï',
  '日本語',
  '"quoted"',
  '\\',
  '__proto__',
  'constructor',
  "it's",
  'a+b',
  '-',
  'a'.repeat(512),
  '🎈'.repeat(512),
];

/** Encodes everything, `.` too, so that no client or proxy can take it for a step in a path. */
const inPath = (id: string) => encodeURIComponent(id).replaceAll('.', '%2E');

/** The error of an answer, with all that it says. */
function failureOf(answer: ApiAnswer): any {
  expect(answer).toMatchObject({ httpStatus: 200, json: { status: 'error', data: null } });
  return answer.json?.error;
}

const base64 = (...values: number[]): string => Buffer.from(Float32Array.from(values).buffer).toString('base64');

export function vectorsSuite(context: SuiteContext): void {
  const upsert = (name: string, body: unknown) => context.api.post(`/v1/collections/${name}/upsert`, body);
  const bulkUpsert = (name: string, body: unknown) => context.api.post(`/v1/collections/${name}/bulk_upsert`, body);
  const show = (name: string, id: string) => context.api.get(`/v1/collections/${name}/vectors/${inPath(id)}`);
  const countOf = async (name: string): Promise<number> =>
    dataOf(await context.api.get(`/v1/collections/${name}`)).vector_count;

  describe('upsert', () => {
    test('inserts, then updates, and keeps what an update leaves out', async () => {
      const name = await context.collection();
      expect(
        dataOf(await upsert(name, { external_id: 'a', vector: [1, 2, 3], metadata: { n: 1 }, text: 'first' })),
      ).toEqual({ external_id: 'a', status: 'inserted', version: expect.any(Number) });
      expect(dataOf(await upsert(name, { external_id: 'a', vector: [4, 5, 6] }))).toEqual({
        external_id: 'a',
        status: 'updated',
        version: expect.any(Number),
      });
      expect(dataOf(await show(name, 'a'))).toEqual({
        external_id: 'a',
        vector: [4, 5, 6],
        metadata: { n: 1 },
        text: 'first',
        version: expect.any(Number),
      });
      dataOf(await upsert(name, { external_id: 'a', vector: [4, 5, 6], metadata: {}, text: null }));
      expect(dataOf(await show(name, 'a'))).toMatchObject({ metadata: {}, text: 'first' });
      expect(await countOf(name)).toBe(1);
    });

    test('embeds a text, or its other name content, when there is no vector', async () => {
      const name = await context.collection({ dim: 384 });
      dataOf(await upsert(name, { external_id: 'a', text: 'the river floods' }));
      dataOf(await upsert(name, { external_id: 'b', content: 'the river floods', vector: null }));
      const [a, b] = [dataOf(await show(name, 'a')), dataOf(await show(name, 'b'))];
      expect(a.text).toBe('the river floods');
      expect(b.vector).toEqual(a.vector);
      expect(b.text).toBe('the river floods');
    });

    test('takes the vector when there is a text too', async () => {
      const name = await context.collection();
      dataOf(await upsert(name, { external_id: 'a', vector: [1, 2, 3], text: 'kept' }));
      expect(dataOf(await show(name, 'a'))).toMatchObject({ vector: [1, 2, 3], text: 'kept' });
    });

    test('answers timing when asked', async () => {
      const name = await context.collection();
      const data = dataOf(await upsert(name, { external_id: 'a', vector: [1, 2, 3], include_timing: true }));
      expect(data.timing_ms).toEqual({ embedding_ms: 0, storage_ms: expect.any(Number), total_ms: expect.any(Number) });
      const { timing_ms: timing } = dataOf(
        await upsert(await context.collection({ dim: 384 }), {
          external_id: 'a',
          text: 'the river floods',
          include_timing: true,
        }),
      );
      expect(timing.embedding_ms).toBeGreaterThan(0);
    });

    test('gives numbers back as the shortest decimals of their float32', async () => {
      const name = await context.collection({ dim: 9 });
      const vector = '[0.1,-0,1e-45,3.4028235e38,16777217,1e-5,0.30000001192092896,1.17549435E-38,100]';
      dataOf(await context.api.post(`/v1/collections/${name}/upsert`, `{"external_id":"a","vector":${vector}}`));
      const answer = await show(name, 'a');
      expect(dataOf(answer).vector).toEqual([0.1, -0, 1e-45, 3.4028235e38, 16777216, 0.00001, 0.3, 1.1754944e-38, 100]);
      expect(answer.text).toContain('"vector":[0.1,-0,');
    });

    test('takes a vector as base64 of little-endian float32 wherever an array may stand', async () => {
      const name = await context.collection();
      dataOf(await upsert(name, { external_id: 'a', vector: base64(0.1, -2, 3e-40) }));
      dataOf(
        await bulkUpsert(name, {
          items: [
            { external_id: 'b', vector: base64(1, 2, 3) },
            { external_id: 'c', vector: [3, 2, 1] },
          ],
        }),
      );
      expect(dataOf(await show(name, 'a')).vector).toEqual([0.1, -2, 3e-40]);
      const found = [base64(1, 2, 3), [1, 2, 3]].map(
        async (vector) => dataOf(await context.api.post(`/v1/collections/${name}/search`, { vector, k: 3 })).results,
      );
      expect((await found[0]).map((hit: { external_id: string }) => hit.external_id)).toEqual(['b', 'c', 'a']);
      expect(await found[0]).toEqual(await found[1]);
    });

    test('answers vectors as base64 of little-endian float32 when asked, wherever it answers them', async () => {
      const name = await context.collection();
      const [a, b] = [base64(0.1, -2, 3e-40), base64(1, 2, 3)];
      dataOf(
        await bulkUpsert(name, { items: [a, b].map((vector, i) => ({ external_id: 'ab'[i], vector, text: 'x' })) }),
      );
      const path = `/v1/collections/${name}`;
      const vectorsOf = (answer: ApiAnswer) => dataOf(answer).vectors.map(({ vector }: any) => vector);
      const ways = async (format?: string) => [
        [
          dataOf(await context.api.get(`${path}/vectors/a${format === undefined ? '' : `?vector_format=${format}`}`))
            .vector,
          b,
        ],
        vectorsOf(await context.api.post(`${path}/vectors/fetch`, { ids: ['a', 'b'], vector_format: format })),
        vectorsOf(await context.api.post(`${path}/scroll`, { vector_format: format })),
        vectorsOf(await context.api.get(`${path}/export${format === undefined ? '' : `?vector_format=${format}`}`)),
      ];
      for (const vectors of await ways('base64')) expect(vectors).toEqual([a, b]);
      expect(await ways('array')).toEqual(await ways());
      expect((await ways())[1]).toEqual([
        [0.1, -2, 3e-40],
        [1, 2, 3],
      ]);
      expect(
        dataOf(
          await context.api.post(`${path}/vectors/fetch`, {
            ids: ['a'],
            vector_format: 'base64',
            include_vectors: false,
          }),
        ).vectors[0],
      ).not.toHaveProperty('vector');
      for (const way of ['vectors/a', 'export'])
        expect(errorOf(await context.api.get(`${path}/${way}?vector_format=hex`), 400)).toContain('vector_format');
      for (const way of ['vectors/fetch', 'scroll', 'sample'])
        expect(errorOf(await context.api.post(`${path}/${way}`, { ids: ['a'], vector_format: 'hex' }), 422)).toContain(
          'vector_format',
        );
    });

    test.each([
      ['no external_id', { vector: [1, 2, 3] }, 422, 'external_id'],
      ['a number as external_id', { external_id: 7, vector: [1, 2, 3] }, 422, 'external_id'],
      ['an empty external_id', { external_id: '', vector: [1, 2, 3] }, 422, 'external_id'],
      ['an external_id of 513 characters', { external_id: 'a'.repeat(513), vector: [1, 2, 3] }, 422, 'external_id'],
      ['a control character in the external_id', { external_id: 'a\u0000', vector: [1, 2, 3] }, 422, 'external_id'],
      ['a lone surrogate in the external_id', { external_id: 'a\ud800', vector: [1, 2, 3] }, 422, 'external_id'],
      ['neither vector nor text', { external_id: 'a' }, 422, 'vector'],
      ['a blank text alone', { external_id: 'a', text: ' ' }, 400, 'text'],
      ['a text that is a number', { external_id: 'a', text: 5 }, 422, 'text'],
      ['a vector that is a text', { external_id: 'a', vector: '1,2,3' }, 422, 'vector'],
      ['a vector with a text in it', { external_id: 'a', vector: [1, '2', 3] }, 422, 'vector[1]'],
      ['a vector with null in it', { external_id: 'a', vector: [1, 2, null] }, 422, 'vector[2]'],
      ['a vector in a vector', { external_id: 'a', vector: [[1, 2, 3]] }, 422, 'vector[0]'],
      ['a number beyond float32', { external_id: 'a', vector: [1, 1e39, 3] }, 422, 'vector[1]'],
      ['a vector that is too short', { external_id: 'a', vector: [1, 2] }, 400, 'dimension'],
      ['a vector that is too long', { external_id: 'a', vector: [1, 2, 3, 4] }, 400, 'dimension'],
      ['an empty vector', { external_id: 'a', vector: [] }, 400, 'dimension'],
      ['a vector beyond MAX_VECTOR_DIM', { external_id: 'a', vector: new Array(16385).fill(0) }, 400, 'vector'],
      ['base64 with other characters', { external_id: 'a', vector: 'AAAA*AAAAAAAAAAA' }, 422, 'base64'],
      ['base64 of the URL alphabet', { external_id: 'a', vector: '-_8AAAAAAAAAAAAA' }, 422, 'base64'],
      ['base64 without its padding', { external_id: 'a', vector: 'AAAAAAA' }, 422, 'base64'],
      ['base64 with a space in it', { external_id: 'a', vector: 'AAAA AAAAAAAAAAA' }, 422, 'base64'],
      ['base64 with padding inside', { external_id: 'a', vector: 'AAA=AAAAAAAAAAAA' }, 422, 'base64'],
      ['base64 of half a float32', { external_id: 'a', vector: 'AAAAAAA=' }, 422, 'base64'],
      ['base64 of too few numbers', { external_id: 'a', vector: Buffer.alloc(8).toString('base64') }, 400, 'dimension'],
      ['base64 of nothing', { external_id: 'a', vector: '' }, 400, 'dimension'],
      ['base64 of a NaN', { external_id: 'a', vector: base64(1, NaN, 3) }, 422, 'vector[1]'],
      ['base64 of an infinity', { external_id: 'a', vector: base64(1, 2, -Infinity) }, 422, 'vector[2]'],
      [
        'base64 beyond MAX_VECTOR_DIM',
        { external_id: 'a', vector: base64(...new Array(16385).fill(0)) },
        400,
        'MAX_VECTOR_DIM',
      ],
      ['base64 far beyond MAX_VECTOR_DIM', { external_id: 'a', vector: 'A'.repeat(400_000) }, 400, 'MAX_VECTOR_DIM'],
      ['metadata that is an array', { external_id: 'a', vector: [1, 2, 3], metadata: [] }, 422, 'metadata'],
      ['metadata that is a text', { external_id: 'a', vector: [1, 2, 3], metadata: '{}' }, 422, 'metadata'],
      [
        'metadata beyond MAX_METADATA_BYTES',
        { external_id: 'a', vector: [1, 2, 3], metadata: { text: 'é'.repeat(32768) } },
        400,
        'metadata',
      ],
      [
        'include_timing that is a text',
        { external_id: 'a', vector: [1, 2, 3], include_timing: 'true' },
        422,
        'include_timing',
      ],
    ])('refuses %s and stores nothing', async (_title, body, code, named) => {
      const name = await context.empty();
      expect(errorOf(await upsert(name, body), code)).toContain(named);
      expect(await countOf(name)).toBe(0);
    });

    test('refuses numbers out of range and nesting without end in metadata', async () => {
      const name = await context.empty();
      const send = (metadata: string) =>
        context.api.post(
          `/v1/collections/${name}/upsert`,
          `{"external_id":"a","vector":[1,2,3],"metadata":${metadata}}`,
        );
      expect(errorOf(await send('{"a":[1e400]}'), 422)).toContain('metadata');
      expect(errorOf(await send(`{"a":${'['.repeat(50)}${']'.repeat(50)}}`), 400)).toBe(
        'metadata must be at most 32 levels deep',
      );
      expect(errorOf(await send(`{"a":${'['.repeat(20000)}${']'.repeat(20000)}}`), 400)).toContain('MAX_JSON_DEPTH');
      errorOf(
        await context.api.post(`/v1/collections/${name}/upsert`, '{"external_id":"a","vector":[1,1e400,3]}'),
        422,
      );
      expect(await countOf(name)).toBe(0);
    });

    test('keeps keys such as __proto__ in metadata as data', async () => {
      const name = await context.collection();
      const metadata = '{"__proto__":{"admin":true},"constructor":1,"nested":{"__proto__":[1]}}';
      dataOf(
        await context.api.post(
          `/v1/collections/${name}/upsert`,
          `{"external_id":"a","vector":[1,2,3],"metadata":${metadata}}`,
        ),
      );
      expect((await show(name, 'a')).text).toContain(metadata);
      expect(({} as any).admin).toBeUndefined();
    });
  });

  describe('ids of any kind', () => {
    test.each(AWKWARD_IDS)('%p is stored, shown, searched and deleted', async (id) => {
      const name = await context.empty();
      expect(dataOf(await upsert(name, { external_id: id, vector: [1, 2, 3] }))).toEqual({
        external_id: id,
        status: 'inserted',
        version: expect.any(Number),
      });
      expect(dataOf(await show(name, id)).external_id).toBe(id);
      expect(
        dataOf(await context.api.post(`/v1/collections/${name}/search`, { vector: [1, 2, 3] })).results[0].external_id,
      ).toBe(id);
      expect(dataOf(await context.api.post(`/v1/collections/${name}/recommend/${inPath(id)}`)).source_id).toBe(id);
      const encoded = encodeURIComponent(id);
      expect(
        dataOf(await context.api.post(`/v1/collections/${name}/similarity?id1=${encoded}&id2=${encoded}`)).id1,
      ).toBe(id);
      expect(dataOf(await context.api.delete(`/v1/collections/${name}/delete/${inPath(id)}`))).toEqual({
        deleted: id,
        external_id: id,
        status: 'deleted',
      });
      errorOf(await show(name, id), 404);
    });

    test('dots are no steps in a path even when they arrive unencoded', async () => {
      const name = await context.collection();
      dataOf(await upsert(name, { external_id: '..', vector: [1, 2, 3] }));
      expect(dataOf(await context.api.get(`/v1/collections/${name}/vectors/..`)).external_id).toBe('..');
    });

    test('an id that can’t be one is a 400 in a path', async () => {
      const name = await context.empty();
      errorOf(await context.api.get(`/v1/collections/${name}/vectors/%00`), 400);
      errorOf(await context.api.delete(`/v1/collections/${name}/delete/${'a'.repeat(513)}`), 400);
    });
  });

  describe('bulk_upsert', () => {
    test('applies items in order, an id twice too', async () => {
      const name = await context.collection();
      const items = [
        { external_id: 'a', vector: [1, 0, 0], metadata: { v: 1 } },
        { external_id: 'b', vector: [0, 1, 0] },
        { external_id: 'a', vector: [0, 0, 1] },
      ];
      expect(dataOf(await bulkUpsert(name, { items, include_timing: true }))).toMatchObject({
        results: [
          { external_id: 'a', status: 'inserted' },
          { external_id: 'b', status: 'inserted' },
          { external_id: 'a', status: 'updated' },
        ],
        timing_ms: { embedding_ms: 0, storage_ms: expect.any(Number), total_ms: expect.any(Number) },
      });
      expect(dataOf(await show(name, 'a'))).toMatchObject({ vector: [0, 0, 1], metadata: { v: 1 } });
    });

    test('of nothing is a success with no results', async () => {
      expect(dataOf(await bulkUpsert(await context.empty(), { items: [] }))).toEqual({ results: [] });
    });

    test('takes 1000 items and refuses 1001 with a 400', async () => {
      const name = await context.collection();
      const items = Array.from({ length: 1001 }, (_, i) => ({ external_id: `v${i}`, vector: [i, 1, 2] }));
      expect(errorOf(await bulkUpsert(name, { items }), 400)).toContain('1000');
      expect(await countOf(name)).toBe(0);
      expect(dataOf(await bulkUpsert(name, { items: items.slice(0, 1000) })).results).toHaveLength(1000);
      expect(await countOf(name)).toBe(1000);
    });

    test.each([
      ['an item without a vector', { external_id: 'bad' }, 422],
      ['an item that is no object', 5, 422],
      ['a wrong length', { external_id: 'bad', vector: [1] }, 400],
      ['a number beyond float32', { external_id: 'bad', vector: [1, 2, -1e39] }, 422],
      ['wrong metadata', { external_id: 'bad', vector: [1, 2, 3], metadata: 5 }, 422],
      ['metadata too large', { external_id: 'bad', vector: [1, 2, 3], metadata: { text: 'x'.repeat(65536) } }, 400],
    ])('with %s is refused whole, naming the item', async (_title, bad, code) => {
      const name = await context.empty();
      const message = errorOf(
        await bulkUpsert(name, { items: [{ external_id: 'good', vector: [1, 2, 3] }, bad] }),
        code,
      );
      expect(message).toContain('items[1]');
      if (typeof bad === 'object') expect(message).toContain('bad');
      expect(await countOf(name)).toBe(0);
    });

    test.each([[{}], [{ items: null }], [{ items: {} }], [{ items: 'x' }]])(
      'without a list of items is a 422: %j',
      async (body) => {
        expect(errorOf(await bulkUpsert(await context.empty(), body), 422)).toContain('items');
      },
    );
  });

  describe('versions and conditions', () => {
    test('a version rises with each change, and not with the same data in another item', async () => {
      const name = await context.collection();
      const first = dataOf(await upsert(name, { external_id: 'a', vector: [1, 2, 3] })).version;
      const [second, other] = dataOf(
        await bulkUpsert(name, { items: ['a', 'b'].map((id) => ({ external_id: id, vector: [1, 2, 3] })) }),
      ).results.map((one: { version: number }) => one.version);
      expect(second).toBeGreaterThan(first);
      expect(dataOf(await show(name, 'a')).version).toBe(second);
      const scrolled = dataOf(await context.api.post(`/v1/collections/${name}/scroll`, {})).vectors;
      expect(scrolled.map((one: { version: number }) => one.version)).toEqual([second, other]);
      expect(
        dataOf(await context.api.post(`/v1/collections/${name}/vectors/fetch`, { ids: ['b'] })).vectors[0].version,
      ).toBe(other);
      expect(
        dataOf(await context.api.get(`/v1/collections/${name}/export`)).vectors.map(
          (one: { version: number }) => one.version,
        ),
      ).toEqual([second, other]);
      dataOf(await context.api.delete(`/v1/collections/${name}/delete/a`));
      expect(dataOf(await upsert(name, { external_id: 'a', vector: [1, 2, 3] })).version).toBeGreaterThan(second);
    });

    test('an upsert is done only if the item is as it says', async () => {
      const name = await context.collection();
      const { version } = dataOf(await upsert(name, { external_id: 'a', vector: [1, 2, 3], only_if: 'absent' }));
      const refused = failureOf(await upsert(name, { external_id: 'a', vector: [3, 2, 1], only_if: 'absent' }));
      expect(refused).toEqual({
        code: 409,
        message: `external_id "a" exists already, in version ${version}; nothing was written`,
        conflicts: [{ external_id: 'a', version }],
      });
      expect(
        failureOf(await upsert(name, { external_id: 'a', vector: [3, 2, 1], if_version: version + 1 })),
      ).toMatchObject({ code: 409, conflicts: [{ version }] });
      expect(failureOf(await upsert(name, { external_id: 'b', vector: [3, 2, 1], only_if: 'present' }))).toMatchObject({
        code: 409,
        message: 'external_id "b" does not exist; nothing was written',
        conflicts: [{ version: null }],
      });
      expect(dataOf(await upsert(name, { external_id: 'a', vector: [3, 2, 1], if_version: version }))).toMatchObject({
        status: 'updated',
      });
      expect(
        failureOf(await upsert(name, { external_id: 'a', vector: [1, 2, 3], if_version: version, only_if: 'absent' })),
      ).toMatchObject({
        code: 422,
        message: 'only_if must not be "absent" beside if_version',
      });
      for (const wrong of [{ if_version: 0 }, { if_version: '1' }, { only_if: 'never' }])
        expect(failureOf(await upsert(name, { external_id: 'a', vector: [1, 2, 3], ...wrong })).code).toBe(422);
      expect(dataOf(await show(name, 'a')).vector).toEqual([3, 2, 1]);
    });

    test('a batch is written as a whole, or without what is not as it says', async () => {
      const name = await context.collection();
      dataOf(
        await bulkUpsert(name, {
          items: Array.from({ length: 20 }, (_, i) => ({ external_id: `i${i}`, vector: [i, 1, 1] })),
        }),
      );
      const { version } = dataOf(await show(name, 'i3'));
      const items = Array.from({ length: 22 }, (_, i) => ({
        external_id: `i${i}`,
        vector: [0, 0, 1],
        ...(i === 3 || i > 19 ? { only_if: 'absent' } : {}),
      }));
      expect(failureOf(await bulkUpsert(name, { items }))).toEqual({
        code: 409,
        message: `external_id "i3" exists already, in version ${version}; nothing was written`,
        conflicts: [{ external_id: 'i3', version }],
      });
      expect(dataOf(await show(name, 'i0')).vector).toEqual([0, 1, 1]);
      expect(await countOf(name)).toBe(20);
      const { results } = dataOf(await bulkUpsert(name, { items, on_error: 'skip' }));
      expect(results[3]).toEqual({
        external_id: 'i3',
        status: 'conflict',
        version,
        index: 3,
        error: { code: 409, message: `external_id "i3" exists already, in version ${version}` },
      });
      expect(results.filter((one: { status: string }) => one.status === 'updated')).toHaveLength(19);
      expect(results.slice(20)).toMatchObject([{ status: 'inserted' }, { status: 'inserted' }]);
      expect(dataOf(await show(name, 'i3')).vector).toEqual([3, 1, 1]);
    });

    test('a batch that skips tells of each item what is wrong with it', async () => {
      const name = await context.collection();
      const items = [
        { external_id: 'a', vector: [1, 2, 3] },
        { external_id: '', vector: [1, 2, 3] },
        { external_id: 'c', vector: [1, 2] },
        { vector: [1, 2, 3] },
        null,
        { external_id: 'f', vector: [1, 'x', 3] },
        { external_id: 'g', vector: [3, 2, 1], only_if: 'present' },
        { external_id: 'h', vector: [3, 2, 1] },
      ];
      const { results } = dataOf(await bulkUpsert(name, { items, on_error: 'skip' }));
      expect(results).toEqual([
        { external_id: 'a', status: 'inserted', version: expect.any(Number) },
        {
          external_id: '',
          status: 'invalid',
          index: 1,
          error: { code: 422, message: 'items[1].external_id (external_id "") must not be empty' },
        },
        {
          external_id: 'c',
          status: 'invalid',
          index: 2,
          error: {
            code: 400,
            message: expect.stringContaining('the vector of items[2] (external_id "c") has dimension 2'),
          },
        },
        {
          external_id: null,
          status: 'invalid',
          index: 3,
          error: { code: 422, message: 'items[3].external_id is required' },
        },
        {
          external_id: null,
          status: 'invalid',
          index: 4,
          error: { code: 422, message: expect.stringContaining('items[4]') },
        },
        {
          external_id: 'f',
          status: 'invalid',
          index: 5,
          error: { code: 422, message: expect.stringContaining('items[5].vector[1]') },
        },
        {
          external_id: 'g',
          status: 'conflict',
          index: 6,
          error: { code: 409, message: 'external_id "g" does not exist' },
        },
        { external_id: 'h', status: 'inserted', version: expect.any(Number) },
      ]);
      expect(await countOf(name)).toBe(2);
      expect(failureOf(await bulkUpsert(name, { items })).code).toBe(422);
      expect(dataOf(await bulkUpsert(name, { items: [null], on_error: 'skip' })).results).toHaveLength(1);
    });

    test('a deletion is done only in the version that it says', async () => {
      const name = await context.collection();
      const [a, b] = dataOf(
        await bulkUpsert(name, { items: ['a', 'b'].map((id) => ({ external_id: id, vector: [1, 2, 3] })) }),
      ).results.map((one: { version: number }) => one.version);
      const drop = (id: string, version: number | string) =>
        context.api.delete(`/v1/collections/${name}/delete/${id}?if_version=${version}`);
      const dropAll = (if_versions: unknown) =>
        context.api.post(`/v1/collections/${name}/delete_batch`, { external_ids: ['a', 'b'], if_versions });
      expect(failureOf(await drop('a', a + 1))).toMatchObject({
        code: 409,
        conflicts: [{ external_id: 'a', version: a }],
      });
      expect(failureOf(await drop('nobody', 5))).toMatchObject({ code: 409, conflicts: [{ version: null }] });
      expect(failureOf(await drop('a', 'x')).code).toBe(400);
      expect(failureOf(await dropAll([a, b + 1]))).toMatchObject({
        code: 409,
        conflicts: [{ external_id: 'b', version: b }],
      });
      expect(failureOf(await dropAll([a])).message).toBe('if_versions has 1 elements, and external_ids 2');
      expect(await countOf(name)).toBe(2);
      expect(dataOf(await dropAll([null, b]))).toMatchObject({ deleted_count: 2 });
      dataOf(await upsert(name, { external_id: 'a', vector: [1, 2, 3] }));
      dataOf(await drop('a', dataOf(await show(name, 'a')).version));
    });
  });

  describe('patch, update_by_filter', () => {
    const patch = (name: string, id: string, body: unknown) =>
      context.api.patch(`/v1/collections/${name}/vectors/${inPath(id)}`, body);

    test('metadata are merged, and what is left out stays', async () => {
      const name = await context.collection();
      dataOf(
        await upsert(name, {
          external_id: 'a/b',
          vector: [1, 2, 3],
          text: 'a text',
          metadata: { keep: [1], drop: 1, deep: { a: 1, b: 2 }, flat: 1 },
        }),
      );
      const { version } = dataOf(
        await patch(name, 'a/b', {
          metadata: { drop: null, deep: { b: null, c: 3 }, flat: { x: null, y: 1 }, __proto__: {} },
        }),
      );
      expect(dataOf(await show(name, 'a/b'))).toEqual({
        external_id: 'a/b',
        vector: [1, 2, 3],
        text: 'a text',
        metadata: { keep: [1], deep: { a: 1, c: 3 }, flat: { y: 1 } },
        version,
      });
      const search = async (filters: object) =>
        dataOf(await context.api.post(`/v1/collections/${name}/search`, { vector: [1, 2, 3], filters })).results.length;
      expect([await search({ drop: 1 }), await search({ 'deep.c': 3 })]).toEqual([0, 1]);
      dataOf(
        await patch(name, 'a/b', { metadata: { only: null }, metadata_mode: 'replace', text: '', vector: [3, 2, 1] }),
      );
      expect(dataOf(await show(name, 'a/b'))).toMatchObject({ vector: [3, 2, 1], text: '', metadata: { only: null } });
      expect(await countOf(name)).toBe(1);
    });

    test('a new text gets a new vector where the former one was made of its text', async () => {
      const name = await context.collection({ dim: 384 });
      dataOf(
        await bulkUpsert(name, {
          items: [
            { external_id: 'a', text: 'the river floods' },
            { external_id: 'b', text: 'a quiet street' },
          ],
        }),
      );
      const vectorOf = async (id: string): Promise<number[]> => dataOf(await show(name, id)).vector;
      const before = await vectorOf('b');
      expect((await patch(name, 'b', { text: 'the river floods', embed: false })).json).toMatchObject({
        status: 'success',
        warnings: [expect.stringContaining('embed: false')],
      });
      expect(dataOf(await show(name, 'b'))).toMatchObject({ vector: before, text: 'the river floods' });
      expect((await patch(name, 'b', { text: 'the river rises' })).json).toMatchObject({
        status: 'success',
        warnings: [expect.stringContaining('embed: true')],
      });
      expect(await vectorOf('b')).toEqual(before);
      dataOf(await patch(name, 'b', { text: 'a loud street', embed: true }));
      expect((await patch(name, 'b', { text: 'the river floods' })).json).not.toHaveProperty('warnings');
      expect(dataOf(await show(name, 'b'))).toMatchObject({ vector: await vectorOf('a'), text: 'the river floods' });
      dataOf(await patch(name, 'b', { text: 'the river floods', vector: before }));
      expect(await vectorOf('b')).toEqual(before);
    });

    test('what is not there, is not as it says, or would be too much is refused', async () => {
      const name = await context.collection();
      const { version } = dataOf(
        await upsert(name, { external_id: 'a', vector: [1, 2, 3], metadata: { long: 'x'.repeat(40_000) } }),
      );
      expect(failureOf(await patch(name, 'nobody', { metadata: {} })).code).toBe(404);
      expect(failureOf(await patch(name, 'a', { metadata: { n: 1 }, if_version: version + 1 }))).toMatchObject({
        code: 409,
        conflicts: [{ external_id: 'a', version }],
      });
      expect(failureOf(await patch(name, 'a', { vector: [1, 2] })).code).toBe(400);
      expect(failureOf(await patch(name, 'a', { metadata: { more: 'x'.repeat(40_000) } }))).toMatchObject({
        code: 400,
        message: expect.stringContaining('MAX_METADATA_BYTES'),
      });
      for (const body of [
        {},
        { metadata: [] },
        { embed: true },
        { text: 'a', vector: [1, 2, 3], embed: true },
        { metadata: {}, metadata_mode: 'other' },
      ])
        expect(failureOf(await patch(name, 'a', body)).code).toBe(422);
      expect(dataOf(await patch(name, 'a', { metadata: { n: 1 }, if_version: version })).version).toBeGreaterThan(
        version,
      );
    });

    test('every match of a filter is changed once', async () => {
      const name = await context.collection();
      dataOf(
        await bulkUpsert(name, {
          items: Array.from({ length: 90 }, (_, i) => ({
            external_id: `i${i}`,
            vector: [i, 1, 1],
            metadata: { even: i % 2 === 0, draft: 1, n: { i } },
          })),
        }),
      );
      const update = (body: unknown) => context.api.post(`/v1/collections/${name}/update_by_filter`, body);
      expect(
        dataOf(
          await update({ filters: { even: true }, set: { n: { seen: true }, even: true }, unset: ['draft', 'none'] }),
        ),
      ).toEqual({ updated_count: 45 });
      expect(dataOf(await show(name, 'i4'))).toMatchObject({
        vector: [4, 1, 1],
        metadata: { even: true, n: { i: 4, seen: true } },
      });
      expect(dataOf(await show(name, 'i5')).metadata).toEqual({ even: false, draft: 1, n: { i: 5 } });
      expect(dataOf(await update({ filters: { draft: 1 }, unset: ['draft'] }))).toEqual({ updated_count: 45 });
      expect(dataOf(await update({ filters: { draft: 1 }, unset: ['draft'] }))).toEqual({ updated_count: 0 });
      dataOf(
        await upsert(name, {
          external_id: 'i4',
          vector: [1, 1, 1],
          metadata: { even: true, long: 'x'.repeat(40_000) },
        }),
      );
      expect(failureOf(await update({ filters: { even: true }, set: { more: 'x'.repeat(40_000) } }))).toMatchObject({
        code: 400,
        message:
          '44 vectors were updated; the metadata of "i4" would have more than MAX_METADATA_BYTES or MAX_METADATA_FIELDS, and stayed as they were',
      });
      for (const body of [
        { filters: {}, set: { a: 1 } },
        { filters: { a: 1 } },
        { filters: { a: 1 }, set: { b: { c: null } } },
        { filters: { a: 1 }, set: { b: 1 }, unset: ['b'] },
      ])
        expect(failureOf(await update(body)).code).toBe(422);
    });
  });

  describe('delete, delete_batch, fetch', () => {
    const filled = async (): Promise<string> => {
      const name = await context.collection();
      dataOf(
        await bulkUpsert(name, {
          items: ['a', 'b', 'c'].map((id, i) => ({
            external_id: id,
            vector: [1, i, 0],
            metadata: { i },
            text: `text ${id}`,
          })),
        }),
      );
      return name;
    };

    test('one vector is deleted once', async () => {
      const name = await filled();
      dataOf(await context.api.delete(`/v1/collections/${name}/delete/a`));
      expect(errorOf(await context.api.delete(`/v1/collections/${name}/delete/a`), 404)).toContain('a');
      expect(await countOf(name)).toBe(2);
    });

    test('a batch skips ids that are not there and counts doubles once', async () => {
      const name = await filled();
      const data = dataOf(
        await context.api.post(`/v1/collections/${name}/delete_batch`, { external_ids: ['c', 'zz', 'a', 'c'] }),
      );
      expect(data).toEqual({ deleted_count: 2, deleted_ids: ['c', 'a'], deleted: ['c', 'a'], not_found: ['zz'] });
      expect(await countOf(name)).toBe(1);
    });

    test('a batch above MAX_BATCH_SIZE is a 400, a wrong one a 422', async () => {
      const name = await filled();
      const send = (body: unknown) => context.api.post(`/v1/collections/${name}/delete_batch`, body);
      errorOf(await send({ external_ids: Array.from({ length: 1001 }, (_, i) => `v${i}`) }), 400);
      for (const body of [{}, { external_ids: 'a' }, { external_ids: [1] }, { external_ids: null }])
        expect(errorOf(await send(body), 422)).toContain('external_ids');
    });

    test('a filter deletes every match and nothing else', async () => {
      const name = await context.collection({ shards: 3 });
      const items = Array.from({ length: 1000 }, (_, i) => ({
        external_id: `v${i}`,
        vector: [1, i, 0],
        metadata: { tens: Math.floor(i / 10), even: i % 2 === 0 },
      }));
      dataOf(await bulkUpsert(name, { items }));
      const send = (filters: unknown) => context.api.post(`/v1/collections/${name}/delete_by_filter`, { filters });
      expect(dataOf(await send({ tens: { $gte: 10 }, even: true }))).toEqual({ deleted_count: 450 });
      expect(dataOf(await send({ tens: { $gte: 10 }, even: true }))).toEqual({ deleted_count: 0 });
      expect(await countOf(name)).toBe(550);
      const { results } = dataOf(
        await context.api.post(`/v1/collections/${name}/search`, {
          vector: [0, 1, 0],
          k: 1000,
          filters: { even: true },
        }),
      );
      expect(results).toHaveLength(50);
      expect(results.every(({ metadata }: { metadata: { tens: number } }) => metadata.tens < 10)).toBe(true);
      expect(dataOf(await send({ $or: [{ even: true }, { even: false }] }))).toEqual({ deleted_count: 550 });
    });

    test('a delete by filter refuses filters that are missing, empty or wrong, and deletes nothing', async () => {
      const name = await filled();
      const send = (body: unknown) => context.api.post(`/v1/collections/${name}/delete_by_filter`, body);
      for (const body of [
        {},
        { filters: null },
        { filters: {} },
        { filters: { $and: [{}] } },
        { filters: [] },
        { filters: 'i' },
        { filters: { i: { $like: 1 } } },
      ]) {
        expect(errorOf(await send(body), 422)).toContain('filters');
      }
      expect(await countOf(name)).toBe(3);
      expect(
        errorOf(await context.api.post('/v1/collections/no-such/delete_by_filter', { filters: { i: 1 } }), 404),
      ).toContain('no-such');
    });

    test('fetch answers in the order asked and leaves missing ones out', async () => {
      const name = await filled();
      const send = (body: unknown) => context.api.post(`/v1/collections/${name}/vectors/fetch`, body);
      const { vectors } = dataOf(await send({ ids: ['c', 'zz', 'a'] }));
      const version = expect.any(Number);
      expect(vectors).toEqual([
        { external_id: 'c', vector: [1, 2, 0], metadata: { i: 2 }, text: 'text c', version },
        { external_id: 'a', vector: [1, 0, 0], metadata: { i: 0 }, text: 'text a', version },
      ]);
      expect(dataOf(await send({ ids: ['a'], include_vectors: false })).vectors).toEqual([
        { external_id: 'a', metadata: { i: 0 }, text: 'text a', version },
      ]);
      expect(errorOf(await send({ ids: Array.from({ length: 101 }, (_, i) => `v${i}`) }), 422)).toContain('100');
      expect(errorOf(await send({}), 422)).toContain('ids');
    });

    test('a vector that was never given a text has none', async () => {
      const name = await context.collection();
      dataOf(await upsert(name, { external_id: 'a', vector: [1, 2, 3] }));
      expect(dataOf(await show(name, 'a'))).toEqual({
        external_id: 'a',
        vector: [1, 2, 3],
        metadata: {},
        text: null,
        version: expect.any(Number),
      });
    });
  });

  describe('scroll', () => {
    test('walks the collection in insertion order, filtered or not', async () => {
      const name = await context.collection();
      const ids = Array.from({ length: 7 }, (_, i) => `id-${(i * 5) % 7}`);
      for (const id of ids)
        dataOf(
          await upsert(name, { external_id: id, vector: [1, 2, 3], metadata: { even: Number(id.slice(3)) % 2 === 0 } }),
        );
      const walk = async (filters?: unknown): Promise<string[]> => {
        const seen: string[] = [];
        let cursor: string | null = null;
        do {
          const page: any = dataOf(
            await context.api.post(`/v1/collections/${name}/scroll`, {
              cursor,
              limit: 2,
              filters,
              include_vectors: false,
            }),
          );
          expect(page.vectors.length).toBeLessThanOrEqual(2);
          seen.push(...page.vectors.map(({ external_id }: any) => external_id));
          cursor = page.next_cursor;
        } while (cursor !== null);
        return seen;
      };
      expect(await walk()).toEqual(ids);
      expect(await walk({ even: true })).toEqual(ids.filter((id) => Number(id.slice(3)) % 2 === 0));
      const all = dataOf(await context.api.post(`/v1/collections/${name}/scroll`));
      expect(all.vectors[0]).toEqual({
        external_id: ids[0],
        vector: [1, 2, 3],
        metadata: { even: true },
        text: null,
        version: expect.any(Number),
      });
      expect(all.next_cursor).toBeNull();
    });

    test('walks it in the order of values, equal ones by id', async () => {
      const name = await context.collection({ shards: 2 });
      const years: Record<string, unknown> = { a: 3, b: [1, 9], c: 'x', d: null, e: 3, f: true, g: -2 };
      for (const [id, year] of Object.entries(years))
        dataOf(await upsert(name, { external_id: id, vector: [1, 2, 3], metadata: { year }, text: id }));
      const path = `/v1/collections/${name}/scroll`;
      const walk = async (body: object): Promise<string> => {
        let [seen, cursor] = ['', null as string | null];
        do {
          const page: any = dataOf(await context.api.post(path, { limit: 2, ...body, cursor }));
          seen += page.vectors.map(({ external_id }: any) => external_id).join('');
          cursor = page.next_cursor;
        } while (cursor !== null);
        return seen;
      };
      expect(await walk({ order_by: [{ field: 'year' }] })).toBe('gbaecfd');
      expect(await walk({ order_by: [{ field: 'year', direction: 'desc', missing: 'first' }] })).toBe('dfcbaeg');
      expect(await walk({ order_by: [{ field: 'year' }], filters: { year: { $gt: 0 } } })).toBe('bae');
      const order_by = [{ field: 'year' }];
      const first = dataOf(await context.api.post(path, { limit: 1, order_by }));
      expect(first.vectors[0]).toEqual({
        external_id: 'g',
        vector: [1, 2, 3],
        metadata: { year: -2 },
        text: 'g',
        version: expect.any(Number),
      });
      const { next_cursor: cursor } = first;
      const other = [{ field: 'year', direction: 'desc' }];
      for (const body of [{ cursor }, { cursor, order_by: other }])
        expect(errorOf(await context.api.post(path, body), 400)).toContain('another order_by');
      const plain = dataOf(await context.api.post(path, { limit: 1 })).next_cursor;
      expect(errorOf(await context.api.post(path, { cursor: plain, order_by }), 400)).toContain('another order_by');
      const elsewhere = `/v1/collections/${await context.empty()}/scroll`;
      expect(errorOf(await context.api.post(elsewhere, { cursor, order_by }), 400)).toContain('another collection');
    });

    test.each([
      [{ order_by: [{ field: '' }] }, 422],
      [{ order_by: [{ field: 'a' }, { field: 'b' }, { field: 'c' }, { field: 'd' }] }, 400],
      [{ order_by: [{ field: 'a', direction: 'up' }] }, 422],
    ])('refuses %j with %i', async (body, code) => {
      const message = errorOf(await context.api.post(`/v1/collections/${await context.empty()}/scroll`, body), code);
      expect(message).toContain('order_by');
    });

    test.each([
      [{ limit: 0 }, 422],
      [{ limit: 1001 }, 422],
      [{ limit: '5' }, 422],
      [{ cursor: 5 }, 422],
      [{ cursor: 'broken' }, 400],
      [{ include_vectors: 'no' }, 422],
      [{ filters: { a: { $near: 1 } } }, 422],
    ])('refuses %j with %i', async (body, code) => {
      const message = errorOf(await context.api.post(`/v1/collections/${await context.empty()}/scroll`, body), code);
      if (code === 400) expect(message).toContain('Invalid cursor');
    });
  });
}
