import type { StoreChange } from '../../../shared/cluster-store/cluster-store';
import type { JobRights } from '../../service/jobs-service';
import type { JobRecord } from './job-record';

/** What a job is at, for its record. */
export type JobProgress = Partial<Pick<JobRecord, 'step' | 'done' | 'total' | 'waitsFor' | 'notes'>>;

/** A job while it is driven. */
export interface RunningJob {
  /** As it was stored last. */
  readonly record: JobRecord;
  /** The state in which this run found it: running where the one before ended without storing another. */
  readonly foundState: JobRecord['state'];
  /**
   * Stores what it is at, now and then, and never waits for that. `notes` is what the next run goes on from, wherever
   * this one dies: it may be older than the last report, never newer than what came with it.
   */
  report(progress: JobProgress): void;
  /** Stores it at once. Errors: Superseded; unavailable. */
  note(progress: JobProgress): Promise<void>;
}

/** One kind of job: a file that says this, and a row among the kinds of service-factory.ts. */
export interface JobKind {
  readonly kind: string;
  readonly rights: JobRights;
  /** How many may run at the same time; others wait. */
  readonly atOnce: number;
  /** How many of these places a job takes; the last one may take more than are left. Default: one. */
  placesOf?(record: JobRecord): number;
  /** How many of these places those of one of the widest shares may take; default: all. */
  readonly atOnceOfOne?: number;
  /**
   * Whose turn a job takes, from the widest to the narrowest, such as a key and a collection: those of whom the fewest
   * run come first. Default: the oldest does.
   */
  sharesOf?(record: JobRecord): readonly string[];
  /**
   * What else fails where this job fails of what may pass, such as its collection: those jobs try again one at a time.
   * Jobs with the same shares have the same. Default: each tries by itself.
   */
  obstructedWith?(record: JobRecord): string;
  /** Why a job of this kind can't rest, or be given up, for people; absent: it can. */
  readonly unpausable?: string;
  readonly uncancellable?: string;
  /** The same of one job, as it is stored; null: it can. Asked in the transaction that gives it up, or pauses it. */
  uncancellableAt?(record: JobRecord): string | null;
  unpausableAt?(record: JobRecord): string | null;
  /**
   * What is stored of a job with the beginning of a run, which could be the first thing that the run notes. Default:
   * nothing.
   */
  begunWith?(record: JobRecord): JobProgress;
  /**
   * Does the work, or goes on with it from `record.notes`, and answers what comes of it. Once `stop` is aborted, it
   * ends soon, in any way. An error that may pass is tried again, after a while; each other one fails the job.
   */
  run(job: RunningJob, stop: AbortSignal): Promise<object | null>;
  /** Takes back what a job made that was given up, or failed. After an error it is called again. */
  undo?(job: RunningJob): Promise<void>;
  /** What goes in the transaction that stores a job's end, whatever that is. Default: nothing. */
  endedWith?(record: JobRecord): StoreChange[];
  /**
   * Frees what only the job needed, once its end is stored. It is not called where the process dies in between. Errors
   * of it change nothing.
   */
  ended?(record: JobRecord): Promise<void>;
}
