import { randomBytes } from 'node:crypto';
import type { StoreChange, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { isEnded, JOB_STATES, type JobRights, type JobView } from '../../service/jobs-service';

/**
 * Every job of a JobKind (job-kind.ts) is one entry under this prefix, and so is every job of another kind that is
 * over.
 */
export const JOBS_PREFIX = '/q/jobs/';

/**
 * A job, as it is stored:
 *
 *   queued ──▶ running ──▶ done, or failed
 *     ▲           │
 *     └─ paused ◀─┘        cancelled: from each of these three, once what it made is taken back
 *
 * Whoever changes it names the revision that it read. The driver (driving/job-driver.ts) is one process at a time.
 */
export interface JobRecord extends Omit<JobView, 'progress' | 'perSecond' | 'secondsLeft' | 'rights'> {
  /** What was asked for, as its kind understands it. */
  input: unknown;
  /** Somebody gave it up, and what it made is to be taken back. */
  isGivenUp?: boolean | undefined;
  /** When the present run began, by wall time, and what was done by then; null: it does not run. */
  since: { ms: number; done: number } | null;
  /** What one run leaves to the next, as its kind understands it; null: nothing. */
  notes: unknown;
}

/** What is told of a job that begins now. */
export type NewJob = Pick<JobRecord, 'id' | 'kind' | 'collection' | 'subject' | 'input' | 'unit'>;

export function newJobRecord(job: NewJob, wallMs: number): JobRecord {
  return {
    ...job,
    state: 'queued',
    step: null,
    done: 0,
    total: 0,
    since: null,
    notes: null,
    createdAt: new Date(wallMs).toISOString(),
    startedAt: null,
    endedAt: null,
    error: null,
    waitsFor: null,
    result: null,
  };
}

/** An id of a kind; later ones are higher. */
export function newJobId(kind: string, wallMs: number): string {
  const at = new Date(wallMs).toISOString().replace(/[-:]|\.\d+/g, '');
  return `${kind}-${at}-${randomBytes(4).toString('hex')}`;
}

export function jobPath(id: string): string {
  return JOBS_PREFIX + id;
}

export function jobToValue(record: JobRecord): string {
  return JSON.stringify(record);
}

/** Errors: storage_failed when the text is not a job. */
export function jobFromEntry(entry: Pick<StoreEntry, 'key' | 'value'>): JobRecord {
  let record: JobRecord | null = null;
  try {
    record = JSON.parse(entry.value) as JobRecord | null;
  } catch {
    // Said below.
  }
  const isJob = typeof record?.id === 'string' && typeof record.kind === 'string' && JOB_STATES.includes(record.state);
  if (!isJob) throw new QuiverError('storage_failed', `the stored job at ${entry.key} is unreadable`);
  return record!;
}

/**
 * Keeps a job whose kind has a record of its own, which goes with its end. Stored with that, in one transaction:
 * whoever waits for it learns what became of it.
 */
export function endedJob(
  job: JobView,
  outcome: Pick<JobRecord, 'state'> & Partial<Pick<JobRecord, 'result' | 'error'>>,
  wallMs: number,
): StoreChange {
  const { rights: _rights, progress: _progress, perSecond: _perSecond, secondsLeft: _secondsLeft, ...known } = job;
  const ended = {
    input: null,
    notes: null,
    since: null,
    ...known,
    step: null,
    waitsFor: null,
    endedAt: new Date(wallMs).toISOString(),
  };
  return { type: 'put', key: jobPath(job.id), value: jobToValue({ ...ended, ...outcome }) };
}

/** A job as it is shown at `wallMs`. */
export function jobView(record: JobRecord, rights: JobRights, wallMs: number): JobView {
  const { input: _input, isGivenUp = false, since, notes: _notes, step, ...shown } = record;
  const { done, total, state } = record;
  return {
    ...shown,
    step: isGivenUp && !isEnded(record) ? 'cancelling' : step,
    progress: state === 'done' ? 1 : shareOf(done, total),
    ...paceOf(record, state === 'running' ? since : null, wallMs),
    rights,
  };
}

export function shareOf(done: number, total: number): number {
  return total === 0 ? 0 : Math.min(1, done / total);
}

/** How fast a job gets on since a time at which it had done so much; null: it does not run. */
export function paceOf(
  { done, total }: Pick<JobView, 'done' | 'total'>,
  since: { ms: number; done: number } | null,
  wallMs: number,
): Pick<JobView, 'perSecond' | 'secondsLeft'> {
  const seconds = since === null ? 0 : (wallMs - since.ms) / 1000;
  const perSecond = since === null || seconds <= 0 ? null : Math.max(0, done - since.done) / seconds;
  const isKnown = perSecond !== null && perSecond > 0 && total > 0;
  return { perSecond, secondsLeft: isKnown ? Math.max(0, total - done) / perSecond : null };
}
