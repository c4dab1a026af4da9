import type { Clock } from './clock';
import { deadlineTimer } from './deadline';

/**
 * Callers that wait for something to change, each until its own deadline. A caller that is woken has to check whether
 * it was the change that it waits for.
 */
export class Waiters {
  private readonly waiting = new Set<() => void>();

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  /** Resolves to true at the next `wake`, to false at the deadline (monotonic). */
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

  /** Wakes everybody who waits now. */
  wake(): void {
    if (this.waiting.size === 0) return;
    for (const wake of this.waiting) wake();
  }
}
