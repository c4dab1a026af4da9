import fc from 'fast-check';
import { FIELD_OPERATORS, ITEM_OPERATORS } from '../../shared/contract/filter/filter-operators';
import { ApiClient, type ApiAnswer, dataOf } from '../support/targets/api-client';
import { wellFormedText } from '../support/http/any-text';
import type { ApiTarget, StartTarget } from '../support/targets/api-target';
import { runSeed } from '../support/values/random';

/** Requests per property, where HTTP_FUZZ_RUNS says nothing else. */
const RUNS = 150;
const COLLECTION = 'fuzzed';
const DIM = 3;

const REFUSALS = [400, 401, 403, 404, 409, 422];

/** Bodies that work, one per endpoint that takes one: what the fuzz starts from. */
const BODIES: Record<string, object> = {
  upsert: {
    external_id: 'x',
    vector: [1, 2, 3],
    text: 'a text',
    metadata: { a: [1, { b: null }] },
    include_timing: true,
  },
  bulk_upsert: {
    items: [
      { external_id: 'x', vector: [1, 2, 3], metadata: {} },
      { external_id: 'y', text: 'words', content: 'more' },
    ],
    include_timing: false,
  },
  search: {
    vector: [1, 2, 3],
    k: 3,
    offset: 1,
    filters: { a: { $gt: 1 }, $or: [{ b: 1 }, { c: { $in: [1, 'x'] } }] },
    ef: 5,
    exact: false,
  },
  bulk_search: {
    queries: [
      { vector: [1, 2, 3], k: 2 },
      { text: 'words', filters: {} },
    ],
  },
  hybrid_search: { query_text: 'words', vector: [1, 2, 3], alpha: 0.3, k: 2, filters: { a: 1 } },
  rerank: { vector: [1, 2, 3], candidates: ['x', 'y'] },
  'recommend/seed-0': { k: 2, offset: 0, filters: { a: 1 } },
  delete_batch: { external_ids: ['nobody', 'neither'] },
  delete_by_filter: { filters: { nowhere: 'to be found' } },
  'vectors/fetch': { ids: ['x', 'seed-0'], include_vectors: true },
  scroll: { cursor: null, limit: 5, filters: { a: { $exists: true } }, include_vectors: false },
  // Without a projection, which starts a thread each time.
  sample: { size: 5, seed: 3, filters: { a: { $gte: 0 } }, metadata_fields: ['a'], include_vectors: true },
};
const WRITES = new Set(['upsert', 'bulk_upsert', 'delete_batch', 'delete_by_filter']);

/** Values that break naive code, beside any JSON. */
const hostile = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    1e308,
    2 ** 53,
    '',
    ' ',
    '__proto__',
    'constructor',
    '$where',
    '\u0000',
    '\ud800',
    '../..',
    [],
    {},
    [[]],
    { $gt: {} },
    { $in: 5 },
    { $not: { $not: 1 } },
  ),
  fc.jsonValue({ maxDepth: 4 }),
  fc.array(fc.double(), { maxLength: 5 }),
  fc.constantFrom('toString', '__proto__', 'a.b').map((key) => JSON.parse(`{"${key}":{"polluted":true}}`) as unknown),
);

type Path = (string | number)[];

function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [
    path,
    ...Object.entries(value).flatMap(([key, inner]) =>
      pathsIn(inner, [...path, Array.isArray(value) ? Number(key) : key]),
    ),
  ];
}

function replaced(value: unknown, path: Path, replacement: unknown): unknown {
  if (path.length === 0) return replacement;
  const copy: any = Array.isArray(value) ? [...value] : { ...(value as object) };
  copy[path[0]] = replaced(copy[path[0]], path.slice(1), replacement);
  return copy;
}

/** A working body with something hostile at one or two places. */
const mutated = fc.constantFrom(...Object.keys(BODIES)).chain((endpoint) => {
  const paths = pathsIn(BODIES[endpoint]);
  const mutation = fc.tuple(fc.constantFrom(...paths), hostile);
  return fc.array(mutation, { minLength: 1, maxLength: 2 }).map((mutations) => ({
    endpoint,
    body: mutations.reduce<unknown>(
      (body, [path, value]) =>
        pathsIn(body).some((known) => known.join() === path.join()) ? replaced(body, path, value) : body,
      BODIES[endpoint],
    ),
  }));
});

/**
 * Arbitrary requests against a service that `startTarget` starts: none ends in a 500, and a refused one stores nothing.
 */
export function describeHttpFuzz(name: string, startTarget: StartTarget, runs = RUNS): void {
  const seed = runSeed(`http-fuzz of ${name}`);
  const options = { seed, numRuns: Number(process.env.HTTP_FUZZ_RUNS ?? runs) };

  describe(`fuzzed API of ${name}, SEED=${seed}`, () => {
    let target: ApiTarget;
    let api: ApiClient;

    beforeAll(async () => {
      target = await startTarget();
      api = new ApiClient(target);
      dataOf(await api.post('/v1/collections', { name: COLLECTION, dim: DIM }));
      const items = [0, 1, 2].map((i) => ({ external_id: `seed-${i}`, vector: [i, 1, 2], metadata: { a: i } }));
      dataOf(await api.post(`/v1/collections/${COLLECTION}/bulk_upsert`, { items }));
    });
    afterAll(() => target?.stop());

    /** Everything that is stored, as text. */
    async function stored(): Promise<string> {
      const { vectors } = dataOf(await api.get(`/v1/collections/${COLLECTION}/export`));
      const { collections } = dataOf(await api.get('/v1/collections'));
      return JSON.stringify([collections, vectors]);
    }

    function expectSound(answer: ApiAnswer): void {
      expect(answer.httpStatus).toBe(200);
      const { json } = answer;
      if (json?.status === 'success') {
        const { warnings = [], ...rest } = json as typeof json & { warnings?: unknown[] };
        expect(rest).toEqual({ status: 'success', data: expect.anything(), error: null });
        for (const warning of warnings) expect(typeof warning).toBe('string');
      } else {
        expect(json).toMatchObject({
          status: 'error',
          data: null,
          error: { code: expect.any(Number), message: expect.any(String) },
        });
        expect(REFUSALS).toContain(json?.error?.code);
        expect(json?.error?.message).not.toMatch(/\bat .*\.(ts|js):\d|node_modules/);
      }
      expect(({} as any).polluted).toBeUndefined();
    }

    /**
     * What was stored after the last request that changed nothing, so that it is not asked for again; null after
     * others.
     */
    let unchanged: string | null = null;
    beforeEach(() => (unchanged = null));

    /** Sends it; whatever refuses it, nothing may have changed. */
    async function expectSoundAndHarmless(send: () => Promise<ApiAnswer>, mayWrite: boolean): Promise<void> {
      const before = unchanged ?? (await stored());
      unchanged = null;
      const answer = await send();
      expectSound(answer);
      if (mayWrite && answer.json?.status === 'success') return;
      unchanged = await stored();
      expect(unchanged).toBe(before);
    }

    test('bodies with anything anywhere', () =>
      fc.assert(
        fc.asyncProperty(mutated, ({ endpoint, body }) =>
          expectSoundAndHarmless(
            () => api.post(`/v1/collections/${COLLECTION}/${endpoint}`, JSON.stringify(body)),
            WRITES.has(endpoint),
          ),
        ),
        options,
      ));

    test('bodies of any bytes', () =>
      fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...Object.keys(BODIES)),
          fc.uint8Array({ maxLength: 60 }),
          fc.boolean(),
          fc.nat(),
          (endpoint, bytes, inside, at) => {
            const whole = Buffer.from(JSON.stringify(BODIES[endpoint]));
            const place = at % whole.length;
            const body = inside
              ? Buffer.concat([whole.subarray(0, place), bytes, whole.subarray(place)])
              : Buffer.from(bytes);
            return expectSoundAndHarmless(
              () => api.post(`/v1/collections/${COLLECTION}/${endpoint}`, body),
              WRITES.has(endpoint),
            );
          },
        ),
        options,
      ));

    test('numbers of any kind in a vector', () =>
      fc.assert(
        fc.asyncProperty(
          fc.stringMatching(
            /^-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?$|^[0-9eE.+-]{1,8}$|^(NaN|-?Infinity|0x1f|null|true)$/,
          ),
          async (number) => {
            const answer = await api.post(
              `/v1/collections/${COLLECTION}/upsert`,
              `{"external_id":"number","vector":[1,${number},3]}`,
            );
            expectSound(answer);
            let value: unknown;
            try {
              value = JSON.parse(number);
            } catch {
              value = null;
            }
            const isGood = typeof value === 'number' && Number.isFinite(Math.fround(value));
            expect(answer.json?.status).toBe(isGood ? 'success' : 'error');
            if (!isGood) return;
            const { vector } = dataOf(await api.get(`/v1/collections/${COLLECTION}/vectors/number`));
            expect(Math.fround(vector[1])).toBe(Math.fround(value as number));
          },
        ),
        options,
      ));

    test('ids of any characters come back as they are, or are refused', () =>
      fc.assert(
        fc.asyncProperty(wellFormedText(40), async (id) => {
          const answer = await api.post(`/v1/collections/${COLLECTION}/upsert`, {
            external_id: id,
            vector: [1, 2, 3],
          });
          expectSound(answer);
          const isGood = id.length > 0 && !/[\p{Cc}\p{Surrogate}]/u.test(id);
          expect(answer.json?.status).toBe(isGood ? 'success' : 'error');
          const path = `/v1/collections/${COLLECTION}/vectors/${isGood ? encodeURIComponent(id).replaceAll('.', '%2E') : '%00'}`;
          const shown = await api.get(path);
          expectSound(shown);
          if (!isGood) return;
          expect(dataOf(shown).external_id).toBe(id);
          dataOf(await api.delete(`/v1/collections/${COLLECTION}/delete/${encodeURIComponent(id)}`));
        }),
        options,
      ));

    test('names of any characters make a collection, or nothing', () =>
      fc.assert(
        fc.asyncProperty(
          fc.oneof(wellFormedText(12), fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/)),
          async (collection) => {
            const before = await stored();
            const answer = await api.post('/v1/collections', { name: collection, dim: DIM });
            expectSound(answer);
            const isGood = /^[A-Za-z0-9_-]{1,255}$/.test(collection) && collection !== COLLECTION;
            expect(answer.json?.status).toBe(isGood ? 'success' : 'error');
            if (isGood) dataOf(await api.delete(`/v1/collections/${collection}`));
            expect(await stored()).toBe(before);
          },
        ),
        options,
      ));

    test('filters of any shape', () => {
      const operator = fc.constantFrom(
        ...Object.keys(FIELD_OPERATORS),
        ...Object.keys(ITEM_OPERATORS),
        '$and',
        '$or',
        '$not',
        '$where',
        '$',
        'a',
        'a.b',
        '__proto__',
        '',
      );
      const { filter } = fc.letrec((tie) => ({
        filter: fc.dictionary(
          operator,
          fc.oneof({ depthSize: 'small' }, hostile, tie('filter'), fc.array(tie('filter'), { maxLength: 3 })),
          { maxKeys: 3, noNullPrototype: true },
        ),
      }));
      return fc.assert(
        fc.asyncProperty(filter, (filters) =>
          expectSoundAndHarmless(
            () => api.post(`/v1/collections/${COLLECTION}/search`, { vector: [1, 2, 3], filters }),
            false,
          ),
        ),
        options,
      );
    });

    test('paths and methods of any kind', () => {
      const segment = fc.oneof(
        fc.constantFrom(
          'v1',
          'collections',
          COLLECTION,
          'vectors',
          'admin',
          'keys',
          'usage',
          'cluster',
          'nodes',
          '1',
          '..',
          '.',
          '',
          '%2e%2e',
          '%',
          '%00',
          '%ff',
          'export?limit=x',
          'similarity?id1=%',
          '*',
          ';',
        ),
        wellFormedText(6).map((text) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, ''))),
      );
      return fc.assert(
        fc.asyncProperty(
          fc.constantFrom('GET', 'POST', 'PATCH', 'PUT', 'OPTIONS', 'SEARCH'),
          fc.array(segment, { maxLength: 6 }),
          fc.boolean(),
          (method, segments, isGuarded) =>
            expectSoundAndHarmless(
              () => api.call({ method, path: `/${isGuarded ? 'v1/' : ''}${segments.join('/')}` }),
              false,
            ),
        ),
        options,
      );
    });

    test('headers of any kind', () =>
      fc.assert(
        fc.asyncProperty(
          fc.stringMatching(/^[\x21-\x7e]{0,80}$/),
          fc.stringMatching(/^[\x21-\x7e]{0,80}$/),
          async (key, id) => {
            const answer = await api.get('/v1/collections', { key, headers: { 'x-request-id': id } });
            expectSound(answer);
            expect(answer.json?.error?.code).toBe(401);
          },
        ),
        options,
      ));

    test('and it still serves', async () => {
      expect(dataOf(await api.get('/v1/health')).status).toBe('ok');
    });
  });
}
