import { COLLECTION, isRetriable, underLoad } from './under-load';

test('kill -9 of a primary: another replica takes over with everything, and the killed one catches up', async () => {
  await underLoad('kill-a-primary', { replicas: 2, threads: 2, mayFail: isRetriable }, async ({ cluster, writes }) => {
    for (let times = 0; times < 2; times += 1) {
      const primary = await cluster.primaryOf(COLLECTION, times);
      await cluster.replaced(primary, COLLECTION, times, { begin: () => primary.kill(), end: () => primary.start() });
      await writes(100);
      await primary.start();
      await writes(50);
      // The next primary may share a shard with this one; before this one has caught up, it holds that shard alone.
      await cluster.settled();
    }
  });
});
