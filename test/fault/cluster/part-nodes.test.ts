import { eventually } from '../../support/eventually';
import { sharedCluster } from './shared-cluster';
import { COLLECTION, isRetriable, underLoad } from './under-load';

const on = sharedCluster({ parted: true });

test('a primary and its follower that no longer reach each other, but everybody else, lose nothing', async () => {
  await underLoad('part-two-nodes', { on, shards: 1, mayFail: isRetriable }, async ({ cluster, writes }) => {
    for (const [there, back] of [
      [true, true],
      [true, false],
      [false, true],
    ]) {
      const { primary, in_sync: inSync } = await cluster.shardOf(COLLECTION);
      const follower = inSync.find((id) => id !== primary);
      const cut = [...(there ? [`${primary}>${follower}`] : []), ...(back ? [`${follower}>${primary}`] : [])].map(
        (way) => cluster.between.get(way)!,
      );
      for (const proxy of cut) proxy.silence();
      // The primary sends: only what it can't send parts them.
      if (there)
        await eventually(
          'one of them is alone in sync',
          async () => (await cluster.shardOf(COLLECTION)).in_sync.length === 1,
        );
      await writes(50);
      for (const proxy of cut) await proxy.restore();
      await writes(25);
      await cluster.settled();
    }
  });
});

test('a primary that reaches etcd and clients, but none of the other replicas, is followed by one of these', async () => {
  await underLoad(
    'desert-a-primary',
    { on, replicas: 3, shards: 1, mayFail: isRetriable },
    async ({ cluster, writes }) => {
      const { primary } = await cluster.shardOf(COLLECTION);
      const ways = [...cluster.between].filter(([way]) => way.split('>').includes(primary!)).map(([, proxy]) => proxy);
      expect(ways).toHaveLength(4);
      for (const proxy of ways) proxy.silence();
      await eventually(`another than ${primary} leads`, async () => {
        const shard = await cluster.shardOf(COLLECTION);
        return shard.primary !== null && shard.primary !== primary && shard.state !== 'unavailable';
      });
      await writes(50);
      for (const proxy of ways) await proxy.restore();
      await writes(25);
      await cluster.settled();
    },
  );
});

test('a node that was started again is ready once its replicas are in sync, so that the next one may go', async () => {
  await underLoad('start-a-follower-again', { on, shards: 1, mayFail: isRetriable }, async ({ cluster, writes }) => {
    const { primary, in_sync: inSync } = await cluster.shardOf(COLLECTION);
    const follower = cluster.nodes.find(({ id }) => id !== primary && inSync.includes(id))!;
    await follower.kill();
    await eventually(
      'the primary is alone in sync',
      async () => (await cluster.shardOf(COLLECTION)).in_sync.length === 1,
    );
    const cut = [`${primary}>${follower.id}`, `${follower.id}>${primary}`].map((way) => cluster.between.get(way)!);
    for (const proxy of cut) proxy.silence();
    await follower.start();
    await writes(25);
    expect(await follower.readiness()).toEqual({ status: 503, text: expect.stringContaining('catching up') });
    for (const proxy of cut) await proxy.restore();
    await eventually(`${follower.id} is ready`, async () => (await follower.readiness()).status === 200);
    await cluster.settled();
  });
});
