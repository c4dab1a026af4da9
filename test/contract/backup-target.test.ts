import { spawnSync } from 'node:child_process';
import { TEST_SEALS } from '../support/cluster/test-seals';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BackupTarget } from '../../shared/backup-store/backup-target';
import { FolderTarget } from '../../shared/backup-store/folder-target';
import { type S3Access, S3Target } from '../../shared/backup-store/s3-target';
import { S3_KEY, TinyS3 } from '../support/servers/tiny-s3';

/**
 * What every backup target promises. A real S3 server takes part where its address is in QUIVER_S3_ENDPOINT, with a
 * bucket named `backups` (QUIVER_S3_KEY and QUIVER_S3_SECRET: its key): moto, versitygw, MinIO.
 */

const access: S3Access = {
  endpoint: '',
  region: 'us-east-1',
  isPathStyle: true,
  accessKeyId: S3_KEY.id,
  secretAccessKey: S3_KEY.secret,
  sessionToken: undefined,
  credentialsFile: '',
  encryption: '',
};
const folder = mkdtempSync(join(tmpdir(), 'quiver-target-'));
let tiny: TinyS3;

beforeAll(async () => {
  tiny = await TinyS3.start();
});

afterAll(async () => {
  await tiny.close();
  rmSync(folder, { recursive: true, force: true });
});

const real = process.env.QUIVER_S3_ENDPOINT;
const targets: [string, () => BackupTarget][] = [
  ['a folder', () => new FolderTarget('file:x', folder, TEST_SEALS)],
  ['the tiny S3', () => new S3Target('s3://backups/some/prefix', { ...access, endpoint: tiny.endpoint }, TEST_SEALS)],
];
const realTarget = (name: string): BackupTarget =>
  new S3Target(
    `s3://backups/${name}`,
    {
      ...access,
      endpoint: real!,
      accessKeyId: process.env.QUIVER_S3_KEY ?? 'test',
      secretAccessKey: process.env.QUIVER_S3_SECRET ?? 'test',
    },
    TEST_SEALS,
  );
if (real !== undefined) targets.push(['a real S3', () => realTarget(`run-${process.pid}`)]);
else process.stderr.write('skipped: test/contract/backup-target with a real S3 server needs QUIVER_S3_ENDPOINT\n');

describe.each(targets)('%s', (_name, open) => {
  test('what was put is there, listed and the same, until it is deleted', async () => {
    const target = open();
    const large = Buffer.alloc(3 * 1024 * 1024, 7);
    await target.put('data/one/a', Buffer.from('first'));
    await target.put('data/one/a', Buffer.from('again'));
    await target.put('data/one/empty', Buffer.alloc(0));
    await target.put('data/two/b', large);
    for (let i = 0; i < 5; i += 1) await target.put(`backups/${i}.json`, Buffer.from(`${i}`));
    expect((await target.get('data/one/a'))?.toString()).toBe('again');
    expect(await target.get('data/one/empty')).toHaveLength(0);
    expect((await target.get('data/two/b'))?.equals(large)).toBe(true);
    expect(await target.get('data/none')).toBeNull();
    const sorted = async (prefix: string) => (await target.list(prefix)).sort((a, b) => (a.key < b.key ? -1 : 1));
    expect(await sorted('data/')).toEqual([
      { key: 'data/one/a', bytes: 5 },
      { key: 'data/one/empty', bytes: 0 },
      { key: 'data/two/b', bytes: large.length },
    ]);
    expect((await sorted('backups/')).map(({ key }) => key)).toEqual([0, 1, 2, 3, 4].map((i) => `backups/${i}.json`));
    expect((await target.list('backups/', 'backups/2.json')).map(({ key }) => key).sort()).toEqual([
      'backups/3.json',
      'backups/4.json',
    ]);
    expect((await target.list('data/', 'data/one/b')).map(({ key }) => key).sort()).toEqual([
      'data/one/empty',
      'data/two/b',
    ]);
    expect(await target.list('backups/', 'backups/9')).toEqual([]);
    expect(await target.list('none/')).toEqual([]);
    for (const { key } of [...(await target.list('data/')), ...(await target.list('backups/'))])
      await target.delete(key);
    await target.delete('data/one/a');
    expect(await target.list('')).toEqual([]);
  });

  test.each(['../outside', '/etc/passwd', 'data/../../outside', 'data/./a', 'data//a', 'data/a b', ''])(
    'nothing has the name %j',
    async (key) => {
      const target = open();
      for (const call of [() => target.get(key), () => target.put(key, Buffer.from('x')), () => target.delete(key)])
        await expect(call()).rejects.toMatchObject({ kind: 'storage_damaged' });
    },
  );

  test('an object that has more bytes than it may have is not read', async () => {
    const target = open();
    await target.put('data/one/large', Buffer.alloc(1001));
    expect(await target.get('data/one/large', 1001)).toHaveLength(1001);
    await expect(target.get('data/one/large', 1000)).rejects.toMatchObject({ kind: 'storage_damaged' });
    await target.delete('data/one/large');
  });

  test('of many who create an object one does, and what it has written stays until it is deleted', async () => {
    const target = open();
    const contents = Array.from({ length: 8 }, (_, i) => `content ${i}`);
    const created = await Promise.all(
      contents.map((content) => target.create('backups/created.json', Buffer.from(content))),
    );
    expect(created.filter((isCreated) => isCreated)).toHaveLength(1);
    const first = contents[created.indexOf(true)];
    expect(await target.create('backups/created.json', Buffer.from('another'))).toBe(false);
    expect((await target.get('backups/created.json'))?.toString()).toBe(first);
    expect(await target.list('backups/')).toEqual([{ key: 'backups/created.json', bytes: first.length }]);
    await target.put('backups/created.json', Buffer.from('put'));
    expect((await target.get('backups/created.json'))?.toString()).toBe('put');
    await target.delete('backups/created.json');
    expect(await target.create('backups/created.json', Buffer.from('again'))).toBe(true);
    expect((await target.get('backups/created.json'))?.toString()).toBe('again');
    await target.delete('backups/created.json');
  });
});

describe('a folder that somebody else can write to', () => {
  const outside = mkdtempSync(join(tmpdir(), 'quiver-outside-'));
  const inside = mkdtempSync(join(tmpdir(), 'quiver-inside-'));
  const target = new FolderTarget('file:x', inside, TEST_SEALS);
  afterAll(() => {
    for (const path of [outside, inside]) rmSync(path, { recursive: true, force: true });
  });

  test('leads nowhere else by links', async () => {
    writeFileSync(join(outside, 'a'), 'not theirs');
    symlinkSync(outside, join(inside, 'data'));
    for (const call of [
      () => target.get('data/a'),
      () => target.put('data/b', Buffer.from('x')),
      () => target.delete('data/a'),
      () => target.list('data/'),
    ]) {
      await expect(call()).rejects.toMatchObject({ kind: 'storage_failed', message: expect.stringContaining('data') });
    }
    mkdirSync(join(inside, 'backups'));
    symlinkSync(join(outside, 'a'), join(inside, 'backups/a'));
    expect(await target.get('backups/a')).toBeNull();
    expect(await target.list('backups/')).toEqual([]);
    expect(readdirSync(outside)).toEqual(['a']);
  });

  test('holds nobody up with what is no file', async () => {
    mkdirSync(join(inside, 'claims/folder.json'), { recursive: true });
    expect(spawnSync('mkfifo', [join(inside, 'claims/pipe.json')]).status).toBe(0);
    writeFileSync(join(inside, 'claims/no name'), 'x');
    for (const name of ['folder.json', 'pipe.json']) expect(await target.get(`claims/${name}`)).toBeNull();
    await target.delete('claims/folder.json');
    expect(await target.list('claims/')).toEqual([]);
  });
});

describe('a folder', () => {
  const open = (): FolderTarget => new FolderTarget('file:x', folder, TEST_SEALS);
  const filesIn = (name: string): string[] => readdirSync(join(folder, name));

  test('leaves nothing beside an object that is created, or was there', async () => {
    await open().create('claims/a', Buffer.from('one'));
    await open().create('claims/a', Buffer.from('two'));
    expect(filesIn('claims')).toEqual(['a']);
    await open().delete('claims/a');
  });

  test.each(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])(
    'on a file system without hard links (%s) creates what it does not find',
    async (code) => {
      const link = jest.spyOn(promises, 'link').mockRejectedValue(Object.assign(new Error(code), { code }));
      try {
        expect(await open().create('claims/b', Buffer.from('one'))).toBe(true);
        expect(await open().create('claims/b', Buffer.from('two'))).toBe(false);
        expect(link).toHaveBeenCalledTimes(2);
        expect((await open().get('claims/b'))?.toString()).toBe('one');
        expect(filesIn('claims')).toEqual(['b']);
      } finally {
        link.mockRestore();
        await open().delete('claims/b');
      }
    },
  );

  test('that can not link for another reason says so, and leaves nothing', async () => {
    const link = jest.spyOn(promises, 'link').mockRejectedValue(Object.assign(new Error('EIO'), { code: 'EIO' }));
    try {
      await expect(open().create('claims/c', Buffer.from('one'))).rejects.toMatchObject({
        kind: 'unavailable',
        message: expect.stringContaining('EIO'),
      });
      expect(filesIn('claims')).toEqual([]);
    } finally {
      link.mockRestore();
    }
  });
});

describe('an S3 target', () => {
  const open = (over: Partial<S3Access> = {}, attemptMs?: number): S3Target =>
    new S3Target('s3://backups', { ...access, endpoint: tiny.endpoint, ...over }, TEST_SEALS, attemptMs);

  afterEach(() => {
    tiny.fault = () => null;
    tiny.delayMs = 0;
    tiny.conditions = 'known';
    tiny.requests.length = 0;
    tiny.objects.clear();
  });

  test('tries again what may pass: refusals for now, broken and cut connections', async () => {
    const target = open();
    let left = 3;
    tiny.fault = () =>
      left-- > 0
        ? (['break', { status: 503, code: 'SlowDown' }, { status: 500, code: 'InternalError' }] as const)[left]
        : null;
    await target.put('a', Buffer.from('content'));
    left = 1;
    tiny.fault = () => (left-- > 0 ? 'cut' : null);
    expect((await target.get('a'))?.toString()).toBe('content');
  });

  test.each(['hang', 'drip'] as const)(
    'gives each attempt up whose answer does not end ("%s"), and tries again',
    async (mode) => {
      const target = open({}, 300);
      await target.put('a', Buffer.from('content'));
      for (const attempt of [
        async () => (await target.get('a'))?.toString(),
        async () => (await target.list('')).map(({ key }) => key).join(','),
      ]) {
        let left = 2;
        tiny.fault = () => (left-- > 0 ? mode : null);
        expect(await attempt()).toMatch(/^(content|a)$/);
        expect(left).toBe(-1);
      }
    },
  );

  test('reads no more of an answer than may be in it', async () => {
    const target = open();
    await target.put('a', Buffer.from('content'));
    tiny.fault = () => 'flood';
    await expect(target.get('a', 100_000)).rejects.toMatchObject({ kind: 'storage_damaged' });
    await expect(target.list('')).rejects.toMatchObject({ kind: 'storage_damaged' });
  });

  test('takes a page of somebody between for no empty list', async () => {
    tiny.fault = () => 'page';
    await expect(open().list('')).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('gives up on what will not pass at once, and says why', async () => {
    const target = open();
    tiny.fault = () => ({ status: 507, code: 'XMinioStorageFull' });
    await expect(target.put('a', Buffer.from('x'))).rejects.toMatchObject({
      kind: 'storage_failed',
      message: expect.stringContaining('XMinioStorageFull'),
    });
    tiny.fault = () => null;
    await expect(open({ secretAccessKey: 'another' }).put('a', Buffer.from('x'))).rejects.toMatchObject({
      kind: 'storage_failed',
      message: expect.stringContaining('SignatureDoesNotMatch'),
    });
    await expect(
      new S3Target('s3://none', { ...access, endpoint: tiny.endpoint }, TEST_SEALS).get('a'),
    ).rejects.toMatchObject({ kind: 'storage_failed' });
    await expect(open({ accessKeyId: undefined }).get('a')).rejects.toMatchObject({
      message: expect.stringContaining('BACKUP_S3_ACCESS_KEY_ID'),
    });
    expect(tiny.requests.length).toBeLessThanOrEqual(3);
  });

  test('creates by a condition that the store checks, and tries again when two write at once', async () => {
    const target = open();
    let left = 2;
    tiny.fault = () => (left-- > 0 ? { status: 409, code: 'ConditionalRequestConflict' } : null);
    expect(await target.create('a', Buffer.from('one'))).toBe(true);
    expect(tiny.requests.map(({ method, headers }) => [method, headers['if-none-match']])).toEqual(
      Array.from({ length: 3 }, () => ['PUT', '*']),
    );
    // What earlier versions of MinIO answer.
    tiny.fault = () => ({ status: 304, code: '' });
    expect(await target.create('a', Buffer.from('two'))).toBe(false);
    tiny.fault = () => ({ status: 403, code: 'AccessDenied' });
    await expect(target.create('a', Buffer.from('two'))).rejects.toMatchObject({ kind: 'storage_failed' });
  });

  test('that created an object and lost the answer finds it there', async () => {
    const target = open();
    let left = 1;
    tiny.fault = () => (left-- > 0 ? 'cut' : null);
    expect(await target.create('a', Buffer.from('one'))).toBe(false);
    expect((await target.get('a'))?.toString()).toBe('one');
  });

  test('looks first where the store refuses conditions, and overwrites where it passes over them', async () => {
    const target = open();
    tiny.conditions = 'refused';
    expect(await target.create('a', Buffer.from('one'))).toBe(true);
    expect(await target.create('a', Buffer.from('two'))).toBe(false);
    expect((await target.get('a'))?.toString()).toBe('one');
    expect(tiny.requests.filter(({ headers }) => headers['if-none-match'] !== undefined)).toHaveLength(2);
    tiny.fault = ({ headers }) =>
      headers['if-none-match'] === undefined ? null : { status: 400, code: 'NotImplemented' };
    expect(await target.create('a', Buffer.from('two'))).toBe(false);
    tiny.fault = () => null;
    tiny.conditions = 'ignored';
    expect(await target.create('a', Buffer.from('two'))).toBe(true);
    expect((await target.get('a'))?.toString()).toBe('two');
  });

  test('asks for encryption, and takes credentials from a file that changes', async () => {
    const file = join(folder, 'credentials');
    writeFileSync(file, '[default]\naws_access_key_id = old\naws_secret_access_key = old\n');
    const target = open({
      accessKeyId: undefined,
      secretAccessKey: undefined,
      credentialsFile: file,
      encryption: 'AES256',
    });
    await expect(target.put('a', Buffer.from('x'))).rejects.toMatchObject({ kind: 'storage_failed' });
    writeFileSync(file, `[default]\naws_access_key_id = ${S3_KEY.id}\naws_secret_access_key = ${S3_KEY.secret}\n`);
    await target.put('a', Buffer.from('x'));
    expect(tiny.requests.at(-1)?.headers['x-amz-server-side-encryption']).toBe('AES256');
  });
});
