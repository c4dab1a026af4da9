import { ApiClient, dataOf, errorOf } from '../../support/targets/api-client';
import type { ApiTarget, StartTarget } from '../../support/targets/api-target';

/** What the environment limits, in services of their own. */
export function describeLimits(name: string, startTarget: StartTarget): void {
  /** A service with this environment for the tests of a block. */
  function started(environment: Record<string, string>): { readonly api: ApiClient } {
    let target: ApiTarget;
    beforeAll(async () => {
      target = await startTarget(environment);
    });
    afterAll(() => target?.stop());
    return {
      get api() {
        return new ApiClient(target);
      },
    };
  }

  describe(`limits of requests to ${name}`, () => {
    const service = started({ RATE_LIMIT_PER_MINUTE: '5', BAD_KEY_LIMIT_PER_MINUTE: '3' });

    test('each key has its requests per minute, told in headers; health counts too', async () => {
      const { api } = service;
      const first = await api.post('/v1/admin/keys', { name: 'other', role: 'readonly' });
      expect(first.headers).toMatchObject({
        'ratelimit-limit': '5',
        'ratelimit-remaining': '4',
        'ratelimit-reset': expect.stringMatching(/^\d+$/),
      });
      for (let i = 0; i < 4; i++) dataOf(await api.get('/v1/health'));
      const refused = await api.get('/v1/collections');
      expect(errorOf(refused, 429)).toContain('rate limit exceeded');
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(refused.headers['ratelimit-remaining']).toBe('0');
      errorOf(await api.get('/v1/unknown'), 429);
      dataOf(await api.get('/', { key: null }));

      // So are requests with a bad key, by their address, which leaves good keys alone.
      for (let i = 0; i < 3; i++) errorOf(await api.get('/v1/collections', { key: `guess-${i}` }), 401);
      const stranger = await api.get('/v1/collections', { key: null });
      errorOf(stranger, 429);
      expect(stranger.headers['retry-after']).toBeTruthy();
      dataOf(await api.get('/v1/collections', { key: dataOf(first).key }));
    });

    test('what the dashboard asks by itself has a bounded window of its own, and a 429 names the setting', async () => {
      const { api } = service;
      const watching = { 'x-quiver-dashboard': 'true' };
      // The key of the service has made its five requests.
      expect(errorOf(await api.get('/v1/collections'), 429)).toContain(
        'at most 5 requests per minute (RATE_LIMIT_PER_MINUTE)',
      );
      const me = await api.get('/v1/me', { headers: watching });
      expect(me.headers).toMatchObject({ 'ratelimit-limit': '300', 'ratelimit-remaining': '299' });
      dataOf(me);
      for (const path of [
        '/v1/health',
        '/v1/collections',
        '/v1/cluster',
        '/v1/metrics/summary',
        '/v1/admin/keys',
        '/v1/admin/keys/usage/summary',
      ])
        dataOf(await api.get(path, { headers: watching }));
      // The header opens nothing but that.
      errorOf(await api.post('/v1/collections', { name: 'more', dim: 3 }, { headers: watching }), 429);
      errorOf(await api.get('/v1/unknown', { headers: watching }), 429);
      // 7 of 300 were made; what comes after the rest finds the usual window full. Some at once: all of them have to
      // come within the minute, on a slow machine, too.
      for (let i = 7; i < 300; i += 20)
        await Promise.all(
          Array.from({ length: Math.min(20, 300 - i) }, async () =>
            dataOf(await api.get('/v1/me', { headers: watching })),
          ),
        );
      expect(errorOf(await api.get('/v1/me', { headers: watching }), 429)).toContain('at most 5 requests');
      // An address that sent too many bad keys may redeem a link.
      errorOf(await api.get('/v1/collections', { key: 'guess' }), 429);
      expect(errorOf(await api.post('/v1/sign_in', { token: 'guessed' }, { key: null }), 401)).toContain(
        'sign in with an API key',
      );
    });
  });

  describe(`limits of sizes to ${name}`, () => {
    const service = started({
      MAX_BODY_BYTES: '2000',
      MAX_UPLOAD_BYTES: '1000',
      MAX_BATCH_SIZE: '2',
      MAX_METADATA_BYTES: '50',
      MAX_METADATA_FIELDS: '3',
      MAX_VECTOR_DIM: '8',
      MAX_K: '20',
      MAX_EF: '64',
      MAX_BULK_QUERIES: '3',
      MAX_QUERY_LENGTH: '5',
      MAX_TEXT_BYTES: '10',
      MAX_SEARCH_TEXT_LENGTH: '4',
    });

    test('sizes are what the environment says', async () => {
      const { api } = service;
      dataOf(await api.post('/v1/collections', { name: 'c', dim: 8 }));
      errorOf(await api.post('/v1/collections', { name: 'd', dim: 9 }), 422);
      const vector = new Array(8).fill(0.5);
      const upsert = (more: object) => api.post('/v1/collections/c/upsert', { external_id: 'a', vector, ...more });
      expect(errorOf(await upsert({ text: 'x'.repeat(2000) }), 400)).toContain('2000');
      expect(errorOf(await upsert({ metadata: { a: 'x'.repeat(50) } }), 400)).toContain('50');
      errorOf(await upsert({ vector: new Array(9).fill(1) }), 400);
      dataOf(await upsert({ metadata: { a: 'x'.repeat(42) } }));
      errorOf(
        await api.post('/v1/collections/c/bulk_upsert', {
          items: ['a', 'b', 'c'].map((external_id) => ({ external_id, vector })),
        }),
        400,
      );
      errorOf(await api.post('/v1/collections/c/search', { vector, k: 21 }), 400);
      expect(errorOf(await api.post('/v1/collections/c/search', { vector, ef: 65 }), 400)).toContain(
        '65, more than the maximum of 64 (MAX_EF)',
      );
      dataOf(await api.post('/v1/collections/c/bulk_search', { queries: new Array(3).fill({ vector, ef: 64 }) }));
      expect(
        errorOf(await api.post('/v1/collections/c/bulk_search', { queries: new Array(4).fill({ vector }) }), 422),
      ).toContain('4 elements, more than the maximum of 3 (MAX_BULK_QUERIES)');
      errorOf(await api.post('/v1/query', { query: 'abcdef', collection_name: 'c' }), 400);
      const file = { name: 'file', fileName: 'a.txt', content: 'word '.repeat(201) };
      expect(errorOf(await api.upload([{ name: 'collection_name', value: 'c' }, file]), 400)).toContain('1000');
    });

    test('texts and metadata are bounded, and the error names the setting', async () => {
      const { api } = service;
      dataOf(await api.post('/v1/collections', { name: 'texts', dim: 2 }));
      const vector = [1, 0];
      const upsert = (more: object) => api.post('/v1/collections/texts/upsert', { external_id: 'a', vector, ...more });
      for (const field of ['text', 'content']) {
        dataOf(await upsert({ [field]: 'éèêëà' }));
        expect(errorOf(await upsert({ [field]: 'éèêëàa' }), 400)).toBe(
          `${field} exceeds the maximum of 10 bytes (MAX_TEXT_BYTES)`,
        );
      }
      expect(
        errorOf(
          await api.post('/v1/collections/texts/bulk_upsert', {
            items: [
              { external_id: 'b', vector },
              { external_id: 'c', vector, text: 'x'.repeat(11) },
            ],
          }),
          400,
        ),
      ).toContain('MAX_TEXT_BYTES');
      for (const metadata of [{ a: 1, b: 2, c: 3 }, { a: [1, 2] }, { a: { b: { c: null } } }])
        dataOf(await upsert({ metadata }));
      for (const metadata of [
        { a: 1, b: 2, c: 3, d: 4 },
        { a: [1, 2, 3] },
        { a: { b: { c: [0] } } },
        { a: [{ b: [0] }] },
      ]) {
        expect(errorOf(await upsert({ metadata }), 400)).toBe(
          'metadata has more than the maximum of 3 keys and array elements (MAX_METADATA_FIELDS)',
        );
      }
      // Four characters, one of them of two code units.
      dataOf(await api.post('/v1/collections/texts/hybrid_search', { query_text: 'abc🎉', vector }));
      const tooLong: [string, object][] = [
        ['hybrid_search', { query_text: 'abcde', vector }],
        ['search', { text: 'abcde' }],
        ['bulk_search', { queries: [{ vector }, { text: 'abcde' }] }],
        ['rerank', { text: 'abcde', candidates: ['a'] }],
      ];
      for (const [path, body] of tooLong)
        expect(errorOf(await api.post(`/v1/collections/texts/${path}`, body), 400)).toMatch(
          /exceeds the maximum length of 4 characters \(MAX_SEARCH_TEXT_LENGTH\)/,
        );
      const { vector_count: count } = dataOf(await api.get('/v1/collections/texts'));
      expect(count).toBe(1);
    });
  });
}
