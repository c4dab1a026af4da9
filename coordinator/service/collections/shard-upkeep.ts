import type { ShardClient } from '../../../shared/contract/shard/shard-client';
import type { ReplicaPurge } from '../../../shared/contract/shard/shard-purge';
import type { ShardStatus } from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import { collectionNotFound } from '../routing/collection-not-found';
import type { ScatterGather } from '../routing/scatter-gather';
import { ShardSets } from '../routing/shard-sets';
import type { CollectionCatalog } from './collection-catalog';
import type { CollectionRecord } from './collection-record';

/** What the replicas of a collection's shards say of their purges; `uid`: of which set of shards. */
export interface PurgeLook {
  uid: string;
  /** By shard. */
  shards: ReplicaPurge[][];
}

/** Asks the shards of a collection to put their files and indexes in order, and how far they are. */
export class ShardUpkeep {
  private readonly sets: ShardSets<CollectionRecord>;

  constructor(
    private readonly parts: { catalog: CollectionCatalog; shards: ShardClient; scatter: ScatterGather; clock: Clock },
  ) {
    this.sets = new ShardSets(parts);
  }

  /** `identity`: that it is to have; default: any. Errors: not_found; unavailable. */
  async find(name: string, identity?: string): Promise<CollectionRecord> {
    const record = await this.parts.catalog.shown(name);
    if (identity !== undefined && record.identity !== identity) throw collectionNotFound(name);
    return record;
  }

  /**
   * How far the purge of each replica is; those of the shards that `starts` says begin, or follow the one under way.
   * Errors: as `find`; internal when a node of an earlier version holds a shard.
   */
  purge(collection: CollectionRecord, starts: (uid: string, shard: number) => boolean): Promise<PurgeLook> {
    const { scatter, shards } = this.parts;
    const call = scatter.begin();
    return this.sets.inOne(collection, call, async (current) => ({
      uid: current.uid,
      shards: await scatter.readAll(current, call, (id) =>
        shards.read(id, 'purge', { start: starts(current.uid, id.shard) }, call),
      ),
    }));
  }

  /** Each shard begins to make its best index, unless it does so already. Errors: as `purge`. */
  async optimize(collection: CollectionRecord): Promise<void> {
    const { scatter, shards } = this.parts;
    const call = scatter.begin();
    await this.sets.inOne(collection, call, (current) =>
      scatter.readAll(current, call, (id) => shards.read(id, 'optimize', null, call)),
    );
  }

  /** Errors: as `find`. */
  statuses(collection: CollectionRecord): Promise<ShardStatus[]> {
    const { scatter, shards } = this.parts;
    const call = scatter.begin();
    return this.sets.inOne(collection, call, (current) =>
      scatter.readAll(current, call, (id) => shards.read(id, 'status', null, call)),
    );
  }
}
