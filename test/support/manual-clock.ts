import type { Clock } from '../../shared/base/time/clock';

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
