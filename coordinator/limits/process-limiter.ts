import assert from 'node:assert';
import type { Clock } from '../../shared/time/clock';
import type { RateDecision, RateLimiter } from './rate-limiter';
import { SlidingWindowLimiter } from './sliding-window-limiter';
import { WindowLimiter } from './window-limiter';
import { WindowTable } from './window-table';

/**
 * Limits up to this one are counted in shared memory: a subject that uses it has half a megabyte there. Higher ones, a
 * thousand requests a second and more, are counted on the main thread, in pairs of a millisecond and a count.
 */
const SHARED_LIMIT_MAX = 65_536;

/** Whether the threads of a process count this limit in windows that they share. */
export function isSharedLimit(limit: number): boolean {
  return limit > 0 && limit <= SHARED_LIMIT_MAX;
}

/** A limit of this process on its main thread, which has the windows that other threads count in, too. */
export class ProcessLimiter implements RateLimiter {
  private readonly limiter: RateLimiter;
  private readonly table: WindowTable | null = null;

  /** `limit`: admissions per subject in any 60 seconds; 0 admits everything. `clock`: one that all threads share. */
  constructor({ limit, clock }: { limit: number; clock: Clock }) {
    if (isSharedLimit(limit)) {
      const table = new WindowTable({ limit, clock });
      this.table = table;
      this.limiter = new WindowLimiter({ limit, clock, source: (subject, full) => table.of(subject, full) });
    } else {
      this.limiter = new SlidingWindowLimiter({ limit, clock });
    }
  }

  admit(subject: string): RateDecision | Promise<RateDecision> {
    return this.limiter.admit(subject);
  }

  /** The memory of a subject's window, for another thread, see {@link WindowTable.of}; only for shared limits. */
  window(subject: string, full: number): SharedArrayBuffer {
    assert(this.table !== null, 'the limit is not counted in windows');
    return this.table.of(subject, full).memory;
  }
}
