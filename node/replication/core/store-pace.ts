import { TIMINGS } from './timings';

/** The weight of one more time; the latest ones count most. */
const WEIGHT = 0.1;
/** Slow is who takes long more often than not: a network that breaks makes few times long, however long. */
const SLOW_SHARE = 0.5;
/** Of so few times nothing is said. */
const TIMES_MIN = 20;
/**
 * Long is what takes so many times as long as the primary's own disk, or for that as the quickest of the others: where
 * all disks are slow, there is nobody to do without.
 */
const TIMES_AS_LONG = 4;

/** For such a share of the time that a sync took, what else is stored counts as stored with it. */
const SAME_SYNC_SHARE = 0.25;

/**
 * Tells a sync from what comes right after it because it was stored by the same one. That says nothing of the disk, and
 * would make a slow one that is busy look quick.
 */
export class Syncs {
  private until = -Infinity;

  isAnother(tookMs: number, nowMs: number): boolean {
    if (nowMs < this.until) return false;
    this.until = nowMs + tookMs * SAME_SYNC_SHARE;
    return true;
  }
}

/** How long a replica takes, on average of late, for what it has to store next, in milliseconds. */
export class MeanStorePace {
  meanMs = 0;
  private times = 0;

  note(tookMs: number): void {
    this.meanMs += (tookMs - this.meanMs) * WEIGHT;
    this.times += 1;
  }

  /** Whether it is known to take less than a replica that takes so long, by as much as makes that one slow. */
  isMuchLessThan(ms: number): boolean {
    return this.times >= TIMES_MIN && ms >= this.meanMs * TIMES_AS_LONG;
  }
}

/** How often, of late, a replica takes long for what it has to store next, beside others. */
export class StorePace {
  private longShare = 0;
  private notedAt = -Infinity;
  /** Since when it takes long, and how many times it stored something since. */
  private slowSince: number | null = null;
  private times = 0;

  /**
   * It stored something `tookMs` after that was the next to be stored; one beside which it is judged takes `otherMs` of
   * late.
   */
  note(tookMs: number, otherMs: number, nowMs: number): void {
    if (this.isForgotten(nowMs)) this.longShare = 0;
    this.notedAt = nowMs;
    const isLong = tookMs >= Math.max(TIMINGS.slowStoreMs, otherMs * TIMES_AS_LONG);
    this.longShare += ((isLong ? 1 : 0) - this.longShare) * WEIGHT;
    if (this.longShare < SLOW_SHARE) {
      this.slowSince = null;
      this.times = 0;
    } else {
      this.slowSince ??= nowMs;
      this.times += 1;
    }
  }

  /** Whether it does not take long, so that it can't become slow by time alone. */
  get isCalm(): boolean {
    return this.slowSince === null;
  }

  /** Whether it has taken long for a while. */
  isSlow(nowMs: number): boolean {
    return (
      this.slowSince !== null &&
      nowMs - this.slowSince >= TIMINGS.slowForMs &&
      this.times >= TIMES_MIN &&
      !this.isForgotten(nowMs)
    );
  }

  /** What it was when there was last something to store says nothing after a pause. */
  private isForgotten(nowMs: number): boolean {
    return nowMs - this.notedAt >= TIMINGS.slowForMs;
  }
}
