import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shardOf } from '../../../shared/contract/shard/shard-of';
import { ClusterProcesses } from '../../support/processes/cluster-processes';
import { eventually } from '../../support/eventually';

/**
 * What is gone of the only replica of a shard when its node starts: calls that need it are told, everything else is
 * served, and once the data are back, so are their answers. Nothing is ever answered as if there were no items.
 */

const SHARDS = 2;
const LOST = 1;
const ids = Array.from({ length: 20 }, (_, i) => `id-${i}`);
const inLost = ids.find((id) => shardOf(id, SHARDS) === LOST)!;
const items = (round: number) => ids.map((id, i) => ({ external_id: id, vector: [i, round], metadata: { round } }));

let cluster: ClusterProcesses;
let folder: string;
let shard: string;
let uid: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-last-'));
  cluster = await ClusterProcesses.start({ nodes: 1, coordinators: 1, replicas: 1 });
  for (const name of ['things', 'others']) {
    await cluster.data('POST', '/v1/collections', { name, dim: 2, shards: SHARDS });
    await cluster.data('POST', `/v1/collections/${name}/bulk_upsert`, { items: items(1) });
  }
  const store = cluster.openStore();
  ({ uid } = JSON.parse((await store.get('/q/collections/things'))!.value));
  await store.close();
  const [node] = cluster.nodes;
  shard = join(node.dataDir, 'node', 'shards', uid, String(LOST));
  await node.stop();
  cpSync(shard, join(folder, 'earlier'), { recursive: true });
  await node.start();
  await cluster.settled();
  await cluster.data('POST', '/v1/collections/things/bulk_upsert', { items: items(2) });
});
afterAll(async () => {
  await cluster.destroy();
  rmSync(folder, { recursive: true, force: true });
});

function emptied(place: string): void {
  rmSync(place, { recursive: true });
  mkdirSync(place);
}

test.each<[string, (how: { data: string; earlier: string }) => void]>([
  ['its folder', ({ data }) => rmSync(data, { recursive: true })],
  ['everything in its folder', ({ data }) => emptied(data)],
  ['everything in its records', ({ data }) => emptied(join(data, 'records'))],
  [
    'CURRENT and the mark of its records',
    ({ data }) => ['CURRENT', 'SYNCED'].forEach((name) => rmSync(join(data, 'records', name))),
  ],
  [
    'its log',
    ({ data }) =>
      readdirSync(join(data, 'records')).forEach(
        (name) => name.endsWith('.log') && rmSync(join(data, 'records', name)),
      ),
  ],
  [
    'its data, with those of another shard in their place',
    ({ data }) => {
      rmSync(data, { recursive: true });
      cpSync(join(data, '../0'), data, { recursive: true });
    },
  ],
  [
    'its last writes: an earlier copy is in its place',
    ({ data, earlier }) => {
      rmSync(data, { recursive: true });
      cpSync(earlier, data, { recursive: true });
    },
  ],
])('without %s', async (_what, lose) => {
  const [node] = cluster.nodes;
  await node.kill();
  const whole = join(folder, 'whole');
  rmSync(whole, { recursive: true, force: true });
  cpSync(shard, whole, { recursive: true });
  lose({ data: shard, earlier: join(folder, 'earlier') });
  node.spawn();
  await eventually(
    'the other collection is served',
    async () =>
      (await cluster.call('POST', '/v1/collections/others/search', { vector: [1, 1], k: 20 })).data?.results?.length ===
      20,
  );
  const told = expect.objectContaining({
    code: 500,
    message: expect.stringMatching(/^shard 1 of 2 of collection "things": .*backup/),
  });
  await eventually(
    'it is told',
    async () =>
      (await cluster.call('GET', `/v1/collections/things/vectors/${inLost}`)).error?.message.startsWith(
        'shard 1 of 2',
      ) === true,
  );
  for (const [method, path, body] of [
    ['GET', `/v1/collections/things/vectors/${inLost}`],
    ['POST', '/v1/collections/things/search', { vector: [1, 1], k: 20 }],
    ['POST', '/v1/collections/things/upsert', items(3).find(({ external_id: id }) => id === inLost)],
  ] as [string, string, unknown?][])
    expect([path, (await cluster.call(method, path, body)).error]).toEqual([path, told]);
  await node.kill();
  // Put back while the node is down.
  rmSync(shard, { recursive: true, force: true });
  cpSync(whole, shard, { recursive: true });
  node.spawn();
  await cluster.settled();
  const { results } = await cluster.data('POST', '/v1/collections/things/search', { vector: [1, 1], k: 20 });
  expect(results.map(({ metadata }: any) => metadata.round)).toEqual(ids.map(() => 2));
  expect(existsSync(`${shard}.retired`)).toBe(false);
});
