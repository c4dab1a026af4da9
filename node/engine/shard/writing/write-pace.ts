/** It holds as long after it was asked for, so that nobody is slowed for one who is gone. */
const HOLDS_MS = 5_000;
/** No write waits longer for its turn. */
const WAIT_MAX_MS = 5_000;

/**
 * What a shard lets its clients write in a second, while its items are copied to others
 * (docs/architecture/resharding.md): without it, a copy would never catch up with clients that write faster. Each write
 * waits until those before it are paid for, so one write is never cut in two.
 */
export class WritePace {
  private perSecond = Infinity;
  private untilMs = -Infinity;
  /** When everything that was let through is paid for. */
  private paidMs = -Infinity;
  private readonly waiting = new Set<() => void>();

  /** Operations a second from now on, for some seconds. */
  ask(perSecond: number, nowMs: number): void {
    this.perSecond = Math.max(1, perSecond);
    this.untilMs = nowMs + HOLDS_MS;
  }

  /** Resolves when a write of so many operations may go on. */
  async wait(operations: number, nowMs: number): Promise<void> {
    const delayMs = this.delayMs(operations, nowMs);
    if (delayMs <= 0) return;
    await new Promise<void>((done) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.waiting.delete(wake);
        done();
      };
      const timer = setTimeout(wake, delayMs);
      this.waiting.add(wake);
    });
  }

  /** Those who wait go on, and nobody waits any more: the shard takes no writes now, or is not copied. */
  end(): void {
    this.untilMs = -Infinity;
    for (const wake of this.waiting) wake();
  }

  /** How long a write of so many operations is to wait, in milliseconds. */
  delayMs(operations: number, nowMs: number): number {
    if (nowMs >= this.untilMs) return 0;
    const startMs = Math.min(Math.max(this.paidMs, nowMs), nowMs + WAIT_MAX_MS);
    this.paidMs = startMs + (operations * 1000) / this.perSecond;
    return startMs - nowMs;
  }
}
