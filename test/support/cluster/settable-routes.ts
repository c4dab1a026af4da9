import type { ObservedRoutes, ShardRoute } from '../../../coordinator/cluster/calls/shard-routes';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import { systemClock } from '../../../shared/base/time/clock';
import { Waiters } from '../../../shared/base/time/waiters';

/** Routes that a test sets by hand: every shard has the same one. */
export class SettableRoutes implements ObservedRoutes {
  private current: ShardRoute | null;
  private readonly waiters = new Waiters(systemClock);
  private readonly listeners = new Set<() => void>();

  constructor(route: ShardRoute | null) {
    this.current = route;
  }

  set(route: ShardRoute | null): void {
    this.current = route;
    this.waiters.wake();
    for (const listener of this.listeners) listener();
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  route(): ShardRoute | null {
    return this.current;
  }

  async changed(_id: ShardId, stale: ShardRoute | null, deadlineMs: number): Promise<void> {
    const { current } = this;
    if (current?.epoch === stale?.epoch && current?.address === stale?.address) await this.waiters.next(deadlineMs);
  }
}
