import { eventually } from '../support/eventually';
import { ClusterProcesses } from '../support/processes/cluster-processes';

/** What coordinators have to agree on: keys, their revocation, limits and counts. */

const LIMIT = 40;
/** Of keys in a row: where only chance counts them right, it does not so often. */
const EXACT = 3;

describe('two coordinators', () => {
  let cluster: ClusterProcesses;
  beforeAll(async () => {
    cluster = await ClusterProcesses.start({
      nodes: 2,
      replicas: 2,
      threads: 2,
      environment: { RATE_LIMIT_PER_MINUTE: String(LIMIT), AUDIT_LOG: 'stdout' },
    });
    // However often the tests have to try: only the keys that they make have a limit.
    await cluster.data('PATCH', '/v1/admin/keys/1', { rate_limit_per_minute: 0 });
  });
  afterAll(() => cluster?.destroy());

  async function withKey(
    key: string,
    coordinator: number,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ code: number; data: any }> {
    const answer = await fetch(cluster.baseUrl(coordinator) + path, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const json = (await answer.json()) as { status: string; data: any; error: { code: number } | null };
    return { code: json.error?.code ?? 200, data: json.data };
  }

  test('a key made through one works at once through the other, and after its removal soon nowhere', async () => {
    const { id, key } = await cluster.data('POST', '/v1/admin/keys', { name: 'guest', role: 'readonly' }, 0);
    await eventually('the key is known', async () => (await withKey(key, 1, 'GET', '/v1/collections')).code === 200);
    await cluster.data('DELETE', `/v1/admin/keys/${id}`, undefined, 0);
    await eventually('the key is refused', async () => (await withKey(key, 1, 'GET', '/v1/collections')).code === 401);
    expect((await withKey(key, 0, 'GET', '/v1/collections')).code).toBe(401);
    // Each has said what it was asked.
    const told = (i: number): string => cluster.coordinators[i].output;
    await eventually('the audit log has it', () =>
      told(0).includes(
        `"method":"DELETE","endpoint":"/v1/admin/keys/{id}","collection":null,"target":"key:${id}","outcome":"done"`,
      ),
    );
    await eventually('the refusal, too', () =>
      /"event":"request".*"key_id":null.*"endpoint":"\/v1\/collections".*"code":401/.test(told(1)),
    );
  });

  test('a key has its requests per minute through all of them together', async () => {
    let keys = 0;
    const admittedOfNewKey = async (): Promise<number> => {
      const { key } = await cluster.data('POST', '/v1/admin/keys', { name: `key-${++keys}`, role: 'readonly' }, 1);
      await eventually('the key is known', async () => (await withKey(key, 0, 'GET', '/v1/health')).code !== 401);
      let admitted = 1;
      for (let i = 0; i < 2 * LIMIT; i += 1)
        if ((await withKey(key, i % 2, 'GET', '/v1/health')).code === 200) admitted += 1;
      return admitted;
    };
    // A coordinator that does not answer the other in a quarter of a second is done without, so that each counts alone.
    let exact = 0;
    const isExact = async (): Promise<boolean> => {
      const admitted = await admittedOfNewKey();
      expect(admitted).toBeGreaterThanOrEqual(LIMIT);
      expect(admitted).toBeLessThanOrEqual(2 * LIMIT);
      exact = admitted === LIMIT ? exact + 1 : 0;
      return exact === EXACT;
    };
    await eventually('keys have exactly their requests', isExact);
  });

  test('a key stores what its quota has through all of them together, and what it did not use up at one is had at the other', async () => {
    const quota = { items: 400, period: 'total' };
    await cluster.data('POST', '/v1/collections', { name: 'shared', dim: 2 });
    const { id, key } = await cluster.data(
      'POST',
      '/v1/admin/keys',
      { name: 'writer', role: 'readwrite', rate_limit_per_minute: 0, quota },
      0,
    );
    await eventually('the key is known', async () => (await withKey(key, 1, 'GET', '/v1/health')).code === 200);
    let next = 0;
    const write = async (coordinator: number, count: number): Promise<number> => {
      const items = Array.from({ length: count }, () => ({ external_id: `id-${(next += 1)}`, vector: [1, next] }));
      const { code } = await withKey(key, coordinator, 'POST', '/v1/collections/shared/bulk_upsert', { items });
      expect([200, 400]).toContain(code);
      return code === 200 ? count : 0;
    };
    const written = await Promise.all(Array.from({ length: 200 }, (_, i) => write(i % 2, 7)));
    let stored = written.reduce((sum, count) => sum + count, 0);
    expect(stored).toBeLessThanOrEqual(quota.items);
    // What the other had taken in advance comes back to the store.
    await eventually('all of it is used', async () => (stored += await write(1, 1)) === quota.items);
    for (const coordinator of [0, 1]) expect(await write(coordinator, 1)).toBe(0);
    expect((await cluster.data('GET', '/v1/collections/shared')).vector_count).toBe(quota.items);
    for (const coordinator of [0, 1])
      expect(
        (await cluster.data('GET', `/v1/admin/keys/${id}/usage`, undefined, coordinator)).quota_used,
      ).toMatchObject({ items: quota.items, bytes: null });
  });
});

test('a collection counts each vector once, whatever its replicas, in the metrics of every coordinator', async () => {
  const cluster = await ClusterProcesses.start({ nodes: 3, replicas: 3, shards: 2 });
  try {
    await cluster.data('POST', '/v1/collections', { name: 'counted', dim: 2 });
    const items = Array.from({ length: 40 }, (_, i) => ({ external_id: `id-${i}`, vector: [i, 1] }));
    await cluster.data('POST', '/v1/collections/counted/bulk_upsert', { items });
    for (const i of [0, 1]) {
      const text = await (await fetch(`${cluster.baseUrl(i)}/metrics`)).text();
      expect(text).toMatch(/^vectordb_vectors_total\{collection="counted"\} 40$/m);
      expect((await cluster.data('GET', '/v1/health', undefined, i)).total_vectors).toBe(40);
    }
  } finally {
    await cluster.destroy();
  }
});
