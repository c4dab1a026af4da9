import { dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

const VIEW = {
  id: expect.any(Number),
  name: expect.any(String),
  role: expect.stringMatching(/^(admin|readwrite|readonly)$/),
  created_at: expect.stringMatching(/Z$/),
  is_active: expect.any(Boolean),
};

export function keysSuite(context: SuiteContext): void {
  const create = async (fields: object = {}) =>
    dataOf(await context.api.post('/v1/admin/keys', { name: 'a key', role: 'readonly', ...fields }));
  const works = async (key: string): Promise<boolean> =>
    (await context.api.get('/v1/collections', { key })).json?.status === 'success';

  describe('keys', () => {
    test('the default key is in the listing, without its secret', async () => {
      const answer = await context.api.get('/v1/admin/keys');
      const { keys } = dataOf(answer);
      expect(keys.find(({ id }: any) => id === 1)).toMatchObject({
        ...VIEW,
        name: 'default',
        role: 'admin',
        is_active: true,
      });
      for (const key of keys) expect(key).not.toHaveProperty('key');
      expect(answer.text).not.toContain(context.target.adminKey);
    });

    test('a key is created with its secret, shown without it, changed, rotated and deleted', async () => {
      const { api } = context;
      const created = await create({ name: 'reader' });
      expect(created).toMatchObject({
        ...VIEW,
        name: 'reader',
        role: 'readonly',
        is_active: true,
        expires_at: null,
        key: expect.any(String),
      });
      expect(await works(created.key)).toBe(true);
      const shown = dataOf(await api.get(`/v1/admin/keys/${created.id}`));
      expect(shown).toMatchObject({ ...VIEW, id: created.id });
      expect(shown).not.toHaveProperty('key');

      expect(
        dataOf(await api.patch(`/v1/admin/keys/${created.id}`, { name: 'writer', role: 'readwrite' })),
      ).toMatchObject({ name: 'writer', role: 'readwrite' });
      expect(dataOf(await api.patch(`/v1/admin/keys/${created.id}`, { is_active: false })).is_active).toBe(false);
      expect(await works(created.key)).toBe(false);
      dataOf(await api.patch(`/v1/admin/keys/${created.id}`, { is_active: true }));

      const rotated = dataOf(await api.post(`/v1/admin/keys/${created.id}/rotate`));
      expect(rotated).toMatchObject({ id: created.id, key: expect.any(String), rotated: true });
      expect([await works(created.key), await works(rotated.key)]).toEqual([false, true]);

      expect(dataOf(await api.delete(`/v1/admin/keys/${created.id}`))).toEqual({
        deleted: created.id,
        id: created.id,
        name: 'writer',
      });
      expect(await works(rotated.key)).toBe(false);
      errorOf(await api.get(`/v1/admin/keys/${created.id}`), 404);
    });

    test('a key may expire', async () => {
      const { expires_at } = await create({ expires_in_days: 2 });
      expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(1.9 * 86_400_000);
    });

    test.each([
      [{ role: 'readonly' }, 422, 'name'],
      [{ name: 'a' }, 422, 'role'],
      [{ name: 5, role: 'readonly' }, 422, 'name'],
      [{ name: 'a', role: 5 }, 422, 'role'],
      [{ name: 'a', role: 'owner' }, 400, 'role'],
      [{ name: '  ', role: 'readonly' }, 400, 'name'],
      [{ name: 'a', role: 'readonly', expires_in_days: 0 }, 400, 'expires_in_days'],
      [{ name: 'a', role: 'readonly', expires_in_days: -3 }, 400, 'expires_in_days'],
      [{ name: 'a', role: 'readonly', expires_in_days: '3' }, 422, 'expires_in_days'],
      [{ name: 'a', role: 'readonly', expires_in_days: 1.5 }, 422, 'expires_in_days'],
    ])('%j is refused with %i', async (body, code, field) => {
      const before = dataOf(await context.api.get('/v1/admin/keys')).keys.length;
      expect(errorOf(await context.api.post('/v1/admin/keys', body), code)).toContain(field);
      expect(dataOf(await context.api.get('/v1/admin/keys')).keys).toHaveLength(before);
    });

    test('the default key can’t be deleted, demoted or switched off', async () => {
      errorOf(await context.api.delete('/v1/admin/keys/1'), 400);
      errorOf(await context.api.patch('/v1/admin/keys/1', { role: 'readonly' }), 400);
      errorOf(await context.api.patch('/v1/admin/keys/1', { is_active: false }), 400);
    });

    test('an id that is no integer is a 400, a change of the wrong kind a 400 or 422', async () => {
      errorOf(await context.api.get('/v1/admin/keys/abc'), 400);
      errorOf(await context.api.delete('/v1/admin/keys/1.5'), 400);
      const { id } = await create();
      errorOf(await context.api.patch(`/v1/admin/keys/${id}`, { role: 'owner' }), 400);
      errorOf(await context.api.patch(`/v1/admin/keys/${id}`, { name: '' }), 400);
      errorOf(await context.api.patch(`/v1/admin/keys/${id}`, { is_active: 'no' }), 422);
    });

    test('usage counts the requests of a key by endpoint', async () => {
      const { id, key } = await create();
      for (let i = 0; i < 3; i++) dataOf(await context.api.get('/v1/collections', { key }));
      errorOf(await context.api.get('/v1/collections/none', { key }), 404);
      const { quota_used: used, ...usage } = dataOf(await context.api.get(`/v1/admin/keys/${id}/usage`));
      expect(used).toBeNull();
      expect(usage).toMatchObject({
        total_requests: 4,
        last_24h: 4,
        last_7d: 4,
        last_30d: 4,
        last_request_at: expect.stringMatching(/Z$/),
      });
      expect(Object.values<number>(usage.by_endpoint).reduce((sum, count) => sum + count, 0)).toBe(4);
      expect(Object.keys(usage.by_endpoint).some((endpoint) => endpoint.includes('/v1/collections/{name}'))).toBe(true);
      const { overall, by_key: byKey, ...flat } = dataOf(await context.api.get('/v1/admin/keys/usage/summary'));
      expect(flat.total_requests).toBeGreaterThanOrEqual(4);
      expect(overall).toEqual(flat);
      const names = dataOf(await context.api.get('/v1/admin/keys')).keys.map(({ id: keyId, name }: any) => [
        keyId,
        name,
      ]);
      expect(byKey.map(({ key_id: keyId, key_name: name }: any) => [keyId, name])).toEqual(names);
      expect(byKey.find(({ key_id: keyId }: any) => keyId === id)).toEqual({ key_id: id, key_name: 'a key', ...usage });
    });
  });
}
