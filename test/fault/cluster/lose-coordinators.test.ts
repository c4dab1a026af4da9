import { eventually } from '../../support/eventually';
import { underLoad } from './under-load';

test('kill -9 of a coordinator, then of the controller: clients go on through the other, and another controls', async () => {
  await underLoad('lose-coordinators', { coordinators: 3, threads: 2 }, async ({ cluster, writes }) => {
    const { controller } = await cluster.view();
    const bystander = cluster.coordinators.find(({ id }) => id !== controller);
    await bystander?.kill();
    await writes(50);
    await bystander?.start();
    const leader = cluster.coordinators.find(({ id }) => id === controller);
    await leader?.kill();
    const witness = cluster.coordinators.findIndex(({ isRunning }) => isRunning);
    await eventually(
      'another controls',
      async () => {
        const after = await cluster.view(witness);
        return after.controller !== null && after.controller !== controller;
      },
      60_000,
    );
    // It controls: a new collection gets its shards.
    await cluster.makeCollection('after', witness);
    await leader?.start();
  });
});
