import { TIMINGS } from './timings';

/** The weight of one more time; the latest ones count most. */
const WEIGHT = 0.1;
/** Slow is who takes long more often than not: a network that breaks makes few times long, however long. */
const SLOW_SHARE = 0.5;
/** Of so few times nothing is said. */
const TIMES_MIN = 20;
/** Long is what takes so many times as long as the primary's own disk: where all disks are slow, there is nobody to do without. */
const TIMES_AS_LONG = 4;

/** How long a primary's own log takes, on average of late, for what it has to store next, in milliseconds. */
export class OwnStorePace {
  meanMs = 0;

  note(tookMs: number): void {
    this.meanMs += (tookMs - this.meanMs) * WEIGHT;
  }
}

/** How often, of late, a follower takes long for what it has to store next. */
export class StorePace {
  private longShare = 0;
  private notedAt = -Infinity;
  /** Since when it takes long, and how many times it stored something since. */
  private slowSince: number | null = null;
  private times = 0;

  /** It stored something `tookMs` after that was the next to be stored; the primary takes `ownMs` of late. */
  note(tookMs: number, ownMs: number, nowMs: number): void {
    if (this.isForgotten(nowMs)) this.longShare = 0;
    this.notedAt = nowMs;
    const isLong = tookMs >= Math.max(TIMINGS.slowStoreMs, ownMs * TIMES_AS_LONG);
    this.longShare += ((isLong ? 1 : 0) - this.longShare) * WEIGHT;
    if (this.longShare < SLOW_SHARE) {
      this.slowSince = null;
      this.times = 0;
    } else {
      this.slowSince ??= nowMs;
      this.times += 1;
    }
  }

  /** Whether it has taken long for a while. */
  isSlow(nowMs: number): boolean {
    return this.slowSince !== null && nowMs - this.slowSince >= TIMINGS.slowForMs && this.times >= TIMES_MIN && !this.isForgotten(nowMs);
  }

  /** What it was when there was last something to store says nothing after a pause. */
  private isForgotten(nowMs: number): boolean {
    return nowMs - this.notedAt >= TIMINGS.slowForMs;
  }
}
