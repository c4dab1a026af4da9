import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import { type Runner, RunnerSeats, type Seat } from '../transformers/runner-seats';

/** Scores pairs of one query, outside of this thread. */
export interface PairRunner extends Runner {
  /** Texts of one request; 1: each pair runs alone. */
  readonly textsMax: number;
  /** One score for each text, 0 to 1. Errors: embedding_unavailable; unavailable when the runner ends; overloaded. */
  score(query: string, texts: string[]): Promise<number[]>;
}

/**
 * Pairs that may wait. A call is accepted whatever its size if none is waiting. A small model scores this many in about
 * ten seconds.
 */
export const PAIRS_WAITING_MAX = 2048;

interface Call {
  query: string;
  texts: readonly string[];
  /** By place; undefined: not there yet. */
  scores: (number | undefined)[];
  /** The first that nobody has begun with, and how many are not there yet. */
  next: number;
  missing: number;
  timer: NodeJS.Timeout;
  resolve: (scores: (number | undefined)[]) => void;
  reject: (error: unknown) => void;
}

/**
 * Distributes pairs over the runners of one model: the calls take turns, so that a long one does not hold up those
 * behind it, and of each the first texts come first.
 */
export class PairDispatcher {
  /** Calls that have pairs nobody has begun with, in turn. */
  private waiting: Call[] = [];
  private waitingPairs = 0;
  private readonly calls = new Set<Call>();
  private readonly seats: RunnerSeats<PairRunner>;
  private isClosed = false;

  /** Takes over `runners`, all of the same model. `timeoutMs` bounds a call; `restart` starts another runner. */
  constructor(
    private readonly options: {
      runners: readonly PairRunner[];
      restart: () => Promise<PairRunner>;
      timeoutMs: number;
      log: Pick<Logger, 'warn' | 'error'>;
    },
  ) {
    this.seats = new RunnerSeats({
      ...options,
      what: 'a rerank worker',
      onSeated: () => this.dispatch(),
      onNone: (error) => {
        for (const call of this.calls) this.fail(call, error);
      },
    });
  }

  /**
   * One score for each text, by place. `budgetMs`: after it, what is there by then, and undefined for the others.
   * Errors: overloaded when too many wait; unavailable after `timeoutMs` or when the runner ends;
   * embedding_unavailable.
   */
  score(query: string, texts: readonly string[], budgetMs = Infinity): Promise<(number | undefined)[]> {
    if (texts.length === 0) return Promise.resolve([]);
    if (this.isClosed) return Promise.reject(new QuiverError('unavailable', 'The service is shutting down'));
    if (this.waitingPairs > 0 && this.waitingPairs + texts.length > PAIRS_WAITING_MAX) {
      return Promise.reject(
        new QuiverError('overloaded', 'Server busy: too many texts wait to be reranked; try again later', {
          details: { waiting: this.waitingPairs, texts: texts.length },
        }),
      );
    }
    const { timeoutMs } = this.options;
    return new Promise((resolve, reject) => {
      const late = (): void => {
        if (budgetMs <= timeoutMs) this.end(call);
        else
          this.fail(
            call,
            new QuiverError(
              'unavailable',
              'Reranking took too long; the call may be retried, with a smaller top_n or with budget_ms',
            ),
          );
      };
      const call: Call = {
        query,
        texts,
        scores: new Array<number | undefined>(texts.length).fill(undefined),
        next: 0,
        missing: texts.length,
        timer: setTimeout(late, Math.min(budgetMs, timeoutMs)),
        resolve,
        reject,
      };
      this.calls.add(call);
      this.waiting.push(call);
      this.waitingPairs += texts.length;
      this.seats.refill();
      this.dispatch();
    });
  }

  /** Ends every runner; calls under way fail. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const call of this.calls) this.fail(call, new QuiverError('unavailable', 'The service is shutting down'));
    await this.seats.close();
  }

  private dispatch(): void {
    for (const { seat, runner } of this.seats.free()) {
      const call = this.waiting.shift();
      if (call === undefined) return;
      const from = call.next;
      call.next = Math.min(call.texts.length, from + runner.textsMax);
      this.waitingPairs -= call.next - from;
      if (call.next < call.texts.length) this.waiting.push(call);
      void this.run(seat, runner, call, from);
    }
  }

  private async run(seat: Seat<PairRunner>, runner: PairRunner, call: Call, from: number): Promise<void> {
    const texts = call.texts.slice(from, call.next);
    try {
      const scores = await this.seats.during(seat, runner, () => runner.score(call.query, texts));
      scores.forEach((score, i) => (call.scores[from + i] = score));
      call.missing -= texts.length;
      if (call.missing === 0) this.end(call);
    } catch (error) {
      this.fail(call, error);
    }
    this.dispatch();
  }

  private end(call: Call): void {
    // What a runner is still at comes too late.
    if (this.forget(call)) call.resolve([...call.scores]);
  }

  private fail(call: Call, error: unknown): void {
    if (this.forget(call)) call.reject(error);
  }

  /** Whether it was there. */
  private forget(call: Call): boolean {
    clearTimeout(call.timer);
    if (!this.calls.delete(call)) return false;
    this.waitingPairs -= call.texts.length - call.next;
    call.next = call.texts.length;
    this.waiting = this.waiting.filter((other) => other !== call);
    return true;
  }
}
