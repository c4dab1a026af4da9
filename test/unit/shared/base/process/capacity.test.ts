import { availableParallelism } from 'node:os';
import { answerBytesOf, capacityOf, FILES_PER_SHARD } from '../../../../../shared/base/process/capacity';
import {
  addressSpaceLeft,
  countOpenFiles,
  processorQuota,
  readMachineLimits,
} from '../../../../../shared/base/process/machine-limits';

const MIB = 1024 * 1024;
const DEFAULTS = { collectionsMax: 0, shardsMax: 0 };

describe('what a process takes on', () => {
  test('the usual limit of a login and a container of 2 GiB: files are what is short', () => {
    expect(capacityOf(DEFAULTS, { openFilesMax: 1024, memoryBytes: 2048 * MIB })).toEqual({
      collectionsMax: 4096,
      shardsMax: 42,
      shardsMaxSource: 'the 1024 files that may be open (ulimit -n)',
      openShardsMax: 42,
      restingFrom: 42,
      connectionsMax: 170,
    });
  });

  test('where shards are closed that nobody uses, the memory says how many there may be, and the files how many are open', () => {
    const rests = { ...DEFAULTS, rests: true };
    expect(capacityOf(rests, { openFilesMax: 1024, memoryBytes: 2048 * MIB })).toMatchObject({
      collectionsMax: 21_845,
      shardsMax: 21_845,
      shardsMaxSource: 'the memory of 2048 MiB (MAX_SHARDS sets another)',
      openShardsMax: 42,
      restingFrom: 42,
    });
    expect(capacityOf(rests, { openFilesMax: 1_048_576, memoryBytes: 2048 * MIB })).toMatchObject({
      shardsMax: 21_845,
      restingFrom: 512,
    });
    expect(capacityOf(rests, { openFilesMax: 1_048_576, memoryBytes: 64 * 1024 * MIB })).toMatchObject({
      collectionsMax: 50_000,
    });
    expect(capacityOf({ ...rests, shardsMax: 1000 }, { openFilesMax: 256, memoryBytes: 2048 * MIB })).toMatchObject({
      shardsMax: 1000,
      shardsMaxSource: 'MAX_SHARDS',
      openShardsMax: 3,
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
    expect(capacityOf({ collectionsMax: 7, shardsMax: 9 }, machine)).toMatchObject({
      collectionsMax: 7,
      shardsMax: 9,
      shardsMaxSource: 'MAX_SHARDS',
      openShardsMax: 42,
    });
    expect(capacityOf({ collectionsMax: 0, shardsMax: 1000 }, machine)).toMatchObject({
      shardsMax: 42,
      shardsMaxSource: 'the 1024 files that may be open (ulimit -n)',
    });
  });

  test.each([64, 256, 1024, 4096, 20_000, 65_536, 1_048_576, Number.MAX_SAFE_INTEGER])(
    'with %d files, shards and connections never want more than there are',
    (openFilesMax) => {
      const { openShardsMax, connectionsMax } = capacityOf(DEFAULTS, { openFilesMax, memoryBytes: 2048 * MIB });
      expect(openShardsMax).toBeGreaterThanOrEqual(1);
      expect(connectionsMax).toBeGreaterThanOrEqual(1);
      if (openFilesMax >= 256)
        expect(openShardsMax * FILES_PER_SHARD + connectionsMax * 2).toBeLessThanOrEqual(openFilesMax - 128);
    },
  );
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

describe('the memory for answers', () => {
  const GIB = 1024 * MIB;
  const large = { memoryBytes: 64 * GIB, addressSpaceLeft: Infinity, heapBytes: 4 * GIB };

  test.each([
    [0, large, 512 * MIB],
    [0, { ...large, memoryBytes: 2 * GIB }, 256 * MIB],
    [0, { ...large, addressSpaceLeft: 1.5 * GIB }, 192 * MIB],
    [0, { ...large, heapBytes: 256 * MIB }, 64 * MIB],
    [0, { ...large, memoryBytes: 64 * MIB }, 16 * MIB],
    [12_345, large, 12_345],
  ])('with the setting %d, of %j: %d', (setting, machine, bytes) => {
    expect(answerBytesOf(setting, machine)).toBe(bytes);
  });

  test('follows what a limit on the address space leaves', () => {
    const files = (limit: string): ((file: string) => string) => {
      return (file) =>
        file.endsWith('limits')
          ? `Max data size             unlimited            unlimited            bytes\nMax address space         ${limit}          unlimited            bytes\n`
          : 'VmPeak:\t 2000 kB\nVmSize:\t    1000 kB\n';
    };
    expect(addressSpaceLeft(files('5120000'))).toBe(5_120_000 - 1000 * 1024);
    expect(addressSpaceLeft(files('1000'))).toBe(0);
    expect(addressSpaceLeft(files('unlimited'))).toBe(Infinity);
    expect(
      addressSpaceLeft(() => {
        throw new Error('no such file');
      }),
    ).toBe(Infinity);
  });
});
