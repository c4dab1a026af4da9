import type { Filter } from '../filter/filter';
import type { AggregateAnswers, AggregateQuestion } from './aggregate';
import type { Boosts } from './boosts';
import type { FieldFacts, FieldFactsRequest } from './field-facts';
import type { OrderAnswer, OrderRequest } from './item-order';
import type { ExpansionRequest, Expansions } from './keyword-expansion';
import type { KeywordPlan } from './keyword-plan';
import type { ShardBackupOrder, ShardBackupState } from './shard-backup';
import type { DedupRecord } from '../writes/dedup-record';
import type { Expiry } from '../writes/expiry';
import type { ReplicaPurge } from './shard-purge';
import type { ShardStage } from './shard-stage';

/**
 * The reads of a shard: for each kind, its request and its answer. A read stays a value on its whole way, so only three
 * places know the kinds: this map, how a shard answers them (node/engine/shard/reading/answer-read.ts), and how they
 * are sent (shared/wire/codecs/read-codecs.ts). docs/adding-a-read.md shows how to add one.
 */
export interface ShardReads {
  /** The best `k` in the order of {@link compareHits}; fewer only if fewer match. */
  search: { request: VectorSearch; answer: VectorSearchResult };
  /**
   * Exact scores of the listed items, in the order of `externalIds`; unknown ids are left out. `bytesMax`, `boosts`: as
   * in a search.
   */
  score: {
    request: {
      vector: Float32Array;
      externalIds: string[];
      bytesMax?: number | undefined;
      boosts?: Boosts | undefined;
    };
    answer: Hit[];
  };
  /** The number that each boost makes of each of the listed items (boosts.ts); null where there is none. */
  boostNumbers: { request: { externalIds: string[]; boosts: Boosts }; answer: (number[] | null)[] };
  /**
   * The best `k` by BM25 with the given statistics, in the order of search. Items without any of the terms are not
   * returned.
   */
  keywordSearch: { request: KeywordSearch; answer: Hit[] };
  /** What BM25 needs to know about some terms in this shard. The caller sums it over the shards. */
  keywordStatistics: {
    request: { terms: string[]; fieldWeights?: readonly number[] | undefined };
    answer: KeywordStatistics;
  };
  /** Terms of this shard that begin with one or are near to it, for which a word of a query stands. */
  keywordExpansions: { request: ExpansionRequest; answer: Expansions };
  /**
   * Items in the requested order; null where absent. Without `texts` (default: true) these are not read, and come as
   * null. With `bytesMax` the answer may be of the first ids only, of one at least. With a `filter`, an item that does
   * not pass it counts as absent. `filling`: whoever fills the shard asks, and is answered though nobody else is.
   */
  fetch: {
    request: {
      externalIds: string[];
      vectors: boolean;
      texts?: boolean | undefined;
      versions?: boolean | undefined;
      expiries?: boolean | undefined;
      dates?: boolean | undefined;
      filling?: boolean | undefined;
      bytesMax?: number | undefined;
      filter?: Filter | undefined;
    };
    answer: (StoredItem | null)[];
  };
  /**
   * Items in insertion order, (stamp, externalId) > `after`; fewer than `limit` only at the end, or for `bytesMax`;
   * none only at the end.
   */
  scan: { request: ScanRequest; answer: StoredItem[] };
  /** The items with the least keys (shared/contract/shard/sample-key.ts) among those that match. */
  sample: { request: SampleRequest; answer: SampleResult };
  /** What the items have under some paths of their metadata: for what is told of a filter. */
  fields: { request: FieldFactsRequest; answer: FieldFacts };
  /**
   * The highest version that reads see: every item that is there has it or a lower one, and each change from now on has
   * a higher one.
   */
  lastVersion: { request: null; answer: number };
  /** The number of live items, as in `status`, at almost no cost. */
  count: { request: null; answer: number };
  /** The number of those that pass a filter. */
  matches: { request: { filter: Filter }; answer: number };
  /** Counts of what items have in their metadata. An item that is written meanwhile may count or not. */
  aggregate: { request: { questions: AggregateQuestion[] }; answer: AggregateAnswers };
  /** The first items in the order of their values, behind a place. */
  order: { request: OrderRequest; answer: OrderAnswer };
  status: { request: null; answer: ShardStatus };
  /**
   * Begins to make the best index of the present rows, in the background, unless that is under way. Nothing that a
   * search promises depends on it.
   */
  optimize: { request: null; answer: IndexProgress };
  /**
   * How far a shard is on its way to another set of shards, and which ids changed after the change number `after`. At
   * every stage. `writesPerSecond`: the shard takes no more of clients for the next seconds.
   */
  transfer: { request: { after: number; limit: number; writesPerSecond?: number | undefined }; answer: ShardTransfer };
  /**
   * What the shard remembers of writes that are done once: the mark of `token`, or with null those whose number is
   * higher than `after`, by number, `limit` of them at most. Marks that have expired may be among them.
   */
  marks: { request: { token: string | null; after: number; limit: number }; answer: DedupRecord[] };
  /** How far the purge of each replica is; with `start`, one begins where none is under way. */
  purge: { request: { start: boolean }; answer: ReplicaPurge[] };
  /** Writes the shard to a backup, in the background: the first call begins it, and each answers how far it is. */
  backup: { request: ShardBackupOrder; answer: ShardBackupState };
}

export type ReadKind = keyof ShardReads;

/**
 * The reads that followers answer, too: each means the same at every in-sync replica. `scan` continues after a stamp
 * and an id, which the log gives, `order` after values and an id, and `keywordSearch` brings its statistics along. Not
 * `status` and `fields`, which describe the replica itself, nor `count`, which costs a primary less than the way to it.
 */
export const SHARED_READS: ReadonlySet<ReadKind> = new Set([
  'search',
  'score',
  'boostNumbers',
  'keywordSearch',
  'keywordStatistics',
  'keywordExpansions',
  'fetch',
  'scan',
  'sample',
  'matches',
  'aggregate',
  'order',
]);

/** The request of a kind of read; null if it has none. */
export type RequestOf<Kind extends ReadKind> = ShardReads[Kind]['request'];

/** The answer of a kind of read. */
export type AnswerOf<Kind extends ReadKind> = ShardReads[Kind]['answer'];

export interface VectorSearch {
  vector: Float32Array;
  /** How many hits, at least 1. */
  k: number;
  filter: Filter | null;
  effort: SearchEffort;
  /** Whether hits carry `text`. */
  texts: boolean;
  /** Whether the answer says what it took. */
  counted?: true;
  /** Whether whoever asks takes `utf8Hits`, too. */
  packed?: true;
  /**
   * Once the hits have so many bytes of ids, metadata and texts, those behind have only their ids and scores (see
   * {@link Hit}). A node of an earlier version ignores it.
   */
  bytesMax?: number | undefined;
  /** Change the scores: hits are the best by the changed ones. */
  boosts?: Boosts | undefined;
  /** The best `k` of a part of the list; absent: of all of it. */
  part?: ListPart | undefined;
  /** Whether hits carry `version`. A node of an earlier version ignores it. */
  versions?: true | undefined;
}

/** Where a hit is in a ranked list: see {@link compareHits}. */
export interface HitPlace {
  externalId: string;
  score: number;
}

/**
 * A part of a ranked list as it was when versions were up to one: items that have changed since are left out, so the
 * rest keeps its order and its places, however many writes there are.
 */
export interface ListPart {
  /** As `lastVersion` said it: items of higher versions are left out. */
  versionMax: number;
  /** Hits behind this place; null: from the first on. */
  after: HitPlace | null;
  /** About how many hits of the shard come before. Says how deep to look; the answer does not depend on it. */
  passed: number;
}

export interface VectorSearchResult {
  /** Best first; ties in the order of external ids. */
  hits: Hit[];
  /**
   * The hits as they are sent (shared/wire/codecs/hit-codec.ts): `hits` is empty then. Only where somebody asked for
   * them in this form.
   */
  wireHits?: Buffer;
  /**
   * The hits as bytes with lengths in bytes (utf8HitsOf, packedFromSent in shared/wire/codecs/hit-codec.ts): `hits`
   * is empty then.
   */
  utf8Hits?: Buffer;
  /** Vectors in the shard, whatever the filter. */
  vectorCount: number;
  /** Of a search that is counted; a node of an earlier version does not say it. */
  cost?: SearchCost;
  /** Of a search with boosts that did not reach all items: how many it has looked at, the best without boosts. */
  boostDepth?: number;
}

/** What a search took: rows scored by their codes, and by their original vectors. */
export interface SearchCost {
  scored: number;
  rescored: number;
  /** Absent from nodes of earlier versions. */
  detail?: SearchDetail;
}

/**
 * How a shard searched: it compared everything that may be an answer by codes (`scan`) or by original vectors
 * (`exact`), walked its graph (`walk`), or looked through the cells nearest to the query (`cells`); or scanned after
 * one of these, because too little was found; `empty`: nothing may be an answer.
 */
export const SEARCH_PLANS = ['empty', 'scan', 'walk', 'exact', 'walk_then_scan', 'cells', 'cells_then_scan'] as const;
export type SearchPlan = (typeof SEARCH_PLANS)[number];

/**
 * Of a search that had to be repeated, for what changed meanwhile: the sum, and the plan of the last. Times in
 * milliseconds.
 */
export interface SearchDetail {
  plan: SearchPlan;
  /** Rows of the graph that the walk kept and expanded: its effort, as ef counts it. */
  expanded: number;
  /**
   * Items that may be answers: those that pass the filter, or all. About, where a filter was only asked for the items
   * that were looked at.
   */
  allowed: number;
  /** To find those that pass the filter. */
  filterMs: number;
  /** To wait for a thread that searches. */
  queueMs: number;
  /** To search the vectors. */
  vectorsMs: number;
  /** To make hits of what was found. */
  hitsMs: number;
  /** To read texts. */
  textsMs: number;
}

export type SearchEffort = { type: 'calibrated' } | { type: 'ef'; ef: number } | { type: 'exact' };

/** An effort that is set by hand. */
export function effortOf(ef: number): SearchEffort {
  return { type: 'ef', ef };
}

export interface KeywordSearch {
  /** Distinct analysed terms. */
  terms: string[];
  /** Of the whole collection; `documentFrequencies` are in the order of `terms`. */
  statistics: KeywordStatistics;
  /** How the terms belong together; absent: each of them is enough. */
  plan?: KeywordPlan;
  /**
   * How much each keyword field of the collection counts, 0 not at all, with statistics that were asked for the same;
   * absent: as it is indexed.
   */
  fieldWeights?: readonly number[] | undefined;
  k: number;
  filter: Filter | null;
  /** As in a search. */
  bytesMax?: number | undefined;
  /** As in a search; all items are reached. */
  boosts?: Boosts | undefined;
  /** As in a search, by the given statistics. */
  part?: ListPart | undefined;
  /** As in a search. */
  versions?: true | undefined;
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
  /** JSON object text; {@link LEFT_OUT}: neither it nor the text is here, because there were too many bytes of them. */
  metadata: string;
  /** Present if requested; "" if the item has none. */
  text?: string;
  /** Of the metadata and the text, if requested, if the shard counts versions and they are not left out. */
  version?: number;
}

/** In the place of the metadata of a hit whose contents are still to be fetched. No metadata are so. */
export const LEFT_OUT = '';

/**
 * The order of every answer: descending score, then ascending external_id by UTF-16 code units. Negative if `a` comes
 * first.
 */
export function compareHits(
  a: { externalId: string; score: number },
  b: { externalId: string; score: number },
): number {
  // Not by subtraction: two infinite dot products are equal, but their difference is NaN.
  if (a.score !== b.score) return a.score > b.score ? -1 : 1;
  if (a.externalId === b.externalId) return 0;
  return a.externalId < b.externalId ? -1 : 1;
}

/** Processors of different kinds add the same numbers up to scores that differ by so much of the greatest. */
const SCORE_ROUNDING = 1e-6;

/** By how much scores of a list may be others on another processor: by some of the list, the first and the last. */
export function scoreRounding(...scores: (number | undefined)[]): number {
  const greatest = Math.max(1, ...scores.map((score) => Math.abs(score ?? 0)));
  return SCORE_ROUNDING * Math.min(greatest, Number.MAX_VALUE);
}

/**
 * The hits down to a place that was the last of them; null: all. Another processor may have worked out its score, so it
 * is known by its item, where that is still there.
 */
export function hitsDownTo<H extends HitPlace>(hits: readonly H[], end: HitPlace | null): H[] {
  if (end === null) return [...hits];
  const at = hits.findIndex(({ externalId }) => externalId === end.externalId);
  return at < 0 ? hits.filter((hit) => compareHits(hit, end) <= 0) : hits.slice(0, at + 1);
}

export interface StoredItem {
  externalId: string;
  stamp: number;
  /** Present if requested. */
  vector?: Float32Array;
  metadata: string;
  /** null: the item never had a text. */
  text: string | null;
  /** Present if requested, and if the shard counts versions. */
  version?: number;
  /** Present if requested, and if the item expires. */
  expiry?: Expiry;
  /** Present if requested, and if the version tells when the item changed (stamp-time.ts). */
  dated?: true;
}

/**
 * Of so many characters on, an answer takes a thread a part of a millisecond to copy or to encode: many are not to be
 * ready at once.
 */
const LONG_CHARACTERS = 32 * 1024;

/** Whether the metadata and texts of an answer are long, be it items or hits. */
export function isLongAnswer(answer: unknown): boolean {
  const parts = (Array.isArray(answer) ? answer : (answer as { hits?: unknown } | null)?.hits) as
    | ({ metadata?: string; text?: string | null } | null)[]
    | undefined;
  if (!Array.isArray(parts)) return false;
  let characters = 0;
  for (const part of parts) {
    characters += (part?.metadata?.length ?? 0) + (part?.text?.length ?? 0);
    if (characters >= LONG_CHARACTERS) return true;
  }
  return false;
}

/** What bounds on bytes count of an item: the bytes of its vector, and characters. */
export function itemBytes({
  externalId,
  vector,
  metadata,
  text,
}: Pick<StoredItem, 'externalId' | 'vector' | 'metadata' | 'text'>): number {
  return externalId.length + (vector?.byteLength ?? 0) + metadata.length + (text?.length ?? 0);
}

export interface ScanRequest {
  after: { stamp: number; externalId: string } | null;
  limit: number;
  filter: Filter | null;
  vectors: boolean;
  /** false: texts are not read, and come as null. Default: true. */
  texts?: boolean | undefined;
  /** Whether items carry `version`. Default: false. */
  versions?: boolean | undefined;
  /** Whether items carry `expiry`. Default: false. */
  expiries?: boolean | undefined;
  /** Whether items carry `dated`. Default: false. */
  dates?: boolean | undefined;
  /** The answer ends soon after it has so many bytes of items. A node of an earlier version ignores it. */
  bytesMax?: number | undefined;
}

export interface SampleRequest {
  /** How many items, at least 1. */
  size: number;
  seed: number;
  filter: Filter | null;
}

/** Columns instead of objects: there may be 50,000 items, and they go from thread to thread. */
export interface SampleResult {
  /** Items that match. */
  population: number;
  /**
   * Every item whose key is at most the greatest here, in no order: at least `size` of them, or all that match. One
   * that is written meanwhile may be missing, or there twice.
   */
  externalIds: string[];
  /** Of each item. */
  keys: Float64Array;
}

export interface ShardTransfer {
  stage: ShardStage;
  /** The highest that it was given; 0 if none was. */
  term: number;
  /** The reshard that it was last a part of; '' if of none. */
  reshard: string;
  /** The term in which it began to track without a pause; 0 while it does not. */
  since: number;
  /** The number of the last change. They count while it tracks, and are the same on every replica. */
  lastChange: number;
  /** Ids that were changed after `after` and up to `upTo`, at most `limit` of them and perhaps one several times. */
  externalIds: string[];
  upTo: number;
  vectorCount: number;
  index: IndexProgress | null;
  /** The highest version that the shard has given; 0 if it counts none. */
  lastVersion: number;
  /** The number of the last mark (DedupRecord); 0 if there is none. */
  lastMark: number;
}

export interface ShardStatus {
  vectorCount: number;
  /** Number of the last applied operation batch. */
  lastOperation: number;
  /** Highest insertion stamp seen, 0 if none. No coordinator may issue a stamp below it. */
  lastStamp: number;
  diskBytes: number;
  /** Bytes in memory of the shard's structures, without the originals mapped from disk. */
  memoryBytes: number;
  segments: SegmentStatus[];
  /** How far the vector index is built; null from a node of an earlier version. */
  index: IndexProgress | null;
}

/** How far a vector index is built, whose rows are scanned until they are in a graph. */
export interface IndexProgress {
  /** What is done at present, or next: rows are added to the graph, refined, dead ones removed, the effort measured. */
  state: 'ready' | 'indexing' | 'refining' | 'compacting' | 'measuring';
  /** All rows, including dead ones that were not removed yet. */
  rows: number;
  /** Rows of the graph. Few rows are scanned, and need none. */
  indexedRows: number;
  /** Rows of the graph that are refined: a search scores the fewest rows when all are. */
  refinedRows: number;
  /** By the pace so far; 0 when ready, null when nothing was measured yet. */
  secondsLeft: number | null;
  /** Whether somebody asked for the best index of the rows that were there, and it is not done. */
  optimizing: boolean;
}

export interface SegmentStatus {
  kind: 'growing' | 'sealed';
  rows: number;
  deletedRows: number;
  /** Calibrated search effort; 0 for a segment that is scanned. */
  ef: number;
}
