import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { noteOwner, ownerOf } from '../../../embedded/folder-owner';
import { DATA_PARENT } from '../../support/memory-folder';

let folder: string;

beforeEach(() => (folder = mkdtempSync(join(DATA_PARENT, 'quiver-owner-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('names who has a folder: this process, another one, or one of another machine with the same number', () => {
  const forget = noteOwner(folder, ['node', 'program.js']);
  expect(ownerOf(folder)).toBe(`this process (${process.pid}), which opens it once`);
  const file = join(folder, 'owner.json');
  const owner = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...owner, host: 'elsewhere' }));
  expect(ownerOf(folder)).toBe(`another process: ${process.pid} of elsewhere (node program.js)`);
  writeFileSync(file, JSON.stringify({ ...owner, pid: 1 }));
  expect(ownerOf(folder)).toBe('another process: 1 (node program.js)');
  forget();
  expect(ownerOf(folder)).toBe('another process');
});
