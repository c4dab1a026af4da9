import { randomBytes } from 'node:crypto';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { JobProgress, RunningJob } from '../record/job-kind';
import type { JobRecord } from '../record/job-record';
import type { Company } from './company';

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
  private token: string | null;
  private leave: () => void = () => undefined;

  constructor(
    readonly job: RunningJob,
    private readonly worker: string,
    private readonly company: Company,
  ) {
    this.lost = lostBefore(job, worker);
    this.token = tokenIn(job.record);
  }

  /** Before anything else: an end of a process counts once. Errors: those of `note`. */
  async noteLost(): Promise<void> {
    const before = (this.job.record.notes as DocumentNotes | null)?.lost ?? 0;
    if (this.lost > before) await this.stop();
  }

  /**
   * No write of an earlier run is on its way. Errors: limit_exceeded where too many processes ended; those of `note`.
   */
  async begin(stop: AbortSignal): Promise<void> {
    if (this.lost >= LOST_MAX) throw tooManyLost(this.lost);
    this.token = null;
    await this.enter(stop);
    await this.job.note({ step: 'parsing', waitsFor: null, notes: this.notes(this.worker) });
  }

  /** Its run ends. */
  end(): void {
    this.company.absent.delete(this.sayAbsent);
    this.leave();
  }

  report(step: string, progress: JobProgress = {}): void {
    this.job.report({ step, ...progress });
  }

  reportWaiting(progress: JobProgress): void {
    this.report('embedding', { ...progress, waitsFor: null, notes: this.notes(null) });
    this.company.absent.add(this.sayAbsent);
    this.leave();
  }

  /** Answers the token of the write that comes now. Errors: those of `note`. */
  async store(stop: AbortSignal): Promise<string> {
    await this.enter(stop);
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

  private async enter(stop: AbortSignal): Promise<void> {
    const leave = await this.company.enter(this.lost > 0, stop);
    this.company.absent.delete(this.sayAbsent);
    this.leave = leave;
  }

  /** What was reported may not be stored yet. */
  private readonly sayAbsent = (): Promise<void> => this.stop();

  private notes(worker: string | null): DocumentNotes {
    return { worker, lost: this.lost, token: this.token };
  }
}

/** Whether an error of a write says that nothing was written, and nothing will be. */
export function wroteNothing(error: unknown): boolean {
  const unsure: readonly string[] = ['commit_unknown', 'storage_failed', 'storage_damaged', 'internal'];
  return isQuiverError(error) && !unsure.includes(error.kind);
}

/** Processes that ended while they worked on a job, by what the last run left. */
function lostBefore({ record, foundState }: RunningJob, worker: string): number {
  const notes = record.notes as DocumentNotes | null;
  if (notes === null) return 0;
  // One that was paused is left as it was.
  const isLost = foundState === 'running' && notes.worker !== null && notes.worker !== worker;
  return notes.lost + (isLost ? 1 : 0);
}

function tooManyLost(lost: number): QuiverError {
  return new QuiverError(
    'limit_exceeded',
    `${lost} processes ended while they worked on the document, which may take more memory than there is: ` +
      'cut it into several, or ask for larger chunks or less metadata',
  );
}
