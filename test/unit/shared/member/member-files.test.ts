import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { followMemberFiles } from '../../../../shared/member/member-files';
import { readClusterConfig } from '../../../../shared/base/config/config';
import { silentLogger } from '../../../../shared/base/logs/logger';
import { ShutdownStack } from '../../../../shared/base/process/shutdown-stack';
import { eventually } from '../../../support/eventually';

let folder: string;
let shutdown: ShutdownStack;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'member-files-'));
  shutdown = new ShutdownStack();
});

afterEach(async () => {
  await shutdown.unwind();
  rmSync(folder, { recursive: true });
});

test('another password of etcd is taken over from its file; one that is empty, or none at all, leaves the one before', async () => {
  const path = join(folder, 'password');
  const replace = (content: string): void => {
    writeFileSync(path, content);
    process.emit('SIGHUP');
  };
  writeFileSync(path, 'the first\n');
  const config = readClusterConfig({ CLUSTER_SECRET: 'sixteen letters!', ETCD_PASSWORD_FILE: path }, 'host');
  const etcd = { certificates: null, password: config.etcdPassword };
  const complaints: string[] = [];
  const log = {
    ...silentLogger,
    error: ({ error }: { error?: unknown }) => void complaints.push((error as Error).message),
  };
  followMemberFiles(config, { tls: null, etcd, log, shutdown });
  expect(etcd.password).toBe('the first');

  replace('the second\n');
  await eventually('the second password is taken over', () => etcd.password === 'the second');
  replace('');
  await eventually('the empty file is told', () => complaints.length === 1);
  expect(etcd.password).toBe('the second');
  replace('with a blank at its end \n');
  await eventually('the blank is told', () => complaints.length === 2);
  expect(etcd.password).toBe('the second');
  expect(complaints).toEqual([
    'ETCD_PASSWORD_FILE is empty',
    expect.stringMatching(/^ETCD_PASSWORD is not valid: expected printable ASCII/),
  ]);
  replace('the third');
  await eventually('the third password is taken over', () => etcd.password === 'the third');
});
