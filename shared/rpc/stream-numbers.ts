/** Streams of one session that may overtake each other on their way; more than are ever opened at once. */
const WINDOW = 64;

/** Which streams of a session were there already: each number counts once, so that a copy of an earlier one is refused. */
export class StreamNumbers {
  private readonly seen = new Set<number>();
  private highest = 0;

  /** Whether the number is new; it is not the next time. Numbers far below the highest count as seen. */
  take(number: number): boolean {
    if (!Number.isSafeInteger(number) || number < 1 || number <= this.highest - WINDOW || this.seen.has(number)) return false;
    this.seen.add(number);
    this.highest = Math.max(this.highest, number);
    for (const old of this.seen) if (old <= this.highest - WINDOW) this.seen.delete(old);
    return true;
  }
}
