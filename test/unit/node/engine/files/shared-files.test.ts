import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SharedFiles } from '../../../../../node/engine/files/shared-files';
import { eventually } from '../../../../support/eventually';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-shared-files-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Names of the files of the folder that the process has open. */
const openNow = (): string[] =>
  readdirSync('/proc/self/fd')
    .flatMap((name) => {
      try {
        return [readlinkSync(`/proc/self/fd/${name}`)];
      } catch {
        return [];
      }
    })
    .filter((path) => path.startsWith(folder))
    .map((path) => path.slice(folder.length + 1))
    .sort();

const made = (name: string): { owner: object; path: string } => {
  const path = join(folder, name);
  writeFileSync(path, name);
  return { owner: {}, path };
};

const textOf = async (file: FileHandle): Promise<string> => {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(10), 0, 10, 0);
  return buffer.subarray(0, bytesRead).toString();
};

test('those that were read last stay open, and all can be read', async () => {
  const files = new SharedFiles(2);
  const all = ['a', 'b', 'c'].map(made);
  for (const { owner, path } of all) expect(await files.reading(owner, path, textOf)).toBe(path.at(-1));
  await eventually('the first is closed', () => openNow().join() === 'b,c');
  expect(await files.reading(all[1].owner, all[1].path, textOf)).toBe('b');
  expect(await files.reading(all[0].owner, all[0].path, textOf)).toBe('a');
  await eventually('the one that was read longest ago is closed', () => openNow().join() === 'a,b');
  expect(files.size).toBe(2);
  for (const { owner } of all) await files.forget(owner);
});

test('a file is closed after its last reader, however many are read at once', async () => {
  const files = new SharedFiles(1);
  const all = ['a', 'b', 'c'].map(made);
  let letGo = (): void => undefined;
  const held = new Promise<void>((resolve) => (letGo = resolve));
  const reads = [...all, all[0]].map(({ owner, path }) =>
    files.reading(owner, path, async (file) => {
      await held;
      return textOf(file);
    }),
  );
  await eventually('they are open', () => openNow().join() === 'a,b,c');
  await files.forget(all[0].owner);
  expect(openNow()).toEqual(['a', 'b', 'c']);
  letGo();
  expect(await Promise.all(reads)).toEqual(['a', 'b', 'c', 'a']);
  await eventually('one is open', () => openNow().length === 1);
  for (const { owner } of all) await files.forget(owner);
  expect(openNow()).toEqual([]);
});

test('a file that cannot be opened can be tried again, and an error of the reader closes nothing', async () => {
  const files = new SharedFiles(1);
  const owner = {};
  const path = join(folder, 'later');
  await expect(files.reading(owner, path, textOf)).rejects.toMatchObject({ code: 'ENOENT' });
  expect(files.size).toBe(0);
  made('later');
  expect(await files.reading(owner, path, textOf)).toBe('later');
  await expect(files.reading(owner, path, () => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
  expect(openNow()).toEqual(['later']);
  await files.forget(owner);
});
