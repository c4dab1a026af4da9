/** First capacity of a window's ring: most subjects are quiet, and a power of two keeps the wrap-around a mask. */
const CAPACITY_MIN = 8;

/**
 * The admissions of one subject within the last `windowMs`, oldest first: a ring of (time, count) pairs.
 * Admissions of one millisecond share a pair and leave together with the last of them, so a window holds at most one
 * pair per millisecond (60,001 for a minute, 0.7 MB) however high the limit is. The count is therefore never below the
 * true one, and above it by less than a millisecond's worth: at most the limit is ever admitted, and a place is given
 * back up to 1 ms late, only where admissions fell into the same millisecond.
 */
export class AdmissionWindow {
  private times = new Float64Array(CAPACITY_MIN);
  private counts = new Uint32Array(CAPACITY_MIN);
  private head = 0;
  private pairs = 0;
  private total = 0;

  constructor(private readonly windowMs: number) {}

  /** Admissions after the last `expire`. */
  get size(): number {
    return this.total;
  }

  /** When the first place is given back; call only while `size` > 0. */
  get firstFreeMs(): number {
    return this.times[this.head] + this.windowMs;
  }

  /** When the window is empty if nothing more is admitted; -Infinity for an empty one. */
  get emptyMs(): number {
    return this.pairs === 0 ? -Infinity : this.times[this.tail(1)] + this.windowMs;
  }

  /** Forgets what was admitted `windowMs` ago or earlier. */
  expire(nowMs: number): void {
    while (this.pairs > 0 && this.times[this.head] + this.windowMs <= nowMs) {
      this.total -= this.counts[this.head];
      this.head = (this.head + 1) & (this.times.length - 1);
      this.pairs -= 1;
    }
    // A burst must not hold its memory for as long as the subject stays busy; an eighth keeps resizing rare.
    if (this.times.length > CAPACITY_MIN && this.pairs <= this.times.length / 8) this.resize(this.times.length / 2);
  }

  /** Counts one admission; times never fall. */
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
