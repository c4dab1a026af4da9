import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSteady } from '../../../../cli/documents/steady-file';

/** Files that are read whole, while others write them. */

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'quiver-steady-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A file that changes so many times while it is read. */
function changing(times: number) {
  let reads = 0;
  let closed = 0;
  const opened = async () => ({
    stat: async () => ({ size: 4n, mtimeNs: BigInt(Math.min(reads, times)), isFile: () => true }),
    readFile: async () => {
      reads += 1;
      return Buffer.from(`v${reads}`);
    },
    close: async () => void (closed += 1),
  });
  return { opened, counts: () => ({ reads, closed }) };
}

test('a file that rests is read once, and one that changes until it rests', async () => {
  const path = join(folder, 'a.txt');
  writeFileSync(path, 'A text.');
  expect((await readSteady(path)).toString()).toBe('A text.');
  const once = changing(1);
  expect((await readSteady('a', once.opened)).toString()).toBe('v2');
  expect(once.counts()).toEqual({ reads: 2, closed: 2 });
});

test('one that changes all the time is told, and closed', async () => {
  const always = changing(Infinity);
  await expect(readSteady('a', always.opened)).rejects.toThrow('it changes while it is read');
  expect(always.counts()).toEqual({ reads: 3, closed: 3 });
});

test('what can’t be read says why in words', async () => {
  const path = (name: string): string => join(folder, name);
  symlinkSync(path('nothing'), path('lost.txt'));
  symlinkSync(path('loop.txt'), path('loop.txt'));
  await expect(readSteady(path('gone.txt'))).rejects.toThrow('it can’t be read: there is no such file');
  await expect(readSteady(path('lost.txt'))).rejects.toThrow('a link to nothing');
  await expect(readSteady(path('loop.txt'))).rejects.toThrow('a link that leads back to itself');
  await expect(readSteady(folder)).rejects.toThrow('it can’t be read: it is no file');
});
