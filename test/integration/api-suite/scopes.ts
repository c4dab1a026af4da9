import { type ApiAnswer, dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

export interface Call {
  method: string;
  path: string;
  body?: unknown;
}

/** What a key that is limited to collections may call although it names none. */
const OPEN = [
  'GET /v1/aliases',
  'GET /v1/collections',
  'GET /v1/health',
  'GET /v1/jobs',
  'GET /v1/me',
  'GET /v1/metrics/summary',
];
/** A job that it may not see is not there for it. */
const isHidden = (title: string): boolean => title.includes('/v1/jobs/{id}');
/** Bodies that are read while they arrive: asked for apart. */
const FORMS = ['POST /v1/documents/upload'];

/** Every endpoint that needs a key, called about a collection; from the document that the service answers. */
export async function callsAbout(context: SuiteContext, collection: string): Promise<[string, Call][]> {
  const document = (await context.api.get('/openapi.json')).json as any;
  return Object.entries<any>(document.paths).flatMap(([template, operations]) =>
    Object.entries<any>(operations)
      .filter(([, operation]) => operation.security === undefined)
      .map(([verb, operation]): [string, Call] => {
        const method = verb.toUpperCase();
        const isOfCollection = template.startsWith('/v1/collections/');
        const path = template
          .replace(/\{(name|collection|collection_name)\}/, collection)
          .replace(/\{shard\}/, '0')
          .replace(/\{id\}/, isOfCollection ? 'a' : '999999');
        const query = (operation.parameters ?? [])
          .filter((given: any) => given.in === 'query' && given.required)
          .map(({ name }: any) => `${name}=a`);
        const example = operation.requestBody?.content?.['application/json']?.example;
        const body =
          example === undefined
            ? undefined
            : {
                ...example,
                ...(template === '/v1/collections' ? { name: collection } : {}),
                ...('collection_name' in example ? { collection_name: collection } : {}),
              };
        return [
          `${method} ${template}`,
          { method, path: query.length === 0 ? path : `${path}?${query.join('&')}`, body },
        ];
      }),
  );
}

/** Keys that are limited to collections, networks or a rate, by every endpoint that there is. */
export function scopesSuite(context: SuiteContext): void {
  const codeOf = (answer: ApiAnswer): number => answer.json?.error?.code ?? 200;
  const keyWith = async (fields: object): Promise<any> =>
    dataOf(await context.api.post('/v1/admin/keys', { name: 'limited', role: 'readonly', ...fields }));

  describe('keys that are limited to collections', () => {
    test('are refused by every endpoint for any other collection, and for the service as a whole', async () => {
      const [own, other] = [await context.collection(), await context.collection()];
      const { key } = await keyWith({ role: 'readwrite', collections: [{ name: own, role: 'admin' }] });
      const calls = await callsAbout(context, other);
      const codes = await Promise.all(
        calls.map(async ([title, call]) => [title, codeOf(await context.api.call({ ...call, key }))] as const),
      );
      expect(codes.length).toBeGreaterThan(40);
      expect(
        codes.filter(
          ([title, code]) =>
            code !== (OPEN.includes(title) ? 200 : FORMS.includes(title) ? 422 : isHidden(title) ? 404 : 403),
        ),
      ).toEqual([]);
      const upload = [
        { name: 'file', fileName: 'a.txt', content: 'text' },
        { name: 'collection_name', value: other },
      ];
      errorOf(await context.api.upload(upload, { key }), 403);
      errorOf(await context.api.upload([upload[1], upload[0]], { key }), 403);
      // Whether there is such a collection makes no difference.
      const told = async (name: string): Promise<string> =>
        errorOf(await context.api.get(`/v1/collections/${name}/stats`, { key }), 403).replace(name, '…');
      expect(await told('there-is-none')).toBe(await told(other));
      expect(dataOf(await context.api.get(`/v1/collections/${other}`)).vector_count).toBe(0);
    });

    test('may call every endpoint of a collection for their own, as far as its role goes', async () => {
      const admin = await keyWith({ collections: [{ prefix: 'scoped-none', role: 'admin' }] });
      const reader = await keyWith({ collections: [{ prefix: 'scoped-none' }] });
      const calls = (await callsAbout(context, 'scoped-none')).filter(
        ([title]) => title.includes('/v1/collections/') || title === 'POST /v1/query',
      );
      const openTo = async (key: string): Promise<string[]> => {
        const codes = await Promise.all(
          calls.map(async ([title, call]) => [title, codeOf(await context.api.call({ ...call, key }))] as const),
        );
        return codes.filter(([, code]) => code !== 403).map(([title]) => title);
      };
      expect(await openTo(admin.key)).toEqual(calls.map(([title]) => title));
      const open = await openTo(reader.key);
      expect(open).toEqual(
        expect.arrayContaining(['GET /v1/collections/{name}', 'POST /v1/collections/{name}/search', 'POST /v1/query']),
      );
      for (const closed of [
        'DELETE /v1/collections/{name}',
        'POST /v1/collections/{name}/upsert',
        'POST /v1/collections/{name}/reshard',
      ])
        expect(open).not.toContain(closed);
      errorOf(await context.api.post('/v1/demo', undefined, { key: admin.key }), 403);
    });

    test('see their own collections in lists and totals, and may make those that their names allow', async () => {
      const [own, other] = [await context.collection({ dim: 2 }), await context.collection()];
      dataOf(await context.api.post(`/v1/collections/${other}/upsert`, { external_id: 'a', vector: [1, 2, 3] }));
      dataOf(await context.api.post(`/v1/collections/${own}/upsert`, { external_id: 'a', vector: [1, 2] }));
      const created = await keyWith({
        role: 'readwrite',
        collections: [{ name: own, role: 'readonly' }, { prefix: `${own}-made` }],
      });
      expect(created.collections).toEqual([
        { name: own, role: 'readonly' },
        { prefix: `${own}-made`, role: 'readwrite' },
      ]);
      const more = { key: created.key };
      const { api } = context;
      expect(dataOf(await api.get('/v1/me', more))).toMatchObject({
        role: 'readwrite',
        collections: created.collections,
      });
      expect(dataOf(await api.get('/v1/collections', more)).collections.map(({ name }: any) => name)).toEqual([own]);
      expect(dataOf(await api.get('/v1/health', more))).toMatchObject({
        total_collections: 1,
        total_vectors: 1,
        collections: [{ name: own }],
      });
      expect(
        errorOf(await api.post(`/v1/collections/${own}/upsert`, { external_id: 'b', vector: [1, 2] }, more), 403),
      ).toContain(own);
      errorOf(await api.post('/v1/collections', { name: `${own}x`, dim: 2 }, more), 403);
      dataOf(await api.post('/v1/collections', { name: `${own}-made-1`, dim: 2 }, more));
      expect(dataOf(await api.get('/v1/collections', more)).collections).toHaveLength(2);
      dataOf(await api.delete(`/v1/collections/${own}-made-1`, more));
      // A change is in force with its answer.
      dataOf(await api.patch(`/v1/admin/keys/${created.id}`, { collections: [{ name: other }], role: 'readonly' }));
      errorOf(await api.get(`/v1/collections/${own}`, more), 403);
      dataOf(await api.get(`/v1/collections/${other}`, more));
      dataOf(await api.patch(`/v1/admin/keys/${created.id}`, { collections: null }));
      dataOf(await api.get(`/v1/collections/${own}`, more));
    });

    test.each([
      [{ role: 'admin', collections: [{ name: 'a' }] }, 400, 'admin'],
      [{ collections: [] }, 400, 'collections'],
      [{ collections: [{}] }, 422, 'collections[0]'],
      [{ collections: [{ name: 'a', prefix: 'b' }] }, 422, 'collections[0]'],
      [{ collections: [{ name: 'a b' }] }, 422, 'collections[0].name'],
      [{ collections: [{ name: 'a', role: 'owner' }] }, 400, 'collections[0].role'],
      [{ collections: Array.from({ length: 101 }, (_, i) => ({ name: `c${i}` })) }, 400, '100'],
      [{ allowed_networks: ['10.0.0.0/64'] }, 422, 'allowed_networks[0]'],
      [{ rate_limit_per_minute: -1 }, 422, 'rate_limit_per_minute'],
    ])('%j is refused with %i', async (fields, code, field) => {
      expect(
        errorOf(await context.api.post('/v1/admin/keys', { name: 'a', role: 'readonly', ...fields }), code),
      ).toContain(field);
    });
  });

  describe('keys', () => {
    test('may be limited to networks', async () => {
      const inside = await keyWith({ allowed_networks: ['127.0.0.0/8', '::1'] });
      const outside = await keyWith({ allowed_networks: ['192.0.2.0/24'] });
      expect(inside.allowed_networks).toEqual(['127.0.0.0/8', '::1']);
      dataOf(await context.api.get('/v1/collections', { key: inside.key }));
      expect(errorOf(await context.api.get('/v1/collections', { key: outside.key }), 403)).toMatch(
        /may not be used from (127\.0\.0\.1|::1)/,
      );
      // Nobody trusts this proxy.
      errorOf(
        await context.api.get('/v1/collections', { key: outside.key, headers: { 'x-forwarded-for': '192.0.2.1' } }),
        403,
      );
    });

    test('may have a rate of their own, also where there is no other', async () => {
      const { key } = await keyWith({ rate_limit_per_minute: 3 });
      for (let i = 0; i < 3; i += 1)
        expect((await context.api.get('/v1/me', { key })).headers).toMatchObject({
          'ratelimit-limit': '3',
          'ratelimit-remaining': String(2 - i),
        });
      expect(errorOf(await context.api.get('/v1/me', { key }), 429)).toContain('at most 3 requests per minute');
    });

    test('work with two secrets while a rotation has an overlap, and a mistyped one is called that', async () => {
      const { id, key } = await keyWith({});
      const rotated = dataOf(await context.api.post(`/v1/admin/keys/${id}/rotate`, { grace_seconds: 3600 }));
      expect(Date.parse(rotated.previous_expires_at) - Date.now()).toBeGreaterThan(3_500_000);
      for (const secret of [key, rotated.key])
        expect(dataOf(await context.api.get('/v1/me', { key: secret })).key_id).toBe(id);
      const mistyped = rotated.key.slice(0, 10) + (rotated.key[10] === 'x' ? 'y' : 'x') + rotated.key.slice(11);
      expect(errorOf(await context.api.get('/v1/me', { key: mistyped }), 401)).toContain('checksum');
      expect(errorOf(await context.api.get('/v1/me', { key: 'another' }), 401)).toContain('invalid API key');
      const last = dataOf(await context.api.post(`/v1/admin/keys/${id}/rotate`));
      expect(last.previous_expires_at).toBeNull();
      for (const secret of [key, rotated.key]) errorOf(await context.api.get('/v1/me', { key: secret }), 401);
      dataOf(await context.api.get('/v1/me', { key: last.key }));
      errorOf(await context.api.post(`/v1/admin/keys/${id}/rotate`, { grace_seconds: -1 }), 422);
    });
  });
}
