import {
  assignmentPath,
  isSameReplica,
  type ReplicaId,
  type ShardAssignment,
} from '../../../shared/cluster-store/entries/shard-assignment';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Readiness } from '../../../shared/base/process/ops-server';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';

/**
 * A node is ready after this all the same. What it missed while it was away is there within seconds, and a copy of a
 * usual shard within minutes. What takes longer may be sick, and one shard must not keep a whole cluster from being
 * drained or upgraded. Less than the ten minutes after which operators are told that a process is not ready.
 */
export const CATCH_UP_MAX_MS = 480_000;

export interface CatchingUpOptions {
  /** The assignments in force of the replicas that are given to this node. */
  assigned: () => ShardAssignment[];
  /** This node's replica of a shard. */
  own: (id: ShardId) => ReplicaId;
  /** Whether a replica's node is a member, and still holds the shard in that store. */
  isThere: (replica: ReplicaId, id: ShardId) => boolean;
  clock: Clock;
  log: Logger;
}

/**
 * Whether a node that has started is ready: once the replicas that were out of sync then have been in sync, or are not
 * its own any more. Whoever restarts one machine after the other goes by that: with the next one away, their shards
 * might have no replica in sync. What has no primary at the moment has nobody to catch up from, and is not waited for;
 * nor is what is filled from a backup and serves nobody. Once ready it stays so.
 *
 * Nothing that a replica needs to come in sync may wait for this: the node serves and is a member before.
 */
export class CatchingUp {
  /** By path, what was out of sync at the start and has not been in sync since. */
  private readonly behind: Set<string>;
  private readonly replicas: number;
  private readonly untilMs: number;
  private isOver = false;

  /** Make it when each replica was opened once, and the node registers. */
  constructor(private readonly options: CatchingUpOptions) {
    this.behind = new Set(
      this.outOfSync()
        .filter(({ spec }) => spec.seed === undefined)
        .map(({ spec }) => assignmentPath(spec)),
    );
    this.replicas = this.behind.size;
    this.untilMs = options.clock.monotonicMs() + CATCH_UP_MAX_MS;
  }

  /** As of now. To be asked again and again until it is ready. */
  look(): Readiness {
    if (this.isOver) return { ready: true };
    const { isThere, clock, log } = this.options;
    const outOfSync = new Map(this.outOfSync().map((assignment) => [assignmentPath(assignment.spec), assignment]));
    for (const path of this.behind) if (!outOfSync.has(path)) this.behind.delete(path);
    const waits = [...this.behind].some((path) => {
      const { primary, spec } = outOfSync.get(path)!;
      return primary !== null && isThere(primary, spec);
    });
    const isLate = waits && clock.monotonicMs() >= this.untilMs;
    if (isLate)
      log.warn(
        { replicas: [...this.behind] },
        'replicas are still out of sync long after the start; the node counts as ready all the same',
      );
    this.isOver = !waits || isLate;
    if (this.isOver) return { ready: true };
    return {
      ready: false,
      reason: `catching up: ${this.replicas - this.behind.size} of ${this.replicas} replicas are in sync again`,
    };
  }

  private outOfSync(): ShardAssignment[] {
    const { assigned, own } = this.options;
    return assigned().filter(({ spec, inSync }) => !inSync.some((replica) => isSameReplica(replica, own(spec))));
  }
}
