/**
 * First capacity of a window's ring: small, because most subjects are quiet, and a power of two, so that a mask wraps
 * around.
 */
const CAPACITY_MIN = 8;

/**
 * The admissions of one subject within the last `windowMs`, oldest first: a ring of (time, count) pairs. Admissions of
 * one millisecond share a pair and expire together with the last of them. So a window holds at most one pair per
 * millisecond (60,001 for a minute, 0.7 MB), however high the limit is. The count is therefore never below the true
 * one, and exceeds it by less than a millisecond's admissions: never more than the limit is admitted, and a place
 * becomes free up to 1 ms late, only if admissions came in the same millisecond.
 */
export class AdmissionWindow {
  private times = new Float64Array(CAPACITY_MIN);
  private counts = new Uint32Array(CAPACITY_MIN);
  private head = 0;
  private pairs = 0;
  private total = 0;

  constructor(private readonly windowMs: number) {}

  /** Admissions in the window at the time of the last `expire`. */
  get size(): number {
    return this.total;
  }

  /** When the first place becomes free; call only while `size` > 0. */
  get firstFreeMs(): number {
    return this.times[this.head] + this.windowMs;
  }

  /** When the window will be empty if nothing more is admitted; -Infinity if it is empty. */
  get emptyMs(): number {
    return this.pairs === 0 ? -Infinity : this.times[this.tail(1)] + this.windowMs;
  }

  /** Drops admissions that are `windowMs` old or older. */
  expire(nowMs: number): void {
    while (this.pairs > 0 && this.times[this.head] + this.windowMs <= nowMs) {
      this.total -= this.counts[this.head];
      this.head = (this.head + 1) & (this.times.length - 1);
      this.pairs -= 1;
    }
    // A burst must not keep its memory as long as the subject stays busy. A factor of eight keeps resizing rare.
    if (this.times.length > CAPACITY_MIN && this.pairs <= this.times.length / 8) this.resize(this.times.length / 2);
  }

  /** Counts one admission; times must not fall. */
  add(nowMs: number): void {
    this.total += 1;
    const last = this.tail(1);
    if (this.pairs > 0 && Math.floor(this.times[last]) === Math.floor(nowMs)) {
      this.times[last] = nowMs;
      this.counts[last] += 1;
      return;
    }
    if (this.pairs === this.times.length) this.resize(this.times.length * 2);
    const next = this.tail(0);
    this.times[next] = nowMs;
    this.counts[next] = 1;
    this.pairs += 1;
  }

  /** Bytes of the ring. */
  get memoryBytes(): number {
    return this.times.byteLength + this.counts.byteLength;
  }

  private tail(back: number): number {
    return (this.head + this.pairs - back) & (this.times.length - 1);
  }

  private resize(capacity: number): void {
    const times = new Float64Array(capacity);
    const counts = new Uint32Array(capacity);
    for (let pair = 0; pair < this.pairs; pair += 1) {
      const from = (this.head + pair) & (this.times.length - 1);
      times[pair] = this.times[from];
      counts[pair] = this.counts[from];
    }
    this.times = times;
    this.counts = counts;
    this.head = 0;
  }
}
