import { startPlainServer, type PlainServer } from '../../../../support/servers/plain-server';
import { ApiClient, dataOf } from '../../../../support/targets/api-client';

let server: PlainServer;
beforeEach(async () => {
  server = await startPlainServer();
});
afterEach(() => server.stop());

test('a repetition is answered when everybody knows what the earlier request did', async () => {
  const api = new ApiClient(server);
  dataOf(await api.post('/v1/collections', { name: 'c', dim: 2 }));
  const settled = jest.spyOn(server.service.aliases, 'settled');
  const actions = [{ create: { alias: 'a', collection: 'c' } }];
  const headers = { 'idempotency-key': 'once' };
  const first = dataOf(await api.post('/v1/aliases', { actions }, { headers }));
  expect(settled).not.toHaveBeenCalled();
  expect(dataOf(await api.post('/v1/aliases', { actions }, { headers }))).toEqual(first);
  expect(settled).toHaveBeenCalledTimes(1);
});

test('the audit log has the collection itself, and which aliases were changed', async () => {
  const api = new ApiClient(server);
  dataOf(await api.post('/v1/collections', { name: 'c', dim: 2 }));
  dataOf(await api.post('/v1/aliases', { actions: [{ create: { alias: 'a', collection: 'c' } }] }));
  expect(server.answered.at(-1)).toMatchObject({ endpoint: '/v1/aliases', target: 'aliases:a', collection: null });
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
