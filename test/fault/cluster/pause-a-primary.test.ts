import { COLLECTION, underLoad } from './under-load';

test('a primary that is frozen past its lease and wakes up acknowledges nothing and serves nothing stale', async () => {
  await underLoad('pause-a-primary', { replicas: 3 }, async ({ cluster, writes, lasts }) => {
    // Less than a lease and far more; the second is longer than its session lasts.
    for (const pauseMs of [1_200, 6_000]) {
      const primary = await cluster.primaryOf(COLLECTION);
      primary.pause();
      await lasts(pauseMs);
      primary.resume();
      await writes(100);
      await cluster.settled();
    }
  });
});
