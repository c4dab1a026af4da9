// `npm test`: sets up what is missing, checks rules and types, runs every test. Arguments after `--` go to Jest.
//
//   npm run check        rules, types and the fast tests (jest.fast.config.js): run it before a commit
//   npm run test:fast    the fast tests alone
import { spawnSync } from 'node:child_process';
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
for (const step of mode === '--fast' ? [tests] : [...checks, tests]) {
  const { status } = spawnSync(process.execPath, step, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

/** @param {string[]} path */
function modulePath(...path) {
  return join(ROOT, 'node_modules', ...path);
}
