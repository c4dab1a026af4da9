import { eventually } from '../../support/eventually';
import { sharedCluster } from './shared-cluster';
import { StillDocuments } from './still-documents';
import { COLLECTION, underLoad } from './under-load';

/** Only a coordinator that stops may cut a connection. */
const isCut = (message: string): boolean => message.startsWith('broken connection');

const on = sharedCluster();

test('a primary that is frozen past its lease and wakes up acknowledges nothing and serves nothing stale', async () => {
  await underLoad('pause-a-primary', { on, replicas: 3 }, async ({ cluster, writes, lasts }) => {
    // Less than a lease and far more; the second is longer than its session lasts.
    for (const pauseMs of [1_200, 6_000]) {
      const primary = await cluster.primaryOf(COLLECTION);
      primary.pause();
      await lasts(pauseMs);
      primary.resume();
      await writes(50);
      await cluster.settled();
    }
  });
});

test('a follower that is lost (killed, paused) costs no request, leaves the in-sync set and is back in it later', async () => {
  await underLoad(
    'lose-a-follower',
    { on, replicas: 3, shards: 1, mayFail: () => false },
    async ({ cluster, writes }) => {
      const primary = await cluster.primaryOf(COLLECTION);
      for (const how of ['kill', 'pause'] as const) {
        const follower = cluster.nodes.find((node) => node !== primary)!;
        if (how === 'kill') await follower.kill();
        else follower.pause();
        await eventually(
          'it has left the in-sync set',
          async () => !(await cluster.shardOf(COLLECTION)).in_sync.includes(follower.id),
        );
        await writes(25);
        if (how === 'kill') await follower.start();
        else follower.resume();
        await cluster.settled();
        const after = await cluster.shardOf(COLLECTION);
        expect(after.in_sync).toContain(follower.id);
        expect(after.primary).toBe(primary.id);
      }
    },
  );
});

test('a rolling restart of every process under load loses nothing and fails no request of the nodes', async () => {
  await underLoad('restart-everything', { on, mayFail: isCut }, async ({ cluster, writes }) => {
    const still = await StillDocuments.put(cluster, 100);
    for (const node of cluster.nodes) {
      // As an operator does: a follower that was late for a second can't take over.
      await cluster.settled();
      expect(await node.stop()).toBe(0);
      await node.start();
      await writes(25);
    }
    await cluster.settled();
    for (const coordinator of cluster.coordinators) {
      expect(await coordinator.stop()).toBe(0);
      await coordinator.start();
      await writes(25);
    }
    for (const i of cluster.coordinators.keys()) await still.check(i);
  });
});
