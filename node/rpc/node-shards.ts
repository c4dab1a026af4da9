import type {
  CallOptions,
  Hit,
  KeywordSearch,
  KeywordStatistics,
  ScanRequest,
  ShardId,
  ShardStatus,
  StoredItem,
  VectorSearch,
  VectorSearchResult,
  WriteOutcome,
} from '../../shared/shard/shard-client';
import type { WriteSource } from '../../shared/shard/write-source';

/**
 * What a storage node answers to coordinators: the ShardClient's calls for the shards that this node leads. Every call
 * names the epoch that its caller routed by. Errors: as for ShardClient, and `misrouted` when this node does not lead
 * the shard or leads it under a later epoch; it waits (within the deadline) when the caller knows a later epoch than it.
 */
export interface NodeShards {
  /** `payload` is the encoded operations (shared/shard/operation-codec.ts); kept as it is in the log. */
  write(id: ShardId, request: { source: WriteSource; payload: Buffer }, call: NodeCall): Promise<WriteOutcome[]>;
  search(id: ShardId, request: VectorSearch, call: NodeCall): Promise<VectorSearchResult>;
  score(id: ShardId, request: { vector: Float32Array; externalIds: string[] }, call: NodeCall): Promise<Hit[]>;
  keywordStatistics(id: ShardId, terms: string[], call: NodeCall): Promise<KeywordStatistics>;
  keywordSearch(id: ShardId, request: KeywordSearch, call: NodeCall): Promise<Hit[]>;
  fetch(id: ShardId, request: { externalIds: string[]; vectors: boolean }, call: NodeCall): Promise<(StoredItem | null)[]>;
  scan(id: ShardId, request: ScanRequest, call: NodeCall): Promise<StoredItem[]>;
  count(id: ShardId, call: NodeCall): Promise<number>;
  status(id: ShardId, call: NodeCall): Promise<ShardStatus>;
}

export interface NodeCall extends CallOptions {
  /** Epoch of the assignment that the caller routed by. */
  epoch: number;
}
