import type { Clock } from '../../../shared/base/time/clock';
import { AdmissionWindow } from './admission-window';
import { type RateDecision, type RateLimiter, UNLIMITED } from './rate-limiter';
import { WINDOW_MS } from './shared-window';
import { limitOf } from './subject';

/**
 * A hundred thousand quiet subjects take about 40 MB: room for every key, and a bound on what a flood of client
 * addresses can take.
 */
const SUBJECTS_MAX = 100_000;

/**
 * The sliding-window limit in the memory of this process. Exact to the millisecond (AdmissionWindow): no 60 seconds
 * ever hold more than `limit` admissions of a subject, and refused requests do not count. A subject without an
 * admission for a minute is dropped. Beyond `subjectsMax` subjects within one minute, the one that has been quiet
 * longest is dropped early. So subjects that strangers can invent (client addresses) need a limiter of their own, apart
 * from keys.
 */
export class SlidingWindowLimiter implements RateLimiter {
  private readonly limit: number;
  private readonly clock: Clock;
  private readonly subjectsMax: number;
  /** By time of the last admission, the longest quiet first. */
  private readonly windows = new Map<string, AdmissionWindow>();

  /** `limit`: admissions per subject in any 60 seconds; 0 admits everything and stores nothing. */
  constructor(options: { limit: number; clock: Clock; subjectsMax?: number }) {
    this.limit = options.limit;
    this.clock = options.clock;
    this.subjectsMax = options.subjectsMax ?? SUBJECTS_MAX;
  }

  admit(subject: string): RateDecision {
    const limit = limitOf(subject, this.limit);
    if (limit === 0) return UNLIMITED;
    const nowMs = this.clock.monotonicMs();
    const window = this.windows.get(subject) ?? new AdmissionWindow(WINDOW_MS);
    window.expire(nowMs);
    const allowed = window.size < limit;
    if (allowed) {
      window.add(nowMs);
      this.windows.delete(subject);
      this.windows.set(subject, window);
      this.dropQuiet(nowMs);
    }
    // The sum and difference of fractions may have been rounded up; the bound corrects that.
    const resetMs = Math.min((allowed ? window.emptyMs : window.firstFreeMs) - nowMs, WINDOW_MS);
    return { allowed, limit, remaining: limit - window.size, resetSeconds: Math.ceil(resetMs / 1000) };
  }

  /** Subjects in memory now. */
  get subjectCount(): number {
    return this.windows.size;
  }

  /** Drops at most two per call. Each admission adds at most one, so this keeps up without ever delaying a request. */
  private dropQuiet(nowMs: number): void {
    let looked = 0;
    for (const [subject, window] of this.windows) {
      if (looked === 2 || (window.emptyMs > nowMs && this.windows.size <= this.subjectsMax)) return;
      this.windows.delete(subject);
      looked += 1;
    }
  }
}
