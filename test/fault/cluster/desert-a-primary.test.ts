import { eventually } from '../../support/eventually';
import { COLLECTION, isRetriable, underLoad } from './under-load';

test('a primary that reaches etcd and clients, but none of the other replicas, is followed by one of these', async () => {
  await underLoad('desert-a-primary', { replicas: 3, shards: 1, parted: true, mayFail: isRetriable }, async ({ cluster, writes }) => {
    const { primary } = await cluster.shardOf(COLLECTION);
    const ways = [...cluster.between].filter(([way]) => way.split('>').includes(primary!)).map(([, proxy]) => proxy);
    expect(ways).toHaveLength(4);
    for (const proxy of ways) proxy.silence();
    await eventually(
      `another than ${primary} leads`,
      async () => {
        const shard = await cluster.shardOf(COLLECTION);
        return shard.primary !== null && shard.primary !== primary && shard.state !== 'unavailable';
      },
      30_000,
    );
    await writes(100);
    for (const proxy of ways) await proxy.restore();
    await writes(50);
    await cluster.settled();
  });
});
