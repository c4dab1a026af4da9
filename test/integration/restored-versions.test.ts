import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BACKUPS_PREFIX,
  type BackedUpShard,
  type BackupManifest,
  sealedText,
} from '../../shared/backup-store/backup-format';
import type { ItemOperation, ShardSpec } from '../../shared/contract/shard/shard-client';
import type { StoredItem } from '../../shared/contract/shard/shard-read';
import { shardOf } from '../../shared/contract/shard/shard-of';
import { Pace } from '../../shared/base/time/pace';
import { eventually } from '../support/eventually';
import { MemoryTarget } from '../support/targets/memory-target';
import { NO_HURRY, openRocksStore, plainFactories, ShardNode } from '../support/shards/shard-node';

/** Shards that count versions are put into a backup, and come back as they were. */

const target = new MemoryTarget();
const { objects } = target;
const settings = { dim: 2, metric: 'l2' } as const;
const SHARDS = 2;
let node: ShardNode;
let backups = 0;

beforeAll(async () => {
  node = await new ShardNode({
    factories: plainFactories,
    openStore: openRocksStore,
    backups: { open: () => target, pace: new Pace(Infinity) },
  }).start();
});
afterAll(() => node.destroy());
beforeEach(() => objects.clear());

const put = (externalId: string, stamp: number, value = stamp): ItemOperation => ({
  type: 'upsert',
  externalId,
  stamp,
  vector: Float32Array.of(value, 1),
  metadata: `{"n":${value}}`,
  text: undefined,
});
const gone = (externalId: string): ItemOperation => ({ type: 'delete', externalId });
const upTo = (count: number): string[] => Array.from({ length: count }, (_, n) => `id-${n}`);

async function write(collectionUid: string, shards: number, operation: ItemOperation): Promise<number> {
  const result = await node.client.write(
    { collectionUid, shard: shardOf(operation.externalId, shards) },
    [operation],
    NO_HURRY,
  );
  return result.firstVersion;
}

async function open(collectionUid: string, shards: number, seed?: ShardSpec['seed']): Promise<void> {
  for (let shard = 0; shard < shards; shard += 1)
    await node.client.make({ collectionUid, shard, ...settings, ...(seed && { seed }) });
}

const TIME = '2026-01-01T00:00:00.000Z';

async function backUp(collectionUid: string, base: BackupManifest | null = null): Promise<BackupManifest> {
  const id = `20260101T00000${backups++}Z-00000000`;
  const shards: BackedUpShard[] = [];
  for (let shard = 0; shard < SHARDS; shard += 1) {
    const order = { backup: id, target: target.name, base: base?.collections[0].shards[shard].manifest ?? null };
    await eventually('the shard is written', async () => {
      const state = await node.client.read({ collectionUid, shard }, 'backup', order, NO_HURRY);
      expect(state.error).toBeNull();
      if (state.manifest !== null)
        shards.push({ manifest: state.manifest, items: state.items, totalBytes: state.totalBytes, needs: state.needs });
      return state.manifest !== null;
    });
  }
  const manifest: BackupManifest = {
    id,
    startedAt: TIME,
    finishedAt: TIME,
    version: '',
    scheduled: false,
    collections: [{ name: 'c', record: '', uid: collectionUid, shards }],
    keys: [],
    copiedBytes: 0,
    totalBytes: 0,
  };
  objects.set(`${BACKUPS_PREFIX}${id}.json`, sealedText(manifest));
  return manifest;
}

async function restore(as: string, shards: number, { id, collections }: BackupManifest): Promise<void> {
  await open(as, shards, { target: target.name, backup: id, collectionUid: collections[0].uid, shards });
}

/** What the shards hold, in the order of insertion. */
async function contentOf(collectionUid: string, shards: number): Promise<StoredItem[]> {
  const items: StoredItem[] = [];
  for (let shard = 0; shard < shards; shard += 1) {
    items.push(
      ...(await node.client.read(
        { collectionUid, shard },
        'scan',
        { after: null, limit: 1000, filter: null, vectors: true, versions: true },
        NO_HURRY,
      )),
    );
  }
  return items.sort((a, b) => a.stamp - b.stamp || (a.externalId < b.externalId ? -1 : 1));
}

test.each([1, 2, 3, 4])(
  'into %d shards: items come with their versions, and no version is given again for an id',
  async (shards) => {
    const from = `from-${shards}`;
    const to = `to-${shards}`;
    await open(from, SHARDS);
    for (const [n, id] of upTo(40).entries()) await write(from, SHARDS, put(id, 100 + n));
    // A coordinator with a clock ahead gave the last versions, and some of these items are gone.
    const given = new Map<string, number>();
    for (const id of upTo(12)) given.set(id, await write(from, SHARDS, put(id, 1_000_000)));
    // How far a shard counted follows from one other item then, wherever that is put.
    for (let shard = 0; shard < SHARDS; shard += 1) {
      const lost = upTo(12).filter((id) => shardOf(id, SHARDS) === shard);
      const last = upTo(40).findLast((id) => shardOf(id, SHARDS) === shard)!;
      await node.client.write({ collectionUid: from, shard }, [...lost.map(gone), put(last, 2_000_000, 7)], NO_HURRY);
    }
    const backup = await backUp(from);
    const before = await contentOf(from, SHARDS);
    expect(before).toHaveLength(28);
    await restore(to, shards, backup);
    expect(await contentOf(to, shards)).toEqual(before);
    for (const { externalId } of before) {
      const [found] = await node.client.read(
        { collectionUid: to, shard: shardOf(externalId, shards) },
        'fetch',
        { externalIds: [externalId], vectors: false, versions: true },
        NO_HURRY,
      );
      expect(found?.externalId).toBe(externalId);
    }
    for (const id of upTo(12)) expect(await write(to, shards, put(id, 2_000))).toBeGreaterThan(given.get(id)!);
  },
);

test('a shard that lost its checkpoint may give numbers of records again: its next backup has what is there', async () => {
  await open('lost', SHARDS);
  for (const [n, id] of upTo(40).entries()) await write('lost', SHARDS, put(id, 100 + n));
  const first = await backUp('lost');
  // The last records of each shard go, and the journal tells nothing of them any more.
  for (const id of upTo(40).slice(20)) await write('lost', SHARDS, gone(id));
  await node.restart();
  await open('lost', SHARDS);
  await node.stop();
  for (let shard = 0; shard < SHARDS; shard += 1)
    writeFileSync(join(node.folder, 'shards', 'lost', String(shard), 'MANIFEST.json'), 'nothing of use');
  await node.start();
  await open('lost', SHARDS);
  for (const [n, id] of upTo(20).entries()) await write('lost', SHARDS, put(`new-${id}`, 200 + n));
  const second = await backUp('lost', first);
  const before = await contentOf('lost', SHARDS);
  await restore('found', SHARDS, second);
  expect(await contentOf('found', SHARDS)).toEqual(before);
});
