import { eventually } from '../../support/eventually';
import { COLLECTION, underLoad } from './under-load';

test.each(['cut', 'silence'] as const)('a primary that nobody reaches any more (%s) is replaced, though it reaches the others and etcd', async (how) => {
  await underLoad(`cut-off-a-primary-${how}`, { replicas: 2, proxied: true }, async ({ cluster, writes }) => {
    const primary = await cluster.primaryOf(COLLECTION);
    const ways = cluster.ways.get(primary.id);
    await ways?.in[how]();
    await eventually(
      'another leads',
      () =>
        cluster.primaryOf(COLLECTION).then(
          ({ id }) => id !== primary.id,
          () => false,
        ),
      60_000,
    );
    await writes(50);
    await ways?.in.restore();
    await writes(100);
  });
});

test('a primary that is cut off from etcd loses its lead, and nothing that it acknowledged', async () => {
  await underLoad('cut-off-from-etcd', { replicas: 2, proxied: true }, async ({ cluster, writes }) => {
    const primary = await cluster.primaryOf(COLLECTION);
    const ways = cluster.ways.get(primary.id);
    ways?.etcd.silence();
    await eventually(
      'another leads',
      () =>
        cluster.primaryOf(COLLECTION).then(
          ({ id }) => id !== primary.id,
          () => false,
        ),
      60_000,
    );
    await writes(50);
    await ways?.etcd.restore();
    await writes(100);
  });
});

test('a follower that is cut off leaves the in-sync set and is back in it afterwards', async () => {
  const workload = await underLoad('cut-off-a-follower', { replicas: 2, shards: 1, proxied: true }, async ({ cluster, writes }) => {
    await cluster.settled();
    const { shards } = await cluster.data('GET', '/v1/cluster');
    const follower = shards[0].in_sync.find((id: string) => id !== shards[0].primary);
    await cluster.ways.get(follower)?.in.cut();
    await eventually(
      'the primary is alone in sync',
      async () => {
        const [during] = (await cluster.data('GET', '/v1/cluster')).shards;
        return during.state === 'degraded' && during.primary === shards[0].primary && during.in_sync.length === 1;
      },
      30_000,
    );
    await writes(50);
    await cluster.ways.get(follower)?.in.restore();
  });
  expect([...workload.errors]).toEqual([]);
});
