import { setTimeout as sleep } from 'node:timers/promises';

/** Bounds the bytes per second of everything that shares it, by waiting. */
export class Pace {
  /** When the bytes so far would have been read or sent at exactly the limit, monotonic. */
  private paidUntilMs = 0;

  constructor(private readonly bytesPerSecond: number) {}

  /** Waits as long as the limit requires after so many bytes, or until `stop` is aborted. */
  async pay(bytes: number, stop?: AbortSignal): Promise<void> {
    const nowMs = performance.now();
    this.paidUntilMs = Math.max(this.paidUntilMs, nowMs) + (bytes / this.bytesPerSecond) * 1000;
    const aheadMs = this.paidUntilMs - nowMs;
    // Shorter waits than a timer can measure are made up for later.
    if (aheadMs > 5) await sleep(aheadMs, undefined, { signal: stop }).catch(() => undefined);
  }
}
