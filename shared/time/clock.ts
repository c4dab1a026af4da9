/** The clocks of a process, as one object that is passed in: the pure core never reads the time itself. */
export interface Clock {
  /** Wall time in milliseconds since the Unix epoch; may jump. Only for timestamps that people see. */
  wallMs(): number;
  /** Monotonic time in milliseconds from an arbitrary origin, with a fraction. For durations, deadlines and windows. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** A clock that a test sets by hand; both readings start at `startMs` and advance together. */
export class ManualClock implements Clock {
  private nowMs: number;

  constructor(startMs = 1_700_000_000_000) {
    this.nowMs = startMs;
  }

  wallMs(): number {
    return this.nowMs;
  }

  monotonicMs(): number {
    return this.nowMs;
  }

  advance(milliseconds: number): void {
    this.nowMs += milliseconds;
  }
}
