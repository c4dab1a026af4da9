import type { Clock } from '../../../shared/base/time/clock';
import { RetryBackoff } from '../../../shared/base/time/retry-backoff';

/** Between two attempts of all that the same obstacle is before. */
const PAUSES = { firstMs: 500, longestMs: 30_000 };

interface Obstruction {
  backoff: RetryBackoff;
  notBeforeMs: number;
}

/**
 * What jobs wait for together, such as a shard or a provider that is away: while one of them fails of what may pass,
 * the others need not find that out, each by itself. One at a time tries again, and once one gets on, all do.
 */
export class Obstructions {
  private readonly known = new Map<string, Obstruction>();

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  noteFailure(what: string): void {
    const found = this.known.get(what) ?? { backoff: new RetryBackoff(PAUSES), notBeforeMs: 0 };
    found.notBeforeMs = this.clock.monotonicMs() + found.backoff.nextMs();
    this.known.set(what, found);
  }

  noteSuccess(what: string): void {
    this.known.delete(what);
  }

  /** How many more may begin, beside those that run. */
  room(what: string, running: number): number {
    const found = this.known.get(what);
    if (found === undefined) return Infinity;
    return running > 0 || this.clock.monotonicMs() < found.notBeforeMs ? 0 : 1;
  }

  clear(): void {
    this.known.clear();
  }
}
