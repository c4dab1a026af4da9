import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyValueChange } from '../../node/kv/key-value-store';
import { RocksKeyValueStore } from '../../node/kv/rocks-key-value-store';

/** What RocksDB has in its own files of keys that were removed, once all files were rewritten. */

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'quiver-compacted-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const put = (key: string, value: string): KeyValueChange => ({ type: 'put', key: Buffer.from(key), value: Buffer.from(value) });
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
