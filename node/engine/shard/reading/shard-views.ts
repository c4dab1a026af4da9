import { shardKey } from '../../../../shared/cluster-store/entries/members';
import type { InlineSearches } from '../../../../shared/contract/shard/inline-search';
import type { ShardId } from '../../../../shared/contract/shard/shard-client';
import type { VectorSearch, VectorSearchResult } from '../../../../shared/contract/shard/shard-read';
import type { ShardMessage } from '../shard-publisher';
import { SharedShard } from './shared-shard';

/** The shards of this process on a thread that does not write them, as a ShardPublisher tells of them. */
export class ShardViews implements InlineSearches {
  private readonly views = new Map<string, SharedShard>();
  private closed = false;

  /** `wallMs`: the clock by which items expire. */
  constructor(private readonly wallMs: () => number = Date.now) {}

  /** Takes the next message of the publisher, in their order. */
  take(message: unknown): void {
    if (this.closed) return;
    const news = message as ShardMessage;
    if (news.type === 'part') return this.views.get(news.key)?.take(news.part);
    this.views.get(news.key)?.close();
    if (news.type === 'opened') this.views.set(news.key, new SharedShard(news, this.wallMs));
    else this.views.delete(news.key);
  }

  /** `isSent`: see SharedShard. */
  search(id: ShardId, request: VectorSearch, isSent = false): VectorSearchResult | null {
    return this.views.get(shardKey(id))?.search(request, isSent) ?? null;
  }

  /** Forgets every shard, whose memory is then free as far as this thread is concerned; idempotent. */
  close(): void {
    this.closed = true;
    for (const view of this.views.values()) view.close();
    this.views.clear();
  }
}
