import type { StoreEntry, StoreEvent } from '../../shared/cluster-store/cluster-store';
import { collectionFromEntry, COLLECTIONS_PREFIX, type CollectionRecord } from './collection-record';

interface Known {
  /** null: removed by this process, and not yet reported by the watch. */
  record: CollectionRecord | null;
  revision: number;
}

/**
 * The collections in memory. They come from the store's watch and, ahead of it, from what this process itself changed
 * or read; for each name the higher revision wins. The watch delivers in order, so nothing has to be remembered of what
 * it has passed.
 */
export class CollectionDirectory {
  private readonly byName = new Map<string, Known>();
  private watchedRevision = 0;
  private readonly listeners = new Set<(name: string) => void>();

  /** The collection that clients see under this name, or null. */
  get(name: string): CollectionRecord | null {
    const record = this.byName.get(name)?.record ?? null;
    return record !== null && record.state === 'ready' ? record : null;
  }

  /** Names of the collections that clients see. */
  names(): string[] {
    return [...this.byName.values()].flatMap(({ record }) => (record?.state === 'ready' ? [record.name] : []));
  }

  /** Calls `listener` with the name of each collection that changes, until the function returned is called. */
  onChange(listener: (name: string) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Starts from a listing at `revision`; the watch continues from there. */
  load(entries: StoreEntry[], revision: number): void {
    for (const entry of entries) this.keep(collectionFromEntry(entry), entry.revision);
    this.watchedRevision = revision;
  }

  /** Takes a record that this process changed or read at `revision`. */
  put(record: CollectionRecord, revision: number): void {
    if (revision > this.watchedRevision) this.keep(record, revision);
  }

  /** Takes a removal by this process. */
  remove(name: string, revision: number): void {
    if (revision <= this.watchedRevision) return;
    this.byName.set(name, { record: null, revision });
    this.notify(name);
  }

  /** Applies changes that the store reports, in its order. */
  apply(events: StoreEvent[]): void {
    for (const event of events) {
      this.watchedRevision = event.revision;
      const name = event.key.slice(COLLECTIONS_PREFIX.length);
      const known = this.byName.get(name);
      if (known !== undefined && known.revision > event.revision) continue;
      if (event.type === 'delete') this.byName.delete(name);
      else this.byName.set(name, { record: collectionFromEntry(event), revision: event.revision });
      this.notify(name);
    }
  }

  private keep(record: CollectionRecord, revision: number): void {
    const known = this.byName.get(record.name);
    if (known !== undefined && known.revision >= revision) return;
    this.byName.set(record.name, { record, revision });
    this.notify(record.name);
  }

  private notify(name: string): void {
    for (const listener of this.listeners) listener(name);
  }
}
