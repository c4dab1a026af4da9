import type { StoreEntry, StoreEvent } from '../../shared/cluster-store/cluster-store';

/**
 * What one transaction does: the revision after it, and its events in the order of its changes (none: nothing changes).
 */
export interface Transition {
  revision: number;
  events: StoreEvent[];
}

/** A key with its bytes, by which keys are ordered. */
interface OrderedKey {
  key: string;
  bytes: Buffer;
}

/** The entries of a cluster store and its global revision, as a plain value that knows nothing of storage. */
export class StoreState {
  private readonly entries = new Map<string, StoreEntry>();
  /** The keys in the order of their UTF-8 bytes: lists of one prefix are made with each creation of a collection. */
  private readonly order: OrderedKey[] = [];
  private lastRevision: number;

  constructor(entries: Iterable<StoreEntry>, revision: number) {
    for (const entry of entries) this.entries.set(entry.key, entry);
    for (const key of this.entries.keys()) this.order.push({ key, bytes: Buffer.from(key) });
    this.order.sort((a, b) => Buffer.compare(a.bytes, b.bytes));
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
    const found: StoreEntry[] = [];
    for (
      let at = this.placeOf(Buffer.from(prefix));
      at < this.order.length && this.order[at].key.startsWith(prefix);
      at += 1
    )
      found.push(this.entries.get(this.order[at].key) as StoreEntry);
    return found;
  }

  apply(transition: Transition): void {
    for (const event of transition.events) {
      const isThere = this.entries.has(event.key);
      if (event.type === 'delete') {
        this.entries.delete(event.key);
        if (isThere) this.order.splice(this.placeOf(Buffer.from(event.key)), 1);
      } else {
        this.entries.set(event.key, { key: event.key, value: event.value, revision: event.revision });
        const bytes = Buffer.from(event.key);
        if (!isThere) this.order.splice(this.placeOf(bytes), 0, { key: event.key, bytes });
      }
    }
    this.lastRevision = transition.revision;
  }

  /** Of the first key that is not before these bytes. */
  private placeOf(bytes: Buffer): number {
    let from = 0;
    let to = this.order.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (Buffer.compare(this.order[middle].bytes, bytes) < 0) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
