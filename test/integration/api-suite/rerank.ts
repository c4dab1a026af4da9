import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../support/eventually';
import { type ApiClient as Api, ApiClient, dataOf, errorOf } from '../../support/targets/api-client';
import type { ApiTarget, StartTarget } from '../../support/targets/api-target';
import { writeTinyModel } from '../../support/onnx/tiny-model';

/** Words of the tiny model, so that texts differ in what it reads. */
const WORDS = 'cat dog tree river stone red blue fast slow house sun moon rain snow wind fire'.split(' ');
const ITEMS = Array.from({ length: 30 }, (_, i) => ({
  external_id: `i${String(i).padStart(2, '0')}`,
  text: i === 7 ? undefined : `the ${WORDS[i % 16]} and the ${WORDS[(i * 7 + 3) % 16]}`,
  vector: [Math.cos(i / 20), Math.sin(i / 20)],
  metadata: { n: i, kind: WORDS[i % 3], title: `${WORDS[(i * 5) % 16]} road`, lines: ['a', WORDS[i % 16]] },
}));
const QUERY = 'red river';

/** Reranking by a real graph, in a service that has two models. */
export function describeRerank(name: string, startTarget: StartTarget): void {
  describe(`reranking of ${name}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'quiver-rerank-'));
    let target: ApiTarget;
    let api: Api;
    /** By text, the score of the first model. */
    const scores = new Map<string, number>();
    beforeAll(async () => {
      writeTinyModel(join(folder, 'cross'), { labels: 1 });
      writeTinyModel(join(folder, 'late'));
      const models = `tiny=${join(folder, 'cross')},late=late-interaction:${join(folder, 'late')}`;
      target = await startTarget({ RERANK_MODEL: models, RERANK_THREADS: '1', MAX_BULK_QUERIES: '20' });
      api = new ApiClient(target);
      dataOf(await api.post('/v1/collections', { name: 'c', dim: 2, shards: 3 }));
      dataOf(await api.post('/v1/collections/c/bulk_upsert', { items: ITEMS }));
      const texts = [
        ...ITEMS.flatMap(({ text }) => (text === undefined ? [] : [text])),
        ...ITEMS.map(({ metadata }) => metadata.title),
        ...ITEMS.map(({ metadata }) => metadata.lines.join('\n')),
      ];
      const { results } = dataOf(await api.post('/v1/rerank', { query: QUERY, documents: texts }));
      for (const { index, score } of results) scores.set(texts[index], score);
    });
    afterAll(async () => {
      await target?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const search = async (body: object): Promise<any> =>
      dataOf(await api.post('/v1/collections/c/search', { text: QUERY, vector: [1, 0], ...body }));
    /** What a list becomes by the scores of the texts; without a text, hits stay in order behind. */
    const reordered = (hits: any[], textOf: (id: string) => string | undefined): any[] => {
      const ranked = hits.map((hit, i) => ({ ...hit, rank: i + 1, text: textOf(hit.external_id) }));
      const scored = ranked
        .filter(({ text }) => text !== undefined)
        .map(({ external_id, score, rank, text }) => ({
          external_id,
          score: scores.get(text),
          first_score: score,
          first_rank: rank,
        }))
        .sort((a, b) => b.score! - a.score! || (a.external_id < b.external_id ? -1 : 1));
      return [
        ...scored,
        ...ranked.filter(({ text }) => text === undefined).map(({ external_id, score }) => ({ external_id, score })),
      ];
    };
    const placesOf = (hits: any[]): any[] =>
      hits.map(({ external_id, score, first_score, first_rank }) => ({
        external_id,
        score,
        ...(first_rank !== undefined && { first_score, first_rank }),
      }));
    const textOf = (id: string): string | undefined => ITEMS.find(({ external_id }) => external_id === id)!.text;

    test('texts are scored for a query, best first, by the model that is asked for', async () => {
      const documents = ['a red river', 'a slow house', 'a red river', ''];
      const one = dataOf(await api.post('/v1/rerank', { query: QUERY, documents }));
      expect(one.model).toBe('tiny');
      expect(one.results.map(({ index }: any) => index).sort()).toEqual([0, 1, 2, 3]);
      expect(one.results.map(({ score }: any) => score)).toEqual(
        one.results.map(({ score }: any) => score).toSorted((a: number, b: number) => b - a),
      );
      const of = (place: number): number => one.results.find(({ index }: any) => index === place).score;
      expect(of(0)).toBe(of(2));
      const late = dataOf(await api.post('/v1/rerank', { model: 'late', query: QUERY, documents, top_n: 2 }));
      expect(late).toMatchObject({ model: 'late' });
      expect(late.results).toHaveLength(2);
      expect(late.results[0].index).toBe(0);
      expect(dataOf(await api.post('/v1/rerank', { query: QUERY, documents: [] })).results).toEqual([]);
      const readonly = dataOf(await api.post('/v1/admin/keys', { name: 'reader', role: 'readonly' }));
      expect(dataOf(await api.post('/v1/rerank', { query: QUERY, documents }, { key: readonly.key }))).toEqual(one);
    });

    test('a search has the order of the model, and says what it was before', async () => {
      const plain = (await search({ k: 20 })).results;
      const answer = await search({ k: 20, rerank: { top_n: 20 } });
      expect(placesOf(answer.results)).toEqual(reordered(plain, textOf));
      expect(answer.rerank).toEqual({ model: 'tiny', scored: 19, of: 20, truncated: false });
      expect(answer.results.at(-1)).toMatchObject({ external_id: 'i07' });
      expect(answer.results[0].text).toBeUndefined();
      expect(plain[0].first_rank).toBeUndefined();
      const late = await search({ k: 5, rerank: { model: 'late', top_n: 20 } });
      expect(late.rerank.model).toBe('late');
      expect(late.results.map(({ external_id }: any) => external_id)).not.toEqual(
        answer.results.slice(0, 5).map(({ external_id }: any) => external_id),
      );
    });

    test('pages are cut after it, so they continue each other', async () => {
      const whole = (await search({ k: 20, rerank: { top_n: 20 }, include_text: true })).results;
      const pages: any[] = [];
      for (const offset of [0, 7, 14])
        pages.push(...(await search({ k: 7, offset, rerank: { top_n: 21 }, include_text: true })).results);
      // One more was read, and it has its own place.
      expect(pages).toHaveLength(21);
      const twenty: any[] = [];
      for (const offset of [0, 5, 10, 15])
        twenty.push(...(await search({ k: 5, offset, rerank: { top_n: 20 }, include_text: true })).results);
      expect(twenty).toEqual(whole);
      expect(whole[0].text).toBe(textOf(whole[0].external_id));
    });

    test('what it reads may be a field of the metadata, also where these are not answered', async () => {
      const plain = (await search({ k: 20 })).results;
      for (const [path, of] of [
        ['title', (id: string) => ITEMS.find(({ external_id }) => external_id === id)!.metadata.title],
        ['lines', (id: string) => ITEMS.find(({ external_id }) => external_id === id)!.metadata.lines.join('\n')],
      ] as const) {
        const answer = await search({ k: 20, fields: [], rerank: { top_n: 20, text: path } });
        expect(placesOf(answer.results)).toEqual(reordered(plain, of));
        expect(answer.results[0].metadata).toEqual({});
      }
      const none = await search({ k: 20, rerank: { top_n: 20, text: 'n' } });
      expect(none.rerank).toEqual({ model: 'tiny', scored: 0, of: 20, truncated: false });
      expect(none.results).toEqual(plain);
    });

    test('groups are formed after it', async () => {
      const whole = (await search({ k: 20, rerank: { top_n: 20 } })).results;
      const groups = new Map<string, any[]>();
      for (const hit of whole) {
        const { kind } = hit.metadata;
        groups.set(kind, [...(groups.get(kind) ?? []), hit]);
      }
      const answer = await search({ k: 2, group_by: 'kind', group_size: 3, rerank: { top_n: 20 } });
      expect(answer.groups).toEqual(
        [...groups].slice(0, 2).map(([key, hits]) => ({ key, score: hits[0].score, hits: hits.slice(0, 3) })),
      );
      expect(answer.rerank).toMatchObject({ of: 20 });
    });

    test('hits that differ are chosen after it, on one page or several, and why tells of those that are not', async () => {
      const rerank = { top_n: 20 };
      const whole = (await search({ k: 20, rerank })).results;
      const firstOfKind = whole.filter(
        ({ metadata }: any, i: number) => whole.findIndex((one: any) => one.metadata.kind === metadata.kind) === i,
      );
      const asked = { k: 20, rerank, diversity: { field: 'kind' } };
      const differing = await search(asked);
      expect(differing.results).toEqual(firstOfKind);
      expect(differing.rerank).toMatchObject({ model: 'tiny', of: 20 });
      const first = await search({ ...asked, k: 1, cursor: 'first' });
      const rest = await search({ ...asked, k: 19, cursor: first.next_cursor });
      expect([...first.results, ...rest.results]).toEqual(firstOfKind);
      expect(rest.next_cursor).toBeNull();
      const lost = whole.find((hit: any) => !firstOfKind.includes(hit)).external_id;
      const why = { text: QUERY, vector: [1, 0], ...asked, external_id: lost };
      expect(dataOf(await api.post('/v1/collections/c/why', why))).toMatchObject({ lost_at: 'diversity' });
      const byVectors = { k: 5, rerank, diversity: { lambda: 1 } };
      const chosen = (await search({ ...byVectors, explain: true })).results;
      expect(placesOf(chosen)).toEqual(placesOf(whole.slice(0, 5)));
      expect(chosen.map(({ reranked_rank: rank }: any) => rank)).toEqual([1, 2, 3, 4, 5]);
      expect(chosen[0]).toHaveProperty('diversity_score', 1);
      const [bulk] = dataOf(
        await api.post('/v1/collections/c/bulk_search', {
          queries: [{ text: QUERY, vector: [1, 0], ...byVectors, diversity: { lambda: 0.3, candidates: 10 } }],
        }),
      ).results;
      expect(bulk).toHaveLength(5);
      const ten = whole.slice(0, 10).map(({ external_id: id }: any) => id);
      expect(ten).toEqual(expect.arrayContaining(bulk.map(({ external_id: id }: any) => id)));
    });

    test('hybrid searches, questions and bulk searches do the same', async () => {
      const both = { query: QUERY, collection_name: 'c', alpha: 0.5, top_k: 20 };
      const plain = dataOf(await api.post('/v1/query', both)).results;
      const answer = dataOf(await api.post('/v1/query', { ...both, explain: true, rerank: { top_n: 20 } }));
      expect(placesOf(answer.results)).toEqual(reordered(plain, textOf));
      expect(answer.results[0]).toHaveProperty('vector_rank');
      const asked = { query: QUERY, collection_name: 'c', alpha: 0, top_k: 5 };
      const question = dataOf(await api.post('/v1/query', { ...asked, rerank: { top_n: 10 } }));
      const before = dataOf(await api.post('/v1/query', { ...asked, top_k: 10 })).results;
      expect(placesOf(question.results)).toEqual(reordered(before, textOf).slice(0, 5));
      expect(question.results[0].text).toBe(textOf(question.results[0].external_id));
      const bulk = dataOf(
        await api.post('/v1/collections/c/bulk_search', {
          queries: [
            { text: QUERY, vector: [1, 0], k: 20, rerank: { top_n: 20 } },
            { vector: [1, 0], k: 3 },
          ],
        }),
      );
      expect(bulk.results[0]).toEqual((await search({ k: 20, rerank: { top_n: 20 } })).results);
      expect(bulk.results[1]).toEqual((await search({ k: 3 })).results);
      expect(bulk.rerank).toEqual([{ model: 'tiny', scored: 19, of: 20, truncated: false }, null]);
    });

    test('why says of each item what became of it, by the places that the model reads', async () => {
      const rerank = { top_n: 20 };
      const plain = (await search({ k: 30 })).results.map(({ external_id: id }: any) => id);
      const whole = (await search({ k: 20, rerank })).results.map(({ external_id: id }: any) => id);
      const lost = new Set<string | null>();
      for (const { external_id: id } of ITEMS) {
        const asked = { text: QUERY, vector: [1, 0], k: 5, rerank, external_id: id };
        const rank = plain.indexOf(id) + 1;
        const place = whole.indexOf(id) + 1;
        const isFound = place > 0 && place <= 5;
        const lostAt = isFound ? null : rank <= 5 ? 'rerank' : 'rank';
        lost.add(lostAt);
        const { lost_at, place: told, legs } = dataOf(await api.post('/v1/collections/c/why', asked));
        expect({ id, lost_at, told, legs }).toEqual({
          id,
          lost_at: lostAt,
          told: isFound ? place : rank,
          legs: [
            {
              leg: 'vector',
              score: expect.any(Number),
              exact_rank: rank,
              rank: rank <= 20 ? rank : null,
              depth: 20,
            },
          ],
        });
      }
      expect(lost).toEqual(new Set([null, 'rerank', 'rank']));
      const both = { query_text: QUERY, k: 5, external_id: 'i02' };
      const legsOf = async (more: object): Promise<any> =>
        dataOf(await api.post('/v1/collections/c/why', { ...both, ...more })).legs;
      expect(await legsOf({ rerank: { top_n: 5 } })).toEqual(await legsOf({}));
      expect(await legsOf({ rerank: { top_n: 300 } })).toEqual(await legsOf({ k: 300 }));
    });

    test('evaluations judge the order that the model gives', async () => {
      const path = '/v1/collections/c/judgements/words';
      const relevant = Object.fromEntries(ITEMS.slice(10, 14).map(({ external_id: id }) => [id, 1]));
      dataOf(await api.call({ method: 'PUT', path, body: [{ query: QUERY, relevant }] }));
      const variants = [{}, { rerank: { top_n: 20 } }, { rerank: { top_n: 20, model: 'late' } }].map((more) => ({
        alpha: 0,
        ...more,
      }));
      const { id } = dataOf(await api.post('/v1/collections/c/evaluate', { name: 'words', k: 10, variants }));
      let job: any;
      await eventually('it is judged', async () => {
        job = dataOf(await api.get(`/v1/jobs/${id}`));
        return job.state === 'done';
      });
      const expected: number[] = [];
      for (const variant of variants) {
        const asked = { collection_name: 'c', query: QUERY, top_k: 10, ...variant };
        const { results } = dataOf(await api.post('/v1/query', asked));
        const place = results.findIndex(({ external_id: one }: any) => one in relevant) + 1;
        expected.push(place === 0 ? 0 : 1 / place);
      }
      expect(job.result.variants.map(({ mrr }: any) => mrr.mean)).toEqual(expected);
      const unknown = { name: 'words', variants: [{}, { rerank: { model: 'big' } }] };
      expect(errorOf(await api.post('/v1/collections/c/evaluate', unknown), 400)).toMatch(
        /^variants\[1\]\.rerank: there is no rerank model "big"; there are: tiny, late/,
      );
    });

    test('other options go with it: highlights, order, total, fields', async () => {
      const answer = await search({
        k: 5,
        rerank: { top_n: 20 },
        highlight: {},
        order_by: [{ field: 'n' }],
        total: true,
        fields: ['n'],
        filters: { n: { $lt: 25 } },
      });
      const numbers = answer.results.map(({ metadata }: any) => metadata.n);
      expect(numbers).toEqual(numbers.toSorted((a: number, b: number) => a - b));
      expect(answer).toMatchObject({ total_matches: 25, within: 'hits', rerank: { of: 20 } });
      expect(answer.results[0]).toHaveProperty('highlights');
      expect(answer.results[0]).toHaveProperty('first_rank');
      const profiled = dataOf(
        await api.post('/v1/collections/c/search?profile=true', { text: QUERY, vector: [1, 0], rerank: {} }),
      );
      expect(profiled.profile.rerank_ms).toEqual(expect.any(Number));
    });

    test('a budget that is not enough leaves what was not read behind, as it was', async () => {
      const plain = (await search({ k: 30 })).results;
      const answer = await search({ k: 30, text: 'wind and fire and snow', rerank: { top_n: 30, budget_ms: 1 } });
      const { scored, of, truncated } = answer.rerank;
      expect(of).toBe(30);
      expect(truncated).toBe(scored < 29);
      const read = answer.results.filter(({ first_rank }: any) => first_rank !== undefined);
      expect(answer.results.slice(0, scored)).toEqual(read);
      const ids = new Set(read.map(({ external_id }: any) => external_id));
      expect(answer.results.slice(scored)).toEqual(plain.filter(({ external_id }: any) => !ids.has(external_id)));
    });

    test('bulk searches whose pairs do not fit in the queue are refused, not put off', async () => {
      const bulk = (count: number): Promise<any> =>
        api.post('/v1/collections/c/bulk_search', {
          queries: new Array(count).fill({ text: QUERY, vector: [1, 0], k: 3, rerank: { top_n: 1000 } }),
        });
      expect(dataOf(await bulk(2)).results).toHaveLength(2);
      expect(errorOf(await bulk(3), 400)).toContain('top_n of all is 3000');
    });

    test('what can’t be reranked is refused', async () => {
      const refused = (body: object, code: number): Promise<string> =>
        api.post('/v1/collections/c/search', body).then((answer) => errorOf(answer, code));
      expect(await refused({ vector: [1, 0], rerank: {} }, 422)).toContain('rerank needs a text');
      expect(await refused({ vector: [1, 0], text: ' ', rerank: {} }, 422)).toContain('rerank');
      expect(await refused({ vector: [1, 0], text: 'x', rerank: { model: 'big' } }, 400)).toMatch(/"big".*tiny, late/);
      expect(await refused({ vector: [1, 0], text: 'x', k: 10, rerank: { top_n: 9 } }, 400)).toContain('top_n is 9');
      expect(await refused({ vector: [1, 0], text: 'x', k: 9, offset: 2, rerank: { top_n: 10 } }, 400)).toContain('11');
      expect(await refused({ vector: [1, 0], text: 'x', k: 1001, rerank: {} }, 400)).toContain('top_n is 1000');
      for (const bad of [{ top_n: 0 }, { top_n: 1001 }, { budget_ms: 0 }, { text: '' }, 3])
        await refused({ vector: [1, 0], text: 'x', rerank: bad }, 422);
      errorOf(await api.post('/v1/collections/c/recommend/i01', { rerank: {} }), 422);
      expect(errorOf(await api.post('/v1/rerank', { model: 'big', query: 'x', documents: [] }), 400)).toContain(
        'tiny, late',
      );
      errorOf(await api.post('/v1/rerank', { query: ' ', documents: ['a'] }), 400);
      errorOf(await api.post('/v1/rerank', { query: 'x' }), 422);
      errorOf(await api.post('/v1/rerank', { query: 'x', documents: new Array(1001).fill('a') }), 400);
    });
  });
}
