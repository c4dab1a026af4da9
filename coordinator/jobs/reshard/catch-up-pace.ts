/**
 * With so few changes left, in all old shards together, the copy has caught up: they take some tens of milliseconds.
 */
export const CHANGES_LEFT_MAX = 500;
/** The same where each of them is a text that is embedded. */
export const TEXTS_LEFT_MAX = 16;
/** It is judged this often. */
const WINDOW_MS = 1_000;
/** Clients may write this share of what is taken over in the same time, so that what is left gets less. */
const WRITES_SHARE = 0.5;
/** Once it has caught up, they may write so much more with every window: it may have to wait for the index. */
const RELIEF = 1.25;
/** Even the slowest copy lets clients write so much. */
export const LEAST_PER_SECOND = 100;
/** The same where each change is a text that is embedded: a model may make few in a second. */
export const LEAST_TEXTS_PER_SECOND = 2;

/** Of all old shards together: changes taken over so far, and changes that wait. */
export interface CatchUpCounts {
  taken: number;
  left: number;
}

/**
 * How the new shards catch up with clients who go on writing. As long as these write less than half of what is taken
 * over, it rests as much as it works. If they write more, it rests no longer; and if that is not enough, they have to
 * write more slowly.
 */
export class CatchUpPace {
  private since: (CatchUpCounts & { nowMs: number }) | null = null;
  private isInHurry = false;
  private isLosing = false;
  private perSecond: number | undefined;

  /** `leftMax`: with so few changes left, the copy has caught up. `least`: a second, whatever it takes over. */
  constructor(
    private readonly leftMax = CHANGES_LEFT_MAX,
    private readonly least = LEAST_PER_SECOND,
  ) {}

  /** Operations a second, of all clients in all shards; undefined: no limit. */
  get writesPerSecond(): number | undefined {
    return this.perSecond;
  }

  /** Whether there is no time to rest. */
  get isUrgent(): boolean {
    return this.isInHurry;
  }

  /** Whether clients wrote more lately than was taken over, and much is left. */
  get isOutrun(): boolean {
    return this.isLosing;
  }

  /** Clients may write so much at most, until they may write more again. */
  slow(perSecond: number): void {
    this.perSecond = Math.max(this.least, Math.min(this.perSecond ?? Infinity, perSecond));
  }

  note(counts: CatchUpCounts, nowMs: number): void {
    const { since } = this;
    if (since !== null && nowMs - since.nowMs < WINDOW_MS) return;
    this.since = { ...counts, nowMs };
    if (since === null) return;
    const taken = counts.taken - since.taken;
    const written = taken + counts.left - since.left;
    this.isLosing = counts.left > this.leftMax && written > taken;
    if (counts.left <= this.leftMax) {
      if (this.perSecond !== undefined) this.perSecond *= RELIEF;
    } else if (written > taken * WRITES_SHARE) {
      if (this.isInHurry) this.perSecond = Math.max(this.least, (taken * WRITES_SHARE * 1000) / (nowMs - since.nowMs));
      this.isInHurry = true;
    }
  }
}
