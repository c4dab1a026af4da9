import { dataOf, errorOf } from '../../support/api-client';
import type { SuiteContext } from '../api-suite';

export function operationsSuite(context: SuiteContext): void {
  describe('operations', () => {
    test('health counts what is there', async () => {
      const name = await context.collection({ dim: 2 });
      dataOf(await context.api.post(`/v1/collections/${name}/upsert`, { external_id: 'a', vector: [1, 2] }));
      const health = dataOf(await context.api.get('/v1/health'));
      expect(health).toMatchObject({ status: 'ok', total_vectors: expect.any(Number), uptime_seconds: expect.any(Number) });
      expect(health.collections).toContainEqual({ name, vector_count: 1, dim: 2 });
      expect(health.total_collections).toBe(health.collections.length);
      expect(health.total_vectors).toBe(health.collections.reduce((sum: number, { vector_count }: any) => sum + vector_count, 0));
    });

    test('the cluster is shown in snake case, nodes and shards complete', async () => {
      const name = await context.collection();
      const cluster = dataOf(await context.api.get('/v1/cluster'));
      expect(Object.keys(cluster).sort()).toEqual(['controller', 'coordinators', 'mode', 'moves', 'nodes', 'shards']);
      expect(cluster.coordinators[0]).toEqual({ id: expect.any(String), address: expect.any(String), pid: expect.any(Number), started_at: expect.stringMatching(/Z$/) });
      expect(cluster.nodes[0]).toEqual({
        id: expect.any(String),
        address: expect.any(String),
        zone: expect.any(String),
        pid: expect.any(Number),
        state: 'up',
        primaries: expect.any(Number),
        replicas: expect.any(Number),
        vectors: expect.any(Number),
        disk_bytes: expect.any(Number),
      });
      const shard = cluster.shards.find(({ collection }: any) => collection === name);
      expect(Object.keys(shard).sort()).toEqual(['collection', 'epoch', 'in_sync', 'lag_ops', 'last_op', 'later_epoch', 'learners', 'primary', 'shard', 'state', 'vectors']);
      expect(shard.in_sync).toContain(shard.primary);
    });

    test('a caller learns which key it has and what that may do', async () => {
      expect(dataOf(await context.api.get('/v1/me'))).toEqual({ key_id: 1, name: 'default', role: 'admin', expires_at: null });
      const created = dataOf(await context.api.post('/v1/admin/keys', { name: 'who', role: 'readonly', expires_in_days: 1 }));
      expect(dataOf(await context.api.get('/v1/me', { key: created.key }))).toEqual({ key_id: created.id, name: 'who', role: 'readonly', expires_at: created.expires_at });
    });

    test('a token that no link has signs nobody in, and says what to do', async () => {
      expect(errorOf(await context.api.post('/v1/sign_in', { token: 'guessed' }, { key: null }), 401)).toContain('sign in with an API key');
      errorOf(await context.api.post('/v1/sign_in', {}, { key: null }), 422);
      errorOf(await context.api.post('/v1/sign_in', { token: 'x'.repeat(2_000) }, { key: null }), 400);
    });

    test('an unknown node can’t be drained', async () => {
      expect(errorOf(await context.api.post('/v1/cluster/nodes/no-such/drain'), 404)).toContain('no-such');
      errorOf(await context.api.post('/v1/cluster/nodes/no-such/undrain'), 404);
    });
  });
}
