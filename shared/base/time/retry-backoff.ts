import { setTimeout as sleep } from 'node:timers/promises';

/** The first pause, and the longest. */
export interface BackoffPauses {
  firstMs: number;
  longestMs: number;
}

/**
 * Most losses are a process that restarts or a leader that changes. When it is back, that must be noticed within about
 * a second.
 */
const USUAL: BackoffPauses = { firstMs: 100, longestMs: 1000 };

/**
 * The pauses between attempts that may be repeated without end. Each is twice as long as the one before, up to the
 * longest, and is drawn at random from its upper half. So many clients of one lost server do not come back at the same
 * moments.
 */
export class RetryBackoff {
  private nextLimitMs: number;

  constructor(
    private readonly pauses: BackoffPauses = USUAL,
    private readonly random: () => number = Math.random,
  ) {
    this.nextLimitMs = pauses.firstMs;
  }

  /** After a success: the next pause is a short one again. */
  reset(): void {
    this.nextLimitMs = this.pauses.firstMs;
  }

  /** Whole milliseconds. */
  nextMs(): number {
    const limitMs = this.nextLimitMs;
    this.nextLimitMs = Math.min(limitMs * 2, this.pauses.longestMs);
    return Math.round(limitMs * (0.5 + this.random() / 2));
  }

  /** Waits for the next pause; ends early, without an error, when `signal` is aborted. */
  async pause(signal: AbortSignal): Promise<void> {
    await sleep(this.nextMs(), undefined, { signal }).catch(() => undefined);
  }
}
