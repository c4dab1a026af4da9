import type { Clock } from '../time/clock';

/**
 * Time of searches in one round of the event loop, after which others wait for the next: every connection has its turn.
 */
const TURN_MS = 8;
/** The part of it that goes to those that wait. */
const WAITING_MS = TURN_MS / 2;

/**
 * Searches on a thread that serves occupy it. After some milliseconds of them in one round of the event loop, further
 * ones wait. In each round after that, those that wait have half of the time first, in their order, so that none is
 * overtaken for ever; what comes in has the rest, so that a small request does not wait for all of a large one.
 */
export class SearchTurns {
  private readonly waiting: (() => void)[] = [];
  private spentMs = 0;
  private isRoundAwaited = false;

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  /** What `search` answers, at once or in a later round. It is given the time. Errors: what it throws. */
  take<Found>(search: (nowMs: number) => Found): Found | Promise<Found> {
    if (this.spentMs < TURN_MS) return this.run(search);
    return new Promise((done, fail) => {
      this.waiting.push(() => {
        try {
          done(this.run(search));
        } catch (error) {
          fail(error);
        }
      });
    });
  }

  /** What `search` answers, if it may run at once; else null. */
  takeNow<Found>(search: () => Found): Found | null {
    return this.spentMs < TURN_MS ? this.run(search) : null;
  }

  private run<Found>(search: (nowMs: number) => Found): Found {
    const startMs = this.clock.monotonicMs();
    if (!this.isRoundAwaited) {
      this.isRoundAwaited = true;
      setImmediate(() => this.beginRound());
    }
    try {
      return search(startMs);
    } finally {
      this.spentMs += this.clock.monotonicMs() - startMs;
    }
  }

  private beginRound(): void {
    this.isRoundAwaited = false;
    this.spentMs = 0;
    // Whoever runs asks for the next round.
    while (this.spentMs < WAITING_MS && this.waiting.length > 0) this.waiting.shift()!();
  }
}
