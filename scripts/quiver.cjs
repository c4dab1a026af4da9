#!/usr/bin/env node
// `quiver <role>`: runs one role of the service in this process. `quiver check-config [role]`: prints the settings that
// this role would use. `quiver etcd-users`: switches etcd's authentication on. `quiver repair`: what of a data folder
// is gone, and what is to become of it.  Every other word is a command of cli/ (docs/command-line.md). Needs a checkout
// or image that is set up, or npm's package, whose first start builds its native parts where no package has them built.
// This file is CommonJS, because loading an ES module already uses libuv's thread pool, whose size is fixed at its first
// use.
const { availableParallelism } = require('node:os');
const { join, resolve } = require('node:path');
const { loadProgram } = require('./load-program.cjs');

const DIST = join(__dirname, '..', 'dist');
/** For RocksDB's calls: a waiting fsync must not keep a search from its core. The same as libuv's default. */
const STORAGE_THREADS = 4;

/** @type {Record<string, { searchThreads: number }>} */
const ROLES = {
  embedded: { searchThreads: availableParallelism() },
  coordinator: { searchThreads: 0 },
  node: { searchThreads: availableParallelism() },
};

/** What is run from here besides; everything else is the command line of cli/, which a service does not load. */
const OTHERS = ['check-config', 'etcd-users', 'repair'];

/** @type {Record<string, string>} */
const PARAMETERS = { 'check-config': ' [role]', serve: ' FOLDER' };

/**
 * Sets the size of libuv's thread pool for a role, unless UV_THREADPOOL_SIZE is set. No effect once the pool was used.
 * @param {string} role
 */
function sizeThreadPool(role) {
  process.env.UV_THREADPOOL_SIZE ??= String(ROLES[role].searchThreads + STORAGE_THREADS);
}

/** @param {string} role */
function become(role) {
  sizeThreadPool(role);
  const load = () => loadProgram(join(DIST, 'programs', `${role}.js`));
  const problem = require(join(DIST, 'shared', 'base', 'process', 'addon-file.js')).addonsProblem();
  if (problem === null) load();
  // The first start of a package that npm has installed on a platform without built addons.
  else void import('./setup.mjs').then(({ setUpNativeOrExit }) => setUpNativeOrExit(problem)).then(load);
}

/**
 * What is written to a reader that has gone (`| head`) or to a full disk ends what only prints, without a stack:
 * nothing else is left to do. A service looks after that by itself, and so do the commands of cli/.
 */
function endWithOutput() {
  process.stdout.on('error', (error) => {
    if (error.code !== 'EPIPE') process.stderr.write(`standard output: ${error.message}\n`);
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
  process.stderr.on('error', () => undefined);
}

/**
 * A folder; for a program's own service `--private SOCKET` (embedded/main.ts).
 * @param {string[]} words
 */
function isServe([folder = '-', option, socket = '', ...more]) {
  return (
    !folder.startsWith('-') && (option === undefined || (option === '--private' && socket !== '')) && more.length === 0
  );
}

/** @param {string[]} words */
function run([word = '', ...rest]) {
  const asksForHelp = rest.some((option) => option === '--help' || option === '-h');
  if (OTHERS.includes(word)) endWithOutput();
  if (Object.hasOwn(ROLES, word) && rest.length === 0) {
    become(word);
  } else if (word === 'serve' && isServe(rest)) {
    process.env.DATA_DIR = resolve(rest[0]);
    become('embedded');
  } else if (word === 'check-config' && !asksForHelp) {
    require(join(DIST, 'shared', 'base', 'config', 'check-config.js'));
  } else if (word === 'repair') {
    require(join(DIST, 'embedded', 'repair.js'));
  } else if (word === 'etcd-users' && rest.length === 0) {
    require(join(DIST, 'shared', 'member', 'etcd-users-command.js'));
  } else if (asksForHelp || (!OTHERS.includes(word) && word !== 'serve' && !Object.hasOwn(ROLES, word))) {
    void require(join(DIST, 'cli', 'main.js')).main(
      word === '' ? [] : [word, ...rest],
      require('../package.json').version,
      __dirname,
    );
  } else {
    process.stderr.write(
      `usage: quiver ${word}${PARAMETERS[word] ?? ''}\nThe environment configures it: see docs/configuration.md.\n`,
    );
    process.exitCode = 2;
  }
}

if (require.main === module) run(process.argv.slice(2));

module.exports = { become, sizeThreadPool };
