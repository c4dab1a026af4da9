import { ApiClient } from '../../support/targets/api-client';
import { API_KEY } from '../../support/processes/cluster-processes';
import { eventually } from '../../support/eventually';
import { sharedCluster } from './shared-cluster';
import { COLLECTION, isRetriable, underLoad } from './under-load';

/** What happens while HTTP threads serve the API of the coordinators. */

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
    await eventually('another controls', async () => {
      const after = await cluster.view(witness);
      return after.controller !== null && after.controller !== controller;
    });
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
    await eventually('another controls', async () => ![controller, null].includes(await controllerBy(witness)));
    const next = await controllerBy(witness);
    await cluster.makeCollection('meanwhile', witness);
    cluster.coordinators[frozen].resume();
    await eventually('the one that slept follows', async () => (await controllerBy(frozen).catch(() => null)) === next);
    await writes(25);
    // It serves what was made without it, and what is made through it is placed by the one that controls.
    const put = () =>
      cluster.call('POST', '/v1/collections/meanwhile/upsert', { external_id: 'a', vector: [1, 2] }, frozen);
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

test('kill -9 of a coordinator and of a primary: writes whose answers were lost, repeated under their keys, are done once', async () => {
  await on.runs(async (cluster) => {
    const name = 'once';
    await cluster.data('POST', '/v1/collections', { name, dim: 2, shards: 2, replicas: 2 });
    const send = async (coordinator: number, round: number, i: number): Promise<string | null> => {
      const client = new ApiClient({ baseUrl: cluster.baseUrl(coordinator), adminKey: API_KEY });
      const items = Array.from({ length: 4 }, (_, n) => ({ external_id: `${round}-${i}-${n}`, vector: [n, 1] }));
      const answer = await client
        .post(
          `/v1/collections/${name}/bulk_upsert`,
          { items, include_timing: false },
          { headers: { 'idempotency-key': `${round}-${i}` }, signal: AbortSignal.timeout(60_000) },
        )
        .catch(() => null);
      return answer === null || answer.json?.error?.code === 500 ? null : answer.text;
    };
    for (let round = 0; round < 2; round += 1) {
      const coordinator = cluster.coordinators[round];
      let answered = 0;
      const first = Array.from({ length: 24 }, (_, i) => send(round, round, i).finally(() => (answered += 1)));
      await eventually('some are answered', async () => answered > 2);
      const primary = round === 0 ? null : await cluster.primaryOf(name, 0);
      await Promise.all([coordinator.kill(), primary?.kill()]);
      const before = await Promise.all(first);
      const after: string[] = [];
      for (const [i, known] of before.entries()) {
        await eventually(`request ${i} is answered`, async () => (after[i] = (await send(2, round, i)) ?? '') !== '');
        if (known !== null) expect(after[i]).toBe(known);
      }
      const versions = new Map<string, number>();
      for (const text of after) {
        for (const { external_id, status, version } of JSON.parse(text).data.results) {
          // One that was done twice would have been an update, or have another version by now.
          expect({ external_id, status }).toEqual({ external_id, status: 'inserted' });
          versions.set(external_id, version);
        }
      }
      const { vectors } = await cluster.data<{ vectors: { external_id: string; version: number }[] }>(
        'POST',
        `/v1/collections/${name}/vectors/fetch`,
        { ids: [...versions.keys()] },
        2,
      );
      expect(new Map(vectors.map(({ external_id, version }) => [external_id, version]))).toEqual(versions);
      await Promise.all([coordinator.start(), primary?.start()]);
      await cluster.settled();
    }
  });
});
