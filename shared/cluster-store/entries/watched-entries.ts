import type { ClusterStore, StoreEntry, StoreEvent } from '../cluster-store';

export interface Watched<T> {
  key: string;
  value: T;
  revision: number;
}

/** An own entry that the watch has not delivered after this never was in the history that the store has now. */
const OWN_FOR_MS = 30_000;
/** A list during which something was delivered is made again, but not without end. */
const LISTS_MAX = 5;

/**
 * The entries under one prefix of the cluster store, decoded and kept up to date by a watch. While the store is away,
 * they stay as they were. Whoever decides by them guards the transaction with their revisions.
 *
 * The watch tells every change in order. Where it tells something earlier than before, the store was put back, and what
 * it tells is the difference: that holds, whatever was known. Entries that this process wrote itself are kept beside
 * until the watch has come as far.
 */
export class WatchedEntries<T> {
  private readonly store: ClusterStore;
  private readonly prefix: string;
  private readonly decode: (entry: { key: string; value: string }) => T;
  private readonly onUnreadable: (error: unknown) => void;
  private readonly byKey = new Map<string, Watched<T>>();
  private readonly own = new Map<string, Watched<T> & { untilMs: number }>();
  private readonly listeners = new Set<(keys: ReadonlySet<string>) => void>();
  /** Keys whose entries changed since listeners were told. */
  private changed = new Set<string>();
  private stopWatching: (() => void) | null = null;
  private beginning: Promise<void> | null = null;
  private isClosed = false;
  /** The last revision of which the watch has told, or from which it began. */
  private watchedRevision = 0;
  private forgetting: NodeJS.Timeout | null = null;

  /** An entry for which `decode` throws is passed to `onUnreadable` and left out. */
  constructor(options: {
    store: ClusterStore;
    prefix: string;
    decode: (entry: { key: string; value: string }) => T;
    onUnreadable: (error: unknown) => void;
  }) {
    this.store = options.store;
    this.prefix = options.prefix;
    this.decode = options.decode;
    this.onUnreadable = options.onUnreadable;
  }

  /**
   * Reads the entries and follows their changes from then on, once, however often it is called: a start that waits for
   * the store calls it again while an earlier call is still under way. Errors: unavailable.
   */
  async follow(): Promise<void> {
    if (this.stopWatching !== null) return;
    this.beginning ??= this.begin().finally(() => (this.beginning = null));
    await this.beginning;
  }

  /**
   * Reads all entries now, for a caller that can't wait for what the watch has not told yet. Changes that it tells
   * meanwhile stay. Errors: unavailable.
   */
  async refresh(): Promise<void> {
    let told: number;
    let list: { entries: StoreEntry[]; revision: number };
    let lists = 0;
    do {
      told = this.watchedRevision;
      list = await this.store.list(this.prefix);
      lists += 1;
    } while (this.watchedRevision !== told && lists < LISTS_MAX);
    const { entries, revision } = list;
    const since = this.watchedRevision !== told ? revision : Infinity;
    const present = new Set(entries.map((entry) => entry.key));
    for (const key of this.byKey.keys())
      if (!present.has(key) && this.byKey.get(key)!.revision <= since) this.drop(this.byKey, key);
    for (const entry of entries) if ((this.byKey.get(entry.key)?.revision ?? 0) <= since) this.keep(entry);
    for (const [key, { revision: written }] of this.own)
      if (written <= revision || revision < told) this.drop(this.own, key);
    if (this.changed.size > 0) this.notify();
  }

  get(key: string): Watched<T> | null {
    return this.own.get(key) ?? this.byKey.get(key) ?? null;
  }

  /** All entries, in no particular order. */
  all(): Watched<T>[] {
    return this.own.size === 0
      ? [...this.byKey.values()]
      : [...new Map<string, Watched<T>>([...this.byKey, ...this.own]).values()];
  }

  /** Takes an entry that this process read or wrote itself, before the watch delivers it. */
  put(entry: StoreEntry): void {
    if (entry.revision <= Math.max(this.watchedRevision, this.get(entry.key)?.revision ?? 0)) return;
    const value = this.decoded(entry);
    if (value === null) return;
    this.own.set(entry.key, { ...value, untilMs: performance.now() + OWN_FOR_MS });
    this.changed.add(entry.key);
    this.forgetting ??= setTimeout(() => this.forgetOwn(), OWN_FOR_MS).unref();
    this.notify();
  }

  /**
   * Calls `listener` after every change, until the function returned is called. `keys`: of the entries that may have
   * changed.
   */
  onChange(listener: (keys: ReadonlySet<string>) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  close(): void {
    this.isClosed = true;
    if (this.forgetting !== null) clearTimeout(this.forgetting);
    this.forgetting = null;
    this.stopWatching?.();
    this.stopWatching = null;
    this.listeners.clear();
  }

  private async begin(): Promise<void> {
    const { entries, revision } = await this.store.list(this.prefix);
    if (this.isClosed) return;
    for (const entry of entries) this.keep(entry);
    this.watchedRevision = revision;
    this.stopWatching = this.store.watch(this.prefix, revision, (events) => this.apply(events));
    this.notify();
  }

  private apply(events: StoreEvent[]): void {
    const wentBack = events.some(({ revision }) => revision <= this.watchedRevision);
    for (const event of events) {
      // A list may have brought something later.
      if (!wentBack && (this.byKey.get(event.key)?.revision ?? 0) > event.revision) continue;
      if (event.type === 'put') this.keep(event);
      else this.drop(this.byKey, event.key);
    }
    this.watchedRevision = Math.max(...events.map(({ revision }) => revision), wentBack ? 0 : this.watchedRevision);
    for (const [key, { revision }] of this.own)
      if (wentBack || revision <= this.watchedRevision) this.drop(this.own, key);
    this.notify();
  }

  private keep(entry: { key: string; value: string; revision: number }): void {
    if (this.byKey.get(entry.key)?.revision === entry.revision) return;
    const value = this.decoded(entry);
    if (value === null) return this.drop(this.byKey, entry.key);
    this.byKey.set(entry.key, value);
    this.changed.add(entry.key);
  }

  private drop(entries: Map<string, Watched<T>>, key: string): void {
    if (entries.delete(key)) this.changed.add(key);
  }

  private decoded(entry: { key: string; value: string; revision: number }): Watched<T> | null {
    try {
      return { key: entry.key, value: this.decode(entry), revision: entry.revision };
    } catch (error) {
      this.onUnreadable(error);
      return null;
    }
  }

  private forgetOwn(): void {
    this.forgetting = null;
    const nowMs = performance.now();
    for (const [key, { untilMs }] of this.own) if (untilMs <= nowMs) this.drop(this.own, key);
    if (this.own.size > 0) this.forgetting = setTimeout(() => this.forgetOwn(), OWN_FOR_MS).unref();
    if (this.changed.size > 0) this.notify();
  }

  private notify(): void {
    const keys = this.changed;
    this.changed = new Set();
    for (const listener of [...this.listeners]) listener(keys);
  }
}
