import { underLoad } from './under-load';

test('while etcd is away reads and writes go on, and nothing is left over when it is back', async () => {
  const workload = await underLoad('lose-etcd', { replicas: 2 }, async ({ cluster, workload, pass }) => {
    await cluster.etcd.kill();
    const before = workload.acknowledged;
    await pass(8_000);
    expect(workload.acknowledged).toBeGreaterThan(before + 20);
    await cluster.etcd.start();
    await pass(4_000);
    cluster.etcd.pause();
    await pass(5_000);
    cluster.etcd.resume();
    await pass(4_000);
  });
  expect([...workload.errors]).toEqual([]);
}, 180_000);
