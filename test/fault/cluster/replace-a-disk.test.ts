import { eventually } from '../../support/eventually';
import { underLoad } from './under-load';

test('a node whose disk is replaced comes back empty, gets copies, and counts as another store meanwhile', async () => {
  await underLoad('replace-a-disk', { replicas: 2 }, async ({ cluster, writes }) => {
    const [node] = cluster.nodes;
    await cluster.killSpared(node);
    // Only then can it be told from the one with the old disk by who is in sync.
    await eventually('the others do without it', async () => (await cluster.view()).shards.every(({ primary, in_sync: inSync }) => primary !== null && !inSync.includes(node.id)), 60_000);
    await writes(50);
    node.wipe();
    await node.start();
    await cluster.settled();
    const { nodes } = await cluster.view();
    const back = nodes.find(({ id }) => id === node.id)!;
    expect(back.state).toBe('up');
    expect(back.primaries + back.replicas).toBeGreaterThan(0);
  });
});
