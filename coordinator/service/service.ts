import type { QuiverError } from '../../shared/base/errors/quiver-error';
import type { Filter } from '../../shared/contract/filter/filter';
import type { KeywordFields } from '../../shared/contract/shard/keyword-fields';
import type { OrderKey } from '../../shared/contract/shard/item-order';
import type { FieldFactsRequest } from '../../shared/contract/shard/field-facts';
import type { ReplicaPurge } from '../../shared/contract/shard/shard-purge';
import type { Metric } from '../../shared/contract/vector/metric';
import type { IndexProgress } from '../../shared/contract/shard/shard-read';
import type { Language } from '../../shared/base/text/language';
import type { PlacedTerm } from '../../shared/base/text/placed-terms';
import type { MetadataPatch, UpsertOperation } from '../../shared/contract/shard/shard-client';
import type { OutcomesService, StoreDedup } from './idempotency/store-dedup';
import type { Once } from './idempotency/write-dedup';
import type { AnswersService } from './answers-service';
import type { AggregatesService } from './aggregates-service';
import type { AliasesService } from './aliases-service';
import type { JudgementsService } from './judgements-service';
import type { JobsService, JobView } from './jobs-service';
import type { Chunking, DocumentType } from './documents/formats/parsed-document';
import type { AnswerHold } from './answer-hold';
import type { GroupKey, LegName, SearchRequest, VectorSource } from './search-request';
import type { CollectionEmbedding } from '../models/collection-embedding';
import type { OfTexts } from '../models/cut-text';
import type { RerankProvider } from '../models/rerank/reranker';
import type { Scoped } from './keys/collection-scope';
import type { Role } from './keys/role';
import type { StopWords } from './synonyms/own-stop-words';
import type { SynonymRule } from './synonyms/synonym-rules';
import type { KeyQuotaAdmission, KeyQuotaUse, KeyWriter } from './keys/quota/key-quota';
import type { MetadataStorage } from '../../shared/contract/shard/metadata-storage';
import type { Quantization } from '../../shared/contract/vector/quantization';
import type { VectorStorage } from '../../shared/contract/vector/vector-storage';

/**
 * What the service can do, independent of HTTP: the use cases behind every endpoint. Callers check the shape of inputs
 * (coordinator/api/schema). Everything that needs the collection (its dimension, its model, its existence) is checked
 * here. Errors are QuiverErrors. Metadata are JSON object text in both directions.
 */
export interface Service {
  collections: CollectionsService;
  aliases: AliasesService & AliasLookUp;
  vectors: VectorsService;
  search: SearchService;
  samples: SamplesService;
  aggregates: AggregatesService;
  documents: DocumentsService;
  recall: RecallService;
  judgements: JudgementsService;
  demo: DemoService;
  backups: BackupsService;
  jobs: JobsService;
  outcomes: OutcomesService;
  keyQuotas: KeyQuotasService;
  rerank: RerankProvider;
  answers: AnswersService;
}

/** The aliases on the thread that serves a request. */
export interface AliasLookUp {
  readonly names: {
    /** The name of the collection that a name stands for: its own, unless it is an alias. Errors: unavailable. */
    resolve(name: string): string | Promise<string>;
    /** The most that keys which name an alias have by it, while it stands for this collection. */
    handsOn(alias: string, collection: string): Role;
  };
}

/** What keys may store, and have. */
export interface KeyQuotasService extends KeyQuotaAdmission {
  /** What the key has stored in this period, with what other coordinators hold for it. Errors: unavailable. */
  usedOf(key: Pick<KeyWriter, 'identity' | 'quota'>): Promise<KeyQuotaUse>;
}

/** How a write is made. */
export interface WriteOptions {
  once?: Once | undefined;
  /** The key whose quota it counts in; default: none. */
  writer?: KeyWriter | undefined;
}

export interface CollectionPurge {
  collection: string;
  /** `none`: none was begun that is remembered. */
  state: 'none' | 'running' | 'done' | 'failed';
  /** By shard. */
  shards: ReplicaPurge[][];
}

export interface CollectionChange {
  description?: string | null | undefined;
  ttlSeconds?: number | null | undefined;
  /** null: all strings. Changed by a job. */
  keywordFields?: KeywordFields | null | undefined;
  /** null: none. */
  synonyms?: readonly SynonymRule[] | null | undefined;
  /** null: those of the language. */
  stopWords?: StopWords | null | undefined;
}

/**
 * With a mark, the outcome is kept in the same transaction as the change. Errors then also: unavailable, when it is
 * there already.
 */
export interface CollectionsService {
  create(input: NewCollection, dedup?: StoreDedup): Promise<CollectionView>;
  /**
   * By name; of those that `caller` may know of, default all. One of which a shard does not answer is among them. While
   * the cluster store is away: those that this process knows.
   */
  list(caller?: Scoped): Promise<CollectionView[]>;
  /**
   * Names of those that `list` leaves out because their stored record is damaged, as far as this process knows; costs
   * no call.
   */
  unreadable(caller?: Scoped): Promise<string[]>;
  /** Of all collections, as far as this process knows; costs no call. */
  names(): Promise<string[]>;
  get(name: string): Promise<CollectionView>;
  /**
   * What is undefined stays. `job`: what brings other keyword fields, which the answer does not have yet. Errors:
   * already_exists where the collection gets other shards already; unavailable when a member can't bring them.
   */
  update(
    name: string,
    change: CollectionChange,
    dedup?: StoreDedup,
  ): Promise<CollectionView & { job?: string | undefined }>;
  /** Sets the quota, or takes it away with null; what is there already stays, whatever it takes. Errors: not_found. */
  setQuota(name: string, quota: StorageQuota | null, dedup?: StoreDedup): Promise<CollectionView>;
  /**
   * Answers the aliases that went along, which others may know until they are `settled`. Errors: not_found; conflict
   * for one that has aliases, unless they go `withAliases`; forbidden for a caller without the role readwrite for each.
   */
  delete(name: string, dedup?: StoreDedup, withAliases?: boolean, caller?: Scoped): Promise<string[]>;
  /** How far the collection's index is built. Errors: not_found, unavailable. */
  stats(name: string): Promise<CollectionStats>;
  /**
   * Begins to make the best index of the vectors that are there, on the replicas that answer searches, unless that is
   * under way; goes on as a job. Errors: as `stats`; internal when a node of an earlier version holds a shard.
   */
  optimize(name: string): Promise<CollectionStats>;
  /**
   * How far the purge of each replica is; with `start`, one begins, or follows what is under way, and goes on as a job.
   * Errors: as `optimize`.
   */
  purge(name: string, start: boolean): Promise<CollectionPurge>;
  /**
   * Begins to change the collection's number of shards; goes on in the background, while the collection is used.
   * Errors: not_found; invalid_parameter for the number that it has; already_exists while one is under way;
   * limit_exceeded; unavailable.
   */
  reshard(name: string, shards: number, dedup?: StoreDedup): Promise<ReshardView>;
  /** Gives a reshard up: the collection stays as it is. Errors: not_found, also when it is too late. */
  cancelReshard(name: string, dedup?: StoreDedup): Promise<ReshardView>;
  /**
   * Has the texts of the collection embedded anew, by a job: the vectors of another model take the place of those of
   * now once they are all there. Errors: not_found; invalid_parameter for a model that it has or can't have;
   * dimension_mismatch; already_exists while something of the kind is under way; limit_exceeded; unavailable.
   */
  reembed(name: string, request: ReembedRequest, dedup?: StoreDedup): Promise<JobView>;
}

/** How the texts of a collection are to be embedded anew. */
export interface ReembedRequest {
  embedding: CollectionEmbedding;
  /** Of a model that fits any; undefined: the dimension that the collection has. */
  dim?: number | undefined;
  /** What vectors are made of; undefined: of an item's text. */
  template?: string | undefined;
  /** Items without a text make the job fail, or are left out. */
  onNoText: 'fail' | 'drop';
  /** With which queries the old vectors and the new ones are compared: texts of items, or judged ones. */
  compare: { sample: number } | { judged: string };
  /** Whether somebody has to say that the new vectors take over. */
  switch: 'manual' | 'auto';
  /** How long there is a way back; undefined: a day, where there is a model to go back to. */
  keepHours?: number | undefined;
}

/** A change of a collection's number of shards, under way or failed. */
export interface ReshardView {
  collection: string;
  from: number;
  to: number;
  state: 'filling' | 'sealing' | 'opening' | 'retiring' | 'cancelling' | 'failed' | 'stuck';
  /** Share of the items that are copied, 0 to 1. */
  fraction: number;
  copied: number;
  /** Items when it began. */
  total: number;
  /** Changes that are to be made in the new shards, too. */
  behind: number;
  startedAt: string;
  /** Why it failed; null if it did not. */
  error: string | null;
  /** What keeps it from getting on, for people; null: nothing. It goes on by itself when that is over. */
  waitsFor: string | null;
}

/** The most that a collection may hold; null: as much as there is room for. */
export interface StorageQuota {
  items: number | null;
  /** On the disk, of one replica of each of its shards: `disk_bytes` of the stats. */
  bytes: number | null;
}

export interface NewCollection {
  name: string;
  /** undefined: that of its `embedding`. */
  dim: number | undefined;
  metric: Metric;
  description: string | null;
  /** The language of its keyword text; null: none. */
  language: Language | null;
  /** What keyword search looks in; undefined: the text and all strings of the metadata. */
  keywordFields?: KeywordFields | undefined;
  /** Of queries; undefined: none. */
  synonyms?: readonly SynonymRule[] | undefined;
  /** undefined: those of the language. */
  stopWords?: StopWords | undefined;
  /** Whether positions of words are kept, which phrases read in the place of texts; default: true. */
  keywordPositions?: boolean | undefined;
  /** How its vectors are held in memory; default: DEFAULT_QUANTIZATION. */
  quantization?: Quantization | undefined;
  /** Where ids and metadata are; default: DEFAULT_METADATA_STORAGE. */
  metadata?: MetadataStorage | undefined;
  /** Where the index of its vectors is; default: DEFAULT_VECTOR_STORAGE. */
  vectors?: VectorStorage | undefined;
  shards: number | undefined;
  replicas: number | undefined;
  /** Default: depends on the number of replicas. */
  minInSync?: number;
  /** Items without an expires_at of their own expire so long after their last write; null: never. */
  ttlSeconds?: number | null;
  /** How its texts become vectors; undefined: by the model that is configured when the first one comes. */
  embedding?: CollectionEmbedding | undefined;
  /** Default: as settings have it; null: none. */
  quota?: StorageQuota | null | undefined;
}

/** What a collection takes, and how far its index is built, over all its shards. */
export interface CollectionStats {
  name: string;
  quantization: Quantization;
  vectorCount: number;
  diskBytes: number;
  memoryBytes: number;
  quota: StorageQuota | null;
  index: CollectionProgress;
}

/** How far the index of a collection is built: the shards' figures together. */
export interface CollectionProgress {
  /** The first of these that a shard is in: its rows wait to be searched by graph, …, there is nothing to do. */
  state: IndexProgress['state'];
  /** Rows in the shards, including dead ones that were not removed yet. */
  rows: number;
  indexedRows: number;
  refinedRows: number;
  /** Share of the work that is done, 0 to 1: a row is added to a graph, and refined. */
  fraction: number;
  /** Until the last shard is ready; null when a shard does not know it. */
  secondsLeft: number | null;
  optimizing: boolean;
}

/** Stands for the number of vectors where it can't be counted. */
export const UNKNOWN_COUNT = -1;

/** A shard that can't be counted, and why, for people. */
export interface UnavailableShard {
  shard: number;
  reason: string;
}

export interface CollectionView {
  name: string;
  dim: number;
  metric: Metric;
  description: string | null;
  language: Language | null;
  /** See NewCollection; null: all. */
  keywordFields: KeywordFields | null;
  /** null: none. */
  synonyms: readonly SynonymRule[] | null;
  /** null: those of the language. */
  stopWords: StopWords | null;
  keywordPositions: boolean;
  quantization: Quantization;
  metadata: MetadataStorage;
  vectors: VectorStorage;
  /** UNKNOWN_COUNT while a shard does not answer. */
  vectorCount: number;
  /**
   * Shards that did not answer in time, or failed; those that a client waits for are asked again with its next call.
   */
  unavailableShards: UnavailableShard[];
  /** ISO 8601, UTC, milliseconds. */
  createdAt: string;
  shards: number;
  replicas: number;
  /** Replicas that must have a write before it is acknowledged. */
  minInSync: number;
  /** See NewCollection. */
  ttlSeconds: number | null;
  /** The model of its `embedding`, or of its first text; null before. */
  embeddingModel: string | null;
  /** See NewCollection; null: none. */
  embedding: CollectionEmbedding | null;
  quota: StorageQuota | null;
}

export interface VectorInput {
  externalId: string;
  source: VectorSource;
  /** The model that the vector is of, if the caller says it. */
  vectorModel?: string | undefined;
  /** undefined keeps what is stored. */
  metadata: string | undefined;
  /**
   * Text to store for keywords and answers. undefined means the text of `source`; if that has none, the stored text
   * stays.
   */
  text: string | undefined;
  /**
   * The version that the item must have, NO_VERSION or ANY_VERSION (shared/contract/shard/shard-client.ts). undefined:
   * whatever is there.
   */
  expected?: number | undefined;
  /**
   * When the item expires, milliseconds since the Unix epoch; null: at no time of its own. undefined keeps what is
   * stored.
   */
  expiresAt?: number | null | undefined;
}

/** Items to put, each with its vector, and items to delete. */
export interface ItemExchange {
  /** Of the collection. */
  identity: string;
  /** Of the collection, when the vectors were made. */
  vectorsSince?: string | undefined;
  puts: VectorInput[];
  gone: GoneItem[];
  /** By which it can be revoked, where all of its items are in one shard: 128 bits, hexadecimal. Default: it can't. */
  token?: string;
}

/** `expected`: as in VectorInput. */
export interface GoneItem {
  externalId: string;
  expected: number | undefined;
}

/**
 * Items that were encoded as they came (vectors/encoded-upserts.ts): each has an id, a vector, perhaps metadata, and
 * nothing else.
 */
export interface EncodedItems {
  count: number;
  /** Numbers in each vector. */
  dim: number;
  /** Gives the operations consecutive stamps, which are 0 before. Answers their ids. */
  stamp(first: number): string[];
  /**
   * What goes to each of so many shards, those left out that get nothing, ascending. `ttlMs`: after how long the
   * items expire; undefined: at no time. Called once, after `stamp`.
   */
  parts(shards: number, ttlMs: number | undefined): EncodedPart[];
  /** As `storedBytesOf` counts them, all together. */
  storedBytes(): number;
  /** The indexes of zero vectors; undefined: there are none. */
  zeros(): number[] | undefined;
  /** The whole write, with what `stamp` and `parts` have set. Vectors are views of its bytes. */
  operations(): UpsertOperation[];
  /** The items, as the body's schema answers them. Vectors are views of the bytes. */
  items(): VectorInput[];
  /** Nobody reads the memory any more. Who does not know that leaves it to garbage collection. */
  done(): void;
}

/** The encoded operations of one shard. */
export interface EncodedPart {
  shard: number;
  /**
   * A write, as in operation-format.ts. It may be lent, and replaced by what comes back (routing/encoded-writes.ts).
   */
  bytes: Buffer;
  /** Whether somebody may go on reading the memory of the bytes when the write is done. */
  isShared: boolean;
  /** By the place in the part: that among all items; null: all items are in it. */
  places: Uint32Array | null;
}

/** What of a vector is to be changed; what is undefined stays. */
export interface VectorPatch {
  externalId: string;
  vector: Float32Array | undefined;
  /** See VectorInput. */
  vectorModel?: string | undefined;
  text: string | undefined;
  /**
   * Whether the vector is made of the text. undefined: it is if the stored one was made of the stored text by the
   * collection's model. A vector that is given has precedence.
   */
  embeds?: boolean | undefined;
  metadata: MetadataPatch | undefined;
  expected?: number | undefined;
  /** As in VectorInput. */
  expiresAt?: number | null | undefined;
}

/**
 * Why a vector stayed while its text changed, in a collection that makes vectors of texts: somebody asked for that, it
 * was not made of the former text, or nothing can be made of a blank text.
 */
export type KeptVector = 'asked' | 'given' | 'blank';

/** `invalid`: see `errors` of the result. */
export type UpsertStatus = 'inserted' | 'updated' | 'conflict' | 'invalid';

/**
 * `skips`: an item that can't be written keeps no other from it. `places`: what messages call the items; default: their
 * places.
 */
export interface UpsertOptions extends WriteOptions {
  skips?: boolean;
  places?: readonly number[];
  /** Whether the request is about one item, and so names none in its messages. */
  isSingle?: boolean;
}

/** In the order of the items. */
export interface UpsertResult extends OfTexts {
  /**
   * The indexes of items with zero vectors, where the metric compares directions, of which these have none; absent:
   * there are none.
   */
  zeros?: readonly number[] | undefined;
  statuses: UpsertStatus[];
  /**
   * The version that an item got; of a conflict, that of the item that is there. null: none is there, or none is
   * counted yet.
   */
  versions: (number | null)[];
  /** By the place of an item that was skipped as invalid: why. */
  errors: ReadonlyMap<number, QuiverError>;
  timing: WriteTiming;
}

export interface PatchResult extends Pick<UpsertResult, 'cut' | 'zeros'> {
  version: number | null;
  kept: KeptVector | null;
}

/**
 * With `once`, what was done under it before is not done again: the result is that of then. Errors then also:
 * key_reused, unavailable.
 */
export interface VectorsService {
  /**
   * All or nothing per shard; validated as a whole before anything is written. Outcomes are in the order of `items`. An
   * item that is not as expected, or of another dimension, keeps all from being written; with `skips`, only itself.
   */
  upsert(collection: string, items: VectorInput[], options?: UpsertOptions): Promise<UpsertResult>;

  /** As `upsert`. Answers the items' ids, too. What was given is not to be used any more. */
  upsertEncoded(
    collection: string,
    items: EncodedItems,
    options?: UpsertOptions,
  ): Promise<{ ids: string[]; result: UpsertResult }>;
  /**
   * Ids in the order given; an id given twice counts once. `expected`: as in VectorInput, by id. Errors: conflict, when
   * one of them is not as expected: nothing is deleted then.
   */
  delete(
    collection: string,
    externalIds: string[],
    expected?: ReadonlyMap<string, number>,
    once?: Once,
  ): Promise<{ deleted: string[]; notFound: string[] }>;
  /**
   * Puts items and deletes others in one write of each shard, which is done only if all of its items are as expected.
   * Items whose ids say that they are chunks of one document are in one shard (documentChunkId), and every read sees
   * all of the write or nothing. Errors: not_found, also for another collection of that name; conflict; limit_exceeded.
   */
  exchange(collection: string, change: ItemExchange, writer?: KeyWriter): Promise<void>;
  /**
   * Once it resolves, the exchange of that token is done, or never will be, wherever it is on its way. `externalId`:
   * one of its items, or another of their shard. Errors: not_found; unavailable.
   */
  revoke(collection: string, exchange: { identity: string; token: string; externalId: string }): Promise<void>;
  /**
   * Deletes every vector whose metadata match. A vector that is written meanwhile may be deleted or not; every deleted
   * one matched at that moment. If a shard fails half-way (commit_unknown), calling again deletes the rest.
   */
  deleteByFilter(collection: string, filter: Filter, once?: Once): Promise<{ deletedCount: number }>;
  /** Whether some shard has done a part of the write that is done once. Errors: key_reused. */
  isBegun(collection: string, once: Once): Promise<boolean>;
  /**
   * Changes parts of a vector that is there, at one moment. Errors: not_found; conflict; dimension_mismatch;
   * limit_exceeded when its metadata would be too many; embedding_unavailable.
   */
  patch(collection: string, patch: VectorPatch, options?: WriteOptions): Promise<PatchResult>;
  /**
   * Changes the metadata of every vector whose metadata match, each once. As with deleteByFilter, a failure half-way
   * leaves some changed, and the error says how many. Errors also: limit_exceeded for those whose metadata would be too
   * many; all others are changed then.
   */
  updateByFilter(
    collection: string,
    filter: Filter,
    change: Pick<VectorPatch, 'metadata' | 'expiresAt'>,
    options?: WriteOptions,
  ): Promise<{ updatedCount: number }>;
  /** In the order of `externalIds`, missing ones left out; in pages, the next of which is read when it is asked for. */
  fetch(
    collection: string,
    externalIds: string[],
    options: { vectors: boolean; hold?: AnswerHold | undefined },
  ): Promise<AsyncIterable<VectorView[]>>;
  /**
   * In insertion order, or by values of metadata and then by ids. It ends at `limit` vectors or soon after
   * SCROLL_BYTES_MAX of them; where, `nextCursor` says once the pages have ended. Errors also: invalid_parameter for a
   * cursor of something else; limit_exceeded for an order of more than ORDERED_ITEMS_MAX items.
   */
  scroll(
    collection: string,
    page: {
      cursor: string | null;
      limit: number;
      filter: Filter | null;
      vectors: boolean;
      order?: readonly OrderKey[] | undefined;
      hold?: AnswerHold | undefined;
    },
  ): Promise<{ pages: AsyncIterable<VectorView[]>; nextCursor: () => string | null }>;
  /**
   * The first `limit` in insertion order, as pages for a streaming answer. Their number is known only at the end,
   * because writes go on meanwhile: a count written after the pages is that of the vectors delivered.
   */
  export(
    collection: string,
    limit: number,
    hold?: AnswerHold,
  ): Promise<{ collection: CollectionView; pages: AsyncIterable<VectorView[]> }>;
}

export interface VectorView {
  externalId: string;
  /** Present if requested. */
  vector?: Float32Array;
  metadata: string;
  text: string | null;
  /** Absent while the shard counts no versions. */
  version?: number;
  /** When it expires, milliseconds since the Unix epoch; absent if it never does. */
  expiresAt?: number;
}

/**
 * Hits, best first. With `later`, there are so many bytes of metadata and texts that some of them have only ids and
 * scores: the rest is read when the hits are taken.
 */
export interface FoundHits extends OfTexts {
  hits: ScoredHit[];
  later?: LaterContents;
}

/** Hits that have a value in common. */
export interface FoundGroup {
  /** null: a hit without such a value, which is a group by itself. */
  key: GroupKey;
  /** Best first; not empty. */
  hits: ScoredHit[];
}

/** What one of several searches found. */
export interface FoundList extends FoundHits {
  /** Of a search that groups, best first: `hits` are theirs, one group's after the other's. */
  groups?: readonly FoundGroup[] | undefined;
  /** Items that pass the filter; undefined: nobody asked. */
  totalMatches?: number | undefined;
  /** Of a search that reranks. */
  rerank?: RerankedFacts | undefined;
  /** Of a search with a cursor: that of the next page; null: there is none. */
  nextCursor?: string | null | undefined;
  /** Of a search with boosts that did not reach all items: how many a shard has looked at, at least. */
  boostDepth?: number | undefined;
}

/** Completes hits as they are taken. */
export interface LaterContents {
  /**
   * The hits with their metadata and texts, which are read a part at a time and are those of that moment: an item that
   * is gone by then, or does not pass the filter any more, is left out.
   */
  pagesOf(hits: readonly ScoredHit[]): AsyncIterable<ScoredHit[]>;
}

export interface SearchAnswer extends FoundList {
  /** The hits as utf8HitsOf in shared/wire/codecs/hit-codec.ts makes them: then `hits` is empty. */
  utf8Hits?: Buffer | undefined;
  /** Vectors in the collection, whatever the filter; null: the search did not come to know it. */
  totalCount: number | null;
  timing: SearchTiming;
}

/** What the items of a collection have of what a filter asks for. */
export interface FilterFacts {
  isEmpty: boolean;
  /** Paths that no item has. */
  missing: string[];
  /** Paths that items have, at most some thousands; none where nothing is missing. */
  names: string[];
  /** For each date that the filter compares with, how dates are written under its path (dateForm). */
  forms: string[][];
}

export interface SearchService {
  /** null: not every shard could say it. `total`: the vectors of the collection, as far as known. Errors: not_found. */
  filterFacts(
    collection: string,
    question: FieldFactsRequest,
    total?: number,
  ): FilterFacts | null | Promise<FilterFacts | null>;
  /**
   * What is found without waiting is answered at once; errors are thrown, or in the promise. Errors: not_found, also of
   * an item; dimension_mismatch.
   */
  search(collection: string, request: SearchRequest, hold?: AnswerHold): SearchAnswer | Promise<SearchAnswer>;
  /** Several at once. All texts are embedded in one call; `cut` names requests by their places. */
  searchAll(
    collection: string,
    requests: readonly SearchRequest[],
    hold?: AnswerHold,
  ): Promise<OfTexts & { results: FoundList[]; timing: SearchTiming }>;
  /** How many items pass a filter (null: all there are), exactly. Errors: not_found. */
  count(collection: string, filter: Filter | null): Promise<number>;
  /**
   * The cosine in double precision, whatever the collection's metric; 0 if either vector is zero. Errors: not_found.
   */
  similarity(collection: string, id1: string, id2: string): Promise<number>;
  /** How keyword search cuts a text in a collection. Errors: not_found. */
  analyse(collection: string, input: AnalysisInput): Promise<TextAnalysis>;
  /**
   * The vectors of texts as a search (`query`) or a write (`passage`) makes them, in their order; nothing is recorded.
   * Errors: not_found, dimension_mismatch, embedding_unavailable.
   */
  embed(collection: string, texts: string[], kind: 'query' | 'passage'): Promise<EmbeddedTexts>;
}

export interface EmbeddedTexts extends OfTexts {
  vectors: Float32Array[];
  /** The collection's; null: it has none yet, and the default one made them. */
  model: string | null;
}

export interface AnalysisInput {
  text: string;
  /** As a stored text: all terms; as a query: those that are looked for, each once. */
  as: 'document' | 'query';
  /** The text of this field, as keyword fields have it; undefined: of one without an analyser of its own. */
  field?: string | undefined;
}

export interface TextAnalysis {
  /** Name and version of what makes the terms. */
  analyser: string;
  version: number;
  language: Language | null;
  /** The terms in the order of the text, a part at a time, made when it is taken; parts may be empty. */
  parts: Iterable<PlacedTerm[]>;
  /** Of a query: where it has words with synonyms, and what they mean besides; undefined: the collection has none. */
  synonyms?: { start: number; end: number; meanings: string[] }[];
}

export interface RecallService {
  /**
   * Measures the recall of a collection's searches: asks the same queries calibrated and exact. Errors: not_found,
   * dimension_mismatch, overloaded while another check of this process runs, limit_exceeded for too many queries,
   * unavailable; internal when a node of an earlier version holds a shard.
   */
  check(collection: string, request: RecallRequest): Promise<RecallReport>;
}

export interface RecallRequest {
  /** What to ask; null: vectors of the collection, drawn by `seed`, each without itself. */
  queries: Float32Array[] | null;
  /** How many vectors to draw; undefined: as many as make a fair estimate and are not too many. */
  samples: number | undefined;
  seed: number;
  k: number;
  filter: Filter | null;
}

/** What a check found. Times and rows are means of a query over all shards. */
export interface RecallReport {
  /** Queries that were asked: fewer than were to be, when time ran out. */
  queries: number;
  /** The share of the exact k nearest that calibrated searches found; null when there was nothing to find. */
  recall: number | null;
  /** Of `recall`; null for fewer than two queries. */
  standardError: number | null;
  /**
   * Rows scored by their codes, and then by their original vectors; null when a node of an earlier version did not say
   * it.
   */
  scored: number | null;
  rescored: number | null;
  calibratedMs: number;
  exactMs: number;
}

export interface ScoredHit {
  externalId: string;
  score: number;
  metadata: string;
  text?: string;
  /** Present for a search with versions, unless its node does not know it. */
  version?: number | undefined;
  /** What it was in the list that was reranked; absent: a model has not scored it. */
  first?: FirstPlace;
  /** Present for a search that fuses lists, with `explain`: its place in each. */
  explanation?: readonly LegPlace[];
  /** Present for a search with `explain` that chooses hits by how they differ from those before. */
  choice?: {
    /** Place in the list of candidates, from 1. */
    firstRank: number;
    /** By which it was chosen. */
    score: number;
    /** Whether a model has ordered the candidates before. */
    isReranked?: boolean;
  };
  /** Present for a search with boosts and `explain`: what each of them gave; null: the item is gone meanwhile. */
  boosts?: number[] | null;
  /** Present for a search that highlights: of each field the best fragments first. */
  highlights?: Highlight[];
  /** Present for a search that expands; null: the hit is no chunk of a document. */
  context?: HitContext | null;
}

/** A place in the list that was reranked: the rank from 1. */
export interface FirstPlace {
  score: number;
  rank: number;
}

/** What a search that reranks tells of it. */
export interface RerankedFacts {
  /** The model's name. */
  model: string;
  /** Hits that got a score of it, and hits that there were to score. */
  scored: number;
  of: number;
  /** Whether the budget was not enough for all that have a text. */
  truncated: boolean;
}

/** A part of a field that has words of the query. */
export interface Highlight {
  field: string;
  /** Of a list of texts, which of them; null: the field is one text. */
  index: number | null;
  /** The fragment, with marks if these were asked for. */
  text: string;
  /** Where the fragment begins, and the words in it, in UTF-16 code units of the whole text. */
  start: number;
  spans: [start: number, end: number][];
}

/** Chunks around a hit, as one text. Hits whose windows touch have the same one. */
export interface HitContext {
  text: string;
  /** The first and the last chunk_index of what is there. */
  fromChunk: number;
  toChunk: number;
  /** Where each of them that has a text stands in `text`; chunks may share some of it. */
  chunks: readonly { index: number; externalId: string; at: number; end: number }[];
}

/**
 * Where a hit is in one of the lists that were fused: its rank from 1 over the whole collection, and the score that it
 * is by (the collection's metric, BM25). null: not in the part of the list that was read, or the list has weight 0.
 */
export interface LegPlace {
  /** As in Leg of search-request.ts. */
  name?: LegName | undefined;
  rank: number | null;
  score: number | null;
  /** What the list adds to the fused score; 0 where the item is not in it. */
  part: number;
}

export interface SamplesService {
  /**
   * A uniform sample of the items that match: those with the least keys by the seed, in the order of these. The same
   * seed gives the same sample while the items are the same. Items that are written meanwhile may be left out. Errors:
   * not_found; invalid_parameter for more dimensions than the collection has; limit_exceeded when an answer would be
   * too large.
   */
  sample(collection: string, request: SampleInput, hold?: AnswerHold): Promise<SampleView>;
}

export interface SampleInput {
  size: number;
  seed: number;
  filter: Filter | null;
  /** Keys of metadata to answer; null: all. */
  fields: readonly string[] | null;
  vectors: boolean;
  /** Dimensions to project to, by principal component analysis; null: no projection. */
  dimensions: number | null;
}

export interface SampleView {
  /** Items that match. */
  population: number;
  /** The collection's dimension. */
  dim: number;
  items: { externalId: string; metadata: string }[];
  /** Row-major, items × dim; null if not requested. */
  vectors: Float32Array | null;
  /**
   * `coordinates` row-major, items × dimensions; `shares` of the variance along each axis, and the bounds of the
   * coordinates.
   */
  projection: {
    dimensions: number;
    coordinates: Float32Array;
    shares: number[];
    minima: number[];
    maxima: number[];
  } | null;
}

export interface UploadResult {
  documentId: string;
  chunksCreated: number;
  timing: WriteTiming;
  /** Whether an earlier request did it. */
  isRepeated?: boolean;
}

/**
 * `expiresAt`: when its chunks expire, as far as that is known; it must be known before the content, and not change.
 */
export interface UploadedFile {
  name: string;
  content: AsyncIterable<Buffer>;
  expiresAt?: () => number | undefined;
}

export interface DocumentsService {
  /**
   * Splits, embeds and stores one UTF-8 text file, all or nothing. `content` is consumed as it arrives. Errors:
   * invalid_parameter ("Only .txt …", "empty …", not UTF-8), limit_exceeded (MAX_UPLOAD_BYTES), not_found. With a mark,
   * one that was complete before is read, compared and not stored again. Errors then also: key_reused.
   */
  upload(collection: string, file: UploadedFile, dedup?: StoreDedup, writer?: KeyWriter): Promise<UploadResult>;
  /**
   * Takes a file that waits for its job from then on, on stable storage. One that no job is begun for is removed after
   * some time. Errors: not_found; overloaded, before `content` is read, where there is no room for it;
   * limit_exceeded (MAX_UPLOAD_BYTES); invalid_parameter for a type that is not supported, and an empty file; those of
   * `content`.
   */
  receive(collection: string, file: ArrivingFile): Promise<ReceivedFile>;
  /**
   * Begins the job that stores a document. With `waitMs`, answers it as it is then, at the latest. The file is removed
   * where the job has not begun. Errors: not_found; already_exists for a document that is there and may not be
   * replaced; overloaded while too many wait; unavailable; commit_unknown, and then the job may have begun. With a
   * mark, it is begun once.
   */
  add(
    collection: string,
    document: NewDocument,
    waitMs: number,
    writer?: KeyWriter,
    dedup?: StoreDedup,
  ): Promise<AddedDocument>;
  /** Removes a file for which no job is to begin. One that can't be removed now is removed later. */
  drop(id: ReceivedFile['id']): Promise<void>;
  /**
   * As `add` answered, or would now. Of a job that is no longer known, what is stored tells. Errors: conflict when
   * nothing is; not_found; unavailable.
   */
  added(collection: string, begun: BegunDocument, waitMs: number): Promise<AddedDocument>;
  /** In the order of their first upload. Errors: not_found; invalid_parameter for a cursor of something else. */
  list(
    collection: string,
    page: { cursor: string | null; limit: number },
  ): Promise<{ documents: DocumentView[]; nextCursor: string | null }>;
  /** Errors: not_found. */
  get(collection: string, documentId: string): Promise<DocumentView>;
  /**
   * Deletes all of its chunks, at one moment where they are in one shard. Jobs that were begun before and would store
   * it are cancelled. Errors: not_found, where there were none either; conflict, also while a job stores it for long.
   */
  delete(collection: string, documentId: string): Promise<{ deletedChunks: number }>;
}

/** A file that is to wait for its job. */
export interface ArrivingFile extends Pick<UploadedFile, 'name' | 'content'> {
  /** It has no more; default: MAX_UPLOAD_BYTES. */
  bytesMax?: number | undefined;
  /** Who has no more room than is left for others, beside the collection; default: nobody. */
  holder?: string | undefined;
}

/** A file that waits for its job. */
export interface ReceivedFile {
  /** That of its job. */
  id: string;
  /** As the client named it; '' for a text. */
  name: string;
  type: DocumentType;
  bytes: number;
  sha256: string;
}

/** What to do with a document that is there. */
export const ON_EXISTS = ['replace', 'skip', 'error'] as const;
export type OnExists = (typeof ON_EXISTS)[number];

export interface NewDocument {
  file: ReceivedFile;
  /** The caller's own id: what has the same one is the same document. undefined: it is a new one. */
  key: string | undefined;
  /** JSON of the metadata that each chunk gets. */
  metadata: string | undefined;
  chunking: Partial<Chunking>;
  onExists: OnExists;
  /** Milliseconds since the Unix epoch; undefined: it does not. */
  expiresAt: number | undefined;
  /** Whether chunks have their text in their metadata, too, as uploads have it. */
  textInMetadata: boolean;
  /** The caller's own mark of what it sends; undefined: it has none. */
  fingerprint?: string | undefined;
  /** Who takes turns with others; default: nobody. */
  holder?: string | undefined;
}

/** What was begun for a document. */
export interface BegunDocument {
  documentId: string;
  jobId: string;
}

export interface AddedDocument {
  documentId: string;
  job: Pick<JobView, 'id' | 'state' | 'error' | 'result'>;
}

/** What is not known of a document is null: of those that were uploaded whole, and did not become jobs. */
export interface DocumentView {
  documentId: string;
  key: string | null;
  source: string;
  type: string | null;
  title: string | null;
  pages: number | null;
  chunks: number | null;
  bytes: number | null;
  sha256: string | null;
  fingerprint: string | null;
  updatedAt: string | null;
}

export interface BackupsService {
  /**
   * Begins a backup. It has every write that was acknowledged before the call. Errors: invalid_parameter for a target
   * that may not be used, or where there is none; not_found.
   */
  create(input: NewBackup, dedup?: StoreDedup): Promise<BackupView>;
  /** The newest first. Errors: invalid_parameter; unavailable when the target can't be reached. */
  list(target?: string): Promise<BackupView[]>;
  /**
   * From when to when collections can be restored to any moment, by name; none where logs are not shipped. Errors: as
   * `list`.
   */
  restorable(target?: string): Promise<RestorableView[]>;
  /** Errors: not_found, and those of `list`. */
  get(id: string, target?: string): Promise<BackupView>;
  /**
   * Deletes a backup, or gives one up that is under way. What others need of it stays. Errors: as `get`; conflict while
   * it is restored.
   */
  delete(id: string, target?: string, dedup?: StoreDedup): Promise<BackupView>;
  /**
   * Begins to read every object of a backup; `get` says what was found. Errors: as `get`; invalid_parameter for one
   * that is not complete.
   */
  verify(id: string, target?: string): Promise<BackupView>;
  /**
   * Begins to restore collections: into names that are free, and collections that are empty. Errors: not_found;
   * already_exists for one that is not; dimension_mismatch or invalid_parameter for one that is not like that in the
   * backup; unavailable.
   */
  restore(input: NewRestore, dedup?: StoreDedup): Promise<RestoreView>;
  restores(): Promise<RestoreView[]>;
  /** Errors: not_found. */
  restoreState(id: string): Promise<RestoreView>;
  /**
   * Gives a restore up, and takes back what it made; forgets one that is over. Errors: not_found; conflict when some of
   * it takes its place already.
   */
  cancelRestore(id: string, dedup?: StoreDedup): Promise<RestoreView>;
}

export interface NewBackup {
  /** Default: all. */
  collections?: string[] | undefined;
  /** Default: BACKUP_TARGET. */
  target?: string | undefined;
}

export interface NewRestore {
  /** Default with `until`: the newest that it can be reached from. */
  backup?: string | undefined;
  /**
   * What was acknowledged by this time (ISO 8601), or up to these places of the shards' logs, by collection; default:
   * the moment of the backup.
   */
  until?: string | { positions: Record<string, number[]> } | undefined;
  target?: string | undefined;
  collections?: string[] | undefined;
  /** New names, by the name in the backup. */
  rename: Record<string, string>;
  shards?: number | undefined;
  replicas?: number | undefined;
  /** Take keys, and logs that lead on from what is sealed, also where this service has not sealed them; default: no. */
  unsealed?: boolean | undefined;
  /** Whether keys are put back, too. */
  keys: boolean;
}

export interface BackupView {
  id: string;
  target: string;
  state: 'running' | 'cancelling' | 'done' | 'failed' | 'deleting' | 'unreadable';
  startedAt: string;
  endedAt: string | null;
  error: string | null;
  /** Whether it is sealed by this service; null: it is not finished. */
  sealed: boolean | null;
  /** Collections that it was to have and lacks, and why. */
  leftOut: { name: string; reason: string }[];
  /** Of one under way: a shard that did not answer the last time, and why; it is asked again. null: there is none. */
  waitsFor: string | null;
  /** Share of the shards that are done, 0 to 1. */
  progress: number;
  /** Bytes that it wrote itself, and all that it consists of. */
  copiedBytes: number;
  totalBytes: number;
  items: number;
  collections: {
    name: string;
    shards: {
      shard: number;
      state: 'waiting' | 'running' | 'done';
      items: number;
      copiedBytes: number | null;
      totalBytes: number;
      position?: number | null;
    }[];
  }[];
  /** The last verification, or the one under way. */
  verification: {
    state: 'running' | 'done';
    objects: number;
    of: number;
    bytes: number;
    damaged: string[];
    checkedAt: string | null;
  } | null;
}

/** From when to when a collection can be restored; null where it can't. */
export interface RestorableView {
  name: string;
  /** null: it is there. */
  deletedAt: string | null;
  from: string | null;
  until: string | null;
  /**
   * By shard: the last entry of its log that is in the target, how often some were given up, and why it does not get
   * on.
   */
  shards: { shard: number; position: number | null; gaps: number; error: string | null }[];
}

export interface RestoreView {
  id: string;
  /** The backup; of several, the newest. Empty: the logs begin with the collections. */
  backup: string;
  /** The moment; null: that of the backup. */
  until: string | null;
  target: string;
  state: 'running' | 'cancelling' | 'failed' | 'done';
  keys: boolean;
  warnings: string[];
  startedAt: string;
  endedAt: string | null;
  error: string | null;
  /** Share of the shards that serve, 0 to 1. */
  progress: number;
  collections: { from: string; name: string; shards: number; shardsReady: number }[];
}

export interface DemoService {
  /**
   * Makes the collection `demo` and stores the texts in it that ship with the program, embedded by the default model.
   * Does nothing once they are there; finishes what was interrupted. Errors: already_exists when another collection has
   * the name.
   */
  load(writer?: KeyWriter): Promise<DemoView>;
}

export interface DemoView {
  collection: string;
  /** How many texts there are. */
  count: number;
  /** Whether this call stored them. */
  loaded: boolean;
  dim: number;
  embeddingModel: string | null;
  /** For people: why its texts are not compared by meaning, where that was wanted; null: they are, or it was not. */
  notice: string | null;
}

export interface SearchTiming {
  embeddingMs: number;
  searchMs: number;
  totalMs: number;
}

export interface WriteTiming {
  embeddingMs: number;
  storageMs: number;
  totalMs: number;
}
