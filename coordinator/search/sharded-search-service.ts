import type { Filter } from '../../shared/filter/filter';
import type { SearchesAtOnce } from '../../shared/shard/inline-search';
import type { CallOptions, ShardClient } from '../../shared/shard/shard-client';
import { compareHits, type Hit, type SearchEffort, type StoredItem, type VectorSearch, type VectorSearchResult } from '../../shared/shard/shard-read';
import type { Clock } from '../../shared/time/clock';
import { hitsFromBytes, mergedPackedHits } from '../../shared/rpc/hit-codec';
import { scoreOf } from '../../shared/vector/metric';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { CollectionEmbedder, TextVectors } from '../collections/collection-embedder';
import type { CollectionRecord } from '../collections/collection-record';
import type { OfTexts } from '../embedding/cut-text';
import { type AnswerHold, NO_HOLD } from '../answer-hold';
import { type DeepReads, isDeep } from '../routing/deep-reads';
import type { ScatterGather } from '../routing/scatter-gather';
import { groupByShard, shardOf } from '../routing/shard-router';
import { ShardSets } from '../routing/shard-sets';
import type { FieldQuestion } from '../../shared/shard/field-facts';
import type { FilterFacts, FoundHits, HybridInput, ScoredHit, SearchAnswer, SearchInput, SearchService, SearchTiming, VectorSource } from '../service';
import { checkDimension } from '../vectors/dimension-check';
import { OrderedItems } from '../vectors/ordered-items';
import { vectorNotFound } from '../vectors/vector-not-found';
import { FieldLookup } from './field-lookup';
import { fusionDepth } from './fusion';
import { HybridSearch } from './hybrid-search';
import { contentBound, contentBytesOf, foundHits, foundLists, HIT_BYTES, hitBytesMax, type LaterParts } from './later-hits';
import { mergeHits } from './merge';
import { NO_SEARCH_OBSERVER, type SearchObserver, type SearchPhase } from './search-observer';

const NOTHING_EMBEDDED: TextVectors = { vectors: [], cut: [] };
const CALIBRATED: SearchEffort = { type: 'calibrated' };

/** Bytes of contents that come with each of the two lists of a hybrid search: its answer has few of the hits in them. */
const LIST_CONTENT_BYTES = 512 * 1024;

interface SearchManner {
  /** Whether the hits may come as bytes. */
  packed: boolean;
  hold: AnswerHold;
}

/** How the best hits are asked for. */
interface NearestManner {
  texts: boolean;
  /** Absent: who asks has counted it. */
  hold?: AnswerHold;
  isPacked?: boolean;
  /** Bytes of contents that come from each shard. */
  contentBytes?: number;
}

/** The best hits of all shards; `packedHits` in their place, where they were asked for so. */
interface Nearest {
  hits: Hit[];
  packedHits?: Buffer | undefined;
  totalCount: number;
}

/**
 * The searches: each asks all shards and merges their answers, so an answer does not depend on the number of shards.
 * Errors, besides those of the shards: not_found, dimension_mismatch. Sizes, including MAX_K, are checked where a
 * request comes in (http/schema/search-schemas.ts).
 */
export class ShardedSearchService implements SearchService {
  private readonly catalog: Pick<CollectionCatalog, 'known' | 'find'>;
  private readonly embedder: Pick<CollectionEmbedder, 'embedQueries'>;
  private readonly shards: Pick<ShardClient, 'read'> & SearchesAtOnce;
  private readonly scatter: ScatterGather;
  private readonly sets: ShardSets<CollectionRecord>;
  private readonly hybrid: HybridSearch;
  private readonly deep: Pick<DeepReads, 'run'>;
  private readonly fields: FieldLookup;
  private readonly ordered: OrderedItems<CollectionRecord>;
  private readonly clock: Clock;
  private readonly observer: SearchObserver;

  constructor(options: {
    catalog: Pick<CollectionCatalog, 'known' | 'find'>;
    embedder: Pick<CollectionEmbedder, 'embedQueries'>;
    shards: Pick<ShardClient, 'read'> & SearchesAtOnce;
    scatter: ScatterGather;
    deep: Pick<DeepReads, 'run'>;
    clock: Clock;
    observer?: SearchObserver;
  }) {
    this.catalog = options.catalog;
    this.embedder = options.embedder;
    this.shards = options.shards;
    this.scatter = options.scatter;
    this.sets = new ShardSets(options);
    this.deep = options.deep;
    this.fields = new FieldLookup({ ...options, sets: this.sets });
    this.ordered = new OrderedItems({ ...options, sets: this.sets });
    this.observer = options.observer ?? NO_SEARCH_OBSERVER;
    this.hybrid = new HybridSearch({ shards: options.shards, scatter: options.scatter });
    this.clock = options.clock;
  }

  filterFacts(name: string, question: FieldQuestion, total = 0): FilterFacts | null | Promise<FilterFacts | null> {
    return this.fields.facts(name, question, total);
  }

  /** Errors are thrown, or the promise is rejected with them. */
  search(name: string, request: SearchInput, { packed = false, hold = NO_HOLD }: { packed?: boolean; hold?: AnswerHold } = {}): SearchAnswer | Promise<SearchAnswer> {
    const startMs = this.clock.monotonicMs();
    const call = this.scatter.begin();
    const collection = this.catalog.known(name);
    return collection === null || request.source.vector === undefined
      ? this.searchLater(name, request, { packed, hold }, call, startMs)
      : this.searchIn(collection, this.givenVector(collection, request.source)!, request, { packed, hold }, call, startMs, null);
  }

  private async searchLater(name: string, request: SearchInput, manner: SearchManner, call: CallOptions, startMs: number): Promise<SearchAnswer> {
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const given = this.givenVector(collection, request.source);
    if (given !== null) return this.searchIn(collection, given, request, manner, call, startMs, null);
    this.noteStep(call, 'route', startMs);
    const { vector, cut } = await this.embedOne(collection, request.source, call);
    return { ...(await this.searchIn(collection, vector, request, manner, call, startMs, this.clock.monotonicMs())), ...cut };
  }

  /** `embeddedMs`: when the vector was made of a text; null where it was given. */
  private searchIn(
    collection: CollectionRecord,
    vector: Float32Array,
    request: SearchInput,
    { packed, hold }: SearchManner,
    call: CallOptions,
    startMs: number,
    embeddedMs: number | null,
  ): SearchAnswer | Promise<SearchAnswer> {
    if (embeddedMs === null) this.noteStep(call, 'route', startMs);
    // Without anything left out, what shards answer is put together as it is.
    const isWhole = packed && request.offset === 0 && request.minScore === undefined;
    const found = this.nearest(collection, vector, request, { texts: false, hold, isPacked: isWhole }, call);
    const answered = ({ hits, packedHits, totalCount }: Nearest): SearchAnswer => {
      const timing = this.timingFrom(startMs, embeddedMs);
      if (packedHits === undefined) return { ...this.found(collection, atLeast(hits, request.minScore), request.filter, false, hold), totalCount, timing };
      // It is counted when it is sent.
      hold.keep(0);
      return { hits, packedHits, totalCount, timing };
    };
    return found instanceof Promise ? found.then(answered) : answered(found);
  }

  /** All texts are embedded in one call, then all queries run at once. */
  async bulkSearch(name: string, queries: SearchInput[], hold: AnswerHold = NO_HOLD): Promise<OfTexts & { results: FoundHits[]; timing: SearchTiming }> {
    const startMs = this.clock.monotonicMs();
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const given = queries.map(({ source }, i) => this.givenVector(collection, source, `the vector of query ${i}`));
    this.noteStep(call, 'route', startMs);
    const texts = queries.flatMap(({ source }) => (source.vector === undefined ? [source.text] : []));
    const { vectors: embedded, cut } = texts.length === 0 ? NOTHING_EMBEDDED : await this.embed(collection, texts, call);
    const embeddedMs = this.clock.monotonicMs();
    let nextEmbedded = 0;
    const vectors = given.map((vector) => vector ?? embedded[nextEmbedded++]);
    const wanted = queries.reduce((sum, { k, offset }) => sum + k + offset, 0);
    const contentBytes = contentBytesOf(queries.length * collection.shards, wanted);
    await hold.reserve(queries.reduce((sum, { k, offset }) => sum + hitBytesMax(k + offset, collection.shards, contentBytes, false, hold), 0));
    const found = await Promise.all(queries.map(async (query, i) => this.nearest(collection, vectors[i], query, { texts: false, contentBytes }, queryCall(call, i))));
    const lists = found.map(({ hits }, i) => atLeast(hits, queries[i].minScore));
    const results = foundLists(
      lists.map((hits, i) => ({ hits, filter: queries[i].filter })),
      this.laterParts(collection, false, hold),
    );
    const places = queries.flatMap(({ source }, i) => (source.vector === undefined ? [i] : []));
    return { results, timing: this.timingFrom(startMs, texts.length > 0 ? embeddedMs : null), cut: cut.map((one) => ({ ...one, index: places[one.index] })) };
  }

  /** A list of weight 0 is not needed: at alpha 0 nothing is embedded, at alpha 1 no keyword is looked up. */
  async hybridSearch(name: string, request: HybridInput, hold: AnswerHold = NO_HOLD): Promise<FoundHits & { timing: SearchTiming }> {
    const startMs = this.clock.monotonicMs();
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const source: VectorSource = request.vector === undefined ? { text: request.queryText } : { vector: request.vector };
    const given = this.givenVector(collection, source);
    this.noteStep(call, 'route', startMs);
    const made = given === null && request.alpha > 0 ? await this.embedOne(collection, source, call) : null;
    const vector = given ?? made?.vector ?? null;
    const embeddedMs = this.clock.monotonicMs();
    const depth = fusionDepth(request.offset + request.k);
    const contentBytes = contentBytesOf(collection.shards, depth, LIST_CONTENT_BYTES);
    await hold.reserve(2 * hitBytesMax(depth, collection.shards, contentBytes, false, hold));
    const hits = await this.deep.run(depth, call, () => this.sets.inOne(collection, call, (current) => this.hybrid.search(current, { ...request, vector, contentBytes }, call)));
    // Lists are merged as they arrive, so the time for both steps counts as that of the shards.
    this.noteStep(call, 'node', embeddedMs);
    return {
      ...this.found(collection, atLeast(hits, request.minScore), request.filter, false, hold),
      timing: this.timingFrom(startMs, given === null && vector !== null ? embeddedMs : null),
      ...made?.cut,
    };
  }

  /** A candidate named twice counts once; one that does not exist is left out. */
  async rerank(name: string, request: { source: VectorSource; candidates: string[] }, hold: AnswerHold = NO_HOLD): Promise<FoundHits & { timing: SearchTiming }> {
    const startMs = this.clock.monotonicMs();
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const given = this.givenVector(collection, request.source);
    this.noteStep(call, 'route', startMs);
    const made = given === null ? await this.embedOne(collection, request.source, call) : null;
    const vector = given ?? made!.vector;
    const embeddedMs = this.clock.monotonicMs();
    const candidates = [...new Set(request.candidates)];
    const bytesMax = contentBytesOf(collection.shards, candidates.length);
    await hold.reserve(Math.min(candidates.length * (hold.itemBytesMax(false) + HIT_BYTES), hitBytesMax(candidates.length, collection.shards, bytesMax, false, hold)));
    const scored = await this.deep.run(request.candidates.length, call, () =>
      this.sets.inOne(collection, call, (current) => {
        const groups = groupByShard(candidates, current.shards, (externalId) => externalId);
        return this.scatter.read(
          current,
          groups.map((group) => group.shard),
          call,
          (id, i) => this.shards.read(id, 'score', { vector, externalIds: groups[i].items, bytesMax: contentBound(groups[i].items.length, bytesMax, false, hold) }, call),
        );
      }),
    );
    const answeredMs = this.clock.monotonicMs();
    const hits = scored.flat().sort(compareHits);
    this.noteStep(call, 'node', embeddedMs, answeredMs);
    this.noteStep(call, 'merge', answeredMs);
    return { ...this.found(collection, hits, null, false, hold), timing: this.timingFrom(startMs, given === null ? embeddedMs : null), ...made?.cut };
  }

  /** Errors: not_found when the source vector does not exist. */
  async recommend(name: string, externalId: string, request: { k: number; offset: number; filter: Filter | null }, hold: AnswerHold = NO_HOLD): Promise<FoundHits> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const { vector } = await this.fetchOne(collection, externalId, call);
    // One more than requested: the source itself is most likely the best hit, and is removed.
    const places = request.offset + request.k;
    const { hits } = await this.nearest(collection, vector, { k: places + 1, offset: 0, filter: request.filter, effort: CALIBRATED }, { texts: false, hold }, call);
    const others = hits.filter((hit) => hit.externalId !== externalId).slice(request.offset, places);
    return this.found(collection, others, request.filter, false, hold);
  }

  /** The cosine in double precision, whatever the collection's metric; 0 if either vector is zero. Errors: not_found. */
  async similarity(name: string, id1: string, id2: string): Promise<number> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const [first, second] = await Promise.all([this.fetchOne(collection, id1, call), this.fetchOne(collection, id2, call)]);
    return scoreOf('cosine', first.vector, second.vector);
  }

  async query(name: string, request: { text: string; k: number; filter: Filter | null; minScore?: number | undefined }, hold: AnswerHold = NO_HOLD): Promise<FoundHits & { timing: SearchTiming }> {
    const startMs = this.clock.monotonicMs();
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    this.noteStep(call, 'route', startMs);
    const { vector, cut } = await this.embedOne(collection, request, call);
    const embeddedMs = this.clock.monotonicMs();
    const { hits } = await this.nearest(collection, vector, { k: request.k, offset: 0, filter: request.filter, effort: CALIBRATED }, { texts: true, hold }, call);
    return { ...this.found(collection, atLeast(hits, request.minScore), request.filter, true, hold), timing: this.timingFrom(startMs, embeddedMs), ...cut };
  }

  private nearest(
    collection: CollectionRecord,
    vector: Float32Array,
    request: { k: number; offset: number; filter: Filter | null; effort: SearchEffort },
    { texts, hold = NO_HOLD, isPacked = false, contentBytes = contentBytesOf(collection.shards, request.offset + request.k) }: NearestManner,
    call: CallOptions,
  ): Nearest | Promise<Nearest> {
    const { k, offset, filter, effort } = request;
    const shardRequest: VectorSearch = isPacked ? { vector, k, filter, effort, texts, packed: true } : { vector, k: offset + k, filter, effort, texts };
    const bytesMax = contentBound(shardRequest.k, contentBytes, texts, hold);
    if (bytesMax !== undefined) shardRequest.bytesMax = bytesMax;
    const askedMs = this.clock.monotonicMs();
    const now = this.atOnce(collection, shardRequest, call);
    if (now !== null) return this.merged(now, offset, k, call, askedMs);
    const ask = (): Promise<VectorSearchResult[]> =>
      this.deep.run(shardRequest.k, call, () => this.sets.inOne(collection, call, (current) => this.scatter.readAll(current, call, (id) => this.shards.read(id, 'search', shardRequest, call))));
    const room = hold.reserve(hitBytesMax(shardRequest.k, collection.shards, contentBytes, texts, hold));
    const asked = room === undefined ? ask() : room.then(ask);
    return asked.then((results) => this.merged(results, offset, k, call, askedMs));
  }

  private merged(results: VectorSearchResult[], offset: number, k: number, call: CallOptions, askedMs: number): Nearest {
    const answeredMs = this.clock.monotonicMs();
    const totalCount = results.length === 1 ? results[0].vectorCount : results.reduce((sum, { vectorCount }) => sum + vectorCount, 0);
    const packedHits = mergedPacked(results, k);
    const nearest = packedHits === null ? { hits: mergeHits(results.map(hitsOf), offset, k), totalCount } : { hits: [], packedHits, totalCount };
    this.noteStep(call, 'node', askedMs, answeredMs);
    this.noteStep(call, 'merge', answeredMs);
    return nearest;
  }

  /** The answers of all shards, where none of them has to be waited for; else null. */
  private atOnce(collection: CollectionRecord, request: VectorSearch, call: CallOptions): VectorSearchResult[] | null {
    if (this.shards.searchNow === undefined || isDeep(request.k)) return null;
    const results: VectorSearchResult[] = [];
    for (let shard = 0; shard < collection.shards; shard += 1) {
      const result = this.shards.searchNow({ collectionUid: collection.uid, shard }, request, call);
      if (result === null) return null;
      results.push(result);
    }
    return results;
  }

  /** Hits of an answer, and how what was left out of them is read. */
  private found(collection: CollectionRecord, hits: ScoredHit[], filter: Filter | null, texts: boolean, hold: AnswerHold): FoundHits {
    return foundHits(hits, filter, this.laterParts(collection, texts, hold));
  }

  private laterParts(collection: CollectionRecord, texts: boolean, hold: AnswerHold): LaterParts {
    return { ordered: this.ordered, begin: () => this.scatter.begin(), collection, texts, hold };
  }

  private async fetchOne(collection: CollectionRecord, externalId: string, call: CallOptions): Promise<StoredItem & { vector: Float32Array }> {
    const [[item]] = await this.sets.inOne(collection, call, (current) => {
      const shard = shardOf(externalId, current.shards);
      return this.scatter.read(current, [shard], call, (id) => this.shards.read(id, 'fetch', { externalIds: [externalId], vectors: true, texts: false }, call));
    });
    if (item === null) throw vectorNotFound(collection.name, externalId);
    return item as StoredItem & { vector: Float32Array };
  }

  /** The vector of the request, checked; null if a text has to be embedded. */
  private givenVector(collection: CollectionRecord, source: VectorSource, what = 'the vector'): Float32Array | null {
    if (source.vector === undefined) return null;
    checkDimension(collection, source.vector, what);
    return source.vector;
  }

  /** `cut`: what an answer has of it. */
  private async embedOne(collection: CollectionRecord, source: { text?: string }, call: CallOptions): Promise<{ vector: Float32Array; cut: OfTexts }> {
    const { vectors, cut } = await this.embed(collection, [source.text as string], call);
    return { vector: vectors[0], cut: cut.length === 0 ? {} : { cut } };
  }

  private async embed(collection: CollectionRecord, texts: string[], call: CallOptions): Promise<TextVectors> {
    const startMs = this.clock.monotonicMs();
    const made = await this.embedder.embedQueries(collection, texts);
    this.noteStep(call, 'embed', startMs);
    return made;
  }

  private noteStep({ notes }: CallOptions, phase: SearchPhase, startMs: number, endMs = this.clock.monotonicMs()): void {
    this.observer.phase(phase, endMs - startMs);
    notes?.step(phase, startMs, endMs);
  }

  /** `embeddedMs`: when the embedding was done; null where nothing was embedded. */
  private timingFrom(startMs: number, embeddedMs: number | null): SearchTiming {
    const endMs = this.clock.monotonicMs();
    return { embeddingMs: embeddedMs === null ? 0 : embeddedMs - startMs, searchMs: endMs - (embeddedMs ?? startMs), totalMs: endMs - startMs };
  }
}

/** The best hits of all as bytes, if all are; null: they have to be merged one by one. */
function mergedPacked(results: readonly VectorSearchResult[], k: number): Buffer | null {
  if (results.length === 1) return results[0].packedHits ?? null;
  const lists: Buffer[] = [];
  for (const { packedHits } of results) {
    if (packedHits === undefined) return null;
    lists.push(packedHits);
  }
  return lists.length === 0 ? null : mergedPackedHits(lists, k);
}

function hitsOf({ hits, packedHits }: VectorSearchResult): Hit[] {
  return packedHits === undefined ? hits : hitsFromBytes(packedHits);
}

/** The call of one query of a bulk. */
function queryCall(call: CallOptions, query: number): CallOptions {
  return call.notes === undefined ? call : { ...call, notes: call.notes.ofQuery(query) };
}

/**
 * The hits that score `minScore` or more; all if it is undefined. Hits come best first, so filtering a page gives the
 * same as filtering the whole list before it is cut into pages.
 */
function atLeast<H extends { score: number }>(hits: H[], minScore: number | undefined): H[] {
  if (minScore === undefined) return hits;
  const end = hits.findIndex((hit) => !(hit.score >= minScore));
  return end < 0 ? hits : hits.slice(0, end);
}
