import { NodeLinks } from '../../coordinator/cluster/calls/node-links';
import { ANY_REPLICA } from '../../shared/contract/shard/shard-client';
import { systemClock } from '../../shared/base/time/clock';
import { ClusterProcesses, SECRET } from '../support/processes/cluster-processes';
import { eventually } from '../support/eventually';
import { filesWith } from '../support/shards/files-below';
import { runSeed, seededRandom } from '../support/values/random';
import { replicaDigests } from '../support/shards/replica-digests';

/** Items that expire, and a purge, in a cluster of real processes: one story, because a cluster is dear. */

const DIM = 8;
const GOING = 1200;
const STAYING = 40;
const READ_MS = 20_000;

let cluster: ClusterProcesses;
const random = seededRandom(runSeed('expiring items in a cluster'));
/** Nothing that a compression shortens. */
const word = (): string =>
  Array.from({ length: 24 }, () => 'abcdefghijklmnopqrstuvwxyz'[Math.floor(random() * 26)]).join('');
const words = Array.from({ length: GOING }, word);
const item = (id: string, more: Record<string, unknown>) => ({
  external_id: id,
  vector: Array.from({ length: DIM }, () => random() - 0.5),
  ...more,
});

beforeAll(async () => {
  cluster = await ClusterProcesses.start({ nodes: 3, coordinators: 1, shards: 1, replicas: 3 });
});

afterAll(async () => cluster?.destroy());

test('expired items are gone for every read at once, and from every replica later', async () => {
  await cluster.data('POST', '/v1/collections', { name: 'c', dim: DIM, ttl_seconds: 3600 });
  await cluster.data('POST', '/v1/collections', { name: 'short', dim: DIM, ttl_seconds: 1 });
  const far = new Date(Date.now() + 3_600_000).toISOString();
  const going = words.map((text, i) => item(`go-${i}`, { text, metadata: { group: 'go' }, expires_at: far }));
  const staying = Array.from({ length: STAYING }, (_, i) =>
    item(`stay-${i}`, { text: word(), metadata: { group: 'stay' } }),
  );
  for (const items of [going.slice(0, 600), going.slice(600), staying])
    await cluster.data('POST', '/v1/collections/c/bulk_upsert', { items });
  await cluster.data('POST', '/v1/collections/short/upsert', item('s', {}));
  const shortUntilMs = Date.now() + 1000;
  await cluster.settled();
  await cluster.inSync();
  expect((await cluster.data('GET', '/v1/collections/c')).vector_count).toBe(GOING + STAYING);
  for (const ids of await idsByReplica()) expect(ids).toHaveLength(GOING + STAYING);
  for (const { dataDir } of cluster.nodes) expect(filesWithWords(dataDir)).not.toEqual([]);

  const untilMs = Date.now() + 1000;
  await cluster.data('POST', '/v1/collections/c/update_by_filter', {
    filters: { group: 'go' },
    expires_at: new Date(untilMs).toISOString(),
  });
  await eventually('their time has come', () => Date.now() > Math.max(untilMs, shortUntilMs));
  const ids = staying.map(({ external_id }) => external_id);
  for (const found of await idsByReplica()) expect(found).toEqual(ids);
  expect((await cluster.data('GET', '/v1/collections/c')).vector_count).toBe(STAYING);
  expect((await cluster.data('GET', '/v1/collections/short')).vector_count).toBe(0);
  const { results } = await cluster.data<{ results: { external_id: string }[] }>('POST', '/v1/collections/c/search', {
    vector: going[1].vector,
    k: 100,
    exact: true,
  });
  expect(results.map(({ external_id }) => external_id).sort()).toEqual([...ids].sort());
  expect((await cluster.call('GET', '/v1/collections/c/vectors/go-1')).error?.code).toBe(404);

  const primary = await cluster.primaryOf('c');
  await primary.kill();
  await eventually('another leads', async () => ((await cluster.shardOf('c')).primary ?? primary.id) !== primary.id);
  const again = () =>
    cluster.call('POST', '/v1/collections/c/upsert', item('go-0', { text: word(), only_if: 'absent' }));
  expect((await again()).status).toBe('success');
  expect((await again()).error?.code).toBe(409);
  expect((await cluster.data('GET', '/v1/collections/c')).vector_count).toBe(STAYING + 1);
  await primary.start();
  await cluster.settled();
  await cluster.inSync();
  await eventually('their records are gone from every replica', async () =>
    (await stored()).every((items) => items === STAYING + 1),
  );
  expect(await cluster.differences()).toEqual([]);
  for (const found of await idsByReplica()) expect(found).toEqual([...ids, 'go-0']);
});

test('after a purge no node has a file with them, also where one was killed meanwhile', async () => {
  for (const { dataDir } of cluster.nodes) expect(filesWithWords(dataDir)).not.toEqual([]);
  const primary = await cluster.primaryOf('c');
  const killed = cluster.nodes.find((node) => node !== primary)!;
  expect((await cluster.data('POST', '/v1/collections/c/purge')).state).toBe('running');
  await killed.kill();
  await killed.start();
  await cluster.settled();
  await cluster.inSync();
  await eventually('every replica is purged', async () => {
    const { state, shards } = await cluster.data<{
      state: string;
      shards: { replicas: { node: string; state: string }[] }[];
    }>('GET', '/v1/collections/c/purge');
    // Nobody asks again: the job has the node that was killed begin again.
    expect(['running', 'done']).toContain(state);
    if (state !== 'done') return false;
    expect(shards[0].replicas.map(({ node }) => node).sort()).toEqual(cluster.nodes.map(({ id }) => id).sort());
    return true;
  });
  for (const { dataDir } of cluster.nodes) expect(filesWithWords(dataDir)).toEqual([]);
  expect(await cluster.differences()).toEqual([]);
  expect((await cluster.data('GET', '/v1/collections/c')).vector_count).toBe(STAYING + 1);
});

/** What each replica of the collection's shard answers, whoever leads it. */
async function idsByReplica(): Promise<string[][]> {
  const links = new NodeLinks({ credentials: { secret: SECRET, tls: null }, clock: systemClock });
  try {
    const collectionUid = await cluster.uidOf('c');
    return await Promise.all(
      cluster.nodes.map(async ({ id, port }) => {
        const request = { after: null, limit: 10_000, filter: null, vectors: false };
        let found: string[] = [];
        const ask = async (): Promise<boolean> => {
          const to = {
            id: { collectionUid, shard: 0 },
            epoch: ANY_REPLICA,
            deadlineMs: systemClock.monotonicMs() + READ_MS,
          };
          try {
            found = (await links.to(`127.0.0.1:${port}`).read(to, 'scan', request).answer).map(
              ({ externalId }) => externalId,
            );
            return true;
          } catch {
            // A follower answers once its primary has given it a share.
            return false;
          }
        };
        await eventually(`${id} answers`, ask);
        return found;
      }),
    );
  } finally {
    links.close();
  }
}

/** Records of the collection at each replica, expired ones among them. */
async function stored(): Promise<number[]> {
  const held = await replicaDigests(
    cluster.nodes.map(({ id, port }) => ({ id, address: `127.0.0.1:${port}` })),
    SECRET,
  );
  const uid = await cluster.uidOf('c');
  const items = held.filter(({ shard }) => shard.startsWith(uid)).map(({ digest }) => digest.items);
  expect(items).toHaveLength(cluster.nodes.length);
  return items;
}

/** The files below the folder that have some of the expired items. */
function filesWithWords(folder: string): string[] {
  return filesWith(
    folder,
    [words[1], words[GOING / 2], words[GOING - 1]].map((text) => Buffer.from(text)),
  );
}
