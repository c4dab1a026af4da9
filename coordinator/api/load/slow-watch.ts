/**
 * For so long after a slow search, searches of its collection are measured in detail: what made one slow may come
 * again.
 */
const WATCH_MS = 60_000;
/** Collections that are watched; of more, the first are forgotten. */
const COLLECTIONS_MAX = 64;

/** Remembers which collections had a slow search a moment ago. */
export class SlowWatch {
  private readonly untilMs = new Map<string, number>();

  note(collection: string, nowMs: number): void {
    this.untilMs.delete(collection);
    this.untilMs.set(collection, nowMs + WATCH_MS);
    for (const first of this.untilMs.keys()) {
      if (this.untilMs.size <= COLLECTIONS_MAX) return;
      this.untilMs.delete(first);
    }
  }

  /** Costs nothing while no search was slow. */
  has(collection: string, nowMs: () => number): boolean {
    const untilMs = this.untilMs.size === 0 ? undefined : this.untilMs.get(collection);
    if (untilMs === undefined) return false;
    if (nowMs() < untilMs) return true;
    this.untilMs.delete(collection);
    return false;
  }
}
