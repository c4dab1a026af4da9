import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownBackupSecret } from '../../../embedded/backup-secret';

/** The secret that seals the backups of an embedded service. */

let folder: string;
const lines: string[] = [];
const log = {
  info: (_: object, message: string) => void lines.push(`info ${message}`),
  error: (_: object, message: string) => void lines.push(`error ${message}`),
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-backup-secret-'));
  lines.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('is made once, is told without being shown, and only its owner may read it', async () => {
  const secret = await ownBackupSecret(folder, log);
  expect(secret).toMatch(/^[0-9a-f]{64}$/);
  expect(readFileSync(join(folder, 'backup-secret'), 'utf8')).toBe(`${secret}\n`);
  expect(statSync(join(folder, 'backup-secret')).mode & 0o777).toBe(0o600);
  expect(await ownBackupSecret(folder, log)).toBe(secret);
  expect(lines).toEqual([expect.stringContaining('keep a copy of it')]);
  expect(lines[0]).not.toContain(secret);
});

test.each([
  ['is empty', ''],
  ['is cut', 'ab'.repeat(20)],
  ['is something else', 'x'.repeat(64)],
])('one that %s is told, kept aside and replaced', async (_, text) => {
  writeFileSync(join(folder, 'backup-secret'), text);
  const secret = await ownBackupSecret(folder, log);
  expect(secret).toMatch(/^[0-9a-f]{64}$/);
  expect(readFileSync(join(folder, 'backup-secret.damaged'), 'utf8')).toBe(text);
  expect(lines[0]).toMatch(/^error .*damaged/);
  expect(await ownBackupSecret(folder, log)).toBe(secret);
  expect(readdirSync(folder).sort()).toEqual(['backup-secret', 'backup-secret.check', 'backup-secret.damaged']);
});

test('one of which a character changed is told, once, and so is another one; a damaged or missing check says nothing', async () => {
  const secret = await ownBackupSecret(folder, log);
  const other = `${secret.startsWith('0') ? '4' : '0'}${secret.slice(1)}`;
  const check = join(folder, 'backup-secret.check');
  expect(readFileSync(check, 'utf8')).not.toContain(secret);
  writeFileSync(join(folder, 'backup-secret'), `${other}\n`);
  lines.length = 0;
  expect(await ownBackupSecret(folder, log)).toBe(other);
  expect(lines).toEqual([expect.stringMatching(/^error .*another one than at the last start/)]);
  const right = readFileSync(check, 'utf8');
  for (const text of [right, right.trim(), `x${right.slice(1)}`, right.slice(0, 20), '']) {
    writeFileSync(check, text);
    expect(await ownBackupSecret(folder, log)).toBe(other);
    expect(readFileSync(check, 'utf8')).toBe(right);
  }
  rmSync(check);
  expect(await ownBackupSecret(folder, log)).toBe(other);
  expect(lines).toHaveLength(1);
  // The end of its line is no part of it.
  writeFileSync(join(folder, 'backup-secret'), other);
  expect(await ownBackupSecret(folder, log)).toBe(other);
  expect(lines).toHaveLength(1);
});

test('one that is gone is told, and made anew', async () => {
  const secret = await ownBackupSecret(folder, log);
  rmSync(join(folder, 'backup-secret'));
  lines.length = 0;
  expect(await ownBackupSecret(folder, log)).not.toBe(secret);
  expect(lines).toEqual([expect.stringMatching(/^error .*is gone/), expect.stringContaining('keep a copy of it')]);
});

test('a folder that can not keep one stops nobody, and is told', async () => {
  const secret = await ownBackupSecret(join(folder, 'gone'), log);
  expect(secret).toMatch(/^[0-9a-f]{64}$/);
  expect(lines).toEqual([expect.stringMatching(/^error .*could not be read or kept/)]);
});
