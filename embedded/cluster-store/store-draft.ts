import type { Guard, StoreChange, StoreEntry, StoreEvent } from '../../shared/cluster-store/cluster-store';
import type { StoreState, Transition } from './store-state';

/**
 * Transactions decided one after the other on top of a state that does not show them yet: a batch is decided on a
 * draft, written, and only then applied to the state.
 */
export class StoreDraft {
  private readonly changed = new Map<string, StoreEntry | null>();
  private readonly made: Transition[] = [];

  constructor(private readonly base: StoreState) {}

  /** The transitions of the transactions that changed something, in order. */
  get transitions(): readonly Transition[] {
    return this.made;
  }

  get revision(): number {
    return this.made.at(-1)?.revision ?? this.base.revision;
  }

  /** The entries as the draft leaves them, null where deleted, by key. */
  get changes(): ReadonlyMap<string, StoreEntry | null> {
    return this.changed;
  }

  get(key: string): StoreEntry | null {
    const changed = this.changed.get(key);
    return changed === undefined ? this.base.get(key) : changed;
  }

  holds(guards: Guard[]): boolean {
    return guards.every((guard) => (this.get(guard.key)?.revision ?? 0) === guard.revision);
  }

  /** Deleting an absent key changes nothing, and a transaction that changes nothing raises no revision (as in etcd). */
  apply(changes: StoreChange[]): void {
    const revision = this.revision + 1;
    const events = changes
      .filter((change) => change.type === 'put' || this.get(change.key) !== null)
      .map((change): StoreEvent => ({ ...change, revision }));
    if (events.length === 0) return;
    for (const event of events) {
      this.changed.set(event.key, event.type === 'put' ? { key: event.key, value: event.value, revision } : null);
    }
    this.made.push({ revision, events });
  }
}
