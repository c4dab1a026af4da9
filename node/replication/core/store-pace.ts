import { TIMINGS } from './timings';

/** The weight of one more time. */
const WEIGHT = 0.1;
/** Slow is who takes long more often than not: a network that breaks makes few times long, however long. */
const SLOW_SHARE = 0.5;
/** Of so few times nothing is said. */
const TIMES_MIN = 20;

/** How often, of late, one disk takes long for what it has to store next. */
export class StorePace {
  /** Of the times that were long, the latest ones weigh most. */
  private share = 0;
  private notedAt = -Infinity;
  /** Since when it takes long, and how many times it stored something since. */
  private slowSince: number | null = null;
  private times = 0;

  /** @param longMs what is long */
  constructor(private readonly longMs: number) {}

  /** Something was stored `tookMs` after it was the next to be stored. */
  note(tookMs: number, nowMs: number): void {
    if (this.isForgotten(nowMs)) this.share = 0;
    this.notedAt = nowMs;
    this.share += ((tookMs >= this.longMs ? 1 : 0) - this.share) * WEIGHT;
    if (this.share < SLOW_SHARE) {
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

  /** Whether it takes long now, perhaps for a moment only. */
  get takesLong(): boolean {
    return this.share >= SLOW_SHARE;
  }

  /** What it was when there was last something to store says nothing after a pause. */
  private isForgotten(nowMs: number): boolean {
    return nowMs - this.notedAt >= TIMINGS.slowForMs;
  }
}
