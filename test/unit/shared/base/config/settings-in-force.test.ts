import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readersOf, ROLES, type ProcessRole } from '../../../../../shared/base/config/setting-readers';
import { CLUSTER_SETTINGS, SETTINGS, type Setting } from '../../../../../shared/base/config/settings';
import { describeSettings, settingsInForce } from '../../../../../shared/base/config/settings-in-force';

const MACHINE = { cores: 6, hostName: 'machine-7' };
const MEMBER = { CLUSTER_SECRET: 'the secret of all members' };
const EVERY: Record<string, Setting> = { ...SETTINGS, ...CLUSTER_SETTINGS };

function inForce(role: ProcessRole, environment: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    settingsInForce(role, environment, MACHINE).settings.map(({ name, value, source }) => [
      name,
      `${value} (${source})`,
    ]),
  );
}

describe('what is in force', () => {
  test.each(ROLES)('for %s: each variable that it reads, and no other', (role) => {
    const { settings } = settingsInForce(role, MEMBER, MACHINE);
    expect(settings.map(({ name }) => name)).toEqual(
      Object.entries(EVERY)
        .filter(([field]) => readersOf(field).includes(role))
        .map(([, { name }]) => name),
    );
  });

  test('says what a value is used as, and where it comes from', () => {
    expect(
      inForce('coordinator', { ...MEMBER, PORT: '8080', ETCD_ENDPOINTS: 'http://a:1, http://b:2', LOG_LEVEL: '' }),
    ).toMatchObject({
      PORT: '8080 (environment)',
      ETCD_ENDPOINTS: 'http://a:1,http://b:2 (environment)',
      LOG_LEVEL: 'info (default)',
      NODE_ID: 'machine-7 (default)',
      ADVERTISE_ADDRESS: '(empty) (default)',
    });
    expect(inForce('embedded', {})).toMatchObject({ INDEX_THREADS: '6 (default)', OPS_PORT: '9090 (default)' });
    expect(inForce('node', MEMBER)).toMatchObject({ OPS_PORT: '9091 (default)' });
  });

  test.each(ROLES)('for %s: no secret is shown, nor how long it is', (role) => {
    const secrets = Object.values(EVERY)
      .filter(({ kind }) => kind === 'secret')
      .map(({ name }) => name);
    expect(secrets).toEqual([
      'API_KEY',
      'RERANK_API_KEY',
      'LLM_API_KEY',
      'BACKUP_S3_ACCESS_KEY_ID',
      'BACKUP_S3_SECRET_ACCESS_KEY',
      'BACKUP_S3_SESSION_TOKEN',
      'BACKUP_SECRET',
      'BACKUP_SECRET_OTHER',
      'ETCD_PASSWORD',
      'CLUSTER_SECRET',
      'CLUSTER_SECRET_OTHER',
    ]);
    const text = (secret: string): string =>
      describeSettings(role, settingsInForce(role, Object.fromEntries(secrets.map((name) => [name, secret])), MACHINE));
    expect(text('hush-hush-hush-hush')).not.toContain('hush');
    expect(text('hush-hush-hush-hush')).toBe(text('another-hidden-one-that-is-long'));
    expect(text('another-hidden-one')).toMatch(/^(API_KEY|CLUSTER_SECRET) +\*{8} +environment$/m);
    expect(inForce('embedded', {}).API_KEY).toBe('(unset) (default)');
  });

  test('names what is set and means nothing to the role', () => {
    expect(
      settingsInForce('embedded', { ZONE: 'a', PORT: '1', RPC_PORT: 'ignored', PATH: '/bin' }, MACHINE).unread,
    ).toEqual(['RPC_PORT', 'ZONE']);
    expect(describeSettings('node', settingsInForce('node', { ...MEMBER, PORT: '1' }, MACHINE))).toMatch(
      /\nset, but not read by node: PORT\n$/,
    );
    expect(describeSettings('node', settingsInForce('node', MEMBER, MACHINE))).not.toContain('not read');
  });

  test.each<[ProcessRole, Record<string, string>, string]>([
    [
      'embedded',
      { PORT: 'tcp://10.0.0.1:80' },
      'PORT="tcp://10.0.0.1:80" is not valid: expected an integer from 0 to 65535',
    ],
    ['node', {}, 'CLUSTER_SECRET is not set: members of a cluster need one, the same for all'],
    [
      'coordinator',
      { ...MEMBER, ETCD_CA_FILE: '/nowhere/ca.pem' },
      'ETCD_CA_FILE="/nowhere/ca.pem" cannot be read: ENOENT: no such file or directory, open \'/nowhere/ca.pem\'',
    ],
  ])('%s %j is refused in one line', (role, environment, message) => {
    expect(() => settingsInForce(role, environment, MACHINE)).toThrow(
      expect.objectContaining({ kind: 'invalid_parameter', message }),
    );
  });

  test('files that can be read are accepted', () => {
    const folder = mkdtempSync(join(tmpdir(), 'quiver-settings-'));
    try {
      const file = join(folder, 'any.pem');
      writeFileSync(file, 'pem');
      expect(
        inForce('node', { ...MEMBER, TLS_CA_FILE: file, TLS_CERT_FILE: file, TLS_KEY_FILE: file }).TLS_KEY_FILE,
      ).toBe(`${file} (environment)`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
