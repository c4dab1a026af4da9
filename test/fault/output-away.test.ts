import { spawn, type StdioOptions } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually } from '../support/eventually';
import { freePorts } from '../support/servers/free-ports';
import { StalledPipe } from '../support/values/output-places';

/**
 * Commands whose output has nowhere to go, and a cluster whose terminal goes away: they end when they are asked to, and
 * leave nobody behind.
 */

const scripts = resolve(__dirname, '../../scripts');
const folder = mkdtempSync(join(tmpdir(), 'quiver-output-'));
const hasFullDisk = existsSync('/dev/full');

/** A service with a collection that has no end. */
let service: Server;
let pages = 0;

beforeAll(async () => {
  const items = Array.from({ length: 1000 }, (_, i) => ({
    external_id: `i${i}`,
    vector: [1, 2],
    metadata: { pad: 'x'.repeat(100) },
  }));
  service = createServer((request, response) => {
    request.resume();
    const isPage = request.url?.endsWith('/scroll') ?? false;
    pages += isPage ? 1 : 0;
    const data = isPage
      ? { vectors: items, next_cursor: 'more', count: items.length }
      : { name: 'c', dim: 2, vector_count: 1e9, collections: [{ name: 'c', dim: 2, vector_count: 1e9 }] };
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ status: 'success', data, error: null, warnings: [] }));
  }).listen(0, '127.0.0.1');
  await new Promise((done) => service.once('listening', done));
});

afterAll(() => {
  service.closeAllConnections();
  service.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A command as a process; `ended` resolves with its exit code, or the signal that ended it. */
function start(words: string[], output: number | 'pipe', messages: number | 'pipe') {
  const address = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const stdio: StdioOptions = ['ignore', output, messages];
  const child = spawn(process.execPath, [join(scripts, 'quiver.cjs'), ...words], {
    env: { PATH: process.env.PATH ?? '', HOME: folder, QUIVER_URL: address, QUIVER_API_KEY: 'some-key-of-a-test' },
    stdio,
  });
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise<number | string | null>((done) =>
    child.once('close', (code, signal) => done(code ?? signal)),
  );
  return { child, ended, said: () => said };
}

const EXPORT = ['export', 'c', '--to', '-', '--quiet'];

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'an export to a reader that stands still is interrupted by %s',
  async (signal) => {
    const pipe = new StalledPipe();
    const before = pages;
    const command = start(EXPORT, pipe.writer, pipe.writer);
    try {
      // One page is read ahead of that which is written.
      await eventually('it waits for its reader', () => pages >= before + 2);
      command.child.kill(signal);
      expect(await command.ended).toBe(130);
    } finally {
      command.child.kill('SIGKILL');
      pipe.close();
    }
  },
);

(hasFullDisk ? test : test.skip).each([
  ['an export', EXPORT],
  ['check-config', ['check-config']],
  ['help', ['help']],
])('%s to a full disk fails in one line', async (_title, words) => {
  const full = openSync('/dev/full', 'a');
  const command = start(words, full, 'pipe');
  expect([await command.ended, command.said()]).toEqual([
    1,
    'standard output: ENOSPC: no space left on device, write\n',
  ]);
  // Nowhere to say it.
  expect(await start(words, full, full).ended).toBe(1);
  closeSync(full);
});

test.each([
  ['an export', EXPORT],
  ['check-config', ['check-config']],
])('%s whose reader has gone ends without a word', async (_title, words) => {
  const pipe = new StalledPipe();
  pipe.leave();
  const command = start(words, pipe.writer, 'pipe');
  expect([await command.ended, command.said()]).toEqual([0, '']);
  expect(await start(words, pipe.writer, pipe.writer).ended).toBe(0);
  pipe.close();
});

test('a command goes on when nobody reads its messages any more', async () => {
  const pipe = new StalledPipe();
  pipe.leave();
  const command = start(['export', 'nothing', '--to', join(folder, 'x.txt')], 'pipe', pipe.writer);
  // A name that ends in no format: told to who has gone.
  expect(await command.ended).toBe(2);
  pipe.close();
});

describe('npm run cluster', () => {
  const isThere = (pid: number): boolean => {
    try {
      // A process that has ended and was not waited for yet counts as gone.
      return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
    } catch {
      return false;
    }
  };

  (process.platform === 'linux' ? test : test.skip)(
    'goes on when nobody reads what it says, and leaves no process behind when its terminal goes away',
    async () => {
      const [port] = await freePorts(1);
      const data = join(folder, 'cluster');
      const child = spawn(
        process.execPath,
        [join(scripts, 'cluster.mjs'), '--nodes', '1', '--coordinators', '1', '--port', String(port), '--dir', data],
        { stdio: ['ignore', 'pipe', 'pipe'] },
      );
      let said = '';
      child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
      const ended = new Promise<number | null>((done) => child.once('exit', done));
      const members = (): { id: string; pid: number }[] =>
        (JSON.parse(readFileSync(join(data, 'cluster.json'), 'utf8')) as { processes: { id: string; pid: number }[] })
          .processes;
      try {
        await eventually('it serves', () =>
          child.exitCode === null ? said.includes('It serves on') : Promise.reject(new Error(said)),
        );
        child.stdout.destroy();
        child.stderr.destroy();
        // It says so of each that ends.
        const [{ pid: first }] = members().filter(({ id }) => id === 'node-0');
        process.kill(first, 'SIGKILL');
        await eventually('the node is started again', () =>
          members().some(({ id, pid }) => id === 'node-0' && pid !== null && pid !== first),
        );
        const pids = members().map(({ pid }) => pid);
        expect(pids.filter(isThere)).toEqual(pids);
        child.kill('SIGHUP');
        expect(await ended).toBe(0);
        expect(pids.filter(isThere)).toEqual([]);
      } finally {
        child.kill('SIGTERM');
        await ended;
      }
    },
  );
});
