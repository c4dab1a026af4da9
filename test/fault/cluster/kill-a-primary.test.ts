import { eventually } from '../../support/eventually';
import { COLLECTION, underLoad } from './under-load';

test('kill -9 of a primary: another replica takes over with everything, and the killed one catches up', async () => {
  const workload = await underLoad('kill-a-primary', { replicas: 2 }, async ({ cluster, writes }) => {
    for (let times = 0; times < 2; times += 1) {
      const primary = await cluster.primaryOf(COLLECTION, times);
      await primary.kill();
      await eventually(
        'another leads',
        () =>
          cluster.primaryOf(COLLECTION, times).then(
            ({ id }) => id !== primary.id,
            () => false,
          ),
        60_000,
      );
      await writes(100);
      await primary.start();
      await writes(50);
      // The next primary may share a shard with this one; before this one has caught up, it holds that shard alone.
      await cluster.settled();
    }
  });
  // On a busy machine a failover may outlast the patience of a read, which then says so.
  expect([...workload.errors.keys()].filter((message) => !message.includes('unavailable; the call may be retried'))).toEqual([]);
});
