import type { Clock } from './clock';
import { deadlineTimer } from './deadline';

/**
 * Those who wait for something to change, each until its own deadline. Who is woken looks again
 * whether it was the right change.
 */
export class Waiters {
  private readonly waiting = new Set<() => void>();

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  /** Resolves with true at the next `wake`, with false at the deadline (monotonic). */
  next(deadlineMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isWoken: boolean): void => {
        clearTimeout(timer);
        this.waiting.delete(wake);
        resolve(isWoken);
      };
      const wake = (): void => end(true);
      const timer = deadlineTimer(deadlineMs - this.clock.monotonicMs(), () => end(false));
      this.waiting.add(wake);
    });
  }

  /** Wakes all that wait now. */
  wake(): void {
    for (const wake of this.waiting) wake();
  }
}
