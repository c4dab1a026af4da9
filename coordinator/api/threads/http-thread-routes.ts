import { shardKey } from '../../../shared/cluster-store/entries/members';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import { Waiters } from '../../../shared/base/time/waiters';
import { inSlices } from '../../../shared/base/time/work-slices';
import { isSameRoute, type ObservedRoutes, type ShardRoute, type ShardRoutes } from '../../cluster/calls/shard-routes';
import { ownDeadline, sharedDeadline } from '../../../shared/base/time/shared-clock';
import type { ThreadHandlers, ThreadPeer } from '../../../shared/base/threads/thread-peer';

/** A shard's key and its route from now on; null: it has none. */
type PublishedRoute = readonly [key: string, route: ShardRoute | null];

/**
 * A question waits at least this long for a change, however short the pause of the call that asked first: calls that
 * come meanwhile wait for the same answer.
 */
const REQUEST_MIN_MS = 1_000;

/** What the main thread was asked about a shard, and the calls of this thread that wait for it. */
interface RouteRequest {
  waiters: Waiters;
  failure: unknown;
}

/**
 * Routes on an HTTP thread: those that the main thread told it. A route that is outdated leads to a node that does not
 * lead the shard, and so to a question to the main thread, as one that is missing does. All calls that wait for the
 * next route of a shard share one question, each until its own deadline: when a node dies, there may be thousands of
 * them.
 */
export class HttpThreadRoutes implements ShardRoutes {
  private readonly routes = new Map<string, ShardRoute>();
  /** By the shard's key, the question that is open while its route stays the same. */
  private readonly requests = new Map<string, RouteRequest>();
  private readonly main: Pick<ThreadPeer, 'ask'>;
  private readonly clock: Clock;

  constructor(parts: { main: Pick<ThreadPeer, 'ask'>; clock: Clock }) {
    this.main = parts.main;
    this.clock = parts.clock;
  }

  /** What the main thread tells. */
  get handlers(): ThreadHandlers {
    return {
      'routes.put': (published: PublishedRoute[]) => {
        for (const [key, route] of published) {
          if (route === null) this.routes.delete(key);
          else this.routes.set(key, route);
          const request = this.requests.get(key);
          if (request !== undefined) this.end(key, request);
        }
      },
    };
  }

  route(id: ShardId): ShardRoute | null {
    return this.routes.get(shardKey(id)) ?? null;
  }

  async changed(id: ShardId, stale: ShardRoute | null, deadlineMs: number): Promise<void> {
    const key = shardKey(id);
    while (isSameRoute(this.routes.get(key) ?? null, stale)) {
      const request = this.requests.get(key) ?? this.ask(id, stale, deadlineMs);
      if (!(await request.waiters.next(deadlineMs))) return;
      if (request.failure !== undefined) throw request.failure;
    }
  }

  private ask(id: ShardId, stale: ShardRoute | null, deadlineMs: number): RouteRequest {
    const { clock } = this;
    const key = shardKey(id);
    const request: RouteRequest = { waiters: new Waiters(clock), failure: undefined };
    this.requests.set(key, request);
    const untilMs = Math.max(deadlineMs, clock.monotonicMs() + REQUEST_MIN_MS);
    // The main thread tells the route before it answers. After an answer without one, whoever still waits asks again.
    this.main
      .ask('routes.changed', id, stale, sharedDeadline(untilMs, clock))
      .catch((error: unknown) => (request.failure = error))
      .finally(() => this.end(key, request));
    return request;
  }

  private end(key: string, request: RouteRequest): void {
    if (this.requests.get(key) === request) this.requests.delete(key);
    request.waiters.wake();
  }
}

/** Shards whose routes are found again in one step, and told in one message: some hundred microseconds of work. */
const STEP_SHARDS = 128;

/**
 * The main thread's side: tells the HTTP threads the routes that they asked for, and each change of them at once, so
 * that no call goes to a node that is known to be gone. Where many shards are in use, it looks for changes in slices.
 */
export class RoutePublisher {
  private readonly routes: ObservedRoutes;
  private readonly clock: Clock;
  /** What was told of each shard in use, by its key. */
  private readonly published = new Map<string, { id: ShardId; route: ShardRoute }>();
  private readonly threads = new Set<Pick<ThreadPeer, 'tell'>>();
  private readonly stop: () => void;
  private changes = 0;
  private isLooking = false;

  constructor(parts: { routes: ObservedRoutes; clock: Clock }) {
    this.routes = parts.routes;
    this.clock = parts.clock;
    this.stop = this.routes.onChange(() => {
      this.changes += 1;
      if (!this.isLooking) void this.look();
    });
  }

  /** Tells a thread the routes in use, and from now on each change. Answers what ends that. */
  follow(thread: Pick<ThreadPeer, 'tell'>): () => void {
    if (this.published.size > 0)
      thread.tell(
        'routes.put',
        Array.from(this.published, ([key, { route }]): PublishedRoute => [key, route]),
      );
    this.threads.add(thread);
    return () => this.threads.delete(thread);
  }

  /** What threads may ask. */
  get handlers(): ThreadHandlers {
    return {
      'routes.changed': async (id: ShardId, stale: ShardRoute | null, deadline: number) => {
        await this.routes.changed(id, stale, ownDeadline(deadline, this.clock));
        this.publish(this.changeOf(id));
      },
    };
  }

  close(): void {
    this.stop();
  }

  /** Tells what has changed. A change during a look is followed by another look, so that none is missed. */
  private async look(): Promise<void> {
    this.isLooking = true;
    try {
      for (let seen = -1; seen !== this.changes;) {
        seen = this.changes;
        await inSlices(this.lookSteps());
      }
    } finally {
      this.isLooking = false;
    }
  }

  private *lookSteps(): Generator<void, void> {
    let changed: PublishedRoute[] = [];
    let looked = 0;
    for (const { id } of this.published.values()) {
      changed.push(...this.changeOf(id));
      looked += 1;
      if (looked % STEP_SHARDS > 0) continue;
      this.publish(changed);
      changed = [];
      yield;
    }
    this.publish(changed);
  }

  /** The shard's route if it has changed since it was told, noted as told; else nothing. */
  private changeOf(id: ShardId): PublishedRoute[] {
    const key = shardKey(id);
    const route = this.routes.route(id);
    if (isSameRoute(route, this.published.get(key)?.route ?? null)) return [];
    if (route === null) this.published.delete(key);
    else this.published.set(key, { id, route });
    return [[key, route]];
  }

  private publish(changed: PublishedRoute[]): void {
    if (changed.length === 0) return;
    for (const thread of this.threads) thread.tell('routes.put', changed);
  }
}
