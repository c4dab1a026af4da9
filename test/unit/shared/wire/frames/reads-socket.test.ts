import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { versionFromText, versionToText } from '../../../../../shared/base/process/member-version';
import {
  newSocketName,
  removeStaleSockets,
  socketFeature,
  socketPath,
  socketPathOf,
} from '../../../../../shared/wire/frames/reads-socket';
import { eventually } from '../../../../support/eventually';

const version = (...features: string[]) => ({ protocol: 2, oldest: 1, features });

test('the path that a node says arrives with its handshake, and is short enough for every system', () => {
  const name = newSocketName();
  const heard = versionFromText(versionToText(version('digest-at', socketFeature(name), 'later')));
  expect(socketPathOf(heard)).toBe(socketPath(name));
  expect(socketPath(name).length).toBeLessThan(104);
  expect(newSocketName()).not.toBe(name);
});

test('nothing else is taken for a path', () => {
  const name = newSocketName();
  const others = [
    'read-socket',
    'read-socket-',
    `read-socket-${name}0`,
    `read-socket-${name.slice(1)}`,
    `read-socket-${name.slice(1)}g`,
    `read-socket-../${name.slice(3)}`,
    `no-read-socket-${name}`,
  ];
  expect(others.map((feature) => socketPathOf(version(feature)))).toEqual(others.map(() => null));
  expect(socketPathOf(version())).toBe(null);
});

test('what killed processes left is removed, and nothing else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'qrs-'));
  try {
    const [stale, served, file] = [newSocketName(), newSocketName(), newSocketName()].map((name) =>
      socketPath(name, folder),
    );
    const kept = [served, file, join(folder, 'other.sock')];
    spawnSync(process.execPath, [
      '-e',
      `let left = 2; for (const path of ${JSON.stringify([stale, kept[2]])}) require('net').createServer().listen(path, () => --left === 0 && process.kill(process.pid, 'SIGKILL'))`,
    ]);
    writeFileSync(file, 'no socket');
    const server = createServer((socket) => socket.on('error', () => undefined).resume());
    await new Promise<void>((done) => server.listen(served, done));
    expect(existsSync(stale)).toBe(true);
    removeStaleSockets(folder);
    await eventually('it is removed', () => !existsSync(stale));
    expect(
      readdirSync(folder)
        .map((name) => join(folder, name))
        .sort(),
    ).toEqual(kept.sort());
    removeStaleSockets(join(folder, 'not there'));
    await new Promise((done) => server.close(done));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
