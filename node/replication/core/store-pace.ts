import { TIMINGS } from './timings';

/** The share of one more time in the mean: a few slow syncs in a row do not make a slow disk. */
const SHARE = 0.2;
/** So many times in a row have to be long on average: a break of the network is one of them, however long it lasts. */
const TIMES_MIN = 20;
/** Only who takes so many times as long as the primary itself is slow: where all disks are, there is nobody to do without. */
const TIMES_AS_LONG = 4;

/** How long one disk takes, of late, for what it has to store next, in milliseconds. */
export class StorePace {
  private meanMs = 0;
  private notedAt = -Infinity;
  /** Since when it takes long. */
  private longSince: number | null = null;
  private timesSince = 0;

  /** Something was stored `tookMs` after it was the next to be stored. */
  note(tookMs: number, nowMs: number): void {
    if (this.isForgotten(nowMs)) {
      this.meanMs = 0;
      this.longSince = null;
    }
    this.notedAt = nowMs;
    this.meanMs += (tookMs - this.meanMs) * SHARE;
    this.timesSince += 1;
    if (this.meanMs < TIMINGS.slowStoreMs / 2) this.longSince = null;
    else if (this.meanMs >= TIMINGS.slowStoreMs && this.longSince === null) {
      this.longSince = nowMs;
      this.timesSince = 0;
    }
  }

  /** Whether it has taken long for a while, beside another disk that has the same to store. */
  isSlow(beside: StorePace, nowMs: number): boolean {
    if (this.longSince === null || nowMs - this.longSince < TIMINGS.slowForMs || this.timesSince < TIMES_MIN || this.isForgotten(nowMs)) return false;
    return this.meanMs >= beside.meanMs * TIMES_AS_LONG;
  }

  /** What it was when there was last something to store says nothing after a pause. */
  private isForgotten(nowMs: number): boolean {
    return nowMs - this.notedAt >= TIMINGS.slowForMs;
  }
}
