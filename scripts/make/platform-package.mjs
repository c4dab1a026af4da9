// Makes the package with the built addons of this platform, which Quiver loads where npm has installed it beside:
// vectors.node, store.node, body-scanner.node, the shared libraries that they need besides glibc and the C++ library,
// and the licences of all. The libraries are found beside the addons, wherever the package lies. Debian's packages of
// docs/release.md have to be installed.
//
//   node scripts/make/platform-package.mjs FOLDER
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  ADDONS,
  COMPILER,
  compileFlags,
  filesOf,
  fingerprint,
  foldersOf,
  limited,
  linkFlags,
  run,
  settledAll,
} from './build-native.mjs';
import { ROOT } from '../setup.mjs';

/** What every system with this glibc and with Node has by itself. */
const OF_THE_SYSTEM = /^(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s))\.so/;

/**
 * The oldest glibc with which a package may be used, however little it asks for: systems with it have the C++ library
 * of GCC 12, which RocksDB needs.
 */
const GLIBC_MIN = '2.35';

/** Paths in the set-up's folder: an addon whose sources are the same is linked again, not compiled. */
const OBJECTS = join(ROOT, '.setup', 'platform');

/**
 * Fills `folder`, which must not exist, and answers its name and the glibc that it needs. Rejects with an Error for the
 * user.
 * @param {string} folder
 * @param {{ log?: (line: string) => void }} [options]
 */
export async function makePlatformPackage(folder, { log = () => {} } = {}) {
  if (process.platform !== 'linux') throw new Error('platform packages are made on Linux');
  if (existsSync(folder)) throw new Error(`${folder} exists`);
  mkdirSync(folder, { recursive: true });
  const compile = limited(availableParallelism());
  const files = [];
  for (const addon of ADDONS) {
    log(`the addon ${addon.name}`);
    const file = join(folder, `${addon.name}.node`);
    const objects = await objectsOf(addon, compile);
    // Of a library's own needs, only the older kind of path is asked as well.
    const place = ['-Wl,--disable-new-dtags', '-Wl,-rpath,$ORIGIN', '-s'];
    await run(COMPILER, [...objects, '-o', file, ...linkFlags(addon), ...place]);
    files.push(file);
  }
  const libraries = new Map(files.flatMap(librariesOf));
  for (const [name, path] of libraries) {
    const copy = join(folder, name);
    copyFileSync(realpathSync(path), copy);
    execFileSync('strip', ['--strip-unneeded', copy]);
    files.push(copy);
  }
  copyLicences(folder, [...libraries.values()]);
  const glibc = [GLIBC_MIN, ...files.map(glibcOf)].sort(byVersion).at(-1) ?? GLIBC_MIN;
  const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const name = `@quiver/${process.platform}-${process.arch}`;
  const manifest = {
    name,
    version: own.version,
    description: `The native parts of Quiver for ${process.platform}-${process.arch}, built. Quiver installs it by itself.`,
    license: 'SEE LICENSE IN LICENSES.txt',
    os: [process.platform],
    cpu: [process.arch],
    libc: ['glibc'],
    engines: own.engines,
    quiver: { glibc },
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return { name, glibc };
}

/**
 * @param {import('./build-native.mjs').Addon} addon
 * @param {ReturnType<typeof limited>} compile
 */
async function objectsOf(addon, compile) {
  const folders = foldersOf(addon);
  const flags = compileFlags(addon);
  const key = fingerprint(folders, flags);
  const kept = join(OBJECTS, addon.name);
  const stamp = join(kept, 'stamp');
  const sources = folders.flatMap((one) => filesOf(one, /\.cc$/));
  const objectOf = (/** @type {string} */ source) => join(kept, `${basename(source)}.o`);
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== key) {
    rmSync(kept, { recursive: true, force: true });
    mkdirSync(kept, { recursive: true });
    await settledAll(
      sources.map((source) => compile(() => run(COMPILER, [...flags, '-c', source, '-o', objectOf(source)]))),
    );
    writeFileSync(stamp, key);
  }
  return sources.map(objectOf);
}

/**
 * The shared libraries that go along, by the name under which they are looked for, also those that others need.
 * @param {string} file
 * @returns {[name: string, path: string][]}
 */
function librariesOf(file) {
  const listed = execFileSync('ldd', [file], { encoding: 'utf8' });
  return [...listed.matchAll(/^\s*(\S+) => (\S+) \(/gm)].flatMap(([, name, path]) =>
    OF_THE_SYSTEM.test(name) ? [] : [/** @type {[string, string]} */ ([name, path])],
  );
}

/**
 * The newest glibc of which a file uses something.
 * @param {string} file
 */
function glibcOf(file) {
  const symbols = execFileSync('objdump', ['-T', file], { encoding: 'utf8', maxBuffer: 1 << 28 });
  return (
    [...symbols.matchAll(/GLIBC_(\d+\.\d+)/g)]
      .map(([, version]) => version)
      .sort(byVersion)
      .at(-1) ?? '2.17'
  );
}

/**
 * @param {string} a
 * @param {string} b
 */
function byVersion(a, b) {
  const [first, second] = [a, b].map((version) => version.split('.').map(Number));
  return first[0] - second[0] || first[1] - second[1];
}

/**
 * One file with Quiver's licence and what Debian says of each library, FAISS and glibc's C++ templates among them.
 * @param {string} folder
 * @param {string[]} libraries
 */
function copyLicences(folder, libraries) {
  const packages = new Set(['libfaiss-dev', 'libstdc++6', ...libraries.map(debianPackageOf)]);
  const texts = [...packages].sort().map((name) => {
    const text = readFileSync(`/usr/share/doc/${name}/copyright`, 'utf8').trim();
    return `==== ${name} (Debian) ====\n\n${text}\n`;
  });
  const own = `==== Quiver ====\n\n${readFileSync(join(ROOT, 'LICENSE'), 'utf8').trim()}\n`;
  writeFileSync(join(folder, 'LICENSES.txt'), [own, ...texts].join('\n'));
}

/** @param {string} library */
function debianPackageOf(library) {
  const path = realpathSync(library);
  for (const one of [path, path.replace(/^\/usr/, '')]) {
    try {
      return execFileSync('dpkg', ['-S', one], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split(':')[0];
    } catch {
      // Listed under the other name of the same folder.
    }
  }
  throw new Error(`no Debian package has ${path}: its licence is unknown`);
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) {
  if (process.argv.length !== 3) {
    console.error('usage: platform-package.mjs FOLDER');
    process.exit(2);
  }
  const { name, glibc } = await makePlatformPackage(process.argv[2], { log: console.log });
  console.log(`${name}: needs glibc ${glibc}`);
}
