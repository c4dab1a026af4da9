const { mkdirSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
// Jest makes JavaScript of it.
const { DATA_PARENT } = require('../../test/support/memory-folder.ts');

/** Before the number of the process that runs the tests. */
const NAME = 'quiver-tests-';

/**
 * Gives a run of tests a folder for temporary files in memory, where there is enough of it: most make small files, sync
 * them and remove them. It goes with the run; what a run that was killed left goes with the next.
 */
module.exports = () => {
  if (DATA_PARENT === tmpdir()) return;
  for (const name of readdirSync(DATA_PARENT))
    if (name.startsWith(NAME) && !isAlive(Number(name.slice(NAME.length)))) remove(join(DATA_PARENT, name));
  const folder = join(DATA_PARENT, `${NAME}${process.pid}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  process.env.TMPDIR = folder;
  process.once('exit', () => remove(folder));
};

/** @param {number} pid */
function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** @param {string} folder */
function remove(folder) {
  rmSync(folder, { recursive: true, force: true });
}
