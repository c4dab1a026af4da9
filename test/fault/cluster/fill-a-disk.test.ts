import { join } from 'node:path';
import { eventually } from '../../support/eventually';
import { SmallDisk } from '../../support/machines/small-disk';
import { underLoad } from './under-load';

const disk = SmallDisk.mount(200);
if (disk === null) process.stderr.write('skipped: test/fault/cluster/fill-a-disk needs the right to mount a tmpfs\n');
const onSmallDisk = disk === null ? test.skip : test;

afterAll(() => disk?.unmount());

onSmallDisk(
  'a node whose disk is full gives its shards to others, and takes part again when there is room',
  async () => {
    const { folder } = disk as SmallDisk;
    const environmentOf = async (id: string): Promise<Record<string, string>> =>
      id === 'node-0' ? { DATA_DIR: join(folder, 'data') } : {};
    await underLoad('fill-a-disk', { replicas: 2, environmentOf }, async ({ cluster, writes }) => {
      const shards = async () => (await cluster.view()).shards;
      (disk as SmallDisk).fill();
      await eventually('others lead every shard', async () =>
        (await shards()).every(({ primary }) => primary !== null && primary !== 'node-0'),
      );
      await writes(25);
      (disk as SmallDisk).free();
      await eventually('it is in sync with the others', async () =>
        (await shards()).some(({ in_sync: inSync }) => inSync.includes('node-0')),
      );
    });
  },
);
