import { COLLECTION, underLoad } from './under-load';

/** Reads and writes of a shard are back within this time after its primary was killed, with two replicas. */
const FAILOVER_MS = 7_000;

test('kill -9 of a primary: another replica takes over with everything, and the killed one catches up', async () => {
  const workload = await underLoad('kill-a-primary', { replicas: 2 }, async ({ cluster, pass }) => {
    for (let times = 0; times < 2; times += 1) {
      const primary = await cluster.primaryOf(COLLECTION, times);
      await primary.kill();
      await pass(6_000);
      await primary.start();
      await pass(1_000);
    }
  });
  expect(workload.acknowledged).toBeGreaterThan(200);
  expect(workload.slowestMs()).toBeLessThan(FAILOVER_MS);
  expect([...workload.errors]).toEqual([]);
}, 180_000);
