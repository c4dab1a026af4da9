const { mkdirSync, readdirSync, readlinkSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
// Jest makes JavaScript of it.
const { DATA_PARENT } = require('../../test/support/memory-folder.ts');

/**
 * Gives a run of tests a folder for temporary files in memory, where there is enough of it: most make small files, sync
 * them and remove them. It goes with the run; what a run that was killed left goes with the next.
 */
module.exports = () => {
  if (DATA_PARENT === tmpdir()) return;
  // Containers may share the memory, and number their processes each by itself.
  const [processes] = /\d+/.exec(readlinkSync('/proc/self/ns/pid')) ?? [''];
  const name = `quiver-temporary-${processes}-`;
  for (const found of readdirSync(DATA_PARENT))
    if (found.startsWith(name) && !isAlive(Number(found.slice(name.length)))) remove(join(DATA_PARENT, found));
  const folder = join(DATA_PARENT, `${name}${process.pid}`);
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
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // Another user's, or somebody still writes there: no reason for tests to fail.
  }
}
