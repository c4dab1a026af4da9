import { dataOf, errorOf } from '../../support/targets/api-client';
import { eventually } from '../../support/eventually';
import type { SuiteContext } from '../api-suite';

export function operationsSuite(context: SuiteContext): void {
  describe('operations', () => {
    test('health counts what is there', async () => {
      const name = await context.collection({ dim: 2 });
      dataOf(await context.api.post(`/v1/collections/${name}/upsert`, { external_id: 'a', vector: [1, 2] }));
      const health = dataOf(await context.api.get('/v1/health'));
      expect(health).toMatchObject({
        status: 'ok',
        total_vectors: expect.any(Number),
        uptime_seconds: expect.any(Number),
      });
      expect(health.collections).toContainEqual({ name, vector_count: 1, dim: 2 });
      expect(health.total_collections).toBe(health.collections.length);
      expect(health.total_vectors).toBe(
        health.collections.reduce((sum: number, { vector_count }: any) => sum + vector_count, 0),
      );
    });

    test('the cluster is shown in snake case, nodes and shards complete', async () => {
      const name = await context.collection();
      const cluster = dataOf(await context.api.get('/v1/cluster'));
      expect(Object.keys(cluster).sort()).toEqual([
        'controller',
        'coordinators',
        'mode',
        'moves',
        'new_shards',
        'nodes',
        'reshards',
        'shards',
      ]);
      expect(cluster.coordinators[0]).toEqual({
        id: expect.any(String),
        address: expect.any(String),
        pid: expect.any(Number),
        started_at: expect.stringMatching(/Z$/),
      });
      expect(cluster.nodes[0]).toEqual({
        id: expect.any(String),
        address: expect.any(String),
        zone: expect.any(String),
        pid: expect.any(Number),
        state: 'up',
        down_since: null,
        primaries: expect.any(Number),
        replicas: expect.any(Number),
        vectors: expect.any(Number),
        disk_bytes: expect.any(Number),
      });
      const shard = cluster.shards.find(({ collection }: any) => collection === name);
      expect(Object.keys(shard).sort()).toEqual([
        'collection',
        'epoch',
        'in_sync',
        'lag_ops',
        'last_op',
        'later_epoch',
        'learners',
        'primary',
        'shard',
        'state',
        'vectors',
      ]);
      expect(shard.in_sync).toContain(shard.primary);
    });

    test('the summary tells rates and times of what was called, and slow requests to admins', async () => {
      const name = await context.collection();
      dataOf(await context.api.post(`/v1/collections/${name}/search`, { vector: [1, 2, 3] }));
      // HTTP threads tell what they counted a few times a second.
      let summary: any;
      await eventually('the search is counted', async () => {
        summary = dataOf(await context.api.get('/v1/metrics/summary'));
        return summary.operations.some(({ endpoint }: any) => endpoint === '/v1/collections/{name}/search');
      });
      expect(summary.process).toEqual({
        id: expect.any(String),
        pid: expect.any(Number),
        uptime_seconds: expect.any(Number),
        memory_bytes: expect.any(Number),
        heap_bytes: expect.any(Number),
        processors: expect.any(Number),
      });
      const search = summary.operations.find(({ endpoint }: any) => endpoint === '/v1/collections/{name}/search');
      expect(Object.keys(search)).toEqual([
        'endpoint',
        'per_second',
        'errors_per_second',
        'p50_ms',
        'p99_ms',
        'total',
        'errors',
      ]);
      expect(search.p50_ms).toBeGreaterThan(0);
      expect(search.p99_ms).toBeGreaterThanOrEqual(search.p50_ms);
      expect(summary.requests.total).toBeGreaterThanOrEqual(search.total);
      expect(summary.slow_ms).toBe(1000);
      expect(Array.isArray(summary.slow_requests)).toBe(true);
      const { key } = dataOf(await context.api.post('/v1/admin/keys', { name: 'looks', role: 'readonly' }));
      expect(dataOf(await context.api.get('/v1/metrics/summary', { key }))).toMatchObject({
        slow_requests: null,
        process: {
          id: null,
          pid: null,
          uptime_seconds: expect.any(Number),
          memory_bytes: summary.process.memory_bytes > 0 && expect.any(Number),
        },
      });
      const limited = dataOf(
        await context.api.post('/v1/admin/keys', { name: 'limited', role: 'readwrite', collections: [{ name }] }),
      ).key;
      expect(dataOf(await context.api.get('/v1/metrics/summary', { key: limited }))).toEqual({
        process: { id: null, pid: null, uptime_seconds: 0, memory_bytes: 0, heap_bytes: 0, processors: 0 },
        rate_seconds: 0,
        quantile_seconds: 0,
        requests: { per_second: 0, errors_per_second: 0, p50_ms: null, p99_ms: null, total: 0, errors: 0 },
        operations: [],
        embedding: [],
        in_flight: 0,
        body_bytes: 0,
        shed_total: 0,
        slow_ms: summary.slow_ms,
        slow_requests: null,
      });
    });

    test('the demo can be loaded once and tried at once', async () => {
      errorOf(
        await context.api.post('/v1/demo', undefined, {
          key: dataOf(await context.api.post('/v1/admin/keys', { name: 'reads', role: 'readonly' })).key,
        }),
        403,
      );
      const data = dataOf(await context.api.post('/v1/demo'));
      expect(data).toEqual({
        collection: 'demo',
        count: expect.any(Number),
        loaded: true,
        dim: 384,
        embedding_model: 'builtin',
      });
      expect(dataOf(await context.api.post('/v1/demo'))).toEqual({ ...data, loaded: false });
      const { results } = dataOf(
        await context.api.post('/v1/collections/demo/hybrid_search', {
          query_text: 'a salamander that never grows up',
          k: 3,
          filters: { topic: 'animals' },
          explain: true,
        }),
      );
      expect(results.map(({ external_id }: any) => external_id)).toContain('animals-axolotl');
      const { population } = dataOf(
        await context.api.post('/v1/collections/demo/sample', {
          filters: { year: { $gte: 1900 } },
          projection: { method: 'pca', dimensions: 2 },
        }),
      );
      expect(population).toBeGreaterThan(20);
      dataOf(await context.api.delete('/v1/collections/demo'));
      dataOf(await context.api.post('/v1/collections', { name: 'demo', dim: 3 }));
      expect(errorOf(await context.api.post('/v1/demo'), 409)).toContain('delete it');
      dataOf(await context.api.delete('/v1/collections/demo'));
    });

    test('a caller learns which key it has and what that may do', async () => {
      expect(dataOf(await context.api.get('/v1/me'))).toEqual({
        key_id: 1,
        name: 'default',
        role: 'admin',
        expires_at: null,
        collections: null,
        quota: null,
        quota_used: null,
        subject: null,
      });
      const created = dataOf(
        await context.api.post('/v1/admin/keys', { name: 'who', role: 'readonly', expires_in_days: 1 }),
      );
      expect(dataOf(await context.api.get('/v1/me', { key: created.key }))).toEqual({
        key_id: created.id,
        name: 'who',
        role: 'readonly',
        expires_at: created.expires_at,
        collections: null,
        quota: null,
        quota_used: null,
        subject: null,
      });
    });

    test('a token that no link has signs nobody in, and says what to do', async () => {
      expect(errorOf(await context.api.post('/v1/sign_in', { token: 'guessed' }, { key: null }), 401)).toContain(
        'sign in with an API key',
      );
      errorOf(await context.api.post('/v1/sign_in', {}, { key: null }), 422);
      errorOf(await context.api.post('/v1/sign_in', { token: 'x'.repeat(2_000) }, { key: null }), 400);
    });

    test('an unknown node can’t be drained', async () => {
      expect(errorOf(await context.api.post('/v1/cluster/nodes/no-such/drain'), 404)).toContain('no-such');
      errorOf(await context.api.post('/v1/cluster/nodes/no-such/undrain'), 404);
    });
  });
}
