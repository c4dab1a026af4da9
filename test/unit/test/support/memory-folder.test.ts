import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../../support/eventually';
import { hasRoom, isExecutable, temporaryFolder } from '../../../support/memory-folder';

const ROOT = join(__dirname, '../../../..');

test('programs may run in a folder by what is mounted over it last', () => {
  const root = 'overlay / overlay rw,relatime 0 0\n';
  const shm = (options: string): string => `shm /dev/shm tmpfs ${options} 0 0\n`;
  const runs = (mounts: string): boolean => isExecutable('/dev/shm', mounts);
  expect(runs(root + shm('rw,nosuid,nodev,noexec,relatime'))).toBe(false);
  expect(runs(root + shm('rw,relatime'))).toBe(true);
  expect(runs(shm('rw') + root)).toBe(true);
  expect(runs(root + shm('rw,noexec') + shm('rw'))).toBe(true);
  expect(runs(`${root}tmpfs /dev tmpfs rw,noexec 0 0\n`)).toBe(false);
  expect(runs(`${root}tmpfs /dev/sh tmpfs rw,noexec 0 0\n`)).toBe(true);
  expect(runs('')).toBe(false);
});

test('this file has its temporary files where there is room', () => {
  expect(tmpdir()).toBe(temporaryFolder());
});

const inMemory = hasRoom() ? test : test.skip;
inMemory('the folder of a run goes with it, though the run is killed', async () => {
  // As Jest does, it makes JavaScript of what is none.
  const program = `
    const { transformFileSync } = require('@swc/core');
    const options = { jsc: { parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } };
    require.extensions['.ts'] = (module, file) => module._compile(transformFileSync(file, options).code, file);
    require('./scripts/jest/memory-folder.cjs')();
    console.log(process.env.JEST_RUN_IN_MEMORY);
    setInterval(() => undefined, 1000);
  `;
  const environment = { ...process.env };
  delete environment.JEST_RUN_IN_MEMORY;
  const run = spawn(process.execPath, ['-e', program], {
    cwd: ROOT,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed] = (await once(run.stdout, 'data')) as [Buffer];
  const folder = printed.toString().trim();
  expect(existsSync(folder)).toBe(true);
  run.kill('SIGKILL');
  await eventually('the folder is gone', () => !existsSync(folder));
});
