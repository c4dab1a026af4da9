import type { ClusterStore, StoreEntry, StoreEvent } from '../cluster-store/cluster-store';

export interface Watched<T> {
  key: string;
  value: T;
  revision: number;
}

/**
 * The entries under one prefix of the cluster store, decoded and kept up to date by a watch. While the store is away,
 * they stay as they were. Whoever decides by them guards the transaction with their revisions.
 */
export class WatchedEntries<T> {
  private readonly store: ClusterStore;
  private readonly prefix: string;
  private readonly decode: (entry: { key: string; value: string }) => T;
  private readonly onUnreadable: (error: unknown) => void;
  private readonly byKey = new Map<string, Watched<T>>();
  private readonly listeners = new Set<() => void>();
  private stopWatching: (() => void) | null = null;
  private seenRevision = 0;
  private looking = false;

  /** An entry for which `decode` throws is passed to `onUnreadable` and left out. */
  constructor(options: { store: ClusterStore; prefix: string; decode: (entry: { key: string; value: string }) => T; onUnreadable: (error: unknown) => void }) {
    this.store = options.store;
    this.prefix = options.prefix;
    this.decode = options.decode;
    this.onUnreadable = options.onUnreadable;
  }

  /** Reads the entries and follows their changes from then on. Errors: unavailable. */
  async follow(): Promise<void> {
    if (this.stopWatching !== null) return;
    const { entries, revision } = await this.store.list(this.prefix);
    for (const entry of entries) this.keep(entry);
    this.seenRevision = revision;
    this.stopWatching = this.store.watch(this.prefix, revision, (events) => this.apply(events));
    this.notify();
  }

  /**
   * Reads all entries again, in case an event was lost or is late. Changes that the watch has delivered meanwhile stay.
   * The store may have been restored from a backup: what was known before this began, and is later than what the store
   * has now, is replaced. Errors: unavailable.
   */
  async refresh(): Promise<void> {
    const before = this.seenRevision;
    const { entries, revision } = await this.store.list(this.prefix);
    const present = new Set(entries.map((entry) => entry.key));
    let changed = false;
    for (const entry of entries) changed = this.keep(entry, before) || changed;
    for (const [key, known] of this.byKey) {
      if (present.has(key) || known.revision > Math.max(revision, before)) continue;
      this.byKey.delete(key);
      changed = true;
    }
    // A list that began after a revision was seen has it, in the same history.
    this.seenRevision = revision < before ? revision : Math.max(this.seenRevision, revision);
    if (changed) this.notify();
  }

  get(key: string): Watched<T> | null {
    return this.byKey.get(key) ?? null;
  }

  /** All entries, in no particular order. */
  all(): Watched<T>[] {
    return [...this.byKey.values()];
  }

  /** Takes an entry that this process read or wrote itself, before the watch delivers it. */
  put(entry: StoreEntry): void {
    if (entry.revision > this.seenRevision && this.keep(entry)) this.notify();
  }

  /** Calls `listener` after every change, until the function returned is called. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  close(): void {
    this.stopWatching?.();
    this.stopWatching = null;
    this.listeners.clear();
  }

  private apply(events: StoreEvent[]): void {
    for (const event of events) {
      // Either it is late, or the store was put back. A list tells which.
      if ((this.byKey.get(event.key)?.revision ?? 0) > event.revision) this.lookAgain();
      this.seenRevision = Math.max(this.seenRevision, event.revision);
      if (event.type === 'put') this.keep(event);
      else if ((this.byKey.get(event.key)?.revision ?? 0) < event.revision) this.byKey.delete(event.key);
    }
    this.notify();
  }

  /** `outdated`: an entry that was known by this revision gives way to an earlier one. Answers whether anything changed. */
  private keep(entry: { key: string; value: string; revision: number }, outdated = 0): boolean {
    const known = this.byKey.get(entry.key);
    if (known !== undefined && (known.revision === entry.revision || known.revision > Math.max(entry.revision, outdated))) return false;
    try {
      this.byKey.set(entry.key, { key: entry.key, value: this.decode(entry), revision: entry.revision });
    } catch (error) {
      this.byKey.delete(entry.key);
      this.onUnreadable(error);
    }
    return true;
  }

  private lookAgain(): void {
    if (this.looking) return;
    this.looking = true;
    this.refresh()
      .catch(() => undefined)
      .finally(() => (this.looking = false));
  }

  private notify(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
