import { shardKey } from '../../../shared/cluster-store/entries/members';
import { ANY_REPLICA, type ShardId } from '../../../shared/contract/shard/shard-client';
import type { VectorSearch, VectorSearchResult } from '../../../shared/contract/shard/shard-read';
import { type PermitClocks, PermitWatch } from '../../replication/read-permit';
import { ShardViews } from '../../engine/shard/reading/shard-views';
import type { ReplicaMessage } from './replica-publisher';

/** Who answered a search: the primary, or an in-sync follower. */
export interface PermittedResult {
  result: VectorSearchResult;
  isPrimary: boolean;
}

/**
 * The replicas of this node on a thread that does not write them, as a ReplicaPublisher tells of them. What is found
 * counts only under one permit of the replica, from before the search until after it.
 */
export class ReplicaViews {
  private readonly shards: ShardViews;
  private readonly permits = new Map<string, PermitWatch>();

  /** `wallMs`: the clock by which items expire. */
  constructor(
    private readonly clocks: PermitClocks,
    wallMs: () => number = Date.now,
  ) {
    this.shards = new ShardViews(wallMs);
  }

  /** Takes the next message of the publisher, in their order. */
  take(message: unknown): void {
    const news = message as ReplicaMessage;
    if (news.type === 'permitted') this.permits.set(news.key, new PermitWatch(news.permit, this.clocks));
    else if (news.type === 'unpermitted') this.permits.delete(news.key);
    else this.shards.take(news);
  }

  /**
   * The answer of a read `search` that was routed by `epoch`, to be sent: everything acknowledged before the call is
   * seen. null: it is the main thread's. Never throws for that.
   */
  search(id: ShardId, request: VectorSearch, epoch: number): PermittedResult | null {
    const permit = this.permits.get(shardKey(id));
    if (permit === undefined) return null;
    const grant = permit.begin();
    if (grant < 0) return null;
    const { isPrimary } = permit;
    // A caller that takes this replica for the primary has to hear that it is not.
    if (!isPrimary && epoch !== ANY_REPLICA) return null;
    const result = this.shards.search(id, request, true);
    return result === null || !permit.holds(grant) ? null : { result, isPrimary };
  }
}
