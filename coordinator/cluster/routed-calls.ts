import { type ErrorKind, QuiverError, isQuiverError } from '../../shared/errors/quiver-error';
import type { ShardId } from '../../shared/shard/shard-client';
import type { Clock } from '../../shared/time/clock';
import { type BackoffPauses, RetryBackoff } from '../../shared/time/retry-backoff';
import type { Addressed, Attempt, NodeLink } from './node-link';
import type { NodeLinks } from './node-links';
import type { OpenCall } from './open-calls';
import { ConnectionLost } from './request-stream';
import type { ShardRoute, ShardRoutes } from './shard-routes';

/** What a failed attempt means: sent again after a pause, sent again when the route has changed, or the call's end. */
export type Verdict = 'again' | 'rerouted' | 'final';

/** Between the attempts of one call, ended early by a change of its route. */
const PAUSES: BackoffPauses = { firstMs: 20, longestMs: 500 };

/** A node that sends a call away knows more than the routes here, which a watch brings up to date; if not, ask again. */
const REROUTE_PAUSE_MS = 1_000;

/** Sends calls to the primaries of their shards, again and again where that makes sense. */
export class RoutedCalls {
  constructor(private readonly parts: { routes: ShardRoutes; links: NodeLinks; clock: Clock }) {}

  /**
   * Answers what the first attempt answers that does not fail, or fails with what `judge` finds final; one that finds a
   * lost connection final fails `unavailable`. Runs on until then or until `open` is over.
   */
  async run<Result>(
    id: ShardId,
    open: OpenCall,
    send: (link: NodeLink, to: Addressed) => Attempt<Result>,
    judge: (error: unknown) => Verdict,
  ): Promise<Result> {
    const { routes, links, clock } = this.parts;
    let backoff: RetryBackoff | null = null;
    for (;;) {
      const route = routes.route(id) ?? (await this.nextRoute(id, open));
      try {
        const attempt = send(links.to(route.address), { id, epoch: route.epoch, deadlineMs: open.deadlineMs });
        open.cancel = attempt.cancel;
        return await attempt.answer;
      } catch (error) {
        if (open.isOver) throw error;
        if (isLost(error) && error.end.isRefused) throw new QuiverError('internal', 'a node refused the credentials of the cluster', { cause: error });
        const verdict = judge(error);
        if (verdict === 'final') throw isLost(error) ? unreachable(id, error) : error;
        // Most calls need no second attempt, and nothing for one.
        const pauseMs = (backoff ??= new RetryBackoff(PAUSES)).nextMs();
        const waitMs = verdict === 'again' ? pauseMs : REROUTE_PAUSE_MS;
        await routes.changed(id, route, Math.min(open.deadlineMs, clock.monotonicMs() + waitMs));
      }
      if (open.isOver) throw notInTime(id);
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

/** undefined for what is no operating error. */
export function kindOf(error: unknown): ErrorKind | undefined {
  return isQuiverError(error) ? error.kind : undefined;
}

export function notInTime(id: ShardId): QuiverError {
  return new QuiverError('unavailable', `shard ${id.shard} did not answer in time; the call may be retried`);
}

function unreachable(id: ShardId, cause: ConnectionLost): QuiverError {
  return new QuiverError('unavailable', `the node of shard ${id.shard} cannot be reached; the call may be retried`, { cause });
}
