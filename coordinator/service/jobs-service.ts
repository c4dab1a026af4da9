import { roleFor, type Scoped } from './keys/collection-scope';
import { reaches, type Role } from './keys/role';

/** Long work that goes on by itself after whoever asked for it has an answer (docs/architecture/jobs.md). */
export interface JobsService {
  /** The newest first. Errors: invalid_parameter for a cursor that is none; unavailable. */
  list(page: JobsPage, caller?: Scoped): Promise<{ jobs: JobView[]; nextCursor: string | null }>;
  /** Errors: not_found, also for one that `caller` may not know of; unavailable. */
  get(id: string, caller?: Scoped): Promise<JobView>;
  /**
   * Gives it up, and takes back what it made. One that is cancelled stays as it is. Errors: as `get`; forbidden;
   * conflict when it is over, or of a kind that can't be given up, or it is too late.
   */
  cancel(id: string, caller?: Scoped): Promise<JobView>;
  /** Errors: as `cancel`; invalid_parameter for a kind that can't rest. */
  pause(id: string, caller?: Scoped): Promise<JobView>;
  /** Goes on with a job that is paused. Errors: as `pause`. */
  resume(id: string, caller?: Scoped): Promise<JobView>;
  /**
   * What a job has made takes the place of what clients use. `keepHours`: how long there is a way back, in place of
   * what the job says; after the switch, too. Errors: as `cancel`; invalid_parameter for a kind that does not switch;
   * conflict where it is not ready.
   */
  switch(id: string, keepHours: number | undefined, caller?: Scoped): Promise<JobView>;
  /** Goes back to what was before the switch. Errors: as `switch`; conflict where there is no way back. */
  back(id: string, caller?: Scoped): Promise<JobView>;
}

export const JOB_STATES = ['queued', 'running', 'paused', 'done', 'failed', 'cancelled'] as const;
export type JobState = (typeof JOB_STATES)[number];

export interface JobsPage {
  kind?: string | undefined;
  state?: JobState | undefined;
  /** The collection that they work on. */
  collection?: string | undefined;
  /** `nextCursor` of the page before; default: the first page. */
  cursor?: string | undefined;
  limit: number;
}

/** The least roles for what a job works on: to know of it, and to cancel, pause or resume it. */
export interface JobRights {
  see: Role;
  change: Role;
}

export interface JobView {
  id: string;
  /** Such as `backup`. */
  kind: string;
  state: JobState;
  /** What it is at, in the words of its kind; null: no more than its state says. */
  step: string | null;
  /** The collection that it works on; null: it is about the service as a whole. */
  collection: string | null;
  /** What else it works on, such as the id of a backup or a node; '': nothing. */
  subject: string;
  /** Share of the work that is done, 0 to 1. */
  progress: number;
  /** In `unit`; `total` 0: not known yet. */
  done: number;
  total: number;
  unit: string;
  /** Since it began to run; null: not known, or it does not run. */
  perSecond: number | null;
  secondsLeft: number | null;
  /** ISO 8601, UTC; null: not yet. */
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
  /** Why it failed. */
  error: string | null;
  /** What keeps it from getting on, for people. It goes on by itself when that is over. */
  waitsFor: string | null;
  /** What came of it, by its kind; null: nothing, or it is not done. */
  result: object | null;
  rights: JobRights;
}

/** Whether there is nothing to wait for any more. */
export function isEnded({ state }: Pick<JobView, 'state'>): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled';
}

/** Whether a caller has the role for what a job works on. undefined: no key is asked for. */
export function mayTouch(
  caller: Scoped | undefined,
  { collection }: Pick<JobView, 'collection'>,
  least: Role,
): boolean {
  if (caller === undefined) return true;
  const role = collection === null ? (caller.collections === null ? caller.role : null) : roleFor(caller, collection);
  return role !== null && reaches(role, least);
}
