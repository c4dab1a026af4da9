import { ClusterProcesses } from '../../support/cluster-processes';
import { eventually } from '../../support/eventually';

/** A delete by filter that a node's death overtakes: repeated until it succeeds, it has deleted the matches and nothing else. */

const ITEMS = 12_000;
const MATCHES = ITEMS / 3;

test('kill -9 of a primary in the middle of a delete by filter', async () => {
  const cluster = await ClusterProcesses.start({ nodes: 3, coordinators: 1, replicas: 2 });
  try {
    await cluster.data('POST', '/v1/collections', { name: 'deleted', dim: 4, shards: 3 });
    await cluster.settled();
    for (let at = 0; at < ITEMS; at += 1000) {
      const items = Array.from({ length: 1000 }, (_, i) => ({ external_id: `v${at + i}`, vector: [1, at, i, 0], metadata: { third: (at + i) % 3 } }));
      await cluster.data('POST', '/v1/collections/deleted/bulk_upsert', { items });
    }
    const primary = await cluster.primaryOf('deleted', 1);
    const send = () => cluster.call('POST', '/v1/collections/deleted/delete_by_filter', { filters: { third: 1 } });
    const first = send();
    await primary.kill();
    // Where no other was in sync on a busy machine, only it can go on.
    if (!(await cluster.isSpared(primary))) await primary.start();
    let answer = await first;
    let counted = answer.data?.deleted_count ?? 0;
    await eventually(
      'a delete succeeds',
      async () => {
        if (answer.status === 'success') return true;
        expect(answer.error).toMatchObject({ code: 500, message: expect.stringMatching(/repeat|retried/) });
        counted += Number(/^(\d+) vectors were deleted/.exec(answer.error?.message ?? '')?.[1] ?? 0);
        answer = await send();
        counted += answer.data?.deleted_count ?? 0;
        return answer.status === 'success';
      },
      90_000,
    );
    expect(counted).toBeLessThanOrEqual(MATCHES);
    expect((await send()).data).toEqual({ deleted_count: 0 });
    const { vectors } = await cluster.data('GET', '/v1/collections/deleted/export?limit=100000');
    expect(vectors.map(({ metadata }: { metadata: { third: number } }) => metadata.third).filter((third: number) => third === 1)).toEqual([]);
    expect(vectors).toHaveLength(ITEMS - MATCHES);
    if (!primary.isRunning) await primary.start();
    await cluster.settled();
    expect((await cluster.data('GET', '/v1/collections/deleted')).vector_count).toBe(ITEMS - MATCHES);
  } finally {
    await cluster.destroy();
  }
});
