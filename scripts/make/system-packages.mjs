// The compiler and libraries that the native addons need, as packages of Debian, Fedora and macOS.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const LIBRARY_FOLDERS = [
  '/usr/lib',
  '/usr/lib64',
  '/usr/local/lib',
  '/opt/homebrew/lib',
  '/opt/homebrew/opt/openblas/lib',
  '/usr/local/opt/openblas/lib',
];
const INCLUDE_FOLDERS = ['/usr/include', '/usr/local/include', '/opt/homebrew/include'];

/**
 * A requirement, and the packages that provide it.
 * @typedef {{ isThere: () => boolean, debian: string, fedora: string, macos: string }} Requirement
 */

/** @type {Requirement[]} */
const REQUIREMENTS = [
  { isThere: () => process.env.CXX !== undefined || hasCommand('g++'), debian: 'g++', fedora: 'gcc-c++', macos: 'gcc' },
  { isThere: () => hasHeader('faiss/IndexHNSW.h'), debian: 'libfaiss-dev', fedora: 'faiss-devel', macos: 'faiss' },
  { isThere: () => hasHeader('rocksdb/db.h'), debian: 'librocksdb-dev', fedora: 'rocksdb-devel', macos: 'rocksdb' },
  {
    isThere: () => process.platform === 'darwin' || hasLibrary('openblas') || hasLibrary('blas'),
    debian: 'libopenblas-dev',
    fedora: 'openblas-devel',
    macos: 'openblas',
  },
  {
    isThere: () => process.platform === 'darwin' || hasLibrary('lapack'),
    debian: 'liblapack-dev',
    fedora: 'lapack-devel',
    macos: 'lapack',
  },
];

/** Needed only for a cluster on this machine. */
const ETCD = { isThere: () => hasCommand('etcd'), debian: 'etcd-server', fedora: 'etcd', macos: 'etcd' };

/** Needed only for the tests of the dashboard. Its fonts come with it. */
const CHROMIUM = {
  isThere: () => ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'].some(hasCommand),
  debian: 'chromium',
  fedora: 'chromium',
  macos: '--cask chromium',
};

/**
 * Ensures that Chromium is installed, as `ensureSystemPackages` does for the rest.
 * @param {{ log: (line: string) => void }} options
 */
export function ensureChromium({ log }) {
  return ensure([CHROMIUM], log);
}

/**
 * Ensures that etcd is installed, as `ensureSystemPackages` does for the rest.
 * @param {{ log: (line: string) => void }} options
 */
export function ensureEtcd({ log }) {
  return ensure([ETCD], log);
}

/** The same for a command that starts clusters: says what it installs, or ends the process with what is missing. */
export async function ensureEtcdOrExit() {
  try {
    await ensureEtcd({ log: (line) => console.log(`setup: ${line}`) });
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

/**
 * Ensures that everything is installed. Missing packages are installed with apt if this process may do that (as root,
 * or by sudo without a password). Errors: a plain Error otherwise, whose message names the packages.
 * @param {{ log: (line: string) => void }} options
 */
export function ensureSystemPackages({ log }) {
  return ensure(REQUIREMENTS, log);
}

/**
 * @param {Requirement[]} requirements
 * @param {(line: string) => void} log
 */
async function ensure(requirements, log) {
  const missing = requirements.filter((requirement) => !requirement.isThere());
  if (missing.length === 0) return;
  const packages = missing.map((requirement) => requirement.debian);
  const asRoot = rootPrefix();
  if (hasCommand('apt-get') && asRoot !== null) {
    log(`installing Debian packages: ${packages.join(' ')}`);
    await installWithApt(packages, asRoot);
    const left = missing.filter((requirement) => !requirement.isThere());
    if (left.length === 0) return;
  }
  throw new Error(
    [
      'Quiver needs packages that are missing here and cannot be installed without root. Install them and start again:',
      `  Debian, Ubuntu:  sudo apt-get install ${packages.join(' ')}`,
      `  Fedora:          sudo dnf install ${missing.map((requirement) => requirement.fedora).join(' ')}`,
      `  macOS:           brew install ${missing.map((requirement) => requirement.macos).join(' ')}`,
    ].join('\n'),
  );
}

/** The words that make a command run as root; null if that is impossible without asking for a password. */
function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  if (hasCommand('sudo') && spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0)
    return ['sudo', '-n', 'DEBIAN_FRONTEND=noninteractive'];
  return null;
}

/**
 * @param {string[]} packages
 * @param {string[]} asRoot
 */
async function installWithApt(packages, asRoot) {
  /** @type {(...words: string[]) => Promise<{ isDone: boolean, errors: string }>} */
  const apt = (...words) => {
    const [command, ...rest] = [...asRoot, 'apt-get', '-qq', ...words];
    const child = spawn(command, rest, {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
    return new Promise((done) => {
      child.on('error', (error) => done({ isDone: false, errors: String(error) }));
      child.on('close', (code) => done({ isDone: code === 0, errors }));
    });
  };
  const install = () => apt('install', '-y', '--no-install-recommends', ...packages);
  let result = await install();
  if (!result.isDone) {
    // The usual reason on a fresh machine: its package lists were never fetched, or are too old.
    await apt('update');
    result = await install();
  }
  if (!result.isDone) throw new Error(`apt-get could not install ${packages.join(' ')}:\n${result.errors.trim()}`);
}

/** @param {string} name */
function hasCommand(name) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, name)));
}

/** @param {string} name */
function hasHeader(name) {
  return INCLUDE_FOLDERS.some((folder) => existsSync(join(folder, name)));
}

/**
 * Looks in the folders above and, for Debian's layout, one level below /usr/lib.
 * @param {string} name
 */
function hasLibrary(name) {
  const multiarch = existsSync('/usr/lib')
    ? readdirSync('/usr/lib')
        .filter((entry) => /-linux-gnu/.test(entry))
        .map((entry) => join('/usr/lib', entry))
    : [];
  return [...LIBRARY_FOLDERS, ...multiarch].some((folder) =>
    ['so', 'a', 'dylib'].some((ending) => existsSync(join(folder, `lib${name}.${ending}`))),
  );
}
