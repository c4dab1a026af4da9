import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { assignmentPath } from '../../../shared/cluster-store/entries/shard-assignment';
import { tombstonePath } from '../../../shared/cluster-store/entries/tombstones';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ShardId, ShardSpec } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import type { ShardRoutes } from '../calls/shard-routes';

/**
 * Longest time until a shard has a primary: the election of a controller, the time-out of a session and some reserve.
 */
const OPENING_MS = 20_000;
/** How often a drop is tried again when a change of the assignment came first. */
const DROP_ATTEMPTS = 20;

/**
 * How shards are made and dropped in a cluster: the controller assigns the shards of every collection; a drop leaves a
 * tombstone.
 */
export class ClusterPlacement {
  private readonly store: ClusterStore;
  private readonly routes: ShardRoutes;
  private readonly clock: Clock;

  constructor(options: { store: ClusterStore; routes: ShardRoutes; clock: Clock }) {
    this.store = options.store;
    this.routes = options.routes;
    this.clock = options.clock;
  }

  /**
   * Resolves once a node leads the shard. Errors: unavailable when none does in time, not_found when its collection is
   * gone.
   */
  async open(spec: ShardSpec): Promise<void> {
    const deadlineMs = this.clock.monotonicMs() + OPENING_MS;
    if (this.routes.route(spec) === null) await this.routes.changed(spec, null, deadlineMs);
    if (this.routes.route(spec) === null) {
      throw new QuiverError('unavailable', `no storage node could take shard ${spec.shard}; the call may be retried`);
    }
  }

  /** Takes the shard from its nodes for good: they remove its data when they see the tombstone. Errors: unavailable. */
  async drop(id: ShardId): Promise<void> {
    const key = assignmentPath(id);
    for (let attempt = 0; attempt < DROP_ATTEMPTS; attempt += 1) {
      const entry = await this.store.get(key);
      const result = await this.store.transact(
        [{ key, revision: entry?.revision ?? 0 }],
        [
          { type: 'put', key: tombstonePath(id.collectionUid), value: new Date(this.clock.wallMs()).toISOString() },
          ...(entry === null ? [] : [{ type: 'delete' as const, key }]),
        ],
      );
      if (result.applied) return;
    }
    throw new QuiverError(
      'unavailable',
      `shard ${id.shard} is being changed too often to be dropped; the call may be retried`,
    );
  }
}
