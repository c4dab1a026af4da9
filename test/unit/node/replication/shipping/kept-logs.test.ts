import { type Disk, KeptLogs } from '../../../../../node/replication/shipping/kept-logs';
import type { KeptLog } from '../../../../../node/engine/shard/backup/shippable-log';
import type { Logger } from '../../../../../shared/base/logs/logger';
import { LogMemory } from '../../../../support/shards/shard-node';

/** What all logs of a process keep for a target that is away. */

const MB = 1024 * 1024;

/** A log that keeps pieces of a size. */
class Kept implements KeptLog {
  readonly id = { collectionUid: 'c', shard: 0 };
  constructor(
    public keptBytes: number,
    private readonly piece = MB,
  ) {}

  giveUp(bytes: number): number {
    const gone = Math.min(this.keptBytes, Math.ceil(bytes / this.piece) * this.piece);
    this.keptBytes -= gone;
    return gone;
  }
}

const log = new LogMemory();
let nowMs: number;
let asked: number;
let disk: Disk;
const keptLogs = (logs: Kept[], bytesMax = 100 * MB): KeptLogs =>
  new KeptLogs({
    logs: () => logs,
    folder: '/data',
    bytesMax,
    log: log as unknown as Logger,
    nowMs: () => nowMs,
    diskOf: async () => {
      asked += 1;
      return disk;
    },
  });

beforeEach(() => {
  nowMs = 0;
  asked = 0;
  disk = { freeBytes: 900 * MB, sizeBytes: 1_000 * MB };
  log.lines.length = 0;
});

test('beyond the budget the log that keeps the most gives up first', async () => {
  const logs = [new Kept(30 * MB), new Kept(60 * MB), new Kept(10 * MB)];
  const kept = keptLogs(logs);
  await kept.look();
  expect(logs.map(({ keptBytes }) => keptBytes / MB)).toEqual([30, 60, 10]);
  logs[0].keptBytes += 8 * MB;
  await kept.look();
  expect(logs.map(({ keptBytes }) => keptBytes / MB)).toEqual([38, 45, 10]);
  expect(kept.state()).toEqual({ keptBytes: 93 * MB, givenUpBytes: 15 * MB });
  expect(log.lines).toMatchObject([{ level: 'error', fields: { bytes: 15 * MB, bytesMax: 100 * MB } }]);
  // The log of the process says it now and then, with all of it.
  logs[1].keptBytes += 10 * MB;
  await kept.look();
  expect(log.lines).toHaveLength(1);
  nowMs = 10_000;
  logs[1].keptBytes += 10 * MB;
  await kept.look();
  expect(log.lines[1].fields).toMatchObject({ bytes: kept.state().givenUpBytes - 15 * MB });
});

test('where the disk gets full, it goes down to a share of what is free, before a tenth and as much as is kept are used', async () => {
  const logs = [new Kept(40 * MB)];
  const kept = keptLogs(logs);
  disk = { freeBytes: 60 * MB, sizeBytes: 160 * MB };
  await kept.look();
  expect(logs[0].keptBytes).toBe(40 * MB);
  disk.freeBytes = 52 * MB;
  logs[0].keptBytes += MB;
  // It was asked a moment ago, and little came since.
  await kept.look();
  expect([asked, logs[0].keptBytes]).toEqual([1, 41 * MB]);
  logs[0].keptBytes += MB;
  await kept.look();
  expect([asked, logs[0].keptBytes]).toEqual([2, 13 * MB]);
  disk.freeBytes = 0;
  nowMs = 1_000;
  await kept.look();
  expect(logs[0].keptBytes).toBe(MB);
});

test('a disk that is large and nearly full costs no moments while little waits', async () => {
  const logs = [new Kept(90 * MB)];
  disk = { freeBytes: 500 * 1024 * MB, sizeBytes: 10_000 * 1024 * MB };
  await keptLogs(logs).look();
  expect(logs[0].keptBytes).toBe(90 * MB);
});

test('a disk that does not say how full it is stops nothing', async () => {
  const logs = [new Kept(200 * MB)];
  const kept = new KeptLogs({
    logs: () => logs,
    folder: '/nowhere/at/all',
    bytesMax: 160 * MB,
    log: log as unknown as Logger,
  });
  await kept.look();
  expect(logs[0].keptBytes).toBe(150 * MB);
});
