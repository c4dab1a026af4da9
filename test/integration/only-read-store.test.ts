import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyRange, KeyValueEntry, KeyValueStore, StoreSnapshot } from '../../node/kv/key-value-store';
import { RocksKeyValueStore } from '../../node/kv/rocks-key-value-store';
import type { ShardSpec, UpsertOperation } from '../../shared/shard/shard-client';
import { NO_HURRY, nativeFactories, openRocksStore, ShardNode } from '../support/shard-node';

/** Stores that are opened to be read alone, until they are changed. */

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'quiver-only-read-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const EVERYTHING: KeyRange = { from: Buffer.from([0]), to: Buffer.from([0xff]) };
const put = (key: string, value: string) => ({ type: 'put' as const, key: Buffer.from(key), value: Buffer.from(value) });
const del = (key: string) => ({ type: 'delete' as const, key: Buffer.from(key) });
const shown = ({ key, value }: KeyValueEntry): string => `${key.toString()}=${value.toString()}`;

const open = (): Promise<RocksKeyValueStore> => RocksKeyValueStore.open(folder, undefined, { mustExist: true, reading: true });

async function all(store: Pick<KeyValueStore | StoreSnapshot, 'scan'>, range: Partial<KeyRange> = {}): Promise<string[]> {
  const found: string[] = [];
  for await (const page of store.scan({ ...EVERYTHING, ...range })) found.push(...page.map(shown));
  return found;
}

/** A scan of which one entry was read. */
async function begun(store: KeyValueStore, range: Partial<KeyRange> = {}): Promise<{ first: string; rest: () => Promise<string[]> }> {
  const pages = store.scan({ ...EVERYTHING, pageSize: 1, ...range })[Symbol.asyncIterator]();
  const { value } = await pages.next();
  const rest = async (): Promise<string[]> => {
    const found: string[] = [];
    for (let next = await pages.next(); next.done !== true; next = await pages.next()) found.push(...next.value.map(shown));
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
  const [forwards, backwards, atItsEnd] = [await begun(store), await begun(store, { reverse: true }), await begun(store, { from: Buffer.from('d') })];
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
  const upsert = (externalId: string): UpsertOperation => ({ type: 'upsert', externalId, vector: Float32Array.of(1, 2), stamp: 5, metadata: '{}', text: undefined });
  const nodeIn = (name: string): ShardNode => new ShardNode({ factories: nativeFactories, openStore: openRocksStore, folder: join(folder, name), rests: { afterMs: 3_600_000, openMax: 4 } });
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
  await expect(earlier.client.open(spec)).rejects.toMatchObject({ kind: 'storage_damaged', message: expect.stringContaining('earlier copy') });
  await earlier.stop();
});
