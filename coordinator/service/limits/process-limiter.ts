import type { Clock } from '../../../shared/base/time/clock';
import { type RateDecision, type RateLimiter, UNLIMITED } from './rate-limiter';
import { SlidingWindowLimiter } from './sliding-window-limiter';
import { limitOf } from './subject';
import { WindowLimiter } from './window-limiter';
import { WindowTable } from './window-table';

/**
 * Limits up to this one are counted in shared memory: a subject that uses it has half a megabyte there. Higher ones, a
 * thousand requests a second and more, are counted on the main thread, in pairs of a millisecond and a count.
 */
const SHARED_LIMIT_MAX = 65_536;

/** A limit of this process on its main thread, which has the windows that other threads count in, too. */
export class ProcessLimiter implements RateLimiter {
  private readonly table: WindowTable;
  private readonly limiter: RateLimiter;

  /** `limit`: admissions per subject in any 60 seconds; 0 admits everything. `clock`: one that all threads share. */
  constructor({ limit, clock }: { limit: number; clock: Clock }) {
    const table = new WindowTable({ limit, clock });
    this.table = table;
    this.limiter = limiterByLimit({
      limit,
      shared: new WindowLimiter({ limit, clock, source: (subject, full) => table.of(subject, full) }),
      high: new SlidingWindowLimiter({ limit, clock }),
    });
  }

  admit(subject: string): RateDecision | Promise<RateDecision> {
    return this.limiter.admit(subject);
  }

  /** The memory of a subject's window, for another thread, see {@link WindowTable.of}; only for shared limits. */
  window(subject: string, full: number): SharedArrayBuffer {
    return this.table.of(subject, full).memory;
  }
}

/**
 * Gives each subject to whoever counts limits like its own: `shared` in windows that the threads of a process share,
 * `high` on its main thread. `limit`: of subjects that have none of their own.
 */
export function limiterByLimit(parts: { limit: number; shared: RateLimiter; high: RateLimiter }): RateLimiter {
  return {
    admit: (subject) => {
      const limit = limitOf(subject, parts.limit);
      if (limit === 0) return UNLIMITED;
      return limit <= SHARED_LIMIT_MAX ? parts.shared.admit(subject) : parts.high.admit(subject);
    },
  };
}
