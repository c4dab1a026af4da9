import type { WatchedEntries, Watched } from '../../../shared/cluster-store/entries/watched-entries';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import { inTime } from '../../../shared/base/time/deadline';
import { RetryBackoff } from '../../../shared/base/time/retry-backoff';
import { type DriverLeadership, Superseded } from './owned-entry';

/** How often to look when nothing is heard of: for what only needs time. */
const CHECK_EVERY_MS = 1_000;
/** Between two attempts of what does not get on. */
const PAUSES = { firstMs: 500, longestMs: 30_000 };
/** How long a process that stops waits for what is under way. */
const CLOSE_MS = 5_000;

/** What is done with the entries under one prefix. */
export interface DrivenWork<Content extends object> {
  /** For the log: what one of them is. */
  readonly name: string;
  readonly entries: WatchedEntries<Content>;
  /** What an entry is at: attempts are counted for that, so that one that got on does not wait. */
  stepOf(content: Content): string;
  /** For the log, besides the key and the step. */
  facts?(content: Content): object;
  /** Whether an error is one of those that pass, besides those of shards and the store: nothing for people. */
  isExpected?(error: unknown): boolean;
  /** Default: half a second, and then up to 30 s. */
  pausesOf?(content: Content): { firstMs: number; longestMs: number };
  /**
   * Which to begin now, in this order; it is asked for the next one when one has begun. Those that run or rest may be
   * among them.
   */
  due(runs: Runs<Content>): Iterable<Watched<Content>>;
  /** Whether what was begun with `begun` is to be stopped, now that its entry is `now` (null: gone). Default: never. */
  isOvertaken?(begun: Content, now: Content | null): boolean;
  /**
   * Goes on with one of them. Answers how many milliseconds it rests before it is begun again, if it is still due. An
   * error is tried again; `failures`: how many there were at this step.
   */
  run(found: Watched<Content>, stop: AbortSignal, failures: Failures): Promise<number>;
  /** What became of a run that failed, and is not stopping. */
  noteFailure?(found: Watched<Content>, error: unknown): void;
  /** Another process drives now, or none. */
  rest?(): void;
}

/** What a driver is at. */
export interface Runs<Content> {
  /** Keys of all that run. */
  running(): Iterable<string>;
  isRunning(key: string): boolean;
  /** Whether its next attempt is to come later. */
  isResting(found: Watched<Content>): boolean;
}

/** `unexpected`: of those, errors that are neither of the store nor of shards. */
export interface Failures {
  all: number;
  unexpected: number;
}

interface Attempts extends Failures {
  backoff: RetryBackoff;
  notBeforeMs: number;
}

interface Run<Content> {
  begun: Content;
  stop: AbortController;
  ended: Promise<void>;
}

/**
 * Drives the entries of one prefix, one process at a time: in a cluster the controller, otherwise the only one. What
 * another process left, wherever it died, is taken over. One timer and one watch serve all of them, however many there
 * are.
 */
export class JobDriver<Content extends object> {
  private readonly running = new Map<string, Run<Content>>();
  private readonly attempts = new Map<string, { step: string; attempts: Attempts }>();
  private readonly stopping = new AbortController();
  private timer: NodeJS.Timeout | null = null;
  private coming: NodeJS.Immediate | null = null;

  constructor(
    private readonly work: DrivenWork<Content>,
    private readonly parts: { leadership: DriverLeadership; clock: Clock; log: Logger },
  ) {}

  /** Follows the cluster store and drives what is to be driven. Errors: unavailable. */
  async start(): Promise<void> {
    const { entries } = this.work;
    await entries.follow();
    entries.onChange(() => this.lookSoon());
    this.timer = setInterval(() => this.look(), CHECK_EVERY_MS);
    this.look();
  }

  async close(): Promise<void> {
    this.stopping.abort();
    if (this.timer !== null) clearInterval(this.timer);
    if (this.coming !== null) clearImmediate(this.coming);
    this.work.entries.close();
    const running = [...this.running.values()];
    for (const { stop } of running) stop.abort();
    // What waits for somebody who does not answer is left: whoever drives next goes on with it.
    const all = Promise.all(running.map(({ ended }) => ended));
    await inTime(all, CLOSE_MS, () => new Error('late')).catch(() => undefined);
  }

  /** However many changes come together, one look is enough. */
  private lookSoon(): void {
    if (this.stopping.signal.aborted) return;
    this.coming ??= setImmediate(() => {
      this.coming = null;
      this.look();
    });
  }

  private look(): void {
    if (this.stopping.signal.aborted) return;
    const { work } = this;
    if (this.parts.leadership.guard === null) {
      for (const { stop } of this.running.values()) stop.abort();
      this.attempts.clear();
      work.rest?.();
      return;
    }
    for (const [key, { begun, stop }] of this.running) {
      if (work.isOvertaken?.(begun, work.entries.get(key)?.value ?? null) === true) stop.abort();
    }
    for (const key of this.attempts.keys()) if (work.entries.get(key) === null) this.attempts.delete(key);
    const nowMs = this.parts.clock.monotonicMs();
    const isRunning = (key: string): boolean => this.running.has(key);
    const isResting = (found: Watched<Content>): boolean => this.attemptsAt(found).notBeforeMs > nowMs;
    const running = (): Iterable<string> => this.running.keys();
    for (const found of work.due({ running, isRunning, isResting }))
      if (!isRunning(found.key) && !isResting(found)) this.begin(found);
  }

  private begin(found: Watched<Content>): void {
    const stop = new AbortController();
    const attempts = this.attemptsAt(found);
    const ended = this.work
      .run(found, stop.signal, attempts)
      .then(
        (restMs) => this.noteEnd(found, restMs),
        (error: unknown) => this.noteFailure(found, attempts, error),
      )
      .finally(() => {
        this.running.delete(found.key);
        // What the next step is follows from the entry, which has changed most likely.
        this.lookSoon();
      });
    this.running.set(found.key, { begun: found.value, stop, ended });
  }

  private noteEnd(found: Watched<Content>, restMs: number): void {
    this.attempts.delete(found.key);
    if (restMs > 0) this.store(found, this.attemptsAt(found), restMs);
  }

  private noteFailure(found: Watched<Content>, attempts: Attempts, error: unknown): void {
    const { log } = this.parts;
    attempts.all += 1;
    const { work } = this;
    const isUsual = error instanceof Superseded || isQuiverError(error) || work.isExpected?.(error) === true;
    if (!isUsual) attempts.unexpected += 1;
    this.store(found, attempts, attempts.backoff.nextMs());
    if (this.stopping.signal.aborted) return;
    work.noteFailure?.(found, error);
    const { key, value } = found;
    log[isUsual ? 'warn' : 'error'](
      { error, key, step: work.stepOf(value), ...work.facts?.(value) },
      `${work.name}: step failed; retrying`,
    );
  }

  private store(found: Watched<Content>, attempts: Attempts, restMs: number): void {
    attempts.notBeforeMs = this.parts.clock.monotonicMs() + restMs;
    this.attempts.set(found.key, { step: this.work.stepOf(found.value), attempts });
  }

  private attemptsAt({ key, value }: Watched<Content>): Attempts {
    const known = this.attempts.get(key);
    if (known?.step === this.work.stepOf(value)) return known.attempts;
    return { backoff: new RetryBackoff(this.work.pausesOf?.(value) ?? PAUSES), notBeforeMs: 0, all: 0, unexpected: 0 };
  }
}
