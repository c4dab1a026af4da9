/** By how much streams of one session may overtake each other on their way: more than are ever opened at once. */
const WINDOW = 64;

/** The stream numbers that a session has used. Each number counts once, so a copy of an earlier stream is refused. */
export class StreamNumbers {
  private readonly seen = new Set<number>();
  private highest = 0;

  /** Whether the number is new; from then on it is not. Numbers far below the highest count as used. */
  take(number: number): boolean {
    if (!Number.isSafeInteger(number) || number < 1 || number <= this.highest - WINDOW || this.seen.has(number))
      return false;
    this.seen.add(number);
    this.highest = Math.max(this.highest, number);
    for (const old of this.seen) if (old <= this.highest - WINDOW) this.seen.delete(old);
    return true;
  }
}
