import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  promises,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type * as FileSystem from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BackupRepository } from '../../coordinator/jobs/backup/backup-repository';
import { specText, specTextLike } from '../../node/engine/records/shard-format';
import { shardNoteName, StoreNotes } from '../../node/engine/kv/store-notes';
import type { IndexFactories } from '../../node/engine/shard/shard-indexes';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import type { ShardSpec, UpsertOperation } from '../../shared/contract/shard/shard-client';
import type { ShardStatus } from '../../shared/contract/shard/shard-read';
import { Pace } from '../../shared/base/time/pace';
import { eventually } from '../support/eventually';
import { MemoryTarget } from '../support/targets/memory-target';
import { diskFactories, NO_HURRY, nativeFactories, openRocksStore, ShardNode } from '../support/shards/shard-node';

/**
 * Shards that nobody has written to are a folder with a note; those with few changes are closed without a checkpoint.
 */

let folder: string;
let nodes: ShardNode[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-blank-'));
  nodes = [];
});
afterEach(async () => {
  for (const node of nodes) await node.stop();
  rmSync(folder, { recursive: true, force: true });
});

const specOf = (n: number): ShardSpec => ({ collectionUid: `c${n}`, shard: 0, dim: 2, metric: 'l2' });
const upsert = (externalId: string): UpsertOperation => ({
  type: 'upsert',
  externalId,
  vector: Float32Array.of(1, 2),
  stamp: 5,
  metadata: '{}',
  text: undefined,
});

async function started(
  place = 'node',
  factories: IndexFactories = nativeFactories,
  afterMs = 3_600_000,
): Promise<ShardNode> {
  const node = new ShardNode({
    factories,
    openStore: openRocksStore,
    folder: join(folder, place),
    rests: { afterMs, openMax: 4 },
  });
  nodes.push(await node.start());
  return node;
}

const pathOf = (n: number, place = 'node'): string => join(folder, place, 'shards', `c${n}`, '0');
const countIn = (node: ShardNode, n: number): Promise<number> => node.client.read(specOf(n), 'count', null, NO_HURRY);
const statusIn = (node: ShardNode, n: number): Promise<ShardStatus> =>
  node.client.read(specOf(n), 'status', null, NO_HURRY);

test('a shard is a folder with a note until its first use, also behind a restart, and can be dropped', async () => {
  const node = await started();
  for (const n of [0, 1, 2]) await node.client.make(specOf(n));
  expect(node.host.restingShards).toBe(3);
  expect(readdirSync(pathOf(0))).toEqual(['rest.json']);
  await node.client.make(specOf(0));
  await expect(node.client.make({ ...specOf(0), dim: 3 })).rejects.toMatchObject({ kind: 'storage_failed' });
  await node.restart();
  for (const n of [0, 1, 2]) await node.client.open(specOf(n));
  expect(node.host.restingShards).toBe(3);
  expect((await statusIn(node, 1)).vectorCount).toBe(0);
  expect(await countIn(node, 1)).toBe(0);
  await node.client.write(specOf(2), [upsert('a')], NO_HURRY);
  expect([1, 2].map((n) => existsSync(join(pathOf(n), 'records')))).toEqual([false, true]);
  await node.client.drop(specOf(0));
  expect(existsSync(pathOf(0))).toBe(false);
  await expect(countIn(node, 0)).rejects.toMatchObject({ kind: 'not_found' });
  await node.restart();
  for (const n of [1, 2]) await node.client.open(specOf(n));
  expect([await countIn(node, 1), await countIn(node, 2)]).toEqual([0, 1]);
  expect(node.log.messages('error')).toEqual([]);
});

test.each([
  ['memory', nativeFactories],
  ['disk', diskFactories],
])('it says of itself what one says that is open and empty (vectors: %s)', async (_place, factories) => {
  const node = await started('node', factories);
  await node.client.make(specOf(0));
  const blank = (await node.host.observe())[0].data;
  expect(await countIn(node, 0)).toBe(0);
  const open = (await node.host.observe())[0].data;
  expect(node.host.restingShards).toBe(0);
  // What its records take is not there yet.
  const bare = ({ status, checkpoint, marks }: typeof blank): object => ({
    ...status,
    diskBytes: 0,
    memoryBytes: 0,
    unsaved: checkpoint.unsavedChanges,
    marks: { count: marks.count, bytes: marks.bytes },
  });
  expect(bare(blank)).toEqual(bare(open));
});

test('it is there, too, where shards are not closed any more', async () => {
  const node = await started();
  for (const n of [0, 1]) await node.client.make(specOf(n));
  await node.stop();
  const other = await started('node', nativeFactories, 0);
  for (const n of [0, 1]) await other.client.open(specOf(n));
  expect(other.host.restingShards).toBe(0);
  expect(await countIn(other, 0)).toBe(0);
  await other.client.write(specOf(1), [upsert('a')], NO_HURRY);
  await other.restart();
  for (const n of [0, 1]) await other.client.open(specOf(n));
  expect([await countIn(other, 0), await countIn(other, 1)]).toEqual([0, 1]);
});

test('one whose folder or note is gone is told, and nothing is made in its place', async () => {
  const node = await started();
  for (const n of [0, 1]) await node.client.make(specOf(n));
  await node.stop();
  rmSync(pathOf(0), { recursive: true });
  rmSync(join(pathOf(1), 'rest.json'));
  await node.start();
  for (const n of [0, 1]) {
    await expect(node.client.open(specOf(n))).rejects.toMatchObject({
      kind: 'storage_damaged',
      message: expect.stringContaining('its data are gone'),
    });
    await expect(countIn(node, n)).rejects.toMatchObject({ kind: 'storage_damaged' });
  }
});

test.each(['EIO', 'EACCES'])(
  'one whose note can not be read for a while (%s) is opened as soon as it can',
  async (code) => {
    const node = await started();
    for (const n of [0, 1]) await node.client.make(specOf(n));
    await node.client.write(specOf(1), [upsert('a')], NO_HURRY);
    await node.restart();
    const fs = jest.requireActual<typeof FileSystem>('node:fs');
    const { readFileSync: read } = fs;
    const reading = jest.spyOn(fs, 'readFileSync').mockImplementation(((...call: Parameters<typeof read>) => {
      if (String(call[0]).endsWith('rest.json'))
        throw Object.assign(new Error(`${code}: open`), { code, syscall: 'open' });
      return read(...call);
    }) as typeof read);
    try {
      await expect(node.client.open(specOf(0))).rejects.toMatchObject({
        kind: 'storage_failed',
        message: expect.stringContaining("rest.json can't be read"),
      });
      // What is known to be stored does not need it.
      await node.client.open(specOf(1));
      expect(await countIn(node, 1)).toBe(1);
    } finally {
      reading.mockRestore();
    }
    await eventually('it is opened', () =>
      countIn(node, 0).then(
        (count) => count === 0,
        () => false,
      ),
    );
    await node.client.write(specOf(0), [upsert('a')], NO_HURRY);
    expect(await countIn(node, 0)).toBe(1);
  },
);

test('one whose records were begun and are damaged is told by its first change, and begins anew once the loss is accepted', async () => {
  const node = await started();
  for (const n of [0, 1]) await node.client.make(specOf(n));
  await node.client.write(specOf(1), [upsert('a')], NO_HURRY);
  await node.stop();
  cpSync(join(pathOf(1), 'records'), join(pathOf(0), 'records'), { recursive: true });
  writeFileSync(join(pathOf(0), 'records', 'CURRENT'), 'no name');
  await node.start();
  await node.client.open(specOf(0));
  const told = async (): Promise<string> =>
    node.client.write(specOf(0), [upsert('b')], NO_HURRY).then(
      () => 'written',
      ({ kind, message }: QuiverError) => `${kind}: ${message}`,
    );
  await eventually('it is told', async () => /^storage_damaged: .*quiver repair --accept-loss/.test(await told()));
  await expect(countIn(node, 0)).rejects.toMatchObject({ kind: 'storage_damaged' });
  await node.stop();
  const notes = await StoreNotes.load(join(folder, 'node', 'notes'), node.log);
  await notes.acceptLoss(shardNoteName(specOf(0)));
  await node.start();
  await node.client.open(specOf(0));
  expect(await told()).toBe('written');
  expect(await countIn(node, 0)).toBe(1);
});

test('a crash at any moment of its first use leaves a shard that has what was acknowledged', async () => {
  const node = await started();
  for (const n of [0, 1]) await node.client.make(specOf(n));
  const note = readFileSync(join(pathOf(0), 'rest.json'));
  // The records were begun, and nothing more.
  cpSync(join(folder, 'node'), join(folder, 'begun'), { recursive: true });
  cpSync(join(folder, 'node'), join(folder, 'written'), { recursive: true });
  await node.client.write(specOf(0), [upsert('a')], NO_HURRY);
  cpSync(join(pathOf(0), 'records'), join(pathOf(1, 'begun'), 'records'), {
    recursive: true,
    filter: (path) => !/(?:CURRENT|\.log|SYNCED)$/.test(path),
  });
  const begun = await started('begun');
  await begun.client.open(specOf(1));
  expect(await countIn(begun, 1)).toBe(0);
  await begun.client.write(specOf(1), [upsert('b')], NO_HURRY);
  expect(await countIn(begun, 1)).toBe(1);

  // Killed behind the first write; and with the note as it was before, which is not believed where the store was noted.
  rmSync(join(folder, 'written'), { recursive: true });
  cpSync(join(folder, 'node'), join(folder, 'written'), { recursive: true });
  cpSync(join(folder, 'node'), join(folder, 'noted'), { recursive: true });
  writeFileSync(join(pathOf(0, 'noted'), 'rest.json'), note);
  for (const place of ['written', 'noted']) {
    const other = await started(place);
    await other.client.open(specOf(0));
    expect((await statusIn(other, 0)).vectorCount).toBe(1);
    expect(await countIn(other, 0)).toBe(1);
    expect(existsSync(join(pathOf(0, place), 'rest.json'))).toBe(false);
  }
});

test.each(['its indexes can not be opened at first', 'its records can not be made at first'])(
  'one that a crash left with records begun stays blank, though %s',
  async (what) => {
    let fails = 0;
    const failing = async <Done>(act: () => Promise<Done>): Promise<Done> => {
      if (fails-- > 0) throw new QuiverError('storage_failed', 'the disk is full');
      return act();
    };
    const isIndexes = what.startsWith('its indexes');
    const factories = isIndexes
      ? {
          ...nativeFactories,
          openVectorIndex: (...call: Parameters<typeof nativeFactories.openVectorIndex>) =>
            failing(() => nativeFactories.openVectorIndex(...call)),
        }
      : nativeFactories;
    const openStore: typeof openRocksStore = isIndexes
      ? openRocksStore
      : (...call) => failing(() => openRocksStore(...call));
    const node = new ShardNode({
      factories,
      openStore,
      folder: join(folder, 'node'),
      rests: { afterMs: 3_600_000, openMax: 4 },
    });
    nodes.push(await node.start());
    await node.client.make(specOf(0));
    mkdirSync(join(pathOf(0), 'records'));
    writeFileSync(join(pathOf(0), 'records', 'IDENTITY'), 'begun');
    fails = 1;
    if (isIndexes)
      await expect(countIn(node, 0)).rejects.toMatchObject({
        kind: 'unavailable',
        message: expect.stringContaining('the disk is full'),
      });
    else
      await expect(node.client.write(specOf(0), [upsert('a')], NO_HURRY)).rejects.toMatchObject({
        kind: 'commit_unknown',
      });
    // Closed after a write that failed: what was known of it before still holds.
    await node.host.restUnused(0);
    await eventually('it is read', () =>
      countIn(node, 0).then(
        (count) => count === 0,
        () => false,
      ),
    );
    await node.host.restUnused(0);
    expect(node.host.restingShards).toBe(1);
    await node.restart();
    await node.client.open(specOf(0));
    expect(await countIn(node, 0)).toBe(0);
    await node.client.write(specOf(0), [upsert('a')], NO_HURRY);
    await node.host.restUnused(0);
    await node.restart();
    await node.client.open(specOf(0));
    expect(await countIn(node, 0)).toBe(1);
  },
);

test('a note of a blank one that can not be removed, where the store is noted, keeps it closed in plain words until it can', async () => {
  const node = await started();
  await node.client.make(specOf(0));
  const note = readFileSync(join(pathOf(0), 'rest.json'));
  await node.client.write(specOf(0), [upsert('a')], NO_HURRY);
  await node.stop();
  writeFileSync(join(pathOf(0), 'rest.json'), note);
  const { rm } = promises;
  let fails = 1;
  const remove = jest.spyOn(promises, 'rm').mockImplementation(async (path, options) => {
    if (String(path).endsWith('rest.json') && fails-- > 0)
      throw Object.assign(new Error('EIO: i/o error, unlink'), { code: 'EIO' });
    return rm(path, options);
  });
  try {
    await node.start();
    await expect(node.client.open(specOf(0))).rejects.toMatchObject({
      kind: 'storage_failed',
      message: expect.stringMatching(/rest\.json can't be removed: EIO/),
    });
  } finally {
    remove.mockRestore();
  }
  await eventually('it is opened', () =>
    countIn(node, 0).then(
      (count) => count === 1,
      () => false,
    ),
  );
  expect(existsSync(join(pathOf(0), 'rest.json'))).toBe(false);
});

test('that a note was removed is on stable storage before its records take more, though a kill came before it was synced', async () => {
  const node = await started();
  await node.client.make(specOf(0));
  await node.client.write(specOf(0), [upsert('a')], NO_HURRY);
  await node.stop();
  // As it is then: the note is gone for all that look, and comes back with a loss of power.
  rmSync(join(pathOf(0), 'rest.json'));
  const opened = jest.spyOn(promises, 'open');
  try {
    await node.start();
    await node.client.open(specOf(0));
    expect(opened).toHaveBeenCalledWith(pathOf(0), 'r');
  } finally {
    opened.mockRestore();
  }
  expect(await countIn(node, 0)).toBe(1);
});

test('uses that come at once make one store, and find it', async () => {
  const node = await started();
  const made = Promise.all([node.client.make(specOf(0)), node.client.make(specOf(0))]);
  await made;
  const ids = Array.from({ length: 8 }, (_, i) => `i${i}`);
  await Promise.all([
    ...ids.map((id) => node.client.write(specOf(0), [upsert(id)], NO_HURRY)),
    countIn(node, 0),
    node.host.restUnused(0),
  ]);
  expect(await countIn(node, 0)).toBe(ids.length);
  expect(node.log.messages('error')).toEqual([]);
});

test('one of few changes is closed without a checkpoint and has all of them, until there are more', async () => {
  const node = await started();
  await node.client.make(specOf(0));
  const hasCheckpoint = (place = 'node'): boolean => existsSync(join(pathOf(0, place), 'MANIFEST.json'));
  const found = async (in_: ShardNode): Promise<string[]> =>
    (
      await in_.client.read(
        specOf(0),
        'search',
        { vector: Float32Array.of(1, 2), k: 100, effort: { type: 'exact' }, filter: null, texts: false },
        NO_HURRY,
      )
    ).hits
      .map(({ externalId }) => externalId)
      .sort();
  await node.client.write(specOf(0), [upsert('a'), upsert('b')], NO_HURRY);
  await node.client.write(specOf(0), [{ type: 'delete', externalId: 'a' }, upsert('c')], NO_HURRY);
  await node.host.restUnused(0);
  expect(node.host.restingShards).toBe(1);
  expect(hasCheckpoint()).toBe(false);
  expect((await node.host.observe())[0].data.checkpoint.unsavedChanges).toBe(0);
  cpSync(join(folder, 'node'), join(folder, 'killed'), { recursive: true });
  const killed = await started('killed');
  await killed.client.open(specOf(0));
  expect(killed.host.restingShards).toBe(1);
  for (const each of [killed, node]) {
    expect(await found(each)).toEqual(['b', 'c']);
    // Only read, it is closed as it was.
    await each.host.restUnused(0);
  }
  expect([hasCheckpoint(), hasCheckpoint('killed')]).toEqual([false, false]);
  for (let n = 0; n < 65; n += 1) await node.client.write(specOf(0), [upsert(`n${n % 3}`)], NO_HURRY);
  await node.host.restUnused(0);
  expect(hasCheckpoint()).toBe(true);
  expect(await found(node)).toEqual(['b', 'c', 'n0', 'n1', 'n2']);
  expect(node.log.messages('error')).toEqual([]);
});

test('to open one of few changes again syncs nothing: on a busy disk, a sync takes longer than all else', async () => {
  const node = await started();
  await node.client.make(specOf(0));
  await node.client.write(specOf(0), [upsert('a')], NO_HURRY);
  await node.host.restUnused(0);
  await node.host.restUnused(0);
  expect(node.host.restingShards).toBe(1);
  const handle = await promises.open(pathOf(0), 'r');
  const sync = jest.spyOn(Object.getPrototypeOf(handle) as typeof handle, 'sync');
  await handle.close();
  try {
    expect(await countIn(node, 0)).toBe(1);
    expect(sync).not.toHaveBeenCalled();
  } finally {
    sync.mockRestore();
  }
});

test('a backup of one makes no records, and is restored, also into another number of shards', async () => {
  const target = new MemoryTarget();
  const backups = { open: () => target, pace: new Pace(Infinity) };
  const node = new ShardNode({
    factories: nativeFactories,
    openStore: openRocksStore,
    folder: join(folder, 'node'),
    rests: { afterMs: 3_600_000, openMax: 4 },
    backups,
  });
  nodes.push(await node.start());
  await node.client.make(specOf(0));
  const id = '20260101T000000Z-00000000';
  const order = { backup: id, target: target.name, base: null };
  let state = await node.client.read(specOf(0), 'backup', order, NO_HURRY);
  await eventually(
    'it is backed up',
    async () => (state = await node.client.read(specOf(0), 'backup', order, NO_HURRY)).state !== 'running',
  );
  expect(state).toMatchObject({ state: 'done', items: 0 });
  expect(existsSync(join(pathOf(0), 'records'))).toBe(false);
  const time = new Date(0).toISOString();
  const shards = [{ manifest: state.manifest!, items: 0, totalBytes: state.totalBytes, needs: state.needs }];
  const collections = [{ name: 'c', uid: 'c0', record: JSON.stringify({ name: 'c' }), shards }];
  await new BackupRepository(target, () => 0).publish({
    id,
    startedAt: time,
    finishedAt: time,
    version: '',
    scheduled: false,
    collections,
    keys: [],
    copiedBytes: 0,
    totalBytes: 0,
  });
  for (const count of [1, 2]) {
    const spec = { ...specOf(count), seed: { target: target.name, backup: id, collectionUid: 'c0', shards: count } };
    await node.client.make(spec);
    await node.client.write(specOf(count), [upsert('a')], NO_HURRY);
    expect(await countIn(node, count)).toBe(1);
  }
});

test('what a backup did not say of the format of one is plain', () => {
  expect(specTextLike(specOf(0), '')).toBe(specText(specOf(0)));
});

test('where one can not be made, everybody who waits for it is told so', async () => {
  const node = await started();
  writeFileSync(join(folder, 'node', 'shards', 'c0'), 'a file in the way');
  const made = await Promise.allSettled([0, 1, 2].map(() => node.client.make(specOf(0))));
  for (const one of made)
    expect(one).toMatchObject({
      status: 'rejected',
      reason: { kind: 'storage_failed', message: expect.stringContaining("can't be made") },
    });
  rmSync(join(folder, 'node', 'shards', 'c0'));
  await node.client.make(specOf(0));
  expect(await countIn(node, 0)).toBe(0);
});
