import type { Clock } from '../../../shared/base/time/clock';
import { type RateDecision, type RateLimiter, UNLIMITED } from './rate-limiter';
import { type SharedWindow, WINDOW_MS } from './shared-window';
import { limitOf } from './subject';

/** Windows that a thread remembers. It asks for the others again. */
const KEPT_MAX = 10_000;

/**
 * Finds the window of a subject, on its own thread or by asking it. `full`: the capacity of the one that was found
 * full; 0 if none was.
 */
export type WindowSource = (subject: string, full: number) => SharedWindow | Promise<SharedWindow>;

/**
 * The sliding-window limit of a process, counted by each of its threads in windows that they share: over all of them,
 * without a question for each request. Refused requests do not count.
 */
export class WindowLimiter implements RateLimiter {
  private readonly limit: number;
  private readonly clock: Pick<Clock, 'monotonicMs'>;
  private readonly source: WindowSource;
  /** In the order in which they were found or last looked at. */
  private readonly windows = new Map<string, SharedWindow>();

  /** `limit` and `clock` as those of the source. */
  constructor(parts: { limit: number; clock: Pick<Clock, 'monotonicMs'>; source: WindowSource }) {
    this.limit = parts.limit;
    this.clock = parts.clock;
    this.source = parts.source;
  }

  admit(subject: string): RateDecision | Promise<RateDecision> {
    const limit = limitOf(subject, this.limit);
    if (limit === 0) return UNLIMITED;
    const window = this.windows.get(subject);
    return window === undefined ? this.find(subject, limit, 0) : this.decide(subject, limit, window);
  }

  private decide(subject: string, limit: number, window: SharedWindow): RateDecision | Promise<RateDecision> {
    const nowMs = this.clock.monotonicMs();
    const admission = window.admit(nowMs);
    switch (admission.type) {
      case 'admitted':
        return { allowed: true, limit, remaining: limit - admission.size, resetSeconds: WINDOW_MS / 1_000 };
      case 'full': {
        if (window.capacity < limit) return this.find(subject, limit, window.capacity);
        // Of two threads, the other may have read the clock first and counted last.
        const resetMs = Math.min(admission.firstFreeMs - nowMs, WINDOW_MS);
        return { allowed: false, limit, remaining: 0, resetSeconds: Math.ceil(resetMs / 1_000) };
      }
      case 'retired':
        return this.find(subject, limit, 0);
    }
  }

  private find(subject: string, limit: number, full: number): RateDecision | Promise<RateDecision> {
    const found = this.source(subject, full);
    return found instanceof Promise
      ? found.then((window) => this.take(subject, limit, window))
      : this.take(subject, limit, found);
  }

  private take(subject: string, limit: number, window: SharedWindow): RateDecision | Promise<RateDecision> {
    this.windows.set(subject, window);
    this.forgetRetired();
    return this.decide(subject, limit, window);
  }

  /** Looks at two, because each call follows one new window. */
  private forgetRetired(): void {
    let looks = 2;
    for (const [subject, window] of this.windows) {
      if (looks-- === 0) return;
      const isTooMany = this.windows.size > KEPT_MAX;
      this.windows.delete(subject);
      if (!isTooMany && !window.isRetired) this.windows.set(subject, window);
    }
  }
}
