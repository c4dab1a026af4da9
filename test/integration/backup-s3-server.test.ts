import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type AdminCall, restored, takeBackup } from '../support/targets/backup-calls';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { freePorts } from '../support/servers/free-ports';
import { SmallDisk } from '../support/machines/small-disk';
import { TcpProxy } from '../support/servers/tcp-proxy';

/**
 * Backups in a real S3 server that fails, is slow and is full half-way. QUIVER_VERSITYGW is the program of VersityGW
 * (`go install github.com/versity/versitygw/cmd/versitygw@latest`); without it, and where no disk of its own can be
 * mounted for it, this is left out, and test/contract/backup-target has the same with a server of its own.
 */

const program = process.env.QUIVER_VERSITYGW ?? '';
const disk = program === '' ? null : SmallDisk.mount(64);
const inReality = disk === null ? describe.skip : describe;
if (disk === null)
  process.stderr.write(
    'skipped: test/integration/backup-s3-server needs QUIVER_VERSITYGW and the right to mount a disk\n',
  );

const KEY = { id: 'quiver', secret: 'the-secret-of-a-test' };
const COUNT = 6000;
let server: ChildProcess;
let way: TcpProxy;
let service: EmbeddedProcess;
const call: AdminCall = (method, path, body) => service.data(method, path, body);

async function write(from: number, count: number): Promise<void> {
  for (let at = from; at < from + count; at += 500)
    await call('POST', '/v1/collections/things/bulk_upsert', {
      items: Array.from({ length: 500 }, (_, i) => ({
        external_id: `id-${at + i}`,
        vector: Array.from({ length: 64 }, (_, n) => Math.sin((at + i) * 64 + n)),
        metadata: { n: at + i },
      })),
    });
}

const contentOf = async (collection: string): Promise<unknown> =>
  (await call('GET', `/v1/collections/${collection}/export?limit=100000`)).vectors;

async function isWholeAgain(backup: string, name: string): Promise<void> {
  expect((await restored(call, { backup, rename: { things: name }, shards: 3 })).state).toBe('done');
  expect(await contentOf(name)).toEqual(await contentOf('things'));
  await call('DELETE', `/v1/collections/${name}`);
}

inReality('backups in a real S3 server', () => {
  beforeAll(async () => {
    const [port] = await freePorts(1);
    const [data, sidecar] = ['data', 'sidecar'].map((name) => join(disk!.folder, name));
    for (const folder of [data, join(data, 'backups'), sidecar]) mkdirSync(folder);
    server = spawn(program, ['--port', `127.0.0.1:${port}`, 'posix', '--sidecar', sidecar, data], {
      env: { ROOT_ACCESS_KEY: KEY.id, ROOT_SECRET_KEY: KEY.secret },
      stdio: 'ignore',
    });
    way = await TcpProxy.start(port);
    await eventually('the server answers', () =>
      fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false,
      ),
    );
    service = new EmbeddedProcess({
      environment: {
        BACKUP_TARGET: 's3://backups/of/quiver',
        BACKUP_S3_ENDPOINT: `http://${way.endpoint}`,
        BACKUP_S3_PATH_STYLE: 'true',
        BACKUP_S3_ACCESS_KEY_ID: KEY.id,
        BACKUP_S3_SECRET_ACCESS_KEY: KEY.secret,
        BACKUP_S3_ENCRYPTION: 'AES256',
      },
    });
    await service.start();
    await call('POST', '/v1/collections', { name: 'things', dim: 64, shards: 2 });
    await write(0, COUNT);
  });

  afterAll(async () => {
    await service.destroy();
    await way.close();
    server.kill('SIGKILL');
    disk!.unmount();
  });

  test('a backup is taken, checked, restored and deleted', async () => {
    const { id } = await takeBackup(call);
    await call('POST', `/v1/admin/backups/${id}/verify`);
    await eventually(
      'it is checked',
      async () => (await call('GET', `/v1/admin/backups/${id}`)).verification?.state === 'done',
    );
    expect((await call('GET', `/v1/admin/backups/${id}`)).verification.damaged).toEqual([]);
    await isWholeAgain(id, 'first');
    await call('DELETE', `/v1/admin/backups/${id}`);
    await eventually(
      'it is gone',
      async () => (await service.call('GET', `/v1/admin/backups/${id}`)).error?.code === 404,
    );
  });

  test('one that finds it full fails, says so and leaves room; the next one succeeds', async () => {
    disk!.fill();
    const { id } = await call('POST', '/v1/admin/backups', {});
    let last: any;
    await eventually(
      'it is over',
      async () => !['running', 'cancelling'].includes((last = await call('GET', `/v1/admin/backups/${id}`)).state),
    );
    process.stderr.write(`a full server: ${last.error}\n`);
    expect(last).toMatchObject({ state: 'failed', error: expect.stringContaining('backup target') });
    disk!.free();
    await isWholeAgain((await takeBackup(call)).id, 'full');
  });

  test('one that loses its connections on the way, or is slow, is taken and restored all the same', async () => {
    await write(COUNT, 2000);
    const begun = await call('POST', '/v1/admin/backups', {});
    await way.cut();
    await eventually('it is under way', async () => (await service.call('GET', '/v1/collections')).error === null);
    await way.restore();
    await eventually('it is over', async () => (await call('GET', `/v1/admin/backups/${begun.id}`)).state === 'done');
    await write(COUNT + 2000, 500);
    // It stands still most of the time.
    const pulses = setInterval(() => {
      server.kill('SIGSTOP');
      setTimeout(() => server.kill('SIGCONT'), 300);
    }, 400);
    try {
      await isWholeAgain((await takeBackup(call)).id, 'slow');
    } finally {
      clearInterval(pulses);
    }
  });
});
