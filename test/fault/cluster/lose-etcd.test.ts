import { underLoad } from './under-load';

test('while etcd is away reads and writes go on, and nothing is left over when it is back', async () => {
  await underLoad('lose-etcd', { replicas: 2, mayFail: () => false }, async ({ cluster, writes, lasts }) => {
    await cluster.etcd.kill();
    // Longer than every session lasts.
    await lasts(8_000);
    await writes(100);
    await cluster.etcd.start();
    await writes(200);
    cluster.etcd.pause();
    await lasts(5_000);
    await writes(100);
    cluster.etcd.resume();
    await writes(200);
  });
});
