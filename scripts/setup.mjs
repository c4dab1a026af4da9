// Makes a checkout ready to run: system packages, npm packages from the lock file, compiled TypeScript, the dashboard's
// files, native addons.
// Each step is skipped if its inputs have not changed since its last run, so a second run takes a fraction of a second.
// Uses only Node's own modules until the packages are installed.
//
//   node scripts/setup.mjs             everything
//   node scripts/setup.mjs packages    the system and npm packages only
//   node scripts/setup.mjs native      the native parts of a package that npm has installed
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildDashboard } from './make/build-dashboard.mjs';
import { buildNative } from './make/build-native.mjs';
import { bundlePrograms } from './make/bundle-programs.mjs';
import { withSetupLock } from './make/setup-lock.mjs';
import { ensureSystemPackages } from './make/system-packages.mjs';

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const MODULES_STAMP = join(ROOT, 'node_modules', '.quiver-stamp');
const DIST_STAMP = join(ROOT, 'dist', '.quiver-stamp');
const DASHBOARD = join(ROOT, 'dashboard');
const DASHBOARD_STAMP = join(ROOT, 'dist', '.ui-stamp');
const NODE_MINIMUM = [20, 15];
export const SOURCE_FOLDERS = ['cli', 'clients/typescript/src', 'coordinator', 'embedded', 'node', 'shared'];

/** @typedef {(line: string) => void} Log */

/**
 * Rejects with an Error whose message can be shown to the user. `packagesOnly` builds nothing. `isUnchecked` removes
 * types without a look at them, which takes a tenth of the time; the next set-up without it compiles again.
 * @param {{ log?: Log, packagesOnly?: boolean, isUnchecked?: boolean }} [options]
 */
export async function setUp({
  log = (line) => console.log(`setup: ${line}`),
  packagesOnly = false,
  isUnchecked = false,
} = {}) {
  checkNode();
  await withSetupLock(join(ROOT, '.setup', 'lock'), () => runSteps(log, packagesOnly, isUnchecked), { log });
}

/**
 * @param {Log} log
 * @param {boolean} packagesOnly
 * @param {boolean} isUnchecked
 */
async function runSteps(log, packagesOnly, isUnchecked) {
  // In parallel: both wait for the network, and TypeScript does not need the system packages.
  const stop = new AbortController();
  const ours = installAndCompile(log, { packagesOnly, isUnchecked }, stop.signal);
  // Its failure is handled where it is awaited.
  ours.catch(() => {});
  try {
    await ensureSystemPackages({ log });
  } catch (error) {
    stop.abort();
    await ours.catch(() => {});
    throw error;
  }
  await ours;
  if (!packagesOnly) await buildNative({ log });
}

/**
 * @param {Log} log
 * @param {{ packagesOnly: boolean, isUnchecked: boolean }} options
 * @param {AbortSignal} stop
 */
async function installAndCompile(log, { packagesOnly, isUnchecked }, stop) {
  const lock = hashOf(
    [join(ROOT, 'package-lock.json'), join(ROOT, '.npmrc')],
    [process.versions.modules, process.arch],
  );
  if (!isStamped(MODULES_STAMP, lock)) {
    log('installing npm packages');
    await runBeside(...npmWords(['ci', '--no-audit', '--no-fund', '--loglevel=error']), stop);
    writeFileSync(MODULES_STAMP, lock);
  }
  if (packagesOnly) return;
  const sources = SOURCE_FOLDERS.flatMap((folder) =>
    ['.ts', '.json'].flatMap((ending) => filesUnder(join(ROOT, folder), ending)),
  );
  const sourceHash = hashOf(
    [
      ...sources,
      join(ROOT, 'tsconfig.json'),
      join(ROOT, 'tsconfig.build.json'),
      join(ROOT, 'tsconfig.library.json'),
      join(ROOT, 'scripts', 'make', 'bundle-programs.mjs'),
    ],
    [lock],
  );
  const unchecked = `${sourceHash} unchecked`;
  if (!isStamped(DIST_STAMP, sourceHash) && !(isUnchecked && isStamped(DIST_STAMP, unchecked))) {
    log('compiling TypeScript');
    if (isUnchecked) await replaceDist(unchecked, (folder) => removeTypes(sources, folder));
    else
      await replaceDist(sourceHash, async (folder) => {
        for (const kind of ['build', 'library']) await compile(kind, folder, stop);
      });
  }
  const dashboardHash = hashOf(
    [...filesUnder(DASHBOARD, ''), join(ROOT, 'scripts', 'make', 'build-dashboard.mjs')],
    [lock],
  );
  if (isStamped(DASHBOARD_STAMP, dashboardHash)) return;
  log('building the dashboard');
  await replaceDashboard(dashboardHash);
}

/**
 * Builds the page at /ui beside the one that is there, which it replaces at the end.
 * @param {string} hash
 */
async function replaceDashboard(hash) {
  const folder = join(ROOT, 'dist', 'ui');
  const [next, last] = [`${folder}.next`, `${folder}.last`];
  rmSync(last, { recursive: true, force: true });
  await buildDashboard(ROOT, next);
  if (existsSync(folder)) renameSync(folder, last);
  renameSync(next, folder);
  writeFileSync(DASHBOARD_STAMP, hash);
  rmSync(last, { recursive: true, force: true });
}

/**
 * Compiles into another folder, which replaces `dist` at the end: a process that runs from `dist` never sees a half of
 * it.
 * @param {string} stamp
 * @param {(folder: string) => Promise<void>} fill
 */
async function replaceDist(stamp, fill) {
  const dist = join(ROOT, 'dist');
  const next = `${dist}.next`;
  const last = `${dist}.last`;
  for (const folder of [next, last]) rmSync(folder, { recursive: true, force: true });
  await fill(next);
  await bundlePrograms(next);
  // The page is of other sources: it stays as it is.
  for (const kept of [join(dist, 'ui'), DASHBOARD_STAMP])
    if (existsSync(kept)) cpSync(kept, join(next, basename(kept)), { recursive: true });
  writeFileSync(join(next, basename(DIST_STAMP)), stamp);
  if (existsSync(dist)) renameSync(dist, last);
  renameSync(next, dist);
  rmSync(last, { recursive: true, force: true });
}

/**
 * `kind`: of tsconfig.
 * @param {string} kind
 * @param {string} folder
 * @param {AbortSignal} stop
 */
function compile(kind, folder, stop) {
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  return runBeside(process.execPath, [compiler, '-p', join(ROOT, `tsconfig.${kind}.json`), '--outDir', folder], stop);
}

/**
 * @param {string[]} sources
 * @param {string} folder
 */
async function removeTypes(sources, folder) {
  // Not before the packages are installed.
  const { build } = await import('esbuild');
  await build({
    absWorkingDir: ROOT,
    entryPoints: sources,
    outbase: ROOT,
    outdir: folder,
    format: 'cjs',
    platform: 'node',
    target: 'es2022',
    loader: { '.json': 'copy' },
    sourcemap: true,
    logLevel: 'silent',
  });
}

/**
 * Builds the addons of a package that npm has installed: what it was compiled to comes with it. Prints one clear
 * message when that can't be done, and ends the process. `problem`: why there are none that were built elsewhere, if
 * it is to be said.
 * @param {string} [problem]
 */
export async function setUpNativeOrExit(problem) {
  const log = (/** @type {string} */ line) => process.stderr.write(`setup: ${line}\n`);
  if (problem !== undefined) log(problem);
  try {
    checkNode();
    await withSetupLock(
      join(ROOT, '.setup', 'lock'),
      async () => {
        await ensureSystemPackages({ log });
        log('building the native parts, once');
        await buildNative({ log });
      },
      { log },
    );
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const isOld = major < NODE_MINIMUM[0] || (major === NODE_MINIMUM[0] && minor < NODE_MINIMUM[1]);
  if (isOld) throw new Error(`Quiver needs Node ${NODE_MINIMUM.join('.')} or later; this is ${process.versions.node}`);
}

/**
 * Runs npm in the checkout or in another folder with a package.json.
 * @param {string[]} words
 * @param {string} [folder]
 */
export function runNpm(words, folder = ROOT) {
  const [command, all] = npmWords(words);
  run(command, all, folder);
}

/**
 * npm's command line. Inside `npm start`, npm names its own file; this Node runs it, whatever is in PATH.
 * @param {string[]} words
 * @returns {[command: string, words: string[]]}
 */
function npmWords(words) {
  const npmFile = process.env.npm_execpath;
  return npmFile !== undefined && /\.c?js$/.test(npmFile) ? [process.execPath, [npmFile, ...words]] : ['npm', words];
}

/**
 * Runs a command in the checkout while others run. Rejects with an Error whose message can be shown to the user.
 * @param {string} command
 * @param {string[]} words
 * @param {AbortSignal} stop
 * @returns {Promise<void>}
 */
function runBeside(command, words, stop) {
  const child = spawn(command, words, {
    cwd: ROOT,
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: stop,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  return new Promise((done, fail) => {
    child.on('error', (error) => fail(new Error(`${command} could not be run: ${error.message}`)));
    child.on('close', (code) => (code === 0 ? done() : fail(failureOf(command, words, output))));
  });
}

/**
 * @param {string} command
 * @param {string[]} words
 * @param {string} [folder]
 */
function run(command, words, folder = ROOT) {
  const result = spawnSync(command, words, {
    cwd: folder,
    encoding: 'utf8',
    env: cleanEnvironment(),
    maxBuffer: 64 * 1024 * 1024,
  });
  if (result.error) throw new Error(`${command} could not be run: ${result.error.message}`);
  if (result.status !== 0) throw failureOf(command, words, `${result.stdout}\n${result.stderr}`);
}

/**
 * @param {string} command
 * @param {string[]} words
 * @param {string} output
 */
function failureOf(command, words, output) {
  return new Error(`${[command, ...words].join(' ')} failed:\n${output.trim().split('\n').slice(-40).join('\n')}`);
}

/** With NODE_ENV=production or npm's omit settings, the compiler would not be installed. */
function cleanEnvironment() {
  const environment = { ...process.env };
  for (const name of Object.keys(environment))
    if (/^(NODE_ENV|npm_config_(omit|production|only|dry_run))$/i.test(name)) delete environment[name];
  return environment;
}

/**
 * @param {string} file
 * @param {string} hash
 */
export function isStamped(file, hash) {
  return existsSync(file) && readFileSync(file, 'utf8') === hash;
}

/**
 * @param {string} folder
 * @param {string} ending
 */
function filesUnder(folder, ending) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/**
 * @param {string[]} files
 * @param {unknown[]} facts
 */
export function hashOf(files, facts) {
  const hash = createHash('sha256').update(JSON.stringify(facts));
  for (const file of files) hash.update(`\n${file.slice(ROOT.length)}\n`).update(readFileSync(file));
  return hash.digest('hex');
}

/**
 * For the commands: prints one clear message instead of a stack.
 * @param {Parameters<typeof setUp>[0]} [options]
 */
export async function setUpOrExit(options) {
  try {
    await setUp(options);
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) {
  if (process.argv[2] === 'native') await setUpNativeOrExit();
  else await setUpOrExit({ packagesOnly: process.argv[2] === 'packages' });
}
