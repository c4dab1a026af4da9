import { underLoad } from './under-load';

/** Only a coordinator that stops may cut a connection. */
const mayFail = (message: string): boolean => message.startsWith('broken connection');

test('a rolling restart of every process under load loses nothing and fails no request of the nodes', async () => {
  await underLoad('restart-everything', { replicas: 2, mayFail }, async ({ cluster, writes }) => {
    for (const node of cluster.nodes) {
      // As an operator does: a follower that was late for a second can't take over.
      await cluster.settled();
      expect(await node.stop()).toBe(0);
      await node.start();
      await writes(50);
    }
    await cluster.settled();
    for (const coordinator of cluster.coordinators) {
      expect(await coordinator.stop()).toBe(0);
      await coordinator.start();
      await writes(50);
    }
  });
});
