import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../../service/readable-entries';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import type { JobState, JobView } from '../../service/jobs-service';
import { paceOf, shareOf } from '../record/job-record';
import type { JobSource } from '../record/job-source';
import {
  BACKUP_RIGHTS,
  type BackupRecord,
  type BackupState,
  BACKUPS_PATH,
  backupFromEntry,
  backupPath,
  type RestoreRecord,
  RESTORES_PATH,
  restoreFromEntry,
  type RestoreState,
  restorePath,
} from './backup-record';
import type { BackupRequests } from './backup-requests';

const UNPAUSABLE =
  'can’t be paused: nodes write a backup, or read one, as long as the service keeps what it needs; cancel it';

/** Backups and restores as jobs. What is stored of one says what of the target is in use, so it stays where it is. */
export class BackupJobs implements JobSource {
  readonly kinds = ['backup', 'restore'];

  constructor(
    private readonly parts: {
      store: ClusterStore;
      clock: Clock;
      requests: Pick<BackupRequests, 'cancel' | 'cancelRestore'>;
    },
  ) {}

  async list(): Promise<JobView[]> {
    const { store, clock } = this.parts;
    const backups = (await store.list(BACKUPS_PATH)).entries;
    const restores = (await store.list(RESTORES_PATH)).entries;
    const wallMs = clock.wallMs();
    return [
      ...readableEntries(backups, (entry) => madeJob(backupFromEntry(entry), wallMs)),
      ...readableEntries(restores, (entry) => restoreJob(restoreFromEntry(entry), wallMs)),
    ];
  }

  async get(id: string): Promise<JobView | null> {
    const { store, clock } = this.parts;
    if (id.startsWith('restore-')) {
      const entry = await store.get(restorePath(id));
      return entry === null ? null : restoreJob(restoreFromEntry(entry), clock.wallMs());
    }
    if (!id.startsWith('backup-')) return null;
    const entry = await store.get(backupPath(backupOf(id)));
    return entry === null ? null : madeJob(backupFromEntry(entry), clock.wallMs());
  }

  async cancel(id: string): Promise<JobView | null> {
    const job = await this.get(id);
    if (job === null) return null;
    if (job.kind === 'restore') await this.parts.requests.cancelRestore(id, undefined, { isToEnd: true });
    else await this.parts.requests.cancel(backupOf(id));
    return this.get(id);
  }

  async pause(id: string): Promise<JobView | null> {
    if ((await this.get(id)) === null) return null;
    throw new QuiverError('invalid_parameter', `job ${id} ${UNPAUSABLE}`);
  }

  resume(id: string): Promise<JobView | null> {
    return this.pause(id);
  }
}

/** null: it is made already, and is no job. */
const BACKUP_STATES: Record<BackupState, JobState | null> = {
  running: 'running',
  cancelling: 'running',
  failed: 'failed',
  deleting: null,
  verifying: null,
};
const RESTORE_STATES: Record<RestoreState, JobState> = {
  running: 'running',
  cancelling: 'running',
  failed: 'failed',
  done: 'done',
};

/** A backup that is made, or was to be, as a job. */
export function backupJob(record: BackupRecord, wallMs: number): JobView {
  const { id, state, collections, startedAt, endedAt, error } = record;
  const shards = record.progress.flatMap((one) => one.shards);
  const done = shards.filter((shard) => shard.state === 'done').length;
  return {
    ...jobOf({ done, total: shards.length, startedAt, endedAt, wallMs, isRunning: state === 'running' }),
    id: `backup-${id}`,
    kind: 'backup',
    state: BACKUP_STATES[state] ?? 'running',
    step: state === 'cancelling' ? 'cancelling' : null,
    subject: collections === null ? id : `${id}: ${collections.join(', ')}`,
    error,
    waitsFor: (state === 'running' && shards.find(({ waitsFor }) => waitsFor !== undefined)?.waitsFor) || null,
  };
}

export function restoreJob(record: RestoreRecord, wallMs: number): JobView {
  const { id, backup, until, state, collections, startedAt, endedAt, error } = record;
  const shards = collections.map(({ record: value, shardsReady }) => ({
    shards: (JSON.parse(value) as { shards: number }).shards,
    shardsReady,
  }));
  const total = shards.reduce((sum, one) => sum + one.shards, 0);
  const done = state === 'done' ? total : shards.reduce((sum, one) => sum + Math.min(one.shards, one.shardsReady), 0);
  return {
    ...jobOf({ done, total, startedAt, endedAt, wallMs, isRunning: state === 'running' }),
    id,
    kind: 'restore',
    state: RESTORE_STATES[state],
    step:
      state === 'cancelling' ? 'cancelling' : record.isPublishing === true && state === 'running' ? 'publishing' : null,
    subject: until ?? backup,
    error,
    result: state === 'done' ? { warnings: record.warnings ?? [] } : null,
  };
}

function jobOf(of: {
  done: number;
  total: number;
  startedAt: string;
  endedAt: string | null;
  wallMs: number;
  isRunning: boolean;
}) {
  const { done, total, startedAt, endedAt, wallMs, isRunning } = of;
  return {
    collection: null,
    progress: shareOf(done, total),
    done,
    total,
    unit: 'shards',
    ...paceOf({ done, total }, isRunning ? { ms: Date.parse(startedAt), done: 0 } : null, wallMs),
    createdAt: startedAt,
    startedAt,
    endedAt,
    waitsFor: null,
    result: null,
    rights: BACKUP_RIGHTS,
  };
}

function madeJob(record: BackupRecord, wallMs: number): JobView | null {
  return BACKUP_STATES[record.state] === null ? null : backupJob(record, wallMs);
}

function backupOf(job: string): string {
  return job.slice('backup-'.length);
}
