import type { StoreEvent } from '../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import type { Transition } from './store-state';

/** Events remembered for watches that begin in the past: the gap between a list and its watch is milliseconds. */
const EVENTS_KEPT = 10_000;

interface Watcher {
  prefix: string;
  listener: (events: StoreEvent[]) => void;
  /** Calls due, one a transaction. */
  due: StoreEvent[][];
  scheduled: boolean;
  cancelled: boolean;
}

/** Hands the transitions of a store to its watchers: each once, in order, never inside of the call that made it. */
export class WatchHub {
  private readonly watchers = new Set<Watcher>();
  private history: Transition[] = [];
  private eventsKept = 0;
  /** Transitions up to this revision are forgotten. */
  private forgottenRevision: number;

  /** `revision` is that of the store as it was opened: nothing before it is known. */
  constructor(revision: number) {
    this.forgottenRevision = revision;
  }

  publish(transition: Transition): void {
    this.history.push(transition);
    this.eventsKept += transition.events.length;
    /* Trimmed by halves, so that the cost of moving the rest is spread. */
    if (this.eventsKept > 2 * EVENTS_KEPT) this.forget();
    for (const watcher of this.watchers) this.enqueue(watcher, transition);
  }

  watch(prefix: string, afterRevision: number, listener: (events: StoreEvent[]) => void): () => void {
    if (afterRevision < this.forgottenRevision) {
      throw new QuiverError('unavailable', 'changes this far back are no longer known; list and watch again', {
        details: { afterRevision, forgottenRevision: this.forgottenRevision },
      });
    }
    const watcher: Watcher = { prefix, listener, due: [], scheduled: false, cancelled: false };
    for (const transition of this.history) if (transition.revision > afterRevision) this.enqueue(watcher, transition);
    this.watchers.add(watcher);
    return () => {
      watcher.cancelled = true;
      this.watchers.delete(watcher);
    };
  }

  close(): void {
    for (const watcher of this.watchers) watcher.cancelled = true;
    this.watchers.clear();
  }

  private enqueue(watcher: Watcher, transition: Transition): void {
    const events = transition.events.filter((event) => event.key.startsWith(watcher.prefix));
    if (events.length === 0) return;
    watcher.due.push(events);
    this.schedule(watcher);
  }

  private schedule(watcher: Watcher): void {
    if (watcher.scheduled) return;
    watcher.scheduled = true;
    queueMicrotask(() => {
      watcher.scheduled = false;
      const events = watcher.due.shift();
      if (events === undefined || watcher.cancelled) return;
      /* One call a turn, the next already due: a listener that throws loses none of what follows. */
      if (watcher.due.length > 0) this.schedule(watcher);
      watcher.listener(events);
    });
  }

  private forget(): void {
    let dropped = 0;
    while (this.eventsKept > EVENTS_KEPT) {
      this.forgottenRevision = this.history[dropped].revision;
      this.eventsKept -= this.history[dropped++].events.length;
    }
    this.history = this.history.slice(dropped);
  }
}
