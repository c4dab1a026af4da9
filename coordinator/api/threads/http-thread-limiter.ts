import { limiterByLimit } from '../../service/limits/process-limiter';
import type { RateLimiter } from '../../service/limits/rate-limiter';
import { SharedWindow } from '../../service/limits/shared-window';
import { WindowLimiter } from '../../service/limits/window-limiter';
import { sharedClock } from '../../../shared/base/time/shared-clock';
import { remote, type ThreadPeer } from '../../../shared/base/threads/thread-peer';

/**
 * A limit on an HTTP thread. It counts in windows that all threads share, of which the main thread tells it, as
 * `local`; `around` makes the whole limiter of that. Limits too high for that are the main thread's, as `whole`.
 */
export function httpThreadLimiter(
  main: Pick<ThreadPeer, 'ask'>,
  limits: { whole: string; local: string; limit: number; around?: (local: RateLimiter) => RateLimiter },
): RateLimiter {
  const { limit } = limits;
  const windows = new WindowLimiter({
    limit,
    clock: sharedClock,
    source: async (subject, full) =>
      new SharedWindow(await main.ask<SharedArrayBuffer>(`${limits.local}.window`, subject, full)),
  });
  return limiterByLimit({
    limit,
    shared: limits.around?.(windows) ?? windows,
    high: remote<RateLimiter>(main, limits.whole),
  });
}
