import { COLLECTION, underLoad } from './under-load';

test('a primary that is frozen past its lease and wakes up acknowledges nothing and serves nothing stale', async () => {
  const workload = await underLoad('pause-a-primary', { replicas: 3 }, async ({ cluster, pass }) => {
    for (const pauseMs of [1_200, 6_000]) {
      const primary = await cluster.primaryOf(COLLECTION);
      primary.pause();
      await pass(pauseMs);
      primary.resume();
      await pass(1_500);
    }
  });
  expect(workload.acknowledged).toBeGreaterThan(50);
}, 180_000);
