import { BACKUPS_PATH, SCHEDULE_PATH } from '../../../../../coordinator/jobs/backup/backup-record';
import { newBackupRecord } from '../../../../../coordinator/jobs/backup/backup-requests';
import { BackupSchedule } from '../../../../../coordinator/jobs/backup/backup-schedule';
import { Cron } from '../../../../../coordinator/jobs/backup/cron';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { ManualClock } from '../../../../support/manual-clock';

/** When scheduled backups begin, whatever clocks say. */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Midnight. */
const NOW_MS = Date.UTC(2026, 0, 1);

let store: ClusterStore;
const warnings: string[] = [];

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  warnings.length = 0;
});
afterEach(() => store.close());

function scheduleBy(clock: ManualClock): BackupSchedule {
  const newRecord = () => newBackupRecord(clock.wallMs(), 'file:/x', { collections: null, scheduled: true });
  const log = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
  return new BackupSchedule({ store, clock, cron: Cron.parse('0 3 * * *')!, newRecord, log });
}

/** Looks every half hour for so long; answers how many backups there are then. */
async function backupsAfter(ms: number, schedule: BackupSchedule, clock: ManualClock): Promise<number> {
  for (let passedMs = 0; passedMs < ms; passedMs += HOUR_MS / 2) {
    await schedule.look(false);
    clock.advance(HOUR_MS / 2);
  }
  return (await store.list(BACKUPS_PATH)).entries.length;
}

async function noteLast(value: string): Promise<void> {
  await store.transact([], [{ type: 'put', key: SCHEDULE_PATH, value }]);
}

test('a backup begins whenever it is due, once', async () => {
  const clock = new ManualClock(NOW_MS);
  expect(await backupsAfter(2 * DAY_MS, scheduleBy(clock), clock)).toBe(2);
  expect(warnings).toEqual([]);
});

test.each([
  ['of a clock that was ahead', String(NOW_MS + 30 * DAY_MS)],
  ['that is none', 'soon'],
])('a time %s does not end the schedule, and is told', async (_, last) => {
  await noteLast(last);
  const clock = new ManualClock(NOW_MS);
  expect(await backupsAfter(2 * DAY_MS, scheduleBy(clock), clock)).toBe(2);
  expect(warnings).toEqual([expect.stringContaining('a clock was ahead')]);
});

test('a clock that is a little behind another one changes nothing', async () => {
  const last = String(NOW_MS + HOUR_MS / 2);
  await noteLast(last);
  await scheduleBy(new ManualClock(NOW_MS)).look(false);
  expect((await store.get(SCHEDULE_PATH))?.value).toBe(last);
  expect(warnings).toEqual([]);
});

test('a clock that was ahead and is put right goes on at once', async () => {
  const clock = new ManualClock(NOW_MS + 30 * DAY_MS);
  const schedule = scheduleBy(clock);
  await schedule.look(false);
  clock.advance(-30 * DAY_MS);
  expect(await backupsAfter(2 * DAY_MS, schedule, clock)).toBe(2);
});
