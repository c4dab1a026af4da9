import { eventually } from '../../support/eventually';
import { sharedCluster } from './shared-cluster';
import { COLLECTION, underLoad } from './under-load';

const on = sharedCluster({ proxied: true });

test('a primary that nobody reaches any more, or that no longer reaches etcd, is replaced, and nothing that it acknowledged is lost', async () => {
  await underLoad('cut-off-a-primary', { on }, async ({ cluster, writes }) => {
    for (const [way, how] of [
      // It reaches the others and etcd all along.
      ['in', 'cut'],
      ['in', 'silence'],
      ['etcd', 'silence'],
    ] as const) {
      const primary = await cluster.primaryOf(COLLECTION);
      const proxy = cluster.wayOf(primary.id, way);
      await cluster.replaced(primary, COLLECTION, 0, { begin: () => proxy[how](), end: () => proxy.restore() });
      await writes(25);
      await proxy.restore();
      await writes(50);
      // What is cut off next may hold shards together with this one.
      await cluster.settled();
    }
  });
});

test('a follower that is cut off leaves the in-sync set and is back in it afterwards', async () => {
  await underLoad('cut-off-a-follower', { on, shards: 1, mayFail: () => false }, async ({ cluster, writes }) => {
    const { primary, in_sync: inSync } = await cluster.shardOf(COLLECTION);
    const way = cluster.wayOf(inSync.find((id) => id !== primary) ?? '', 'in');
    await way.cut();
    await eventually('the primary is alone in sync', async () => {
      const during = await cluster.shardOf(COLLECTION);
      return during.state === 'degraded' && during.primary === primary && during.in_sync.length === 1;
    });
    await writes(25);
    await way.restore();
  });
});
