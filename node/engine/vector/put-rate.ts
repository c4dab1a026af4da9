/** Long compared with the gap between the batches of a load, short compared with a load. */
const WINDOW_MS = 500;

/** How fast rows are put: in the stretch of time before and in the present one. */
export class PutRate {
  private startMs = -Infinity;
  private lastMs = -Infinity;
  private rows = 0;
  private before = 0;
  /** The longest time between two puts: in the stretch of time before and in the present one. */
  private gapBeforeMs = 0;
  private gapMs = 0;

  note(rows: number, nowMs: number): void {
    const lengthMs = nowMs - this.startMs;
    if (lengthMs >= WINDOW_MS) {
      // Over all the time until now: after a pause it counts little.
      this.before = (this.rows / lengthMs) * 1000;
      this.gapBeforeMs = this.gapMs;
      this.startMs = nowMs;
      this.rows = 0;
      this.gapMs = 0;
    }
    if (nowMs - this.lastMs < WINDOW_MS) this.gapMs = Math.max(this.gapMs, nowMs - this.lastMs);
    this.lastMs = nowMs;
    this.rows += rows;
  }

  /** The longest time between two puts of late, pauses left out. */
  get longestGapMs(): number {
    return Math.max(this.gapMs, this.gapBeforeMs);
  }

  perSecond(nowMs: number): number {
    const lengthMs = nowMs - this.startMs;
    const now = (this.rows / Math.max(lengthMs, WINDOW_MS)) * 1000;
    return lengthMs >= 2 * WINDOW_MS ? now : Math.max(now, this.before);
  }
}
