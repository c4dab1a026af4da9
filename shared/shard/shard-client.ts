import type { Filter } from '../filter/filter';
import type { Metric } from '../vector/metric';

/**
 * One shard of a collection as the coordinator sees it. The coordinator asks every shard and merges; whether the
 * shard lives in this process (LocalShardClient) or behind gRPC is the implementation's business.
 *
 * All calls may overlap. Errors are QuiverErrors; `unavailable` and `commit_unknown` are the only retryable ones.
 * Vectors are float32, row-major, exactly `spec.dim` long: callers have checked them. Metadata travels as JSON text.
 */
export interface ShardClient {
  /** Makes the shard exist and serve; does nothing when it does. */
  open(spec: ShardSpec): Promise<void>;
  /** Removes the shard with all its data, for good; does nothing when it is gone. Running calls fail `not_found`. */
  drop(id: ShardId): Promise<void>;

  /**
   * Applies the operations in order, all of them in one atomic, durable step: when it resolves they survive a crash
   * and every later read sees them. Answers one outcome per operation, in order.
   */
  write(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteOutcome[]>;

  /** The best `k` by (score falling, externalId rising in code-unit order), fewer only if fewer match. */
  search(id: ShardId, request: VectorSearch, call: CallOptions): Promise<VectorSearchResult>;
  /** Exact scores of the listed items; unknown ids are left out, order is that of `externalIds`. */
  score(id: ShardId, request: { vector: Float32Array; externalIds: string[] }, call: CallOptions): Promise<Hit[]>;
  /** What BM25 needs to know of this shard about some terms; summed over shards by the caller. */
  keywordStatistics(id: ShardId, terms: string[], call: CallOptions): Promise<KeywordStatistics>;
  /** The best `k` by BM25 under the statistics given, ordered as search is; items with no term are not returned. */
  keywordSearch(id: ShardId, request: KeywordSearch, call: CallOptions): Promise<Hit[]>;
  /** Items in the order asked, null where absent. */
  fetch(id: ShardId, request: { externalIds: string[]; vectors: boolean }, call: CallOptions): Promise<(StoredItem | null)[]>;
  /** Items in insertion order, (stamp, externalId) > `after`; fewer than `limit` only at the end. */
  scan(id: ShardId, request: ScanRequest, call: CallOptions): Promise<StoredItem[]>;
  /** Live items, as `status` has them, at next to no cost. */
  count(id: ShardId, call: CallOptions): Promise<number>;
  status(id: ShardId, call: CallOptions): Promise<ShardStatus>;
}

export interface CallOptions {
  /** Monotonic deadline in milliseconds (Clock.monotonicMs); past it the call fails `unavailable`. */
  deadlineMs: number;
}

export interface ShardId {
  /** Collection uid: never reused, so a collection made again under the same name is another one. */
  collectionUid: string;
  /** 0 ≤ shard < the collection's number of shards. */
  shard: number;
}

export interface ShardSpec extends ShardId {
  dim: number;
  metric: Metric;
}

export type WriteOperation = UpsertOperation | DeleteOperation;

export interface UpsertOperation {
  type: 'upsert';
  externalId: string;
  vector: Float32Array;
  /** Insertion stamp (see coordinator/routing/stamp-clock.ts): used if the id is new, else the stored one stays. */
  stamp: number;
  /** JSON object text; undefined keeps what is stored ("{}" for a new item). */
  metadata: string | undefined;
  /** Keyword and answer text; undefined keeps what is stored (none for a new item), "" clears it. */
  text: string | undefined;
}

export interface DeleteOperation {
  type: 'delete';
  externalId: string;
  /** Deletes the item only if its metadata match when its turn comes; one that does not is `absent`. */
  filter?: Filter | undefined;
}

export type WriteOutcome = 'inserted' | 'updated' | 'deleted' | 'absent';

export interface VectorSearch {
  vector: Float32Array;
  /** How many hits, at least 1. */
  k: number;
  filter: Filter | null;
  effort: SearchEffort;
  /** Whether hits carry `text`. */
  texts: boolean;
}

export interface VectorSearchResult {
  /** Best first; ties by external id. */
  hits: Hit[];
  /** Vectors of the shard, whatever the filter. */
  vectorCount: number;
}

export type SearchEffort = { type: 'calibrated' } | { type: 'ef'; ef: number } | { type: 'exact' };

export interface KeywordSearch {
  /** Distinct analysed terms. */
  terms: string[];
  /** Collection-wide; `documentFrequencies` in the order of `terms`. */
  statistics: KeywordStatistics;
  k: number;
  filter: Filter | null;
}

export interface KeywordStatistics {
  /** Live items that have at least one term. */
  documentCount: number;
  /** Sum of their lengths in terms. */
  totalLength: number;
  documentFrequencies: number[];
}

export interface Hit {
  externalId: string;
  score: number;
  /** JSON object text. */
  metadata: string;
  /** Present when asked for; "" when the item has none. */
  text?: string;
}

export interface StoredItem {
  externalId: string;
  stamp: number;
  /** Present when asked for. */
  vector?: Float32Array;
  metadata: string;
  /** null: the item never had a text. */
  text: string | null;
}

export interface ScanRequest {
  after: { stamp: number; externalId: string } | null;
  limit: number;
  filter: Filter | null;
  vectors: boolean;
  /** false: texts are not read and null. Default: true. */
  texts?: boolean | undefined;
}

export interface ShardStatus {
  vectorCount: number;
  /** Number of the last applied operation batch. */
  lastOperation: number;
  /** Highest insertion stamp seen, 0 if none: no coordinator may stamp below it. */
  lastStamp: number;
  diskBytes: number;
  /** Bytes held in memory by the shard's structures, originals mapped from disk not counted. */
  memoryBytes: number;
  segments: SegmentStatus[];
}

export interface SegmentStatus {
  kind: 'growing' | 'sealed';
  rows: number;
  deletedRows: number;
  /** Calibrated search effort; 0 where the segment is scanned. */
  ef: number;
}
