import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FolderFiles } from '../../../../../coordinator/jobs/documents/folder-files';
import { StoreFiles } from '../../../../../coordinator/jobs/documents/store-files';
import type { WaitingFiles } from '../../../../../coordinator/jobs/documents/waiting-files';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';

/** Files that wait for their jobs, in a folder and in the cluster store. */

let folder: string;
let store: ClusterStore;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-waiting-'));
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
});
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  await store.close();
});

async function* partsOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function found(files: WaitingFiles, id: string): Promise<Buffer | null> {
  const content = await files.find(id);
  if (content === null) return null;
  return 'path' in content ? readFileSync(content.path) : Buffer.from(content.bytes);
}

const KINDS: [string, () => WaitingFiles][] = [
  ['a folder', () => new FolderFiles(join(folder, 'documents'))],
  ['the cluster store', () => new StoreFiles(store)],
];

describe.each(KINDS)('files in %s', (_kind, open) => {
  test('are there as they came, until they are deleted', async () => {
    const files = open();
    // More than two pieces, whose ends are not those of what came.
    const bytes = Buffer.alloc(1_400_000, 'a text that is long enough. ');
    await files.put('document-1', partsOf(bytes, 70_001));
    await files.put('document-2', partsOf(Buffer.from('short'), 2));
    expect((await found(files, 'document-1'))?.equals(bytes)).toBe(true);
    expect((await found(files, 'document-2'))?.toString()).toBe('short');
    expect((await files.list()).sort((a, b) => (a < b ? -1 : 1))).toEqual(['document-1', 'document-2']);
    await files.delete('document-1');
    await files.delete('document-1');
    expect(await found(files, 'document-1')).toBeNull();
    expect(await files.list()).toEqual(['document-2']);
  });

  test('say what they take', async () => {
    const files = open();
    const bytes = Buffer.from(Array.from({ length: 600_000 }, (_, i) => (i * i * 31) % 251));
    const taken = await files.put('document-1', partsOf(bytes, 70_001));
    const values = (await store.list('/q/document-pieces/')).entries.reduce((sum, { value }) => sum + value.length, 0);
    expect(taken).toBe(values === 0 ? bytes.length : values);
    await files.delete('document-1');
  });

  test('leave nothing where they break off', async () => {
    const files = open();
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.alloc(600_000);
      throw new Error('the client left');
    }
    await expect(files.put('document-1', broken())).rejects.toThrow('the client left');
    expect(await files.list()).toEqual([]);
    expect(await found(files, 'document-1')).toBeNull();
    expect((await store.list('/q/document')).entries).toEqual([]);
    expect(readdirSync(folder).flatMap((name) => readdirSync(join(folder, name)))).toEqual([]);
  });
});

test('a file in a folder of which the end never came is removed, and one that is still written stays', async () => {
  const path = join(folder, 'documents');
  mkdirSync(path);
  writeFileSync(join(path, 'document-1.part'), 'half');
  const files = new FolderFiles(path);
  async function* slow(): AsyncGenerator<Buffer> {
    yield Buffer.from('all ');
    expect(await files.list()).toEqual([]);
    expect(readdirSync(path)).toEqual(['document-2.part']);
    yield Buffer.from('of it');
  }
  await files.put('document-2', slow());
  expect(await files.list()).toEqual(['document-2']);
  expect((await found(files, 'document-2'))?.toString()).toBe('all of it');
});

test('a file in the store of which the end never came is found by its first piece, and can be removed', async () => {
  await store.transact(
    [],
    [
      { type: 'put', key: '/q/document-files/document-1', value: '{"pieces":null}' },
      { type: 'put', key: '/q/document-pieces/document-1/0', value: '' },
    ],
  );
  const files = new StoreFiles(store);
  expect(await files.find('document-1')).toBeNull();
  expect(await files.list()).toEqual(['document-1']);
  await files.delete('document-1');
  expect((await store.list('/q/document')).entries).toEqual([]);
});

describe('in a folder', () => {
  const GIB = 1024 ** 3;
  const disk = { free: 0, size: 0 };
  const files = () => new FolderFiles(join(folder, 'documents'), async () => disk);

  test.each([
    [100, 100, 96],
    [3, 100, 0],
    [5, 20, 3],
    [1, 20, 0],
  ])('of %d GiB that are free of %d, %d are left for files', async (free, size, left) => {
    Object.assign(disk, { free: free * GIB, size: size * GIB });
    expect(await files().left()).toBe(left * GIB);
  });

  test('one breaks off when the disk gets full meanwhile, and leaves nothing', async () => {
    Object.assign(disk, { free: 50 * GIB, size: 100 * GIB });
    async function* filling(): AsyncGenerator<Buffer> {
      for (let part = 0; part < 3; part += 1) {
        if (part === 1) disk.free = GIB;
        yield Buffer.alloc(9 * 1024 ** 2);
      }
      throw new Error('it is read on');
    }
    await expect(files().put('document-1', filling())).rejects.toMatchObject({ kind: 'overloaded' });
    expect(readdirSync(join(folder, 'documents'))).toEqual([]);
  });
});

test('a file of one piece in the store comes, and goes, in one change', async () => {
  const files = new StoreFiles(store);
  const revision = async () => (await store.list('/q/document')).revision;
  const before = await revision();
  await files.put('document-1', partsOf(Buffer.alloc(300_000), 70_001));
  expect(await revision()).toBe(before + 1);
  await files.delete('document-1');
  expect(await revision()).toBe(before + 2);
  expect((await store.list('/q/document')).entries).toEqual([]);
});
