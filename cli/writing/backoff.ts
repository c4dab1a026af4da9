/** How long to wait before the next try. */
const FIRST_WAIT_MS = 250;
const WAIT_MAX_MS = 30_000;
/** The window of the service's rate limit: that is waited for, however short the patience. */
const WINDOW_MS = 60_000;

/**
 * Waits between tries of one call: twice as long each time, up to half a minute, a part of it by chance so that many
 * callers don't come back at once. Gives up when nothing has worked for `patienceMs`.
 */
export class Backoff {
  private tries = 0;
  private waitedMs = 0;

  constructor(
    private readonly patienceMs: number,
    private readonly random: () => number = Math.random,
  ) {}

  /**
   * Milliseconds to wait before the next try, at least what the service asked for; null: enough was tried, or it asks
   * for more than there is patience for.
   */
  next(retryAfterMs: number | null): number | null {
    if (this.waitedMs >= this.patienceMs || (retryAfterMs ?? 0) > Math.max(WINDOW_MS, this.patienceMs)) return null;
    const own = Math.min(WAIT_MAX_MS, FIRST_WAIT_MS * 2 ** Math.min(this.tries, 20));
    const wait = Math.max(retryAfterMs ?? 0, own * (0.5 + this.random() / 2));
    this.tries += 1;
    this.waitedMs += wait;
    return Math.min(wait, Math.max(retryAfterMs ?? 0, this.patienceMs));
  }
}
