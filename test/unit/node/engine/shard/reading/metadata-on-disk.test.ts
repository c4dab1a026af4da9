import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isQuiverError } from '../../../../../../shared/base/errors/quiver-error';
import { ShardViews } from '../../../../../../node/engine/shard/reading/shard-views';
import type { ShardSpec, UpsertOperation } from '../../../../../../shared/contract/shard/shard-client';
import type { VectorSearch } from '../../../../../../shared/contract/shard/shard-read';
import { eventually } from '../../../../../support/eventually';
import { NO_HURRY, nativeFactories, openRocksStore, ShardNode } from '../../../../../support/shards/shard-node';

const SPEC: ShardSpec = { collectionUid: 'c', shard: 0, dim: 2, metric: 'l2', metadata: 'disk' };
const ITEMS = 8_000;
const BATCH = 500;

const itemOf = (i: number): UpsertOperation => ({
  type: 'upsert',
  externalId: `item ${i}`,
  vector: Float32Array.of(i, 0),
  stamp: i + 1,
  metadata: JSON.stringify({ note: `${i}-`.repeat(100) }),
  text: undefined,
});
const searchFor = (i: number): VectorSearch => ({
  vector: Float32Array.of(i, 0),
  k: 1,
  filter: null,
  effort: { type: 'calibrated' },
  texts: false,
});
const hitOf = (i: number) => ({ externalId: `item ${i}`, metadata: itemOf(i).metadata });

let node: ShardNode;
let views: ShardViews;

beforeEach(async () => {
  node = await new ShardNode({ factories: nativeFactories, openStore: openRocksStore }).start();
  views = new ShardViews();
  node.host.follow((message) => views.take(message));
  await node.client.make(SPEC);
  for (let first = 0; first < ITEMS; first += BATCH) {
    await node.client.write(
      SPEC,
      Array.from({ length: BATCH }, (_, i) => itemOf(first + i)),
      NO_HURRY,
    );
  }
});

afterEach(async () => {
  views.close();
  await node.destroy();
});

const folder = (): string => join(node.folder, 'shards', 'c', '0', 'metadata');
const files = (): string[] =>
  readdirSync(folder())
    .map((name) => join(folder(), name))
    .sort();
const found = async (i: number) => (await node.client.read(SPEC, 'search', searchFor(i), NO_HURRY)).hits[0];

test('takes no memory for metadata, here and on other threads, and is made anew at each start', async () => {
  const { memory, status } = await (await node.host.shard(SPEC)).observe();
  const metadataBytes = Array.from({ length: ITEMS }, (_, i) => itemOf(i).metadata!.length).reduce(
    (sum, bytes) => sum + bytes,
    0,
  );
  // The chunk that is being filled, and 60 bytes of each item.
  expect(memory.directory).toBeLessThan((1 << 20) + ITEMS * 60);
  expect(metadataBytes).toBeGreaterThan(2 * memory.directory);
  expect(status.diskBytes).toBeGreaterThan(metadataBytes);
  for (const i of [0, 1, 4_000, ITEMS - 1]) {
    expect(await found(i)).toMatchObject(hitOf(i));
    expect(views.search(SPEC, searchFor(i))?.hits).toMatchObject([hitOf(i)]);
  }
  const before = files();
  await node.restart();
  node.host.follow((message) => views.take(message));
  await node.client.make(SPEC);
  expect(files().filter((path) => before.includes(path))).toEqual([]);
  for (const i of [0, 1, 4_000, ITEMS - 1]) {
    expect(await found(i)).toMatchObject(hitOf(i));
    expect(views.search(SPEC, searchFor(i))?.hits).toMatchObject([hitOf(i)]);
  }
});

test('other threads find nothing in files that are gone, and leave what is asked to the thread of the shard', async () => {
  const late = new ShardViews();
  const messages: unknown[] = [];
  node.host.follow((message) => messages.push(message));
  for (const path of files()) truncateSync(path, 0);
  for (const message of messages) late.take(message);
  // What this thread has read before it has still; these places it has not.
  const answers = Array.from({ length: 20 }, (_, i) => late.search(SPEC, searchFor(200 * i)));
  expect(answers).toContain(null);
  for (const [i, answer] of answers.entries()) if (answer !== null) expect(answer.hits).toMatchObject([hitOf(200 * i)]);
  late.close();
});

test('a start that loads them and then can make no vector index leaves none of their files open', async () => {
  await node.stop();
  const openVectorIndex = () => Promise.reject(new Error('too many open files'));
  const other = await new ShardNode({
    factories: { ...nativeFactories, openVectorIndex },
    openStore: openRocksStore,
    folder: node.folder,
  }).start();
  await expect(other.client.make(SPEC)).rejects.toThrow('too many open files');
  // They are removed as they are closed.
  expect(existsSync(folder())).toBe(false);
  await other.stop();
  await node.start();
  await node.client.make(SPEC);
  expect(await found(0)).toMatchObject(hitOf(0));
});

/** A bit of each frame is another one. */
function turnBits(path: string): void {
  const bytes = readFileSync(path);
  for (let at = 100; at < bytes.length; at += 4096) bytes[at] ^= 4;
  writeFileSync(path, bytes, { flag: 'r+' });
}

test.each([
  ['was cut', (path: string) => truncateSync(path, 0)],
  ['has other bits', turnBits],
])(
  'a file that %s under the shard has it opened again from its records, and nothing is answered wrong',
  async (_, damage) => {
    files().forEach(damage);
    const before = files();
    for (let i = 0; i < ITEMS; i += 97) {
      const hit = await found(i).catch((error: unknown) => {
        if (isQuiverError(error) && (error.kind === 'storage_failed' || error.kind === 'unavailable')) return null;
        throw error;
      });
      if (hit !== null) expect(hit).toMatchObject(hitOf(i));
    }
    await eventually('everything is found again', async () => {
      const hits = await Promise.all(Array.from({ length: 20 }, (_, i) => found(i * 400))).catch(() => []);
      return hits.length === 20 && files().every((path) => !before.includes(path));
    });
    for (let i = 0; i < ITEMS; i += 397) expect(await found(i)).toMatchObject(hitOf(i));
    const later = itemOf(ITEMS);
    expect((await node.client.write(SPEC, [later], NO_HURRY)).outcomes).toEqual(['inserted']);
    expect(await found(ITEMS)).toMatchObject(hitOf(ITEMS));
  },
);
