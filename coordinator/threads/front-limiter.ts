import { limiterByLimit } from '../limits/process-limiter';
import type { RateLimiter } from '../limits/rate-limiter';
import { SharedWindow } from '../limits/shared-window';
import { WindowLimiter } from '../limits/window-limiter';
import { sharedClock } from '../../shared/time/shared-clock';
import { remote, type ThreadPeer } from '../../shared/threads/thread-peer';

/**
 * A limit on a front thread. It counts in windows that all threads share, of which the main thread tells it, as `local`;
 * `around` makes the whole limiter of that. Limits too high for that are the main thread's, as `whole`.
 */
export function frontLimiter(main: Pick<ThreadPeer, 'ask'>, limits: { whole: string; local: string; limit: number; around?: (local: RateLimiter) => RateLimiter }): RateLimiter {
  const { limit } = limits;
  const windows = new WindowLimiter({
    limit,
    clock: sharedClock,
    source: async (subject, full) => new SharedWindow(await main.ask<SharedArrayBuffer>(`${limits.local}.window`, subject, full)),
  });
  return limiterByLimit({ limit, shared: limits.around?.(windows) ?? windows, high: remote<RateLimiter>(main, limits.whole) });
}
