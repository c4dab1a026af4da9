import { shardKey } from '../../shared/cluster/members';
import type { ShardId } from '../../shared/shard/shard-client';
import type { Clock } from '../../shared/time/clock';
import { isSameRoute, type ObservedRoutes, type ShardRoute, type ShardRoutes } from '../cluster/shard-routes';
import { ownDeadline, sharedDeadline } from './front-state';
import type { ThreadHandlers, ThreadPeer } from './thread-peer';

/**
 * Routes on a front thread: those that the main thread told it. A route that is outdated leads to a node that does not
 * lead the shard, and so to a question to the main thread, as one that is missing does.
 */
export class FrontRoutes implements ShardRoutes {
  private readonly routes = new Map<string, ShardRoute>();
  private readonly main: Pick<ThreadPeer, 'ask'>;
  private readonly clock: Clock;

  constructor(parts: { main: Pick<ThreadPeer, 'ask'>; clock: Clock }) {
    this.main = parts.main;
    this.clock = parts.clock;
  }

  /** What the main thread tells. */
  get handlers(): ThreadHandlers {
    return {
      'routes.put': (key: string, route: ShardRoute | null) => {
        if (route === null) this.routes.delete(key);
        else this.routes.set(key, route);
      },
    };
  }

  route(id: ShardId): ShardRoute | null {
    return this.routes.get(shardKey(id)) ?? null;
  }

  async changed(id: ShardId, stale: ShardRoute | null, deadlineMs: number): Promise<void> {
    // The main thread tells the route before it answers.
    if (isSameRoute(this.route(id), stale)) await this.main.ask('routes.changed', id, stale, sharedDeadline(deadlineMs, this.clock));
  }
}

/**
 * The main thread's side: tells the front threads the routes that they asked for, and each change of them at once, so
 * that no call goes to a node that is known to be gone.
 */
export class ToldRoutes {
  private readonly routes: ObservedRoutes;
  private readonly clock: Clock;
  /** What was told of each shard in use, by its key. */
  private readonly told = new Map<string, { id: ShardId; route: ShardRoute }>();
  private readonly threads = new Set<Pick<ThreadPeer, 'tell'>>();
  private readonly stop: () => void;

  constructor(parts: { routes: ObservedRoutes; clock: Clock }) {
    this.routes = parts.routes;
    this.clock = parts.clock;
    this.stop = this.routes.onChange(() => {
      for (const { id } of [...this.told.values()]) this.tell(id);
    });
  }

  /** Tells a thread the routes in use, and from now on each change. Answers what ends that. */
  follow(thread: Pick<ThreadPeer, 'tell'>): () => void {
    for (const [key, { route }] of this.told) thread.tell('routes.put', key, route);
    this.threads.add(thread);
    return () => this.threads.delete(thread);
  }

  /** What threads may ask. */
  get handlers(): ThreadHandlers {
    return {
      'routes.changed': async (id: ShardId, stale: ShardRoute | null, deadline: number) => {
        await this.routes.changed(id, stale, ownDeadline(deadline, this.clock));
        this.tell(id);
      },
    };
  }

  close(): void {
    this.stop();
  }

  private tell(id: ShardId): void {
    const key = shardKey(id);
    const route = this.routes.route(id);
    if (isSameRoute(route, this.told.get(key)?.route ?? null)) return;
    if (route === null) this.told.delete(key);
    else this.told.set(key, { id, route });
    for (const thread of this.threads) thread.tell('routes.put', key, route);
  }
}
