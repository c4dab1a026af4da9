import { eventually } from '../../support/eventually';
import { COLLECTION, underLoad } from './under-load';

test('a follower that is lost (killed, paused) costs no request, leaves the in-sync set and is back in it later', async () => {
  await underLoad('lose-a-follower', { replicas: 3, shards: 1, mayFail: () => false }, async ({ cluster, writes }) => {
    const primary = await cluster.primaryOf(COLLECTION);
    for (const how of ['kill', 'pause'] as const) {
      const follower = cluster.nodes.find((node) => node !== primary)!;
      if (how === 'kill') await follower.kill();
      else follower.pause();
      await eventually('it has left the in-sync set', async () => !(await cluster.shardOf(COLLECTION)).in_sync.includes(follower.id));
      await writes(50);
      if (how === 'kill') await follower.start();
      else follower.resume();
      await cluster.settled();
      const after = await cluster.shardOf(COLLECTION);
      expect(after.in_sync).toContain(follower.id);
      expect(after.primary).toBe(primary.id);
    }
  });
});
