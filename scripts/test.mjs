// `npm test`: sets up what is missing, checks rules and types, runs every test. Arguments after `--` go to Jest.
//
//   npm run check        rules, types and the fast tests (jest.fast.config.js): run it before a commit
//   npm run test:fast    the fast tests alone
import { spawn } from 'node:child_process';
import { constants, getPriority, setPriority } from 'node:os';
import { join } from 'node:path';
import { ensureHelm } from './helm.mjs';
import { ROOT, setUpOrExit } from './setup.mjs';
import { ensureChromium, ensureEtcd } from './make/system-packages.mjs';

const words = process.argv.slice(2);
/** The mode comes from package.json, before the arguments for Jest. */
const mode = words[0] === '--check' || words[0] === '--fast' ? words.shift() : '--all';

await setUpOrExit();
if (mode === '--all') {
  try {
    const log = (/** @type {string} */ line) => console.log(`setup: ${line}`);
    await ensureEtcd({ log });
    await ensureChromium({ log });
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
  ensureHelm();
}

const checks = [
  [modulePath('oxlint', 'bin', 'oxlint')],
  [modulePath('oxfmt', 'bin', 'oxfmt'), '--check', ROOT],
  ...['tsconfig.json', 'tsconfig.scripts.json', 'tsconfig.bench.json', 'dashboard/tsconfig.json'].map((file) => [
    modulePath('typescript', 'bin', 'tsc'),
    '--noEmit',
    '-p',
    join(ROOT, file),
  ]),
];
const tests = [
  // Of each worker, too. Tests make much that lives for a moment: V8's 16 MiB fill so often that a tenth of the
  // processor's time goes into looking what of it still lives.
  '--max-semi-space-size=32',
  modulePath('jest', 'bin', 'jest.js'),
  '--config',
  join(ROOT, mode === '--all' ? 'jest.config.js' : 'jest.fast.config.js'),
  ...words,
];
// What runs here hears of it, too, and ends in order.
process.on('SIGINT', () => undefined);
if (mode === '--check') process.exitCode = (await checked(false)).code || (await run(tests).code);
else if (mode === '--fast') process.exitCode = await run(tests).code;
else {
  // Tests wait for processes and sessions often enough for the checks to take no time of theirs.
  const [{ code, said }, ofTests] = await Promise.all([checked(true), run(tests).code]);
  if (code !== 0) process.stderr.write(`What stands above, too: a check failed\n${said}`);
  process.exitCode = code || ofTests;
}

/**
 * Runs one check after the other until one fails; resolves with the exit code of the last, and what it said.
 * @param {boolean} isAside beside the tests: they go first, and what a check says comes in one piece
 */
async function checked(isAside) {
  for (const step of checks) {
    const check = run(step, isAside);
    const code = await check.code;
    process.stdout.write(check.said());
    if (code !== 0) return { code, said: check.said() };
  }
  return { code: 0, said: '' };
}

/**
 * @param {string[]} step
 * @param {boolean} [isAside]
 */
function run(step, isAside = false) {
  const child = spawn(process.execPath, step, { cwd: ROOT, stdio: isAside ? ['ignore', 'pipe', 'pipe'] : 'inherit' });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (/** @type {string} */ text) => (said += text));
  if (isAside && child.pid !== undefined) {
    try {
      setPriority(child.pid, Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL));
    } catch {
      // It has ended, or may not.
    }
  }
  /** @type {Promise<number>} */
  const code = new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', (status) => done(status ?? 1));
  });
  return { code, said: () => said };
}

/** @param {string[]} path */
function modulePath(...path) {
  return join(ROOT, 'node_modules', ...path);
}
