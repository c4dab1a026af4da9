import { eventually } from '../../support/eventually';
import { COLLECTION, underLoad } from './under-load';

test.each(['kill', 'pause'] as const)('a follower that is lost (%s) costs no request, leaves the in-sync set and is back in it later', async (how) => {
  const workload = await underLoad(`lose-a-follower-${how}`, { replicas: 3, shards: 1 }, async ({ cluster, writes }) => {
    const shard = async () => (await cluster.data('GET', '/v1/cluster')).shards[0];
    const primary = await cluster.primaryOf(COLLECTION);
    const follower = cluster.nodes.find((node) => node !== primary);
    if (how === 'kill') await follower?.kill();
    else follower?.pause();
    await eventually('it has left the in-sync set', async () => !(await shard()).in_sync.includes(follower?.id));
    await writes(50);
    if (how === 'kill') await follower?.start();
    else follower?.resume();
    await cluster.settled();
    expect((await shard()).in_sync).toContain(follower?.id);
    expect((await shard()).primary).toBe(primary.id);
  });
  expect([...workload.errors]).toEqual([]);
});
