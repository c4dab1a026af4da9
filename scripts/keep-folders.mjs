// `node scripts/keep-folders.mjs 0.2.0`: keeps the data folders of the version that is about to be released as fixtures
// of test/integration/kept-folders.test.ts, embedded and a node's. Every later version has to open them.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT, setUpOrExit } from './setup.mjs';

const [version] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(version ?? '')) {
  console.error('usage: node scripts/keep-folders.mjs <version>');
  process.exit(1);
}
await setUpOrExit();
const { status } = spawnSync(
  process.execPath,
  [
    join(ROOT, 'node_modules/.bin/jest'),
    '--config',
    join(ROOT, 'jest.config.js'),
    '--maxWorkers=1',
    'test/integration/kept-folders.test.ts',
  ],
  {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, KEEP_FOLDERS: version },
  },
);
process.exitCode = status ?? 1;
