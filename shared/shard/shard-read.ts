import type { Filter } from '../filter/filter';

/**
 * The reads of a shard: what each kind is asked and what it answers. A read is a value on its whole way, so only three
 * places know the kinds: this map, how a shard answers them (node/shard/answer-read.ts) and how they travel
 * (shared/rpc/read-codecs.ts). docs/adding-a-read.md shows how to add one.
 */
export interface ShardReads {
  /** The best `k` in the order of {@link compareHits}, fewer only if fewer match. */
  search: { request: VectorSearch; answer: VectorSearchResult };
  /** Exact scores of the listed items; unknown ids are left out, order is that of `externalIds`. */
  score: { request: { vector: Float32Array; externalIds: string[] }; answer: Hit[] };
  /** The best `k` by BM25 under the statistics given, ordered as search is; items with no term are not returned. */
  keywordSearch: { request: KeywordSearch; answer: Hit[] };
  /** What BM25 needs to know of this shard about some terms; summed over shards by the caller. */
  keywordStatistics: { request: { terms: string[] }; answer: KeywordStatistics };
  /** Items in the order asked, null where absent. */
  fetch: { request: { externalIds: string[]; vectors: boolean }; answer: (StoredItem | null)[] };
  /** Items in insertion order, (stamp, externalId) > `after`; fewer than `limit` only at the end. */
  scan: { request: ScanRequest; answer: StoredItem[] };
  /** Live items, as `status` has them, at next to no cost. */
  count: { request: null; answer: number };
  status: { request: null; answer: ShardStatus };
}

export type ReadKind = keyof ShardReads;

/** What a read of the kind is asked; null where there is nothing to say. */
export type RequestOf<Kind extends ReadKind> = ShardReads[Kind]['request'];

/** What a read of the kind answers. */
export type AnswerOf<Kind extends ReadKind> = ShardReads[Kind]['answer'];

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

/**
 * The order of every answer: score falling, then external_id rising by UTF-16 code units.
 * Negative when `a` comes first.
 */
export function compareHits(a: { externalId: string; score: number }, b: { externalId: string; score: number }): number {
  // Not a subtraction: two infinite dot products are equal.
  if (a.score !== b.score) return a.score > b.score ? -1 : 1;
  if (a.externalId === b.externalId) return 0;
  return a.externalId < b.externalId ? -1 : 1;
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
