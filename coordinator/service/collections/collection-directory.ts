import type { StoreEntry, StoreEvent } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../readable-entries';
import { type Clock, systemClock } from '../../../shared/base/time/clock';
import { collectionFromEntry, COLLECTIONS_PREFIX, type CollectionRecord } from './collection-record';

/**
 * What this process changed or read, and the watch has not told within this, is of a history that the store no longer
 * has.
 */
const OWN_FOR_MS = 30_000;

interface Known {
  record: CollectionRecord;
  revision: number;
}

/** Ahead of the watch. null: removed by this process. */
interface Own {
  record: CollectionRecord | null;
  revision: number;
  untilMs: number;
}

/**
 * The collections in memory, by name: what the store's watch has told, and beside it, until the watch has come as far,
 * what this process itself changed or read later. Where the watch tells something earlier than before, the store was
 * put back to an earlier state, and what it tells is the difference: that holds, whatever was known.
 */
export class CollectionDirectory {
  private readonly watched = new Map<string, Known>();
  private readonly own = new Map<string, Own>();
  private watchedRevision = 0;
  /** Names of those whose entry can't be read: whoever asks for one is told by the store's entry. */
  private readonly damaged = new Set<string>();
  private readonly listeners = new Set<(name: string) => void>();

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'> = systemClock) {}

  /** The collection that clients see under this name, or null. */
  get(name: string): CollectionRecord | null {
    const known = this.own.size === 0 ? this.watched.get(name) : (this.ownOf(name) ?? this.watched.get(name));
    const record = known?.record ?? null;
    return record !== null && record.state === 'ready' ? record : null;
  }

  /** Names of the collections that clients see. */
  names(): string[] {
    const names = new Set([...this.watched.keys(), ...this.own.keys()]);
    return [...names].filter((name) => this.get(name) !== null);
  }

  /** Calls `listener` with the name of each collection that changes, until the function returned is called. */
  onChange(listener: (name: string) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Starts from a listing at `revision`; the watch continues from there. */
  load(entries: StoreEntry[], revision: number): void {
    for (const entry of entries) {
      this.keep(entry);
      this.notify(nameOf(entry));
    }
    this.watchedRevision = revision;
  }

  /** Takes a record that this process changed or read at `revision`. */
  put(record: CollectionRecord, revision: number): void {
    this.keepOwn(record.name, record, revision);
  }

  /** Takes a removal by this process. */
  remove(name: string, revision: number): void {
    this.keepOwn(name, null, revision);
  }

  /** Applies changes that the store reports, in its order. */
  apply(events: StoreEvent[]): void {
    const wentBack = events.some(({ revision }) => revision <= this.watchedRevision);
    const changed = new Set<string>();
    for (const event of events) {
      const name = nameOf(event);
      if (event.type === 'delete') this.forget(name);
      else this.keep(event);
      changed.add(name);
    }
    this.watchedRevision = Math.max(...events.map(({ revision }) => revision), wentBack ? 0 : this.watchedRevision);
    for (const [name, { revision }] of this.own) {
      if (!wentBack && revision > this.watchedRevision) continue;
      this.own.delete(name);
      changed.add(name);
    }
    for (const name of changed) this.notify(name);
  }

  /** Names of the collections whose entry can't be read, as far as the watch has told. */
  unreadable(): string[] {
    return [...this.damaged].sort();
  }

  private keep(entry: StoreEntry): void {
    const name = nameOf(entry);
    this.forget(name);
    const [record] = readableEntries([entry], collectionFromEntry, () => this.damaged.add(name));
    if (record !== undefined) this.watched.set(name, { record, revision: entry.revision });
  }

  private forget(name: string): void {
    this.watched.delete(name);
    this.damaged.delete(name);
  }

  private keepOwn(name: string, record: CollectionRecord | null, revision: number): void {
    if (revision <= this.watchedRevision || revision <= (this.own.get(name)?.revision ?? 0)) return;
    this.own.set(name, { record, revision, untilMs: this.clock.monotonicMs() + OWN_FOR_MS });
    this.notify(name);
  }

  private ownOf(name: string): Own | undefined {
    const own = this.own.get(name);
    if (own === undefined || this.clock.monotonicMs() < own.untilMs) return own;
    this.own.delete(name);
    return undefined;
  }

  private notify(name: string): void {
    for (const listener of this.listeners) listener(name);
  }
}

function nameOf({ key }: Pick<StoreEntry, 'key'>): string {
  return key.slice(COLLECTIONS_PREFIX.length);
}
