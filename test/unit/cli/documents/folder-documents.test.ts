import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { documentsIn } from '../../../../cli/documents/folder-documents';
import { EXIT_CODES } from '../../../../cli/command-error';

/** Which files of a folder are documents, and under which keys. */

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'quiver-folder-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(...names: string[]): void {
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), 'A text.');
  }
}

const path = (...names: string[]): string => join(folder, ...names);

async function found(paths: string[], prefix?: string) {
  const { files, failed, ...more } = await documentsIn(paths, prefix);
  return { keys: files.map(({ key }) => key), failed: failed.map(({ file }) => relative(folder, file)), ...more };
}

const usage = (message: string) => ({ exitCode: EXIT_CODES.usage, message: expect.stringContaining(message) });

test('files are found by their endings, at any depth, in the order of their keys', async () => {
  write('b.md', 'a/z.TXT', 'a/b/c.jsonl', 'a.pdf', 'x.png', 'noending', '.hidden.md', '.git/readme.md', '_index.md');
  expect(await found([folder])).toEqual({
    keys: ['_index.md', 'a.pdf', 'a/b/c.jsonl', 'a/z.TXT', 'b.md'],
    failed: [],
    ignored: 4,
    linkedFolders: [],
  });
});

test('links to files are read, also those to nothing, and linked folders are told and left', async () => {
  write('a/one.md');
  symlinkSync(path('a/one.md'), path('linked.md'));
  symlinkSync(path('nothing'), path('lost.md'));
  symlinkSync(path('loop.md'), path('loop.md'));
  symlinkSync(folder, path('a/circle'));
  symlinkSync('/', path('root.md'));
  expect(await found([folder])).toEqual({
    keys: ['a/one.md', 'linked.md', 'loop.md', 'lost.md'],
    failed: [],
    ignored: 2,
    linkedFolders: [path('a/circle'), path('root.md')].sort((a, b) => (a < b ? -1 : 1)),
  });
  // Given by its own path, it is a folder as any.
  expect((await found([path('a/circle/a')])).keys).toEqual(['one.md']);
});

test('each file is taken once, and two that would be one document are refused', async () => {
  write('a/read.md', 'b/read.md', 'c.md');
  expect((await found([folder, folder, path('c.md'), path('a/read.md'), path('a')])).keys).toEqual([
    'a/read.md',
    'b/read.md',
    'c.md',
  ]);
  await expect(documentsIn([path('a'), path('b')])).rejects.toMatchObject(usage('would be one document, "read.md"'));
  await expect(documentsIn([path('a/read.md'), path('b/read.md')])).rejects.toMatchObject(usage('--prefix'));
});

test('a prefix stands before each key, and the folder that was given tells files of one key apart', async () => {
  write('a/read.md', 'b/read.md', 'b/deep/more.md');
  expect((await found([path('b')], 'of b/')).keys).toEqual(['of b/deep/more.md', 'of b/read.md']);
  const originOf = async (given: string): Promise<string> => (await documentsIn([given])).files[0].origin;
  expect(await originOf(path('a'))).toMatch(/^[0-9a-f]{16}$/);
  expect(await originOf(path('a'))).toBe(await originOf(`${path('a')}/../a/`));
  expect(await originOf(path('a'))).not.toBe(await originOf(path('b')));
});

test('what is not there, is no file, or holds nothing is refused', async () => {
  mkdirSync(path('empty'));
  write('pictures/a.png');
  execFileSync('mkfifo', [path('pipe.md')]);
  await expect(documentsIn([path('gone')])).rejects.toMatchObject(usage('there is no such file or folder'));
  await expect(documentsIn([path('pipe.md')])).rejects.toMatchObject(usage('pipe or a device'));
  await expect(documentsIn([path('empty'), path('pictures')])).rejects.toMatchObject(usage('endings txt, md'));
  // In a folder, a pipe is none of its documents.
  write('pipes/a.md');
  execFileSync('mkfifo', [path('pipes/b.md')]);
  expect(await found([path('pipes')])).toMatchObject({ keys: ['a.md'], ignored: 1 });
});

test('names that are no UTF-8 fail by themselves', async () => {
  write('good.md');
  const bad = (name: string): Buffer => Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, 'latin1')]);
  try {
    writeFileSync(bad('caf\xe9.md'), 'A text.');
    mkdirSync(bad('d\xfcrr'));
  } catch {
    // There are file systems that take none.
    return;
  }
  const { files, failed } = await documentsIn([folder]);
  expect(files.map(({ key }) => key)).toEqual(['good.md']);
  expect(failed.map(({ error }) => error)).toEqual(Array(2).fill('its name is no UTF-8: give it another one'));
});

test('a folder that may not be read fails by itself', async () => {
  write('good.md', 'closed/a.md');
  chmodSync(path('closed'), 0);
  try {
    // Who is root may read all.
    const expected = process.getuid?.() === 0 ? [] : ['closed'];
    expect((await found([folder])).failed).toEqual(expected);
  } finally {
    chmodSync(path('closed'), 0o700);
  }
});
