import { COLLECTION, underLoad } from './under-load';

/** Far above what a failover takes (some 4.5 s, docs/performance.md): on a busy machine a test is no stopwatch. */
const FAILOVER_MS = 15_000;

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
  expect(workload.acknowledged).toBeGreaterThan(50);
  expect(workload.slowestMs()).toBeLessThan(FAILOVER_MS);
  // On a busy machine a failover may outlast the patience of a read, which then says so.
  expect([...workload.errors.keys()].filter((message) => !message.includes('unavailable; the call may be retried'))).toEqual([]);
}, 180_000);
