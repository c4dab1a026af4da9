import type { StoreEntry, StoreEvent } from '../../shared/cluster-store/cluster-store';

/** What one transaction does: the revision after it, and its events in the order of its changes (none: nothing changes). */
export interface Transition {
  revision: number;
  events: StoreEvent[];
}

/** The entries of a cluster store and its global revision, as a plain value that knows nothing of storage. */
export class StoreState {
  private readonly entries = new Map<string, StoreEntry>();
  private lastRevision: number;

  constructor(entries: Iterable<StoreEntry>, revision: number) {
    for (const entry of entries) this.entries.set(entry.key, entry);
    this.lastRevision = revision;
  }

  get revision(): number {
    return this.lastRevision;
  }

  get(key: string): StoreEntry | null {
    return this.entries.get(key) ?? null;
  }

  /** By key, in the order of the keys' UTF-8 bytes. */
  list(prefix: string): StoreEntry[] {
    const found = [...this.entries.values()].filter((entry) => entry.key.startsWith(prefix));
    const bytes = new Map(found.map((entry) => [entry, Buffer.from(entry.key)]));
    return found.sort((a, b) => Buffer.compare(bytes.get(a) as Buffer, bytes.get(b) as Buffer));
  }

  apply(transition: Transition): void {
    for (const event of transition.events) {
      if (event.type === 'delete') this.entries.delete(event.key);
      else this.entries.set(event.key, { key: event.key, value: event.value, revision: event.revision });
    }
    this.lastRevision = transition.revision;
  }
}
