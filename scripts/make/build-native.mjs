// Builds the native addons with the machine's own C++ compiler: one call per source file, one to link. Headers come
// from node-api-headers and node-addon-api, so nothing is downloaded. An addon is not built again if its sources,
// flags, compiler and Node ABI are the same as in its last build.
//
//   node scripts/make/build-native.mjs
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * @typedef {{ name: string, folder: string, inner?: string[], library: 'faiss' | 'rocksdb' | null, common: boolean }}
 * Addon
 */

/**
 * Every addon: the sources in `folder`, and in those `inner` ones, become `folder`/build/`name`.node; `library` is
 * linked in, and `common` says whether the sources in COMMON_FOLDER are included.
 * @type {Addon[]}
 */
export const ADDONS = [
  {
    name: 'vectors',
    folder: 'node/engine/native',
    inner: ['cells', 'codes', 'files', 'filter', 'graph', 'lists', 'rows', 'search'],
    library: 'faiss',
    common: true,
  },
  { name: 'body-scanner', folder: 'coordinator/api/native', library: null, common: false },
  { name: 'store', folder: 'node/engine/kv/native', library: 'rocksdb', common: true },
];

/** Arguments, tasks and errors of a Node-API addon. */
export const COMMON_FOLDER = 'node/engine/native/common';

/** Where libraries may be, besides the compiler's own paths: Debian's multiarch folders and Homebrew. */
const LIBRARY_FOLDERS = [
  '/usr/lib',
  '/usr/lib64',
  '/usr/local/lib',
  `/usr/lib/${{ x64: 'x86_64', arm64: 'aarch64' }[String(process.arch)] ?? process.arch}-linux-gnu`,
  '/opt/homebrew/lib',
  '/opt/homebrew/opt/libomp/lib',
  '/opt/homebrew/opt/openblas/lib',
  '/usr/local/opt/libomp/lib',
  '/usr/local/opt/openblas/lib',
];

export const COMPILER = process.env.CXX || 'g++';
const IS_MAC = process.platform === 'darwin';

/**
 * Builds what is out of date. `log` gets one line per addon built. Resolves to the names of these addons. Rejects with
 * an Error whose message is one line for the user (a missing compiler or library, or the compiler's first error).
 * @param {{ log?: (line: string) => void }} [options]
 */
export async function buildNative({ log = () => {} } = {}) {
  const compile = limited(availableParallelism());
  const names = await Promise.allSettled(ADDONS.map((addon) => buildAddon(addon, { log, compile })));
  const failed = names.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return names.flatMap((result) => (result.status === 'fulfilled' && result.value !== null ? [result.value] : []));
}

/**
 * Builds one addon if it is out of date. Answers its name, otherwise null.
 * @param {Addon} addon
 * @param {{ log: (line: string) => void, compile: ReturnType<typeof limited> }} parts
 */
async function buildAddon(addon, { log, compile }) {
  const folders = foldersOf(addon);
  const sources = folders.flatMap((one) => filesOf(one, /\.cc$/));
  if (sources.length === 0) return null;
  const build = join(ROOT, addon.folder, 'build');
  const output = join(build, `${addon.name}.node`);
  const stamp = join(build, `${addon.name}.stamp`);
  const flags = compileFlags(addon);
  const key = fingerprint(folders, flags, linkFlags(addon));
  if (existsSync(output) && existsSync(stamp) && readFileSync(stamp, 'utf8') === key) return null;

  log(`compiling ${addon.folder} (C++), which takes a minute or more`);
  const started = performance.now();
  const objects = join(build, `objects-${process.pid}`);
  mkdirSync(objects, { recursive: true });
  try {
    const objectOf = (/** @type {string} */ source) => join(objects, `${basename(source)}.o`);
    await settledAll(
      sources.map((source) => compile(() => run(COMPILER, [...flags, '-c', source, '-o', objectOf(source)]))),
    );
    const linked = join(objects, `${addon.name}.node`);
    await run(COMPILER, [...sources.map(objectOf), '-o', linked, ...linkFlags(addon)]);
    renameSync(linked, output);
    writeFileSync(stamp, key);
  } finally {
    rmSync(objects, { recursive: true, force: true });
  }
  log(`built ${addon.folder}/build/${addon.name}.node, after ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return addon.name;
}

/**
 * The folders of an addon's sources.
 * @param {Addon} addon
 */
export function foldersOf(addon) {
  const inner = (addon.inner ?? []).map((name) => join(addon.folder, name));
  return [addon.folder, ...inner, ...(addon.common ? [COMMON_FOLDER] : [])].map((folder) => join(ROOT, folder));
}

/** @param {Addon} addon */
export function compileFlags(addon) {
  const require = createRequire(join(ROOT, 'package.json'));
  const flags = [
    '-O3',
    `-std=c++${addon.library === 'rocksdb' ? rocksdbStandard() : 17}`,
    '-fPIC',
    '-fvisibility=hidden',
    '-DNAPI_VERSION=8',
    '-DNODE_GYP_MODULE_NAME=addon',
  ];
  flags.push('-Wall', '-Wextra', '-Wno-uninitialized', '-Wno-maybe-uninitialized');
  // A switch over an enum names every value: a new one that is forgotten somewhere does not compile.
  flags.push('-Werror=switch', '-Werror=switch-enum', '-Werror=return-type');
  // The oldest x86 with the byte shuffles and the CRC instruction that the code uses; faster kernels are chosen at run
  // time.
  if (process.arch === 'x64') flags.push('-march=x86-64-v2');
  for (const [module, inner] of [
    ['node-api-headers', 'include'],
    ['node-addon-api', ''],
  ]) {
    try {
      flags.push(`-I${join(dirname(require.resolve(`${module}/package.json`)), inner)}`);
    } catch {
      throw new Error(`the package ${module} is missing: run npm ci first`);
    }
  }
  if (addon.common) flags.push(`-I${join(ROOT, COMMON_FOLDER)}`);
  if (addon.inner) flags.push(`-I${join(ROOT, addon.folder)}`);
  if (addon.library === 'rocksdb' && IS_MAC)
    flags.push(...existing(['/opt/homebrew/include', '/usr/local/include'], '-I'));
  if (addon.library === 'faiss') {
    flags.push(...(IS_MAC ? ['-Xpreprocessor', '-fopenmp'] : ['-fopenmp']));
    if (IS_MAC)
      flags.push(
        ...existing(
          ['/opt/homebrew/include', '/opt/homebrew/opt/libomp/include', '/usr/local/opt/libomp/include'],
          '-I',
        ),
      );
  }
  return flags;
}

/** @param {Addon} addon */
export function linkFlags(addon) {
  const flags = IS_MAC
    ? ['-bundle', '-undefined', 'dynamic_lookup']
    : ['-shared', '-Wl,--gc-sections', '-Wl,--as-needed', '-pthread'];
  if (addon.library === null) return flags;
  if (IS_MAC) flags.push(...existing(LIBRARY_FOLDERS, '-L'));
  if (addon.library === 'rocksdb') {
    if (!findLibrary(['librocksdb.so', 'librocksdb.dylib']))
      throw new Error(
        'RocksDB is missing: install librocksdb-dev (Debian), rocksdb-devel (Fedora) or rocksdb (Homebrew)',
      );
    return [...flags, '-lrocksdb'];
  }
  const faiss = findLibrary(['libfaiss.a']) ?? (findLibrary(['libfaiss.so', 'libfaiss.dylib']) && '-lfaiss');
  if (!faiss)
    throw new Error('FAISS is missing: install libfaiss-dev (Debian), faiss-devel (Fedora) or faiss (Homebrew)');
  const blas = ['openblas', 'blas'].find((name) => findLibrary([`lib${name}.so`, `lib${name}.a`, `lib${name}.dylib`]));
  if (!blas && !IS_MAC)
    throw new Error('a BLAS is missing: install libopenblas-dev (Debian) or openblas-devel (Fedora)');
  flags.push(faiss, blas ? `-l${blas}` : '-framework Accelerate');
  if (findLibrary(['liblapack.so', 'liblapack.a'])) flags.push('-llapack');
  flags.push(IS_MAC ? '-lomp' : '-fopenmp');
  return flags.flatMap((flag) => flag.split(/(?<=^-framework) /));
}

/** RocksDB's headers need C++20 from version 10 on; C++17 compiles a quarter faster, so it is used before that. */
function rocksdbStandard() {
  const file = ['/usr/include', '/usr/local/include', '/opt/homebrew/include']
    .map((folder) => join(folder, 'rocksdb', 'version.h'))
    .find((path) => existsSync(path));
  const major = file === undefined ? null : /define ROCKSDB_MAJOR (\d+)/.exec(readFileSync(file, 'utf8'));
  return major !== null && Number(major[1]) < 10 ? 17 : 20;
}

/** @param {string[]} names */
function findLibrary(names) {
  for (const folder of LIBRARY_FOLDERS) {
    for (const name of names) {
      if (existsSync(join(folder, name))) return join(folder, name);
    }
  }
  return undefined;
}

/**
 * @param {string[]} folders
 * @param {string} flag
 */
function existing(folders, flag) {
  return folders.filter((folder) => existsSync(folder)).map((folder) => flag + folder);
}

/**
 * Paths of a folder's files whose names match, in order.
 * @param {string} folder
 * @param {RegExp} name
 */
export function filesOf(folder, name) {
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((file) => name.test(file))
        .sort()
        .map((file) => join(folder, file))
    : [];
}

/**
 * @param {string[]} folders
 * @param {unknown[]} parts
 */
export function fingerprint(folders, ...parts) {
  const hash = createHash('sha256');
  hash.update(
    JSON.stringify([process.versions.modules, process.versions.napi, process.platform, process.arch, COMPILER, parts]),
  );
  for (const file of folders.flatMap((folder) => filesOf(folder, /\.(cc|h)$/))) {
    hash.update(`\n${file.slice(ROOT.length)}\n`).update(readFileSync(file));
  }
  return hash.digest('hex');
}

/**
 * Runs the given work, at most `slots` pieces at a time.
 * @param {number} slots
 */
export function limited(slots) {
  /** @type {((turn?: unknown) => void)[]} */
  const waiting = [];
  let free = slots;
  /** @type {<Result>(work: () => Promise<Result>) => Promise<Result>} */
  return async (work) => {
    if (free === 0) await new Promise((turn) => waiting.push(turn));
    else free -= 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

/**
 * Waits for all promises, then rejects with the first failure: nothing may be removed while a compiler still writes.
 * @param {Promise<unknown>[]} promises
 */
export async function settledAll(promises) {
  const failed = (await Promise.allSettled(promises)).find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

/**
 * Runs a compiler; a failure becomes its first error line.
 * @param {string} command
 * @param {string[]} args
 * @returns {Promise<void>}
 */
export function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let messages = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (messages += text));
    child.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      reject(
        new Error(
          error.code === 'ENOENT'
            ? `no C++ compiler: ${command} is not there; install g++ or set CXX`
            : String(error.message),
        ),
      );
    });
    child.on('close', (code) => {
      if (code === 0) return resolve();
      const line =
        messages.split('\n').find((text) => /error|undefined reference|cannot find/i.test(text)) ?? `exit code ${code}`;
      reject(new Error(`${command} failed: ${line.trim()}`));
    });
  });
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) {
  buildNative({ log: (line) => console.log(line) }).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
