import { dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';
import { legsSuite } from './legs';

const ITEMS = [
  {
    external_id: 'east',
    vector: [1, 0, 0],
    metadata: { kind: 'axis', n: 1, tags: ['a', 'b'], deep: { x: 1 } },
    text: 'rivers flow to the sea',
  },
  {
    external_id: 'north',
    vector: [0, 1, 0],
    metadata: { kind: 'axis', n: 2, tags: ['b'], none: null },
    text: 'mountains stand still',
  },
  { external_id: 'up', vector: [0, 0, 1], metadata: { kind: 'axis', n: 3 }, text: 'birds and rivers' },
  { external_id: 'between', vector: [1, 1, 0], metadata: { kind: 'mix', n: 4 } },
];
const idsOf = (results: { external_id: string }[]): string[] => results.map(({ external_id }) => external_id);

export function searchSuite(context: SuiteContext): void {
  legsSuite(
    context,
    (of, body) => context.api.post(`/v1/collections/${of}/hybrid_search`, body),
    (least) => ({ min_score: least }),
  );

  let name: string;
  const post = (endpoint: string, body?: unknown) => context.api.post(`/v1/collections/${name}/${endpoint}`, body);

  const TIMING = { embedding_ms: expect.any(Number), search_ms: expect.any(Number), total_ms: expect.any(Number) };

  describe('searching', () => {
    beforeAll(async () => {
      name = await context.collection();
      dataOf(await post('bulk_upsert', { items: ITEMS }));
    });

    test('search orders by score and answers its page', async () => {
      const data = dataOf(await post('search', { vector: [1, 0.5, 0] }));
      expect(idsOf(data.results)).toEqual(['between', 'east', 'north', 'up']);
      expect(data).toMatchObject({ total_count: 4, k: 10, offset: 0 });
      expect(data.timing_ms).toBeUndefined();
      expect(data.results[0]).toEqual({
        external_id: 'between',
        score: expect.closeTo(1.5 / Math.sqrt(2.5), 5),
        metadata: { kind: 'mix', n: 4 },
      });
      expect(data.results[3].score).toBeCloseTo(0, 6);
    });

    test('search pages neither overlap nor skip', async () => {
      const pages = await Promise.all(
        [0, 2, 4].map(async (offset) => dataOf(await post('search', { vector: [1, 0.5, 0], k: 2, offset })).results),
      );
      expect(pages.map((page) => page.length)).toEqual([2, 2, 0]);
      expect(idsOf(pages.flat())).toEqual(['between', 'east', 'north', 'up']);
    });

    test('pages of equal scores give each item once, in the order of ids, however they are asked for', async () => {
      const other = await context.collection({ shards: 3 });
      const ask = async (endpoint: string, body: object) =>
        dataOf(await context.api.post(`/v1/collections/${other}/${endpoint}`, body));
      const ids = Array.from({ length: 300 }, (_, i) => `i${String((i * 7) % 300).padStart(3, '0')}`);
      await ask('bulk_upsert', {
        items: ids.map((external_id) => ({
          external_id,
          vector: [1, 0, 0],
          text: 'one chunk',
          metadata: { kind: 'same' },
        })),
      });
      const vector = [1, 0.5, 0];
      const sorted = ids.toSorted();
      const asked: [endpoint: string, body: object, expected: string[]][] = [
        ['search', { vector }, sorted],
        ['search', { vector, exact: true }, sorted],
        ['search', { vector, filters: { kind: 'same' } }, sorted],
        ['search', { vector, min_score: 0.1 }, sorted],
        ['hybrid_search', { vector, query_text: 'chunk', alpha: 1 }, sorted],
        ['hybrid_search', { vector, query_text: 'chunk', alpha: 0.5 }, sorted],
        ['hybrid_search', { query_text: 'chunk', alpha: 0 }, sorted],
        ['recommend/i150', {}, sorted.filter((id) => id !== 'i150')],
      ];
      for (const [endpoint, body, expected] of asked) {
        const pages: string[] = [];
        for (let offset = 0; offset < 300; offset += 45)
          pages.push(...idsOf((await ask(endpoint, { ...body, k: 45, offset })).results));
        expect({ endpoint, body, pages }).toEqual({ endpoint, body, pages: expected });
      }
      const { results } = await ask('bulk_search', {
        queries: [0, 45, 90].map((offset) => ({ vector, k: 45, offset })),
      });
      expect(results.flatMap(idsOf)).toEqual(sorted.slice(0, 135));
      expect(idsOf((await ask('rerank', { vector, candidates: ids })).results)).toEqual(sorted);
    });

    test('scores are "higher is better" under every metric', async () => {
      for (const [metric, score] of [
        ['cosine', 1],
        ['ip', 2],
        ['l2', 0.5],
      ] as const) {
        const other = await context.collection({ distance_metric: metric });
        dataOf(await context.api.post(`/v1/collections/${other}/upsert`, { external_id: 'a', vector: [2, 0, 0] }));
        const { results } = dataOf(await context.api.post(`/v1/collections/${other}/search`, { vector: [1, 0, 0] }));
        expect(results[0].score).toBeCloseTo(score, 5);
      }
    });

    test('a cosine is never past 1, however long or short the vectors', async () => {
      const other = await context.collection({ dim: 2 });
      const vectors = [
        [3e38, 3e38],
        [-3e38, -3e38],
        [1e-45, 1e-45],
        [3, 4],
        [0.1, 0.3],
      ];
      dataOf(
        await context.api.post(`/v1/collections/${other}/bulk_upsert`, {
          items: vectors.map((vector, i) => ({ external_id: `v${i}`, vector })),
        }),
      );
      for (const [i, vector] of vectors.entries()) {
        const { results } = dataOf(await context.api.post(`/v1/collections/${other}/search`, { vector }));
        for (const { score } of results) expect(Math.abs(score)).toBeLessThanOrEqual(1);
        expect(results.find((result: { external_id: string }) => result.external_id === `v${i}`).score).toBeCloseTo(
          1,
          6,
        );
      }
    });

    test.each<[unknown, string[]]>([
      [{ kind: 'axis' }, ['east', 'north', 'up']],
      [{ kind: 'axis', n: 2 }, ['north']],
      [{ n: '2' }, []],
      [{ tags: 'b' }, ['east', 'north']],
      [{ deep: { x: 1 } }, ['east']],
      [{ 'deep.x': 1 }, ['east']],
      [{ none: null }, ['north']],
      [{ n: { $gt: 1, $lte: 3 } }, ['north', 'up']],
      [{ n: { $in: [1, 4] } }, ['between', 'east']],
      [{ tags: { $exists: true } }, ['east', 'north']],
      [{ $or: [{ n: 1 }, { kind: 'mix' }] }, ['between', 'east']],
      [{ $not: { kind: 'axis' } }, ['between']],
      [{}, ['between', 'east', 'north', 'up']],
      [null, ['between', 'east', 'north', 'up']],
    ])('filters %j keep %j', async (filters, ids) => {
      const { results, total_count } = dataOf(await post('search', { vector: [1, 0.5, 0], filters }));
      expect(idsOf(results)).toEqual(ids);
      expect(total_count).toBe(4);
    });

    test('search takes an effort or exactness by hand, and a text for a vector', async () => {
      for (const more of [{ ef: 50 }, { exact: true }, { ef: null, exact: null }]) {
        expect(idsOf(dataOf(await post('search', { vector: [1, 0, 0], k: 1, ...more })).results)).toEqual(['east']);
      }
      const texts = await context.collection({ dim: 384 });
      const items = ['the river floods in spring', 'stars shine at night'].map((text, i) => ({
        external_id: `t${i}`,
        text,
      }));
      dataOf(await context.api.post(`/v1/collections/${texts}/bulk_upsert`, { items }));
      const data = dataOf(
        await context.api.post(`/v1/collections/${texts}/search`, {
          text: 'the river floods in spring',
          include_timing: true,
        }),
      );
      expect(data.results[0].external_id).toBe('t0');
      expect(data.timing_ms).toEqual(TIMING);
      expect(data.timing_ms.embedding_ms).toBeGreaterThan(0);
      expect(data.results[0]).not.toHaveProperty('text');
    });

    test.each([
      ['nothing to search by', {}, 422],
      ['a blank text', { text: '' }, 400],
      ['a wrong length', { vector: [1, 2] }, 400],
      ['k 0', { vector: [1, 2, 3], k: 0 }, 422],
      ['k a fraction', { vector: [1, 2, 3], k: 2.5 }, 422],
      ['k a text', { vector: [1, 2, 3], k: '5' }, 422],
      ['k beyond MAX_K', { vector: [1, 2, 3], k: 10001 }, 400],
      ['k + offset beyond MAX_K', { vector: [1, 2, 3], k: 10, offset: 9991 }, 400],
      ['a negative offset', { vector: [1, 2, 3], offset: -1 }, 422],
      ['ef 0', { vector: [1, 2, 3], ef: 0 }, 422],
      ['ef beyond 10000', { vector: [1, 2, 3], ef: 10001 }, 422],
      ['exact as a number', { vector: [1, 2, 3], exact: 1 }, 422],
      ['an unknown operator', { vector: [1, 2, 3], filters: { a: { $regex: 'x' } } }, 422],
      ['an unknown operator at the top', { vector: [1, 2, 3], filters: { $nor: [] } }, 422],
      ['filters that are a list', { vector: [1, 2, 3], filters: [] }, 422],
    ])('search refuses %s', async (_title, body, code) => {
      errorOf(await post('search', body), code);
    });

    test('k of MAX_K is allowed', async () => {
      expect(dataOf(await post('search', { vector: [1, 0, 0], k: 10000 })).results).toHaveLength(4);
    });

    test('bulk_search answers a list per query', async () => {
      const data = dataOf(
        await post('bulk_search', {
          queries: [
            { vector: [1, 0, 0], k: 1 },
            { vector: [0, 0, 1], k: 2, filters: { kind: 'axis' } },
          ],
        }),
      );
      expect(data.results.map(idsOf)).toEqual([['east'], ['up', expect.any(String)]]);
      expect(errorOf(await post('bulk_search', { queries: new Array(21).fill({ vector: [1, 0, 0] }) }), 422)).toContain(
        '20',
      );
      for (const vector of [[], ''])
        expect(errorOf(await post('bulk_search', { queries: [{ vector: [1, 0, 0] }, { vector }] }), 422)).toContain(
          'queries[1].vector',
        );
      expect(
        errorOf(
          await post('bulk_search', { queries: [{ vector: [1, 0, 0] }, { vector: [1, 0, 0], offset: 9991 }] }),
          400,
        ),
      ).toContain('queries[1]');
      expect(errorOf(await post('bulk_search', { queries: [{ vector: [1, 0, 0] }, { k: 1 }] }), 422)).toContain(
        'queries[1]',
      );
      expect(errorOf(await post('bulk_search', {}), 422)).toContain('queries');
    });

    test('a vector may be base64 wherever one is searched by, and takes no time to embed', async () => {
      const [array, base64] = [[0, 1, 0.1], Buffer.from(Float32Array.of(0, 1, 0.1).buffer).toString('base64')];
      const ways: [string, (vector: unknown) => object][] = [
        ['search', (vector) => ({ vector })],
        ['bulk_search', (vector) => ({ queries: [{ vector }, { vector, k: 2 }] })],
        ['hybrid_search', (vector) => ({ query_text: 'rivers', vector })],
        ['rerank', (vector) => ({ vector, candidates: ['east', 'up', 'north'] })],
        ['recall_check', (vector) => ({ queries: [vector], k: 2 })],
      ];
      for (const [endpoint, body] of ways) {
        const [asArray, asBase64] = [
          dataOf(await post(endpoint, { ...body(array), include_timing: true })),
          dataOf(await post(endpoint, { ...body(base64), include_timing: true })),
        ];
        const { timing_ms: timing, ...found } = asBase64;
        if (endpoint === 'recall_check') expect(found).toMatchObject({ recall: asArray.recall, queries: 1 });
        else expect([found.results, timing]).toEqual([asArray.results, { ...TIMING, embedding_ms: 0 }]);
      }
    });

    test('hybrid_search goes from keywords alone to the vector alone', async () => {
      const hybrid = (alpha: number) => post('hybrid_search', { query_text: 'rivers', vector: [0, 1, 0], alpha });
      expect(idsOf(dataOf(await hybrid(0)).results).sort()).toEqual(['east', 'up']);
      expect(idsOf(dataOf(await hybrid(1)).results)[0]).toBe('north');
      const both = dataOf(
        await post('hybrid_search', { query_text: 'rivers', vector: [1, 0, 0], include_timing: true, k: 1 }),
      );
      expect(idsOf(both.results)).toEqual(['east']);
      expect(both.timing_ms).toEqual({ ...TIMING, embedding_ms: 0 });
      expect(dataOf(await hybrid(0)).results[0].score).toBeCloseTo(1 / 61, 8);
      // By name, whatever alpha is.
      for (const alpha of [undefined, 0.7]) {
        const named = async (mode: string) =>
          dataOf(await post('hybrid_search', { query_text: 'rivers', vector: [0, 1, 0], alpha, mode })).results;
        expect(await named('keyword')).toEqual(dataOf(await hybrid(0)).results);
        expect(await named('vector')).toEqual(dataOf(await hybrid(1)).results);
        expect(await named('hybrid')).toEqual(dataOf(await hybrid(alpha ?? 0.5)).results);
      }
      errorOf(await post('hybrid_search', { query_text: 'rivers', mode: 'keywords' }), 422);
    });

    test('hybrid_search explains its results when asked', async () => {
      const hybrid = async (alpha: number) =>
        dataOf(await post('hybrid_search', { query_text: 'mountains', vector: [1, 0, 0], alpha, explain: true }))
          .results;
      const places = (results: Record<string, unknown>[]) =>
        results.map((hit) => [hit.external_id, hit.vector_rank, hit.keyword_rank]);
      const both = await hybrid(0.5);
      expect(places(both)[0]).toEqual(['north', 3, 1]);
      expect(both[0]).toEqual({
        external_id: 'north',
        score: expect.closeTo(0.5 / 63 + 0.5 / 61, 8),
        metadata: ITEMS[1].metadata,
        vector_rank: 3,
        vector_score: 0,
        keyword_rank: 1,
        keyword_score: expect.any(Number),
        vector_part: expect.closeTo(0.5 / 63, 8),
        keyword_part: expect.closeTo(0.5 / 61, 8),
      });
      expect(both[1]).toMatchObject({
        external_id: 'east',
        vector_rank: 1,
        vector_score: expect.closeTo(1, 6),
        keyword_rank: null,
        keyword_score: null,
      });
      expect(places(await hybrid(1))).toEqual([
        ['east', 1, null],
        ['between', 2, null],
        ['north', 3, null],
        ['up', 4, null],
      ]);
      expect(places(await hybrid(0))).toEqual([['north', null, 1]]);
      expect(
        dataOf(await post('hybrid_search', { query_text: 'mountains', vector: [1, 0, 0] })).results[0],
      ).not.toHaveProperty('vector_rank');
      expect(
        errorOf(await post('hybrid_search', { query_text: 'a', vector: [1, 0, 0], explain: 'yes' }), 422),
      ).toContain('explain');
    });

    test('recommend and search take examples of what is like it, and unlike', async () => {
      const found = async (path: string, body: object) => dataOf(await post(path, body)).results;
      const alone = await found('recommend/east', {});
      expect(idsOf(alone)).toEqual(['between', 'north', 'up']);
      expect(await found('recommend/east', { strategy: 'average' })).toEqual(alone);
      expect(await found('search', { positives: [{ id: 'east' }] })).toEqual(alone);
      // East and north together point between them.
      const both = await found('recommend/east', { positives: [{ id: 'north' }] });
      expect(idsOf(both)).toEqual(['between', 'up']);
      expect(both[0].score).toBeCloseTo(1, 6);
      expect(await found('search', { positives: [{ id: 'east' }, { vector: [0, 2, 0] }] })).toMatchObject([
        { external_id: 'between', score: expect.closeTo(1, 6) },
        { external_id: 'north' },
        { external_id: 'up' },
      ]);
      const away = await found('search', { positives: [{ vector: [1, 0, 0] }], negatives: [{ id: 'north' }] });
      // (1, 0, 0) and as far again from (0, 1, 0): (2, −1, 0).
      expect(away.map((hit: { external_id: string; score: number }) => [hit.external_id, hit.score])).toEqual([
        ['east', expect.closeTo(2 / Math.sqrt(5), 6)],
        ['between', expect.closeTo(1 / Math.sqrt(10), 6)],
        ['up', 0],
      ]);
      const best = { positives: [{ vector: [1, 0, 0] }, { vector: [0, 0, 1] }], strategy: 'best_score' };
      expect(await found('search', best)).toMatchObject([
        { external_id: 'east', score: 1 },
        { external_id: 'up', score: 1 },
        { external_id: 'between', score: expect.closeTo(Math.SQRT1_2, 6) },
        { external_id: 'north', score: 0 },
      ]);
      // Between is as near to north as to east.
      expect(idsOf(await found('search', { ...best, negatives: [{ id: 'north' }] }))).toEqual(['east', 'up']);
      const queries = [
        { ...best, k: 1 },
        { positives: [{ text: 'rivers' }], k: 2 },
        { vector: [1, 0, 0], k: 1 },
      ];
      const [first, second, third] = await found('bulk_search', { queries });
      expect([idsOf(first), second.length, idsOf(third)]).toEqual([['east'], 2, ['east']]);
      expect(second).toEqual(await found('search', { text: 'rivers', k: 2 }));
    });

    test.each<[string, string, object, number]>([
      ['search', 'positives', { negatives: [{ id: 'east' }] }, 400],
      ['search', 'positives', { strategy: 'average' }, 400],
      ['search', 'vector', { vector: [1, 0, 0], positives: [{ id: 'east' }] }, 400],
      ['search', 'positives[0]', { positives: [{}] }, 422],
      ['search', 'positives[0]', { positives: [{ id: 'east', text: 'a' }] }, 422],
      ['search', 'positives[0].text', { positives: [{ text: ' ' }] }, 400],
      ['search', 'positives[1].vector', { positives: [{ id: 'east' }, { vector: [1, 'a', 0] }] }, 422],
      ['search', 'positives[0]', { positives: [{ vector: [1, 0] }] }, 400],
      ['search', 'positives', { positives: Array.from({ length: 33 }, () => ({ id: 'east' })) }, 400],
      ['recommend/east', 'nowhere', { positives: [{ id: 'nowhere' }] }, 404],
      ['recommend/east', 'negatives', { negatives: 'east' }, 422],
      ['recommend/east', 'strategy', { strategy: 'best' }, 422],
      ['bulk_search', 'queries[1].positives[0]', { queries: [{ text: 'a' }, { positives: [{ vector: [1] }] }] }, 400],
    ])('%s tells what is wrong with %s (%j)', async (path, field, body, status) => {
      expect(errorOf(await post(path, body), status)).toContain(field);
    });

    test('hits differ by their vectors, or by a value', async () => {
      const asked = {
        vector: [1, 0.1, 0],
        text: 'rivers',
        query: 'rivers',
        query_text: 'rivers',
        collection_name: name,
      };
      const ids = async (path: string, body: object, page: object = { k: 4 }) => {
        const url = path === 'query' ? '/v1/query' : `/v1/collections/${name}/${path}`;
        return idsOf(dataOf(await context.api.post(url, { ...asked, ...page, ...body })).results);
      };
      expect(await ids('search', {})).toEqual(['east', 'between', 'north', 'up']);
      const byKind = { diversity: { field: 'kind', at_most: 1 } };
      expect(await ids('search', byKind)).toEqual(['east', 'between']);
      expect(await ids('search', { diversity: { field: 'kind', at_most: 2 } })).toEqual(['east', 'between', 'north']);
      expect(await ids('search', byKind, { k: 1, offset: 1 })).toEqual(['between']);
      expect((await ids('hybrid_search', { ...byKind, alpha: 0 })).length).toBe(1);
      expect(await ids('recommend/north', byKind)).toEqual(['between', 'east']);
      expect((await ids('query', byKind, { top_k: 4 })).length).toBe(2);
      const unlike = { diversity: { lambda: 0.1 }, explain: true };
      const { results } = dataOf(await post('search', { ...asked, ...unlike, k: 4 }));
      expect(results).toMatchObject([
        { external_id: 'east', first_rank: 1 },
        { external_id: 'north', first_rank: 3, diversity_score: expect.closeTo(0.1 * results[1].score, 6) },
        { external_id: 'up', first_rank: 4, score: 0, diversity_score: 0 },
        { external_id: 'between', first_rank: 2 },
      ]);
      expect(await ids('search', unlike, { k: 2, offset: 2 })).toEqual(['up', 'between']);
      expect(await ids('recommend/east', { diversity: { lambda: 1 } })).toEqual(await ids('recommend/east', {}));
      expect(await ids('recommend/between', { diversity: { lambda: 0 } })).toHaveLength(3);
      const queries = [{ ...byKind, vector: [1, 0.1, 0], k: 4 }];
      expect(dataOf(await post('bulk_search', { queries })).results.map(idsOf)).toEqual([['east', 'between']]);
      expect(await ids('search', { ...byKind, order_by: [{ field: 'n', direction: 'desc' }] })).toEqual([
        'between',
        'east',
      ]);
    });

    test.each<[string, object, number]>([
      ['diversity.lambda', { diversity: { lambda: 1.5 } }, 400],
      ['diversity.lambda', { diversity: { lambda: -0.1 } }, 400],
      ['diversity', { diversity: {} }, 422],
      ['diversity', { diversity: { lambda: 0.5, field: 'a' } }, 422],
      ['diversity.candidates', { diversity: { lambda: 0.5, candidates: 1001 } }, 400],
      ['diversity.candidates', { diversity: { lambda: 0.5, candidates: 12 }, k: 10, offset: 3 }, 400],
      ['diversity.at_most', { diversity: { field: 'a', at_most: 0 } }, 422],
      ['diversity', { diversity: { lambda: 0.5 }, group_by: 'kind' }, 400],
    ])('a wrong %s is told (%j)', async (field, options, status) => {
      expect(errorOf(await post('search', { vector: [1, 0, 0], ...options }), status)).toContain(field);
    });

    test('hybrid_search and query fuse by another kind, and by units', async () => {
      const asked = { query_text: 'mountains', vector: [1, 0, 0], explain: true };
      const hybrid = async (options: object) => dataOf(await post('hybrid_search', { ...asked, ...options })).results;
      const plain = await hybrid({});
      expect(await hybrid({ fusion: 'rrf' })).toEqual(plain);
      expect(await hybrid({ fusion: { kind: 'rrf', constant: 60 } })).toEqual(plain);
      expect((await hybrid({ fusion: { kind: 'rrf', constant: 1 } }))[0]).toMatchObject({
        external_id: 'north',
        score: expect.closeTo(0.5 / 4 + 0.5 / 2, 8),
      });
      const units = await hybrid({ score_scale: 'unit' });
      expect(idsOf(units)).toEqual(idsOf(plain));
      expect(units[0].score).toBeCloseTo(61 * plain[0].score, 8);
      const [north, east] = await hybrid({ fusion: 'relative', alpha: 0.3 });
      // The only one with the word, and the last but one in the other list.
      expect(north).toMatchObject({ external_id: 'north', score: expect.closeTo(0.7, 6), keyword_part: 0.7 });
      expect(east).toMatchObject({ external_id: 'east', score: expect.closeTo(0.3, 6), keyword_part: 0 });
      expect((await hybrid({ fusion: 'dbsf', alpha: 0 }))[0].score).toBe(0.5);
      const [{ score, keyword_score: keyword }] = await hybrid({ fusion: 'linear', alpha: 0 });
      expect(score).toBe(keyword);
      const asks = { query: 'mountains', collection_name: name, fusion: 'relative', explain: true };
      const texts = dataOf(await context.api.post('/v1/query', asks)).results;
      expect(texts[0]).toMatchObject({ score: 1, vector_rank: 1, keyword_rank: null, text: expect.any(String) });
    });

    test.each<[string, object, number]>([
      ['fusion', { fusion: 'ranks' }, 422],
      ['fusion', { fusion: { kind: 'rrf', constant: 0 } }, 422],
      ['fusion', { fusion: { constant: 60 } }, 422],
      ['fusion.constant', { fusion: { kind: 'dbsf', constant: 60 } }, 400],
      ['score_scale', { score_scale: 'percent' }, 422],
      ['score_scale', { fusion: 'linear', score_scale: 'unit' }, 400],
    ])('a wrong %s is told (%j)', async (field, options, status) => {
      const wrong = { query_text: 'rivers', vector: [1, 0, 0], ...options };
      expect(errorOf(await post('hybrid_search', wrong), status)).toContain(field);
    });

    test.each<[object, string[]]>([
      [{ query_text: 'rivers birds', match: 'all' }, ['up']],
      [{ query_text: 'rivers birds sea', match: { at_least: 0.6 } }, ['east', 'up']],
      [{ query_text: 'rivers -sea', query_syntax: 'simple' }, ['up']],
      [{ query_text: '+rivers stand', query_syntax: 'simple' }, ['east', 'up']],
      [{ query_text: '-rivers +axis', query_syntax: 'simple' }, ['north']],
      [{ query_text: 'tags:b kind:mix', query_syntax: 'simple' }, ['between', 'east', 'north']],
      [{ query_text: 'tags:b +kind:axis nowhere', match: 'all', query_syntax: 'simple' }, []],
      [{ query_text: '\\-rivers', query_syntax: 'simple' }, ['east', 'up']],
      [{ query_text: '-rivers', vector: [1, 0, 0], query_syntax: 'simple' }, []],
      [{ query_text: '"flow to the sea"', query_syntax: 'simple' }, ['east']],
      [{ query_text: '"flow the"', query_syntax: 'simple' }, []],
      [{ query_text: '"sea flow"~2 rivers', match: 'all', query_syntax: 'simple' }, ['east']],
      [{ query_text: '"sea flow"~1', query_syntax: 'simple' }, []],
      [{ query_text: 'rivers -"the sea"', query_syntax: 'simple' }, ['up']],
      [{ query_text: 'rivers +"birds and"', query_syntax: 'simple' }, ['up']],
      [{ query_text: 'rivrs', fuzzy: 'auto' }, ['east', 'up']],
      [{ query_text: 'rivrs moutains', fuzzy: 1, match: 'all' }, []],
      [{ query_text: 'brids rivers', fuzzy: 1, match: 'all' }, ['up']],
      [{ query_text: 'the moun', prefix_last: true }, ['east', 'north']],
      [{ query_text: 'riv* -sea', query_syntax: 'simple' }, ['up']],
      [{ query_text: 'sae~1 mountians~', query_syntax: 'simple' }, ['east', 'north']],
      [{ query_text: 'kind:mi* nowhere', query_syntax: 'simple' }, ['between']],
      [{ query_text: '+riv*', query_syntax: 'simple' }, ['east', 'up']],
      [{ query_text: '+rivrs~ -flo*', query_syntax: 'simple' }, ['up']],
    ])('hybrid_search by keywords with %j finds %j', async (query, found) => {
      const { results } = dataOf(await post('hybrid_search', { ...query, alpha: 0 }));
      expect(idsOf(results).sort()).toEqual(found);
    });

    test('what must or must not be there holds for vectors, too, and for what is counted', async () => {
      const asked = {
        vector: [1, 0, 0],
        query_syntax: 'simple',
        filters: { n: { $gt: 1 } },
      };
      for (const text of ['rivers -sea +axis', 'rivers -se* +ax*', 'rivers -sae~1 +axsi~', 'rivers -sea +kind:ax*'])
        for (const alpha of [0.5, 1]) {
          const { results, total_matches: total } = dataOf(
            await post('hybrid_search', { ...asked, query_text: text, alpha, exact: true, total: true }),
          );
          expect({ text, ids: idsOf(results).sort(), total }).toEqual({ text, ids: ['north', 'up'], total: 2 });
        }
    });

    test.each([
      [{ query_text: 'a', match: 'most' }, 422, 'match must be'],
      [{ query_text: 'a', match: { at_least: 0 } }, 422, 'match'],
      [{ query_text: 'a', query_syntax: 'lucene' }, 422, 'query_syntax must be one of "plain", "simple"'],
      [
        { query_text: 'a '.repeat(65), query_syntax: 'simple' },
        422,
        'query_text has 65 clauses, more than the maximum of 64',
      ],
      [{ query_text: 'a', fuzzy: 3 }, 422, 'fuzzy must be 0, 1, 2 or "auto"'],
      [
        { query_text: Array.from({ length: 65 }, (_, i) => `w${i}`).join(' '), fuzzy: 1 },
        422,
        'query_text must have at most 64 different words with fuzzy',
      ],
      [{ query_text: 'rivers, the "sea', query_syntax: 'simple' }, 400, 'query_text has an unbalanced quote at 12'],
      [{ query_text: 'a text:b', query_syntax: 'simple' }, 400, 'query_text asks for text:'],
      [{ query_text: '-a', query_syntax: 'simple' }, 400, 'query_text must have a word besides those that must not'],
    ])('hybrid_search refuses %j with %s', async (body, status, message) => {
      expect(errorOf(await post('hybrid_search', body), status)).toContain(message);
    });

    test.each([
      ['search', { k: 99_999 }, 'k is 99999'],
      ['search', { text: '', k: 99_999 }, 'k is 99999'],
      ['bulk_search', { queries: [{ k: 99_999 }] }, 'queries[0].k is 99999'],
      ['hybrid_search', { query_text: '', k: 99_999 }, 'k is 99999'],
    ])('%s names a limit of %j before what is missing', async (endpoint, body, named) => {
      expect(errorOf(await post(endpoint, body), 400)).toContain(named);
    });

    describe('fields and include_text', () => {
      /** Each kind of search, by what it asks for besides. */
      const WAYS: Record<string, (options: object) => Promise<unknown>> = {
        search: (options) => post('search', { vector: [1, 0, 0], ...options }),
        bulk_search: (options) => post('bulk_search', { queries: [{ vector: [1, 0, 0], ...options }] }),
        hybrid_search: (options) => post('hybrid_search', { query_text: 'rivers', vector: [1, 0, 0], ...options }),
        'hybrid_search by words alone': (options) =>
          post('hybrid_search', { query_text: 'rivers', alpha: 0, ...options }),
        rerank: (options) => post('rerank', { vector: [1, 0, 0], candidates: ['between', 'east', 'up'], ...options }),
        recommend: (options) => post('recommend/north', options),
      };
      const resultsOf = (answer: unknown): Record<string, unknown>[] => {
        const [first] = [dataOf(answer as never).results as unknown[]];
        return (Array.isArray(first[0]) ? first[0] : first) as Record<string, unknown>[];
      };

      test.each(Object.keys(WAYS))('are options of %s', async (way) => {
        const plain = resultsOf(await WAYS[way]({}));
        const items = new Map(ITEMS.map((item) => [item.external_id, item]));
        expect(plain.length).toBeGreaterThan(1);
        for (const hit of plain) expect(hit).not.toHaveProperty('text');
        const asked = resultsOf(await WAYS[way]({ include_text: true, fields: ['kind'] }));
        expect(asked.map(({ external_id: id, score }) => [id, score])).toEqual(
          plain.map(({ external_id: id, score }) => [id, score]),
        );
        for (const { external_id: id, text, metadata } of asked) {
          const { kind } = (items.get(id as string)!.metadata ?? {}) as { kind?: string };
          expect([id, text, metadata]).toEqual([
            id,
            items.get(id as string)!.text ?? '',
            kind === undefined ? {} : { kind },
          ]);
        }
        for (const hit of resultsOf(await WAYS[way]({ fields: [] }))) expect(hit.metadata).toEqual({});
        expect(resultsOf(await WAYS[way]({ fields: null, include_text: null }))).toEqual(plain);
        expect(resultsOf(await WAYS[way]({ k: 1, include_text: true }))).toEqual(
          resultsOf(await WAYS[way]({ include_text: true })).slice(0, way === 'rerank' ? undefined : 1),
        );
      });

      test.each(Object.keys(WAYS).filter((way) => way !== 'rerank'))('text_max bounds the texts of %s', async (way) => {
        const whole = resultsOf(await WAYS[way]({ include_text: true }));
        expect(resultsOf(await WAYS[way]({ include_text: true, text_max: 6 }))).toEqual(
          whole.map((hit) => ({ ...hit, text: (hit.text as string).slice(0, 6) })),
        );
        expect(resultsOf(await WAYS[way]({ text_max: 6 }))).toEqual(resultsOf(await WAYS[way]({})));
      });

      test.each(Object.keys(WAYS).filter((way) => way !== 'rerank'))('include_version says it in %s', async (way) => {
        const plain = resultsOf(await WAYS[way]({ include_text: true }));
        const ids = plain.map(({ external_id: id }) => id);
        const stored = dataOf(await post('vectors/fetch', { ids })).vectors as { version: number }[];
        const versioned = plain.map((hit, i): Record<string, unknown> => ({ ...hit, version: stored[i].version }));
        for (const { version } of versioned) expect(version).toBeGreaterThan(0);
        expect(resultsOf(await WAYS[way]({ include_text: true, include_version: true }))).toEqual(versioned);
        expect(resultsOf(await WAYS[way]({ fields: [], include_version: true, k: 2, offset: 1 }))).toEqual(
          versioned.slice(1, 3).map(({ text: _text, ...hit }) => ({ ...hit, metadata: {} })),
        );
      });

      test('what a search says is the version that a change of the item may ask for', async () => {
        const own = await context.collection();
        const url = `/v1/collections/${own}`;
        const vector = [1, 0, 0];
        dataOf(await context.api.post(`${url}/upsert`, { external_id: 'a', vector, metadata: { n: 1 } }));
        const ask = async (more: object = {}) =>
          dataOf(await context.api.post(`${url}/search`, { vector, include_version: true, ...more }));
        const [{ version }] = (await ask()).results;
        const change = { external_id: 'a', vector, metadata: { n: 2 }, if_version: version };
        dataOf(await context.api.post(`${url}/upsert`, change));
        const refused = await context.api.post(`${url}/upsert`, change);
        expect(refused.json?.error?.code).toBe(409);
        const [hit] = (await ask({ group_by: 'n' })).groups[0].hits;
        expect(hit).toMatchObject({ metadata: { n: 2 }, version: expect.any(Number) });
        expect(hit.version).toBeGreaterThan(version);
      });

      test('of a query too, which leaves its texts out where they are not wanted', async () => {
        const [first] = dataOf(
          await post('search', { vector: [1, 0, 0], include_text: false, fields: ['kind', 'nothing'] }),
        ).results;
        expect(first).toEqual({ external_id: 'east', score: expect.closeTo(1, 5), metadata: { kind: 'axis' } });
      });

      test.each([
        ['fields that are no list', { fields: 'kind' }, 422, 'fields'],
        ['a field that is no text', { fields: ['kind', 1] }, 422, 'fields[1]'],
        ['too many fields', { fields: new Array(101).fill('a') }, 400, 'fields has 101 elements'],
        ['texts by a number', { include_text: 1 }, 422, 'include_text'],
      ])('refuse %s', async (_title, options, code, named) => {
        for (const way of Object.values(WAYS)) expect(errorOf((await way(options)) as never, code)).toContain(named);
      });
    });

    describe('order_by', () => {
      const ordered = async (body: object, endpoint = 'search') => {
        const data = dataOf(await post(endpoint, { vector: [1, 0.5, 0], ...body }));
        expect(data.within).toBe('hits');
        return idsOf(data.results);
      };

      test('orders the hits of a page by their metadata', async () => {
        const order = (field: string, more: object = {}) => [{ field, ...more }];
        expect(await ordered({ order_by: order('n', { direction: 'desc' }) })).toEqual([
          'between',
          'up',
          'north',
          'east',
        ]);
        expect(await ordered({ order_by: order('n', { direction: 'desc' }), k: 2, offset: 1, fields: [] })).toEqual([
          'north',
          'east',
        ]);
        expect(await ordered({ order_by: order('kind', { direction: 'desc' }) })).toEqual([
          'between',
          'east',
          'north',
          'up',
        ]);
        expect(await ordered({ order_by: order('tags') })).toEqual(['east', 'north', 'between', 'up']);
        expect(await ordered({ order_by: order('tags', { missing: 'first', direction: 'desc' }) })).toEqual([
          'between',
          'up',
          'east',
          'north',
        ]);
        expect(await ordered({ order_by: order('deep.x') })).toEqual(['east', 'between', 'north', 'up']);
        expect(await ordered({ order_by: [...order('kind'), ...order('n', { direction: 'desc' })] })).toEqual([
          'up',
          'north',
          'east',
          'between',
        ]);
        expect(await ordered({ query_text: 'rivers', order_by: order('n') }, 'hybrid_search')).toEqual([
          'east',
          'north',
          'up',
          'between',
        ]);
        const { results, within } = dataOf(
          await post('bulk_search', { queries: [{ vector: [1, 0, 0], k: 4, order_by: order('n') }] }),
        );
        expect([idsOf(results[0]), within]).toEqual([['east', 'north', 'up', 'between'], 'hits']);
        expect(dataOf(await post('search', { vector: [1, 0, 0], order_by: [] })).within).toBeUndefined();
      });

      test.each([
        [[1, 2, 3, 4].map((n) => ({ field: `f${n}` })), 400, '3'],
        [[{ field: 'n', direction: 'up' }], 422, 'order_by[0].direction'],
        ['n', 422, 'order_by'],
      ])('refuses %j', async (order_by, code, named) => {
        expect(errorOf(await post('search', { vector: [1, 0, 0], order_by }), code)).toContain(named);
      });
    });

    describe('aggregates', () => {
      const aggregate = async (body: object) => dataOf(await post('aggregate', body));

      test('are facets, statistics, ranges and groups of what passes', async () => {
        const filters = { kind: 'axis' };
        expect(
          await aggregate({
            filters,
            facets: [
              { field: 'tags', limit: 1 },
              { field: 'kind', own_filter: false, order: 'value' },
              { field: 'none' },
            ],
            stats: [{ field: 'n', ops: ['min', 'max', 'sum', 'avg', 'count', 'distinct', 'p50', 'p99'] }],
            ranges: [
              { field: 'n', interval: 2 },
              { field: 'n', edges: [0, 2.5] },
            ],
          }),
        ).toEqual({
          facets: [
            { field: 'tags', values: [{ value: 'b', count: 2 }], more: true, missing: 1 },
            {
              field: 'kind',
              values: [
                { value: 'axis', count: 3 },
                { value: 'mix', count: 1 },
              ],
              more: false,
              missing: 0,
            },
            { field: 'none', values: [{ value: null, count: 1 }], more: false, missing: 2 },
          ],
          stats: [{ field: 'n', min: 1, max: 3, sum: 6, avg: 2, count: 3, distinct: 3, p50: 2, p99: 3 }],
          ranges: [
            {
              field: 'n',
              buckets: [
                { from: 0, to: 2, count: 1 },
                { from: 2, to: 4, count: 2 },
              ],
            },
            { field: 'n', buckets: [{ from: 0, to: 2.5, count: 2 }] },
          ],
        });
        expect(
          await aggregate({
            by: { field: 'kind', stats: [{ field: 'n', ops: ['sum'] }], by: { field: 'tags', limit: 1 } },
          }),
        ).toEqual({
          by: {
            field: 'kind',
            groups: [
              {
                value: 'axis',
                count: 3,
                stats: [{ field: 'n', sum: 6 }],
                by: { field: 'tags', groups: [{ value: 'b', count: 2 }], more: true, missing: 1 },
              },
              {
                value: 'mix',
                count: 1,
                stats: [{ field: 'n', sum: 4 }],
                by: { field: 'tags', groups: [], more: false, missing: 1 },
              },
            ],
            more: false,
            missing: 0,
          },
        });
      });

      test.each([{ vector: [1, 0, 0] }, { text: 'rivers' }, { query_text: 'rivers', vector: [1, 0, 0] }])(
        'are of the best hits of %j',
        async (over) => {
          const answer = await aggregate({
            over: { ...over, k: 2 },
            filters: { kind: 'axis' },
            facets: [{ field: 'kind' }],
          });
          expect(answer).toEqual({
            facets: [{ field: 'kind', values: [{ value: 'axis', count: 2 }], more: false, missing: 0 }],
            approximate: true,
            hits: 2,
          });
        },
      );

      test('know calendars, and sums beyond what numbers hold', async () => {
        const other = await context.collection({ shards: 3 });
        const times = [
          '2024-03-30T22:59:59Z',
          '2024-03-30T23:00:00Z',
          '2024-03-31T21:59:59Z',
          '2024-03-31T22:00:00Z',
          'never',
        ];
        const items = times.map((t, i) => ({ external_id: `i${i}`, vector: [1, 0, i], metadata: { t, big: 1.7e308 } }));
        dataOf(await context.api.post(`/v1/collections/${other}/bulk_upsert`, { items }));
        const ask = (body: object) => context.api.post(`/v1/collections/${other}/aggregate`, body);
        // A day of 23 hours.
        expect(
          dataOf(await ask({ ranges: [{ field: 't', calendar: 'day', time_zone: 'Europe/Berlin' }] })).ranges,
        ).toEqual([
          {
            field: 't',
            buckets: [
              { from: '2024-03-30T00:00:00+01:00', to: '2024-03-31T00:00:00+01:00', count: 1 },
              { from: '2024-03-31T00:00:00+01:00', to: '2024-04-01T00:00:00+02:00', count: 2 },
              { from: '2024-04-01T00:00:00+02:00', to: '2024-04-02T00:00:00+02:00', count: 1 },
            ],
          },
        ]);
        const answer = await ask({ stats: [{ field: 'big' }] });
        expect(dataOf(answer).stats).toEqual([
          { field: 'big', min: 1.7e308, max: 1.7e308, sum: null, avg: 1.7e308, count: 5 },
        ]);
        expect(JSON.stringify(answer)).toContain('beyond the numbers');
        expect(dataOf(await ask({ stats: [{ field: 't', ops: ['count', 'distinct'] }] })).stats).toEqual([
          { field: 't', count: 5, distinct: 5, not_numbers: 5 },
        ]);
      });

      test('have intervals as people write them, and groups without numbers', async () => {
        const other = await context.collection({ shards: 3 });
        const items = Array.from({ length: 31 }, (_, i) => ({
          external_id: `i${i}`,
          vector: [1, 0, i],
          metadata: { p: Number((i / 10).toFixed(1)), v: i < 2 ? 'none' : i, part: i < 2 ? 'texts' : 'numbers' },
        }));
        dataOf(await context.api.post(`/v1/collections/${other}/bulk_upsert`, { items }));
        const ask = async (body: object) => dataOf(await context.api.post(`/v1/collections/${other}/aggregate`, body));
        const [{ buckets }] = (await ask({ ranges: [{ field: 'p', interval: 0.1 }] })).ranges;
        expect(buckets.map(({ from, count }: any) => [from, count])).toEqual(
          items.map(({ metadata }) => [metadata.p, 1]),
        );
        const thirds = await ask({
          filters: { p: { $in: [0.3, 0.7] } },
          ranges: [
            { field: 'p', interval: 0.1 },
            { field: 'p', interval: 0.3 },
          ],
        });
        expect(thirds.ranges.map((one: any) => one.buckets.map(({ from, to }: any) => [from, to]))).toEqual([
          [
            [0.3, 0.4],
            [0.4, 0.5],
            [0.5, 0.6],
            [0.6, 0.7],
            [0.7, 0.8],
          ],
          [
            [0.3, 0.6],
            [0.6, 0.9],
          ],
        ]);
        const { groups } = (
          await ask({
            by: { field: 'part', stats: [{ field: 'v', ops: ['min'] }], ranges: [{ field: 'v', interval: 50 }] },
          })
        ).by;
        expect(groups).toEqual([
          expect.objectContaining({ value: 'numbers', stats: [{ field: 'v', min: 2 }] }),
          {
            value: 'texts',
            count: 2,
            stats: [{ field: 'v', min: null, not_numbers: 2 }],
            ranges: [{ field: 'v', buckets: [] }],
          },
        ]);
      });

      test.each([
        [{}, 422, 'none of facets'],
        [{ facets: [{ field: 1 }] }, 422, 'facets[0].field'],
        [{ facets: [{ field: 'n', limit: 1001 }] }, 400, '1000'],
        [{ facets: Array.from({ length: 21 }, () => ({ field: 'n' })) }, 400, '20'],
        [{ stats: [{ field: 'kind' }] }, 422, 'stats[0].field'],
        [{ by: { field: 'n', stats: [{ field: 'kind', ops: ['avg'] }] } }, 422, 'by.stats[0].field'],
        [{ ranges: [{ field: 'n' }] }, 422, 'interval'],
        [{ ranges: [{ field: 'n', edges: [2, 1] }] }, 422, 'rise'],
        [{ ranges: [{ field: 'n', interval: 1e-9 }] }, 400, '10000'],
        [{ ranges: [{ field: 'kind', interval: 1 }] }, 422, 'calendar'],
        [{ ranges: [{ field: 'n', calendar: 'day', time_zone: 'Mars/Olympus' }] }, 422, 'time_zone'],
        [{ by: { field: 'a', limit: 100, by: { field: 'b', limit: 100 } } }, 400, 'by.by.limit'],
        [{ over: { k: 3 }, facets: [{ field: 'n' }] }, 422, 'over'],
        [{ over: { text: 'a' }, facets: [{ field: 'n', own_filter: false }] }, 400, 'own_filter'],
      ])('refuse %j', async (body, code, named) => {
        expect(errorOf(await post('aggregate', body), code)).toContain(named);
      });
    });

    describe('counts', () => {
      const count = async (body?: unknown) => dataOf(await post('count', body)).count as number;

      test('are of all, or of those that pass the filters, as they are now', async () => {
        expect([await count(), await count({}), await count({ filters: null }), await count({ filters: {} })]).toEqual([
          4, 4, 4, 4,
        ]);
        expect(await count({ filters: { kind: 'axis' } })).toBe(3);
        expect(await count({ filters: { $or: [{ n: { $gt: 3 } }, { tags: 'a' }] } })).toBe(2);
        expect(await count({ filters: { n: { $gt: 99 } } })).toBe(0);
        const other = await context.collection({ shards: 3 });
        const ask = async (endpoint: string, body: object) =>
          dataOf(await context.api.post(`/v1/collections/${other}/${endpoint}`, body));
        expect(await ask('count', { filters: { n: 1 } })).toEqual({ count: 0 });
        await ask('bulk_upsert', {
          items: Array.from({ length: 60 }, (_, i) => ({
            external_id: `i${i}`,
            vector: [1, 0, i],
            metadata: { n: i % 3 },
          })),
        });
        expect(await ask('count', { filters: { n: 1 } })).toEqual({ count: 20 });
        await ask('delete_batch', { external_ids: ['i1', 'i4', 'i0'] });
        expect([await ask('count', { filters: { n: 1 } }), await ask('count', {})]).toEqual([
          { count: 18 },
          { count: 57 },
        ]);
      });

      test('tell of fields that no item has', async () => {
        const answer = await post('count', { filters: { knd: 'axis' } });
        expect(dataOf(answer).count).toBe(0);
        expect(JSON.stringify(answer)).toContain('did you mean');
      });

      test('come with a search that asks for them', async () => {
        const filters = { kind: 'axis' };
        const totalOf = async (endpoint: string, body: object) =>
          dataOf(await post(endpoint, body)).total_matches as unknown;
        const vector = [1, 0, 0];
        expect(await totalOf('search', { vector, filters, k: 1, total: true })).toBe(3);
        expect(await totalOf('search', { vector, k: 1, min_score: 0.9, total: true })).toBe(4);
        expect(await totalOf('hybrid_search', { query_text: 'rivers', vector, filters, k: 1, total: true })).toBe(3);
        expect(await totalOf('recommend/east', { filters, k: 1, total: true })).toBe(3);
        expect(
          await totalOf('bulk_search', {
            queries: [{ vector, filters, k: 1, total: true }, { vector }, { vector, k: 2, total: true }],
          }),
        ).toEqual([3, null, 4]);
        expect(await totalOf('bulk_search', { queries: [{ vector }, { vector, total: false }] })).toBeUndefined();
        expect(await totalOf('search', { vector, filters, total: false })).toBeUndefined();
      });

      test.each([
        [{ filters: 'kind' }, 422, 'filters'],
        [{ filters: { kind: { $near: 1 } } }, 422, '$near'],
      ])('refuse %j', async (body, code, named) => {
        expect(errorOf(await post('count', body), code)).toContain(named);
        expect(errorOf(await post('search', { vector: [1, 0, 0], total: 1 }), 422)).toContain('total');
      });
    });

    describe('group_by', () => {
      const vector = [1, 0.5, 0];
      const keysOf = (groups: { key: unknown; hits: { external_id: string }[] }[]) =>
        groups.map(({ key, hits }) => [key, ...idsOf(hits)]);
      const groupsOf = async (endpoint: string, body: object) => {
        const data = dataOf(await post(endpoint, body));
        if (endpoint !== 'bulk_search') expect(data.results).toBeUndefined();
        return data.groups;
      };

      test('answers the best groups, each as good as its best hit', async () => {
        const plain = dataOf(await post('search', { vector, include_text: true })).results;
        const groups = await groupsOf('search', { vector, group_by: 'kind', group_size: 2, include_text: true });
        expect(keysOf(groups)).toEqual([
          ['mix', 'between'],
          ['axis', 'east', 'north'],
        ]);
        expect(groups[1]).toEqual({ key: 'axis', score: plain[1].score, hits: [plain[1], plain[2]] });
        expect(keysOf(await groupsOf('search', { vector, group_by: 'tags', fields: [] }))).toEqual([
          ['a', 'east'],
          ['b', 'east'],
        ]);
        const each = { vector, group_by: 'deep.x', group_missing: 'each', k: 2, offset: 1, exact: true };
        expect(keysOf(await groupsOf('search', each))).toEqual([
          [1, 'east'],
          [null, 'north'],
        ]);
        expect(await groupsOf('search', { vector, group_by: 'nowhere' })).toEqual([]);
        expect(keysOf(await groupsOf('search', { vector, group_by: 'n', min_score: 0.5 }))).toHaveLength(2);
      });

      test('is an option of every search', async () => {
        const options = { group_by: 'kind', group_size: 9, fields: ['n'] };
        const fused = await groupsOf('hybrid_search', { query_text: 'rivers', vector, explain: true, ...options });
        expect(keysOf(fused).map(([key]) => key)).toEqual(['axis', 'mix']);
        expect(fused[0].hits[0]).toMatchObject({
          vector_rank: expect.any(Number),
          metadata: { n: expect.any(Number) },
        });
        expect(keysOf(await groupsOf('recommend/east', options))).toEqual([
          ['mix', 'between'],
          ['axis', 'north', 'up'],
        ]);
        const candidates = ['up', 'between', 'east'];
        expect(keysOf(await groupsOf('rerank', { vector, candidates, ...options }))).toEqual([
          ['mix', 'between'],
          ['axis', 'east', 'up'],
        ]);
        const several = dataOf(
          await post('bulk_search', {
            queries: [
              { vector, k: 1 },
              { vector, ...options },
            ],
          }),
        );
        expect(several.results.map(idsOf)).toEqual([['between'], []]);
        expect(several.groups[0]).toBeNull();
        expect(keysOf(several.groups[1])).toEqual([
          ['mix', 'between'],
          ['axis', 'east', 'north', 'up'],
        ]);
      });

      test.each([
        [{ group_by: 1 }, 422, 'group_by'],
        [{ group_by: '' }, 422, 'group_by'],
        [{ group_by: 'kind', group_size: 0 }, 422, 'group_size'],
        [{ group_by: 'kind', group_size: 101 }, 422, 'group_size'],
        [{ group_by: 'kind', group_missing: 'all' }, 422, 'group_missing'],
        [{ group_size: 2 }, 400, 'needs group_by'],
        [{ group_by: 'kind', order_by: [{ field: 'n' }] }, 400, 'order_by'],
        [{ group_by: 'kind', k: 9_999, offset: 2 }, 400, 'MAX_K'],
        [{ group_by: 'kind', k: 10_000, group_size: 100 }, 400, 'group_size'],
      ])('refuses %j', async (body, code, named) => {
        expect(errorOf(await post('search', { vector, ...body }), code)).toContain(named);
      });
    });

    describe('expand', () => {
      const vector = [1, 0, 0];
      const expand = { before: 1, after: 1 };
      let tale: string;
      const ask = async (endpoint: string, body: object) =>
        context.api.post(`/v1/collections/${tale}/${endpoint}`, body);
      const contextsOf = (hits: { external_id: string; context: unknown }[]) =>
        Object.fromEntries(hits.map((hit) => [hit.external_id, hit.context]));
      const around = (from_chunk: number, to_chunk: number, text: string) => ({ text, from_chunk, to_chunk });

      beforeAll(async () => {
        tale = await context.collection({ shards: 2 });
        const texts = ['once there was', 'there was a king', 'a king in a tower', 'who slept', 'for years', 'alone'];
        const chunks = texts.map((text, i) => ({
          external_id: `c${i}`,
          vector: [1, i / 10, 0],
          metadata: { document_id: 'tale', chunk_index: i, place: 'here' },
          text,
        }));
        dataOf(await ask('bulk_upsert', { items: [...chunks, ...ITEMS] }));
      });

      test('adds the text around, once where windows touch', async () => {
        const filters = { chunk_index: { $in: [0, 3, 4] } };
        const { results } = dataOf(await ask('search', { vector, filters, expand, fields: ['chunk_index'] }));
        const whole = around(0, 5, 'once there was a king in a tower\nwho slept\nfor years\nalone');
        expect(contextsOf(results)).toEqual({ c0: whole, c3: whole, c4: whole });
        expect(results[0].metadata).toEqual({ chunk_index: 0 });
        const two = { vector, k: 1, filters: { chunk_index: 2 }, expand: { before: 1 } };
        expect(contextsOf(dataOf(await ask('search', two)).results)).toEqual({
          c2: around(1, 2, 'there was a king in a tower'),
        });
        const own = { vector, k: 7, expand: {}, order_by: [{ field: 'chunk_index', direction: 'desc' }] };
        const ordered = dataOf(await ask('search', own)).results;
        expect(ordered[0]).toMatchObject({ external_id: 'c5', context: whole });
        expect(ordered.at(-1)).toMatchObject({ external_id: 'east', context: null });
      });

      test('is an option of every search', async () => {
        const filters = { chunk_index: 4 };
        const one = { c4: around(3, 5, 'who slept\nfor years\nalone') };
        const fused = dataOf(
          await ask('hybrid_search', { query_text: 'years', vector, filters, expand, explain: true }),
        );
        expect(contextsOf(fused.results)).toEqual(one);
        expect(contextsOf(dataOf(await ask('recommend/c0', { filters, expand })).results)).toEqual(one);
        const bulk = {
          queries: [
            { vector, k: 1 },
            { vector, filters, expand },
          ],
        };
        const [plain, expanded] = dataOf(await ask('bulk_search', bulk)).results;
        expect(plain[0].context).toBeUndefined();
        expect(contextsOf(expanded)).toEqual(one);
        const { groups } = dataOf(await ask('search', { vector, filters, expand, group_by: 'place' }));
        expect(contextsOf(groups[0].hits)).toEqual(one);
      });

      test.each([
        [{ expand: 1 }, 422, 'expand'],
        [{ expand: { before: 11 } }, 422, 'expand.before'],
        [{ expand: { after: -1 } }, 422, 'expand.after'],
        [{ expand: { after: 0.5 } }, 422, 'expand.after'],
        [{ expand, k: 10_000, group_by: 'kind', group_size: 10 }, 400, 'expand'],
        [{ expand, filters: { kind: 'axis' } }, 400, 'document_id'],
      ])('refuses %j', async (body, code, named) => {
        expect(errorOf(await ask('search', { vector, ...body }), code)).toContain(named);
      });

      test('names the query that has no chunks, and takes none where nothing is found', async () => {
        const queries = [
          { vector, k: 1 },
          { vector, filters: { kind: 'axis' }, expand },
        ];
        expect(errorOf(await ask('bulk_search', { queries }), 400)).toContain('queries[1].expand');
        expect(dataOf(await ask('search', { vector, filters: { kind: 'none' }, expand })).results).toEqual([]);
      });
    });

    describe('highlight', () => {
      const vector = [1, 0, 0];
      const TEXT = 'The ﬁshers are fishing. Nobody fished here before them, and the rivers are empty.';
      let lake: string;
      const ask = async (endpoint: string, body: object) =>
        context.api.post(`/v1/collections/${lake}/${endpoint}`, body);
      const whole = {
        field: 'text',
        start: 0,
        text: TEXT,
        spans: [
          [15, 22],
          [31, 37],
          [64, 70],
        ],
      };

      beforeAll(async () => {
        lake = await context.collection({ language: 'en', shards: 2 });
        const items = [
          { external_id: 'a', vector, text: TEXT, metadata: { title: 'Rivers', tags: ['lake', 'River fish'], n: 1 } },
          { external_id: 'b', vector: [1, 1, 0], metadata: { title: 'Hills' } },
        ];
        dataOf(await ask('bulk_upsert', { items }));
      });

      test('shows where words were found, in all their forms, and no more than was asked for', async () => {
        const body = { query_text: 'to fish a river', vector, highlight: {}, fields: [] };
        const { results } = dataOf(await ask('hybrid_search', body));
        expect(results).toEqual([
          { external_id: 'a', score: expect.any(Number), metadata: {}, highlights: [whole] },
          { external_id: 'b', score: expect.any(Number), metadata: {}, highlights: [] },
        ]);
        const fields = ['tags', 'title', 'text', 'n', 'none', 'title'];
        const marked = { ...body, k: 1, include_text: true, highlight: { fields, pre: '<b>', post: '</b>', size: 30 } };
        expect(dataOf(await ask('hybrid_search', marked)).results[0]).toMatchObject({
          text: TEXT,
          highlights: [
            {
              field: 'tags',
              index: 1,
              start: 0,
              text: '<b>River</b> <b>fish</b>',
              spans: [
                [0, 5],
                [6, 10],
              ],
            },
            { field: 'title', start: 0, text: '<b>Rivers</b>', spans: [[0, 6]] },
            { field: 'text', start: 11, text: 'are <b>fishing</b>. Nobody <b>fished</b>' },
            { field: 'text', start: 56, text: 'and the <b>rivers</b> are empty.', spans: [[64, 70]] },
          ],
        });
      });

      test('is an option of every search with a text', async () => {
        const highlight = { fragments: 1 };
        const text = 'fish river';
        const expected = [expect.objectContaining({ external_id: 'a', highlights: [whole] })];
        const with1 = { k: 1, highlight };
        expect(dataOf(await ask('search', { vector, text, ...with1 })).results).toEqual(expected);
        const { groups } = dataOf(
          await ask('search', { vector, text, ...with1, group_by: 'title', include_text: true }),
        );
        expect(groups[0].hits).toEqual([expect.objectContaining({ text: TEXT, highlights: [whole] })]);
        const queries = [
          { vector, k: 1 },
          { vector, text, ...with1, order_by: [{ field: 'n' }] },
        ];
        const [plain, marked] = dataOf(await ask('bulk_search', { queries })).results;
        expect(plain[0].highlights).toBeUndefined();
        expect(marked).toEqual(expected);
        expect(marked[0].text).toBeUndefined();
      });

      test.each([
        [{ vector, highlight: {} }, 400, 'highlight needs a text'],
        [{ vector, text: 'a', highlight: {}, k: 1001 }, 400, 'highlight is of 1001 results'],
        [{ vector, text: 'a', highlight: {}, k: 11, group_by: 'n', group_size: 100 }, 400, 'highlight'],
        [{ vector, text: 'a', highlight: { fields: 'text' } }, 422, 'highlight.fields'],
        [{ vector, text: 'a', highlight: { fields: Array.from({ length: 21 }, () => 'a') } }, 400, 'highlight.fields'],
        [{ vector, text: 'a', highlight: { size: 19 } }, 422, 'highlight.size'],
        [{ vector, text: 'a', highlight: { fragments: 11 } }, 422, 'highlight.fragments'],
        [{ vector, text: 'a', highlight: { pre: 'x'.repeat(65) } }, 422, 'highlight.pre'],
      ])('refuses %j', async (body, code, named) => {
        expect(errorOf(await ask('search', body), code)).toContain(named);
      });

      test('marks what signs and slips stand for, and not what must not be there', async () => {
        const marked = async (body: object): Promise<string[]> => {
          const { results, groups } = dataOf(
            await ask('hybrid_search', { vector, alpha: 0, k: 1, highlight: { pre: '[', post: ']' }, ...body }),
          );
          const [hit] = results ?? groups[0].hits;
          return hit.highlights.flatMap(({ text }: { text: string }) => text.match(/\[.*?\]/g) ?? []);
        };
        const simple = { query_syntax: 'simple' };
        expect(await marked({ ...simple, query_text: '+rivers -mountains' })).toEqual(['[rivers]']);
        expect(await marked({ ...simple, query_text: 'riv*' })).toEqual(['[rivers]']);
        expect(await marked({ ...simple, query_text: '"rivers are empty" -"fishers before"' })).toEqual([
          '[rivers]',
          '[are]',
          '[empty]',
        ]);
        expect(await marked({ ...simple, query_text: '+"fished here" rivers fishers' })).toEqual([
          '[ﬁshers]',
          '[fished]',
          '[here]',
          '[rivers]',
        ]);
        expect(await marked({ ...simple, query_text: '+"fished here"' })).toEqual(['[fished]', '[here]']);
        expect(await marked({ ...simple, query_text: '"here before rivers"~1 +empty' })).toEqual(['[empty]']);
        for (const alpha of [0, 0.5, 1]) {
          expect(await marked({ ...simple, query_text: 'riv*', alpha })).toEqual(['[rivers]']);
          expect(await marked({ ...simple, query_text: 'rivrs~', alpha })).toEqual(['[rivers]']);
        }
        expect(await marked({ query_text: 'rivrs', fuzzy: 'auto' })).toEqual(['[rivers]']);
        expect(await marked({ query_text: 'rivrs', fuzzy: 'auto', group_by: 'title' })).toEqual(['[rivers]']);
      });

      test('looks at so much of an answer, and hits behind that have none', async () => {
        const large = await context.collection({ dim: 2, distance_metric: 'l2' });
        const long = `river ${'x '.repeat(100_000)}`;
        const items = Array.from({ length: 12 }, (_, i) => ({ external_id: `${i}`, vector: [i, 0], text: long }));
        dataOf(await context.api.post(`/v1/collections/${large}/bulk_upsert`, { items }));
        const one = { vector: [0, 0], text: 'river', k: 6, highlight: {} };
        const { results } = dataOf(
          await context.api.post(`/v1/collections/${large}/bulk_search`, { queries: [one, { ...one, offset: 6 }] }),
        );
        const counts = results.flat().map(({ highlights }: { highlights?: unknown[] }) => highlights?.length);
        expect(counts).toEqual([...new Array(10).fill(1), undefined, undefined]);
      });

      test('needs a text of recommend, too, which has none', async () => {
        expect(errorOf(await ask('recommend/a', { highlight: {} }), 400)).toContain('highlight needs a text');
      });

      describe('by meaning', () => {
        const highlight = { by: 'meaning' };
        let house: string;
        const askHouse = async (endpoint: string, body: object) =>
          dataOf(await context.api.post(`/v1/collections/${house}/${endpoint}`, body));

        beforeAll(async () => {
          house = await context.collection({ dim: 256, shards: 2 });
          const items = [
            { external_id: 'cats', text: ' Boats cross a lake.\nCats sleep all day. Bread was baked today.' },
            { external_id: 'list', text: 'none', metadata: { notes: ['Boats.', 'Bread. Cats were asleep! Lakes.'] } },
          ];
          await askHouse('bulk_upsert', { items });
        });

        test('a hit without the words shows the sentence that is nearest, others show the words', async () => {
          const body = { query_text: 'sleepy lake', alpha: 1, k: 2, fields: [], highlight };
          const { results } = await askHouse('hybrid_search', body);
          const found = new Map(results.map((hit: any) => [hit.external_id, hit.highlights]));
          expect(found.get('cats')).toMatchObject([{ spans: [[15, 19]] }]);
          const sleepy = { ...body, query_text: 'sleepy', highlight: { ...highlight, fields: ['text', 'notes'] } };
          const nearest = await askHouse('hybrid_search', sleepy);
          expect(Object.fromEntries(nearest.results.map((hit: any) => [hit.external_id, hit.highlights]))).toEqual({
            cats: [{ field: 'text', start: 21, text: 'Cats sleep all day.', spans: [] }],
            list: [{ field: 'notes', index: 1, start: 7, text: 'Cats were asleep!', spans: [] }],
          });
          const short = { ...sleepy, highlight: { ...highlight, size: 20, fields: ['notes'] } };
          expect((await askHouse('hybrid_search', short)).results).toContainEqual(
            expect.objectContaining({ external_id: 'cats', highlights: [] }),
          );
        });

        test('needs no text, and where no vectors are searched there is no nearest one', async () => {
          const { results } = await askHouse('recommend/list', { k: 1, highlight });
          expect(results[0].highlights).toEqual([expect.objectContaining({ field: 'text', spans: [] })]);
          const { results: marked } = await askHouse('bulk_search', {
            queries: [{ text: 'sleepy', k: 1, highlight, filters: { $id: ['cats'] } }],
          }).then(({ results: [first] }) => ({ results: first }));
          expect(marked[0].highlights).toEqual([expect.objectContaining({ text: 'Cats sleep all day.' })]);
          const keywords = { query_text: 'bread', alpha: 0, highlight: { ...highlight, fields: ['none'] } };
          expect((await askHouse('hybrid_search', keywords)).results[0].highlights).toEqual([]);
        });

        test('looks at so many sentences of an answer, and hits behind that have none', async () => {
          const large = await context.collection({ dim: 64 });
          const sentences = Array.from({ length: 40 }, (_, i) => `Sentence ${i}.`).join(' ');
          const items = Array.from({ length: 12 }, (_, i) => ({ external_id: `${i}`, text: `${i}. ${sentences}` }));
          dataOf(await context.api.post(`/v1/collections/${large}/bulk_upsert`, { items }));
          const { results } = dataOf(
            await context.api.post(`/v1/collections/${large}/recommend/0`, { k: 11, highlight }),
          );
          const counts = results.map(({ highlights }: { highlights?: unknown[] }) => highlights?.length);
          expect(counts).toEqual([...new Array(8).fill(1), undefined, undefined, undefined]);
        });

        test('is refused where no model made the vectors', async () => {
          const own = await context.collection({ dim: 2 });
          dataOf(await context.api.post(`/v1/collections/${own}/upsert`, { external_id: 'a', vector: [1, 0] }));
          expect(
            errorOf(await context.api.post(`/v1/collections/${own}/search`, { vector: [1, 0], k: 1, highlight }), 400),
          ).toContain('no text of collection');
        });
      });
    });

    test('min_score leaves out what scores less, whatever the page', async () => {
      const vector = [1, 0.5, 0];
      const all = dataOf(await post('search', { vector })).results;
      const least = all[1].score;
      const left = await post('why', { vector, min_score: 10, external_id: 'east' });
      expect(dataOf(left).lost_at).toBe('score');
      const data = dataOf(await post('search', { vector, min_score: least }));
      expect(data).toMatchObject({ results: all.slice(0, 2), total_count: 4, k: 10, offset: 0 });
      expect(dataOf(await post('search', { vector, min_score: least, k: 2, offset: 1 })).results).toEqual([all[1]]);
      expect(dataOf(await post('search', { vector, min_score: least, offset: 2 })).results).toEqual([]);
      expect(dataOf(await post('search', { vector, min_score: null })).results).toEqual(all);
      expect(dataOf(await post('search', { vector, min_score: 2 })).results).toEqual([]);
      expect(dataOf(await post('search', { vector, min_score: least, k: 2, cursor: 'first' }))).toMatchObject({
        results: all.slice(0, 2),
        next_cursor: null,
      });
      expect(
        dataOf(await post('bulk_search', { queries: [{ vector, min_score: least }, { vector }] })).results,
      ).toEqual([all.slice(0, 2), all]);
      const fused = dataOf(
        await post('hybrid_search', { query_text: 'mountains', vector: [0, 1, 0], min_score: 1 / 61 - 1e-9 }),
      ).results;
      expect(idsOf(fused)).toEqual(['north']);
    });

    test.each(['0.5', true, [], '1e999'])('a min_score of %j is no number', async (given) => {
      const wrong =
        given === '1e999'
          ? '{"vector":[1,0,0],"query_text":"a","min_score":1e999}'
          : JSON.stringify({ vector: [1, 0, 0], query_text: 'a', min_score: given });
      for (const endpoint of ['search', 'hybrid_search'])
        expect(errorOf(await post(endpoint, wrong), 422)).toContain('min_score');
    });

    test.each([
      ['no query_text', { vector: [1, 0, 0] }, 422],
      ['alpha above 1', { query_text: 'a', vector: [1, 0, 0], alpha: 1.1 }, 422],
      ['alpha below 0', { query_text: 'a', vector: [1, 0, 0], alpha: -0.1 }, 422],
      ['alpha as a text', { query_text: 'a', vector: [1, 0, 0], alpha: '0.5' }, 422],
      ['a wrong length', { query_text: 'a', vector: [1, 0] }, 400],
      ['a blank text and no vector', { query_text: '  ' }, 400],
      ['too many', { query_text: 'a', vector: [1, 0, 0], k: 10001 }, 400],
      ['a page too far', { query_text: 'a', vector: [1, 0, 0], k: 1, offset: 10000 }, 400],
    ])('hybrid_search refuses %s', async (_title, body, code) => {
      errorOf(await post('hybrid_search', body), code);
    });

    test('rerank scores known candidates once, best first', async () => {
      const data = dataOf(
        await post('rerank', {
          vector: [0, 1, 0],
          candidates: ['east', 'zz', 'north', 'between', 'north'],
          include_timing: true,
        }),
      );
      expect(data.timing_ms.embedding_ms).toBe(0);
      expect(idsOf(data.results)).toEqual(['north', 'between', 'east']);
      expect(data.results[0]).toEqual({
        external_id: 'north',
        score: expect.closeTo(1, 5),
        metadata: ITEMS[1].metadata,
      });
      expect(data.timing_ms).toEqual(TIMING);
      expect(dataOf(await post('rerank', { vector: [0, 1, 0], candidates: [] })).results).toEqual([]);
      expect(errorOf(await post('rerank', { vector: [0, 1, 0] }), 422)).toContain('candidates');
      errorOf(await post('rerank', { candidates: ['east'] }), 422);
      errorOf(await post('rerank', { vector: [1], candidates: ['east'] }), 400);
      errorOf(
        await post('rerank', { vector: [0, 1, 0], candidates: Array.from({ length: 10001 }, (_, i) => `v${i}`) }),
        400,
      );
    });

    test('recommend leaves the source out and takes k from body or query string', async () => {
      const data = dataOf(await post('recommend/east', { k: 2, filters: { kind: 'mix' } }));
      expect(data).toMatchObject({ collection: name, source_id: 'east', k: 2 });
      expect(idsOf(data.results)).toEqual(['between']);
      expect(dataOf(await post('recommend/east')).results).toHaveLength(3);
      expect(dataOf(await post('recommend/east?k=1')).results).toHaveLength(1);
      expect(dataOf(await post('recommend/east?k=1', { k: 2 })).k).toBe(2);
      expect(idsOf(dataOf(await post('recommend/east?offset=1', {})).results)).toHaveLength(2);
      expect(errorOf(await post('recommend/zz'), 404)).toContain('zz');
      errorOf(await post('recommend/east?k=x'), 400);
      errorOf(await post('recommend/east?k=0'), 400);
      errorOf(await post('recommend/east', { k: 0 }), 422);
      errorOf(await post('recommend/east', { k: 10001 }), 400);
      errorOf(await post('recommend/east?k=10001'), 400);
      errorOf(await post('recommend/east', { k: 1, offset: 10000 }), 400);
    });

    test('similarity is the cosine of two stored vectors', async () => {
      const data = dataOf(await post('similarity?id1=east&id2=between'));
      expect(data).toEqual({
        id1: 'east',
        id2: 'between',
        similarity: expect.closeTo(Math.SQRT1_2, 5),
        score: data.similarity,
      });
      expect(errorOf(await post('similarity?id1=east&id2=zz'), 404)).toContain('zz');
      expect(errorOf(await post('similarity?id1=east'), 400)).toContain('id2');
      expect(errorOf(await post('similarity'), 400)).toContain('id1');
    });
  });
}
