import { eventually } from '../../support/eventually';
import { HAS_DISKS_UNDER_TEST } from '../../support/machines/disk-under-test';
import { sharedCluster } from './shared-cluster';
import { COLLECTION, underLoad } from './under-load';

/** A write that the hung disk has not stored is told as unknown, or that it may be sent again. */
const isRetriable = (message: string): boolean => /may be retried|did not confirm the write in time/.test(message);
/** Of each sync: slow by the rule (TIMINGS.slowStoreMs) even when the other disks have to wait. */
const SLOW_MS = 250;
const on = sharedCluster({ disks: true });
const onDisks = HAS_DISKS_UNDER_TEST ? test : test.skip;

onDisks('a primary whose disk hangs gives its role to another replica, and nothing acknowledged is lost', async () => {
  await underLoad('hang-a-disk', { on, shards: 1, mayFail: isRetriable }, async ({ cluster, writes }) => {
    const primary = await cluster.primaryOf(COLLECTION);
    const disk = cluster.diskOf(primary.id);
    await cluster.replaced(primary, COLLECTION, 0, { begin: () => disk.hang(), end: () => disk.restore() });
    await writes(25);
    disk.restore();
    await cluster.settled();
  });
});

onDisks('a follower whose disk hangs leaves the in-sync set, and is back in it afterwards', async () => {
  await underLoad('hang-a-followers-disk', { on, shards: 1, mayFail: isRetriable }, async ({ cluster, writes }) => {
    const { primary, in_sync: inSync } = await cluster.shardOf(COLLECTION);
    const follower = inSync.find((id) => id !== primary)!;
    const disk = cluster.diskOf(follower);
    disk.hang();
    await eventually(
      'the follower is not in sync',
      async () => !(await cluster.shardOf(COLLECTION)).in_sync.includes(follower),
    );
    await writes(25);
    expect((await cluster.shardOf(COLLECTION)).primary).toBe(primary);
    disk.restore();
    await cluster.settled();
  });
});

onDisks('a primary whose disk is slow hands over to one whose disk is not, and clients see no error', async () => {
  await underLoad('slow-a-disk', { on, shards: 1, replicas: 3, mayFail: isRetriable }, async ({ cluster }) => {
    const primary = await cluster.primaryOf(COLLECTION);
    const disk = cluster.diskOf(primary.id);
    disk.slow(SLOW_MS);
    await eventually('another leads', async () => (await cluster.shardOf(COLLECTION)).primary !== primary.id);
    disk.restore();
  });
});
