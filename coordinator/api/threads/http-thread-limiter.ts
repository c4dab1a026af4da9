import { SharedWindow } from '../../service/limits/shared-window';
import { WindowLimiter } from '../../service/limits/window-limiter';
import { sharedClock } from '../../../shared/base/time/shared-clock';
import type { ThreadPeer } from '../../../shared/base/threads/thread-peer';

/** A limit on an HTTP thread: it counts in the windows of the main thread's limiter of this name. */
export function httpThreadLimiter(main: Pick<ThreadPeer, 'ask'>, name: string, limit: number): WindowLimiter {
  return new WindowLimiter({
    limit,
    clock: sharedClock,
    source: async (subject, full) =>
      new SharedWindow(await main.ask<SharedArrayBuffer>(`${name}.window`, subject, full)),
  });
}
