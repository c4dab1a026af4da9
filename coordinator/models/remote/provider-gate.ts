import { QuiverError } from '../../../shared/base/errors/quiver-error';

const MS_PER_MINUTE = 60_000;

/** How long a process waits, and what time it is; in tests both are made up. */
export interface Pauses {
  monotonicMs: () => number;
  /** Ends early, without an error, when the signal is aborted. */
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** When calls of a provider may begin: no more in a minute than it takes, and none while it wants to be left alone. */
export class ProviderGate {
  private nextMs = -Infinity;
  private closedUntilMs = -Infinity;

  /** `perMinute`: 0: any number. */
  constructor(private readonly options: { name: string; perMinute: number } & Pauses) {}

  /** All calls that begin from now on wait so long. */
  close(ms: number): void {
    this.closedUntilMs = Math.max(this.closedUntilMs, this.options.monotonicMs() + ms);
  }

  /** Resolves when a call may begin. Errors: overloaded when that is not before `untilMs`. */
  async turn(untilMs: number, signal: AbortSignal): Promise<void> {
    const { name, perMinute, monotonicMs, pause } = this.options;
    const nowMs = monotonicMs();
    const atMs = Math.max(nowMs, this.nextMs);
    const freeMs = Math.max(atMs, this.closedUntilMs);
    if (freeMs > untilMs) {
      const seconds = Math.ceil((freeMs - nowMs) / 1000);
      throw new QuiverError(
        'overloaded',
        `The embedding provider "${name}" takes no more texts at present; try again in ${seconds} s`,
      );
    }
    if (perMinute > 0) this.nextMs = atMs + MS_PER_MINUTE / perMinute;
    // It may be closed again while this one waits.
    for (;;) {
      const leftMs = Math.max(atMs, Math.min(this.closedUntilMs, untilMs)) - monotonicMs();
      if (leftMs <= 0 || signal.aborted) return;
      await pause(leftMs, signal);
    }
  }
}
