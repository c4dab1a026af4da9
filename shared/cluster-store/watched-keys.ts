import type { StoreEntry, StoreEvent } from './cluster-store';

/**
 * What one watcher knows: the keys under its prefix, each with the revision of its last change. From this it computes
 * what the watcher has missed when the store can no longer replay the past.
 */
export class WatchedKeys {
  private readonly revisions = new Map<string, number>();

  /** `entries`: what the watcher knew when it began. */
  constructor(entries: Iterable<{ key: string; revision: number }> = []) {
    for (const { key, revision } of entries) this.revisions.set(key, revision);
  }

  apply(events: readonly StoreEvent[]): void {
    for (const event of events) {
      if (event.type === 'put') this.revisions.set(event.key, event.revision);
      else this.revisions.delete(event.key);
    }
  }

  /** Whether `entries` are exactly what the watcher knows. */
  equal(entries: readonly { key: string; revision: number }[]): boolean {
    return (
      entries.length === this.revisions.size &&
      entries.every(({ key, revision }) => this.revisions.get(key) === revision)
    );
  }

  /**
   * The events that lead from what the watcher knows to `entries`, the full content at `revision`. Changed keys come
   * first, by revision, then deleted keys, with `revision` because the real one is unknown. A key counts as changed if
   * its revision differs, not only if it is greater: a store that was restored from a backup goes back.
   */
  missed(entries: readonly StoreEntry[], revision: number): StoreEvent[] {
    const events: StoreEvent[] = entries
      .filter((entry) => this.revisions.get(entry.key) !== entry.revision)
      .sort((a, b) => a.revision - b.revision)
      .map((entry) => ({ type: 'put', ...entry }));
    const present = new Set(entries.map((entry) => entry.key));
    for (const key of this.revisions.keys()) if (!present.has(key)) events.push({ type: 'delete', key, revision });
    return events;
  }
}
