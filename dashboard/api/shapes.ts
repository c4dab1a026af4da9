/** The API's answers, as far as the page reads them. */

export type Metadata = Record<string, unknown>;
export type Role = 'admin' | 'readwrite' | 'readonly';
export type Metric = 'cosine' | 'l2' | 'ip';

export interface UnavailableShard {
  shard: number;
  reason: string;
}

export interface Collection {
  name: string;
  dim: number;
  distance_metric: Metric;
  description: string | null;
  language: string | null;
  /** Below 0: unknown, because shards do not answer. */
  vector_count: number;
  unavailable_shards: UnavailableShard[];
  created_at: string;
  shards: number;
  replicas: number;
  embedding_model: string | null;
}

export interface CollectionStats {
  name: string;
  vector_count: number;
  disk_bytes: number;
  memory_bytes: number;
  index: {
    state: 'indexing' | 'compacting' | 'refining' | 'measuring' | 'ready';
    fraction: number;
    seconds_left: number | null;
    rows: number;
    rows_indexed: number;
    optimizing: boolean;
  };
}

export interface Timing {
  embedding_ms: number;
  search_ms: number;
  total_ms: number;
}

export interface Hit {
  external_id: string;
  score: number;
  metadata: Metadata;
  /** Where it was asked for; "" where the item has none. */
  text?: string;
  /** Fragments of the text with words of the query, best first; spans and start are places in the whole text. */
  highlights?: { text: string; start: number; spans: [start: number, end: number][] }[];
  vector_rank?: number | null;
  vector_score?: number | null;
  keyword_rank?: number | null;
  keyword_score?: number | null;
}

/** Hits that have the same value of a field. */
export interface HitGroup {
  key: string | number | boolean | null;
  score: number;
  hits: Hit[];
}

/** The most frequent values of a field. */
export interface Facet {
  field: string;
  values: { value: string | number | boolean | null; count: number }[];
  more: boolean;
  /** Items without the field. */
  missing: number;
}

export interface StoredItem {
  external_id: string;
  vector?: number[];
  metadata: Metadata;
  text: string | null;
  /** Absent while a cluster has nodes of an earlier version. */
  version?: number;
}

export interface ClusterNode {
  id: string;
  address: string;
  zone: string;
  state: 'up' | 'draining' | 'drained' | 'down';
  down_since: string | null;
  primaries: number;
  replicas: number;
  vectors: number;
  disk_bytes: number;
}

export interface ClusterShard {
  collection: string;
  shard: number;
  epoch: number;
  primary: string | null;
  in_sync: string[];
  learners: { node: string; progress: number }[];
  state: 'ok' | 'degraded' | 'unavailable';
  vectors: number;
  lag_ops: Record<string, number>;
}

export interface Cluster {
  mode: 'embedded' | 'cluster';
  controller: string | null;
  coordinators: { id: string; address: string; pid: number; started_at: string }[];
  nodes: ClusterNode[];
  shards: ClusterShard[];
  /** Of the reshards. */
  new_shards: ClusterShard[];
  moves: { collection: string; shard: number; from: string; to: string; phase: string; progress: number }[];
  reshards: ClusterReshard[];
}

export interface ClusterReshard {
  collection: string;
  from: number;
  to: number;
  state: 'filling' | 'sealing' | 'opening' | 'retiring' | 'cancelling' | 'failed' | 'stuck';
  /** Share of the vectors that are copied. */
  fraction: number;
  behind: number;
  error: string | null;
  /** What keeps it from getting on. */
  waits_for: string | null;
}

export interface ApiKey {
  id: number;
  name: string;
  role: Role;
  created_at: string;
  is_active: boolean;
  expires_at: string | null;
  last_used_at: string | null;
  /** What it is limited to; null: nothing. */
  collections: KeyScope[] | null;
  allowed_networks: string[] | null;
  rate_limit_per_minute: number | null;
  quota: KeyQuota | null;
}

/** The most that a key may write; null: any number. */
export interface KeyQuota {
  items: number | null;
  bytes: number | null;
  period: 'day' | 'month' | 'total';
}

export type KeyScope = { name?: string; prefix?: string; role: Role };

export interface Usage {
  total_requests: number;
  last_24h: number;
  last_7d: number;
  last_30d: number;
  by_endpoint: Record<string, number>;
  last_request_at: string | null;
}

/** Of one key. */
export interface KeyUsage extends Usage {
  quota_used: (KeyQuota & { resets_at: string | null }) | null;
}

export interface Health {
  total_vectors: number;
  total_collections: number;
  uptime_seconds: number;
  unavailable: (UnavailableShard & { collection: string })[];
  embedding: { configured: string; active: string; fallback_reason: string | null };
}

export interface OperationRates {
  endpoint: string;
  per_second: number;
  errors_per_second: number;
  p50_ms: number | null;
  p99_ms: number | null;
}

/** What the process that answers does at present. */
export interface Activity {
  /** `id`: null for keys that are no admin's. */
  process: { id: string | null; uptime_seconds: number; memory_bytes: number; processors: number };
  requests: { per_second: number; errors_per_second: number; total: number };
  operations: OperationRates[];
  in_flight: number;
  shed_total: number;
  slow_ms: number;
  /** The latest first; null for keys that are no admin's. */
  slow_requests: SlowRequest[] | null;
}

export interface SlowRequest {
  at: string;
  method: string;
  endpoint: string;
  collection: string | null;
  code: number;
  ms: number;
  key_id: number | null;
  request_id: string;
}
