// Makes the folder of npm's package as it is published: what its commands and the library reach of dist, the programs,
// and the npm packages that they load, inside (bundleDependencies), without what nobody loads of them. One download
// brings everything, as it was tested. The packages of models are left out: they are asked for by name when a text
// needs them.
//
//   node scripts/make/release-package.mjs FOLDER
import { cpSync, existsSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT } from '../setup.mjs';
import { APART } from './bundle-programs.mjs';

/** What is run of dist besides the programs. */
const ENTRY_POINTS = [
  'cli/main',
  'embedded/library/index',
  'embedded/repair',
  'shared/base/config/check-config',
  'shared/base/process/addon-file',
  'shared/member/etcd-users-command',
];
/** Loaded by no file of dist: headers of a build of the native parts. */
const HEADERS = ['node-addon-api', 'node-api-headers'];
/** Which whoever needs it installs beside. */
const OPTIONAL = '@huggingface/transformers';
const PLATFORMS = ['linux-arm64', 'linux-x64'];

/** Of every package: other forms of the same code, types and maps. */
const BALLAST = /(\.map|\.d\.[cm]?ts|\.tsbuildinfo|(?<!LICENSE)\.md)$/i;
/** @type {Record<string, RegExp>} */
const BALLAST_OF = {
  'pdfjs-dist': /^(build|image_decoders|types|web)\/|^legacy\/(image_decoders|web)\/|\.min\.mjs$|sandbox\.mjs$/,
  '@opentelemetry': /^build\/(esm|esnext)\//,
  '@smithy': /^dist-(es|types)\//,
  '@aws-sdk': /^dist-(es|types)\//,
  zod: /^src\//,
  'swagger-ui-dist': /es-bundle|^swagger-ui\.js$/,
};

/**
 * Fills `folder`, which must not exist, from a checkout that is set up. Rejects with an Error for the user.
 * @param {string} folder
 */
export async function makeReleasePackage(folder) {
  if (existsSync(folder)) throw new Error(`${folder} exists`);
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const reached = await reachedOf(join(ROOT, 'dist'));
  const named = [...new Set([...reached.packages, ...APART, ...HEADERS])].filter((name) => name !== OPTIONAL).sort();
  const whole = (/** @type {string} */ file) =>
    reached.files.has(file) || /^(programs\/.*\.js|ui\/.*|.*\.d\.ts)$/.test(file) || file.endsWith('.json');
  for (const file of filesUnder(join(ROOT, 'dist')).filter(whole))
    cpSync(join(ROOT, 'dist', file), join(folder, 'dist', file));
  for (const file of filesUnder(join(folder, 'dist/programs'))) await shorten(join(folder, 'dist/programs', file));
  for (const part of ['README.md', 'LICENSE', 'CHANGELOG.md', ...publishedParts(manifest.files)])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  const packages = closureOf(named);
  for (const from of packages) copyPackage(from, join(folder, relative(ROOT, from)));
  const { dependencies, ...kept } = manifest;
  for (const name of ['devDependencies', 'scripts', 'overrides', 'private', 'files']) delete kept[name];
  const published = {
    ...kept,
    dependencies: Object.fromEntries(named.map((name) => [name, versionOf(join(ROOT, 'node_modules', name))])),
    optionalDependencies: Object.fromEntries(PLATFORMS.map((name) => [`@quiver/${name}`, manifest.version])),
    peerDependencies: { [OPTIONAL]: dependencies[OPTIONAL] },
    peerDependenciesMeta: { [OPTIONAL]: { optional: true } },
    bundleDependencies: named,
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
}

/**
 * Blanks and comments are half of a program. Names stay, for stack traces.
 * @param {string} file
 */
async function shorten(file) {
  const { transform } = await import('esbuild');
  const options = /** @type {const} */ ({ platform: 'node', minifyWhitespace: true, legalComments: 'inline' });
  const { code } = await transform(readFileSync(file, 'utf8'), options);
  writeFileSync(file, code);
}

/**
 * The files of dist that the entry points load, and the packages that any of them names.
 * @param {string} dist
 */
async function reachedOf(dist) {
  const { build } = await import('esbuild');
  const { metafile } = await build({
    absWorkingDir: dist,
    entryPoints: ENTRY_POINTS.map((path) => `./${path}.js`),
    outdir: 'out',
    bundle: true,
    write: false,
    platform: 'node',
    packages: 'external',
    metafile: true,
    logLevel: 'error',
  });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  const names = imports.filter(({ external, path }) => external && !isBuiltin(path)).map(({ path }) => nameOf(path));
  return { files: new Set(Object.keys(metafile.inputs)), packages: new Set(names) };
}

/** @param {string} path */
function isBuiltin(path) {
  return path.startsWith('node:') || createRequire(import.meta.url).resolve.paths(path) === null;
}

/** @param {string} path */
function nameOf(path) {
  return path
    .split('/')
    .slice(0, path.startsWith('@') ? 2 : 1)
    .join('/');
}

/**
 * What package.json publishes besides dist, as paths.
 * @param {string[]} patterns
 */
function publishedParts(patterns) {
  return patterns.flatMap((pattern) => {
    if (pattern === 'dist') return [];
    if (!pattern.includes('*')) return [pattern];
    const [base] = pattern.split('/*');
    const ending = pattern.slice(pattern.lastIndexOf('*') + 1);
    return filesUnder(join(ROOT, base))
      .filter((file) => file.endsWith(ending) && (pattern.includes('**') || !file.includes('/')))
      .map((file) => `${base}/${file}`);
  });
}

/**
 * The folders of these packages and of all that they depend on.
 * @param {string[]} names
 */
function closureOf(names) {
  /** @type {Set<string>} */
  const folders = new Set();
  const add = (/** @type {string} */ name, /** @type {string} */ from) => {
    for (let at = from; ; at = dirname(at)) {
      const folder = join(at, 'node_modules', name);
      if (existsSync(join(folder, 'package.json'))) {
        if (folders.has(folder)) return;
        folders.add(folder);
        const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
        for (const next of Object.keys(dependencies)) if (!next.startsWith('@types/')) add(next, folder);
        return;
      }
      if (at === ROOT) throw new Error(`the package ${name}, of ${from}, is not installed`);
    }
  };
  for (const name of names) add(name, ROOT);
  return folders;
}

/**
 * @param {string} from
 * @param {string} to
 */
function copyPackage(from, to) {
  const name = nameOf(from.split('/node_modules/').at(-1) ?? '');
  const own = BALLAST_OF[name] ?? BALLAST_OF[name.split('/')[0]];
  for (const file of filesUnder(realpathSync(from))) {
    if (file.startsWith('node_modules/') || BALLAST.test(file) || own?.test(file)) continue;
    cpSync(join(from, file), join(to, file));
  }
}

/** @param {string} folder */
function versionOf(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
}

/**
 * Paths inside `folder`, in order.
 * @param {string} folder
 */
function filesUnder(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) {
  rmSync(process.argv[2], { recursive: true, force: true });
  await makeReleasePackage(process.argv[2]);
}
