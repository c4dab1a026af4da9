import { mkdirSync, mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { SmallDisk } from '../support/machines/small-disk';

/**
 * A whole process whose disk fills up: it refuses, reads on, takes up writing by itself, and loses nothing it
 * acknowledged.
 */

const disk = SmallDisk.mount(200);
if (disk === null) process.stderr.write('skipped: test/fault/full-disk needs the right to mount a tmpfs\n');
const onSmallDisk = disk === null ? test.skip : test;

afterAll(() => disk?.unmount());

onSmallDisk(
  'a full disk refuses writes clearly; once there is room again they work, and a crash afterwards loses none of them',
  async () => {
    const { folder } = disk as SmallDisk;
    const server = new EmbeddedProcess({ dataDir: join(folder, 'data') });
    await server.start();
    try {
      const upsert = (id: string) =>
        server.call('POST', '/v1/collections/c/upsert', {
          external_id: id,
          vector: [1, 2],
          metadata: { pad: 'x'.repeat(9000) },
        });
      const describe = (description: string) => server.call('PATCH', '/v1/collections/c', { description });
      const ids = async () =>
        (await server.data('POST', '/v1/collections/c/search', { vector: [1, 2], k: 100 })).results.map(
          (hit: any) => hit.external_id,
        );
      await server.data('POST', '/v1/collections', { name: 'c', dim: 2 });
      await server.data('POST', '/v1/collections/c/upsert', { external_id: 'before', vector: [1, 2] });

      (disk as SmallDisk).fill();
      expect((await upsert('refused')).error?.code).toBe(500);
      expect((await upsert('refused')).error).toEqual({
        code: 500,
        message: expect.stringContaining('the disk is full'),
      });
      for (let i = 0; i < 3; i++) expect((await describe('y'.repeat(9000))).error?.code).toBe(500);
      expect(await ids()).toEqual(['before']);
      expect((await server.data('GET', '/v1/collections')).collections).toMatchObject([
        { name: 'c', description: null },
      ]);

      (disk as SmallDisk).free();
      await eventually('the shard takes writes', async () => (await upsert('after')).status === 'success');
      await eventually('the collections take changes', async () => (await describe('after')).status === 'success');
      await server.data('POST', '/v1/collections', { name: 'd', dim: 2 });
      const { key } = await server.data('POST', '/v1/admin/keys', { name: 'late', role: 'readonly' });

      await server.kill();
      await server.start();
      expect((await ids()).sort()).toEqual(['after', 'before']);
      const collections = await server.call('GET', '/v1/collections', undefined, { 'x-api-key': key });
      expect(collections.data.collections).toMatchObject([{ name: 'c', description: 'after' }, { name: 'd' }]);
    } finally {
      await server.destroy();
    }
  },
);

const REFUSALS: [string, (small: SmallDisk) => void, (small: SmallDisk) => void][] = [
  ['the disk is full', (small) => small.fill(), (small) => small.free()],
  ['the file system is read-only', (small) => small.setReadOnly(true), (small) => small.setReadOnly(false)],
];

onSmallDisk.each(REFUSALS)(
  'shards that can not be opened are told by name (%s), and are opened by themselves afterwards',
  async (reason, begin, end) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'quiver-full-disk-'));
    // What lies beside the shards has room: the process starts.
    const shards = mkdtempSync(join((disk as SmallDisk).folder, 'node-'));
    mkdirSync(join(shards, 'shards'));
    symlinkSync(shards, join(dataDir, 'node'));
    // Each start opens all of them for writing.
    const server = new EmbeddedProcess({ dataDir, environment: { IDLE_SHARD_SECONDS: '0' } });
    await server.start();
    try {
      const search = () => server.call('POST', '/v1/collections/c/search', { vector: [1, 2] });
      await server.data('POST', '/v1/collections', { name: 'c', dim: 2 });
      await server.data('POST', '/v1/collections/c/upsert', { external_id: 'a', vector: [1, 2] });
      await server.stop();
      begin(disk as SmallDisk);
      try {
        await server.start();
        const told = {
          code: 500,
          message: expect.stringMatching(
            new RegExp(`^shard 0 of 1 of collection "c": ${reason}: .*until the disk takes writes again`),
          ),
        };
        expect((await search()).error).toEqual(told);
        expect(
          (await server.call('POST', '/v1/collections/c/upsert', { external_id: 'b', vector: [1, 2] })).error,
        ).toEqual(told);
        expect((await server.data('GET', '/v1/health')).unavailable).toHaveLength(1);
      } finally {
        end(disk as SmallDisk);
      }
      await eventually('it is searched', async () => (await search()).status === 'success');
      expect((await search()).data.results).toHaveLength(1);
    } finally {
      await server.destroy();
    }
  },
);
