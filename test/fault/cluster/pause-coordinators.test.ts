import { eventually } from '../../support/eventually';
import { underLoad } from './under-load';

test('a controller that is frozen past its session does not go on controlling when it wakes up', async () => {
  await underLoad('pause-coordinators', { coordinators: 3, threads: 2 }, async ({ cluster, writes }) => {
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
    await writes(50);
    // It serves what was made without it, and what is made through it is placed by the one that controls.
    const put = () => cluster.call('POST', '/v1/collections/meanwhile/upsert', { external_id: 'a', vector: [1, 2] }, frozen);
    await eventually('it has heard of the collection', async () => (await put()).status === 'success');
    await cluster.makeCollection('after', frozen);
    expect(await controllerBy(witness)).toBe(next);
  });
});
