import { randomBytes } from 'node:crypto';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { JobProgress, RunningJob } from '../record/job-kind';
import type { JobRecord } from '../record/job-record';
import type { Company } from './company';

/** While a job is at this, its write may be done, so it can neither be given up nor rest. */
export const STORING = 'storing';

const PARSING = 'parsing';

/** A job at which so many processes ended is given up: the next one would end, too. */
const LOST_MAX = 3;

/**
 * Processes may end while a document waits for its model, of whatever reason: a model takes hours. After so many of
 * them, the document may be the reason, so it is alone then, too, and the next ones count.
 */
const ENDS_MAX = 10;

/** What a run leaves to the next one. */
interface DocumentNotes {
  /** The process that works on it; null: it stopped of itself, or waits for the model. */
  worker: string | null;
  /** The one in which it waits for the model. */
  waits?: string | undefined;
  /** Processes that ended while it waited so; absent: none. */
  ends?: number | undefined;
  /** Processes that ended while they worked on it, as earlier versions counted them. */
  lost: number;
  /** Others that may have: they drive no longer. */
  gone?: readonly string[];
  /** Of a write that may still be on its way; null: there is none. */
  token?: string | null;
}

/** The token of a write of an earlier run, which may still be on its way. */
export function tokenIn({ notes }: JobRecord): string | null {
  return (notes as DocumentNotes | null)?.token ?? null;
}

/** What the first run of a job begins with. */
export function firstStep(worker: string): JobProgress {
  const notes: DocumentNotes = { worker, lost: 0, gone: [], token: null };
  return { step: PARSING, waitsFor: null, notes };
}

/** What a job is at, in words, and whether a process works on it that may end of it. */
export class DocumentSteps {
  private readonly lost: number;
  private readonly gone: readonly string[];
  private readonly ends: number;
  private token: string | null;
  private hasEnded = false;
  private leave: () => void = () => undefined;
  private giveBack: () => void = () => undefined;

  /** `worker`: names this process. `isAlive`: whether another one still runs, though it does not drive. */
  constructor(
    readonly job: RunningJob,
    private readonly company: Company,
    private readonly processes: { worker: string; isAlive: (worker: string) => boolean },
  ) {
    const notes = job.record.notes as DocumentNotes | null;
    this.lost = notes?.lost ?? 0;
    this.gone = goneBefore(job, processes);
    this.ends = endsBefore(job, processes);
    this.token = tokenIn(job.record);
  }

  /** Before anything else: an end of a process counts once. Errors: those of `note`. */
  async noteLost(): Promise<void> {
    const notes = this.job.record.notes as DocumentNotes | null;
    const before = notes?.gone ?? [];
    if (this.ends !== (notes?.ends ?? 0) || this.gone.some((worker) => !before.includes(worker))) await this.stop();
  }

  /**
   * No write of an earlier run is on its way. Errors: limit_exceeded where too many processes ended; those of `note`.
   */
  async begin(stop: AbortSignal): Promise<void> {
    // One that lost its election has not ended of the document.
    const lost = this.lost + this.gone.filter((worker) => !this.processes.isAlive(worker)).length;
    if (lost >= LOST_MAX) throw tooManyLost(lost);
    this.token = null;
    await this.enter(stop);
    if (!this.hasBegun())
      await this.job.note({ step: PARSING, waitsFor: null, notes: this.notes(this.processes.worker) });
  }

  /** Whether what the run began with says so. */
  private hasBegun(): boolean {
    const { step, notes } = this.job.record;
    return step === PARSING && JSON.stringify(notes) === JSON.stringify(this.notes(this.processes.worker));
  }

  /** Its run ends. What it began may still report. */
  end(): void {
    this.hasEnded = true;
    this.company.absent.delete(this.sayAbsent);
    this.leave();
    this.giveBack();
  }

  /** Takes, once it has left others alone, what the rest of the run has. Errors: those of `take`. */
  async outside(take: (stop: AbortSignal) => Promise<() => void>, stop: AbortSignal): Promise<void> {
    // One that is alone at its model is in nobody's way.
    if (this.isSuspect) return;
    this.giveBack();
    this.giveBack = await take(stop);
  }

  report(step: string, progress: JobProgress = {}): void {
    this.job.report({ step, ...progress });
  }

  reportWaiting(progress: JobProgress): void {
    if (this.hasEnded) return;
    // Of one that processes end of, the next end counts.
    const { worker } = this.processes;
    const notes = this.isSuspect ? this.notes(worker) : { ...this.notes(null), waits: worker };
    this.report('embedding', { ...progress, waitsFor: null, notes });
    if (this.isSuspect) return;
    this.company.absent.add(this.sayAbsent);
    this.leave();
  }

  /** Answers the token of the write that comes now. Errors: those of `note`. */
  async store(stop: AbortSignal): Promise<string> {
    await this.enter(stop);
    const token = randomBytes(16).toString('hex');
    this.token = token;
    await this.job.note({ step: STORING, notes: this.notes(this.processes.worker) });
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
    // One that was alone at its model is so still.
    this.leave();
    const leave = await this.company.enter(this.isSuspect || this.lost + this.gone.length > 0, stop);
    this.company.absent.delete(this.sayAbsent);
    this.leave = leave;
  }

  /** What was reported may not be stored yet. */
  private readonly sayAbsent = (): Promise<void> => this.stop();

  private get isSuspect(): boolean {
    return this.ends >= ENDS_MAX;
  }

  private notes(worker: string | null): DocumentNotes {
    const ends = this.ends === 0 ? {} : { ends: this.ends };
    return { worker, lost: this.lost, gone: this.gone, token: this.token, ...ends };
  }
}

/** Whether an error of a write says that nothing was written, and nothing will be. */
export function wroteNothing(error: unknown): boolean {
  const unsure: readonly string[] = ['commit_unknown', 'storage_failed', 'storage_damaged', 'internal'];
  return isQuiverError(error) && !unsure.includes(error.kind);
}

/** Processes that may have ended while they worked on a job, by what the last run left. */
function goneBefore(
  { record, foundState }: RunningJob,
  { worker, isAlive }: { worker: string; isAlive: (worker: string) => boolean },
): readonly string[] {
  const notes = record.notes as DocumentNotes | null;
  if (notes === null) return [];
  // Whoever is there a run later was alive all the time. The last one may have ended so lately that nobody knows.
  const gone = (notes.gone ?? []).filter((one) => !isAlive(one));
  // One that was paused is left as it was.
  const isLost = foundState === 'running' && notes.worker !== null && notes.worker !== worker;
  return isLost ? [...gone.filter((one) => one !== notes.worker), notes.worker!] : gone;
}

/** Processes that ended while the job waited for its model in them. */
function endsBefore(
  { record, foundState }: RunningJob,
  { worker, isAlive }: { worker: string; isAlive: (worker: string) => boolean },
): number {
  const { waits, ends = 0 } = (record.notes ?? {}) as Partial<DocumentNotes>;
  const hasEnded = foundState === 'running' && waits !== undefined && waits !== worker && !isAlive(waits);
  return hasEnded ? ends + 1 : ends;
}

function tooManyLost(lost: number): QuiverError {
  return new QuiverError(
    'limit_exceeded',
    `${lost} processes ended while they worked on the document, which may take more memory than there is: ` +
      'cut it into several, or ask for larger chunks or less metadata',
  );
}
