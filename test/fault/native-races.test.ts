import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** What several threads do with the vector index at once, under ThreadSanitizer. FAISS itself is linked without it. */

const root = resolve(__dirname, '../..');

/**
 * Compiles what is below FOLDER, without what speaks to Node, together with the story. Most of it as one source, because
 * the headers of FAISS take longer than all that follows them; not what has local names that others have, too.
 */
const BUILD = `
  import { spawnSync } from 'node:child_process';
  import { ADDONS, COMPILER, compileFlags, filesOf, foldersOf, linkFlags } from './scripts/build-native.mjs';
  const addon = ADDONS.find(({ name }) => name === 'vectors');
  const forNode = /(?:addon|index_object|index_tasks|index_save|checked_file|filter_calls|arguments|task)\\.cc$/;
  const folders = foldersOf(addon).filter((folder) => folder.endsWith(process.env.FOLDER));
  const sources = folders.flatMap((folder) => filesOf(folder, /\\.cc$/)).filter((file) => !forNode.test(file));
  const apart = sources.filter((file) => /(?:kernels_\\w+|row_store|filter_\\w+|heap|posting|dictionary_keys)\\.cc$/.test(file));
  const together = [...sources.filter((file) => !apart.includes(file)), process.env.STORY];
  const input = together.map((file) => '#include "' + file + '"\\n').join('');
  const flags = [...compileFlags(addon), '-O1', '-g', '-fsanitize=thread', '-Inode/native', '-Inode/native/filter'];
  const link = linkFlags(addon).filter((flag) => !['-shared', '-bundle'].includes(flag));
  const { status, stderr } = spawnSync(COMPILER, [...flags, '-x', 'c++', '-', '-x', 'none', ...apart, '-o', process.env.PROGRAM, ...link], { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
`;

test.each([
  ['threads search an index inline while its owner puts, removes, builds, calibrates, compacts and closes', 'inline-search-race', ''],
  ['threads evaluate filters while the owner of the index puts, removes and replaces slots', 'filter-race', '/filter'],
])('%s', (_, story, below) => {
  const folder = mkdtempSync(join(tmpdir(), 'native-races-'));
  try {
    const program = join(folder, story);
    const env = { ...process.env, STORY: join(root, `test/support/native/${story}.cc`), FOLDER: below, PROGRAM: program };
    const built = spawnSync(process.execPath, ['--input-type=module', '-e', BUILD], { cwd: root, env, encoding: 'utf8' });
    expect(built.stderr).toBe('');
    const { status, stdout, stderr } = spawnSync(program, [folder], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(Number(/^(\d+) answers\n$/.exec(stdout)?.[1])).toBeGreaterThan(100);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
