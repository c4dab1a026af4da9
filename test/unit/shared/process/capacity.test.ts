import { availableParallelism } from 'node:os';
import { capacityOf, FILES_PER_SHARD } from '../../../../shared/process/capacity';
import { countOpenFiles, processorQuota, readMachineLimits } from '../../../../shared/process/machine-limits';

const MIB = 1024 * 1024;
const DEFAULTS = { collectionsMax: 0, shardsMax: 0 };

describe('what a process takes on', () => {
  test('the usual limit of a login and a container of 2 GiB: files are what is short', () => {
    expect(capacityOf(DEFAULTS, { openFilesMax: 1024, memoryBytes: 2048 * MIB })).toEqual({
      collectionsMax: 4096,
      shardsMax: 42,
      shardsMaxSource: 'the 1024 files that may be open (ulimit -n)',
      openShardsMax: 42,
      connectionsMax: 170,
    });
  });

  test('a container with as many files as it likes: memory is what is short', () => {
    expect(capacityOf(DEFAULTS, { openFilesMax: 1_048_576, memoryBytes: 2048 * MIB })).toMatchObject({
      shardsMax: 512,
      shardsMaxSource: 'the memory of 2048 MiB (MAX_SHARDS sets another)',
      connectionsMax: 10_000,
    });
  });

  test('the settings decide, but no shard is opened for which there are no files', () => {
    const machine = { openFilesMax: 1024, memoryBytes: 2048 * MIB };
    expect(capacityOf({ collectionsMax: 7, shardsMax: 9 }, machine)).toMatchObject({ collectionsMax: 7, shardsMax: 9, shardsMaxSource: 'MAX_SHARDS', openShardsMax: 42 });
    expect(capacityOf({ collectionsMax: 0, shardsMax: 1000 }, machine)).toMatchObject({ shardsMax: 42, shardsMaxSource: 'the 1024 files that may be open (ulimit -n)' });
  });

  test.each([64, 256, 1024, 4096, 20_000, 65_536, 1_048_576, Number.MAX_SAFE_INTEGER])('with %d files, shards and connections never want more than there are', (openFilesMax) => {
    const { openShardsMax, connectionsMax } = capacityOf(DEFAULTS, { openFilesMax, memoryBytes: 2048 * MIB });
    expect(openShardsMax).toBeGreaterThanOrEqual(1);
    expect(connectionsMax).toBeGreaterThanOrEqual(1);
    if (openFilesMax >= 256) expect(openShardsMax * FILES_PER_SHARD + connectionsMax * 2).toBeLessThanOrEqual(openFilesMax - 128);
  });
});

test('the system says what it allows', async () => {
  const { openFilesMax, memoryBytes, processors } = readMachineLimits();
  expect(processors).toBeGreaterThan(0);
  expect(processors).toBeLessThanOrEqual(availableParallelism());
  expect(openFilesMax).toBeGreaterThanOrEqual(64);
  expect(memoryBytes).toBeGreaterThan(128 * MIB);
  const open = await countOpenFiles(openFilesMax);
  if (process.platform === 'linux') expect(open).toBeGreaterThan(3);
});

describe('the quota of processor time', () => {
  const V1 = '/sys/fs/cgroup/cpu/cpu.cfs_';
  test.each<[string, Record<string, string>, number]>([
    ['cgroup 2', { '/sys/fs/cgroup/cpu.max': '150000 100000\n' }, 1.5],
    ['cgroup 2 without one', { '/sys/fs/cgroup/cpu.max': 'max 100000\n' }, Infinity],
    ['cgroup 1', { [`${V1}quota_us`]: '50000\n', [`${V1}period_us`]: '100000\n' }, 0.5],
    ['cgroup 1 without one', { [`${V1}quota_us`]: '-1\n', [`${V1}period_us`]: '100000\n' }, Infinity],
    ['a system without cgroups', {}, Infinity],
    ['a file that says nothing', { '/sys/fs/cgroup/cpu.max': '\n' }, Infinity],
  ])('of %s', (_what, files, quota) => {
    const read = (file: string): string => {
      if (files[file] === undefined) throw new Error('no such file');
      return files[file];
    };
    expect(processorQuota(read)).toBe(quota);
  });
});
