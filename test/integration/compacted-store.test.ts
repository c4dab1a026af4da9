import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyValueChange } from '../../node/engine/kv/key-value-store';
import { RocksKeyValueStore } from '../../node/engine/kv/rocks-key-value-store';
import { storeBinding } from '../../node/engine/kv/store-binding';
import { StoreBudget } from '../../node/engine/kv/store-budget';

/**
 * What RocksDB has in its own files of keys that were removed, once all files were rewritten; and how a rewrite ends
 * early.
 */

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'quiver-compacted-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const put = (key: string, value: string): KeyValueChange => ({
  type: 'put',
  key: Buffer.from(key),
  value: Buffer.from(value),
});
const remove = (key: string): KeyValueChange => ({ type: 'delete', key: Buffer.from(key) });

function filesWith(needle: string): string[] {
  return readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(needle));
}

test('a value that was removed is in no file, and a key at most in the manifest, until the next start', async () => {
  const keys = ['a-gone-first', 'm-gone', 'z-gone-last'];
  let store = await RocksKeyValueStore.open(folder);
  await store.write([put('kept', 'kept')].concat(keys.map((key) => put(key, `value of ${key}`))), { sync: true });
  await store.compact();
  await store.write(keys.map(remove), { sync: true });
  await store.compact();
  expect(filesWith('value of')).toEqual([]);
  expect(keys.flatMap(filesWith).filter((name) => !name.startsWith('MANIFEST-'))).toEqual([]);
  await store.close();
  store = await RocksKeyValueStore.open(folder);
  expect(keys.flatMap(filesWith)).toEqual([]);
  expect((await store.get(Buffer.from('kept')))?.toString()).toBe('kept');
  await store.close();
});

/** More than libuv has threads. */
const REWRITES = 12;

test('a store that is closed does not wait for the end of a rewrite', async () => {
  const store = await RocksKeyValueStore.open(folder);
  let isToldToEnd = false;
  let end!: (error: Error) => void;
  const rewriting = new Promise<void>((_done, fail) => (end = fail));
  const endRewrites = (): void => {
    isToldToEnd = true;
    end(new Error('Result incomplete: Manual compaction paused'));
  };
  Object.assign(store, { binding: { ...storeBinding(), compact: () => rewriting, endRewrites } });
  const rewritten = store.compact().catch((error: unknown) => error);
  const closed = store.close();
  await new Promise((resume) => setImmediate(resume));
  expect(isToldToEnd).toBe(true);
  await closed;
  expect(await rewritten).toMatchObject({ kind: 'storage_failed' });
});

test('no rewrite begins once they were ended, and everything else goes on', async () => {
  const binding = storeBinding();
  const database = await binding.open(new StoreBudget().handle, folder, false, false);
  const values = async (): Promise<string> =>
    Buffer.from((await binding.read(database, [Buffer.from('a'), Buffer.from('b')], null)).bytes).toString();
  await binding.write(database, [Buffer.from('a'), Buffer.from('1')], true);
  await binding.compact(database);
  binding.endRewrites(database);
  await binding.write(database, [Buffer.from('b'), Buffer.from('2')], true);
  await expect(binding.compact(database)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(await values()).toBe('12');
  await binding.close(database, false);
});

test('rewrites that keep every thread of the pool are ended, too', async () => {
  const binding = storeBinding();
  const budget = new StoreBudget().handle;
  const value = Buffer.alloc(1 << 20, 'x');
  const databases = await Promise.all(
    Array.from({ length: REWRITES }, (_, i) => binding.open(budget, join(folder, String(i)), false, false)),
  );
  for (const database of databases)
    for (let i = 0; i < 8; i += 1) await binding.write(database, [Buffer.from(String(i)), value], true);
  const ends = databases.map((database) =>
    binding.compact(database).then(
      () => 'whole',
      (error: { code: string }) => error.code,
    ),
  );
  for (const database of databases) binding.endRewrites(database);
  // Those that wait for a thread begin nothing.
  expect((await Promise.all(ends)).slice(-1)).toEqual(['STORAGE_FAILED']);
  await Promise.all(databases.map((database) => binding.close(database, false)));
});
