import { eventually } from '../../support/eventually';
import { COLLECTION, isRetriable, underLoad } from './under-load';

test('a primary and its follower that no longer reach each other, but everybody else, lose nothing', async () => {
  await underLoad('part-two-nodes', { replicas: 2, shards: 1, parted: true, mayFail: isRetriable }, async ({ cluster, writes }) => {
    for (const [there, back] of [
      [true, true],
      [true, false],
      [false, true],
    ]) {
      const { primary, in_sync: inSync } = await cluster.shardOf(COLLECTION);
      const follower = inSync.find((id) => id !== primary);
      const cut = [...(there ? [`${primary}>${follower}`] : []), ...(back ? [`${follower}>${primary}`] : [])].map((way) => cluster.between.get(way)!);
      for (const proxy of cut) proxy.silence();
      // The primary sends: only what it can't send parts them.
      if (there) await eventually('one of them is alone in sync', async () => (await cluster.shardOf(COLLECTION)).in_sync.length === 1);
      await writes(100);
      for (const proxy of cut) await proxy.restore();
      await writes(50);
      await cluster.settled();
    }
  });
});
