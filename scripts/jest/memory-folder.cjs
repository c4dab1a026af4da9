const { spawn } = require('node:child_process');
const { mkdirSync, readdirSync, readlinkSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
// Jest makes JavaScript of it.
const { hasRoom, MEMORY, RUN_IN_MEMORY, RUN_ON_DISK, temporaryFolder } = require('../../test/support/memory-folder.ts');

/**
 * Gives a run of tests a folder for temporary files in memory, where there is enough of it: most make small files, sync
 * them and remove them. It goes with the run, also with one that is killed.
 */
module.exports = () => {
  if (!hasRoom() || process.env[RUN_IN_MEMORY] !== undefined) return;
  // Containers may share the memory, and number their processes each by itself.
  const [processes] = /\d+/.exec(readlinkSync('/proc/self/ns/pid')) ?? [''];
  const name = `quiver-temporary-${processes}-`;
  for (const found of readdirSync(MEMORY))
    if (found.startsWith(name) && !isAlive(Number(found.slice(name.length)))) remove(join(MEMORY, found));
  const folder = join(MEMORY, `${name}${process.pid}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  process.env[RUN_ON_DISK] = tmpdir();
  process.env[RUN_IN_MEMORY] = folder;
  // In each worker, the environment of each test file chooses anew.
  process.env.TMPDIR = temporaryFolder();
  process.once('exit', () => remove(folder));
  removeAfterwards(folder);
};

/**
 * Removes it when this process is gone, whatever ends it: the pipe ends then. What workers wrote after that goes with
 * the next run.
 *
 * @param {string} folder
 */
function removeAfterwards(folder) {
  const words = ['-c', 'trap "" INT TERM HUP; read -r _; rm -rf "$1"', 'sh', folder];
  const remover = spawn('sh', words, { detached: true, cwd: '/', stdio: ['pipe', 'ignore', 'ignore'] });
  remover.on('error', () => undefined);
  remover.unref();
  const { stdin } = remover;
  stdin.on('error', () => undefined);
  if ('unref' in stdin) /** @type {import('node:net').Socket} */ (stdin).unref();
}

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
