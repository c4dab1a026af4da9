import { EmbeddingsServer, letterVectors } from '../../support/servers/embeddings-server';
import { type ApiClient as Api, ApiClient, dataOf, errorOf } from '../../support/targets/api-client';
import type { ApiTarget, StartTarget } from '../../support/targets/api-target';

const TEXTS = ['the cat', 'a red stone on the river', 'snow and wind', 'twelve dogs', 'the slow fox', 'sea road'];
const ITEMS = TEXTS.map((text, i) => ({ external_id: `t${i}`, text, metadata: { n: i } }));
const PREFIXES = { query_prefix: 'query: ', passage_prefix: 'passage: ' };

/** Collections that say which model makes the vectors of their texts, by a server of the OpenAI protocol. */
export function describeCollectionModels(name: string, startTarget: StartTarget): void {
  describe(`models of collections of ${name}`, () => {
    let server: EmbeddingsServer;
    let target: ApiTarget;
    let api: Api;
    beforeAll(async () => {
      server = await EmbeddingsServer.start();
      const providers = { big: { url: server.url, models: ['m-8', 'm-9'], requests_per_minute: 0 } };
      target = await startTarget({ EMBEDDING_PROVIDERS: JSON.stringify(providers), MAX_BULK_QUERIES: '20' });
      api = new ApiClient(target);
    });
    afterAll(async () => {
      await target?.stop();
      await server?.close();
    });
    beforeEach(() => (server.asked.length = 0));

    const create = async (of: string, given: object): Promise<any> =>
      dataOf(await api.post('/v1/collections', { name: of, shards: 3, ...given }));
    const post = async (path: string, body: object): Promise<any> => dataOf(await api.post(path, body));
    /** What the API says, with that code. */
    const refusal = async (path: string, body: object, code: number): Promise<string> =>
      errorOf(await api.post(path, body), code);
    const fetched = async (of: string): Promise<Map<string, number[]>> => {
      const { vectors } = await post(`/v1/collections/${of}/vectors/fetch`, {
        ids: ITEMS.map(({ external_id: id }) => id),
      });
      return new Map(vectors.map((one: { external_id: string; vector: number[] }) => [one.external_id, one.vector]));
    };

    test('the dimension is that of the model, and both are shown', async () => {
      const made = await create('shown', { embedding: { model: 'big:m-8', ...PREFIXES } });
      const embedding = { model: 'big:m-8', dtype: null, ...PREFIXES, truncate_dim: null };
      expect(made).toMatchObject({ dim: 8, embedding_model: 'big:m-8', embedding });
      expect(dataOf(await api.get('/v1/collections/shown'))).toMatchObject({ dim: 8, embedding });
      expect(await create('cut', { embedding: { model: 'big:m-8', truncate_dim: 4 } })).toMatchObject({ dim: 4 });
      expect(await create('plain', { dim: 5 })).toMatchObject({ dim: 5, embedding: null, embedding_model: null });
      const health = dataOf(await api.get('/v1/health'));
      expect(health.embedding.models).toEqual(expect.arrayContaining(['local:builtin', 'big:m-8', 'big:m-9']));
    });

    test('what can’t be had is refused with what can', async () => {
      const refused = (embedding: object, more: object = {}, code = 400): Promise<string> =>
        refusal('/v1/collections', { name: 'refused', embedding, ...more }, code);
      expect(await refused({ model: 'big:m-7' })).toMatch(
        /^embedding\.model "big:m-7" is none that collections may have; there are: .*big:m-8, big:m-9$/,
      );
      await refused({ model: 'local:somebody/else' });
      await refused({ model: 'http://127.0.0.1:1/v1' });
      expect(await refused({ model: 'm-8' }, {}, 422)).toMatch(/^embedding\.model must be "local:" or a provider/);
      expect(await refused({ model: 'big:m-8' }, { dim: 9 })).toBe(
        'dimension mismatch: dim is 9, but embedding.model big:m-8 makes vectors of dimension 8',
      );
      expect(await refused({ model: 'big:m-8', dtype: 'q8' })).toContain('dtype is not for big:m-8');
      expect(await refused({ model: 'big:m-8', truncate_dim: 9 })).toContain('truncate_dim is 9');
      expect(await refused({ model: 'local:builtin' })).toContain('dim is required');
      expect(await refused({ model: 'local:builtin', truncate_dim: 3 }, { dim: 3 })).toContain('truncate_dim');
      await refused({ model: 'big:m-8', query_prefix: 'x'.repeat(1001) }, {}, 422);
      expect(await refusal('/v1/collections', { name: 'refused' }, 422)).toMatch(/^dim is required/);
      await refusal('/v1/collections/refused/search', { text: 'x' }, 404);
    });

    test('texts are embedded with the prefixes of their kind, wherever they come from', async () => {
      await create('prefixed', { embedding: { model: 'big:m-8', ...PREFIXES } });
      server.asked.length = 0;
      await post('/v1/collections/prefixed/bulk_upsert', { items: ITEMS });
      expect(server.texts.toSorted()).toEqual(TEXTS.map((text) => `passage: ${text}`).toSorted());
      const stored = await fetched('prefixed');
      const expected = letterVectors(TEXTS.map((text) => `passage: ${text}`));
      for (const [i, { external_id: id }] of ITEMS.entries())
        for (const [k, value] of stored.get(id)!.entries()) expect(value).toBeCloseTo(expected[i][k], 6);

      const [question] = letterVectors(['query: the red fox']);
      const given = { vector: question, k: 6, exact: true };
      const byVector = (await post('/v1/collections/prefixed/search', given)).results;
      const asked = { text: 'the red fox', k: 6, exact: true };
      expect((await post('/v1/collections/prefixed/search', asked)).results).toEqual(byVector);
      const { results: bulk } = await post('/v1/collections/prefixed/bulk_search', { queries: [asked, given] });
      expect(bulk[0].results).toEqual(bulk[1].results);
      const hits = (await post('/v1/query', { collection_name: 'prefixed', query: 'the red fox', top_k: 6 })).results;
      expect(hits.map((hit: { external_id: string }) => hit.external_id)).toEqual(
        byVector.map((hit: { external_id: string }) => hit.external_id),
      );
      expect(new Set(server.texts.slice(TEXTS.length))).toEqual(new Set(['query: the red fox']));
    });

    test('embed makes the vectors that searches look for and writes store, in any number of shards', async () => {
      for (const shards of [1, 2, 5]) {
        const path = `/v1/collections/embedded-${shards}`;
        await create(`embedded-${shards}`, { shards, embedding: { model: 'big:m-8', ...PREFIXES } });
        await post(`${path}/bulk_upsert`, { items: ITEMS });
        server.asked.length = 0;
        const stored = await fetched(`embedded-${shards}`);
        const passages = await post(`${path}/embed`, { texts: TEXTS, kind: 'passage' });
        expect(passages.embedding_model).toBe('big:m-8');
        expect(passages.vectors).toEqual(ITEMS.map(({ external_id: id }) => stored.get(id)));
        const { vectors } = await post(`${path}/embed`, { texts: ['the red fox'] });
        const asked = { k: 6, exact: true };
        expect((await post(`${path}/search`, { vector: vectors[0], ...asked })).results).toEqual(
          (await post(`${path}/search`, { text: 'the red fox', ...asked })).results,
        );
      }
      expect(await refusal('/v1/collections/none/embed', { texts: ['a'] }, 404)).toContain('none');
      const texts = Array.from({ length: 101 }, () => 'a');
      expect(await refusal('/v1/collections/embedded-1/embed', { texts }, 400)).toContain('texts has 101 elements');
      expect(await refusal('/v1/collections/embedded-1/embed', { texts: [1] }, 422)).toContain('texts[0]');
      // As long as a search may look for; a text that is stored may be longer.
      const long = 'a'.repeat(4_097);
      expect(await refusal('/v1/collections/embedded-1/embed', { texts: ['a', long] }, 400)).toContain('texts[1]');
      expect(await refusal('/v1/collections/embedded-1/embed', { texts: ['a', ' \n'] }, 400)).toBe(
        'texts[1] must not be empty: no search looks for that',
      );
      expect((await post('/v1/collections/embedded-1/embed', { texts: [long], kind: 'passage' })).vectors).toHaveLength(
        1,
      );
      expect(await post('/v1/collections/embedded-1/embed', { texts: [] })).toMatchObject({ vectors: [] });
      errorOf(await api.post('/v1/collections/embedded-1/embed', { texts: ['a'] }, { key: null }), 401);
    });

    test('cut vectors have unit length, and searches by them find the same', async () => {
      await create('truncated', { embedding: { model: 'big:m-8', truncate_dim: 4 }, distance_metric: 'ip' });
      await post('/v1/collections/truncated/bulk_upsert', { items: ITEMS });
      const whole = letterVectors(TEXTS);
      for (const [i, { external_id: id }] of ITEMS.entries()) {
        const cut = whole[i].slice(0, 4);
        const length = Math.hypot(...cut);
        const stored = (await fetched('truncated')).get(id)!;
        for (const [k, value] of stored.entries()) expect(value).toBeCloseTo(cut[k] / length, 6);
      }
      const { results } = await post('/v1/collections/truncated/search', { text: TEXTS[2], k: 1, exact: true });
      expect(results[0]).toMatchObject({ external_id: 't2' });
      expect(results[0].score).toBeCloseTo(1, 5);
      await refusal('/v1/collections/truncated/search', { vector: whole[0] }, 400);
    });

    test('a vector of another model is refused, and not compared', async () => {
      await create('guarded', { embedding: { model: 'big:m-8' } });
      const vector = letterVectors(['x'])[0];
      const path = '/v1/collections/guarded';
      await post(`${path}/upsert`, { external_id: 'a', vector, vector_model: 'big:m-8' });
      const other = { vector, vector_model: 'big:m-9' };
      expect(await refusal(`${path}/upsert`, { external_id: 'b', ...other }, 409)).toMatch(
        /^vector_model of the item is "big:m-9".*vectors of "big:m-8"/,
      );
      const items = [
        { external_id: 'c', vector },
        { external_id: 'd', ...other },
      ];
      expect(await refusal(`${path}/bulk_upsert`, { items }, 409)).toContain('items[1] (external_id "d")');
      const { results } = await post(`${path}/bulk_upsert`, { items, on_error: 'skip' });
      expect(results[0]).toMatchObject({ external_id: 'c', status: 'inserted' });
      expect(results[1]).toMatchObject({ external_id: 'd', status: 'invalid', error: { code: 409 } });
      errorOf(await api.patch(`${path}/vectors/a`, other), 409);
      for (const [search, body] of [
        ['search', other],
        ['bulk_search', { queries: [{ vector }, other] }],
        ['recommend/a', { positives: [{ vector }], vector_model: 'big:m-9' }],
      ] as const)
        expect(await refusal(`${path}/${search}`, body, 409)).toContain('vector_model of the search is "big:m-9"');
      const found = await post(`${path}/search`, { vector, vector_model: 'big:m-8' });
      expect(found.results).toHaveLength(2);
      // Where there is no model, nobody can say that it is the same.
      await create('unknown', { dim: 8 });
      expect(await refusal('/v1/collections/unknown/upsert', { external_id: 'a', ...other }, 409)).toContain(
        'has no model',
      );
    });

    test('what the provider does not answer is told, and vectors go on', async () => {
      await create('away', { embedding: { model: 'big:m-8' } });
      const items = ITEMS.map((item) => ({ ...item, text: `away: ${item.text}` }));
      server.misbehave = () => ({ status: 401 });
      expect(await refusal('/v1/collections/away/bulk_upsert', { items }, 500)).toContain(
        'does not take the key (401)',
      );
      const [vector] = letterVectors(['sea']);
      await post('/v1/collections/away/upsert', { external_id: 'v', vector });
      expect((await post('/v1/collections/away/search', { vector })).results).toHaveLength(1);
      // One that it does not take keeps none of the others from being embedded.
      server.misbehave = (_, { input }) => (input.some((text) => text.includes('fox')) ? { status: 400 } : undefined);
      const others = await Promise.all([
        api.post('/v1/collections/away/bulk_upsert', { items: items.slice(4, 5) }),
        api.post('/v1/collections/away/bulk_upsert', { items: items.filter((_, i) => i !== 4) }),
      ]);
      expect(errorOf(others[0], 500)).toContain('does not take a text');
      expect(dataOf(others[1]).results).toHaveLength(5);
      server.misbehave = () => undefined;
    });
  });
}
