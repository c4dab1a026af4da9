import { startPlainServer } from '../support/servers/plain-server';

test('items expire as they and their collection say, and a time that is none is refused', async () => {
  const server = await startPlainServer();
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${server.baseUrl}${path}`, {
      method,
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await answer.json()) as { data: any; error: { code: number; message: string } | null };
  };
  try {
    expect((await call('POST', '/v1/collections', { name: 'c', dim: 2, ttl_seconds: 3600 })).data.ttl_seconds).toBe(
      3600,
    );
    const later = new Date(Date.now() + 60_000).toISOString();
    await call('POST', '/v1/collections/c/bulk_upsert', {
      items: [
        { external_id: 'own', vector: [1, 0], expires_at: later },
        { external_id: 'over', vector: [1, 0], expires_at: '2001-01-01T00:00:00+01:00' },
        { external_id: 'default', vector: [1, 0] },
      ],
    });
    const { vectors } = (await call('POST', '/v1/collections/c/scroll', {})).data as {
      vectors: { external_id: string; expires_at?: string }[];
    };
    expect(vectors.map(({ external_id }) => external_id)).toEqual(['own', 'default']);
    expect(vectors[0].expires_at).toBe(later);
    expect(Date.parse(vectors[1].expires_at!) - Date.now()).toBeGreaterThan(3_590_000);
    expect((await call('GET', '/v1/collections/c')).data.vector_count).toBe(2);
    expect((await call('GET', '/v1/collections/c/vectors/over')).error?.code).toBe(404);

    expect((await call('PATCH', '/v1/collections/c', { ttl_seconds: null })).data).toMatchObject({
      ttl_seconds: null,
      description: null,
    });
    expect((await call('PATCH', '/v1/collections/c', {})).error?.code).toBe(422);
    await call('PATCH', '/v1/collections/c/vectors/own', { expires_at: null });
    expect((await call('GET', '/v1/collections/c/vectors/own')).data).not.toHaveProperty('expires_at');
    for (const wrong of ['soon', '2030-01-01', 5])
      expect(
        (await call('POST', '/v1/collections/c/upsert', { external_id: 'x', vector: [1, 0], expires_at: wrong })).error
          ?.code,
      ).toBe(422);
  } finally {
    await server.stop();
  }
});
