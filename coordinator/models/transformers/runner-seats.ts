import type { Logger } from '../../../shared/base/logs/logger';
import { inTime } from '../../../shared/base/time/deadline';

/** What runs a model, in another thread or elsewhere. */
export interface Runner {
  /** Resolves once, when the runner has ended for whatever reason, or was given up. */
  readonly ended: Promise<void>;
  /** Ends it after the requests made before. */
  close(): Promise<void>;
  /** Waits for nothing more of it: its requests fail. */
  giveUp(): void;
}

/** The place of one runner: it may be loading, running, or gone because it could not be started again. */
export interface Seat<R extends Runner> {
  runner: R | null;
  running: number;
  /** Looks since it answered last, or got its first request. */
  silentLooks: number;
  isStarting: boolean;
}

/**
 * A runner that has a request, and answered none over more looks than these, is given up. That is ten times the longest
 * time of a call, and ten minutes at least: who waits for a batch has long been told that it took too long, and the
 * slowest honest one (8,192 tokens of a model with half a billion weights, on one busy core) is not cut off. Looks are
 * counted, not time: a process that was suspended is not late.
 */
const LOOKS_MAX = 10;
const CHECK_MS = 60_000;
/** Most batches take far less than a second. The rest of a stop needs its part of SHUTDOWN_TIMEOUT_MS, too. */
const CLOSE_MS = 10_000;

/** One that runs and one that follows at once, so that no runner waits for this thread. */
const REQUESTS_PER_RUNNER = 2;

/** The runners of one model. One that ends is replaced, and so is one that answers no more. */
export class RunnerSeats<R extends Runner> {
  readonly all: Seat<R>[];
  private readonly look: NodeJS.Timeout;
  private isClosed = false;

  /**
   * Takes over `runners`. `timeoutMs` bounds a call; `restart` starts another runner of the same kind; `what` one is
   * called in the log. `onSeated`: one has come. `onNone`: none is left, and none could be started.
   */
  constructor(
    private readonly options: {
      runners: readonly R[];
      restart: () => Promise<R>;
      /** Default: one that runs, and one that follows. */
      requestsPerRunner?: number | undefined;
      timeoutMs: number;
      what: string;
      log: Pick<Logger, 'warn' | 'error'>;
      onSeated: () => void;
      onNone: (error: unknown) => void;
    },
  ) {
    this.all = options.runners.map(() => ({ runner: null, running: 0, silentLooks: 0, isStarting: false }));
    this.all.forEach((seat, i) => this.seat(seat, options.runners[i]));
    this.look = setInterval(() => this.watch(), Math.max(CHECK_MS, options.timeoutMs));
    this.look.unref();
  }

  /** Tries to start runners where there are none. */
  refill(): void {
    for (const seat of this.all) if (seat.runner === null) void this.refillOne(seat);
  }

  /**
   * Those that can take a request now, one for each: first who has none, because a second request only keeps a runner
   * from running idle.
   */
  *free(): Generator<{ seat: Seat<R>; runner: R }> {
    const { requestsPerRunner = REQUESTS_PER_RUNNER } = this.options;
    for (let round = 1; round <= requestsPerRunner; round++) {
      for (const seat of this.all)
        if (seat.runner !== null && seat.running < round) yield { seat, runner: seat.runner };
    }
  }

  /** Counts a request of a runner while it runs. */
  async during<Result>(seat: Seat<R>, runner: R, request: () => Promise<Result>): Promise<Result> {
    seat.running += 1;
    try {
      return await request();
    } finally {
      if (seat.runner === runner) {
        seat.running -= 1;
        seat.silentLooks = 0;
      }
    }
  }

  /** Ends every runner. One that does not end soon is given up. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.look);
    await Promise.all(
      this.all.map(async ({ runner }) => {
        if (runner !== null)
          await inTime(runner.close(), CLOSE_MS, () => new Error('late')).catch(() => runner.giveUp());
      }),
    );
  }

  private seat(seat: Seat<R>, runner: R): void {
    seat.runner = runner;
    seat.running = 0;
    seat.silentLooks = 0;
    void runner.ended.then(() => {
      seat.runner = null;
      if (this.isClosed) return;
      this.options.log.warn({}, `${this.options.what} ended; another takes its place`);
      void this.refillOne(seat);
    });
  }

  private watch(): void {
    for (const seat of this.all) {
      seat.silentLooks = seat.running === 0 ? 0 : seat.silentLooks + 1;
      if (seat.runner === null || seat.silentLooks <= LOOKS_MAX) continue;
      this.options.log.error(
        {},
        `${this.options.what} does not answer; it is given up, and its memory is not free before the process ends`,
      );
      seat.runner.giveUp();
    }
  }

  private async refillOne(seat: Seat<R>): Promise<void> {
    if (seat.isStarting || this.isClosed) return;
    seat.isStarting = true;
    try {
      const runner = await this.options.restart();
      if (this.isClosed) return void runner.close();
      this.seat(seat, runner);
    } catch (error) {
      this.options.log.error({ error }, `${this.options.what} could not be started again`);
      if (this.all.every((other) => other.runner === null && (other === seat || !other.isStarting)))
        this.options.onNone(error);
    } finally {
      seat.isStarting = false;
    }
    this.options.onSeated();
  }
}
