import { ClusterProcesses } from '../../support/processes/cluster-processes';
import { eventually } from '../../support/eventually';

test('a pair of which both must have a write refuses writes while one is dead, and serves again when it is back', async () => {
  const cluster = await ClusterProcesses.start({
    nodes: 2,
    coordinators: 1,
    environment: { REQUEST_TIMEOUT_MS: '4000' },
  });
  try {
    await cluster.data('POST', '/v1/collections', { name: 'both', dim: 2, shards: 1, replicas: 2, min_in_sync: 2 });
    await cluster.data('POST', '/v1/collections', { name: 'either', dim: 2, shards: 1, replicas: 2 });
    await cluster.settled();
    const put = (collection: string, id: string) =>
      cluster.call('POST', `/v1/collections/${collection}/upsert`, { external_id: id, vector: [1, 2] });
    for (const collection of ['both', 'either']) expect((await put(collection, 'first')).status).toBe('success');
    const primary = await cluster.primaryOf('both');
    const follower = cluster.nodes.find((node) => node !== primary);
    await follower?.kill();
    await eventually(
      'a write to one that suffices is taken',
      async () => (await put('either', 'second')).status === 'success',
    );
    // The first may wait for the one that is gone, and not know whether it is stored; then they are refused.
    await eventually(
      'a write to both is refused',
      async () =>
        (await put('both', 'second')).error?.message.includes('unavailable; the call may be retried') === true,
    );
    await follower?.start();
    await eventually('writes to both are taken', async () => (await put('both', 'third')).status === 'success');
    const { vectors } = await cluster.data('GET', '/v1/collections/both/export');
    expect(vectors.map((item: { external_id: string }) => item.external_id)).toEqual(
      expect.arrayContaining(['first', 'third']),
    );
  } finally {
    await cluster.destroy();
  }
});
