import { type ErrorKind, QuiverError, isQuiverError } from '../../../shared/base/errors/quiver-error';
import { notInTime } from '../../../shared/contract/shard/not-in-time';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import { type BackoffPauses, RetryBackoff } from '../../../shared/base/time/retry-backoff';
import type { Addressed, Attempt, NodeLink } from './node-link';
import type { NodeLinks } from './node-links';
import type { OpenCall } from './open-calls';
import { ConnectionLost } from './request-stream';
import type { ShardRoute, ShardRoutes } from './shard-routes';

/**
 * What follows from a failed attempt: send it again after a pause, send it again when the route has changed, or end the
 * call.
 */
export type Verdict = 'again' | 'rerouted' | 'final';

/** The pauses between the attempts of one call. A change of its route ends them early. */
const PAUSES: BackoffPauses = { firstMs: 20, longestMs: 500 };

/**
 * A node that rejects a call as misrouted knows of a newer assignment. The watch usually brings it here within this
 * time; if not, ask again.
 */
const REROUTE_PAUSE_MS = 1_000;

/** Sends calls to the primaries of their shards, repeatedly if that can succeed. */
export class RoutedCalls {
  constructor(private readonly parts: { routes: ShardRoutes; links: NodeLinks; clock: Clock }) {}

  /**
   * Resolves to the answer of the first attempt that succeeds. Rejects with the first error that `judge` declares
   * final; if that is a lost connection, with `unavailable`. Ends then, or when `open` is over. `known`: the route of
   * now, for a caller that has looked it up.
   */
  async run<Result>(
    id: ShardId,
    open: OpenCall,
    send: (link: NodeLink, to: Addressed, route: ShardRoute) => Attempt<Result>,
    judge: (error: unknown) => Verdict,
    known: ShardRoute | null = this.parts.routes.route(id),
  ): Promise<Result> {
    const { routes, links, clock } = this.parts;
    let backoff: RetryBackoff | null = null;
    let next = known;
    for (;;) {
      const route = next ?? (await this.nextRoute(id, open));
      try {
        const { profiled } = open;
        const to: Addressed = { id, epoch: route.epoch, deadlineMs: open.deadlineMs };
        if (profiled !== undefined)
          to.noted = {
            profiled,
            context: profiled.send({ node: route.node, address: route.address, role: 'primary' }),
          };
        const attempt = send(links.to(route.address), to, route);
        open.cancel = attempt.cancel;
        return await attempt.answer;
      } catch (error) {
        if (open.isOver) throw error;
        if (isLost(error) && error.end.isRefused)
          throw new QuiverError('internal', 'a node refused the credentials of the cluster', { cause: error });
        const verdict = judge(error);
        if (verdict === 'final') throw isLost(error) ? unreachable(id, error) : error;
        // Made only now, because most calls need no second attempt.
        const pauseMs = (backoff ??= new RetryBackoff(PAUSES)).nextMs();
        const waitMs = verdict === 'again' ? pauseMs : REROUTE_PAUSE_MS;
        await routes.changed(id, route, Math.min(open.deadlineMs, clock.monotonicMs() + waitMs));
      }
      if (open.isOver) throw notInTime(id);
      next = routes.route(id);
    }
  }

  private async nextRoute(id: ShardId, open: OpenCall): Promise<ShardRoute> {
    const { routes, clock } = this.parts;
    for (;;) {
      await routes.changed(id, null, open.deadlineMs);
      if (open.isOver || clock.monotonicMs() >= open.deadlineMs) throw notInTime(id);
      const route = routes.route(id);
      if (route !== null) return route;
    }
  }
}

export function isLost(error: unknown): error is ConnectionLost {
  return error instanceof ConnectionLost;
}

/** The kind of an operating error; undefined for any other error. */
export function kindOf(error: unknown): ErrorKind | undefined {
  return isQuiverError(error) ? error.kind : undefined;
}

function unreachable(id: ShardId, cause: ConnectionLost): QuiverError {
  return new QuiverError('unavailable', `the node of shard ${id.shard} cannot be reached; the call may be retried`, {
    cause,
  });
}
