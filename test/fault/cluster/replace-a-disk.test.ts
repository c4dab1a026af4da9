import { eventually } from '../../support/eventually';
import { underLoad } from './under-load';

test('a node whose disk is replaced comes back empty, gets copies, and counts as another store meanwhile', async () => {
  await underLoad('replace-a-disk', { replicas: 2 }, async ({ cluster, writes }) => {
    const [node] = cluster.nodes;
    await node.kill();
    const leads = async (): Promise<boolean> => (await cluster.data('GET', '/v1/cluster')).shards.some(({ primary }: { primary: string }) => primary === node.id);
    await eventually('others lead its shards', async () => !(await leads()), 60_000);
    await writes(50);
    node.wipe();
    await node.start();
    await cluster.settled();
    const { nodes } = await cluster.data('GET', '/v1/cluster');
    const back = nodes.find(({ id }: { id: string }) => id === node.id);
    expect(back.state).toBe('up');
    expect(back.primaries + back.replicas).toBeGreaterThan(0);
  });
});
