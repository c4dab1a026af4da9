import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { COLLECTIONS_PREFIX } from '../../../coordinator/service/collections/collection-record';
import { assignmentPath } from '../../../shared/cluster-store/entries/shard-assignment';
import { tombstonePath } from '../../../shared/cluster-store/entries/tombstones';
import { eventually } from '../../support/eventually';
import { sharedCluster } from './shared-cluster';

/**
 * Nodes hold the only replicas of some shards: while one is dead, all that it does not hold goes on, and the rest is
 * named.
 */

const on = sharedCluster({
  nodes: 2,
  coordinators: 2,
  replicas: 1,
  shards: 1,
  environment: { REQUEST_TIMEOUT_MS: '20000' },
});
/** More on each node than are looked at at once. */
const COLLECTIONS = 36;

test('lists, health and metrics name what is away and count all else, and collections are made and deleted meanwhile', async () => {
  await on.runs(async (cluster) => {
    const names = Array.from({ length: COLLECTIONS }, (_, i) => `c-${String(i).padStart(2, '0')}`);
    for (const name of names) {
      await cluster.data('POST', '/v1/collections', { name, dim: 2 });
      await cluster.data('POST', `/v1/collections/${name}/upsert`, { external_id: 'a', vector: [1, 2] });
    }
    await cluster.settled();
    const [kept, dead] = cluster.nodes;
    const { shards } = await cluster.view();
    const away = shards.filter(({ primary }) => primary === dead.id).map(({ collection }) => collection);
    expect(away.length).toBeGreaterThan(16);
    await dead.kill();
    await eventually('it is seen', async () =>
      (await cluster.view()).nodes.some(({ id, state }) => id === dead.id && state === 'down'),
    );

    const expected = names.map((name) => [name, away.includes(name) ? -1 : 1, away.includes(name) ? 1 : 0]);
    const shown = ({ name, vector_count: count, unavailable_shards: missing }: any): unknown[] => [
      name,
      count,
      missing.length,
    ];
    for (const i of cluster.coordinators.keys()) {
      const { collections } = await cluster.data('GET', '/v1/collections', undefined, i);
      expect(collections.map(shown)).toEqual(expected);
      const health = await cluster.data('GET', '/v1/health', undefined, i);
      expect(health).toMatchObject({
        status: 'degraded',
        total_collections: COLLECTIONS,
        total_vectors: COLLECTIONS - away.length,
      });
      expect(health.unavailable.map(({ collection }: { collection: string }) => collection)).toEqual([...away].sort());
      const metrics = await (await fetch(`${cluster.baseUrl(i)}/metrics`)).text();
      const up = [...metrics.matchAll(/^quiver_shard_up\{collection="([^"]+)",shard="0"\} (\d)$/gm)].map(
        ([, name, value]) => [name, Number(value)],
      );
      expect(up).toEqual(names.map((name) => [name, away.includes(name) ? 0 : 1]));
    }
    expect(await cluster.data('GET', `/v1/collections/${away[0]}`)).toMatchObject({
      vector_count: -1,
      unavailable_shards: [{ shard: 0 }],
    });

    await cluster.data('POST', '/v1/collections', { name: 'new', dim: 2 });
    await cluster.data('POST', '/v1/collections/new/upsert', { external_id: 'a', vector: [1, 2] });
    const here = names.find((name) => !away.includes(name))!;
    await cluster.data('POST', `/v1/collections/${here}/reshard`, { shards: 2 });
    await eventually(
      'it has two shards',
      async () => (await cluster.data('GET', `/v1/collections/${here}`)).shards === 2,
    );
    for (const name of [away[0], here, 'new']) await cluster.data('DELETE', `/v1/collections/${name}`);
    expect((await cluster.data('GET', '/v1/collections')).collections).toHaveLength(COLLECTIONS - 2);

    await dead.start();
    await cluster.settled();
    expect(kept.isRunning).toBe(true);
    expect(await cluster.data('GET', '/v1/health')).toMatchObject({
      status: 'ok',
      total_vectors: COLLECTIONS - 2,
      unavailable: [],
    });
  });
});

test('a collection that came back with an earlier etcd, and has no data any more, is listed and can be deleted', async () => {
  await on.runs(async (cluster) => {
    await cluster.data('POST', '/v1/collections', { name: 'gone', dim: 2 });
    await cluster.data('POST', '/v1/collections', { name: 'there', dim: 2 });
    await cluster.settled();
    const store = cluster.openStore();
    try {
      const entry = (await store.get(COLLECTIONS_PREFIX + 'gone'))!;
      const { uid } = JSON.parse(entry.value) as { uid: string };
      // Once it has served: nobody may make it again then.
      await cluster.data('POST', '/v1/collections/gone/upsert', { external_id: 'a', vector: [1, 2] });
      const assignment = (await store.get(assignmentPath({ collectionUid: uid, shard: 0 })))!;
      await cluster.data('DELETE', '/v1/collections/gone');
      const hasData = ({ dataDir }: { dataDir: string }): boolean => existsSync(join(dataDir, 'node/shards', uid, '0'));
      await eventually('its data are gone', () => !cluster.nodes.some(hasData));
      const before = [entry, assignment].map(({ key, value }) => ({ type: 'put' as const, key, value }));
      await store.transact([], [...before, { type: 'delete', key: tombstonePath(uid) }]);
    } finally {
      await store.close();
    }
    const { collections } = await cluster.data('GET', '/v1/collections');
    expect(collections).toMatchObject([
      { name: 'gone', vector_count: -1, unavailable_shards: [{ shard: 0 }] },
      { name: 'there', vector_count: 0 },
    ]);
    expect((await cluster.data('GET', '/v1/health')).unavailable).toMatchObject([{ collection: 'gone', shard: 0 }]);
    await cluster.data('DELETE', '/v1/collections/gone');
    expect(await cluster.data('GET', '/v1/health')).toMatchObject({ status: 'ok', total_collections: 1 });
  });
});
