/**
 * How many bytes the entries of a log take, by running totals: needed after every apply, for logs of a million entries.
 */
export class LogSizes {
  /** Sequence of the first entry whose size is known; earlier ones do not count. */
  private first = 0;
  /** For each known entry, the bytes up to and including it. */
  private totals: number[] = [];
  /** Total before the first of them. */
  private before = 0;

  /** Records the entry at the end of the log; known entries with the same or a higher number are dropped. */
  add(sequence: number, bytes: number): void {
    if (this.totals.length === 0) this.first = sequence;
    if (sequence < this.first) {
      this.first = sequence;
      this.totals = [];
    } else {
      this.totals.length = Math.min(this.totals.length, sequence - this.first);
    }
    this.totals.push((this.totals.at(-1) ?? this.before) + bytes);
  }

  /** Drops the entries below `sequence`. */
  trim(sequence: number): void {
    const gone = Math.min(sequence - this.first, this.totals.length);
    if (gone <= 0) return;
    this.before = this.totals[gone - 1];
    this.totals = this.totals.slice(gone);
    this.first += gone;
  }

  /** The lowest sequence from which on the entries up to `last` take at most `bytes`. */
  firstWithin(bytes: number, last: number): number {
    const end = this.totalTo(last);
    if (end - this.before <= bytes) return 0;
    let low = this.first;
    let high = last + 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (end - this.totalTo(middle - 1) <= bytes) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Bytes of the entries from `from` on and below `below`. */
  between(from: number, below: number): number {
    return below <= from ? 0 : this.totalTo(below - 1) - this.totalTo(from - 1);
  }

  /**
   * The first sequence below which the entries from `from` on have at least so many bytes; behind the last where they
   * have not.
   */
  firstBeyond(from: number, bytes: number): number {
    const start = this.totalTo(from - 1);
    let low = from;
    let high = this.first + this.totals.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.totalTo(middle - 1) - start >= bytes) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  private totalTo(sequence: number): number {
    return sequence < this.first
      ? this.before
      : (this.totals[Math.min(sequence - this.first, this.totals.length - 1)] ?? this.before);
  }
}
