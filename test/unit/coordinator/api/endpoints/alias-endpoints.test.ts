import { aliasEndpoints } from '../../../../../coordinator/api/endpoints/alias-endpoints';
import { collectionEndpoints } from '../../../../../coordinator/api/endpoints/collection-endpoints';
import type { Endpoint } from '../../../../../coordinator/api/endpoints/endpoint';
import { operationsEndpoints } from '../../../../../coordinator/api/endpoints/operations-endpoints';
import { doneOnce } from '../../../../../coordinator/service/idempotency/stored-outcomes';
import type { StoreDedup } from '../../../../../coordinator/service/idempotency/store-dedup';
import type { Scoped } from '../../../../../coordinator/service/keys/collection-scope';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { startPlainServer, type PlainServer } from '../../../../support/servers/plain-server';
import { newCollection, plainService } from '../../../../support/shards/plain-service';
import { type ApiAnswer, ApiClient, dataOf, errorOf } from '../../../../support/targets/api-client';

/** A service beside a coordinator that says when a test wants what it knows of aliases. */
async function setUp() {
  const other = { knows: true, asked: 0 };
  const know = async (): Promise<void> => {
    other.asked += 1;
    if (!other.knows) throw new QuiverError('unavailable', 'coordinator b does not answer');
  };
  const { service } = await plainService({ aliasAudience: { know, ask: async () => [] } });
  const { collections, aliases, vectors } = service;
  const endpoints = [
    ...aliasEndpoints({ aliases }),
    ...collectionEndpoints({ collections, aliases, vectors, formats: {} as never, limits: {} as never }),
  ];
  const find = (method: string, template: string): Endpoint =>
    endpoints.find((one) => one.method === method && one.template === template)!;
  const targets: string[] = [];
  /** `token`: as with an Idempotency-Key; null: without. */
  const call = async (endpoint: Endpoint, given: object, token: string | null): Promise<unknown> => {
    const dedup = { token: token ?? '', digest: 'd', expiresAtMs: Date.now() + 1e9, sealingKey: '0'.repeat(64) };
    const inStore = <Result>(run: (dedup: StoreDedup | undefined) => Promise<Result>): Promise<Result> =>
      token === null ? run(undefined) : doneOnce(service.outcomes, dedup, () => undefined, run);
    const about = (target: string): void => void targets.push(target);
    return endpoint.handle({ key: null, ...given, inStore, about } as never);
  };
  const change = (actions: object[], token: string | null = null): Promise<unknown> =>
    call(find('POST', '/v1/aliases'), { body: { actions } }, token);
  const drop = (name: string, token: string | null = null, key: Scoped | null = null): Promise<unknown> =>
    call(find('DELETE', '/v1/collections/{name}'), { path: { name }, query: { force: true }, key }, token);
  for (const name of ['one', 'bare']) await service.collections.create(newCollection(name));
  return { service, other, change, drop, targets };
}

const create = { type: 'create', alias: 'a', collection: 'one' };

test.each([[null], ['key']])('a change is not answered before everybody knows it, with the key %p', async (token) => {
  const { service, other, change } = await setUp();
  other.knows = false;
  await expect(change([create], token)).rejects.toThrow('the aliases were changed, but coordinator b does not answer');
  expect(await service.aliases.list()).toMatchObject([{ alias: 'a' }]);
  if (token === null) return;
  // Nor is its repetition, which finds it done.
  await expect(change([create], token)).rejects.toThrow('coordinator b does not answer');
  other.knows = true;
  await expect(change([create], token)).resolves.toMatchObject({ type: 'data' });
});

test.each([[null], ['key']])('nor is a deletion with aliases, with the key %p', async (token) => {
  const { service, other, change, drop, targets } = await setUp();
  await change([create, { ...create, alias: 'b' }]);
  other.knows = false;
  await expect(drop('one', token)).rejects.toThrow('with its aliases, but coordinator b does not answer');
  expect(targets).toEqual(['aliases:create a>one,create b>one', 'aliases:delete a,delete b']);
  expect(await service.aliases.list()).toEqual([]);
  if (token === null) return;
  await expect(drop('one', token)).rejects.toThrow('coordinator b does not answer');
  other.knows = true;
  await expect(drop('one', token)).resolves.toMatchObject({ type: 'data' });
});

test('the deletion of a collection without aliases waits for nobody, though it might take some along', async () => {
  const { other, change, drop } = await setUp();
  await change([create]);
  other.knows = false;
  const { asked } = other;
  await expect(drop('bare', 'key')).resolves.toMatchObject({ type: 'data' });
  expect(other.asked).toBe(asked);
});

test('who may not change an alias does not take it along with its collection', async () => {
  const { service, change, drop } = await setUp();
  await change([create]);
  const owner: Scoped = { role: 'readwrite', collections: [{ name: 'one' }] };
  await expect(drop('one', null, owner)).rejects.toThrow('for "a", an alias that would go with it');
  expect((await service.collections.get('one')).name).toBe('one');
  await drop('one', null, { role: 'readwrite', collections: [{ name: 'one' }, { prefix: 'a' }] });
  expect(await service.aliases.list()).toEqual([]);
});

describe('by HTTP', () => {
  let server: PlainServer;
  beforeEach(async () => {
    server = await startPlainServer();
  });
  afterEach(() => server.stop());

  test('the audit log has the collection itself, and which aliases were changed', async () => {
    const api = new ApiClient(server);
    dataOf(await api.post('/v1/collections', { name: 'c', dim: 2 }));
    dataOf(await api.post('/v1/aliases', { actions: [{ create: { alias: 'a', collection: 'c' } }] }));
    expect(server.answered.at(-1)).toMatchObject({
      endpoint: '/v1/aliases',
      target: 'aliases:create a>c',
      collection: null,
    });
    dataOf(await api.post('/v1/collections/a/upsert', { external_id: 'x', vector: [1, 2] }));
    expect(server.answered.at(-1)).toMatchObject({ collection: 'c' });
  });

  test('a backup takes a collection by its alias', async () => {
    const api = new ApiClient(server);
    dataOf(await api.post('/v1/collections', { name: 'c', dim: 2 }));
    dataOf(await api.post('/v1/aliases', { actions: [{ create: { alias: 'a', collection: 'c' } }] }));
    const create = jest.spyOn(server.service.backups, 'create');
    await api.post('/v1/admin/backups', { collections: ['a', 'c'] });
    expect(create.mock.calls[0][0]).toMatchObject({ collections: ['c'] });
  });

  test('under an Idempotency-Key, the same request about another collection is another one', async () => {
    const api = new ApiClient(server);
    for (const name of ['c', 'd']) dataOf(await api.post('/v1/collections', { name, dim: 2 }));
    dataOf(await api.post('/v1/aliases', { actions: [{ create: { alias: 'a', collection: 'c' } }] }));
    const patch = (): Promise<ApiAnswer> =>
      api.call({
        method: 'PATCH',
        path: '/v1/collections/a',
        body: { description: 'new' },
        headers: { 'idempotency-key': 'once' },
      });
    const first = dataOf(await patch());
    expect(dataOf(await patch())).toEqual(first);
    dataOf(await api.post('/v1/aliases', { actions: [{ switch: { alias: 'a', collection: 'd' } }] }));
    expect(errorOf(await patch(), 422)).toContain('another request');
    // What goes with its alias is found done.
    const drop = (): Promise<ApiAnswer> =>
      api.call({
        method: 'DELETE',
        path: '/v1/collections/a?force=true',
        headers: { 'idempotency-key': 'gone' },
      });
    const dropped = dataOf(await drop());
    expect(dataOf(await drop())).toMatchObject({ status: dropped.status });
    expect(server.answered.at(-1)).toMatchObject({ error: null });
  });

  test('the audit log has the shard that is adopted by the own name of its collection', async () => {
    const adopt = async (collection: string, shard: number) => ({ collection, shard, node: 'n', earlierEpoch: 1 });
    const [endpoint] = operationsEndpoints({ operations: { adopt } as never, aliases: server.service.aliases }).filter(
      ({ template }) => template.endsWith('/adopt'),
    );
    const targets: string[] = [];
    const call = { path: { collection: 'a', shard: 1 }, body: { node: 'n' }, resolve: async () => 'c' };
    await endpoint.handle({ ...call, about: (target: string) => targets.push(target) } as never);
    expect(targets).toEqual(['shard:c/1']);
  });
});
