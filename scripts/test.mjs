// `npm test`: sets up what is missing, checks the types, runs the tests. Words after `--` go to Jest.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureHelm } from './helm.mjs';
import { ROOT, setUpOrExit } from './setup.mjs';
import { ensureEtcd } from './system-packages.mjs';

await setUpOrExit();
try {
  await ensureEtcd({ log: (line) => console.log(`setup: ${line}`) });
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
ensureHelm();
const steps = [
  [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '--noEmit', '-p', join(ROOT, 'tsconfig.json')],
  [join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js'), '--config', join(ROOT, 'jest.config.js'), ...process.argv.slice(2)],
];
for (const words of steps) {
  const { status } = spawnSync(process.execPath, words, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
