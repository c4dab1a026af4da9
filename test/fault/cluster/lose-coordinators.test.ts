import { eventually } from '../../support/eventually';
import { sharedCluster } from './shared-cluster';
import { COLLECTION, isRetriable, underLoad } from './under-load';

/** What happens while front threads serve the API of the coordinators. */

const on = sharedCluster({ coordinators: 3, threads: 2 });

test('kill -9 of a coordinator, then of the controller: clients go on through the other, and another controls', async () => {
  await underLoad('lose-coordinators', { on }, async ({ cluster, writes }) => {
    const { controller } = await cluster.view();
    const bystander = cluster.coordinators.find(({ id }) => id !== controller);
    await bystander?.kill();
    await writes(25);
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

test('a controller that is frozen past its session does not go on controlling when it wakes up', async () => {
  await underLoad('pause-coordinators', { on }, async ({ cluster, writes }) => {
    const controllerBy = async (witness: number): Promise<string | null> => (await cluster.view(witness)).controller;
    const { controller } = await cluster.view();
    const frozen = cluster.coordinators.findIndex(({ id }) => id === controller);
    const witness = (frozen + 1) % 3;
    cluster.coordinators[frozen].pause();
    await eventually('another controls', async () => ![controller, null].includes(await controllerBy(witness)), 60_000);
    const next = await controllerBy(witness);
    await cluster.makeCollection('meanwhile', witness);
    cluster.coordinators[frozen].resume();
    await eventually('the one that slept follows', async () => (await controllerBy(frozen).catch(() => null)) === next);
    await writes(25);
    // It serves what was made without it, and what is made through it is placed by the one that controls.
    const put = () => cluster.call('POST', '/v1/collections/meanwhile/upsert', { external_id: 'a', vector: [1, 2] }, frozen);
    await eventually('it has heard of the collection', async () => (await put()).status === 'success');
    await cluster.makeCollection('after', frozen);
    expect(await controllerBy(witness)).toBe(next);
  });
});

test('kill -9 of a primary: another replica takes over with everything, and the killed one catches up', async () => {
  await underLoad('kill-a-primary', { on, mayFail: isRetriable }, async ({ cluster, writes }) => {
    for (let times = 0; times < 2; times += 1) {
      const primary = await cluster.primaryOf(COLLECTION, times);
      await cluster.replaced(primary, COLLECTION, times, { begin: () => primary.kill(), end: () => primary.start() });
      await writes(50);
      await primary.start();
      await writes(25);
      // The next primary may share a shard with this one; before this one has caught up, it holds that shard alone.
      await cluster.settled();
    }
  });
});
