import { type ApiAnswer, dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';
import { callsAbout } from './scopes';

/** What names its collection in a form, or begins what goes on: asked for apart. */
const APART = [
  'POST /v1/documents/upload',
  'POST /v1/collections',
  'DELETE /v1/collections/{name}',
  'POST /v1/collections/{name}/reshard',
];

/** Other names of collections. */
export function aliasesSuite(context: SuiteContext): void {
  let made = 0;
  const change = (actions: object[], more: object = {}): Promise<ApiAnswer> =>
    context.api.post('/v1/aliases', { actions }, more);
  const aliasOf = async (collection: string): Promise<string> => {
    const alias = `${collection}-alias-${++made}`;
    dataOf(await change([{ create: { alias, collection } }]));
    return alias;
  };
  const gone = async (...aliases: string[]): Promise<void> => {
    dataOf(await change(aliases.map((alias) => ({ delete: { alias } }))));
  };
  const put = async (collection: string, ids: string[]): Promise<void> => {
    const items = ids.map((id) => ({ external_id: id, vector: [1, 2, 3] }));
    dataOf(await context.api.post(`/v1/collections/${collection}/bulk_upsert`, { items }));
  };
  const found = async (name: string): Promise<string[]> => {
    const { results } = dataOf(await context.api.post(`/v1/collections/${name}/search`, { vector: [1, 2, 3], k: 10 }));
    return results.map(({ external_id }: any) => external_id).sort();
  };

  describe('aliases', () => {
    test('are made, listed, moved and deleted', async () => {
      const [one, two] = [await context.collection(), await context.collection()];
      const alias = `${one}-current`;
      const [view] = dataOf(await change([{ create: { alias, collection: one } }])).aliases;
      expect(view).toEqual({ alias, collection: one, created_at: expect.any(String), switched_at: null });
      const listed = dataOf(await context.api.get('/v1/aliases')).aliases;
      expect(listed.filter((any: any) => any.alias === alias)).toEqual([view]);
      await put(one, ['a']);
      await put(two, ['b', 'c']);
      expect(await found(alias)).toEqual(['a']);
      const [moved] = dataOf(await change([{ switch: { alias, collection: two } }])).aliases;
      expect(moved).toEqual({ ...view, collection: two, switched_at: expect.any(String) });
      expect(await found(alias)).toEqual(['b', 'c']);
      await put(alias, ['d']);
      expect(await found(two)).toEqual(['b', 'c', 'd']);
      expect(dataOf(await change([{ delete: { alias } }]))).toEqual({ aliases: [] });
      errorOf(await context.api.get(`/v1/collections/${alias}`), 404);
      expect(await found(two)).toEqual(['b', 'c', 'd']);
    });

    test('are changed together, all or none, in the order given', async () => {
      const [one, two] = [await context.collection(), await context.collection()];
      const [a, b] = [await aliasOf(one), await aliasOf(two)];
      const swapped = [{ switch: { alias: a, collection: b } }, { switch: { alias: b, collection: one } }];
      expect(dataOf(await change(swapped)).aliases.map(({ collection }: any) => collection)).toEqual([two, one]);
      const before = dataOf(await context.api.get('/v1/aliases'));
      for (const [last, code] of [
        [{ delete: { alias: 'there-is-none' } }, 404],
        [{ switch: { alias: b, collection: 'there-is-none' } }, 404],
        [{ create: { alias: b, collection: one } }, 409],
        [{ create: { alias: one, collection: two } }, 409],
      ] as const)
        errorOf(await change([{ switch: { alias: a, collection: one } }, { delete: { alias: a } }, last]), code);
      expect(dataOf(await context.api.get('/v1/aliases'))).toEqual(before);
      const again = [{ delete: { alias: a } }, { create: { alias: a, collection: one } }];
      expect(dataOf(await change(again)).aliases).toMatchObject([{ alias: a, collection: one, switched_at: null }]);
      await gone(a, b);
    });

    test('and collections are one name space', async () => {
      const one = await context.collection();
      const alias = await aliasOf(one);
      // Not everybody may know of which collection it is one.
      for (const taken of [
        await context.api.post('/v1/collections', { name: alias, dim: 3 }),
        await change([{ create: { alias, collection: one } }]),
      ])
        expect(errorOf(taken, 409).replaceAll(alias, '')).not.toContain(one);
      expect(errorOf(await change([{ create: { alias: one, collection: one } }]), 409)).toContain('collection');
      await gone(alias);
      dataOf(await context.api.post('/v1/collections', { name: alias, dim: 3 }));
      dataOf(await context.api.delete(`/v1/collections/${alias}`));
    });

    test('keep their collection, unless it is deleted by force, and then go with it', async () => {
      const name = `suite-aliased-${++made}`;
      dataOf(await context.api.post('/v1/collections', { name, dim: 3 }));
      const [a, b] = [await aliasOf(name), await aliasOf(name)];
      for (const called of [name, a]) {
        const message = errorOf(await context.api.delete(`/v1/collections/${called}`), 409);
        expect(message).toContain(a);
        expect(message).toContain('force=true');
      }
      expect(dataOf(await context.api.delete(`/v1/collections/${a}?force=true`))).toMatchObject({ deleted: name });
      const { aliases } = dataOf(await context.api.get('/v1/aliases'));
      expect(aliases.filter(({ alias }: any) => [a, b].includes(alias))).toEqual([]);
      for (const called of [name, a, b]) errorOf(await context.api.get(`/v1/collections/${called}`), 404);
      dataOf(await context.api.post('/v1/collections', { name: a, dim: 3 }));
      dataOf(await context.api.delete(`/v1/collections/${a}`));
    });

    test('are taken by every endpoint, which answers with the own name', async () => {
      const collection = await context.collection({ dim: 3 });
      await put(collection, ['a']);
      const alias = await aliasOf(collection);
      const calls = (await callsAbout(context, alias)).filter(
        ([title, { path, body }]) =>
          !APART.includes(title) && (path.includes(alias) || (JSON.stringify(body) ?? '').includes(alias)),
      );
      expect(calls.length).toBeGreaterThan(30);
      const wrong: unknown[] = [];
      for (const [title, call] of calls) {
        const { json } = await context.api.call(call);
        // Only what there is none of: items, jobs, judgements, shards of a cluster.
        const isMissing = json?.error?.code === 404 && json.error.message.includes(`collection "${alias}"`);
        if (isMissing || JSON.stringify(json?.data ?? '').includes(alias)) wrong.push([title, json]);
      }
      expect(wrong).toEqual([]);
      const upload = [
        { name: 'collection_name', value: alias },
        { name: 'file', fileName: 'a.txt', content: 'text' },
      ];
      const before = dataOf(await context.api.get(`/v1/collections/${collection}`)).vector_count;
      dataOf(await context.api.upload(upload));
      expect(dataOf(await context.api.get(`/v1/collections/${collection}`)).vector_count).toBe(before + 1);
      await gone(alias);
    });

    test('answer with the own name of the collection', async () => {
      const collection = await context.collection({ dim: 64 });
      const alias = await aliasOf(collection);
      const { api } = context;
      dataOf(await api.post(`/v1/collections/${alias}/upsert`, { external_id: 'a', text: 'long rivers' }));
      expect(dataOf(await api.get(`/v1/collections/${alias}`))).toMatchObject({ name: collection, vector_count: 1 });
      const query = { query: 'rivers', collection_name: alias };
      expect(dataOf(await api.post('/v1/query', query))).toMatchObject({ collection, results: [{ external_id: 'a' }] });
      const { collection: exported, count } = dataOf(await api.get(`/v1/collections/${alias}/export`));
      expect([exported, count]).toEqual([collection, 1]);
      await gone(alias);
    });

    test('are used by the rights for their collection, or by a key that names them', async () => {
      const [one, two] = [await context.collection(), await context.collection()];
      await put(one, ['a']);
      await put(two, ['b']);
      const alias = await aliasOf(one);
      const keyFor = async (role: string, ...collections: object[]): Promise<{ key: string }> => {
        const { key } = dataOf(await context.api.post('/v1/admin/keys', { name: 'limited', role, collections }));
        return { key };
      };
      const search = (name: string, more: object): Promise<ApiAnswer> =>
        context.api.post(`/v1/collections/${name}/search`, { vector: [1, 2, 3] }, more);
      const write = (name: string, more: object): Promise<ApiAnswer> =>
        context.api.post(`/v1/collections/${name}/upsert`, { external_id: 'x', vector: [1, 2, 3] }, more);
      const byCollection = await keyFor('readonly', { name: one });
      const byAlias = await keyFor('readonly', { name: alias });
      const ofOther = await keyFor('readwrite', { name: two }, { prefix: 'elsewhere' });
      dataOf(await search(alias, byCollection));
      dataOf(await search(alias, byAlias));
      errorOf(await search(one, byAlias), 403);
      expect(errorOf(await search(alias, ofOther), 403)).not.toContain(`"${one}"`);
      for (const key of [byCollection, byAlias]) errorOf(await write(alias, key), 403);
      // A narrower role by the alias than by the collection.
      const narrow = await keyFor('readwrite', { name: one }, { name: alias, role: 'readonly' });
      dataOf(await write(one, narrow));
      errorOf(await write(alias, narrow), 403);
      const listed = async (more: object): Promise<string[]> =>
        dataOf(await context.api.get('/v1/aliases', more)).aliases.map((any: any) => any.alias);
      expect(await listed(byAlias)).toEqual([alias]);
      expect(await listed(byCollection)).toEqual([alias]);
      expect(await listed(ofOther)).toEqual([]);
      // To move one takes rights for both.
      const moved = [{ switch: { alias, collection: two } }];
      errorOf(await change(moved, byAlias), 403);
      errorOf(await change(moved, ofOther), 403);
      errorOf(await change([{ switch: { alias, collection: 'there-is-none' } }], ofOther), 403);
      const mover = await keyFor('readwrite', { name: alias }, { name: two });
      dataOf(await change(moved, mover));
      expect(dataOf(await search(alias, byAlias)).results).toMatchObject([{ external_id: 'b' }]);
      errorOf(await search(alias, byCollection), 403);
      await gone(alias);
    });

    test('are changed by a key that has its rights from its scopes', async () => {
      const one = await context.collection();
      const alias = `${one}-scoped`;
      const keyFor = async (role: string): Promise<{ key: string }> => {
        const collections = [
          { prefix: alias, role },
          { name: one, role },
        ];
        const body = { name: 'limited', role: 'readonly', collections };
        return { key: dataOf(await context.api.post('/v1/admin/keys', body)).key };
      };
      dataOf(await change([{ create: { alias, collection: one } }], await keyFor('readwrite')));
      errorOf(await change([{ delete: { alias } }], await keyFor('readonly')), 403);
      await gone(alias);
    });

    test('show a key that names them their collection and its jobs', async () => {
      const one = await context.collection();
      await put(one, ['a']);
      const alias = await aliasOf(one);
      const body = { name: 'limited', role: 'readonly', collections: [{ name: alias, role: 'admin' }] };
      const more = { key: dataOf(await context.api.post('/v1/admin/keys', body)).key };
      dataOf(await context.api.post(`/v1/collections/${alias}/optimize`, undefined, more));
      const { jobs } = dataOf(await context.api.get('/v1/jobs?kind=optimize', more));
      expect(jobs).toMatchObject([{ kind: 'optimize', collection: one }]);
      const { id } = jobs[0];
      expect(dataOf(await context.api.get(`/v1/jobs/${id}`, more)).id).toBe(id);
      const names = (answer: ApiAnswer): string[] => dataOf(answer).collections.map(({ name }: any) => name);
      for (const path of ['/v1/collections', '/v1/health'])
        expect(names(await context.api.get(path, more))).toEqual([one]);
      await gone(alias);
      for (const path of ['/v1/collections', '/v1/health'])
        expect(names(await context.api.get(path, more))).toEqual([]);
      errorOf(await context.api.get(`/v1/jobs/${id}`, more), 404);
    });

    test('hand on no more than what who moves them has', async () => {
      const one = await context.collection();
      const alias = `${one}-handed`;
      const keyFor = async (role: string, collections: object[]): Promise<{ key: string }> => {
        const { key } = dataOf(await context.api.post('/v1/admin/keys', { name: 'limited', role, collections }));
        return { key };
      };
      const quota = (name: string, more: object): Promise<ApiAnswer> =>
        context.api.post(`/v1/collections/${name}/quota`, {}, more);
      const mover = await keyFor('readwrite', [{ name: alias, role: 'admin' }, { name: one }]);
      const other = await keyFor('readonly', [{ name: alias, role: 'admin' }]);
      errorOf(await quota(one, mover), 403);
      dataOf(await change([{ create: { alias, collection: one } }], mover));
      for (const key of [mover, other]) expect(errorOf(await quota(alias, key), 403)).toContain('who moved the alias');
      dataOf(await context.api.post(`/v1/collections/${alias}/search`, { vector: [1, 2, 3] }, other));
      // Who may administer the collection hands that on.
      dataOf(await change([{ switch: { alias, collection: one } }]));
      for (const key of [mover, other]) dataOf(await quota(alias, key));
      await gone(alias);
    });

    test.each([
      ['no actions', {}, 422, /actions is required/],
      ['an empty list', { actions: [] }, 422, /actions must not be empty/],
      ['an action of nothing', { actions: [{}] }, 422, /actions\[0\] must have one of create, switch and delete/],
      [
        'two in one',
        { actions: [{ create: { alias: 'a', collection: 'b' }, delete: { alias: 'a' } }] },
        422,
        /must have one of/,
      ],
      ['no collection', { actions: [{ switch: { alias: 'a' } }] }, 422, /actions\[0\]\.switch\.collection is required/],
      ['a name that is none', { actions: [{ delete: { alias: 'a b' } }] }, 422, /alias must be 1 to 255 letters/],
      [
        'too many',
        { actions: Array.from({ length: 51 }, () => ({ delete: { alias: 'a' } })) },
        400,
        /51 elements, more than the maximum of 50/,
      ],
    ])('are refused with %s', async (_, body, code, message) => {
      expect(errorOf(await context.api.post('/v1/aliases', body), code)).toMatch(message);
    });

    test('are changed once under an Idempotency-Key', async () => {
      const one = await context.collection();
      const alias = `${one}-once`;
      const more = { headers: { 'idempotency-key': `alias-${alias}` } };
      const actions = [{ create: { alias, collection: one } }];
      const first = dataOf(await change(actions, more));
      expect(dataOf(await change(actions, more))).toEqual(first);
      errorOf(await change(actions), 409);
      await gone(alias);
    });
  });
}
