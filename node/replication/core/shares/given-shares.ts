import { isSameReplica, type ReplicaId } from '../../../../shared/cluster-store/entries/shard-assignment';

/**
 * The shares in its lease that a primary gave to followers, so that they answer reads, too. Who holds one counts like a
 * member of the in-sync set until it is over: nothing is committed that it does not have. Outlives the epoch, because
 * the same replica may lead the next one.
 */
export class GivenShares {
  private given: { to: ReplicaId; until: number }[] = [];

  /** `until`: by the primary's monotonic clock. */
  give(to: ReplicaId, until: number): void {
    for (const known of this.given) {
      if (!isSameReplica(known.to, to)) continue;
      known.until = Math.max(known.until, until);
      return;
    }
    this.given.push({ to, until });
  }

  /** It answered that it gave its share up. */
  returned(by: ReplicaId): void {
    this.given = this.given.filter(({ to }) => !isSameReplica(to, by));
  }

  /** Who may hold a share. */
  holders(nowMs: number): ReplicaId[] {
    this.expire(nowMs);
    return this.given.map(({ to }) => to);
  }

  /** Forgets those that are over. */
  expire(nowMs: number): void {
    for (const { until } of this.given) {
      if (until > nowMs) continue;
      this.given = this.given.filter((one) => one.until > nowMs);
      return;
    }
  }

  /** When the last of them is over; -Infinity if there is none. */
  get until(): number {
    return Math.max(-Infinity, ...this.given.map(({ until }) => until));
  }
}
