import type { JobRights, JobView } from '../../service/jobs-service';

/** Jobs that are looked for. */
export interface AskedJobs {
  is(job: Pick<JobView, 'id' | 'kind' | 'state' | 'collection' | 'createdAt'>, rights: JobRights): boolean;
  /** More of them, the older ones, may be left out. */
  most: number;
}

/** Where some of the jobs are known. Its callers see to rights, and to jobs that are over. */
export interface JobSource {
  /** The kinds that it knows; absent: any. */
  readonly kinds?: readonly string[];
  /** The newest of those that are looked for; where there are few, it may answer all that it knows. */
  list(asked: AskedJobs): Promise<JobView[]>;
  /** null: it is none of its own. */
  get(id: string): Promise<JobView | null>;
  /**
   * Answers the job as it is then; null: it is none of its own, or it is over meanwhile. Errors: conflict with the
   * reason why it can't be given up.
   */
  cancel(id: string): Promise<JobView | null>;
  /** As `cancel`. Errors: invalid_parameter where its kind can't rest; conflict where this one can't. */
  pause(id: string): Promise<JobView | null>;
  resume(id: string): Promise<JobView | null>;
  /** As `cancel`. Absent: none of its jobs switches. Errors: invalid_parameter where its kind does not. */
  switch?(id: string, keepHours: number | undefined): Promise<JobView | null>;
  back?(id: string): Promise<JobView | null>;
}
