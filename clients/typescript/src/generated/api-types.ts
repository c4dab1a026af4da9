// Generated from the OpenAPI document; `UPDATE=1 npm test -- test/unit/clients/typescript/src/generated` writes it anew.
import type { Metadata, VectorLike } from '../values';
import type { Filters } from './filter-types';

export interface Collection {
  name: string;
  dim: number;
  distance_metric: 'cosine' | 'l2' | 'ip';
  description: string | null;
  /** The language of its keyword text; null: none. */
  language: 'ar' | 'ca' | 'cs' | 'da' | 'de' | 'en' | 'es' | 'eu' | 'fi' | 'fr' | 'ga' | 'hu' | 'hy' | 'it' | 'nl' | 'no' | 'pt' | 'ro' | 'ru' | 'sl' | 'sv' | 'ta' | 'tr' | 'zh' | 'ja' | 'ko' | 'auto' | null;
  /** What its keyword search looks in, with the analysers that are not its language; null: the text and all strings of the metadata. */
  keyword_fields: Array<{
    path: string;
    weight: number;
    analyser?: 'ar' | 'ca' | 'cs' | 'da' | 'de' | 'en' | 'es' | 'eu' | 'fi' | 'fr' | 'ga' | 'hu' | 'hy' | 'it' | 'nl' | 'no' | 'pt' | 'ro' | 'ru' | 'sl' | 'sv' | 'ta' | 'tr' | 'zh' | 'ja' | 'ko' | 'auto' | 'unicode';
  }> | null;
  /** What words of its queries mean besides; null: nothing. */
  synonyms: Array<string[] | Record<string, string[]>> | null;
  /** Its stop words besides those of the language; null: none. */
  stop_words: {
    add: string[];
    remove: string[];
  } | null;
  /** Whether positions of words are kept for phrases. */
  keyword_positions: boolean;
  /** How its vectors are held in memory. */
  quantization: 'int8' | 'int4' | 'binary';
  /** Where its ids and metadata are. */
  metadata: 'memory' | 'disk';
  /** Where the index of its vectors is. */
  vectors: 'memory' | 'disk';
  /** -1 while a shard does not answer, so that nobody can count them. */
  vector_count: number;
  /** Shards that did not answer within some seconds, and why, for people; nearly always none. */
  unavailable_shards: Array<{
    shard: number;
    reason: string;
  }>;
  created_at: string;
  shards: number;
  replicas: number;
  min_in_sync: number;
  /** How long after their last write items without an expires_at of their own expire; null: never. */
  ttl_seconds: number | null;
  /** The model of its embedding, or of its first text; null before. */
  embedding_model: string | null;
  /** How its texts become vectors, as it was made; null: by embedding_model. */
  embedding: {
    model: string;
    dtype: 'auto' | 'q8' | 'fp32' | 'int8' | 'uint8' | 'fp16' | 'q4' | 'bnb4' | 'q4f16' | null;
    query_prefix: string | null;
    passage_prefix: string | null;
    truncate_dim: number | null;
    /** Of a reembed; null: the text of an item. */
    template: string | null;
  } | null;
  /** The most that it may hold; null: as much as there is room for. */
  quota: {
    /** null: any number. */
    items: number | null;
    /** On the disk, of one replica; null: any number. */
    bytes: number | null;
  } | null;
  /** Of a PATCH that changes keyword_fields: the job that brings them. They are the present ones until then. */
  job_id?: string;
}

export interface CollectionStats {
  name: string;
  quantization: 'int8' | 'int4' | 'binary';
  vector_count: number;
  disk_bytes: number;
  memory_bytes: number;
  /** The most that it may hold; null: as much as there is room for. */
  quota: {
    /** null: any number. */
    items: number | null;
    /** On the disk, of one replica; null: any number. */
    bytes: number | null;
  } | null;
  index: {
    /** What is done in the background. indexing: rows are added to the graph, and scanned until then; compacting: dead rows are removed; refining: the links of rows that were added quickly are chosen anew, after which searches are quicker; measuring: the effort of searches is calibrated. Searches keep their recall in all states. */
    state: 'indexing' | 'compacting' | 'refining' | 'measuring' | 'ready';
    /** Rows of all shards, including those of deleted and replaced vectors that were not removed yet. */
    rows: number;
    /** Rows in the graph. The others are scanned; a shard with few rows needs no graph. */
    rows_indexed: number;
    rows_refined: number;
    /** Share of the work that is done, by rows indexed and refined. */
    fraction: number;
    /** Until the state is ready, by the pace so far; null when it is not known yet. */
    seconds_left: number | null;
    /** Whether an optimize is under way. */
    optimizing: boolean;
  };
}

export interface Purge {
  collection: string;
  /** done: every replica is; failed: one failed or did not answer, and none is running. Purge again then. */
  state: 'none' | 'running' | 'done' | 'failed';
  /** Of the replicas that are done; what was written meanwhile counts against it. */
  bytes_reclaimed: number;
  shards: Array<{
    shard: number;
    replicas: Array<{
      /** The node that holds the replica; empty where there is only one. */
      node: string;
      /** none: none was begun since the replica was opened; unknown: its node did not answer. */
      state: 'none' | 'running' | 'done' | 'failed' | 'unknown';
      /** expired: expired items are removed; log: the replicated log is trimmed; vectors, directory, checkpoint: the indexes are rewritten; records: the store is rewritten; backups: the next backup will name nothing of earlier ones. Of a purge that failed, where it did. */
      step: string;
      /** What all files of the replica took when it began. */
      bytes_before: number;
      bytes_after: number;
      /** Where logs are shipped (`BACKUP_LOG`): writes, with their contents, that the purge waits for in the step log, because they are kept until they are in the backup target. Of a purge that failed there, those that are still kept. */
      unshipped_writes: number;
      error: string;
    }>;
  }>;
}

export interface Reshard {
  collection: string;
  /** Shards that the collection had. */
  from: number;
  /** Shards that it gets. */
  to: number;
  /** filling: the new shards are filled, and the old ones used; sealing, opening: the new ones take over, and calls wait for that; retiring: they have taken over, and the old ones go in a moment; cancelling: it is being undone; failed: it was undone, because of the error; stuck: the cluster store was put back from a backup, and it is not clear which shards count. */
  state: 'filling' | 'sealing' | 'opening' | 'retiring' | 'cancelling' | 'failed' | 'stuck';
  /** Share of the vectors that are copied. */
  fraction: number;
  copied: number;
  /** Vectors when it began. */
  total: number;
  /** Changes that the new shards do not have yet. */
  behind: number;
  started_at: string;
  error: string | null;
  /** What keeps it from getting on, for people; it goes on by itself when that is over. null: nothing. */
  waits_for: string | null;
}

export interface Job {
  id: string;
  /** Such as `backup`, `restore`, `reshard` or `drain`; later versions have others. */
  kind: string;
  state: 'queued' | 'running' | 'paused' | 'done' | 'failed' | 'cancelled';
  /** What it is at, in the words of its kind. */
  step: string | null;
  /** The collection that it works on; null: it is about the service as a whole. */
  collection: string | null;
  /** What else it works on, such as the id of a backup or a node. */
  subject: string;
  /** Share of the work that is done, 0 to 1. */
  progress: number;
  /** In `unit`. */
  done: number;
  /** 0: not known yet. */
  total: number;
  unit: string;
  per_second: number | null;
  seconds_left: number | null;
  created_at: string | null;
  started_at: string | null;
  ended_at: string | null;
  /** Why it failed. */
  error: string | null;
  /** What keeps it from getting on; it goes on by itself when that is over. */
  waits_for: string | null;
  /** What came of it, by its kind. */
  result: Record<string, unknown> | null;
}

export interface Alias {
  alias: string;
  /** The own name of the collection. */
  collection: string;
  created_at: string;
  /** When it was last moved; null: never. */
  switched_at: string | null;
}

/** Milliseconds; present when include_timing is true. */
export interface WriteTiming {
  embedding_ms: number;
  storage_ms: number;
  total_ms: number;
}

export interface StoredVector {
  external_id: string;
  /** Numbers, or with vector_format base64 the base64 of little-endian float32 values. */
  vector?: Float32Array;
  metadata: Metadata;
  text: string | null;
  /** When the item expires; absent if it never does. */
  expires_at?: string;
  /** Rises with each change of the item, and is never given to another item of the same id. For if_version. */
  version?: number;
}

/** Higher scores are better: cosine; ip: dot product; l2: 1 / (1 + distance). */
export interface SearchResult {
  external_id: string;
  score: number;
  metadata: Metadata;
  /** Present if include_text is true; "" where the item has none. */
  text?: string;
  /** Rises with each change of the item, and is never given to another item of the same id. For if_version. */
  version?: number;
  /** Present if rerank is given and the model has read it: its score before. */
  first_score?: number;
  /** The same of its rank, from 1; with explain and diversity, the place among its candidates. */
  first_rank?: number;
  /** Present if highlight is given. spans are the words: first code unit, and first behind, in UTF-16 of the whole text of the field as it is stored, not of the fragment; so is start. */
  highlights?: Array<{
    field: string;
    /** Of a list of texts, which of them. */
    index?: number;
    /** The fragment, with pre and post around the words if they are given. */
    text: string;
    /** Where the fragment begins in the text of the field. */
    start: number;
    spans: [number, number][];
  }>;
  /** Present if expand is given: the chunks around the result. null where its metadata have no document_id or no chunk_index. */
  context?: {
    text: string;
    from_chunk: number;
    to_chunk: number;
  } | null;
  /** By which it was chosen for its place. */
  diversity_score?: number;
  /** The same with rerank: the place that the model gave it, from 1. */
  reranked_rank?: number;
  /** With explain and boosts: what each of them gave, in their order; null: the item is gone meanwhile. */
  boosts?: number[] | null;
}

/** Present if rerank is given. */
export interface Reranked {
  model: string;
  /** Results that the model has read. */
  scored: number;
  /** Results that there were, at most top_n. */
  of: number;
  /** Whether budget_ms was not enough for all that have a text. */
  truncated: boolean;
}

/** Milliseconds; present when include_timing is true. */
export interface SearchTiming {
  embedding_ms: number;
  search_ms: number;
  total_ms: number;
}

/** Milliseconds; present when profile is true. */
export interface SearchProfile {
  request_id: string;
  /** Of the trace that it belongs to, if there is one. */
  trace_id: string | null;
  /** Since the request came, without writing the answer: the sum of the nine below. */
  total_ms: number;
  /** For the key, the limits and the bytes of the body. */
  wait_ms: number;
  /** To read and check the body. */
  parse_ms: number;
  /** To find the collection. */
  route_ms: number;
  /** To turn text into vectors. */
  embed_ms: number;
  /** For a place among large reads. */
  queue_ms: number;
  /** While any shard was asked. Calls of shards overlap, and each moment counts once. */
  shards_ms: number;
  /** To join their answers. */
  merge_ms: number;
  /** To have a model read hits. */
  rerank_ms: number;
  other_ms: number;
  shards: ShardProfile[];
}

/** One call of a shard. Null: there is none, or a node of an earlier version does not say it. */
export interface ShardProfile {
  /** search, keywordStatistics, keywordSearch, score or fetch. */
  read: string;
  /** Of a bulk search: which query. */
  query: number | null;
  shard: number;
  /** The node that was asked last, or its address; null: this process. Shown to admins alone; null to others. */
  node: string | null;
  /** Of the replica that answered; shown to admins alone. */
  role: 'primary' | 'follower' | null;
  /** inline: the thread that serves the request searched by itself; shard: that of the shard; node: another process. */
  place: 'inline' | 'shard' | 'node';
  /** How often it was sent: again where a node was lost, or another one leads. */
  attempts: number;
  /** When it began, since the request came. */
  start_ms: number;
  total_ms: number;
  /** Until the shard began with it: for its thread, a lease, other work. */
  wait_ms: number | null;
  /** From then on, where the shard is. */
  run_ms: number | null;
  /** The rest: on its way to the node and back. */
  rpc_ms: number | null;
  results: number | null;
  /** scan, walk, exact, walk_then_scan (the walk found too few), cells, cells_then_scan (the same of cells), or empty. */
  plan: string | null;
  /** Items that may be answers: those that pass the filter, or all. */
  candidates: number | null;
  /** Rows scored by their codes. */
  scored: number | null;
  /** Rows scored by their original vectors. */
  rescored: number | null;
  /** Rows that a walk kept and expanded: the effort, as ef counts it. */
  expanded: number | null;
  /** To find the items that pass the filter. */
  filter_ms: number | null;
  /** For a thread that searches. */
  queue_ms: number | null;
  /** To search the vectors. */
  vectors_ms: number | null;
  /** To make hits of what was found. */
  hits_ms: number | null;
  /** To read texts. */
  texts_ms: number | null;
  error: string | null;
}

/** score is the fused one. With explain: the ranks (from 1, over the whole collection) in the two lists and the scores they are by, the metric’s and BM25’s; null where the item is not in that list, or the list has weight 0 and was not looked up. The parts are what the lists add to the score. */
export interface HybridResult {
  external_id: string;
  score: number;
  metadata: Metadata;
  /** Present if include_text is true; "" where the item has none. */
  text?: string;
  /** Rises with each change of the item, and is never given to another item of the same id. For if_version. */
  version?: number;
  /** Present if rerank is given and the model has read it: its score before. */
  first_score?: number;
  /** The same of its rank, from 1; with explain and diversity, the place among its candidates. */
  first_rank?: number;
  /** Present if highlight is given. spans are the words: first code unit, and first behind, in UTF-16 of the whole text of the field as it is stored, not of the fragment; so is start. */
  highlights?: Array<{
    field: string;
    /** Of a list of texts, which of them. */
    index?: number;
    /** The fragment, with pre and post around the words if they are given. */
    text: string;
    /** Where the fragment begins in the text of the field. */
    start: number;
    spans: [number, number][];
  }>;
  /** Present if expand is given: the chunks around the result. null where its metadata have no document_id or no chunk_index. */
  context?: {
    text: string;
    from_chunk: number;
    to_chunk: number;
  } | null;
  /** By which it was chosen for its place. */
  diversity_score?: number;
  /** The same with rerank: the place that the model gave it, from 1. */
  reranked_rank?: number;
  /** With explain and boosts: what each of them gave, in their order; null: the item is gone meanwhile. */
  boosts?: number[] | null;
  vector_rank?: number | null;
  vector_score?: number | null;
  keyword_rank?: number | null;
  keyword_score?: number | null;
  vector_part?: number;
  keyword_part?: number;
  /** With legs and explain, in the place of those: the same of each leg. */
  legs?: Array<{
    rank: number | null;
    score: number | null;
    part: number;
  }>;
}

export interface QueryResult {
  /** Present if include_text is true; "" where the item has none. */
  text?: string;
  score: number;
  metadata: Metadata;
  external_id: string;
  /** Rises with each change of the item, and is never given to another item of the same id. For if_version. */
  version?: number;
  /** Present if rerank is given and the model has read it: its score before. */
  first_score?: number;
  /** The same of its rank, from 1; with explain and diversity, the place among its candidates. */
  first_rank?: number;
  /** Present if highlight is given. spans are the words: first code unit, and first behind, in UTF-16 of the whole text of the field as it is stored, not of the fragment; so is start. */
  highlights?: Array<{
    field: string;
    /** Of a list of texts, which of them. */
    index?: number;
    /** The fragment, with pre and post around the words if they are given. */
    text: string;
    /** Where the fragment begins in the text of the field. */
    start: number;
    spans: [number, number][];
  }>;
  /** Present if expand is given: the chunks around the result. null where its metadata have no document_id or no chunk_index. */
  context?: {
    text: string;
    from_chunk: number;
    to_chunk: number;
  } | null;
  /** By which it was chosen for its place. */
  diversity_score?: number;
  /** The same with rerank: the place that the model gave it, from 1. */
  reranked_rank?: number;
  /** With explain and boosts: what each of them gave, in their order; null: the item is gone meanwhile. */
  boosts?: number[] | null;
  vector_rank?: number | null;
  vector_score?: number | null;
  keyword_rank?: number | null;
  keyword_score?: number | null;
  vector_part?: number;
  keyword_part?: number;
}

export interface WhyReport {
  external_id: string;
  /** null: the search finds it. item: there is none. filter: `conditions` say which. rerank, score, diversity, groups, boosts: without the model, without the least score, without these, it is on the page. approximation: an exact search has it on the page. rank: others are better. lists: it is not among the first MAX_K of any. */
  lost_at: 'item' | 'filter' | 'rerank' | 'score' | 'diversity' | 'groups' | 'boosts' | 'approximation' | 'rank' | 'lists' | null;
  /** The same for people. */
  because: string;
  /** Its place in the ranked list, before a model reads it, from 1, or of an item that is found with group_by that of its group; null: not among the first MAX_K. */
  place: number | null;
  /** What filters, and signs in query_text, ask for, and whether the item passes. */
  conditions: Array<{
    condition: Record<string, unknown>;
    passes: boolean;
  }>;
  /** The lists that the search is made of. */
  legs: Array<{
    leg: 'vector' | 'keyword';
    /** With legs: which of them, from 0; those of weight 0 are left out. */
    index?: number;
    /** What its own filters ask for; absent where it has none. */
    conditions?: Array<{
      condition: Record<string, unknown>;
      passes: boolean;
    }>;
    /** With boosts, where the search has them. */
    score: number | null;
    /** Its place, from 1, by an exact search of the items that pass; null: not among the first MAX_K. */
    exact_rank: number | null;
    /** Its place in the list that the search made; null: it is not in that, or scores too little. */
    rank: number | null;
    /** Hits that the search takes of the list. */
    depth: number;
  }>;
  /** Of approximation: the least of the efforts 16, 32, 64 and so on that finds it. */
  effort: number | null;
}

export interface Judgements {
  name: string;
  queries: number;
  /** Of all queries. */
  grades: number;
  updated_at: string;
}

export interface RecallReport {
  collection: string;
  k: number;
  /** How many were asked: fewer than were to be, when time ran out. */
  queries: number;
  /** The share of the exact k nearest that calibrated searches found; null when there was nothing to find. */
  recall: number | null;
  /** Of the recall; null for fewer than two queries. */
  standard_error: number | null;
  /** Of a query, on average, over all shards: rows scored by what is held of them in memory. null: a node of an earlier version did not say it. */
  rows_scored: number | null;
  /** Of a query, on average, over all shards: rows scored by their original vectors. */
  rows_rescored: number | null;
  /** Of a query, on average, over all shards. */
  calibrated_ms: number;
  /** Of a query, on average, over all shards. */
  exact_ms: number;
}

export interface Sample {
  size: number;
  /** Items that match. */
  population: number;
  seed: number;
  items: Array<{
    external_id: string;
    metadata: Metadata;
  }>;
  vectors?: {
    format: 'base64_float32';
    count: number;
    dimensions: number;
    /** Little-endian float32 values, row-major, in the order of items. */
    data: Float32Array;
  };
  projection?: {
    method: 'pca';
    dimensions: number;
    format: 'base64_float32';
    /** Share of the variance along each axis, 0 to 1, falling. */
    explained_variance: number[];
    /** Of the coordinates along each axis; empty without items. */
    bounds: {
      minimum: number[];
      maximum: number[];
    };
    /** Little-endian float32 values, row-major, in the order of items. */
    data: Float32Array;
  };
}

export interface Chunking {
  /** sentences (default): chunks end at a paragraph, else a sentence, a line, a word; headings: the same within each section; fixed: wherever a chunk is full. */
  strategy?: 'sentences' | 'headings' | 'fixed';
  /** Longest; default: CHUNK_SIZE (500). None is longer than the model reads. */
  size?: number;
  /** About how much of its end a chunk shares with the next; more than half of `size` counts as half. */
  overlap?: number;
  /** Of size and overlap; tokens of the collection’s model. */
  unit?: 'characters' | 'tokens';
}

export interface Document {
  document_id: string;
  document_key: string | null;
  /** The name of its file. */
  source: string;
  type: string | null;
  title: string | null;
  /** null for formats without pages. */
  pages: number | null;
  /** null for documents of /v1/documents/upload. */
  chunks: number | null;
  /** Of the file; null for documents of /v1/documents/upload. */
  bytes: number | null;
  /** Of the file; null for documents of /v1/documents/upload. */
  sha256: string | null;
  /** As it was given; null: it was not. */
  fingerprint: string | null;
  updated_at: string | null;
}

export interface Backup {
  id: string;
  target: string;
  state: 'running' | 'cancelling' | 'done' | 'failed' | 'deleting' | 'unreadable';
  started_at: string | null;
  ended_at: string | null;
  error: string | null;
  /** Whether it is sealed by this service, so that nobody else has made or changed it; null: it is not finished. */
  sealed: boolean | null;
  /** What it lacks, in words. */
  warnings: string[];
  /** Collections that it was to have and lacks: a shard was damaged, or did not answer. */
  left_out: Array<{
    name: string;
    reason: string;
  }>;
  /** Of one under way: a shard that did not answer the last time, and why; it is asked again. null: there is none. */
  waits_for: string | null;
  /** Share of the shards that are done. */
  progress: number;
  /** What this backup wrote itself. */
  copied_bytes: number;
  /** All that it consists of, with what earlier backups wrote. */
  total_bytes: number;
  items: number;
  collections: Array<{
    name: string;
    shards: Array<{
      shard: number;
      state: 'waiting' | 'running' | 'done';
      items: number;
      copied_bytes: number | null;
      total_bytes: number;
      /** The last entry of the shard’s log that is in it; null: not known. */
      position: number | null;
    }>;
  }>;
  /** The last one, or the one under way. */
  verification: {
    state: 'running' | 'done';
    objects: number;
    of: number;
    bytes: number;
    /** Objects that are missing or differ from what was written; at most 100. */
    damaged: string[];
    checked_at: string | null;
  } | null;
}

export interface RestorableCollection {
  name: string;
  deleted_at: string | null;
  /** Null: it can’t be restored to a moment before there is a backup that its log goes on from. */
  from: string | null;
  until: string | null;
  shards: Array<{
    shard: number;
    /** The last entry of its log that is in the target. */
    position: number | null;
    /** How often entries were given up that are not in the target, since its primary began. */
    gaps: number;
    error: string | null;
  }>;
}

export interface LogPositions {
  positions: Record<string, number[]>;
}

export interface Restore {
  id: string;
  /** Empty: it is restored from the log alone. */
  backup: string;
  /** The moment that was asked for; null: that of the backup. */
  until: string | null;
  target: string;
  state: 'running' | 'cancelling' | 'failed' | 'done';
  keys: boolean;
  /** What to look at afterwards. */
  warnings: string[];
  started_at: string;
  ended_at: string | null;
  error: string | null;
  /** Share of the shards that serve. */
  progress: number;
  collections: Array<{
    from: string;
    name: string;
    shards: number;
    shards_ready: number;
  }>;
}

export interface Demo {
  collection: string;
  /** Texts of the demo. */
  count: number;
  /** Whether this call stored them; false: they were there. */
  loaded: boolean;
  dim: number;
  embedding_model: string | null;
}

export interface ApiKeyWithSecret {
  id: number;
  name: string;
  role: 'admin' | 'readwrite' | 'readonly';
  created_at: string;
  is_active: boolean;
  expires_at: string | null;
  last_used_at: string | null;
  /** Collections that the key is limited to; null: all. */
  collections: Array<{
    name?: string;
    prefix?: string;
    /** The role for them. */
    role: 'admin' | 'readwrite' | 'readonly';
  }> | null;
  /** Networks that it may be used from; null: all. */
  allowed_networks: string[] | null;
  /** Requests in any 60 seconds; 0: no limit; null: RATE_LIMIT_PER_MINUTE. */
  rate_limit_per_minute: number | null;
  /** The most that it may store; null: as much as there is room for. */
  quota: {
    /** null: any number. */
    items: number | null;
    /** Of vectors, metadata, texts and ids; null: any number. */
    bytes: number | null;
    /** A day or month of UTC, or in all. */
    period: 'day' | 'month' | 'total';
  } | null;
  /** Until when the secret before the last rotation works; null: it does not. */
  previous_expires_at: string | null;
  /** The secret; shown this once. */
  key: string;
}

export interface ApiKey {
  id: number;
  name: string;
  role: 'admin' | 'readwrite' | 'readonly';
  created_at: string;
  is_active: boolean;
  expires_at: string | null;
  last_used_at: string | null;
  /** Collections that the key is limited to; null: all. */
  collections: Array<{
    name?: string;
    prefix?: string;
    /** The role for them. */
    role: 'admin' | 'readwrite' | 'readonly';
  }> | null;
  /** Networks that it may be used from; null: all. */
  allowed_networks: string[] | null;
  /** Requests in any 60 seconds; 0: no limit; null: RATE_LIMIT_PER_MINUTE. */
  rate_limit_per_minute: number | null;
  /** The most that it may store; null: as much as there is room for. */
  quota: {
    /** null: any number. */
    items: number | null;
    /** Of vectors, metadata, texts and ids; null: any number. */
    bytes: number | null;
    /** A day or month of UTC, or in all. */
    period: 'day' | 'month' | 'total';
  } | null;
  /** Until when the secret before the last rotation works; null: it does not. */
  previous_expires_at: string | null;
}

export interface RotatedApiKey {
  id: number;
  name: string;
  role: 'admin' | 'readwrite' | 'readonly';
  created_at: string;
  is_active: boolean;
  expires_at: string | null;
  last_used_at: string | null;
  /** Collections that the key is limited to; null: all. */
  collections: Array<{
    name?: string;
    prefix?: string;
    /** The role for them. */
    role: 'admin' | 'readwrite' | 'readonly';
  }> | null;
  /** Networks that it may be used from; null: all. */
  allowed_networks: string[] | null;
  /** Requests in any 60 seconds; 0: no limit; null: RATE_LIMIT_PER_MINUTE. */
  rate_limit_per_minute: number | null;
  /** The most that it may store; null: as much as there is room for. */
  quota: {
    /** null: any number. */
    items: number | null;
    /** Of vectors, metadata, texts and ids; null: any number. */
    bytes: number | null;
    /** A day or month of UTC, or in all. */
    period: 'day' | 'month' | 'total';
  } | null;
  /** Until when the secret before the last rotation works; null: it does not. */
  previous_expires_at: string | null;
  /** The secret; shown this once. */
  key: string;
  rotated: true;
}

export interface UsageOfKey {
  total_requests: number;
  last_24h: number;
  last_7d: number;
  last_30d: number;
  by_endpoint: Record<string, number>;
  last_request_at: string | null;
  /** What it has stored of its quota in this period, and when that counts anew; null: it has none. */
  quota_used: {
    /** null: any number. */
    items: number | null;
    /** Of vectors, metadata, texts and ids; null: any number. */
    bytes: number | null;
    /** A day or month of UTC, or in all. */
    period: 'day' | 'month' | 'total';
    /** When it counts anew; null: never. */
    resets_at: string | null;
  } | null;
}

export interface UsageSummary {
  total_requests: number;
  last_24h: number;
  last_7d: number;
  last_30d: number;
  by_endpoint: Record<string, number>;
  last_request_at: string | null;
  overall: Usage;
  by_key: Array<{
    key_id: number;
    key_name: string;
    total_requests: number;
    last_24h: number;
    last_7d: number;
    last_30d: number;
    by_endpoint: Record<string, number>;
    last_request_at: string | null;
  }>;
}

export interface Usage {
  total_requests: number;
  last_24h: number;
  last_7d: number;
  last_30d: number;
  by_endpoint: Record<string, number>;
  last_request_at: string | null;
}

export interface Caller {
  /** null for a bearer token. */
  key_id: number | null;
  /** Whom the bearer token speaks for; null for a key. */
  subject: string | null;
  name: string;
  role: 'admin' | 'readwrite' | 'readonly';
  expires_at: string | null;
  /** Collections that the key is limited to; null: all. */
  collections: Array<{
    name?: string;
    prefix?: string;
    /** The role for them. */
    role: 'admin' | 'readwrite' | 'readonly';
  }> | null;
  /** The most that it may store; null: as much as there is room for. */
  quota: {
    /** null: any number. */
    items: number | null;
    /** Of vectors, metadata, texts and ids; null: any number. */
    bytes: number | null;
    /** A day or month of UTC, or in all. */
    period: 'day' | 'month' | 'total';
  } | null;
  /** What it has stored of its quota in this period, and when that counts anew; null: it has none, or that can not be told while the cluster store can not be reached. */
  quota_used: {
    /** null: any number. */
    items: number | null;
    /** Of vectors, metadata, texts and ids; null: any number. */
    bytes: number | null;
    /** A day or month of UTC, or in all. */
    period: 'day' | 'month' | 'total';
    /** When it counts anew; null: never. */
    resets_at: string | null;
  } | null;
}

export interface Node {
  id: string;
  address: string;
  zone: string;
  pid: number;
  state: 'up' | 'draining' | 'drained' | 'down';
  /** When a node that is down was last a member; null if it is not down, or nobody saw it go. */
  down_since: string | null;
  primaries: number;
  replicas: number;
  vectors: number;
  disk_bytes: number;
}

export interface Shard {
  collection: string;
  shard: number;
  epoch: number;
  primary: string | null;
  in_sync: string[];
  learners: Array<{
    node: string;
    progress: number;
  }>;
  state: 'ok' | 'degraded' | 'unavailable';
  vectors: number;
  last_op: number;
  /** Operations each replica is behind, by node id. */
  lag_ops: Record<string, number>;
  /** The latest epoch that a node knows, when the shard map is earlier: etcd was put back from a backup. */
  later_epoch: number | null;
}

export interface Activity {
  process: {
    /** null unless the key is an admin’s; pid, too. */
    id: string | null;
    pid: number | null;
    uptime_seconds: number;
    memory_bytes: number;
    heap_bytes: number;
    /** How many are busy with it. */
    processors: number;
  };
  /** The time that rates are over, up to now. */
  rate_seconds: number;
  /** The time that p50_ms and p99_ms are over. */
  quantile_seconds: number;
  requests: {
    per_second: number;
    errors_per_second: number;
    /** null: there was none. */
    p50_ms: number | null;
    p99_ms: number | null;
    /** Since the process started. */
    total: number;
    errors: number;
  };
  /** Those that were called since the start, the busiest first. */
  operations: Array<{
    endpoint: string;
    per_second: number;
    errors_per_second: number;
    /** null: there was none. */
    p50_ms: number | null;
    p99_ms: number | null;
    /** Since the process started. */
    total: number;
    errors: number;
  }>;
  /** Calls of the model for queries and for passages to store. */
  embedding: Array<{
    kind: string;
    per_second: number;
    errors_per_second: number;
    /** null: there was none. */
    p50_ms: number | null;
    p99_ms: number | null;
    /** Since the process started. */
    total: number;
    errors: number;
  }>;
  in_flight: number;
  body_bytes: number;
  /** Requests refused because the process was busy, since it started. */
  shed_total: number;
  /** LOG_SLOW_MS. */
  slow_ms: number;
  /** The last hundred that took slow_ms or longer, the latest first; null unless the key is an admin’s. */
  slow_requests: Array<{
    at: string;
    method: string;
    endpoint: string;
    collection: string | null;
    code: number;
    ms: number;
    key_id: number | null;
    request_id: string;
  }> | null;
}

/** What each operation takes and answers, by its operationId. */
export interface Operations {
  /**
   * What this is and where to go on: GET /
   *
   * A browser, which accepts text/html, is sent to the dashboard at /ui.
   *
   * No key needed.
   */
  get: {
    answer: {
      message: string;
      docs: string | null;
      ui: string | null;
      endpoints: Array<{
        method: string;
        path: string;
        summary: string;
      }>;
    };
  };
  /**
   * Metrics in Prometheus text format: GET /metrics
   *
   * At most a second old.
   *
   * No key needed.
   */
  get_metrics: {
    answer: string;
  };
  /**
   * This document: GET /openapi.json
   *
   * No key needed.
   */
  get_openapi_json: {
    answer: Record<string, unknown>;
  };
  /**
   * Create a collection: POST /v1/collections
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 409, 422, 429, 500.
   */
  post_collections: {
    body: {
      name: string;
      /** Numbers of its vectors. Needed unless embedding says by which model they are made. */
      dim?: number;
      /** Default: "cosine". */
      distance_metric?: 'cosine' | 'l2' | 'ip';
      description?: string;
      /** Language of the keyword text, for good: words are found in all their forms, and its function words are left out of queries that hold others. zh, ja, ko, auto: queries have words by a dictionary. Default: none. */
      language?: 'ar' | 'ca' | 'cs' | 'da' | 'de' | 'en' | 'es' | 'eu' | 'fi' | 'fr' | 'ga' | 'hu' | 'hy' | 'it' | 'nl' | 'no' | 'pt' | 'ro' | 'ru' | 'sl' | 'sv' | 'ta' | 'tr' | 'zh' | 'ja' | 'ko' | 'auto';
      /** What keyword search looks in: its words, and those of $text without fields, are of these alone; title:word of another path is a condition, and ranks nothing. Default: the text and all strings of the metadata, alike. PATCH changes it. */
      keyword_fields?: Array<{
        /** A path of the metadata with all strings under it; "text" is the item’s text. */
        path: string;
        /** Each of its words counts as if it stood there so often (BM25F). Default: 1. */
        weight?: number;
        /** What cuts its words: a language, or unicode, which knows none. Each query is cut by all of them, and finds what each makes of a word in its own fields. Default: the language of the collection. */
        analyser?: 'ar' | 'ca' | 'cs' | 'da' | 'de' | 'en' | 'es' | 'eu' | 'fi' | 'fr' | 'ga' | 'hu' | 'hy' | 'it' | 'nl' | 'no' | 'pt' | 'ro' | 'ru' | 'sl' | 'sv' | 'ta' | 'tr' | 'zh' | 'ja' | 'ko' | 'auto' | 'unicode';
      }>;
      /** What words of queries mean besides: words of a list ["car", "automobile", "motor car"] mean each other; of an object, those of `from` mean those of `to`, too. They hold at once, also for filters by words, and change nothing that is stored. */
      synonyms?: Array<string[] | {
        from: string | string[];
        to: string[];
      }>;
      /** Stop words of the collection besides those of its language. They hold at once, for queries and filters by words, and change nothing that is stored. */
      stop_words?: {
        /** Words that queries leave out if they have others. Default: []. */
        add?: string[];
        /** Stop words of the language that count. Default: []. */
        remove?: string[];
      };
      /** Whether positions of words are kept on the disk, for good, once they are worth it: phrases read them instead of texts. Default: true. */
      keyword_positions?: boolean;
      /** How vectors are held in memory, for good: a byte per dimension (int8), half a byte (int4) or one bit (binary). Fewer bits take less memory and make searches slower; the promised recall is the same, because the best are scored again with the original vectors on the disk. Default: "int8". */
      quantization?: 'int8' | 'int4' | 'binary';
      /** Where ids and metadata are, which answers carry, for good: in memory, or in files that are read through a bounded cache (disk). On the disk they take no memory but for some 50 bytes of each item and what filters look up; answers are the same, and wait for the disk where the cache does not have them. Default: "memory". */
      metadata?: 'memory' | 'disk';
      /** Where the index of the vectors is, for good: in memory, or in files of which the system keeps what it has room for (disk). On the disk a vector takes some 10 bytes of memory; searches read files and take longer, and the promised recall is the same. The original vectors are on the disk either way. Default: "memory". */
      vectors?: 'memory' | 'disk';
      /** Items without an expires_at of their own expire so long after their last write. Default: never. It holds for the writes that come: an item keeps what its last write gave it. */
      ttl_seconds?: number;
      shards?: number;
      replicas?: number;
      /** Replicas that must have a write before it is acknowledged: 1 by default for up to two replicas, 2 for more; at most `replicas`. */
      min_in_sync?: number;
      /** The most that it may hold; needs the role admin. Default: COLLECTION_QUOTA_ITEMS and COLLECTION_QUOTA_BYTES. */
      quota?: {
        /** Items that it may hold; left out: any number. */
        items?: number;
        /** Bytes that it may take on the disk, of one replica: what the stats show as disk_bytes; left out: any number. */
        bytes?: number;
      };
      /** How its texts become vectors, until a reembed. Its dim is then that of the model. Default: by EMBEDDING_MODEL, when its first text comes. */
      embedding?: {
        /** "local:" and EMBEDDING_MODEL, one of EMBEDDING_MODELS or builtin; or a provider of EMBEDDING_PROVIDERS and a model of its, as "openai:text-embedding-3-small". */
        model: string;
        /** Number format of a local model. Default: EMBEDDING_DTYPE. */
        dtype?: 'auto' | 'q8' | 'fp32' | 'int8' | 'uint8' | 'fp16' | 'q4' | 'bnb4' | 'q4f16';
        /** Put before texts that are looked for. Default: what the model itself asks for. */
        query_prefix?: string;
        /** The same before texts that are stored. */
        passage_prefix?: string;
        /** Vectors are cut to so many numbers and brought to unit length again: for models that are made for it. */
        truncate_dim?: number;
      };
    };
    answer: Collection;
  };
  /**
   * List all collections that the key may use: GET /v1/collections
   *
   * Role: any.
   *
   * Error codes: 401, 403, 429, 500.
   */
  get_collections: {
    answer: {
      collections: Collection[];
    };
  };
  /**
   * Show one collection: GET /v1/collections/{name}
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  get_collections_name: {
    answer: Collection;
  };
  /**
   * Change the description, the time to live, the keyword fields, the synonyms or the stop words of a collection: PATCH /v1/collections/{name}
   *
   * What is left out stays; null clears it.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  patch_collections_collection_name: {
    body: {
      description?: string | null;
      /** null: items are kept. It holds for the writes that come: an item keeps what its last write gave it. */
      ttl_seconds?: number | null;
      /** null: the text and all strings of the metadata. A job (kind reindex, its id is job_id) makes the new index beside the present one, which is searched until the new one is whole. */
      keyword_fields?: Array<{
        /** A path of the metadata with all strings under it; "text" is the item’s text. */
        path: string;
        /** Each of its words counts as if it stood there so often (BM25F). Default: 1. */
        weight?: number;
        /** What cuts its words: a language, or unicode, which knows none. Each query is cut by all of them, and finds what each makes of a word in its own fields. Default: the language of the collection. */
        analyser?: 'ar' | 'ca' | 'cs' | 'da' | 'de' | 'en' | 'es' | 'eu' | 'fi' | 'fr' | 'ga' | 'hu' | 'hy' | 'it' | 'nl' | 'no' | 'pt' | 'ro' | 'ru' | 'sl' | 'sv' | 'ta' | 'tr' | 'zh' | 'ja' | 'ko' | 'auto' | 'unicode';
      }> | null;
      synonyms?: Array<string[] | {
        from: string | string[];
        to: string[];
      }> | null;
      stop_words?: {
        /** Words that queries leave out if they have others. Default: []. */
        add?: string[];
        /** Stop words of the language that count. Default: []. */
        remove?: string[];
      } | null;
    };
    answer: Collection;
  };
  /**
   * Delete a collection with everything in it, for good: DELETE /v1/collections/{name}
   *
   * One that has aliases only with `force=true`; they go with it.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  delete_collections_name: {
    query: {
      /** Its aliases go with it, if it has any. Default: false. */
      force?: boolean;
    };
    answer: {
      deleted: string;
      name: string;
      status: 'deleted';
    };
  };
  /**
   * Show how far the index of a collection is built: GET /v1/collections/{name}/stats
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  get_collections_name_stats: {
    answer: CollectionStats;
  };
  /**
   * Make the best index of the vectors that are there: POST /v1/collections/{name}/optimize
   *
   * Removes the rows of deleted and replaced vectors, adds all others to the graph, refines them, measures the effort of searches anew and keeps the order of words, so that phrases need not read texts: what happens in the background anyway where it is worth it. Goes on after the answer as a job (`GET /v1/jobs?kind=optimize`); the stats show how far it is. Does nothing while one is under way.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  post_collections_name_optimize: {
    answer: CollectionStats;
  };
  /**
   * Rewrite the files, so that nothing of deleted and expired vectors is in them: POST /v1/collections/{name}/purge
   *
   * Goes on after the answer as a job (`GET /v1/jobs?kind=purge`), while the collection is used; GET shows how far it is. When a replica is done, no file of it holds a vector, a text or metadata that was deleted, replaced or had expired when it began. Backups, and what the disk keeps of blocks that were freed, are out of its reach. Where one is under way, another follows it. A node that is away or starts anew is waited for.
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  post_collections_name_purge: {
    answer: Purge;
  };
  /**
   * Show how far a purge is: GET /v1/collections/{name}/purge
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  get_collections_name_purge: {
    answer: Purge;
  };
  /**
   * Set or take away the quota of a collection: POST /v1/collections/{name}/quota
   *
   * The quota is what the body says, and what it leaves out is not bounded. A write that would add more items or bytes is refused with 400, which names the quota and what there is; deleting goes on. What is there already stays. Close to the quota, updates of items that are there do not count as new. Items are exact for all writes of one process; in a cluster, what other coordinators add within a second may come on top. Bytes are those on the disk, which fall some time after items were deleted.
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_quota: {
    body: {
      /** Items that it may hold; left out: any number. */
      items?: number;
      /** Bytes that it may take on the disk, of one replica: what the stats show as disk_bytes; left out: any number. */
      bytes?: number;
    };
    answer: Collection;
  };
  /**
   * Change the number of shards of a collection: POST /v1/collections/{name}/reshard
   *
   * Goes on after the answer; `GET /v1/cluster` shows how far it is. The collection is used as before meanwhile, and calls wait for less than a second when its new shards take over. Until then it takes the room of both sets of shards.
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  post_collections_name_reshard: {
    body: {
      shards: number;
    };
    answer: Reshard;
  };
  /**
   * Give up a change of the number of shards: DELETE /v1/collections/{name}/reshard
   *
   * The collection stays as it was. Also removes one that failed from the list in `GET /v1/cluster`.
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  delete_collections_name_reshard: {
    answer: Reshard;
  };
  /**
   * Export vectors in insertion order: GET /v1/collections/{name}/export
   *
   * The answer is streamed; a failure half-way breaks the connection off, and so does a switch to vectors of another model: begin again.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  get_collections_collection_name_export: {
    query: {
      /** Default: 10000. */
      limit?: number;
      /** How vectors are answered: as an array of numbers, or as base64 of little-endian float32 values, which is shorter and faster to write and to read. Default: "array". */
      vector_format?: 'array' | 'base64';
    };
    answer: {
      collection: string;
      dim: number;
      distance_metric: 'cosine' | 'l2' | 'ip';
      vectors: Array<{
        external_id: string;
        /** Numbers, or with vector_format base64 the base64 of little-endian float32 values. */
        vector: Float32Array;
        metadata: Metadata;
        /** When the item expires; absent if it never does. */
        expires_at?: string;
        /** Rises with each change of the item, and is never given to another item of the same id. For if_version. */
        version?: number;
      }>;
      count: number;
    };
  };
  /**
   * Embed all texts of a collection anew, with another model: POST /v1/collections/{name}/reembed
   *
   * Begins a job, and the collection is used as before meanwhile. It looks whether every item has a text (step `checking`), embeds them into a second set of shards (`filling`), follows what is written, and asks both sets the same queries. Then it is `ready`: its `result` has `overlap_at_10`, `ndcg_at_10` where queries were judged, and `bytes`. After `POST /v1/jobs/{id}/switch`, or by itself with `"switch": "auto"`, all calls use the new vectors (`switched`); `POST /v1/jobs/{id}/back` takes that back for `keep_hours`, and loses no write. Ids, versions, metadata and expiry stay. Vectors that callers gave are replaced where there is a text, and refused afterwards unless of the new dimension.
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  post_collections_name_reembed: {
    body: {
      /** "local:" and EMBEDDING_MODEL, one of EMBEDDING_MODELS or builtin; or a provider of EMBEDDING_PROVIDERS and a model of its, as "openai:text-embedding-3-small". */
      model: string;
      /** Number format of a local model. Default: EMBEDDING_DTYPE. */
      dtype?: 'auto' | 'q8' | 'fp32' | 'int8' | 'uint8' | 'fp16' | 'q4' | 'bnb4' | 'q4f16';
      /** Put before texts that are looked for. Default: what the model itself asks for. */
      query_prefix?: string;
      /** The same before texts that are stored. */
      passage_prefix?: string;
      /** Vectors are cut to so many numbers and brought to unit length again: for models that are made for it. */
      truncate_dim?: number;
      /** Of vectors of a model that makes any (builtin). Default: as now. */
      dim?: number;
      /** What vectors are made of from then on: {{text}}, and paths of metadata, as "{{title}}\n{{text}}". What is missing is empty; an item with nothing of it has no text. Default: "{{text}}". */
      template?: string;
      /** fail: where items have no text, the job fails and names them; drop: they are left out. Default: "fail". */
      on_no_text?: 'fail' | 'drop';
      /** With which queries old and new vectors are compared. Default: {"sample": 200}. */
      compare?: {
        /** So many items, by their texts. */
        sample?: number;
        /** The name of judgements of the collection. */
        judged?: string;
      };
      /** manual: the job waits for POST /v1/jobs/{id}/switch; auto: it switches once it has compared. Default: "manual". */
      switch?: 'manual' | 'auto';
      /** How long there is a way back (POST /v1/jobs/{id}/back). Default: 24; 0 where vectors are of no model now. */
      keep_hours?: number;
    };
    answer: Job;
  };
  /**
   * Create, switch and delete aliases: all of it, or nothing: POST /v1/aliases
   *
   * An alias is another name of a collection: every endpoint takes it, and answers with the collection’s own. `switch` moves it to another collection: a request that begins after the answer sees the new one, through whichever coordinator. Aliases and collections are one name space. Needs the role readwrite for the alias and for the collection that gets it; who uses an alias needs rights for the collection, or a key that names the alias. Answers the aliases that are named, as they are then.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  post_aliases: {
    body: {
      /** 1 to 50, done in this order. */
      actions: Array<{
        /** A new alias of a collection. */
        create?: {
          alias: string;
          collection: string;
        };
        /** The alias is moved to this collection. */
        switch?: {
          alias: string;
          collection: string;
        };
        delete?: {
          alias: string;
        };
      }>;
    };
    answer: {
      aliases: Alias[];
    };
  };
  /**
   * List the aliases of collections that the key may use, by name: GET /v1/aliases
   *
   * Role: any.
   *
   * Error codes: 401, 403, 429, 500.
   */
  get_aliases: {
    answer: {
      aliases: Alias[];
    };
  };
  /**
   * Insert or update one vector: POST /v1/collections/{name}/upsert
   *
   * Give a vector or a text that the service embeds; the vector wins. Metadata or text that is left out of an update stays as stored. With if_version or only_if, it is done only if the stored vector is as they say; the error 409 has its present version in conflicts.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  post_collections_name_upsert: {
    body: {
      /** Any Unicode but control characters. */
      external_id: string;
      /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
      vector?: VectorLike;
      /** The model that the vector is of. If the collection’s is another one, it is refused (409). */
      vector_model?: string;
      /** At most 262144 bytes in UTF-8. */
      text?: string;
      /** Another name for text. */
      content?: string;
      /** At most 65536 bytes as JSON, 4096 keys and array elements, and 32 levels deep. */
      metadata?: Metadata;
      /** When the item expires, ISO 8601 with a zone: from then on it is gone for every read. A time that is over is allowed. null: at no time of its own, so that ttl_seconds of the collection counts, if it has that. Left out: at the time of its own that it has. */
      expires_at?: string | null;
      /** The item must have this version, or the error is 409. */
      if_version?: number;
      /** The item must not exist, or must exist, or the error is 409. */
      only_if?: 'absent' | 'present';
      /** Default: false. */
      include_timing?: boolean;
    };
    answer: {
      external_id: string;
      status: 'inserted' | 'updated';
      /** Rises with each change of the item, and is never given to another item of the same id. For if_version. */
      version?: number;
      timing_ms?: WriteTiming;
    };
  };
  /**
   * Insert or update many vectors: POST /v1/collections/{name}/bulk_upsert
   *
   * The whole batch is checked before anything is written; one bad item refuses it all. So does one that is not as its if_version or only_if says (409), unless on_error is skip: then its result tells why it was skipped. Should another change come in between, the error tells which vectors of other shards were written.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  post_collections_name_bulk_upsert: {
    body: {
      items: Array<{
        /** Any Unicode but control characters. */
        external_id: string;
        /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
        vector?: VectorLike;
        /** The model that the vector is of. If the collection’s is another one, it is refused (409). */
        vector_model?: string;
        /** At most 262144 bytes in UTF-8. */
        text?: string;
        /** Another name for text. */
        content?: string;
        /** At most 65536 bytes as JSON, 4096 keys and array elements, and 32 levels deep. */
        metadata?: Metadata;
        /** When the item expires, ISO 8601 with a zone: from then on it is gone for every read. A time that is over is allowed. null: at no time of its own, so that ttl_seconds of the collection counts, if it has that. Left out: at the time of its own that it has. */
        expires_at?: string | null;
        /** The item must have this version, or the error is 409. */
        if_version?: number;
        /** The item must not exist, or must exist, or the error is 409. */
        only_if?: 'absent' | 'present';
      }>;
      /** fail: an item that is not valid, of another dimension, or not as its if_version or only_if says keeps all from being written. skip: only itself, and its result says why. What concerns the whole request, its size for example, refuses it all. Default: "fail". */
      on_error?: 'fail' | 'skip';
      /** Default: false. */
      include_timing?: boolean;
    };
    answer: {
      results: Array<{
        /** null for a skipped item that has none. */
        external_id: string | null;
        status: 'inserted' | 'updated' | 'conflict' | 'invalid';
        /** Rises with each change of the item, and is never given to another item of the same id. For if_version. */
        version?: number;
        /** The place in items; present for an item that was skipped. */
        index?: number;
        /** Why the item was skipped. version is then that of the vector that is there, of a conflict. */
        error?: {
          code: number;
          message: string;
        };
      }>;
      timing_ms?: WriteTiming;
    };
  };
  /**
   * Delete one vector: DELETE /v1/collections/{name}/delete/{id}
   *
   * With if_version, only if the vector has this version; the error 409 has the present one in conflicts.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  delete_collections_name_delete_id: {
    query: {
      /** The item must have this version, or the error is 409. */
      if_version?: number;
    };
    answer: {
      deleted: string;
      external_id: string;
      status: 'deleted';
    };
  };
  /**
   * Delete many vectors: POST /v1/collections/{name}/delete_batch
   *
   * Ids that do not exist are skipped and listed in not_found.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  post_collections_name_delete_batch: {
    body: {
      external_ids: string[];
      /** The versions that the vectors must have, in the order of external_ids; null: any. One that has another keeps all from being deleted (409). */
      if_versions?: Array<number | null>;
    };
    answer: {
      deleted_count: number;
      deleted_ids: string[];
      deleted: string[];
      not_found: string[];
    };
  };
  /**
   * Delete every vector whose metadata match: POST /v1/collections/{name}/delete_by_filter
   *
   * Filters must not be empty; a document goes by {"document_id": …}. A vector that is written meanwhile may stay or go. Should a shard fail half-way (500), some matches are deleted and the others are as they were: repeat the call to delete the rest. deleted_count is what this call deleted.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_delete_by_filter: {
    body: {
      /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
      filters: Filters;
    };
    answer: {
      deleted_count: number;
    };
  };
  /**
   * Show one stored vector: GET /v1/collections/{name}/vectors/{id}
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  get_collections_name_vectors_id: {
    query: {
      /** How vectors are answered: as an array of numbers, or as base64 of little-endian float32 values, which is shorter and faster to write and to read. Default: "array". */
      vector_format?: 'array' | 'base64';
    };
    answer: {
      external_id: string;
      /** Numbers, or with vector_format base64 the base64 of little-endian float32 values. */
      vector: Float32Array;
      metadata: Metadata;
      text: string | null;
      /** When the item expires; absent if it never does. */
      expires_at?: string;
      /** Rises with each change of the item, and is never given to another item of the same id. For if_version. */
      version?: number;
    };
  };
  /**
   * Change parts of one vector: PATCH /v1/collections/{name}/vectors/{id}
   *
   * What is left out stays: metadata are merged at the moment of the write, and the vector need not be sent. A new text gets a new vector if the former one was made of its text. With if_version, only if the vector has this version (409).
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  patch_collections_name_vectors_id: {
    body: {
      /** A JSON Merge Patch (RFC 7396): members are put, objects merged, and what is null is taken away. */
      metadata?: Metadata;
      /** replace: metadata is what the vector has afterwards. Default: "merge". */
      metadata_mode?: 'merge' | 'replace';
      /** The vector is made anew of it, if it was made of the former text and none is given. */
      text?: string;
      /** true: the vector is made of the text, wherever the former one came from. false: it stays, and a warning says so. Left out: as text says. */
      embed?: boolean;
      /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
      vector?: VectorLike;
      /** The model that the vector is of. If the collection’s is another one, it is refused (409). */
      vector_model?: string;
      /** When the item expires, ISO 8601 with a zone: from then on it is gone for every read. A time that is over is allowed. null: at no time of its own, so that ttl_seconds of the collection counts, if it has that. Left out: at the time of its own that it has. */
      expires_at?: string | null;
      /** The item must have this version, or the error is 409. */
      if_version?: number;
    };
    answer: {
      external_id: string;
      status: 'updated';
      /** Rises with each change of the item, and is never given to another item of the same id. For if_version. */
      version?: number;
    };
  };
  /**
   * Change the metadata of every vector whose metadata match: POST /v1/collections/{name}/update_by_filter
   *
   * Each match is changed once, if it still matches at that moment; one that is written meanwhile may be or not. updated_count is exact. Should a shard fail half-way (500), or metadata become too many (400), the error says how many were changed; the others are as they were.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_update_by_filter: {
    body: {
      /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
      filters: Filters;
      /** Members that the metadata get; objects are merged with those that are there. */
      set?: Record<string, unknown>;
      /** Names of members that are taken away, of the metadata themselves: a dot is a part of a name. */
      unset?: string[];
      /** When the item expires, ISO 8601 with a zone: from then on it is gone for every read. A time that is over is allowed. null: at no time of its own, so that ttl_seconds of the collection counts, if it has that. Left out: at the time of its own that it has. */
      expires_at?: string | null;
    };
    answer: {
      updated_count: number;
    };
  };
  /**
   * Fetch stored vectors by id: POST /v1/collections/{name}/vectors/fetch
   *
   * In the order asked, missing ones left out.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_vectors_fetch: {
    body: {
      ids: string[];
      /** Default: true. */
      include_vectors?: boolean;
      /** How vectors are answered: as an array of numbers, or as base64 of little-endian float32 values, which is shorter and faster to write and to read. Default: "array". */
      vector_format?: 'array' | 'base64';
    };
    answer: {
      vectors: StoredVector[];
    };
  };
  /**
   * Make vectors of texts, as the collection does: POST /v1/collections/{name}/embed
   *
   * By its model, with the prefixes of its `embedding`. Nothing is stored. The texts are all that vectors are made of: where the collection has an `embedding.template`, fill it in yourself.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_embed: {
    body: {
      texts: string[];
      /** query: as searches look for a text; passage: as it is stored. Some models make other vectors of it. Default: "query". */
      kind?: 'query' | 'passage';
    };
    answer: {
      /** The collection’s; null: no text of it was stored yet, and the default model made them. */
      embedding_model: string | null;
      /** In the order of the texts. */
      vectors: number[][];
    };
  };
  /**
   * Read a collection page by page, in insertion order or by values of metadata: POST /v1/collections/{name}/scroll
   *
   * A cursor stays valid while the collection changes; next_cursor is null at the end, and only there: a page ends at `limit` vectors, or before that soon after 16 MiB of them.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_scroll: {
    body: {
      /** next_cursor of the page before; left out for the first page. */
      cursor?: string;
      /** Default: 100. */
      limit?: number;
      /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
      filters?: Filters;
      /** Vectors come by values of their metadata instead: numbers, texts, false, true; equal ones by external_id. An array counts by its least value, or with "desc" by its greatest. */
      order_by?: Array<{
        field: string;
        /** Default: "asc". */
        direction?: 'asc' | 'desc';
        /** Default: "last". */
        missing?: 'first' | 'last';
      }>;
      /** Default: true. */
      include_vectors?: boolean;
      /** How vectors are answered: as an array of numbers, or as base64 of little-endian float32 values, which is shorter and faster to write and to read. Default: "array". */
      vector_format?: 'array' | 'base64';
    };
    answer: {
      vectors: StoredVector[];
      next_cursor: string | null;
    };
  };
  /**
   * Find the nearest vectors: POST /v1/collections/{name}/search
   *
   * Order: score, highest first, then external_id. k + offset is at most MAX_K.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_search: {
    query: {
      /** The answer also tells where the time went: `profile`. Default: false. */
      profile?: boolean;
    };
    body: {
      /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
      vector?: VectorLike;
      text?: string;
      /** What results are like: each {"id": of a stored item}, {"vector": …} or {"text": …}. Items among positives and negatives are no results. */
      positives?: Array<{
        /** Of a stored item, which is then no result. */
        id?: string;
        /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
        vector?: VectorLike;
        text?: string;
      }>;
      /** What results are unlike, in the same forms. Needs a positive. */
      negatives?: Array<{
        /** Of a stored item, which is then no result. */
        id?: string;
        /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
        vector?: VectorLike;
        text?: string;
      }>;
      /** "average" (default): the nearest to twice the mean of the positives less the mean of the negatives; for cosine, means of directions. "best_score": a result’s score is that against the positive nearest to it; what is as near to a negative is left out. Reads up to the 10,000 nearest of each positive. */
      strategy?: 'average' | 'best_score';
      /** Default: 10. */
      k?: number;
      /** Default: 0. */
      offset?: number;
      /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
      filters?: Filters;
      /** Search effort set by hand; left out, it is calibrated to RECALL_TARGET. */
      ef?: number;
      /** Compares with every vector. Default: false. */
      exact?: boolean;
      /** Change scores by what items are: by filters ({"filters": {…}, "weight": 1.5}), a number ({"field": "likes", "modifier": "log1p", "weight": 0.2}) or how near a value is ({"field": "published", "decay": {"origin": "now", "scale": "7d"}, "weight": 0.3}). They reach all items, not the best of a list without them. Lists that are fused are ordered by boosted scores before. */
      boosts?: Array<{
        /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
        filters?: Filters;
        /** A path of the metadata: numbers, dates or points. Of a list, the greatest or the nearest. */
        field?: string;
        /** Itself (default), ln(1 + x), √x, x² or 1 / (1 + x), these with 0 for what is below 0. */
        modifier?: 'none' | 'log1p' | 'sqrt' | 'square' | 'reciprocal';
        /** Instead of modifier: how near a value is to an origin, from 1 to 0. */
        decay?: {
          /** With x, how many times scale a value is beyond offset: at^x, at^(x²), or 1 − (1 − at) × x. Default: "exp". */
          shape?: 'exp' | 'gauss' | 'linear';
          /** A number; for texts that are dates a date, "now" or "now-7d", the same for all shards; for points a place. */
          origin: number | string | {
            lat: number;
            lon: number;
          };
          /** Where, beyond offset, the decay is `at`: a number; of dates "7d" (s, m, h, d, w); of places metres, "5km". */
          scale: number | string;
          /** Up to there it is 1. As scale; default 0. */
          offset?: number | string;
          /** Between 0 and 1. Default: 0.5. */
          at?: number;
        };
        /** With filters: what those that pass get; multiplied, at least 0.001. */
        weight: number;
        /** The number, or with decay the decay, of items that have none; left out: they get nothing. */
        missing?: number;
      }>;
      /** multiply (default): filters give the factor weight, the others 1 + weight × their number, from 0.001 on, and 1 where there is none; a score is multiplied by all factors, or divided if it is below 0, so that a factor above 1 always helps. add: filters give weight, the others weight × their number, and 0 where there is none; all are added to the score. */
      boost_mode?: 'multiply' | 'add';
      /** The model that the vectors of the request are of. If the collection’s is another, they are refused (409). */
      vector_model?: string;
      /** Paths of the metadata that results carry, such as "author.name". Left out: all; []: none. A path that an item lacks is left out of it. */
      fields?: string[];
      /** Results also carry their text; "" where an item has none. Default: false. */
      include_text?: boolean;
      /** Results also carry their `version`, for if_version. Their metadata and texts are read together with it, so they are of that version. Default: false. */
      include_version?: boolean;
      /** A result’s text has so many UTF-16 code units at most; what is behind is left out. Places of highlights are those of the whole text. */
      text_max?: number;
      /** The answer also has `total_matches`: how many items pass the filters, exactly. Default: false. */
      total?: boolean;
      /** Orders the hits of the page by values of their metadata: numbers, texts, false, true; equal ones stay best first. An array counts by its least value, or with "desc" by its greatest. */
      order_by?: Array<{
        field: string;
        /** Default: "asc". */
        direction?: 'asc' | 'desc';
        /** Default: "last". */
        missing?: 'first' | 'last';
      }>;
      /** Results also carry `context`: the text of so many chunks of their document before and after their own, as metadata have these in document_id and chunk_index; what neighbours share is there once. Windows that touch are one, up to 64 chunks, in each of their results. Neighbours need not pass the filters. */
      expand?: {
        /** Default: 0. */
        before?: number;
        /** Default: 0. */
        after?: number;
      };
      /** Results also carry `highlights`: fragments of their fields with words of the query’s text, in any form, as the collection’s keyword search sees them. An answer looks at 2,097,152 UTF-16 code units; results behind that have no `highlights`. */
      highlight?: {
        /** Paths of the metadata, texts or lists of texts; "text" is the item’s text (default). */
        fields?: string[];
        /** Of each field, at most. Best first: those with the most different words of the query. Default: 2. */
        fragments?: number;
        /** UTF-16 code units of a fragment, at most. Default: 160. */
        size?: number;
        /** Put before each word in `text` of a highlight, which is not escaped for HTML. Default: "". */
        pre?: string;
        /** Put behind it. Default: "". */
        post?: string;
        /** meaning: a result without such words shows the sentence nearest to the query, without spans: of its first 32, each of size at most. The collection’s model embeds them, at most 256 for an answer, which waits no more than five seconds for them; results behind have no `highlights`. Default: "words". */
        by?: 'words' | 'meaning';
      };
      /** A path of the metadata. The answer has `groups` instead of `results`: the k best groups of items that have the same number, text or boolean there; an item with a list is in the group of each of its elements. A group is as good as its best hit. k and offset count groups. */
      group_by?: string;
      /** Hits of a group at most. Default 1. */
      group_size?: number;
      /** Items without such a value are left out (default), or each a group with the key null. */
      group_missing?: 'leave_out' | 'each';
      /** Results that differ: by their vectors with {"lambda": 0.7, "candidates": 100}, or by a value with {"field": "author", "at_most": 2}. */
      diversity?: {
        /** 1: by relevance alone, 0: by unlikeness alone. Of the candidates, the next hit is that with the greatest lambda × relevance − (1 − lambda) × its greatest cosine with a hit before. Relevance is the score if it is a cosine, else where it lies between the least and the greatest of the candidates; with rerank, of those that the model has read, which come first. */
        lambda?: number;
        /** With lambda: the best so many hits are chosen from, at least k + offset. Default 100; with rerank top_n, and no more than that. */
        candidates?: number;
        /** Instead of lambda: a path of the metadata, in which no value is in more hits than at_most. */
        field?: string;
        /** Default 1. Of a list, each element counts. */
        at_most?: number;
      };
      /** Pages that continue each other, without offset and as far as the list goes: "first", then `next_cursor` of the page before, which is null at the end. No hit comes twice and none that stays as it is is left out; what has changed since the first page is left out. Where an answer has boost_depth, the list from there on is that of so many items of each shard, the best without boosts, and ends with them; fused with others, once the chain is past 16,384 of these. All fields but k and those of what results carry are to be the same. A chain goes on for 300 seconds (CURSOR_SECONDS), and ends when the collection is resharded. */
      cursor?: string;
      /** Results also carry how they came to their places: of two lists vector_rank, vector_score, vector_part, keyword_rank, keyword_score and keyword_part, of legs rank, score and part of each, of which the parts add up to the score; with diversity by lambda, first_rank (with rerank, reranked_rank) and diversity_score; with boosts, what each of them gave, `boosts`. Default: false. */
      explain?: boolean;
      /** A model that reads the query’s text together with that of each of the best results puts these in another order. Then `score` is the model’s (0 to 1), and `first_score` and `first_rank` are what it was before; results that it has not read keep theirs, without these two, and come behind. Groups are formed, hits that differ chosen, and pages cut, after it. */
      rerank?: {
        /** One of RERANK_MODEL; left out: the first. */
        model?: string;
        /** How many results the model reads; k + offset is at most that. Default: 50, or k + offset if that is more and there is no cursor. */
        top_n?: number;
        /** Results that the model scores less, or not at all, are left out. */
        min_score?: number;
        /** What is not read after so many milliseconds keeps its place behind what is. */
        budget_ms?: number;
        /** What it reads: "text", the item’s text (default), or a path of the metadata, a text or a list of texts. Default: "text". */
        text?: string;
      };
      /** Results that score less are left out: of the list before it is cut by offset and k, so that pages stay as they are. Any finite number. */
      min_score?: number;
      /** Default: false. */
      include_timing?: boolean;
    };
    answer: {
      /** Best first; absent if group_by is given. */
      results?: SearchResult[];
      /** Present, and then instead of results, if group_by is given; best first. */
      groups?: Array<{
        /** What its hits have under group_by; null: a hit without a value there. */
        key: string | number | boolean | null;
        /** That of its best hit. */
        score: number;
        hits: SearchResult[];
      }>;
      /** Vectors in the collection, before filtering. */
      total_count: number;
      k: number;
      offset: number;
      /** With order_by: it ordered the hits of the page. */
      within?: 'hits';
      /** Items that pass the filters; present if total is true. */
      total_matches?: number;
      rerank?: Reranked;
      /** The cursor of the next page, null at the end; present if the request has one. */
      next_cursor?: string | null;
      /** Present if boosts could not reach all items: how many of the best without boosts were looked at, by shard. */
      boost_depth?: number;
      timing_ms?: SearchTiming;
      profile?: SearchProfile;
    };
  };
  /**
   * Run several searches in one call: POST /v1/collections/{name}/bulk_search
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_bulk_search: {
    query: {
      /** The answer also tells where the time went: `profile`. Default: false. */
      profile?: boolean;
    };
    body: {
      queries: Array<{
        /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
        vector?: VectorLike;
        text?: string;
        /** What results are like: each {"id": of a stored item}, {"vector": …} or {"text": …}. Items among positives and negatives are no results. */
        positives?: Array<{
          /** Of a stored item, which is then no result. */
          id?: string;
          /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
          vector?: VectorLike;
          text?: string;
        }>;
        /** What results are unlike, in the same forms. Needs a positive. */
        negatives?: Array<{
          /** Of a stored item, which is then no result. */
          id?: string;
          /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
          vector?: VectorLike;
          text?: string;
        }>;
        /** "average" (default): the nearest to twice the mean of the positives less the mean of the negatives; for cosine, means of directions. "best_score": a result’s score is that against the positive nearest to it; what is as near to a negative is left out. Reads up to the 10,000 nearest of each positive. */
        strategy?: 'average' | 'best_score';
        /** Default: 10. */
        k?: number;
        /** Default: 0. */
        offset?: number;
        /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
        filters?: Filters;
        /** Search effort set by hand; left out, it is calibrated to RECALL_TARGET. */
        ef?: number;
        /** Compares with every vector. Default: false. */
        exact?: boolean;
        /** Change scores by what items are: by filters ({"filters": {…}, "weight": 1.5}), a number ({"field": "likes", "modifier": "log1p", "weight": 0.2}) or how near a value is ({"field": "published", "decay": {"origin": "now", "scale": "7d"}, "weight": 0.3}). They reach all items, not the best of a list without them. Lists that are fused are ordered by boosted scores before. */
        boosts?: Array<{
          /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
          filters?: Filters;
          /** A path of the metadata: numbers, dates or points. Of a list, the greatest or the nearest. */
          field?: string;
          /** Itself (default), ln(1 + x), √x, x² or 1 / (1 + x), these with 0 for what is below 0. */
          modifier?: 'none' | 'log1p' | 'sqrt' | 'square' | 'reciprocal';
          /** Instead of modifier: how near a value is to an origin, from 1 to 0. */
          decay?: {
            /** With x, how many times scale a value is beyond offset: at^x, at^(x²), or 1 − (1 − at) × x. Default: "exp". */
            shape?: 'exp' | 'gauss' | 'linear';
            /** A number; for texts that are dates a date, "now" or "now-7d", the same for all shards; for points a place. */
            origin: number | string | {
              lat: number;
              lon: number;
            };
            /** Where, beyond offset, the decay is `at`: a number; of dates "7d" (s, m, h, d, w); of places metres, "5km". */
            scale: number | string;
            /** Up to there it is 1. As scale; default 0. */
            offset?: number | string;
            /** Between 0 and 1. Default: 0.5. */
            at?: number;
          };
          /** With filters: what those that pass get; multiplied, at least 0.001. */
          weight: number;
          /** The number, or with decay the decay, of items that have none; left out: they get nothing. */
          missing?: number;
        }>;
        /** multiply (default): filters give the factor weight, the others 1 + weight × their number, from 0.001 on, and 1 where there is none; a score is multiplied by all factors, or divided if it is below 0, so that a factor above 1 always helps. add: filters give weight, the others weight × their number, and 0 where there is none; all are added to the score. */
        boost_mode?: 'multiply' | 'add';
        /** The model that the vectors of the request are of. If the collection’s is another, they are refused (409). */
        vector_model?: string;
        /** Paths of the metadata that results carry, such as "author.name". Left out: all; []: none. A path that an item lacks is left out of it. */
        fields?: string[];
        /** Results also carry their text; "" where an item has none. Default: false. */
        include_text?: boolean;
        /** Results also carry their `version`, for if_version. Their metadata and texts are read together with it, so they are of that version. Default: false. */
        include_version?: boolean;
        /** A result’s text has so many UTF-16 code units at most; what is behind is left out. Places of highlights are those of the whole text. */
        text_max?: number;
        /** The answer also has `total_matches`: how many items pass the filters, exactly. Default: false. */
        total?: boolean;
        /** Orders the hits of the page by values of their metadata: numbers, texts, false, true; equal ones stay best first. An array counts by its least value, or with "desc" by its greatest. */
        order_by?: Array<{
          field: string;
          /** Default: "asc". */
          direction?: 'asc' | 'desc';
          /** Default: "last". */
          missing?: 'first' | 'last';
        }>;
        /** Results also carry `context`: the text of so many chunks of their document before and after their own, as metadata have these in document_id and chunk_index; what neighbours share is there once. Windows that touch are one, up to 64 chunks, in each of their results. Neighbours need not pass the filters. */
        expand?: {
          /** Default: 0. */
          before?: number;
          /** Default: 0. */
          after?: number;
        };
        /** Results also carry `highlights`: fragments of their fields with words of the query’s text, in any form, as the collection’s keyword search sees them. An answer looks at 2,097,152 UTF-16 code units; results behind that have no `highlights`. */
        highlight?: {
          /** Paths of the metadata, texts or lists of texts; "text" is the item’s text (default). */
          fields?: string[];
          /** Of each field, at most. Best first: those with the most different words of the query. Default: 2. */
          fragments?: number;
          /** UTF-16 code units of a fragment, at most. Default: 160. */
          size?: number;
          /** Put before each word in `text` of a highlight, which is not escaped for HTML. Default: "". */
          pre?: string;
          /** Put behind it. Default: "". */
          post?: string;
          /** meaning: a result without such words shows the sentence nearest to the query, without spans: of its first 32, each of size at most. The collection’s model embeds them, at most 256 for an answer, which waits no more than five seconds for them; results behind have no `highlights`. Default: "words". */
          by?: 'words' | 'meaning';
        };
        /** A path of the metadata. The answer has `groups` instead of `results`: the k best groups of items that have the same number, text or boolean there; an item with a list is in the group of each of its elements. A group is as good as its best hit. k and offset count groups. */
        group_by?: string;
        /** Hits of a group at most. Default 1. */
        group_size?: number;
        /** Items without such a value are left out (default), or each a group with the key null. */
        group_missing?: 'leave_out' | 'each';
        /** Results that differ: by their vectors with {"lambda": 0.7, "candidates": 100}, or by a value with {"field": "author", "at_most": 2}. */
        diversity?: {
          /** 1: by relevance alone, 0: by unlikeness alone. Of the candidates, the next hit is that with the greatest lambda × relevance − (1 − lambda) × its greatest cosine with a hit before. Relevance is the score if it is a cosine, else where it lies between the least and the greatest of the candidates; with rerank, of those that the model has read, which come first. */
          lambda?: number;
          /** With lambda: the best so many hits are chosen from, at least k + offset. Default 100; with rerank top_n, and no more than that. */
          candidates?: number;
          /** Instead of lambda: a path of the metadata, in which no value is in more hits than at_most. */
          field?: string;
          /** Default 1. Of a list, each element counts. */
          at_most?: number;
        };
        /** Pages that continue each other, without offset and as far as the list goes: "first", then `next_cursor` of the page before, which is null at the end. No hit comes twice and none that stays as it is is left out; what has changed since the first page is left out. Where an answer has boost_depth, the list from there on is that of so many items of each shard, the best without boosts, and ends with them; fused with others, once the chain is past 16,384 of these. All fields but k and those of what results carry are to be the same. A chain goes on for 300 seconds (CURSOR_SECONDS), and ends when the collection is resharded. */
        cursor?: string;
        /** Results also carry how they came to their places: of two lists vector_rank, vector_score, vector_part, keyword_rank, keyword_score and keyword_part, of legs rank, score and part of each, of which the parts add up to the score; with diversity by lambda, first_rank (with rerank, reranked_rank) and diversity_score; with boosts, what each of them gave, `boosts`. Default: false. */
        explain?: boolean;
        /** A model that reads the query’s text together with that of each of the best results puts these in another order. Then `score` is the model’s (0 to 1), and `first_score` and `first_rank` are what it was before; results that it has not read keep theirs, without these two, and come behind. Groups are formed, hits that differ chosen, and pages cut, after it. */
        rerank?: {
          /** One of RERANK_MODEL; left out: the first. */
          model?: string;
          /** How many results the model reads; k + offset is at most that. Default: 50, or k + offset if that is more and there is no cursor. */
          top_n?: number;
          /** Results that the model scores less, or not at all, are left out. */
          min_score?: number;
          /** What is not read after so many milliseconds keeps its place behind what is. */
          budget_ms?: number;
          /** What it reads: "text", the item’s text (default), or a path of the metadata, a text or a list of texts. Default: "text". */
          text?: string;
        };
        /** Results that score less are left out: of the list before it is cut by offset and k, so that pages stay as they are. Any finite number. */
        min_score?: number;
      }>;
      /** Default: false. */
      include_timing?: boolean;
    };
    answer: {
      results: SearchResult[][];
      /** With order_by: it ordered the hits of the page. */
      within?: 'hits';
      /** For each query its groups, null where it has no group_by; present if one has. Its results are empty. */
      groups?: Array<Array<{
        /** What its hits have under group_by; null: a hit without a value there. */
        key: string | number | boolean | null;
        /** That of its best hit. */
        score: number;
        hits: SearchResult[];
      }> | null>;
      /** For each query how many items pass its filters, null where its total is not true; present if one is. */
      total_matches?: Array<number | null>;
      /** For each query what was reranked, null where it has no rerank; present if one has. */
      rerank?: Array<Reranked | null>;
      /** For each query the cursor of its next page, null at the end or where it has none; present if one has. */
      next_cursor?: Array<string | null>;
      /** For each query as in a search, null where all items were reached; present if one has it. */
      boost_depth?: Array<number | null>;
      timing_ms?: SearchTiming;
      profile?: SearchProfile;
    };
  };
  /**
   * Search by vector and keywords together: POST /v1/collections/{name}/hybrid_search
   *
   * Reciprocal Rank Fusion: alpha / (60 + vector rank) + (1 − alpha) / (60 + keyword rank), or another `fusion`. Both lists are at least max(200, 5 × (k + offset)) deep. Pages of one size that begin at offset 0 continue each other.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_hybrid_search: {
    query: {
      /** The answer also tells where the time went: `profile`. Default: false. */
      profile?: boolean;
    };
    body: {
      /** Needed where there are no legs. */
      query_text?: string;
      /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
      vector?: VectorLike;
      /** 1 = vector only, 0 = keywords only. Default 0.5. */
      alpha?: number;
      /** In the place of query_text, vector and alpha: 2 to 8 lists that become one, each with one of text, vector, query_text and like, its weight, and what its hits must pass. With explain, results have the same `legs`. rerank and highlight go by the first query_text, or else by the first text. */
      legs?: Array<{
        /** Looked for by meaning. */
        text?: string;
        /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
        vector?: VectorLike;
        /** Looked for by keywords, as the request says. What + and − ask for holds for all legs. */
        query_text?: string;
        /** What hits are like: {"id": of a stored item}, or positives, negatives and strategy, as in a search by examples. Items among these are no results, of other legs neither. */
        like?: {
          /** Of a stored item: the first of the positives. */
          id?: string;
          /** What results are like: each {"id": of a stored item}, {"vector": …} or {"text": …}. Items among positives and negatives are no results. */
          positives?: Array<{
            /** Of a stored item, which is then no result. */
            id?: string;
            /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
            vector?: VectorLike;
            text?: string;
          }>;
          /** What results are unlike, in the same forms. Needs a positive. */
          negatives?: Array<{
            /** Of a stored item, which is then no result. */
            id?: string;
            /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
            vector?: VectorLike;
            text?: string;
          }>;
          /** "average" (default): the nearest to twice the mean of the positives less the mean of the negatives; for cosine, means of directions. "best_score": a result’s score is that against the positive nearest to it; what is as near to a negative is left out. Reads up to the 10,000 nearest of each positive. */
          strategy?: 'average' | 'best_score';
        };
        /** 0: the leg adds nothing, and is not looked up. Default: 1. */
        weight?: number;
        /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
        filters?: Filters;
        /** Hits whose score by this leg alone is less are not in its list. */
        min_score?: number;
      }>;
      /** Says it by name: "keyword", by keywords alone; "vector", by meaning alone; both whatever alpha is. "hybrid": as alpha says. */
      mode?: 'hybrid' | 'keyword' | 'vector';
      /** How many of the words a hit of the keyword list has: "any" (default), "all", or {"at_least": 0.75}, rounded up. */
      match?: 'any' | 'all' | {
        at_least: number;
      };
      /** With "simple", +word must and -word must not be there, for hits of both lists; title:word is looked for in this field of the metadata; word* stands for the words that begin so (of a language: whose stems begin so, or like its stem; organiz* misses "organization", whose stem is organ), word~ (or word~1, word~2) for those that are near; "a phrase" stands together, "its words"~3 with at most 3 others between them; signs go together, and + and - ask for all words that others stand for; a backslash takes the meaning from a sign. Default: "plain". */
      query_syntax?: 'plain' | 'simple';
      /** Words that the collection lacks, or nearly so, stand for up to 50 that are so many edits from them; "auto": none up to 3 letters, 1 up to 7, else 2. */
      fuzzy?: 0 | 1 | 2 | 'auto';
      /** The last word stands for the 50 most frequent words that begin so, too. Default: false. */
      prefix_last?: boolean;
      /** How much keyword_fields of the collection count for this query, by path, such as {"title": 3, "text": 1}: as if they had been indexed so. 0 leaves one out; what is not named counts as it is declared. */
      field_weights?: Record<string, number>;
      /** What each list adds for a hit, times its weight: "rrf" (default), 1 / (constant + rank), with {"kind": "rrf", "constant": 20} another constant than 60; "relative", where its score is between the list’s least and greatest, 0 to 1; "dbsf", where it is between three standard deviations below and above the mean; "linear", the score itself. Of the merged lists, as deep as they are read. */
      fusion?: 'rrf' | 'relative' | 'dbsf' | 'linear' | {
        kind: 'rrf' | 'relative' | 'dbsf' | 'linear';
        constant?: number;
      };
      /** With "unit", scores are divided by the best that there can be, which is 1 then. Not with "linear". */
      score_scale?: 'unit';
      /** Default: 10. */
      k?: number;
      /** Default: 0. */
      offset?: number;
      /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
      filters?: Filters;
      /** Search effort set by hand; left out, it is calibrated to RECALL_TARGET. */
      ef?: number;
      /** Compares with every vector. Default: false. */
      exact?: boolean;
      /** Change scores by what items are: by filters ({"filters": {…}, "weight": 1.5}), a number ({"field": "likes", "modifier": "log1p", "weight": 0.2}) or how near a value is ({"field": "published", "decay": {"origin": "now", "scale": "7d"}, "weight": 0.3}). They reach all items, not the best of a list without them. Lists that are fused are ordered by boosted scores before. */
      boosts?: Array<{
        /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
        filters?: Filters;
        /** A path of the metadata: numbers, dates or points. Of a list, the greatest or the nearest. */
        field?: string;
        /** Itself (default), ln(1 + x), √x, x² or 1 / (1 + x), these with 0 for what is below 0. */
        modifier?: 'none' | 'log1p' | 'sqrt' | 'square' | 'reciprocal';
        /** Instead of modifier: how near a value is to an origin, from 1 to 0. */
        decay?: {
          /** With x, how many times scale a value is beyond offset: at^x, at^(x²), or 1 − (1 − at) × x. Default: "exp". */
          shape?: 'exp' | 'gauss' | 'linear';
          /** A number; for texts that are dates a date, "now" or "now-7d", the same for all shards; for points a place. */
          origin: number | string | {
            lat: number;
            lon: number;
          };
          /** Where, beyond offset, the decay is `at`: a number; of dates "7d" (s, m, h, d, w); of places metres, "5km". */
          scale: number | string;
          /** Up to there it is 1. As scale; default 0. */
          offset?: number | string;
          /** Between 0 and 1. Default: 0.5. */
          at?: number;
        };
        /** With filters: what those that pass get; multiplied, at least 0.001. */
        weight: number;
        /** The number, or with decay the decay, of items that have none; left out: they get nothing. */
        missing?: number;
      }>;
      /** multiply (default): filters give the factor weight, the others 1 + weight × their number, from 0.001 on, and 1 where there is none; a score is multiplied by all factors, or divided if it is below 0, so that a factor above 1 always helps. add: filters give weight, the others weight × their number, and 0 where there is none; all are added to the score. */
      boost_mode?: 'multiply' | 'add';
      /** The model that the vectors of the request are of. If the collection’s is another, they are refused (409). */
      vector_model?: string;
      /** Paths of the metadata that results carry, such as "author.name". Left out: all; []: none. A path that an item lacks is left out of it. */
      fields?: string[];
      /** Results also carry their text; "" where an item has none. Default: false. */
      include_text?: boolean;
      /** Results also carry their `version`, for if_version. Their metadata and texts are read together with it, so they are of that version. Default: false. */
      include_version?: boolean;
      /** A result’s text has so many UTF-16 code units at most; what is behind is left out. Places of highlights are those of the whole text. */
      text_max?: number;
      /** The answer also has `total_matches`: how many items pass the filters, exactly. Default: false. */
      total?: boolean;
      /** Orders the hits of the page by values of their metadata: numbers, texts, false, true; equal ones stay best first. An array counts by its least value, or with "desc" by its greatest. */
      order_by?: Array<{
        field: string;
        /** Default: "asc". */
        direction?: 'asc' | 'desc';
        /** Default: "last". */
        missing?: 'first' | 'last';
      }>;
      /** Results also carry `context`: the text of so many chunks of their document before and after their own, as metadata have these in document_id and chunk_index; what neighbours share is there once. Windows that touch are one, up to 64 chunks, in each of their results. Neighbours need not pass the filters. */
      expand?: {
        /** Default: 0. */
        before?: number;
        /** Default: 0. */
        after?: number;
      };
      /** Results also carry `highlights`: fragments of their fields with words of the query’s text, in any form, as the collection’s keyword search sees them. An answer looks at 2,097,152 UTF-16 code units; results behind that have no `highlights`. */
      highlight?: {
        /** Paths of the metadata, texts or lists of texts; "text" is the item’s text (default). */
        fields?: string[];
        /** Of each field, at most. Best first: those with the most different words of the query. Default: 2. */
        fragments?: number;
        /** UTF-16 code units of a fragment, at most. Default: 160. */
        size?: number;
        /** Put before each word in `text` of a highlight, which is not escaped for HTML. Default: "". */
        pre?: string;
        /** Put behind it. Default: "". */
        post?: string;
        /** meaning: a result without such words shows the sentence nearest to the query, without spans: of its first 32, each of size at most. The collection’s model embeds them, at most 256 for an answer, which waits no more than five seconds for them; results behind have no `highlights`. Default: "words". */
        by?: 'words' | 'meaning';
      };
      /** A path of the metadata. The answer has `groups` instead of `results`: the k best groups of items that have the same number, text or boolean there; an item with a list is in the group of each of its elements. A group is as good as its best hit. k and offset count groups. */
      group_by?: string;
      /** Hits of a group at most. Default 1. */
      group_size?: number;
      /** Items without such a value are left out (default), or each a group with the key null. */
      group_missing?: 'leave_out' | 'each';
      /** Results that differ: by their vectors with {"lambda": 0.7, "candidates": 100}, or by a value with {"field": "author", "at_most": 2}. */
      diversity?: {
        /** 1: by relevance alone, 0: by unlikeness alone. Of the candidates, the next hit is that with the greatest lambda × relevance − (1 − lambda) × its greatest cosine with a hit before. Relevance is the score if it is a cosine, else where it lies between the least and the greatest of the candidates; with rerank, of those that the model has read, which come first. */
        lambda?: number;
        /** With lambda: the best so many hits are chosen from, at least k + offset. Default 100; with rerank top_n, and no more than that. */
        candidates?: number;
        /** Instead of lambda: a path of the metadata, in which no value is in more hits than at_most. */
        field?: string;
        /** Default 1. Of a list, each element counts. */
        at_most?: number;
      };
      /** Pages that continue each other, without offset and as far as the list goes: "first", then `next_cursor` of the page before, which is null at the end. No hit comes twice and none that stays as it is is left out; what has changed since the first page is left out. Where an answer has boost_depth, the list from there on is that of so many items of each shard, the best without boosts, and ends with them; fused with others, once the chain is past 16,384 of these. All fields but k and those of what results carry are to be the same. A chain goes on for 300 seconds (CURSOR_SECONDS), and ends when the collection is resharded. */
      cursor?: string;
      /** Results also carry how they came to their places: of two lists vector_rank, vector_score, vector_part, keyword_rank, keyword_score and keyword_part, of legs rank, score and part of each, of which the parts add up to the score; with diversity by lambda, first_rank (with rerank, reranked_rank) and diversity_score; with boosts, what each of them gave, `boosts`. Default: false. */
      explain?: boolean;
      /** A model that reads the query’s text together with that of each of the best results puts these in another order. Then `score` is the model’s (0 to 1), and `first_score` and `first_rank` are what it was before; results that it has not read keep theirs, without these two, and come behind. Groups are formed, hits that differ chosen, and pages cut, after it. */
      rerank?: {
        /** One of RERANK_MODEL; left out: the first. */
        model?: string;
        /** How many results the model reads; k + offset is at most that. Default: 50, or k + offset if that is more and there is no cursor. */
        top_n?: number;
        /** Results that the model scores less, or not at all, are left out. */
        min_score?: number;
        /** What is not read after so many milliseconds keeps its place behind what is. */
        budget_ms?: number;
        /** What it reads: "text", the item’s text (default), or a path of the metadata, a text or a list of texts. Default: "text". */
        text?: string;
      };
      /** Results whose fused score is less are left out; the best that there can be is 1 / 61, or 1 with score_scale "unit". */
      min_score?: number;
      /** Default: false. */
      include_timing?: boolean;
    };
    answer: {
      /** Best first; absent if group_by is given. */
      results?: HybridResult[];
      /** Present, and then instead of results, if group_by is given; best first. */
      groups?: Array<{
        /** What its hits have under group_by; null: a hit without a value there. */
        key: string | number | boolean | null;
        /** That of its best hit. */
        score: number;
        hits: HybridResult[];
      }>;
      /** With order_by: it ordered the hits of the page. */
      within?: 'hits';
      /** Items that pass the filters; present if total is true. */
      total_matches?: number;
      rerank?: Reranked;
      /** The cursor of the next page, null at the end; present if the request has one. */
      next_cursor?: string | null;
      /** Present if boosts could not reach all items: how many of the best without boosts were looked at, by shard. */
      boost_depth?: number;
      timing_ms?: SearchTiming;
      profile?: SearchProfile;
    };
  };
  /**
   * Score listed candidates exactly: POST /v1/collections/{name}/rerank
   *
   * Unknown candidates are skipped, repeated ones count once.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_rerank: {
    query: {
      /** The answer also tells where the time went: `profile`. Default: false. */
      profile?: boolean;
    };
    body: {
      /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
      vector?: VectorLike;
      text?: string;
      candidates: string[];
      /** Paths of the metadata that results carry, such as "author.name". Left out: all; []: none. A path that an item lacks is left out of it. */
      fields?: string[];
      /** Results also carry their text; "" where an item has none. Default: false. */
      include_text?: boolean;
      /** Results that score less are left out: of the list before it is cut by offset and k, so that pages stay as they are. Any finite number. */
      min_score?: number;
      /** A path of the metadata. The answer has `groups` instead of `results`: the k best groups of items that have the same number, text or boolean there; an item with a list is in the group of each of its elements. A group is as good as its best hit. k and offset count groups. */
      group_by?: string;
      /** Hits of a group at most. Default 1. */
      group_size?: number;
      /** Items without such a value are left out (default), or each a group with the key null. */
      group_missing?: 'leave_out' | 'each';
      /** Default: false. */
      include_timing?: boolean;
    };
    answer: {
      /** Best first; absent if group_by is given. */
      results?: SearchResult[];
      /** Present, and then instead of results, if group_by is given; best first. */
      groups?: Array<{
        /** What its hits have under group_by; null: a hit without a value there. */
        key: string | number | boolean | null;
        /** That of its best hit. */
        score: number;
        hits: SearchResult[];
      }>;
      timing_ms?: SearchTiming;
      profile?: SearchProfile;
    };
  };
  /**
   * Find vectors similar to a stored one: POST /v1/collections/{name}/recommend/{id}
   *
   * The stored vector itself is left out; with positives and negatives, it is the first of the positives. k and offset in the body win over those in the query string.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_recommend_id: {
    query: {
      /** The answer also tells where the time went: `profile`. Default: false. */
      profile?: boolean;
      k?: number;
      offset?: number;
    };
    body: {
      /** What results are like: each {"id": of a stored item}, {"vector": …} or {"text": …}. Items among positives and negatives are no results. */
      positives?: Array<{
        /** Of a stored item, which is then no result. */
        id?: string;
        /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
        vector?: VectorLike;
        text?: string;
      }>;
      /** What results are unlike, in the same forms. Needs a positive. */
      negatives?: Array<{
        /** Of a stored item, which is then no result. */
        id?: string;
        /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
        vector?: VectorLike;
        text?: string;
      }>;
      /** "average" (default): the nearest to twice the mean of the positives less the mean of the negatives; for cosine, means of directions. "best_score": a result’s score is that against the positive nearest to it; what is as near to a negative is left out. Reads up to the 10,000 nearest of each positive. */
      strategy?: 'average' | 'best_score';
      /** Default 10. */
      k?: number;
      /** Default 0. */
      offset?: number;
      /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
      filters?: Filters;
      /** Search effort set by hand; left out, it is calibrated to RECALL_TARGET. */
      ef?: number;
      /** Compares with every vector. Default: false. */
      exact?: boolean;
      /** Change scores by what items are: by filters ({"filters": {…}, "weight": 1.5}), a number ({"field": "likes", "modifier": "log1p", "weight": 0.2}) or how near a value is ({"field": "published", "decay": {"origin": "now", "scale": "7d"}, "weight": 0.3}). They reach all items, not the best of a list without them. Lists that are fused are ordered by boosted scores before. */
      boosts?: Array<{
        /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
        filters?: Filters;
        /** A path of the metadata: numbers, dates or points. Of a list, the greatest or the nearest. */
        field?: string;
        /** Itself (default), ln(1 + x), √x, x² or 1 / (1 + x), these with 0 for what is below 0. */
        modifier?: 'none' | 'log1p' | 'sqrt' | 'square' | 'reciprocal';
        /** Instead of modifier: how near a value is to an origin, from 1 to 0. */
        decay?: {
          /** With x, how many times scale a value is beyond offset: at^x, at^(x²), or 1 − (1 − at) × x. Default: "exp". */
          shape?: 'exp' | 'gauss' | 'linear';
          /** A number; for texts that are dates a date, "now" or "now-7d", the same for all shards; for points a place. */
          origin: number | string | {
            lat: number;
            lon: number;
          };
          /** Where, beyond offset, the decay is `at`: a number; of dates "7d" (s, m, h, d, w); of places metres, "5km". */
          scale: number | string;
          /** Up to there it is 1. As scale; default 0. */
          offset?: number | string;
          /** Between 0 and 1. Default: 0.5. */
          at?: number;
        };
        /** With filters: what those that pass get; multiplied, at least 0.001. */
        weight: number;
        /** The number, or with decay the decay, of items that have none; left out: they get nothing. */
        missing?: number;
      }>;
      /** multiply (default): filters give the factor weight, the others 1 + weight × their number, from 0.001 on, and 1 where there is none; a score is multiplied by all factors, or divided if it is below 0, so that a factor above 1 always helps. add: filters give weight, the others weight × their number, and 0 where there is none; all are added to the score. */
      boost_mode?: 'multiply' | 'add';
      /** The model that the vectors of the request are of. If the collection’s is another, they are refused (409). */
      vector_model?: string;
      /** Paths of the metadata that results carry, such as "author.name". Left out: all; []: none. A path that an item lacks is left out of it. */
      fields?: string[];
      /** Results also carry their text; "" where an item has none. Default: false. */
      include_text?: boolean;
      /** Results also carry their `version`, for if_version. Their metadata and texts are read together with it, so they are of that version. Default: false. */
      include_version?: boolean;
      /** A result’s text has so many UTF-16 code units at most; what is behind is left out. Places of highlights are those of the whole text. */
      text_max?: number;
      /** The answer also has `total_matches`: how many items pass the filters, exactly. Default: false. */
      total?: boolean;
      /** Orders the hits of the page by values of their metadata: numbers, texts, false, true; equal ones stay best first. An array counts by its least value, or with "desc" by its greatest. */
      order_by?: Array<{
        field: string;
        /** Default: "asc". */
        direction?: 'asc' | 'desc';
        /** Default: "last". */
        missing?: 'first' | 'last';
      }>;
      /** Results also carry `context`: the text of so many chunks of their document before and after their own, as metadata have these in document_id and chunk_index; what neighbours share is there once. Windows that touch are one, up to 64 chunks, in each of their results. Neighbours need not pass the filters. */
      expand?: {
        /** Default: 0. */
        before?: number;
        /** Default: 0. */
        after?: number;
      };
      /** Results also carry `highlights`: fragments of their fields with words of the query’s text, in any form, as the collection’s keyword search sees them. An answer looks at 2,097,152 UTF-16 code units; results behind that have no `highlights`. */
      highlight?: {
        /** Paths of the metadata, texts or lists of texts; "text" is the item’s text (default). */
        fields?: string[];
        /** Of each field, at most. Best first: those with the most different words of the query. Default: 2. */
        fragments?: number;
        /** UTF-16 code units of a fragment, at most. Default: 160. */
        size?: number;
        /** Put before each word in `text` of a highlight, which is not escaped for HTML. Default: "". */
        pre?: string;
        /** Put behind it. Default: "". */
        post?: string;
        /** meaning: a result without such words shows the sentence nearest to the query, without spans: of its first 32, each of size at most. The collection’s model embeds them, at most 256 for an answer, which waits no more than five seconds for them; results behind have no `highlights`. Default: "words". */
        by?: 'words' | 'meaning';
      };
      /** A path of the metadata. The answer has `groups` instead of `results`: the k best groups of items that have the same number, text or boolean there; an item with a list is in the group of each of its elements. A group is as good as its best hit. k and offset count groups. */
      group_by?: string;
      /** Hits of a group at most. Default 1. */
      group_size?: number;
      /** Items without such a value are left out (default), or each a group with the key null. */
      group_missing?: 'leave_out' | 'each';
      /** Results that differ: by their vectors with {"lambda": 0.7, "candidates": 100}, or by a value with {"field": "author", "at_most": 2}. */
      diversity?: {
        /** 1: by relevance alone, 0: by unlikeness alone. Of the candidates, the next hit is that with the greatest lambda × relevance − (1 − lambda) × its greatest cosine with a hit before. Relevance is the score if it is a cosine, else where it lies between the least and the greatest of the candidates; with rerank, of those that the model has read, which come first. */
        lambda?: number;
        /** With lambda: the best so many hits are chosen from, at least k + offset. Default 100; with rerank top_n, and no more than that. */
        candidates?: number;
        /** Instead of lambda: a path of the metadata, in which no value is in more hits than at_most. */
        field?: string;
        /** Default 1. Of a list, each element counts. */
        at_most?: number;
      };
      /** Pages that continue each other, without offset and as far as the list goes: "first", then `next_cursor` of the page before, which is null at the end. No hit comes twice and none that stays as it is is left out; what has changed since the first page is left out. Where an answer has boost_depth, the list from there on is that of so many items of each shard, the best without boosts, and ends with them; fused with others, once the chain is past 16,384 of these. All fields but k and those of what results carry are to be the same. A chain goes on for 300 seconds (CURSOR_SECONDS), and ends when the collection is resharded. */
      cursor?: string;
      /** Results also carry how they came to their places: of two lists vector_rank, vector_score, vector_part, keyword_rank, keyword_score and keyword_part, of legs rank, score and part of each, of which the parts add up to the score; with diversity by lambda, first_rank (with rerank, reranked_rank) and diversity_score; with boosts, what each of them gave, `boosts`. Default: false. */
      explain?: boolean;
      /** A model that reads the query’s text together with that of each of the best results puts these in another order. Then `score` is the model’s (0 to 1), and `first_score` and `first_rank` are what it was before; results that it has not read keep theirs, without these two, and come behind. Groups are formed, hits that differ chosen, and pages cut, after it. */
      rerank?: {
        /** One of RERANK_MODEL; left out: the first. */
        model?: string;
        /** How many results the model reads; k + offset is at most that. Default: 50, or k + offset if that is more and there is no cursor. */
        top_n?: number;
        /** Results that the model scores less, or not at all, are left out. */
        min_score?: number;
        /** What is not read after so many milliseconds keeps its place behind what is. */
        budget_ms?: number;
        /** What it reads: "text", the item’s text (default), or a path of the metadata, a text or a list of texts. Default: "text". */
        text?: string;
      };
      /** Results that score less are left out: of the list before it is cut by offset and k, so that pages stay as they are. Any finite number. */
      min_score?: number;
      /** Default: false. */
      include_timing?: boolean;
    };
    answer: {
      /** Best first; absent if group_by is given. */
      results?: SearchResult[];
      /** Present, and then instead of results, if group_by is given; best first. */
      groups?: Array<{
        /** What its hits have under group_by; null: a hit without a value there. */
        key: string | number | boolean | null;
        /** That of its best hit. */
        score: number;
        hits: SearchResult[];
      }>;
      collection: string;
      source_id: string;
      k: number;
      offset: number;
      /** With order_by: it ordered the hits of the page. */
      within?: 'hits';
      /** Items that pass the filters; present if total is true. */
      total_matches?: number;
      rerank?: Reranked;
      /** The cursor of the next page, null at the end; present if the request has one. */
      next_cursor?: string | null;
      /** Present if boosts could not reach all items: how many of the best without boosts were looked at, by shard. */
      boost_depth?: number;
      timing_ms?: SearchTiming;
      profile?: SearchProfile;
    };
  };
  /**
   * Count the items that pass filters: POST /v1/collections/{name}/count
   *
   * Exact. Without filters it is the number of all items.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_count: {
    body: {
      /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
      filters?: Filters;
    };
    answer: {
      /** Items that pass the filters, exactly; without filters, all. */
      count: number;
    };
  };
  /**
   * Cosine similarity of two stored vectors: POST /v1/collections/{name}/similarity
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  post_collections_name_similarity: {
    query: {
      /** Any Unicode but control characters. */
      id1: string;
      /** Any Unicode but control characters. */
      id2: string;
    };
    answer: {
      id1: string;
      id2: string;
      similarity: number;
      score: number;
    };
  };
  /**
   * Ask in natural language; answers with texts: POST /v1/query
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_query: {
    query: {
      /** The answer also tells where the time went: `profile`. Default: false. */
      profile?: boolean;
    };
    body: {
      query: string;
      collection_name: string;
      /** Default: 5. */
      top_k?: number;
      /** Default: 0. */
      offset?: number;
      /** 1 = by meaning only, 0 = by keywords only; scores below 1, or with fusion or score_scale, are those of hybrid_search. Default: 1. */
      alpha?: number;
      /** Says it by name: "keyword", by keywords alone; "vector", by meaning alone; both whatever alpha is. "hybrid": as alpha says. */
      mode?: 'hybrid' | 'keyword' | 'vector';
      /** How many of the words a hit of the keyword list has: "any" (default), "all", or {"at_least": 0.75}, rounded up. */
      match?: 'any' | 'all' | {
        at_least: number;
      };
      /** With "simple", +word must and -word must not be there, for hits of both lists; title:word is looked for in this field of the metadata; word* stands for the words that begin so (of a language: whose stems begin so, or like its stem; organiz* misses "organization", whose stem is organ), word~ (or word~1, word~2) for those that are near; "a phrase" stands together, "its words"~3 with at most 3 others between them; signs go together, and + and - ask for all words that others stand for; a backslash takes the meaning from a sign. Default: "plain". */
      query_syntax?: 'plain' | 'simple';
      /** Words that the collection lacks, or nearly so, stand for up to 50 that are so many edits from them; "auto": none up to 3 letters, 1 up to 7, else 2. */
      fuzzy?: 0 | 1 | 2 | 'auto';
      /** The last word stands for the 50 most frequent words that begin so, too. Default: false. */
      prefix_last?: boolean;
      /** How much keyword_fields of the collection count for this query, by path, such as {"title": 3, "text": 1}: as if they had been indexed so. 0 leaves one out; what is not named counts as it is declared. */
      field_weights?: Record<string, number>;
      /** What each list adds for a hit, times its weight: "rrf" (default), 1 / (constant + rank), with {"kind": "rrf", "constant": 20} another constant than 60; "relative", where its score is between the list’s least and greatest, 0 to 1; "dbsf", where it is between three standard deviations below and above the mean; "linear", the score itself. Of the merged lists, as deep as they are read. */
      fusion?: 'rrf' | 'relative' | 'dbsf' | 'linear' | {
        kind: 'rrf' | 'relative' | 'dbsf' | 'linear';
        constant?: number;
      };
      /** With "unit", scores are divided by the best that there can be, which is 1 then. Not with "linear". */
      score_scale?: 'unit';
      /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
      filters?: Filters;
      /** Search effort set by hand; left out, it is calibrated to RECALL_TARGET. */
      ef?: number;
      /** Compares with every vector. Default: false. */
      exact?: boolean;
      /** Change scores by what items are: by filters ({"filters": {…}, "weight": 1.5}), a number ({"field": "likes", "modifier": "log1p", "weight": 0.2}) or how near a value is ({"field": "published", "decay": {"origin": "now", "scale": "7d"}, "weight": 0.3}). They reach all items, not the best of a list without them. Lists that are fused are ordered by boosted scores before. */
      boosts?: Array<{
        /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
        filters?: Filters;
        /** A path of the metadata: numbers, dates or points. Of a list, the greatest or the nearest. */
        field?: string;
        /** Itself (default), ln(1 + x), √x, x² or 1 / (1 + x), these with 0 for what is below 0. */
        modifier?: 'none' | 'log1p' | 'sqrt' | 'square' | 'reciprocal';
        /** Instead of modifier: how near a value is to an origin, from 1 to 0. */
        decay?: {
          /** With x, how many times scale a value is beyond offset: at^x, at^(x²), or 1 − (1 − at) × x. Default: "exp". */
          shape?: 'exp' | 'gauss' | 'linear';
          /** A number; for texts that are dates a date, "now" or "now-7d", the same for all shards; for points a place. */
          origin: number | string | {
            lat: number;
            lon: number;
          };
          /** Where, beyond offset, the decay is `at`: a number; of dates "7d" (s, m, h, d, w); of places metres, "5km". */
          scale: number | string;
          /** Up to there it is 1. As scale; default 0. */
          offset?: number | string;
          /** Between 0 and 1. Default: 0.5. */
          at?: number;
        };
        /** With filters: what those that pass get; multiplied, at least 0.001. */
        weight: number;
        /** The number, or with decay the decay, of items that have none; left out: they get nothing. */
        missing?: number;
      }>;
      /** multiply (default): filters give the factor weight, the others 1 + weight × their number, from 0.001 on, and 1 where there is none; a score is multiplied by all factors, or divided if it is below 0, so that a factor above 1 always helps. add: filters give weight, the others weight × their number, and 0 where there is none; all are added to the score. */
      boost_mode?: 'multiply' | 'add';
      /** The model that the vectors of the request are of. If the collection’s is another, they are refused (409). */
      vector_model?: string;
      /** Paths of the metadata that results carry, such as "author.name". Left out: all; []: none. A path that an item lacks is left out of it. */
      fields?: string[];
      /** false leaves the texts out of results. Default: true. */
      include_text?: boolean;
      /** Results also carry their `version`, for if_version. Their metadata and texts are read together with it, so they are of that version. Default: false. */
      include_version?: boolean;
      /** A result’s text has so many UTF-16 code units at most; what is behind is left out. Places of highlights are those of the whole text. */
      text_max?: number;
      /** The answer also has `total_matches`: how many items pass the filters, exactly. Default: false. */
      total?: boolean;
      /** Orders the hits of the page by values of their metadata: numbers, texts, false, true; equal ones stay best first. An array counts by its least value, or with "desc" by its greatest. */
      order_by?: Array<{
        field: string;
        /** Default: "asc". */
        direction?: 'asc' | 'desc';
        /** Default: "last". */
        missing?: 'first' | 'last';
      }>;
      /** Results also carry `context`: the text of so many chunks of their document before and after their own, as metadata have these in document_id and chunk_index; what neighbours share is there once. Windows that touch are one, up to 64 chunks, in each of their results. Neighbours need not pass the filters. */
      expand?: {
        /** Default: 0. */
        before?: number;
        /** Default: 0. */
        after?: number;
      };
      /** Results also carry `highlights`: fragments of their fields with words of the query’s text, in any form, as the collection’s keyword search sees them. An answer looks at 2,097,152 UTF-16 code units; results behind that have no `highlights`. */
      highlight?: {
        /** Paths of the metadata, texts or lists of texts; "text" is the item’s text (default). */
        fields?: string[];
        /** Of each field, at most. Best first: those with the most different words of the query. Default: 2. */
        fragments?: number;
        /** UTF-16 code units of a fragment, at most. Default: 160. */
        size?: number;
        /** Put before each word in `text` of a highlight, which is not escaped for HTML. Default: "". */
        pre?: string;
        /** Put behind it. Default: "". */
        post?: string;
        /** meaning: a result without such words shows the sentence nearest to the query, without spans: of its first 32, each of size at most. The collection’s model embeds them, at most 256 for an answer, which waits no more than five seconds for them; results behind have no `highlights`. Default: "words". */
        by?: 'words' | 'meaning';
      };
      /** A path of the metadata. The answer has `groups` instead of `results`: the k best groups of items that have the same number, text or boolean there; an item with a list is in the group of each of its elements. A group is as good as its best hit. k and offset count groups. */
      group_by?: string;
      /** Hits of a group at most. Default 1. */
      group_size?: number;
      /** Items without such a value are left out (default), or each a group with the key null. */
      group_missing?: 'leave_out' | 'each';
      /** Results that differ: by their vectors with {"lambda": 0.7, "candidates": 100}, or by a value with {"field": "author", "at_most": 2}. */
      diversity?: {
        /** 1: by relevance alone, 0: by unlikeness alone. Of the candidates, the next hit is that with the greatest lambda × relevance − (1 − lambda) × its greatest cosine with a hit before. Relevance is the score if it is a cosine, else where it lies between the least and the greatest of the candidates; with rerank, of those that the model has read, which come first. */
        lambda?: number;
        /** With lambda: the best so many hits are chosen from, at least k + offset. Default 100; with rerank top_n, and no more than that. */
        candidates?: number;
        /** Instead of lambda: a path of the metadata, in which no value is in more hits than at_most. */
        field?: string;
        /** Default 1. Of a list, each element counts. */
        at_most?: number;
      };
      /** Pages that continue each other, without offset and as far as the list goes: "first", then `next_cursor` of the page before, which is null at the end. No hit comes twice and none that stays as it is is left out; what has changed since the first page is left out. Where an answer has boost_depth, the list from there on is that of so many items of each shard, the best without boosts, and ends with them; fused with others, once the chain is past 16,384 of these. All fields but k and those of what results carry are to be the same. A chain goes on for 300 seconds (CURSOR_SECONDS), and ends when the collection is resharded. */
      cursor?: string;
      /** Results also carry how they came to their places: of two lists vector_rank, vector_score, vector_part, keyword_rank, keyword_score and keyword_part, of legs rank, score and part of each, of which the parts add up to the score; with diversity by lambda, first_rank (with rerank, reranked_rank) and diversity_score; with boosts, what each of them gave, `boosts`. Default: false. */
      explain?: boolean;
      /** A model that reads the query’s text together with that of each of the best results puts these in another order. Then `score` is the model’s (0 to 1), and `first_score` and `first_rank` are what it was before; results that it has not read keep theirs, without these two, and come behind. Groups are formed, hits that differ chosen, and pages cut, after it. */
      rerank?: {
        /** One of RERANK_MODEL; left out: the first. */
        model?: string;
        /** How many results the model reads; k + offset is at most that. Default: 50, or k + offset if that is more and there is no cursor. */
        top_n?: number;
        /** Results that the model scores less, or not at all, are left out. */
        min_score?: number;
        /** What is not read after so many milliseconds keeps its place behind what is. */
        budget_ms?: number;
        /** What it reads: "text", the item’s text (default), or a path of the metadata, a text or a list of texts. Default: "text". */
        text?: string;
      };
      /** Results that score less are left out: of the list before it is cut by offset and k, so that pages stay as they are. Any finite number. */
      min_score?: number;
      /** Default: false. */
      include_timing?: boolean;
    };
    answer: {
      query: string;
      collection: string;
      /** Best first; absent if group_by is given. */
      results?: QueryResult[];
      /** Present, and then instead of results, if group_by is given; best first. */
      groups?: Array<{
        /** What its hits have under group_by; null: a hit without a value there. */
        key: string | number | boolean | null;
        /** That of its best hit. */
        score: number;
        hits: QueryResult[];
      }>;
      /** With order_by: it ordered the hits of the page. */
      within?: 'hits';
      /** Items that pass the filters; present if total is true. */
      total_matches?: number;
      rerank?: Reranked;
      /** The cursor of the next page, null at the end; present if the request has one. */
      next_cursor?: string | null;
      /** Present if boosts could not reach all items: how many of the best without boosts were looked at, by shard. */
      boost_depth?: number;
      timing_ms?: SearchTiming;
      profile?: SearchProfile;
    };
  };
  /**
   * Answer a question, with checked citations: POST /v1/answer
   *
   * A language model answers from passages that a search finds; its quotes are looked for in these. 400 without a language model (LLM_BASE_URL), 429 when the tokens of the day are used up.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_answer: {
    body: {
      collection_name: string;
      question: string;
      /** Passages that the model reads, the best. Default: 8. */
      k?: number;
      /** How passages are found: 1 = by meaning only, 0 = by keywords only. Default: 1. */
      alpha?: number;
      /** Says it by name: "keyword", by keywords alone; "vector", by meaning alone; both whatever alpha is. "hybrid": as alpha says. */
      mode?: 'hybrid' | 'keyword' | 'vector';
      /** How many of the words a hit of the keyword list has: "any" (default), "all", or {"at_least": 0.75}, rounded up. */
      match?: 'any' | 'all' | {
        at_least: number;
      };
      /** With "simple", +word must and -word must not be there, for hits of both lists; title:word is looked for in this field of the metadata; word* stands for the words that begin so (of a language: whose stems begin so, or like its stem; organiz* misses "organization", whose stem is organ), word~ (or word~1, word~2) for those that are near; "a phrase" stands together, "its words"~3 with at most 3 others between them; signs go together, and + and - ask for all words that others stand for; a backslash takes the meaning from a sign. Default: "plain". */
      query_syntax?: 'plain' | 'simple';
      /** Words that the collection lacks, or nearly so, stand for up to 50 that are so many edits from them; "auto": none up to 3 letters, 1 up to 7, else 2. */
      fuzzy?: 0 | 1 | 2 | 'auto';
      /** The last word stands for the 50 most frequent words that begin so, too. Default: false. */
      prefix_last?: boolean;
      /** How much keyword_fields of the collection count for this query, by path, such as {"title": 3, "text": 1}: as if they had been indexed so. 0 leaves one out; what is not named counts as it is declared. */
      field_weights?: Record<string, number>;
      /** What each list adds for a hit, times its weight: "rrf" (default), 1 / (constant + rank), with {"kind": "rrf", "constant": 20} another constant than 60; "relative", where its score is between the list’s least and greatest, 0 to 1; "dbsf", where it is between three standard deviations below and above the mean; "linear", the score itself. Of the merged lists, as deep as they are read. */
      fusion?: 'rrf' | 'relative' | 'dbsf' | 'linear' | {
        kind: 'rrf' | 'relative' | 'dbsf' | 'linear';
        constant?: number;
      };
      /** With "unit", scores are divided by the best that there can be, which is 1 then. Not with "linear". */
      score_scale?: 'unit';
      /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
      filters?: Filters;
      /** Change scores by what items are: by filters ({"filters": {…}, "weight": 1.5}), a number ({"field": "likes", "modifier": "log1p", "weight": 0.2}) or how near a value is ({"field": "published", "decay": {"origin": "now", "scale": "7d"}, "weight": 0.3}). They reach all items, not the best of a list without them. Lists that are fused are ordered by boosted scores before. */
      boosts?: Array<{
        /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
        filters?: Filters;
        /** A path of the metadata: numbers, dates or points. Of a list, the greatest or the nearest. */
        field?: string;
        /** Itself (default), ln(1 + x), √x, x² or 1 / (1 + x), these with 0 for what is below 0. */
        modifier?: 'none' | 'log1p' | 'sqrt' | 'square' | 'reciprocal';
        /** Instead of modifier: how near a value is to an origin, from 1 to 0. */
        decay?: {
          /** With x, how many times scale a value is beyond offset: at^x, at^(x²), or 1 − (1 − at) × x. Default: "exp". */
          shape?: 'exp' | 'gauss' | 'linear';
          /** A number; for texts that are dates a date, "now" or "now-7d", the same for all shards; for points a place. */
          origin: number | string | {
            lat: number;
            lon: number;
          };
          /** Where, beyond offset, the decay is `at`: a number; of dates "7d" (s, m, h, d, w); of places metres, "5km". */
          scale: number | string;
          /** Up to there it is 1. As scale; default 0. */
          offset?: number | string;
          /** Between 0 and 1. Default: 0.5. */
          at?: number;
        };
        /** With filters: what those that pass get; multiplied, at least 0.001. */
        weight: number;
        /** The number, or with decay the decay, of items that have none; left out: they get nothing. */
        missing?: number;
      }>;
      /** multiply (default): filters give the factor weight, the others 1 + weight × their number, from 0.001 on, and 1 where there is none; a score is multiplied by all factors, or divided if it is below 0, so that a factor above 1 always helps. add: filters give weight, the others weight × their number, and 0 where there is none; all are added to the score. */
      boost_mode?: 'multiply' | 'add';
      /** Results that differ: by their vectors with {"lambda": 0.7, "candidates": 100}, or by a value with {"field": "author", "at_most": 2}. */
      diversity?: {
        /** 1: by relevance alone, 0: by unlikeness alone. Of the candidates, the next hit is that with the greatest lambda × relevance − (1 − lambda) × its greatest cosine with a hit before. Relevance is the score if it is a cosine, else where it lies between the least and the greatest of the candidates; with rerank, of those that the model has read, which come first. */
        lambda?: number;
        /** With lambda: the best so many hits are chosen from, at least k + offset. Default 100; with rerank top_n, and no more than that. */
        candidates?: number;
        /** Instead of lambda: a path of the metadata, in which no value is in more hits than at_most. */
        field?: string;
        /** Default 1. Of a list, each element counts. */
        at_most?: number;
      };
      /** The model also reads so many chunks of the document before and after each passage, as one text with it. */
      expand?: {
        /** Default: 0. */
        before?: number;
        /** Default: 0. */
        after?: number;
      };
      /** A model that reads the query’s text together with that of each of the best results puts these in another order. Then `score` is the model’s (0 to 1), and `first_score` and `first_rank` are what it was before; results that it has not read keep theirs, without these two, and come behind. Groups are formed, hits that differ chosen, and pages cut, after it. */
      rerank?: {
        /** One of RERANK_MODEL; left out: the first. */
        model?: string;
        /** How many results the model reads; k + offset is at most that. Default: 50, or k + offset if that is more and there is no cursor. */
        top_n?: number;
        /** Results that the model scores less, or not at all, are left out. */
        min_score?: number;
        /** What is not read after so many milliseconds keeps its place behind what is. */
        budget_ms?: number;
        /** What it reads: "text", the item’s text (default), or a path of the metadata, a text or a list of texts. Default: "text". */
        text?: string;
      };
      /** Passages that score less (with rerank, by that) are not read. Without any: `refused`, and no model is asked. */
      min_score?: number;
      /** One of LLM_MODELS; left out: the first. */
      model?: string;
      /** Tokens that the model writes, at most. Default: 1024. */
      max_tokens?: number;
      /** What was said before, for the model. Passages are found by the question alone. */
      history?: Array<{
        role: 'user' | 'assistant';
        content: string;
      }>;
      /** The answer is text/event-stream: `sources`, `text` for each part, last `envelope`, the whole or an error. Default: false. */
      stream?: boolean;
    };
    answer: {
      /** What the model wrote, without its citations. */
      answer: string;
      /** In their order. Every quote was found in the source that the model named. */
      sentences: Array<{
        text: string;
        citations: Array<{
          /** The number of the source, from 1. */
          number: number;
          external_id: string;
          document_id?: string | number;
          page?: number;
          /** Where the quote begins in the text of the source, in UTF-16 code units. */
          start: number;
          end: number;
          /** As it stands there. */
          quote: string;
        }>;
        /** Present where no quote was found. */
        unsupported?: true;
      }>;
      /** The passages that the model read, best first. */
      sources: Array<{
        /** The number of the source, from 1. */
        number: number;
        external_id: string;
        document_id?: string | number;
        page?: number;
        /** As it was given, such as its path in a folder. */
        document_key?: string;
        score: number;
        chunk_index?: number;
        /** Where the chunk begins in its document, by its metadata. */
        start?: number;
        end?: number;
        headings?: string[];
        /** The file, by its metadata. */
        source?: string;
        /** What the model read. */
        text: string;
      }>;
      /** true: nothing relevant was found, and no model was asked. */
      refused: boolean;
      model: string | null;
      /** Why the model stopped: by itself, at max_tokens, by a filter, at LLM_TIMEOUT_MS; null: it was not asked. */
      finish: 'stop' | 'length' | 'content_filter' | 'deadline' | null;
      /** Quotes of the model that are not in the source that it named. */
      dropped_quotes: number;
      usage: {
        prompt_tokens: number;
        completion_tokens: number;
        total_tokens: number;
        /** Present where the provider does not say it. */
        estimated?: true;
      };
      timing_ms: {
        embedding_ms: number;
        /** Until the passages were there, with embedding and reranking. */
        retrieval_ms: number;
        first_token_ms: number | null;
        model_ms: number;
        checking_ms: number;
        total_ms: number;
      };
    };
  };
  /**
   * Score texts for a query by a model: POST /v1/rerank
   *
   * A model reads the query together with each text. A score depends on nothing but these two. 400 where there is no such model; the message names those that there are.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 422, 429, 500.
   */
  post_rerank: {
    body: {
      /** One of RERANK_MODEL; left out: the first. */
      model?: string;
      query: string;
      documents: string[];
      /** How many of them the answer has, the best. Default: all. */
      top_n?: number;
    };
    answer: {
      model: string;
      /** Best first; equal scores by index. */
      results: Array<{
        /** The place of the text among documents, from 0. */
        index: number;
        /** 0 to 1, higher is better. */
        score: number;
      }>;
    };
  };
  /**
   * Show how a text is cut into terms: POST /v1/collections/{name}/analyse
   *
   * Keyword search counts these terms.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_analyse: {
    body: {
      /** At most 262144 bytes in UTF-8. */
      text: string;
      /** document: all terms, as they are stored. query: those that are looked for, each once; no stop words if there are others. Of scripts without spaces, pairs are stored, and in some languages words are looked for. Default: "document". */
      as?: 'document' | 'query';
      /** Cut as this one of the keyword_fields is. Default: by the language of the collection. */
      field?: string;
    };
    answer: {
      analyser: string;
      /** Rises when some text gives other terms than before. */
      version: number;
      language: string | null;
      /** In the order of the text. start and end are UTF-16 code units of the text as it was sent, end the first behind the word. Terms may overlap. */
      terms: Array<{
        term: string;
        start: number;
        end: number;
        /** Queries leave it out if they have other words. */
        stop_word: boolean;
      }>;
      /** Of a query of a collection with synonyms: words that mean others, too. */
      synonyms?: Array<{
        start: number;
        end: number;
        meanings: string[];
      }>;
    };
  };
  /**
   * Say why a search does not find an item: POST /v1/collections/{name}/why
   *
   * Takes `external_id` and the fields of a search, with `query_text` or `legs` those of a hybrid one. It runs some ten searches, exact ones among them, one after the other.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_why: {
    body: {
      /** Any Unicode but control characters. */
      external_id: string;
    };
    answer: WhyReport;
  };
  /**
   * Keep queries with the items that answer them: PUT /v1/collections/{name}/judgements/{id}
   *
   * In the place of what was there under the name. They go with the collection; backups do not have them.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  put_collections_name_judgements_id: {
    body: Array<{
      query: string;
      /** Grades by external_id, from 0 (no answer) to 1000; what is not judged counts as 0. One at least is above 0. */
      relevant: Record<string, number>;
    }>;
    answer: Judgements;
  };
  /**
   * Judged queries: GET /v1/collections/{name}/judgements/{id}
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  get_collections_name_judgements_id: {
    answer: {
      name: string;
      queries: number;
      /** Of all queries. */
      grades: number;
      updated_at: string;
      judged: Array<{
        query: string;
        relevant: Record<string, number>;
      }>;
    };
  };
  /**
   * Delete judgements: DELETE /v1/collections/{name}/judgements/{id}
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  delete_collections_name_judgements_id: {
    answer: {
      deleted: string;
    };
  };
  /**
   * List the judgements of a collection, by name: GET /v1/collections/{name}/judgements
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  get_collections_name_judgements: {
    answer: {
      judgements: Judgements[];
    };
  };
  /**
   * Compare searches by judged queries: POST /v1/collections/{name}/evaluate
   *
   * Begins a job that asks each query in each variant, as POST /v1/query would. Its `result` has for each variant `ndcg`, `recall` and `mrr` of the first k hits: the mean over the queries with `low` and `high`, between which it lies in 95 % of draws of as many queries (bootstrap). From the second variant on, `against_first` has the same of the differences to the first, query by query: where `low` is above 0, it is better by more than chance. `missing_items`: judged items that are not in the collection.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_evaluate: {
    body: {
      /** The name of the judgements. */
      name: string;
      /** At most 32768 bytes as JSON. */
      variants: Record<string, unknown>[];
      /** How many hits of each query count. Default: 10. */
      k?: number;
    };
    answer: Job;
  };
  /**
   * Measure the recall of searches: POST /v1/collections/{name}/recall_check
   *
   * Runs calibrated and exact searches for the same queries, one after the other, and compares their answers over all shards. Without `queries`, vectors of the collection are asked for, each left out of its own answer; they are somewhat easier to find than vectors that were never stored, because they are in the graph. One check runs at a time; queries × vectors are bounded, and no further query is asked when most of the time for a request is over.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_recall_check: {
    body: {
      /** Vectors to ask for, best ones that were never stored. Left out: vectors of the collection. */
      queries?: VectorLike[];
      /** How many vectors of the collection are asked for; left out: 100, or fewer in a large collection. */
      samples?: number;
      /** Which vectors are drawn: the same ones for the same seed, however many shards there are. Default: 1. */
      seed?: number;
      /** Default: 10. */
      k?: number;
      /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
      filters?: Filters;
    };
    answer: RecallReport;
  };
  /**
   * Count values: facets, ranges, statistics, groups: POST /v1/collections/{name}/aggregate
   *
   * Exact over all items that pass the filters, but for `distinct` of more than 100,000 values. 1, "1" and true are three values; each element of an array is one, counted once an item.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_aggregate: {
    body: {
      /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
      filters?: Filters;
      /** Counts the k best hits of this search instead of all items that pass. */
      over?: {
        text?: string;
        /** Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of little-endian float32 values. */
        vector?: VectorLike;
        query_text?: string;
        /** Default: 100. */
        k?: number;
      };
      facets?: Array<{
        /** A path of the metadata, as in filters. */
        field: string;
        /** Default: 20. */
        limit?: number;
        /** By count, the greatest first, then by value; or by value: numbers, texts, false, true, null. Default: "count". */
        order?: 'count' | 'value';
        /** Only texts that begin so. */
        prefix?: string;
        /** false: counts as if the filters had no conditions on this field. Default: true. */
        own_filter?: boolean;
      }>;
      ranges?: Array<{
        /** A path of the metadata, as in filters. */
        field: string;
        /** Numbers that rise: a bucket from each to below the next. */
        edges?: number[];
        /** Buckets between the multiples of this number. */
        interval?: number;
        /** Of texts with dates, as $date reads them. Weeks begin on Monday. */
        calendar?: 'year' | 'quarter' | 'month' | 'week' | 'day' | 'hour' | 'minute';
        /** Of the calendar, an IANA name such as "Europe/Berlin". Default UTC. */
        time_zone?: string;
      }>;
      stats?: Array<{
        /** A path of the metadata, as in filters. */
        field: string;
        /** count and distinct are of all values but null, the others of numbers. p50 and p99: the least number that so many of 100 don’t exceed. Default: ["min","max","sum","avg","count"]. */
        ops?: Array<'min' | 'max' | 'sum' | 'avg' | 'count' | 'distinct' | 'p50' | 'p99'>;
      }>;
      /** The same for each of the most frequent values of a field. */
      by?: {
        /** A path of the metadata, as in filters. */
        field: string;
        /** Default: 10. */
        limit?: number;
        facets?: Array<{
          /** A path of the metadata, as in filters. */
          field: string;
          /** Default: 20. */
          limit?: number;
          /** By count, the greatest first, then by value; or by value: numbers, texts, false, true, null. Default: "count". */
          order?: 'count' | 'value';
          /** Only texts that begin so. */
          prefix?: string;
          /** false: counts as if the filters had no conditions on this field. Default: true. */
          own_filter?: boolean;
        }>;
        ranges?: Array<{
          /** A path of the metadata, as in filters. */
          field: string;
          /** Numbers that rise: a bucket from each to below the next. */
          edges?: number[];
          /** Buckets between the multiples of this number. */
          interval?: number;
          /** Of texts with dates, as $date reads them. Weeks begin on Monday. */
          calendar?: 'year' | 'quarter' | 'month' | 'week' | 'day' | 'hour' | 'minute';
          /** Of the calendar, an IANA name such as "Europe/Berlin". Default UTC. */
          time_zone?: string;
        }>;
        stats?: Array<{
          /** A path of the metadata, as in filters. */
          field: string;
          /** count and distinct are of all values but null, the others of numbers. p50 and p99: the least number that so many of 100 don’t exceed. Default: ["min","max","sum","avg","count"]. */
          ops?: Array<'min' | 'max' | 'sum' | 'avg' | 'count' | 'distinct' | 'p50' | 'p99'>;
        }>;
        /** The same for the most frequent values of one more field. */
        by?: {
          /** A path of the metadata, as in filters. */
          field: string;
          /** Default: 10. */
          limit?: number;
          facets?: Array<{
            /** A path of the metadata, as in filters. */
            field: string;
            /** Default: 20. */
            limit?: number;
            /** By count, the greatest first, then by value; or by value: numbers, texts, false, true, null. Default: "count". */
            order?: 'count' | 'value';
            /** Only texts that begin so. */
            prefix?: string;
            /** false: counts as if the filters had no conditions on this field. Default: true. */
            own_filter?: boolean;
          }>;
          ranges?: Array<{
            /** A path of the metadata, as in filters. */
            field: string;
            /** Numbers that rise: a bucket from each to below the next. */
            edges?: number[];
            /** Buckets between the multiples of this number. */
            interval?: number;
            /** Of texts with dates, as $date reads them. Weeks begin on Monday. */
            calendar?: 'year' | 'quarter' | 'month' | 'week' | 'day' | 'hour' | 'minute';
            /** Of the calendar, an IANA name such as "Europe/Berlin". Default UTC. */
            time_zone?: string;
          }>;
          stats?: Array<{
            /** A path of the metadata, as in filters. */
            field: string;
            /** count and distinct are of all values but null, the others of numbers. p50 and p99: the least number that so many of 100 don’t exceed. Default: ["min","max","sum","avg","count"]. */
            ops?: Array<'min' | 'max' | 'sum' | 'avg' | 'count' | 'distinct' | 'p50' | 'p99'>;
          }>;
        };
      };
    };
    answer: {
      facets?: Array<{
        field: string;
        values: Array<{
          value: string | number | boolean | null;
          count: number;
        }>;
        /** Whether there are more values. */
        more: boolean;
        /** Items without the field. */
        missing: number;
      }>;
      ranges?: Array<{
        field: string;
        buckets: Array<{
          from: number | string;
          to: number | string;
          count: number;
        }>;
      }>;
      stats?: Array<{
        field: string;
        min?: number | null;
        max?: number | null;
        /** Without rounding on the way; null beyond 1.8e308. */
        sum?: number | null;
        avg?: number | null;
        count?: number;
        distinct?: number;
        /** Of more than 100,000 distinct values these are an estimate with this standard error. */
        distinct_error?: number;
        p50?: number | null;
        p99?: number | null;
        /** Values that only count and distinct count. */
        not_numbers?: number;
      }>;
      by?: {
        field: string;
        groups: Array<{
          value: string | number | boolean | null;
          count: number;
          facets?: Array<{
            field: string;
            values: Array<{
              value: string | number | boolean | null;
              count: number;
            }>;
            /** Whether there are more values. */
            more: boolean;
            /** Items without the field. */
            missing: number;
          }>;
          ranges?: Array<{
            field: string;
            buckets: Array<{
              from: number | string;
              to: number | string;
              count: number;
            }>;
          }>;
          stats?: Array<{
            field: string;
            min?: number | null;
            max?: number | null;
            /** Without rounding on the way; null beyond 1.8e308. */
            sum?: number | null;
            avg?: number | null;
            count?: number;
            distinct?: number;
            /** Of more than 100,000 distinct values these are an estimate with this standard error. */
            distinct_error?: number;
            p50?: number | null;
            p99?: number | null;
            /** Values that only count and distinct count. */
            not_numbers?: number;
          }>;
          by?: {
            field: string;
            groups: Array<{
              value: string | number | boolean | null;
              count: number;
              facets?: Array<{
                field: string;
                values: Array<{
                  value: string | number | boolean | null;
                  count: number;
                }>;
                /** Whether there are more values. */
                more: boolean;
                /** Items without the field. */
                missing: number;
              }>;
              ranges?: Array<{
                field: string;
                buckets: Array<{
                  from: number | string;
                  to: number | string;
                  count: number;
                }>;
              }>;
              stats?: Array<{
                field: string;
                min?: number | null;
                max?: number | null;
                /** Without rounding on the way; null beyond 1.8e308. */
                sum?: number | null;
                avg?: number | null;
                count?: number;
                distinct?: number;
                /** Of more than 100,000 distinct values these are an estimate with this standard error. */
                distinct_error?: number;
                p50?: number | null;
                p99?: number | null;
                /** Values that only count and distinct count. */
                not_numbers?: number;
              }>;
            }>;
            /** Whether there are more values. */
            more: boolean;
            /** Items without the field. */
            missing: number;
          };
        }>;
        /** Whether there are more values. */
        more: boolean;
        /** Items without the field. */
        missing: number;
      };
      /** true: with over, whose hits are counted. */
      approximate?: boolean;
      /** With over: how many hits were counted. */
      hits?: number;
    };
  };
  /**
   * Draw a uniform sample of the items that match: POST /v1/collections/{name}/sample
   *
   * Which items are drawn follows from the seed and their ids, not from shards or the order of writes. A `projection` shows the vectors in few dimensions, for pictures; its axes are found from the first of a large sample (16 MiB of vectors). An answer holds at most 16 MiB of vectors, and 33,554,432 characters of ids and metadata. Items that are written meanwhile may be left out. At most 50000 items.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_sample: {
    body: {
      /** Default: 1000. */
      size?: number;
      /** The same seed gives the same sample, and a larger sample with it holds the smaller one. Default: 0. */
      seed?: number;
      /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
      filters?: Filters;
      /** Paths of the metadata to be answered, such as "author.name". Left out: all; []: none. */
      metadata_fields?: string[];
      /** Default: false. */
      include_vectors?: boolean;
      /** The only form in which a sample has vectors: one text for all of them. Default: "base64". */
      vector_format?: 'base64';
      projection?: {
        /** Principal component analysis: the axes along which the vectors vary most. For the metric cosine, of the vectors’ directions. */
        method: 'pca';
        dimensions: number;
      };
    };
    answer: Sample;
  };
  /**
   * Say what fields a collection has, and what is in them: POST /v1/collections/{name}/describe
   *
   * By a uniform sample of its items: for people and language models that are about to write filters.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_collections_name_describe: {
    body: {
      /** Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $empty (true: no value: missing, null, [], or an array with a null and no number, text or boolean) $between ([lowest, highest], both included) $prefix (a text begins so) $contains (a text has it within) $like (* any characters, ? one, \\ before either itself; the whole text) $all (an array has each of the values) $any (an array has one of the values) $size (elements of an array: a number, or $gt $gte $lt $lte) $elem_match (one element of an array meets all conditions: on its members, or operators on itself) $geo_radius ({lat, lon, metres}) $geo_box ({min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line) $geo_polygon (its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself); {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time; $prefix, $contains, $like with "case": "fold" beside it: whatever the cases on a key, $and $or $not $id (a list of external_ids) $expires_at ($gt $gte $lt $lte $between with times as in expires_at, or $exists) $updated (the same of its last change, of which an item written by an earlier version knows nothing) $text ({query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata) at the top. */
      filters?: Filters;
      /** Items that are looked at, at most, drawn uniformly and always the same. Default: 500. */
      looked_at?: number;
      /** Items that are shown, of these. Default: 3. */
      samples?: number;
    };
    answer: {
      name: string;
      description: string | null;
      dim: number;
      distance_metric: string;
      language: string | null;
      /** The model of its texts; null before the first. */
      embedding_model: string | null;
      /** Items that pass the filters; without these, all. */
      items: number;
      /** Items that were looked at: counts are of these. */
      looked_at: number;
      /** Paths of the metadata, those of most items first. */
      fields: Array<{
        path: string;
        /** Of its values, and of the elements of its lists. */
        kinds: Array<'text' | 'date' | 'number' | 'boolean' | 'list' | 'object' | 'null'>;
        /** How many of the items have it. */
        items: number;
        /** The most frequent ones, each with how many of the items have it; no long texts. */
        values: Array<{
          value: string | number | boolean;
          count: number;
        }>;
        /** Whether it has other values, too. */
        more: boolean;
        /** Of its numbers. */
        least?: number;
        greatest?: number;
      }>;
      samples: Array<{
        external_id: string;
        metadata: Metadata;
        text: string | null;
      }>;
    };
  };
  /**
   * Upload a .txt file: it is split, embedded and stored: POST /v1/documents/upload
   *
   * The file is cut, embedded and stored as it arrives (most quickly with collection_name before it), all or nothing: what was stored of an upload that fails, or whose client goes away, is deleted again. Chunks are stored as <document_id>-chunk-<n>, counted from 0, with document_id, chunk_index, source and text as metadata.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_documents_upload: {
    body: {
      collection_name: string;
      /** Default: false. */
      include_timing?: boolean;
      /** When the item expires, ISO 8601 with a zone: from then on it is gone for every read. A time that is over is allowed. */
      expires_at?: string;
      /** A UTF-8 .txt file; the fields may come before or after it. */
      file: string;
    };
    answer: {
      document_id: string;
      chunks_created: number;
      timing_ms?: WriteTiming;
    };
  };
  /**
   * Add a document, or replace it: a job parses, cuts, embeds and stores it: POST /v1/documents
   *
   * A form with a file, or JSON with a text. The answer comes once the file is on stable storage; GET /v1/jobs/{id} says how far its job is. Readers see all chunks of the document or none, the old or the new. Of a document that is sent again, only chunks with other texts are embedded.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  post_documents: {
    body: {
      collection_name: string;
      /** The document; the type of it is `txt` unless `type` says another. */
      text: string;
      type?: 'txt' | 'md' | 'html' | 'csv' | 'jsonl';
      /** Your own id of the document, as a path or an address: what has the same one is the same document. */
      document_key?: string;
      /** At most 16384 bytes as JSON, 4096 keys and array elements, and 32 levels deep. */
      metadata?: Metadata;
      chunking?: Chunking;
      /** What to do with a document of that key that is there: `replace` it, `skip` this one, or answer an `error` (409). */
      on_exists?: 'replace' | 'skip' | 'error';
      /** When the item expires, ISO 8601 with a zone: from then on it is gone for every read. A time that is over is allowed. null: at no time of its own, so that ttl_seconds of the collection counts, if it has that. Left out: at the time of its own that it has. */
      expires_at?: string | null;
      /** Your own mark of what you send, such as a checksum of the file and its options. The document has it, so that you can tell whether to send it again. */
      fingerprint?: string;
      /** Have each chunk’s text in its metadata, too, under `text`, as uploads have it. Default: false. */
      text_in_metadata?: boolean;
      /** Answer once the job is over, or after 25 s as it is then. Default: false. */
      wait?: boolean;
    };
    answer: {
      /** GET /v1/jobs/{id} says how far it is. */
      job_id: string;
      document_id: string;
      state: 'queued' | 'running' | 'paused' | 'done' | 'failed' | 'cancelled';
      /** Why the job failed; null: it has not. */
      error: string | null;
      /** Once the job is done: `outcome`, `chunks`, and how many texts were `embedded`. */
      result: Record<string, unknown> | null;
    };
  };
  /**
   * List the documents of a collection: GET /v1/collections/{name}/documents
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  get_collections_name_documents: {
    query: {
      /** Default: 100. */
      limit?: number;
      /** `next_cursor` of the page before; left out for the first page. */
      cursor?: string;
    };
    answer: {
      documents: Document[];
      next_cursor: string | null;
    };
  };
  /**
   * What is stored of a document: GET /v1/collections/{name}/documents/{document_id}
   *
   * Its chunks are found by the filter `{"document_id": …}`, in the order of `chunk_index`.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  get_collections_name_documents_document_id: {
    answer: Document;
  };
  /**
   * Delete a document with all of its chunks: DELETE /v1/collections/{name}/documents/{document_id}
   *
   * Jobs that were begun before, and were to store it, are cancelled; one that is storing it is waited for, for some seconds: then the answer is 409.
   *
   * Role: readwrite or admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 429, 500.
   */
  delete_collections_name_documents_document_id: {
    answer: {
      document_id: string;
      deleted_chunks: number;
    };
  };
  /**
   * Begin a backup: POST /v1/admin/backups
   *
   * Every write that was acknowledged before the call is in it. Storage nodes write to the target themselves, while reads and writes go on; `GET /v1/admin/backups/{id}` tells how far it is. A collection of which a shard is damaged, or does not answer, is left out; the others are taken.
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_admin_backups: {
    body: {
      collections?: string[];
      target?: string;
    };
    answer: Backup;
  };
  /**
   * List backups, the newest first, and what can be restored to any moment: GET /v1/admin/backups
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 429, 500.
   */
  get_admin_backups: {
    query: {
      target?: string;
    };
    answer: {
      backups: Backup[];
      /** With `BACKUP_LOG=true`: from when to when collections can be restored to any moment. */
      restorable: RestorableCollection[];
    };
  };
  /**
   * A backup: how far it is, and what is in it: GET /v1/admin/backups/{id}
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  get_admin_backups_id: {
    query: {
      target?: string;
    };
    answer: Backup;
  };
  /**
   * Delete a backup, or give one up that is under way: DELETE /v1/admin/backups/{id}
   *
   * What other backups need of it stays. One that is being restored is not deleted.
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  delete_admin_backups_id: {
    query: {
      target?: string;
    };
    answer: Backup;
  };
  /**
   * Read every object of a backup and compare it with its checksum: POST /v1/admin/backups/{id}/verify
   *
   * Begins it; `GET /v1/admin/backups/{id}` says what was found.
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  post_admin_backups_id_verify: {
    query: {
      target?: string;
    };
    answer: Backup;
  };
  /**
   * Restore collections from a backup: POST /v1/admin/restore
   *
   * Into names that are free, or those of collections that are there and empty; `rename` gives others than in the backup. With the number of shards that they had, their indexes come from the backup. Nothing is visible before all of it serves; then the collections become visible one after the other, those that were there first. A collection that is there keeps its settings, and must be like the one in the backup (dim, distance_metric, language, quantization, embedding_model). Somebody who writes to it meanwhile keeps what was written: then the restore fails, and `error` names those that had taken their place by then, which stay. With `until`, to any moment that `GET /v1/admin/backups` calls restorable. What this service has not sealed is restored with a warning; its keys are not, unless `unsealed` says so.
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  post_admin_restore: {
    body: {
      /** With `until`: the one that it is reached from; otherwise the newest that leads there. */
      backup?: string;
      /** A time: what was acknowledged by then, and nothing that began later. Or, by collection, the last entry of the log of each of its shards, in their order. Needs `BACKUP_LOG=true`. */
      until?: string | LogPositions;
      target?: string;
      collections?: string[];
      /** By the name in the backup: a name that is free, or that of a collection which is empty. Default: {}. */
      rename?: Record<string, string>;
      /** Default: as in the backup, or as the empty collection has. */
      shards?: number;
      /** Default: as in the backup, or as the empty collection has. */
      replicas?: number;
      /** Default: false. */
      keys?: boolean;
      /** Take on trust the keys, and the logs that lead to a moment, which this service has not sealed: whoever can write to the target may have made them. Default: false. */
      unsealed?: boolean;
    };
    answer: Restore;
  };
  /**
   * List restores, the newest first: GET /v1/admin/restores
   *
   * Role: admin.
   *
   * Error codes: 401, 403, 429, 500.
   */
  get_admin_restores: {
    answer: {
      restores: Restore[];
    };
  };
  /**
   * A restore: how far it is: GET /v1/admin/restores/{id}
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  get_admin_restores_id: {
    answer: Restore;
  };
  /**
   * Give a restore up, or forget one that is over: DELETE /v1/admin/restores/{id}
   *
   * Nothing is left of one that is given up. From when the first of its collections takes its place, it is too late for that (409): it goes on.
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  delete_admin_restores_id: {
    answer: Restore;
  };
  /**
   * List long work, the newest first: GET /v1/jobs
   *
   * Those that the key may know of: jobs of a collection with the rights for it, others with an admin key. What is over is kept for 7 days, at most the last 1,000.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 429, 500.
   */
  get_jobs: {
    query: {
      /** Those of one kind, such as `backup`. */
      kind?: string;
      state?: 'queued' | 'running' | 'paused' | 'done' | 'failed' | 'cancelled';
      /** Those that work on a collection; an alias names one, too. */
      collection?: string;
      /** Default: 100. */
      limit?: number;
      /** `next_cursor` of the page before; left out for the first page. */
      cursor?: string;
    };
    answer: {
      jobs: Job[];
      next_cursor: string | null;
    };
  };
  /**
   * A job: how far it is: GET /v1/jobs/{id}
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  get_jobs_id: {
    answer: Job;
  };
  /**
   * Cancel a job, and take back what it made: DELETE /v1/jobs/{id}
   *
   * The job stays in the list as cancelled. What is over stays as it is (409), and so does what can’t be taken back any more.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 409, 429, 500.
   */
  delete_jobs_id: {
    answer: Job;
  };
  /**
   * Let a job rest: POST /v1/jobs/{id}/pause
   *
   * Until it is resumed, whatever starts anew. Of kinds that can’t: 400.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 409, 429, 500.
   */
  post_jobs_id_pause: {
    answer: Job;
  };
  /**
   * Go on with a job that is paused: POST /v1/jobs/{id}/resume
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 409, 429, 500.
   */
  post_jobs_id_resume: {
    answer: Job;
  };
  /**
   * Let what a job has made take over: POST /v1/jobs/{id}/switch
   *
   * Of a reembed that is `ready`: from then on all calls use the new vectors, each either these or those of before. With `keep_hours` also of one that has switched: it says anew until when there is a way back. Of other kinds: 400.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  post_jobs_id_switch: {
    body: {
      /** In place of what the job says; after the switch, too: 0 gives the way back up. */
      keep_hours?: number;
    };
    answer: Job;
  };
  /**
   * Go back to what was before the switch of a job: POST /v1/jobs/{id}/back
   *
   * Of a reembed that has switched, within `keep_hours`: the vectors of before take over again, with all that was written since. The job is cancelled then. Of other kinds: 400.
   *
   * Role: any.
   *
   * Error codes: 400, 401, 403, 404, 409, 429, 500.
   */
  post_jobs_id_back: {
    answer: Job;
  };
  /**
   * Load a small sample of texts into the collection demo, to try search, hybrid search and filters with: POST /v1/demo
   *
   * Some 250 short texts about animals, countries, culture, elements, inventions, nature and space, with metadata (`topic`, `title`, `group`, `region`, `year`), embedded by the configured model. It takes some seconds. Calling again changes nothing. The texts are free of rights (CC0).
   *
   * Role: readwrite or admin.
   *
   * Error codes: 401, 403, 409, 429, 500.
   */
  post_demo: {
    answer: Demo;
  };
  /**
   * Create an API key: POST /v1/admin/keys
   *
   * The secret is in this answer and never again. A key may be limited to `collections`, by name or prefix: it sees no others, and may call nothing that is about the service as a whole. A name counts before a prefix, a longer prefix before a shorter one.
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 409, 422, 429, 500.
   */
  post_admin_keys: {
    body: {
      name: string;
      role: 'admin' | 'readwrite' | 'readonly';
      expires_in_days?: number;
      /** Collections that the key is limited to; null: all. Its role is then not admin. */
      collections?: Array<{
        name?: string;
        prefix?: string;
        role?: 'admin' | 'readwrite' | 'readonly';
      }> | null;
      /** Networks that it may be used from; null: all. */
      allowed_networks?: string[] | null;
      /** Requests in any 60 seconds; 0: no limit; null: RATE_LIMIT_PER_MINUTE. */
      rate_limit_per_minute?: number | null;
      /** The most that it may store; null: as much as there is room for. Each item of a write counts, whether it is new or replaces another; deleting gives nothing back. */
      quota?: {
        /** Items that it may write; left out or null: any number. */
        items?: number | null;
        /** Bytes of vectors, metadata, texts and ids that it may write; left out or null: any number. */
        bytes?: number | null;
        /** Per day or month of UTC, or in all. Default: "month". */
        period?: 'day' | 'month' | 'total';
      } | null;
    };
    answer: ApiKeyWithSecret;
  };
  /**
   * List API keys: GET /v1/admin/keys
   *
   * Role: admin.
   *
   * Error codes: 401, 403, 429, 500.
   */
  get_admin_keys: {
    answer: {
      keys: ApiKey[];
    };
  };
  /**
   * Show one API key: GET /v1/admin/keys/{id}
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  get_admin_keys_id: {
    answer: ApiKey;
  };
  /**
   * Rename an API key, change its role, limits or expiry, switch it off or on: PATCH /v1/admin/keys/{id}
   *
   * What is left out stays as it is; null takes a limit away.
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  patch_admin_keys_id: {
    body: {
      name?: string;
      role?: 'admin' | 'readwrite' | 'readonly';
      is_active?: boolean;
      /** Counted from now; null: never. */
      expires_in_days?: number | null;
      /** Collections that the key is limited to; null: all. Its role is then not admin. */
      collections?: Array<{
        name?: string;
        prefix?: string;
        role?: 'admin' | 'readwrite' | 'readonly';
      }> | null;
      /** Networks that it may be used from; null: all. */
      allowed_networks?: string[] | null;
      /** Requests in any 60 seconds; 0: no limit; null: RATE_LIMIT_PER_MINUTE. */
      rate_limit_per_minute?: number | null;
      /** The most that it may store; null: as much as there is room for. Each item of a write counts, whether it is new or replaces another; deleting gives nothing back. */
      quota?: {
        /** Items that it may write; left out or null: any number. */
        items?: number | null;
        /** Bytes of vectors, metadata, texts and ids that it may write; left out or null: any number. */
        bytes?: number | null;
        /** Per day or month of UTC, or in all. Default: "month". */
        period?: 'day' | 'month' | 'total';
      } | null;
    };
    answer: ApiKey;
  };
  /**
   * Delete an API key: DELETE /v1/admin/keys/{id}
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  delete_admin_keys_id: {
    answer: {
      deleted: number;
      id: number;
      name: string;
    };
  };
  /**
   * Give an API key a new secret: POST /v1/admin/keys/{id}/rotate
   *
   * The new secret is in this answer and never again. The old one works for `grace_seconds` more, 0 by default; one from before it stops working now.
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 409, 422, 429, 500.
   */
  post_admin_keys_id_rotate: {
    body: {
      /** Seconds for which the old secret works, too. Default: 0. */
      grace_seconds?: number;
    };
    answer: RotatedApiKey;
  };
  /**
   * Requests made with one key, and what it has stored of its quota: GET /v1/admin/keys/{id}/usage
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  get_admin_keys_id_usage: {
    answer: UsageOfKey;
  };
  /**
   * Requests made with all keys: GET /v1/admin/keys/usage/summary
   *
   * Of all keys together, those that were deleted since too, at the top and as `overall`; of each key that there is in `by_key`.
   *
   * Role: admin.
   *
   * Error codes: 401, 403, 429, 500.
   */
  get_admin_keys_usage_summary: {
    answer: UsageSummary;
  };
  /**
   * Get the admin key for the link that the first start printed: POST /v1/sign_in
   *
   * A first start without `API_KEY` prints a link to the dashboard with a token, which gives the admin key once and for ten minutes; afterwards, and for any other token, the code is 401. Calls are limited like those with a bad key (`BAD_KEY_LIMIT_PER_MINUTE`).
   *
   * No key needed.
   *
   * Error codes: 400, 401, 422, 429.
   */
  post_sign_in: {
    body: {
      /** What stands behind `#sign-in=` in the link. */
      token: string;
    };
    answer: {
      api_key: string;
      role: 'admin' | 'readwrite' | 'readonly';
      key_id: number;
    };
  };
  /**
   * Show which key or token this is, and what it may do: GET /v1/me
   *
   * Role: any.
   *
   * Error codes: 401, 403, 429, 500.
   */
  get_me: {
    answer: Caller;
  };
  /**
   * Whether the service is well, and what it holds: GET /v1/health
   *
   * Role: any.
   *
   * Error codes: 401, 403, 429, 500.
   */
  get_health: {
    answer: {
      /** degraded: a shard does not answer; all others serve. */
      status: 'ok' | 'degraded';
      /** Of the collections that can be counted. */
      total_vectors: number;
      total_collections: number;
      uptime_seconds: number;
      collections: Array<{
        name: string;
        /** -1 while a shard does not answer, so that nobody can count them. */
        vector_count: number;
        dim: number;
      }>;
      /** Shards that did not answer within some seconds, and why, for people. */
      unavailable: Array<{
        collection: string;
        shard: number;
        reason: string;
      }>;
      embedding: {
        configured: string;
        active: string;
        fallback_reason: string | null;
        /** Dimension of the model in use; null when it fits any. */
        dim: number | null;
        /** What the embedding of a collection may name. */
        models: string[];
      };
      /** Those that searches may name, the default first. */
      rerank: {
        models: string[];
      };
    };
  };
  /**
   * Nodes, shards, moves and reshards: GET /v1/cluster
   *
   * Role: admin.
   *
   * Error codes: 401, 403, 429, 500.
   */
  get_cluster: {
    answer: {
      mode: 'embedded' | 'cluster';
      controller: string | null;
      coordinators: Array<{
        id: string;
        address: string;
        pid: number;
        started_at: string;
      }>;
      nodes: Node[];
      shards: Shard[];
      /** Shards that are to take the place of those of a collection that changes their number. */
      new_shards: Shard[];
      moves: Array<{
        collection: string;
        shard: number;
        from: string;
        to: string;
        phase: string;
        progress: number;
      }>;
      /** Collections that change their number of shards, or failed to. */
      reshards: Reshard[];
    };
  };
  /**
   * Move every shard away from a node: POST /v1/cluster/nodes/{id}/drain
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  post_cluster_nodes_id_drain: {
    answer: Node;
  };
  /**
   * Let a node hold shards again: POST /v1/cluster/nodes/{id}/undrain
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 429, 500.
   */
  post_cluster_nodes_id_undrain: {
    answer: Node;
  };
  /**
   * Make one replica of a shard what counts, after etcd was put back: POST /v1/cluster/shards/{collection}/{shard}/adopt
   *
   * Only for a shard with a `later_epoch`, where the cluster can not tell what was in force. The node leads, and other replicas are copied from it: what it lacks is lost.
   *
   * Role: admin.
   *
   * Error codes: 400, 401, 403, 404, 422, 429, 500.
   */
  post_cluster_shards_collection_shard_adopt: {
    body: {
      node: string;
    };
    answer: {
      collection: string;
      shard: number;
      primary: string;
      epoch: number;
      earlier_epoch: number;
    };
  };
  /**
   * What this process does at present: rates, times, and slow requests: GET /v1/metrics/summary
   *
   * Of the process that answers: a coordinator, or the one of the embedded form. Cheap enough to be asked every second. `/metrics` has more of it, and `/v1/cluster` the nodes. Which process it is, and slow requests, are shown to admins; all that is of the whole process, its memory too, to all but keys that are limited to collections, who get zeros and empty lists.
   *
   * Role: any.
   *
   * Error codes: 401, 403, 429, 500.
   */
  get_metrics_summary: {
    answer: Activity;
  };
}
