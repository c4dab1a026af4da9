import type { ClusterProcesses } from '../../support/processes/cluster-processes';
import { eventually } from '../../support/eventually';
import { sharedCluster } from './shared-cluster';
import { COLLECTION, isRetriable, underLoad } from './under-load';

/** A shard as GET /v1/cluster shows it, with what these stories ask of it. */
type Shard = { collection: string; epoch: number; later_epoch: number | null };

const on = sharedCluster();

test('while etcd is away reads and writes go on, and nothing is left over when it is back', async () => {
  await underLoad('lose-etcd', { on, mayFail: () => false }, async ({ cluster, writes, lasts }) => {
    await cluster.etcd.kill();
    // Longer than every session lasts.
    await lasts(8_000);
    await Promise.all(cluster.coordinators.map((_, i) => showsAll(cluster, i)));
    await writes(50);
    await cluster.etcd.start();
    await writes(100);
    cluster.etcd.pause();
    await lasts(5_000);
    await writes(50);
    cluster.etcd.resume();
    await writes(100);
  });
});

/**
 * What is asked of the shards and shown by what the coordinator knows: at the same time, because each waits for etcd
 * first.
 */
async function showsAll(cluster: ClusterProcesses, coordinator: number): Promise<void> {
  const shown = { name: COLLECTION, vector_count: expect.any(Number), unavailable_shards: [] };
  const paths = ['s', `s/${COLLECTION}`, `s/${COLLECTION}/stats`].map((end) => `/v1/collection${end}`);
  const answers = await Promise.all(
    [...paths, '/v1/health', '/v1/cluster'].map((path) => cluster.data('GET', path, undefined, coordinator)),
  );
  expect(answers).toMatchObject([
    { collections: [shown] },
    shown,
    { name: COLLECTION },
    { status: 'ok', total_collections: 1, unavailable: [] },
    { mode: 'cluster', reshards: [] },
  ]);
  const metrics = await (await fetch(`${cluster.baseUrl(coordinator)}/metrics`)).text();
  expect(metrics).toMatch(/^vectordb_collections_total 1$/m);
  expect(metrics).toMatch(/^quiver_shards\{state="ok"\} 3$/m);
  expect(metrics).toMatch(/^quiver_etcd_up 0$/m);
}

test('an etcd that is put back to a backup under load costs nothing, and the shard map is put right', async () => {
  await underLoad('put-etcd-back', { on, mayFail: isRetriable }, async ({ cluster, writes }) => {
    await cluster.etcd.backUp();
    await cluster.settled();
    // Epochs that the backup does not know.
    for (const node of cluster.nodes) {
      await cluster.killSpared(node);
      await writes(10);
      await node.start();
      await cluster.settled();
    }
    const before = (await cluster.view()).shards as unknown as Shard[];
    await cluster.etcd.putBack();
    await writes(25);
    await eventually('the map is ahead of what it was', async () => {
      const now = (await cluster.view()).shards as unknown as Shard[];
      return (
        now.every(({ later_epoch: later }) => later === null) &&
        before.every(({ epoch }, i) => now[i].epoch > epoch || epoch === 1)
      );
    });
    await cluster.settled();
  });
});

test('nodes that start on an etcd that was put back open nothing empty and put the map right', async () => {
  await underLoad('put-etcd-back-at-rest', { on }, async ({ cluster, writes }) => {
    await cluster.etcd.backUp();
    await cluster.settled();
    await cluster.killSpared(await cluster.primaryOf(COLLECTION));
    await writes(25);
    for (const node of cluster.nodes) if (!node.isRunning) await node.start();
    await cluster.settled();
    for (const node of cluster.nodes) await node.stop();
    await cluster.etcd.putBack();
    for (const node of cluster.nodes) await node.start();
    await writes(25);
  });
});
