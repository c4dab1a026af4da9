import { eventually } from '../../support/eventually';
import { underLoad } from './under-load';

test('a node that joins takes its share, and one that drains gives all away, without a failed request', async () => {
  await underLoad(
    'move-shards',
    { nodes: 2, replicas: 1, shards: 4, mayFail: () => false },
    async ({ cluster, writes }) => {
      const added = await cluster.addNode();
      await added.start();
      // A node that is ready may take a moment to reach the coordinator's list: it is undefined until then.
      const viewOf = async (id: string) => (await cluster.view()).nodes.find((node) => node.id === id);
      await eventually('the new node holds a shard', async () => ((await viewOf(added.id))?.primaries ?? 0) > 0);
      await cluster.settled();
      const [first] = cluster.nodes;
      await cluster.data('POST', `/v1/cluster/nodes/${first.id}/drain`);
      const [{ id }] = (await cluster.data('GET', '/v1/jobs?kind=drain')).jobs;
      await eventually('the node is drained', async () => (await viewOf(first.id))?.state === 'drained');
      const job = () => cluster.data('GET', `/v1/jobs/${id}`);
      await eventually('so says its job', async () => (await job()).state === 'done');
      expect(await job()).toMatchObject({ subject: first.id, progress: 1, ended_at: expect.any(String) });
      expect(await first.stop()).toBe(0);
      await writes(25);
    },
  );
});
