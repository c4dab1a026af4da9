import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventually } from '../../../support/eventually';

/** Set-ups of one folder at the same time, as real processes: each notes when it enters and leaves. */

const script = pathToFileURL(resolve(__dirname, '../../../../scripts/make/setup-lock.mjs')).href;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-setup-lock-'));
  mkdirSync(join(folder, 'state'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function run(body: string): { ended: Promise<number | null>; kill: () => void } {
  const source = `
    import { appendFileSync } from 'node:fs';
    import { withSetupLock } from ${JSON.stringify(script)};
    const note = (text) => appendFileSync(${JSON.stringify(join(folder, 'notes'))}, text + '\\n');
    const rest = (ms) => new Promise((wake) => setTimeout(wake, ms));
    const lock = ${JSON.stringify(join(folder, 'state', 'lock'))};
    ${body}
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: 'inherit' });
  return { ended: new Promise((done) => child.once('exit', (code) => done(code))), kill: () => child.kill('SIGKILL') };
}

const TAKE_TURN =
  "await withSetupLock(lock, async () => { note('in'); await rest(30); note('out'); }, { log: () => {} });";
const notes = (): string[] => readFileSync(join(folder, 'notes'), 'utf8').trim().split('\n');

test('several set-ups take turns', async () => {
  const codes = await Promise.all(Array.from({ length: 4 }, () => run(TAKE_TURN).ended));
  expect(codes).toEqual([0, 0, 0, 0]);
  expect(notes()).toEqual(Array.from({ length: 4 }, () => ['in', 'out']).flat());
});

test('a set-up that was killed leaves no lock that holds', async () => {
  const holder = run("await withSetupLock(lock, async () => { note('held'); await rest(60000); }, { log: () => {} });");
  await eventually('it holds the lock', () => existsSync(join(folder, 'notes')) && notes().includes('held'));
  holder.kill();
  await holder.ended;
  const codes = await Promise.all(Array.from({ length: 3 }, () => run(TAKE_TURN).ended));
  expect(codes).toEqual([0, 0, 0]);
  expect(notes()).toEqual(['held', ...Array.from({ length: 3 }, () => ['in', 'out']).flat()]);
});

test('a failed set-up gives the lock back and passes its error on', async () => {
  const code = await run(`
    const error = await withSetupLock(lock, () => Promise.reject(new Error('no network')), { log: () => {} }).catch((reason) => reason);
    note(error.message);
    ${TAKE_TURN}
  `).ended;
  expect(code).toBe(0);
  expect(notes()).toEqual(['no network', 'in', 'out']);
});

test('a lock with its own process id, which it does not hold, is of an earlier life and taken over; one that it holds is waited for', async () => {
  const code = await run(`
    import { mkdirSync, writeFileSync } from 'node:fs';
    writeFileSync(lock, String(process.pid));
    await Promise.all([1, 2].map(() => withSetupLock(lock, async () => { note('in'); await rest(30); note('out'); }, { log: () => {} })));
  `).ended;
  expect(code).toBe(0);
  expect(notes()).toEqual(['in', 'out', 'in', 'out']);
});

test('a lock that names no living process is taken over', async () => {
  // The highest process id that Linux ever gives is below this one.
  writeFileSync(join(folder, 'state', 'lock'), '4194305');
  expect(await run(TAKE_TURN).ended).toBe(0);
});

const onLinux = existsSync('/proc/self/stat') ? test : test.skip;

onLinux('a lock whose process id another process has by now is taken over', async () => {
  for (const life of ['1@of-this-start', `${startOf(process.pid)}@of-another-start-of-the-machine`]) {
    writeFileSync(join(folder, 'state', 'lock'), `${process.pid} ${life}`);
    expect(await run(TAKE_TURN).ended).toBe(0);
  }
});

test.each([
  ['an earlier version', () => String(process.pid)],
  [
    'this one',
    () => `${process.pid} ${startOf(process.pid)}@${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}`,
  ],
])('a lock of %s whose process lives is waited for', async (version, text) => {
  if (version === 'this one' && !existsSync('/proc/self/stat')) return;
  const lock = join(folder, 'state', 'lock');
  writeFileSync(lock, text());
  const { ended } = run("await withSetupLock(lock, async () => note('in'), { log: note });");
  await eventually('it waits', () => existsSync(join(folder, 'notes')));
  expect(notes()).toEqual(['waiting for another set-up in this folder']);
  rmSync(lock);
  expect(await ended).toBe(0);
  expect(notes().at(-1)).toBe('in');
});

/** The 22nd field; the name in parentheses before may hold blanks. */
function startOf(pid: number): string {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, '').split(' ')[20];
}
