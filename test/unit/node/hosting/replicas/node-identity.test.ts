import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mustBelongTo, readClusterId, readStoreId } from '../../../../../node/hosting/replicas/node-identity';
import { ShardStores } from '../../../../../node/hosting/replicas/shard-stores';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { clusterIdOf } from '../../../../../node/hosting/replicas/cluster-identity';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-identity-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A node starts on a cluster store; answers the cluster that it takes part in. */
async function start(store: KeyValueClusterStore): Promise<string> {
  const cluster = await clusterIdOf(store, await readClusterId(folder));
  await mustBelongTo(folder, cluster);
  return cluster;
}

function newStore(): Promise<KeyValueClusterStore> {
  return KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
}

test('a data folder keeps its store id and is no other node’s', async () => {
  const store = await readStoreId(folder, 'a');
  expect(await readStoreId(folder, 'a')).toBe(store);
  await expect(readStoreId(folder, 'b')).rejects.toMatchObject({ kind: 'storage_failed' });
});

test('a folder with shards that does not say whose it is is refused, with what it said where that is known', async () => {
  const store = await readStoreId(folder, 'a');
  const id = { collectionUid: 'c', shard: 0 };
  const stores = await ShardStores.load(folder, store);
  await stores.opened(id);
  mkdirSync(stores.pathOf(id), { recursive: true });
  rmSync(join(folder, 'store.json'));
  await expect(readStoreId(folder, 'a')).rejects.toMatchObject({
    kind: 'storage_failed',
    message: expect.stringContaining(`Put the file back, with {"node":"a","store":"${store}"}`),
  });
  rmSync(join(folder, 'stores'), { recursive: true });
  await expect(readStoreId(folder, 'a')).rejects.toMatchObject({
    kind: 'storage_failed',
    message: expect.stringContaining('Put the file back, or start with an empty folder'),
  });
  rmSync(join(folder, 'shards'), { recursive: true });
  expect(await readStoreId(folder, 'a')).not.toBe(store);
});

test('a node with shards takes part in no other cluster than theirs', async () => {
  const [own, other] = [await newStore(), await newStore()];
  const cluster = await start(own);
  expect(await start(own)).toBe(cluster);
  await clusterIdOf(other, null);
  mkdirSync(join(folder, 'shards', 'c'), { recursive: true });
  await expect(start(other)).rejects.toMatchObject({
    kind: 'storage_failed',
    message: expect.stringContaining(`belong to cluster ${cluster}`),
  });
  expect(await start(own)).toBe(cluster);
});

test('one without shards joins any, and data of before there were ids stay where they are', async () => {
  const [first, second] = [await newStore(), await newStore()];
  await start(first);
  await clusterIdOf(second, null);
  expect(await start(second)).toBe(await clusterIdOf(second, null));
  rmSync(join(folder, 'cluster.json'));
  mkdirSync(join(folder, 'shards', 'c'), { recursive: true });
  expect(await start(first)).toBe(await clusterIdOf(first, null));
});

test('a store that says nothing, because it was put back or emptied, is the cluster of the data', async () => {
  const cluster = await start(await newStore());
  mkdirSync(join(folder, 'shards', 'c'), { recursive: true });
  expect(await start(await newStore())).toBe(cluster);
});

test('a damaged file is not taken for another cluster, and the way out is told', async () => {
  writeFileSync(join(folder, 'cluster.json'), '{');
  await expect(readClusterId(folder)).rejects.toMatchObject({
    kind: 'storage_failed',
    message: expect.stringContaining('or remove it'),
  });
});

test('a bit that turned names no other store or cluster: it is told, or changes nothing', async () => {
  const store = await readStoreId(folder, 'a');
  const cluster = await start(await newStore());
  for (const [name, reading, right] of [
    ['store.json', () => readStoreId(folder, 'a'), store],
    ['cluster.json', () => readClusterId(folder), cluster],
  ] as const) {
    const file = join(folder, name);
    const sound = readFileSync(file);
    for (let at = 0; at < sound.length; at++) {
      const turned = Buffer.from(sound);
      turned[at] ^= 4;
      writeFileSync(file, turned);
      const seen = await reading().catch((error: Error) => error.message);
      if (seen !== right) expect(seen).toMatch(/is damaged: put the file back/);
    }
    writeFileSync(file, sound);
    expect(await reading()).toBe(right);
  }
});

test('what a version wrote that had no checksum is read', async () => {
  writeFileSync(join(folder, 'store.json'), '{"node":"a","store":"s"}\n');
  writeFileSync(join(folder, 'cluster.json'), '{"cluster":"c"}\n');
  expect([await readStoreId(folder, 'a'), await readClusterId(folder)]).toEqual(['s', 'c']);
});
