import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { KeyRange, KeyValueStore } from '../../node/engine/kv/key-value-store';
import { MemoryKeyValueStore } from '../support/models/memory-key-value-store';
import { PackedEntries } from '../../node/engine/kv/packed-entries';
import { RocksKeyValueStore } from '../../node/engine/kv/rocks-key-value-store';

const folders: string[] = [];
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-kv-'));
  folders.push(folder);
  return folder;
}
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

const put = (key: string | Buffer, value: string) => ({
  type: 'put' as const,
  key: Buffer.from(key as string),
  value: Buffer.from(value),
});
const del = (key: string) => ({ type: 'delete' as const, key: Buffer.from(key) });

async function scanned(store: KeyValueStore, range: Partial<KeyRange> = {}): Promise<string[]> {
  const found: string[] = [];
  for await (const page of store.scan({ from: Buffer.from([0]), to: Buffer.from([0xff]), ...range })) {
    for (const entry of page) found.push(`${entry.key.toString()}=${entry.value.toString()}`);
  }
  return found;
}

describe.each<[string, () => Promise<KeyValueStore>]>([
  ['memory', async () => new MemoryKeyValueStore()],
  ['rocksdb', () => RocksKeyValueStore.open(newFolder())],
])('KeyValueStore over %s', (_name, open) => {
  let store: KeyValueStore;
  beforeEach(async () => (store = await open()));
  afterEach(() => store.close());

  test('answers what was written, and undefined for what was not', async () => {
    await store.write([put('a', '1'), put('b', '2'), put('a', '3'), put('c', ''), del('b')], { sync: true });
    expect(await store.get(Buffer.from('a'))).toEqual(Buffer.from('3'));
    expect(await store.getMany(['c', 'b', 'a', 'z'].map((key) => Buffer.from(key)))).toEqual([
      Buffer.alloc(0),
      undefined,
      Buffer.from('3'),
      undefined,
    ]);
    expect(await store.getMany([])).toEqual([]);
  });

  test('puts packed entries among other changes, and does not need their memory afterwards', async () => {
    const packed = new PackedEntries(8);
    packed.add(Buffer.from('b'), Buffer.from('2'));
    packed.add(Buffer.from('a'), Buffer.from('1'));
    packed.add(Buffer.from('c'), Buffer.alloc(0));
    const entries = packed.take();
    await store.write([put('a', '0'), put('c', '0'), { type: 'puts', entries }, del('b'), put('d', '4')], {
      sync: true,
    });
    entries.fill(0);
    expect(await scanned(store)).toEqual(['a=1', 'c=', 'd=4']);
  });

  test('keys sort by unsigned bytes', async () => {
    const keys = [[0x7f], [0x80], [0x01, 0xff], [0x01], [0xfe]].map((bytes) => Buffer.from(bytes));
    await store.write(
      keys.map((key) => ({ type: 'put', key, value: Buffer.from('v') })),
      { sync: false },
    );
    const found: number[][] = [];
    for await (const page of store.scan({ from: Buffer.from([0]), to: Buffer.from([0xff]) }))
      found.push(...page.map((entry) => [...entry.key]));
    expect(found).toEqual([[0x01], [0x01, 0xff], [0x7f], [0x80], [0xfe]]);
  });

  test('scans a half-open range, forwards and backwards, with limits and pages', async () => {
    await store.write(
      ['a', 'b', 'c', 'd', 'e'].map((key) => put(key, key.toUpperCase())),
      { sync: false },
    );
    expect(await scanned(store, { from: Buffer.from('b'), to: Buffer.from('e') })).toEqual(['b=B', 'c=C', 'd=D']);
    expect(await scanned(store, { from: Buffer.from('b'), to: Buffer.from('e'), reverse: true, limit: 2 })).toEqual([
      'd=D',
      'c=C',
    ]);
    expect(await scanned(store, { values: false, limit: 1 })).toEqual(['a=']);
    expect(await scanned(store, { limit: 0 })).toEqual([]);
    expect(await scanned(store, { from: Buffer.from('x'), to: Buffer.from('b') })).toEqual([]);
    const sizes: number[] = [];
    for await (const page of store.scan({ from: Buffer.from('a'), to: Buffer.from('z'), pageSize: 2 }))
      sizes.push(page.length);
    expect(sizes).toEqual([2, 2, 1]);
  });

  test('a scan is a snapshot', async () => {
    await store.write([put('a', '1'), put('b', '1'), put('c', '1')], { sync: false });
    const found: string[] = [];
    for await (const page of store.scan({ from: Buffer.from('a'), to: Buffer.from('z'), pageSize: 1 })) {
      if (found.length === 0) await store.write([put('b', '2'), put('bb', '2'), del('c')], { sync: false });
      found.push(...page.map((entry) => `${entry.key.toString()}=${entry.value.toString()}`));
    }
    expect(found).toEqual(['a=1', 'b=1', 'c=1']);
  });

  test('a read of many keys shows the state at its call, whatever is written before it is done', async () => {
    // More than are looked up on the calling thread.
    const keys = Array.from({ length: 40 }, (_, i) => `k${i}`);
    const ofRound = (round: number) => keys.map((key) => put(key, `${round}`));
    await store.write(ofRound(0), { sync: false });
    for (let round = 1; round <= 200; round++) {
      const [values] = await Promise.all([
        store.getMany(keys.map((key) => Buffer.from(key))),
        store.write(ofRound(round), { sync: false }),
      ]);
      expect(new Set(values.map(String))).toEqual(new Set([`${round - 1}`]));
    }
  });

  test('a snapshot shows the state at its call until it is freed', async () => {
    const asked = (keys: string[]): Buffer[] => keys.map((key) => Buffer.from(key));
    const shown = async (from: Pick<KeyValueStore, 'getMany'>): Promise<string[]> =>
      (await from.getMany(asked(['a', 'b', 'c', 'd']))).map(String);
    await store.write([put('a', '1'), put('b', '1'), put('c', '1')], { sync: false });
    const first = store.snapshot();
    await store.write([put('a', '2'), del('b'), put('d', '2')], { sync: false });
    const second = store.snapshot();
    await store.write([put('a', '3'), put('b', '3')], { sync: false });
    await store.clear({ from: Buffer.from('c'), to: Buffer.from('e') });
    expect(await shown(first)).toEqual(['1', '1', '1', 'undefined']);
    const many = await first.getMany(asked(Array.from({ length: 40 }, () => 'a')));
    expect(new Set(many.map(String))).toEqual(new Set(['1']));
    const begun = second.getMany(asked(['a']));
    second.free();
    expect((await begun).map(String)).toEqual(['2']);
    await expect(second.getMany(asked(['a']))).rejects.toMatchObject({ kind: 'storage_failed' });
    second.free();
    expect(await shown(store)).toEqual(['3', '3', 'undefined', 'undefined']);
    // One that nobody frees keeps no store open, and shows nothing else then.
    await store.close();
    await expect(shown(first)).rejects.toMatchObject({ kind: 'storage_failed' });
    first.free();
    expect(() => store.snapshot()).toThrow(expect.objectContaining({ kind: 'storage_failed' }));
  });

  test('a scan that is left early frees its iterator', async () => {
    await store.write(
      ['a', 'b', 'c'].map((key) => put(key, '1')),
      { sync: false },
    );
    for await (const page of store.scan({ from: Buffer.from('a'), to: Buffer.from('z'), pageSize: 1 })) {
      expect(page).toHaveLength(1);
      break;
    }
    await store.close();
  });

  test('clears a half-open range', async () => {
    await store.write(
      ['a', 'b', 'c', 'd'].map((key) => put(key, '1')),
      { sync: false },
    );
    await store.clear({ from: Buffer.from('b'), to: Buffer.from('d') });
    expect(await scanned(store)).toEqual(['a=1', 'd=1']);
  });

  test('reclaims a half-open range, whatever files it is in, and what it takes on the disk', async () => {
    const value = randomBytes(64 * 1024).toString('base64');
    const keyOf = (n: number): string => `k${String(n).padStart(4, '0')}`;
    for (let turn = 0; turn < 3; turn += 1) {
      for (let n = 0; n < 60; n += 1) await store.write([put(keyOf(n), `${value}${turn}`)], { sync: n % 20 === 0 });
      if (turn < 2) await store.compact();
    }
    const before = await store.sizeBytes();
    await store.reclaim({ from: Buffer.from(keyOf(0)), to: Buffer.from(keyOf(58)) });
    expect(await scanned(store)).toEqual([`${keyOf(58)}=${value}2`, `${keyOf(59)}=${value}2`]);
    expect(await store.sizeBytes()).toBeLessThanOrEqual(before / 10);
    await store.reclaim({ from: Buffer.from('b'), to: Buffer.from('b') });
    await store.reclaim({ from: Buffer.from('a'), to: Buffer.from('z') });
    expect(await scanned(store)).toEqual([]);
  });

  test('loads packed entries beside what is written', async () => {
    await store.write([put('c', '0'), put('x', '0')], { sync: true });
    const packed = new PackedEntries(8);
    async function* pages(from: number): AsyncIterable<Buffer> {
      for (let n = from; n < 6; n += 2) {
        packed.add(Buffer.from(`d${n}`), Buffer.from(`${n}`));
        yield packed.take();
        yield packed.take();
      }
    }
    // The second has keys between those of the first.
    for (const from of [1, 2]) await store.load(pages(from));
    expect(await scanned(store)).toEqual(['c=0', 'd1=1', 'd2=2', 'd3=3', 'd4=4', 'd5=5', 'x=0']);
    await store.write([put('d1', 'new'), del('d2')], { sync: true });
    expect(await scanned(store, { to: Buffer.from('d4') })).toEqual(['c=0', 'd1=new', 'd3=3']);
    await store.load((async function* () {})());
  });

  test('large values come whole', async () => {
    const value = Buffer.alloc(9_000_000, 7);
    await store.write([{ type: 'put', key: Buffer.from('big'), value }], { sync: true });
    expect((await store.get(Buffer.from('big')))?.equals(value)).toBe(true);
  });

  test('closing waits for what runs, and is final', async () => {
    const writes = Array.from({ length: 50 }, (_, i) => store.write([put(`k${i}`, 'v')], { sync: true }));
    await store.close();
    await store.close();
    await expect(Promise.all(writes)).resolves.toHaveLength(50);
    await expect(async () => store.get(Buffer.from('k1'))).rejects.toMatchObject({ kind: 'storage_failed' });
  });
});

describe('RocksKeyValueStore', () => {
  test('keeps what was written over a restart', async () => {
    const folder = newFolder();
    const first = await RocksKeyValueStore.open(folder);
    await first.write([put('a', '1')], { sync: true });
    await first.close();
    const second = await RocksKeyValueStore.open(folder);
    expect(await second.get(Buffer.from('a'))).toEqual(Buffer.from('1'));
    await second.close();
  });

  test('answers what was written right after an opening, when no table is open yet', async () => {
    const folder = newFolder();
    const key = (i: number): Buffer => Buffer.from(`key${i}`);
    // Each opening makes a table of what it finds in the log; some are opened only when they are first read.
    for (let round = 0; round < 40; round++) {
      const store = await RocksKeyValueStore.open(folder);
      const asked = [round - 1, 0, round, Math.floor(round / 2)].map((i) => Math.max(0, i));
      const values = await store.getMany(asked.map(key));
      expect(values.map(String)).toEqual(asked.map((i) => (i < round ? `value ${i}` : 'undefined')));
      await store.write([put(key(round), `value ${round}`)], { sync: true });
      await store.close();
    }
  });

  test('what was loaded survives a restart, and what can not be loaded leaves nothing behind', async () => {
    const folder = newFolder();
    const store = await RocksKeyValueStore.open(folder);
    const packed = new PackedEntries(64);
    async function* pages(...keys: string[]): AsyncIterable<Buffer> {
      for (const key of keys) packed.add(Buffer.from(key), Buffer.from('1'));
      yield packed.take();
    }
    await store.load(pages('a', 'b'));
    await expect(store.load(pages('d', 'c'))).rejects.toMatchObject({ kind: 'storage_failed' });
    async function* cut(): AsyncIterable<Buffer> {
      yield Buffer.from([9, 0, 0, 0, 1, 0, 0, 0, 1]);
    }
    await expect(store.load(cut())).rejects.toMatchObject({ kind: 'storage_failed' });
    await store.close();
    expect(readdirSync(folder).filter((name) => name.endsWith('.table'))).toEqual([]);
    const again = await RocksKeyValueStore.open(folder);
    expect(await scanned(again)).toEqual(['a=1', 'b=1']);
    await again.close();
  });

  test('refuses a folder that is open, in one line', async () => {
    const folder = newFolder();
    const first = await RocksKeyValueStore.open(folder);
    await expect(RocksKeyValueStore.open(folder)).rejects.toThrow(/in use by another process/);
    await first.close();
  });

  test('says why where the lock can not be asked for, and not that the folder is in use', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'LOCK'), { recursive: true });
    const refusal = await RocksKeyValueStore.open(folder).catch((error: Error) => error);
    expect(refusal).toMatchObject({
      kind: 'storage_failed',
      message: expect.stringMatching(/cannot be opened: .*LOCK: Is a directory/),
    });
    rmdirSync(join(folder, 'LOCK'));
    await (await RocksKeyValueStore.open(folder)).close();
  });

  test('a process killed by SIGKILL leaves its synced writes and no lock', async () => {
    const folder = newFolder();
    const program = `
      require(${JSON.stringify(resolve(__dirname, '../support/swc-register.js'))});
      const { RocksKeyValueStore } = require(${JSON.stringify(resolve(__dirname, '../../node/engine/kv/rocks-key-value-store.ts'))});
      RocksKeyValueStore.open(${JSON.stringify(folder)}).then(async (store) => {
        await store.write([{ type: 'put', key: Buffer.from('a'), value: Buffer.from('1') }], { sync: true });
        process.kill(process.pid, 'SIGKILL');
      });`;
    expect(spawnSync(process.execPath, ['-e', program]).signal).toBe('SIGKILL');
    const store = await RocksKeyValueStore.open(folder);
    expect(await store.get(Buffer.from('a'))).toEqual(Buffer.from('1'));
    await store.close();
  });
});
