import type { ShardId } from '../../../shared/contract/shard/shard-client';

/**
 * Where a shard's replicas are, according to the coordinator's map: the primary and, where they may be read, others.
 */
export interface ShardRoute {
  node: string;
  /** host:port at which other members reach it. */
  address: string;
  epoch: number;
  /** Addresses of the in-sync followers that answer reads; absent if there are none. */
  followers?: readonly string[];
  /** Features that some node which has a replica, or may get one, is not known to have; absent: none. */
  lacking?: readonly string[];
}

/** Whether calls by either route go to the same replicas in the same roles. */
export function isSameRoute(one: ShardRoute | null, other: ShardRoute | null): boolean {
  if (one === null || other === null) return one === other;
  const isSame = (a: readonly string[] = [], b: readonly string[] = []): boolean => String(a) === String(b);
  if (one.epoch !== other.epoch || one.address !== other.address) return false;
  return isSame(one.followers, other.followers) && isSame(one.lacking, other.lacking);
}

/** The coordinator's map of the shards, kept up to date by a watch. */
export interface ShardRoutes {
  /** The route known now; null while the shard has no primary that is a member. */
  route(id: ShardId): ShardRoute | null;
  /**
   * Resolves when the shard's route differs from `stale` (another epoch, address or followers), at once if it does
   * already, and at the deadline in any case. Errors: not_found when the shard has been dropped.
   */
  changed(id: ShardId, stale: ShardRoute | null, deadlineMs: number): Promise<void>;
}

/** Routes that say when any of them may have changed. */
export interface ObservedRoutes extends ShardRoutes {
  /** Calls `listener` after every change that may have changed routes, until the function returned is called. */
  onChange(listener: () => void): () => void;
}
