import { underLoad } from './under-load';

test('a rolling restart of every process under load loses nothing and fails no request of the nodes', async () => {
  const workload = await underLoad('restart-everything', { replicas: 2 }, async ({ cluster, writes }) => {
    for (const node of cluster.nodes) {
      expect(await node.stop()).toBe(0);
      await node.start();
      await cluster.settled();
      await writes(50);
    }
    for (const coordinator of cluster.coordinators) {
      expect(await coordinator.stop()).toBe(0);
      await coordinator.start();
      await writes(50);
    }
  });
  // Only a coordinator that stops may cut a connection.
  expect([...workload.errors.keys()].filter((message) => !message.startsWith('broken connection'))).toEqual([]);
});
