import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareDataFolder } from '../../../../node/engine/data-folder';

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

test('where data are expected, a folder without any is refused and not made', () => {
  const path = join(folder, 'data');
  const start = (): void => prepareDataFolder(path, log, { expected: true });
  for (let mounted = 0; mounted < 2; mounted += 1) {
    expect(start).toThrow(
      expect.objectContaining({ kind: 'storage_failed', message: expect.stringContaining('DATA_EXPECTED') }),
    );
    expect(existsSync(path)).toBe(mounted === 1);
    // An empty mount point.
    mkdirSync(path, { recursive: true, mode: 0o700 });
  }
  prepareDataFolder(path, log);
  start();
});

test('one that this user may not write to is refused with that reason, and left as it is', () => {
  const path = join(folder, 'data');
  mkdirSync(path, { mode: 0o500 });
  const isRoot = process.getuid?.() === 0;
  const before = process.cwd();
  if (isRoot) {
    chmodSync(folder, 0o755);
    chmodSync(path, 0o755);
    // From here, so that folders above it need not be open to that user.
    process.chdir(folder);
    process.seteuid?.(65_534);
  }
  try {
    expect(() => prepareDataFolder(isRoot ? 'data' : path, log)).toThrow(
      expect.objectContaining({
        kind: 'storage_failed',
        message: expect.stringMatching(
          /data cannot be written: the user of this process \(uid \d+\) may not write there \(EACCES\)/,
        ),
      }),
    );
  } finally {
    if (isRoot) {
      process.seteuid?.(0);
      process.chdir(before);
    }
  }
  expect(readdirSync(path)).toEqual([]);
});

test('one of several missing folders is made, and one that is there, also by a link, is taken', () => {
  const deep = join(folder, 'a/b/c');
  prepareDataFolder(deep, log);
  prepareDataFolder(deep, log);
  symlinkSync(deep, join(folder, 'link'));
  prepareDataFolder(join(folder, 'link'), log);
  expect(readdirSync(deep)).toEqual(['format.json']);
});

// Where the system knows the folder above, and says that it is not there.
(existsSync('/proc/self') ? test : test.skip)('one where no folder can be is refused at once', () => {
  expect(() => prepareDataFolder('/proc/quiver-data', log)).toThrow(
    /the data folder \/proc\/quiver-data cannot be made: ENOENT/,
  );
});

test('one that cannot be made is refused in one line', () => {
  writeFileSync(join(folder, 'file'), '');
  expect(() => prepareDataFolder(join(folder, 'file', 'data'), log)).toThrow(
    expect.objectContaining({
      kind: 'storage_failed',
      message: expect.stringMatching(/^the data folder [^\n]*file\/data cannot be made: [^\n]*$/),
    }),
  );
});

test('what a trial left whose process ended is removed, and nothing else', () => {
  const left = ['.trial-0b6a8b1e-5f0d-4c1e-9a53-2f1f0b9f7c11', '.trial-', '.trial-x', 'trial'];
  for (const name of left) writeFileSync(join(folder, name), '');
  prepareDataFolder(folder, log);
  expect(readdirSync(folder).sort()).toEqual(['.trial-', '.trial-x', 'format.json', 'trial']);
});
