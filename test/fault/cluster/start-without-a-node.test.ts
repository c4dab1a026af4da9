import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KNOWN_NODES_PREFIX } from '../../../shared/cluster-store/entries/members';
import { ApiClient } from '../../support/targets/api-client';
import { API_KEY, type ClusterProcesses } from '../../support/processes/cluster-processes';
import { eventually } from '../../support/eventually';
import { sharedCluster } from './shared-cluster';

/** Coordinators that start while a node is dead do all that those do which knew it. */

const target = mkdtempSync(join(tmpdir(), 'quiver-backups-'));
afterAll(() => rmSync(target, { recursive: true, force: true }));
const on = sharedCluster({ coordinators: 2, environment: { BACKUP_TARGET: `file:${target}` } });
/** As many ids as meet every shard. */
const IDS = Array.from({ length: 12 }, (_, i) => `id-${i}`);

test('all coordinators start while a node is dead that they saw go, and then the controller alone', async () => {
  await on.runs(async (cluster) => {
    await begin(cluster, 'seen');
    const dead = await cluster.primaryOf('seen');
    await cluster.killSpared(dead);
    await Promise.all(cluster.coordinators.map((coordinator) => coordinator.kill()));
    for (const coordinator of cluster.coordinators) await coordinator.start();
    for (const i of cluster.coordinators.keys()) await doesAll(cluster, 'seen', i);
    await eventually('there is a controller', async () => (await cluster.view()).controller !== null);
    const { controller } = await cluster.view();
    const leader = cluster.coordinators.findIndex(({ id }) => id === controller);
    await cluster.coordinators[leader].kill();
    await cluster.coordinators[leader].start();
    for (const i of cluster.coordinators.keys()) await doesAll(cluster, 'seen', i);
    // Its new shards find no place on the dead node; it is given up with the collection.
    await cluster.data('POST', '/v1/collections/seen/reshard', { shards: 5 }, leader);
    await dead.start();
  });
});

test('the same where the node died while no coordinator ran', async () => {
  await on.runs(async (cluster) => {
    await begin(cluster, 'unseen');
    const dead = await cluster.primaryOf('unseen');
    const isKilled = async (): Promise<boolean> => {
      await Promise.all(cluster.coordinators.map((coordinator) => coordinator.kill()));
      await dead.kill();
      const isSpared = await cluster.staysSpared(dead);
      if (!isSpared) await dead.start();
      for (const coordinator of cluster.coordinators) await coordinator.start();
      if (!isSpared) await cluster.settled();
      return isSpared;
    };
    await eventually('it died while others were in sync with it', isKilled, 240_000);
    for (const i of cluster.coordinators.keys()) await doesAll(cluster, 'unseen', i);
    const down = async (): Promise<string[]> =>
      (await cluster.view()).nodes.filter(({ state }) => state === 'down').map(({ id }) => id);
    await eventually('it is shown as down', async () => (await down()).join() === dead.id);
    await dead.start();
  });
});

/** A collection with something in each shard, and nodes of whom it is noted what they are able to. */
async function begin(cluster: ClusterProcesses, name: string): Promise<void> {
  await cluster.data('POST', '/v1/collections', { name, dim: 2, shards: 3, replicas: 2 });
  await cluster.data('POST', `/v1/collections/${name}/bulk_upsert`, {
    items: IDS.map((external_id, i) => ({ external_id, vector: [i, 1] })),
  });
  await cluster.settled();
  const store = cluster.openStore();
  try {
    await eventually(
      'every node is noted',
      async () => (await store.list(KNOWN_NODES_PREFIX)).entries.length === cluster.nodes.length,
    );
  } finally {
    await store.close();
  }
}

/** What waits until every member is known to be able to it, through one coordinator. */
async function doesAll(cluster: ClusterProcesses, name: string, coordinator: number): Promise<void> {
  const led = async (): Promise<boolean> =>
    (await cluster.view(coordinator)).shards.every(({ state }) => state !== 'unavailable');
  await eventually('every shard is led by who is there', () => led().catch(() => false));
  const client = new ApiClient({ baseUrl: cluster.baseUrl(coordinator), adminKey: API_KEY });
  const path = `/v1/collections/${name}`;
  const errors: string[] = [];
  const sent = async (
    what: string,
    method: string,
    at: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<any> => {
    const { json } = await client.call({ method, path: at, body, headers, signal: AbortSignal.timeout(60_000) });
    if (json?.status !== 'success') errors.push(`${what}: ${json?.error?.message}`);
    return json?.data;
  };
  const key = `${coordinator}-${performance.now()}`;
  await sent(
    'under a key',
    'POST',
    `${path}/upsert`,
    { external_id: IDS[0], vector: [1, 2] },
    { 'idempotency-key': key },
  );
  for (const external_id of IDS) {
    const { version } = await sent('read', 'GET', `${path}/vectors/${external_id}`);
    const { version: next } = await sent('conditional', 'POST', `${path}/upsert`, {
      external_id,
      vector: [3, 4],
      if_version: version,
    });
    await sent('patched', 'PATCH', `${path}/vectors/${external_id}`, { metadata: { a: 1 }, if_version: next });
    await sent('expires', 'POST', `${path}/upsert`, {
      external_id,
      vector: [5, 6],
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
  }
  const onDisk = `disk-${coordinator}-${Math.floor(performance.now())}`;
  await sent('on the disk', 'POST', '/v1/collections', { name: onDisk, dim: 2, vectors: 'disk', metadata: 'disk' });
  const backup = await sent('backup', 'POST', '/v1/admin/backups', {});
  expect(errors).toEqual([]);
  const stateOf = async (): Promise<string> =>
    (await client.call({ method: 'GET', path: `/v1/admin/backups/${backup.id}` })).json?.data?.state;
  await eventually('the backup is done', async () => (await stateOf()) === 'done');
  await cluster.data('DELETE', `/v1/collections/${onDisk}`, undefined, coordinator);
}
