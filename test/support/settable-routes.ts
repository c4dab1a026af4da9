import type { ShardRoute, ShardRoutes } from '../../coordinator/cluster/shard-routes';
import type { ShardId } from '../../shared/shard/shard-client';

/** Routes that a test sets by hand: every shard has the same one. */
export class SettableRoutes implements ShardRoutes {
  private current: ShardRoute | null;
  private waiting = new Set<() => void>();

  constructor(route: ShardRoute | null) {
    this.current = route;
  }

  set(route: ShardRoute | null): void {
    this.current = route;
    for (const wake of [...this.waiting]) wake();
  }

  route(): ShardRoute | null {
    return this.current;
  }

  changed(_id: ShardId, stale: ShardRoute | null, deadlineMs: number): Promise<void> {
    const { current } = this;
    if (current?.epoch !== stale?.epoch || current?.address !== stale?.address) return Promise.resolve();
    return new Promise((done) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.waiting.delete(wake);
        done();
      };
      const timer = setTimeout(wake, Math.min(Math.max(0, deadlineMs - performance.now()), 2 ** 31 - 1));
      this.waiting.add(wake);
    });
  }
}
