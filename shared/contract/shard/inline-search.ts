import type { CallOptions, ShardId } from './shard-client';
import type { VectorSearch, VectorSearchResult } from './shard-read';

/** Searches shards of this process on another thread than the one that writes them. */
export interface InlineSearches {
  /**
   * The same answer as ShardClient's read `search`, found on the calling thread. It sees every write that was answered
   * before the call. null: ask the shard's own thread. It is not known here, changed meanwhile, or the search is of a
   * kind or a length that is not for a thread that serves. Never throws for those.
   */
  search(id: ShardId, request: VectorSearch): VectorSearchResult | null;
}

/** Shards of which some searches need no waiting. */
export interface SearchesAtOnce {
  /** What ShardClient's read `search` would resolve to, found now; null: ask for it by `read`. */
  searchNow?(id: ShardId, request: VectorSearch, call: CallOptions): VectorSearchResult | null;
}

/** Where another thread learns what it needs: messages for structured clone, with shared memory inside. */
export interface ShardPublications {
  /** Calls `publish` at once for what is, and later for each change, in order. Answers what ends it. */
  follow(publish: (message: unknown) => void): () => void;
}
