import { VerifyKind, verifyJob } from '../../../../../coordinator/jobs/backup/verify-kind';
import type { JobProgress, RunningJob } from '../../../../../coordinator/jobs/record/job-kind';
import { type JobRecord, newJobRecord } from '../../../../../coordinator/jobs/record/job-record';
import {
  type CheckedObject,
  DATA_PREFIX,
  putChecked,
  sealedText,
  type ShardManifest,
} from '../../../../../shared/backup-store/backup-format';
import type { BackupTarget } from '../../../../../shared/backup-store/backup-target';
import { type Logger, silentLogger } from '../../../../../shared/base/logs/logger';
import { systemClock } from '../../../../../shared/base/time/clock';
import { Pace } from '../../../../../shared/base/time/pace';
import { TEST_SEALS } from '../../../../support/cluster/test-seals';

/** A verification that is cut off, and goes on. */

const ID = '20260101T000000Z-00000000';
const OBJECTS = 20;
const objects = new Map<string, Buffer>();
let read: string[] = [];
const target: BackupTarget = {
  name: 'file:/x',
  seals: TEST_SEALS,
  get: async (key) => {
    read.push(key);
    return objects.get(key) ?? null;
  },
  put: async (key, bytes) => void objects.set(key, bytes),
  create: async (key, bytes) => !objects.has(key) && objects.set(key, bytes).has(key),
  delete: async (key) => void objects.delete(key),
  list: async () => [],
};
const kind = new VerifyKind({
  openTarget: () => target,
  pace: new Pace(Infinity),
  clock: systemClock,
  log: silentLogger as Logger,
});
let live: CheckedObject[];

beforeEach(async () => {
  objects.clear();
  live = [];
  for (let i = 0; i < OBJECTS; i += 1)
    live.push(await putChecked(target, `${DATA_PREFIX}${ID}/u.0/a/${i}`, Buffer.from(`object ${i}`)));
  const content: ShardManifest = {
    lineage: '',
    dim: 1,
    items: 1,
    lastRecno: 1,
    segments: [],
    live,
    spec: '',
    operation: 1,
    index: null,
    journal: [],
  };
  const shard = await putChecked(target, `${DATA_PREFIX}${ID}/u.0/a/shard.json`, sealedText(content));
  const manifest = {
    ...{
      id: ID,
      startedAt: '2026-01-01T00:00:00.000Z',
      finishedAt: '2026-01-01T00:00:00.000Z',
      version: '',
      scheduled: false,
      keys: [],
      copiedBytes: 1,
      totalBytes: 1,
    },
    collections: [
      { name: 'c', record: '{}', uid: 'u', shards: [{ manifest: shard, items: 1, totalBytes: 1, needs: [ID] }] },
    ],
  };
  objects.set(`backups/${ID}.json`, sealedText(manifest, { seals: TEST_SEALS, key: `backups/${ID}.json` }));
  read = [];
});

/** A job that stores all that is reported. */
function running(onReport: (progress: JobProgress) => void = () => undefined): RunningJob & { record: JobRecord } {
  const input = { backup: ID, target: target.name };
  const job = {
    record: newJobRecord({ ...verifyJob(input), id: 'verify-1' }, 0),
    foundState: 'queued' as const,
    report(progress: JobProgress): void {
      job.record = { ...job.record, ...(JSON.parse(JSON.stringify(progress)) as JobProgress) };
      onReport(progress);
    },
    async note(progress: JobProgress): Promise<void> {
      job.report(progress);
    },
  };
  return job;
}

test('goes on where it was, remembers what was damaged, and says what it found', async () => {
  objects.set(live[0].key, Buffer.from('another'));
  const stop = new AbortController();
  const job = running(() => stop.abort());
  await expect(kind.run(job, stop.signal)).rejects.toMatchObject({ kind: 'unavailable' });
  expect(job.record).toMatchObject({ total: OBJECTS + 1, notes: { damaged: [live[0].key] } });
  const done = job.record.done;
  expect(done).toBeGreaterThan(0);
  expect(done).toBeLessThan(OBJECTS);
  expect(objects.has(`checks/${ID}.json`)).toBe(false);
  // Whatever it says of that one by now.
  objects.set(live[0].key, Buffer.from('object 0'));
  read = [];
  objects.delete(live[OBJECTS - 1].key);
  const found = await kind.run({ ...running(), record: job.record }, new AbortController().signal);
  expect(found).toMatchObject({
    backup: ID,
    objects: OBJECTS + 1,
    damaged: [live[0].key, live[OBJECTS - 1].key].sort(),
  });
  expect(read.filter((key) => live.some((one) => one.key === key))).toHaveLength(OBJECTS + 1 - done);
  expect(objects.has(`checks/${ID}.json`)).toBe(true);
});

test('of a backup that is gone fails', async () => {
  objects.delete(`backups/${ID}.json`);
  await expect(kind.run(running(), new AbortController().signal)).rejects.toMatchObject({
    kind: 'not_found',
    message: `backup "${ID}" does not exist`,
  });
});
