import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** What several threads do with the vector index at once, under ThreadSanitizer. FAISS itself is linked without it. */

const root = resolve(__dirname, '../..');

/**
 * Compiles the addon's sources without what speaks to Node into FOLDER, and links them with each of the stories. Most
 * of them as one source, because the headers of FAISS take longer than all that follows them; not what has local names
 * that others have, too.
 */
const BUILD = `
  import { spawnSync } from 'node:child_process';
  import { join } from 'node:path';
  import { ADDONS, COMPILER, compileFlags, filesOf, foldersOf, linkFlags } from './scripts/make/build-native.mjs';
  const { FOLDER, STORIES } = process.env;
  const addon = ADDONS.find(({ name }) => name === 'vectors');
  const flags = [...compileFlags(addon), '-O1', '-g1', '-fsanitize=thread', '-Inode/engine/native'];
  const forNode = /(?:addon|index_object|index_tasks|index_save|checked_file|boost_calls|filter_calls|filter_count_calls|filter_order_calls|arguments|task)\\.cc$/;
  const sources = foldersOf(addon).flatMap((folder) => filesOf(folder, /\\.cc$/)).filter((file) => !forNode.test(file));
  const apart = sources.filter((file) => /(?:kernels_\\w+|codes|row_store|filter_\\w+|heap|posting|dictionary_keys)\\.cc$/.test(file));
  const together = sources.filter((file) => !apart.includes(file)).map((file) => '#include "' + file + '"\\n').join('');
  const objects = [[together, '-x', 'c++', '-'], ...apart.map((file) => ['', file])].map(([input, ...source], i) => {
    const object = join(FOLDER, i + '.o');
    run(['-c', ...source, '-o', object], input);
    return object;
  });
  const link = linkFlags(addon).filter((flag) => !['-shared', '-bundle'].includes(flag));
  for (const story of STORIES.split(' ')) run(['test/support/native/' + story + '.cc', ...objects, '-o', join(FOLDER, story), ...link]);

  function run(words, input) {
    const { status, stderr } = spawnSync(COMPILER, [...flags, ...words], { input, encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
  }
`;

const STORIES = [
  [
    'threads search an index inline while its owner puts, removes, builds, calibrates, compacts and closes',
    'inline-search-race',
  ],
  [
    'threads search a store on the disk while its codes go into a file, its rows are removed, and it is sealed and closed',
    'segment-race',
  ],
  ['threads evaluate filters while the owner of the index puts, removes and replaces slots', 'filter-race'],
];

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'native-races-'));
  const env = { ...process.env, STORIES: STORIES.map(([, story]) => story).join(' '), FOLDER: folder };
  const built = spawnSync(process.execPath, ['--input-type=module', '-e', BUILD], { cwd: root, env, encoding: 'utf8' });
  expect(built.stderr).toBe('');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(STORIES)('%s', (_, story) => {
  const { status, stdout, stderr } = spawnSync(join(folder, story), [folder], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(Number(/^(\d+) answers\n$/.exec(stdout)?.[1])).toBeGreaterThan(50);
});
