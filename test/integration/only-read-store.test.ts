import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyRange, KeyValueEntry, KeyValueStore, StoreSnapshot } from '../../node/engine/kv/key-value-store';
import { RocksKeyValueStore } from '../../node/engine/kv/rocks-key-value-store';
import { storeBinding } from '../../node/engine/kv/store-binding';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import type { ShardSpec, UpsertOperation } from '../../shared/contract/shard/shard-client';
import { eventually } from '../support/eventually';
import { NO_HURRY, nativeFactories, openRocksStore, ShardNode } from '../support/shards/shard-node';

/** Stores that are opened to be read alone, until they are changed. */

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'quiver-only-read-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const EVERYTHING: KeyRange = { from: Buffer.from([0]), to: Buffer.from([0xff]) };
const put = (key: string, value: string) => ({
  type: 'put' as const,
  key: Buffer.from(key),
  value: Buffer.from(value),
});
const del = (key: string) => ({ type: 'delete' as const, key: Buffer.from(key) });
const shown = ({ key, value }: KeyValueEntry): string => `${key.toString()}=${value.toString()}`;

const open = (): Promise<RocksKeyValueStore> =>
  RocksKeyValueStore.open(folder, undefined, { mustExist: true, reading: true });

async function all(
  store: Pick<KeyValueStore | StoreSnapshot, 'scan'>,
  range: Partial<KeyRange> = {},
): Promise<string[]> {
  const found: string[] = [];
  for await (const page of store.scan({ ...EVERYTHING, ...range })) found.push(...page.map(shown));
  return found;
}

/** A scan of which one entry was read. */
async function begun(
  store: KeyValueStore,
  range: Partial<KeyRange> = {},
): Promise<{ first: string; rest: () => Promise<string[]> }> {
  const pages = store.scan({ ...EVERYTHING, pageSize: 1, ...range })[Symbol.asyncIterator]();
  const { value } = await pages.next();
  const rest = async (): Promise<string[]> => {
    const found: string[] = [];
    for (let next = await pages.next(); next.done !== true; next = await pages.next())
      found.push(...next.value.map(shown));
    return found;
  };
  return { first: value.map(shown).join(), rest };
}

/** In tables and in the log. */
async function make(): Promise<void> {
  const store = await RocksKeyValueStore.open(folder);
  await store.write([put('a', '1'), put('b', '2'), put('c', '3')], { sync: true });
  await store.compact();
  await store.write([put('d', '4'), put('b', '5')], { sync: true });
  await store.close();
}

const content = (): Map<string, string> =>
  new Map(
    readdirSync(folder)
      .sort()
      .map((name) => [name, readFileSync(join(folder, name), 'latin1')]),
  );

test('a store that is only read has no file changed by that, and its first change is stored as any', async () => {
  await make();
  const before = content();
  const store = await open();
  expect(store.isOnlyRead).toBe(true);
  expect(await all(store)).toEqual(['a=1', 'b=5', 'c=3', 'd=4']);
  expect(await store.getMany([Buffer.from('d'), Buffer.from('x')])).toEqual([Buffer.from('4'), undefined]);
  await store.verify({ bytesPerSecond: 1e9, stop: new AbortController().signal });
  await store.close();
  expect(content()).toEqual(before);

  const changed = await open();
  await changed.write([put('e', '6'), del('a')], { sync: true });
  expect(changed.isOnlyRead).toBe(false);
  expect(await all(changed)).toEqual(['b=5', 'c=3', 'd=4', 'e=6']);
  await changed.close();
  const again = await open();
  expect(await all(again)).toEqual(['b=5', 'c=3', 'd=4', 'e=6']);
  await again.close();
});

test('what is read when the first change comes is read on as it was', async () => {
  await make();
  const store = await open();
  const snapshot = store.snapshot();
  const [forwards, backwards, atItsEnd] = [
    await begun(store),
    await begun(store, { reverse: true }),
    await begun(store, { from: Buffer.from('d') }),
  ];
  expect([forwards.first, backwards.first, atItsEnd.first]).toEqual(['a=1', 'd=4', 'd=4']);
  // Two changes at once are the first.
  await Promise.all([
    store.write([put('a', 'x'), put('bb', 'x'), del('c')], { sync: true }),
    store.write([put('e', 'x')], { sync: false }),
    store.clear({ from: Buffer.from('d'), to: Buffer.from('dd') }),
  ]);
  expect(await forwards.rest()).toEqual(['b=5', 'c=3', 'd=4']);
  expect(await backwards.rest()).toEqual(['c=3', 'b=5', 'a=1']);
  expect(await atItsEnd.rest()).toEqual([]);
  expect(await all(snapshot)).toEqual(['a=1', 'b=5', 'c=3', 'd=4']);
  expect(await snapshot.getMany([Buffer.from('a'), Buffer.from('e')])).toEqual([Buffer.from('1'), undefined]);
  snapshot.free();
  expect(await all(store)).toEqual(['a=x', 'b=5', 'bb=x', 'e=x']);
  await store.close();
});

test.each([true, false])(
  'of one with a long log, an opening repeats nothing where it was closed to rest (%p), and all is there',
  async (rests) => {
    const store = await RocksKeyValueStore.open(folder);
    const value = 'v'.repeat(32 * 1024);
    await store.write(
      Array.from({ length: 40 }, (_, i) => put(`k${i}`, value)),
      { sync: true },
    );
    await store.write([del('k7')], { sync: true });
    await store.close(rests);
    const logBytes = readdirSync(folder)
      .filter((name) => name.endsWith('.log'))
      .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    expect(logBytes > value.length).toBe(!rests);
    const again = await open();
    expect(again.isOnlyRead).toBe(rests);
    expect((await all(again)).length).toBe(39);
    await again.write([put('k7', 'new')], { sync: true });
    expect(await again.get(Buffer.from('k7'))).toEqual(Buffer.from('new'));
    await again.close();
  },
);

test('a store that is only read is one whose folder is in use', async () => {
  await make();
  const store = await open();
  await expect(open()).rejects.toMatchObject({ kind: 'storage_failed', message: expect.stringContaining('in use') });
  await store.close();
  await (await open()).close();
});

test('one that lacks what was stored is refused, and stays as it is', async () => {
  await make();
  const [log] = readdirSync(folder).filter((name) => name.endsWith('.log'));
  truncateSync(join(folder, log), 0);
  const before = content();
  for (const attempt of [open, open]) await expect(attempt()).rejects.toMatchObject({ kind: 'storage_damaged' });
  expect(content()).toEqual(before);
});

test('an earlier copy of a shard that was only read at first, then written to, is told after a crash', async () => {
  const spec: ShardSpec = { collectionUid: 'c', shard: 0, dim: 2, metric: 'l2' };
  const upsert = (externalId: string): UpsertOperation => ({
    type: 'upsert',
    externalId,
    vector: Float32Array.of(1, 2),
    stamp: 5,
    metadata: '{}',
    text: undefined,
  });
  const nodeIn = (name: string): ShardNode =>
    new ShardNode({
      factories: nativeFactories,
      openStore: openRocksStore,
      folder: join(folder, name),
      rests: { afterMs: 3_600_000, openMax: 4 },
    });
  const node = nodeIn('node');
  await node.start();
  await node.client.make(spec);
  await node.client.write(spec, [upsert('a')], NO_HURRY);
  await node.stop();
  cpSync(join(folder, 'node', 'shards'), join(folder, 'copy'), { recursive: true });
  await node.start();
  await node.client.open(spec);
  expect(await node.client.read(spec, 'count', null, NO_HURRY)).toBe(1);
  await node.client.write(spec, [upsert('b')], NO_HURRY);
  // As a crash leaves it.
  for (const name of ['crashed', 'earlier']) cpSync(join(folder, 'node'), join(folder, name), { recursive: true });
  await node.stop();
  const crashed = nodeIn('crashed');
  await crashed.start();
  await crashed.client.open(spec);
  expect(await crashed.client.read(spec, 'count', null, NO_HURRY)).toBe(2);
  await crashed.stop();
  rmSync(join(folder, 'earlier', 'shards'), { recursive: true });
  cpSync(join(folder, 'copy'), join(folder, 'earlier', 'shards'), { recursive: true });
  const earlier = nodeIn('earlier');
  await earlier.start();
  await expect(earlier.client.open(spec)).rejects.toMatchObject({
    kind: 'storage_damaged',
    message: expect.stringContaining('earlier copy'),
  });
  await earlier.stop();
});

const logIn = (path: string): string => {
  const [name] = readdirSync(path).filter((file) => file.endsWith('.log'));
  return join(path, name);
};

test.each([
  ['cut', (log: string) => truncateSync(log, statSync(log).size - 10)],
  ['gone', (log: string) => rmSync(log)],
])(
  'a log that is %s while the store is only read is no end of it: nothing is written, and it is read on',
  async (_, harm) => {
    await make();
    const store = await open();
    harm(logIn(folder));
    const before = content();
    await expect(store.write([put('e', '6')], { sync: true })).rejects.toMatchObject({ kind: 'storage_damaged' });
    expect(store.isOnlyRead).toBe(true);
    expect(await all(store)).toEqual(['a=1', 'b=5', 'c=3', 'd=4']);
    await store.close();
    expect(content()).toEqual(before);
    await expect(open()).rejects.toMatchObject({ kind: 'storage_damaged' });
  },
);

test('a shard that its first change finds damaged says so from then on, with what to do', async () => {
  const spec: ShardSpec = { collectionUid: 'c', shard: 0, dim: 2, metric: 'l2' };
  const upsert: UpsertOperation = {
    type: 'upsert',
    externalId: 'a',
    vector: Float32Array.of(1, 2),
    stamp: 5,
    metadata: '{}',
    text: undefined,
  };
  const node = new ShardNode({
    factories: nativeFactories,
    openStore: openRocksStore,
    folder,
    rests: { afterMs: 3_600_000, openMax: 4 },
  });
  try {
    await node.start();
    await node.client.make(spec);
    await node.client.write(spec, [upsert], NO_HURRY);
    await node.host.restUnused(0);
    expect(await node.client.read(spec, 'count', null, NO_HURRY)).toBe(1);
    const records = join(folder, 'shards', 'c', '0', 'records');
    truncateSync(logIn(records), statSync(logIn(records)).size - 10);
    const before = readFileSync(logIn(records));
    const write = (): Promise<unknown> => node.client.write(spec, [{ ...upsert, externalId: 'b' }], NO_HURRY);
    await expect(write()).rejects.toMatchObject({ kind: 'unavailable' });
    const ended = async (call: Promise<unknown>): Promise<string> =>
      call.then(
        () => 'done',
        ({ kind, message }) => `${kind}: ${message}`,
      );
    let told = '';
    await eventually('it is opened anew', async () => (told = await ended(write())).includes('docs/operations.md'));
    expect(told).toMatch(/^storage_damaged: .*quiver repair --accept-loss/);
    expect(await ended(node.client.read(spec, 'count', null, NO_HURRY))).toBe(told);
    expect(readFileSync(logIn(records))).toEqual(before);
  } finally {
    await node.stop();
  }
});

test('one that can neither be opened for changes nor locked again is closed for good, and says why', async () => {
  await make();
  const store = await open();
  const snapshot = store.snapshot();
  rmSync(join(folder, 'LOCK'));
  mkdirSync(join(folder, 'LOCK'));
  await expect(store.write([put('e', '6')], { sync: true })).rejects.toMatchObject({ kind: 'storage_failed' });
  const why = { kind: 'storage_failed', cause: { message: expect.stringContaining('nor locked again') } };
  await expect(all(store)).rejects.toMatchObject(why);
  await expect(store.getMany([Buffer.from('a')])).rejects.toMatchObject(why);
  expect(store.isOnlyRead).toBe(false);
  expect(store.memory()).toEqual({ memtableBytes: 0, tableReaderBytes: 0 });
  snapshot.free();
  await store.close();
  rmSync(join(folder, 'LOCK'), { recursive: true });
  const again = await open();
  expect(await all(again)).toEqual(['a=1', 'b=5', 'c=3', 'd=4']);
  await again.close();
});

test('a mark that cannot be written is not kept open, however often it is tried', async () => {
  await make();
  const binding = storeBinding();
  const database = await binding.open(binding.newBudget(1 << 20, 1 << 20), folder, true, true);
  const mark = join(folder, 'SYNCED');
  rmSync(mark);
  symlinkSync('/dev/full', mark);
  for (let attempts = 0; attempts < 3; attempts += 1)
    await expect(binding.takeChanges(database)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  const targets = readdirSync('/proc/self/fd').map((name) => {
    try {
      return readlinkSync(join('/proc/self/fd', name));
    } catch {
      return '';
    }
  });
  expect(targets).not.toContain('/dev/full');
  expect(binding.isOnlyRead(database)).toBe(true);
  await binding.close(database, false);
});

test('what a kill left in the memory of the system alone is on stable storage before anything is answered by it', async () => {
  const spec: ShardSpec = { collectionUid: 'c', shard: 0, dim: 2, metric: 'l2' };
  const upsert = (externalId: string): UpsertOperation => ({
    type: 'upsert',
    externalId,
    vector: Float32Array.of(1, 2),
    stamp: 5,
    metadata: '{}',
    text: undefined,
  });
  const remove = { type: 'delete' as const, externalId: 'a' };
  const nodeIn = (name: string): ShardNode =>
    new ShardNode({
      factories: nativeFactories,
      openStore: openRocksStore,
      folder: join(folder, name),
      rests: { afterMs: 3_600_000, openMax: 4 },
    });
  const recordsOf = (name: string): string => join(folder, name, 'shards', 'c', '0', 'records');
  const node = nodeIn('node');
  await node.start();
  await node.client.make(spec);
  await node.client.write(spec, [upsert('a'), upsert('b')], NO_HURRY);
  const log = logIn(recordsOf('node'));
  const [stableBytes, mark] = [statSync(log).size, readFileSync(join(recordsOf('node'), 'SYNCED'))];
  // A delete whose sync did not come back before the kill.
  await node.client.write(spec, [remove], NO_HURRY);
  cpSync(join(folder, 'node'), join(folder, 'killed'), { recursive: true });
  await node.stop();
  writeFileSync(join(recordsOf('killed'), 'SYNCED'), mark);
  const killed = nodeIn('killed');
  await killed.start();
  await killed.client.open(spec);
  expect(await killed.client.write(spec, [remove], NO_HURRY)).toMatchObject({ outcomes: ['absent'] });
  // A loss of power: of the log, only what was synced is left.
  cpSync(join(folder, 'killed'), join(folder, 'power'), { recursive: true });
  await killed.stop();
  const left = join(recordsOf('power'), log.slice(recordsOf('node').length + 1));
  if (readdirSync(recordsOf('power')).some((name) => left.endsWith(name))) truncateSync(left, stableBytes);
  const power = nodeIn('power');
  await power.start();
  await power.client.open(spec);
  expect(await power.client.read(spec, 'count', null, NO_HURRY)).toBe(1);
  await power.stop();
});

test('a shard that was closed in order is opened to be read alone, also after a start; one that failed is not', async () => {
  const spec: ShardSpec = { collectionUid: 'c', shard: 0, dim: 2, metric: 'l2' };
  const readings: boolean[] = [];
  let fails = false;
  const openStore: typeof openRocksStore = async (path, how) => {
    readings.push(how?.reading === true);
    if (fails) throw new QuiverError('storage_failed', 'the disk fails');
    return openRocksStore(path, how);
  };
  const node = new ShardNode({
    factories: nativeFactories,
    openStore,
    folder: join(folder, 'node'),
    rests: { afterMs: 3_600_000, openMax: 4 },
  });
  await node.start();
  await node.client.make(spec);
  await node.client.write(
    spec,
    [{ type: 'upsert', externalId: 'a', vector: Float32Array.of(1, 2), stamp: 5, metadata: '{}', text: undefined }],
    NO_HURRY,
  );
  const count = (): Promise<unknown> => node.client.read(spec, 'count', null, NO_HURRY);
  await node.host.restUnused(0);
  await node.host.restUnused(0);
  expect(await count()).toBe(1);
  await node.restart();
  await node.client.open(spec);
  expect(await count()).toBe(1);
  expect(readings).toEqual([false, true, true]);
  await node.restart();
  await node.client.open(spec);
  fails = true;
  await expect(count()).rejects.toMatchObject({ kind: 'unavailable' });
  expect(readings[3]).toBe(true);
  fails = false;
  while ((await count().catch(() => null)) === null) await new Promise((next) => setImmediate(next));
  expect(readings.slice(4)).toEqual([false]);
  await node.stop();
});
