import { setTimeout as sleep } from 'node:timers/promises';

/** The first retry comes within this: most losses are a process that restarts or a leader that changes. */
const FIRST_MS = 100;
/** No retry waits longer: what comes back must be noticed within about a second. */
const LONGEST_MS = 1000;

/**
 * The pauses between attempts that may go on for ever: twice as long each time up to a second, each drawn from its upper
 * half, so that many clients of one lost server do not come back in step.
 */
export class RetryBackoff {
  private failures = 0;

  constructor(private readonly random: () => number = Math.random) {}

  /** After a success: the next pause is a short one again. */
  reset(): void {
    this.failures = 0;
  }

  nextMs(): number {
    const limit = Math.min(LONGEST_MS, FIRST_MS * 2 ** this.failures);
    if (limit < LONGEST_MS) this.failures++;
    return limit * (0.5 + this.random() / 2);
  }

  /** Waits out the next pause; ends early, without an error, when `signal` is aborted. */
  async pause(signal: AbortSignal): Promise<void> {
    await sleep(this.nextMs(), undefined, { signal }).catch(() => undefined);
  }
}
