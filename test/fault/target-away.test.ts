import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { restored, takeBackup, type AdminCall } from '../support/targets/backup-calls';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { SmallDisk } from '../support/machines/small-disk';

/** A whole process that ships its logs to a target which is away, on a disk that what waits for it would fill. */

const disk = SmallDisk.mount(110);
if (disk === null) process.stderr.write('skipped: test/fault/target-away needs the right to mount a tmpfs\n');
const onSmallDisk = disk === null ? test.skip : test;
const target = join(tmpdir(), `quiver-target-${randomUUID()}`);

afterAll(() => {
  disk?.unmount();
  rmSync(target, { recursive: true, force: true });
});

const ROUNDS = 180;
const DIM = 256;
const ITEMS = 500;
const vectorOf = (n: number, round: number): number[] =>
  Array.from({ length: DIM }, (_, at) => Math.fround(Math.sin(n * 7 + at * 13 + round)));
const itemsOf = (round: number): object => ({
  items: Array.from({ length: ITEMS }, (_, n) => ({
    external_id: `x${n}`,
    vector: vectorOf(n, round),
    metadata: { round },
  })),
});

onSmallDisk(
  'moments are given up before writes stop, which is told; once the target is back, it goes on by itself',
  async () => {
    const { folder } = disk as SmallDisk;
    const environment = {
      BACKUP_TARGET: `file:${target}`,
      BACKUP_LOG: 'true',
      BACKUP_LOG_SECONDS: '1',
      STORE_WRITE_BUFFER_BYTES: '8388608',
      BACKUP_SECRET: 'a secret of both services',
    };
    const server = new EmbeddedProcess({ dataDir: join(folder, 'data'), environment });
    // Where there is room: a restore beside what is kept could fill the disk by itself.
    const other = new EmbeddedProcess({ environment });
    const otherCall: AdminCall = (method, path, body) => other.data(method, path, body);
    const call: AdminCall = (method, path, body) => server.data(method, path, body);
    mkdirSync(target);
    await server.start();
    try {
      await call('POST', '/v1/collections', { name: 'c', dim: DIM, shards: 1 });
      await call('POST', '/v1/collections/c/bulk_upsert', itemsOf(0));
      await takeBackup(call, {});
      const first = new Date().toISOString();
      await eventually('the first moment is there', async () =>
        (await call('GET', '/v1/admin/backups')).restorable.some(({ until }: any) => until > first),
      );
      // In its place is a file now.
      renameSync(target, `${target}-aside`);
      writeFileSync(target, '');
      for (let round = 1; round <= ROUNDS; round += 1)
        await call('POST', '/v1/collections/c/bulk_upsert', itemsOf(round));
      const metrics = async (): Promise<string> => (await fetch(`http://127.0.0.1:${server.opsPort}/metrics`)).text();
      expect(await metrics()).toMatch(/^quiver_backup_log_given_up_bytes_total\S* [1-9]/m);
      expect(server.output).toContain('are given up, to make room for writes');

      rmSync(target);
      renameSync(`${target}-aside`, target);
      await eventually('the gap is told', async () =>
        (await call('GET', '/v1/admin/backups')).restorable.some(({ shards }: any) => shards[0].gaps > 0),
      );
      await takeBackup(call, {});
      await call('POST', '/v1/collections/c/upsert', { external_id: 'late', vector: vectorOf(0, 0) });
      const late = new Date(Date.now() + 1).toISOString();
      await eventually('moments go on', async () =>
        (await call('GET', '/v1/admin/backups')).restorable.some(({ until }: any) => until > late),
      );
      expect(await server.stop()).toBe(0);
      await other.start();
      expect(await restored(otherCall, { until: late, collections: ['c'], rename: { c: 'at-late' } })).toMatchObject({
        state: 'done',
      });
      expect((await otherCall('GET', '/v1/collections/at-late')).vector_count).toBe(ITEMS + 1);
      // And so do those before the gap.
      expect(await restored(otherCall, { until: first, collections: ['c'], rename: { c: 'at-first' } })).toMatchObject({
        state: 'done',
      });
      expect(
        (await otherCall('POST', '/v1/collections/at-first/search', { vector: vectorOf(0, 0), k: 1 })).results[0]
          .metadata,
      ).toEqual({ round: 0 });
    } finally {
      await server.destroy();
      await other.destroy();
    }
  },
);
