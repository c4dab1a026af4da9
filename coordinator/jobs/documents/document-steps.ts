import { randomBytes } from 'node:crypto';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { JobProgress, RunningJob } from '../record/job-kind';
import type { JobRecord } from '../record/job-record';

/** While a job is at this, its write may be done, so it can neither be given up nor rest. */
export const STORING = 'storing';

/** A job at which so many processes ended is given up: the next one would end, too. */
const LOST_MAX = 3;

/** What a run leaves to the next one. */
interface DocumentNotes {
  /** The process that works on it; null: it stopped of itself, or waits for the model, which may take hours. */
  worker: string | null;
  /** Processes that ended while they worked on it. */
  lost: number;
  /** Of a write that may still be on its way; null: there is none. */
  token?: string | null;
}

/** The token of a write of an earlier run, which may still be on its way. */
export function tokenIn({ notes }: JobRecord): string | null {
  return (notes as DocumentNotes | null)?.token ?? null;
}

/** What a job is at, in words, and whether a process works on it that may end of it. */
export class DocumentSteps {
  private readonly lost: number;
  private token: string | null = null;

  /** Errors: limit_exceeded where too many processes ended. */
  constructor(
    readonly job: RunningJob,
    private readonly worker: string,
  ) {
    this.lost = lostBefore(job, worker);
  }

  /** No write of an earlier run is on its way. Errors: those of `note`. */
  begin(): Promise<void> {
    return this.job.note({ step: 'parsing', waitsFor: null, notes: this.notes(this.worker) });
  }

  report(step: string, progress: JobProgress = {}): void {
    this.job.report({ step, ...progress });
  }

  reportWaiting(progress: JobProgress): void {
    this.report('embedding', { ...progress, waitsFor: null, notes: this.notes(null) });
  }

  /** Answers the token of the write that comes now. Errors: those of `note`. */
  async store(): Promise<string> {
    const token = randomBytes(16).toString('hex');
    this.token = token;
    await this.job.note({ step: STORING, notes: this.notes(this.worker) });
    return token;
  }

  /** What became of the write is known: nothing, or all of it. */
  settle(): void {
    this.token = null;
    this.report('embedding');
  }

  /** A process that stops, or tries again, is not one that ended. Errors: those of `note`. */
  stop(): Promise<void> {
    return this.job.note({ notes: this.notes(null) });
  }

  private notes(worker: string | null): DocumentNotes {
    return { worker, lost: this.lost, token: this.token };
  }
}

/** Whether an error of a write says that nothing was written, and nothing will be. */
export function wroteNothing(error: unknown): boolean {
  const unsure: readonly string[] = ['commit_unknown', 'storage_failed', 'storage_damaged', 'internal'];
  return isQuiverError(error) && !unsure.includes(error.kind);
}

/** Processes that ended while they worked on a job, by what the last run left. Errors: limit_exceeded. */
function lostBefore({ record, foundState }: RunningJob, worker: string): number {
  const notes = record.notes as DocumentNotes | null;
  if (notes === null) return 0;
  // One that was paused is left as it was.
  const isLost = foundState === 'running' && notes.worker !== null && notes.worker !== worker;
  const lost = notes.lost + (isLost ? 1 : 0);
  if (lost < LOST_MAX) return lost;
  throw new QuiverError(
    'limit_exceeded',
    `${lost} processes ended while they worked on the document, which may take more memory than there is: ` +
      'cut it into several, or ask for larger chunks or less metadata',
  );
}
