import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareDataFolder } from '../../../node/data-folder';

let folder: string;
const warnings: string[] = [];
const log = { warn: (_fields: object, message: string) => void warnings.push(message) };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-data-folder-'));
  warnings.length = 0;
});

afterEach(() => rmSync(folder, { recursive: true }));

test('a folder that is made is for its user alone', () => {
  const path = join(folder, 'a', 'data');
  prepareDataFolder(path, log);
  expect((statSync(path).mode & 0o777).toString(8)).toBe('700');
  prepareDataFolder(path, log);
  expect(warnings).toEqual([]);
});

test.each([
  [0o755, 1],
  [0o701, 1],
  [0o777, 1],
  [0o750, 0],
  [0o770, 0],
])('one that is there keeps its mode %o: %d warnings', (mode, count) => {
  const path = join(folder, 'data');
  mkdirSync(path);
  chmodSync(path, mode);
  prepareDataFolder(path, log);
  expect(statSync(path).mode & 0o777).toBe(mode);
  expect(warnings).toHaveLength(count);
  for (const warning of warnings) expect(warning).toContain('DATA_DIR');
});

test('one that cannot be made is refused in one line', () => {
  writeFileSync(join(folder, 'file'), '');
  expect(() => prepareDataFolder(join(folder, 'file', 'data'), log)).toThrow(
    expect.objectContaining({ kind: 'storage_failed', message: expect.stringMatching(/^the data folder [^\n]*file\/data cannot be made: [^\n]*$/) }),
  );
});
