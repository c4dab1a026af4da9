import { dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

interface Route {
  method: string;
  path: string;
  body?: unknown;
}

const READING: Route[] = [
  { method: 'GET', path: '/v1/collections' },
  { method: 'GET', path: '/v1/collections/none' },
  { method: 'GET', path: '/v1/collections/none/stats' },
  { method: 'GET', path: '/v1/collections/none/export' },
  { method: 'GET', path: '/v1/collections/none/vectors/a' },
  { method: 'POST', path: '/v1/collections/none/vectors/fetch', body: { ids: ['a'] } },
  { method: 'POST', path: '/v1/collections/none/scroll', body: {} },
  { method: 'POST', path: '/v1/collections/none/sample' },
  { method: 'POST', path: '/v1/collections/none/search', body: { vector: [1, 2, 3] } },
  { method: 'POST', path: '/v1/collections/none/bulk_search', body: { queries: [{ vector: [1, 2, 3] }] } },
  { method: 'POST', path: '/v1/collections/none/hybrid_search', body: { query_text: 'a' } },
  { method: 'POST', path: '/v1/collections/none/rerank', body: { vector: [1, 2, 3], candidates: ['a'] } },
  { method: 'POST', path: '/v1/collections/none/recommend/a' },
  { method: 'POST', path: '/v1/collections/none/count', body: { filters: { a: 1 } } },
  { method: 'POST', path: '/v1/collections/none/aggregate', body: { facets: [{ field: 'a' }] } },
  { method: 'POST', path: '/v1/collections/none/analyse', body: { text: 'a' } },
  { method: 'POST', path: '/v1/collections/none/similarity?id1=a&id2=b' },
  { method: 'POST', path: '/v1/query', body: { query: 'a', collection_name: 'none' } },
];
const WRITING: Route[] = [
  { method: 'PATCH', path: '/v1/collections/none', body: { description: null } },
  { method: 'DELETE', path: '/v1/collections/none' },
  { method: 'POST', path: '/v1/collections/none/optimize' },
  { method: 'POST', path: '/v1/collections/none/recall_check', body: { samples: 1 } },
  { method: 'POST', path: '/v1/collections/none/upsert', body: { external_id: 'a', vector: [1, 2, 3] } },
  {
    method: 'POST',
    path: '/v1/collections/none/bulk_upsert',
    body: { items: [{ external_id: 'a', vector: [1, 2, 3] }] },
  },
  { method: 'PATCH', path: '/v1/collections/none/vectors/a', body: { metadata: {} } },
  { method: 'POST', path: '/v1/collections/none/update_by_filter', body: { filters: { a: 1 }, set: { b: 2 } } },
  { method: 'DELETE', path: '/v1/collections/none/delete/a' },
  { method: 'POST', path: '/v1/collections/none/delete_batch', body: { external_ids: ['a'] } },
  { method: 'POST', path: '/v1/collections/none/delete_by_filter', body: { filters: { a: 1 } } },
];
const ADMIN: Route[] = [
  { method: 'GET', path: '/v1/admin/keys/999999' },
  { method: 'PATCH', path: '/v1/admin/keys/999999', body: { name: 'a' } },
  { method: 'DELETE', path: '/v1/admin/keys/999999' },
  { method: 'POST', path: '/v1/admin/keys/999999/rotate' },
  { method: 'GET', path: '/v1/admin/keys/999999/usage' },
  { method: 'POST', path: '/v1/collections/none/quota', body: { items: 2 } },
  { method: 'POST', path: '/v1/collections/none/reshard', body: { shards: 2 } },
  { method: 'DELETE', path: '/v1/collections/none/reshard' },
  { method: 'POST', path: '/v1/cluster/nodes/none/drain' },
  { method: 'POST', path: '/v1/cluster/nodes/none/undrain' },
];
/** Where nothing is missing to answer 404 about. */
const ADMIN_LISTS: Route[] = [
  { method: 'GET', path: '/v1/admin/keys' },
  { method: 'GET', path: '/v1/admin/keys/usage/summary' },
  { method: 'GET', path: '/v1/cluster' },
];
const titleOf = ({ method, path }: Route): [string, Route] => [`${method} ${path}`, { method, path }];

/** Who may call what, and in which order the checks are made. */
export function accessSuite(context: SuiteContext): void {
  describe('access', () => {
    let readonly: string;
    let readwrite: string;
    beforeAll(async () => {
      const create = async (role: string): Promise<string> =>
        dataOf(await context.api.post('/v1/admin/keys', { name: role, role })).key;
      readonly = await create('readonly');
      readwrite = await create('readwrite');
    });

    test.each(
      [
        ...READING,
        ...WRITING,
        ...ADMIN,
        ...ADMIN_LISTS,
        { method: 'GET', path: '/v1/health' },
        { method: 'GET', path: '/v1/me' },
        { method: 'GET', path: '/v1/aliases' },
        { method: 'POST', path: '/v1/aliases', body: { actions: [] } },
        { method: 'GET', path: '/v1/metrics/summary' },
        { method: 'GET', path: '/v1/unknown' },
      ].map(titleOf),
    )('%s needs a key', async (_title, route) => {
      errorOf(await context.api.call({ ...route, key: null }), 401);
      errorOf(await context.api.call({ ...route, key: 'wrong' }), 401);
      errorOf(await context.api.call({ ...route, key: '' }), 401);
    });

    test.each(READING.map((route): [string, Route] => [titleOf(route)[0], route]))(
      '%s is open to readonly keys, and names a missing collection',
      async (_title, route) => {
        if (route.path === '/v1/collections') dataOf(await context.api.call({ ...route, key: readonly }));
        else expect(errorOf(await context.api.call({ ...route, key: readonly }), 404)).toContain('none');
      },
    );

    test.each(WRITING.map((route): [string, Route] => [titleOf(route)[0], route]))(
      '%s is refused to readonly keys and open to readwrite',
      async (_title, route) => {
        errorOf(await context.api.call({ ...route, key: readonly }), 403);
        expect(errorOf(await context.api.call({ ...route, key: readwrite }), 404)).toContain('none');
      },
    );

    test.each([...ADMIN, ...ADMIN_LISTS].map((route): [string, Route] => [titleOf(route)[0], route]))(
      '%s is for admin keys',
      async (_title, route) => {
        errorOf(await context.api.call({ ...route, key: readonly }), 403);
        errorOf(await context.api.call({ ...route, key: readwrite }), 403);
        const answer = await context.api.call(route);
        if (ADMIN.includes(route)) errorOf(answer, 404);
        else dataOf(answer);
      },
    );

    test('without a limit no answer speaks of one', async () => {
      const answer = await context.api.get('/v1/collections');
      dataOf(answer);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
    });

    test('creating a collection or a key and uploading need their roles', async () => {
      errorOf(await context.api.post('/v1/collections', { name: 'refused', dim: 3 }, { key: readonly }), 403);
      errorOf(await context.api.post('/v1/admin/keys', { name: 'a', role: 'admin' }, { key: readwrite }), 403);
      errorOf(await context.api.upload([{ name: 'collection_name', value: 'none' }], { key: readonly }), 403);
      errorOf(await context.api.get('/v1/collections/refused'), 404);
    });

    test('a missing key is told before everything else, a missing role before what is wrong with the request', async () => {
      const broken = '/v1/collections/%ZZ/upsert';
      errorOf(await context.api.post(broken, '{', { key: null }), 401);
      errorOf(await context.api.post(broken, '{', { key: readonly }), 403);
      expect(errorOf(await context.api.post(broken, '{'), 400)).toContain('percent-encoding');
      errorOf(await context.api.post('/v1/collections/none/upsert', '{'), 422);
      errorOf(await context.api.post('/v1/collections/none/upsert', { external_id: 'a' }), 422);
    });
  });
}
