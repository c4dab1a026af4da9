import { hitsFromBytes, mergedPackedHits } from '../../../shared/wire/codecs/hit-codec';
import type { Filter } from '../../../shared/contract/filter/filter';
import type { SearchesAtOnce } from '../../../shared/contract/shard/inline-search';
import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import {
  compareHits,
  type Hit,
  type VectorSearch,
  type VectorSearchResult,
} from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import { type AnswerHold, NO_HOLD } from '../answer-hold';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { CollectionRecord } from '../collections/collection-record';
import { BlindReads, type DeepReads, hitsOfLength, isDeep } from '../routing/deep-reads';
import { ReadLengths } from '../routing/read-lengths';
import type { ScatterGather } from '../routing/scatter-gather';
import type { ShardSets } from '../routing/shard-sets';
import {
  exampleItems,
  isPackable,
  type Output,
  type Page,
  type Query,
  type SearchRequest,
  type Source,
} from '../search-request';
import type { FoundGroup, RerankedFacts, ScoredHit } from '../service';
import { bestScoreDepth, type BestScoreParts, bestScores, isOfBestScore } from './best-score';
import type { BoostDepths } from './boost-depths';
import type { ExampleVectors, LegVectors } from './example-vectors';
import { fittingWeights } from './field-weights';
import { type HybridRequest, HybridSearch } from './hybrid-search';
import type { NotedTerms } from './text-fragments';
import { bytesOfHits, contentBound, contentBytesOf, HIT_BYTES, hitBytesMax } from './later-hits';
import { LegsHold, legsBytesMax, legsHits } from './legs-hold';
import { mergeHits, scoringAtLeast } from './merge';
import { scoredItems } from './scored-items';
import type { SearchChain } from './search-chain';
import type { SearchPhase } from './search-observer';

/** Bytes of contents that come with each of the lists of a fused search: its answer has few of the hits in them. */
const LIST_CONTENT_BYTES = 512 * 1024;

/** Hits for each of a group that is asked for, about, and at most; what lists hold beyond that is let go of soon. */
const GROUPED_DEPTH = 4;
const GROUPED_DEPTH_MAX = 10_000;

/** A part of a ranked list. */
export interface Ranked {
  /** Best first; all of the page, and before what scores too little is left out. */
  hits: ScoredHit[];
  /** The hits as bytes: then `hits` is empty. Only of a request that is {@link isPackable}. */
  utf8Hits?: Buffer | undefined;
  /** Of a request that groups: `hits` are theirs, one group's after the other's. */
  groups?: readonly FoundGroup[] | undefined;
  /** Of a list that was reranked: what scores too little is left out already. */
  rerank?: RerankedFacts | undefined;
  /** Of a page of a chain: the cursor of the next one; null: there is none. */
  nextCursor?: string | null | undefined;
  /** Vectors in the collection; null: nobody said it on the way. */
  totalCount: number | null;
}

/** How a list is asked for. */
export interface RankOptions {
  /** Absent: who asks has counted it. */
  hold?: AnswerHold;
  /** Bytes of contents that come from each shard; default: of a request alone. */
  contentBytes?: number;
  /** Gets the terms that keywords are looked for by, also those that words stand for. */
  terms?: NotedTerms | undefined;
  /** Of a search by examples: their vectors. */
  examples?: ExampleVectors | undefined;
  /** Of a request with a cursor. */
  chain?: SearchChain | undefined;
  /** Of a search that fuses lists: what each is looked for by. */
  legs?: readonly LegVectors[] | undefined;
  /** Of a search with boosts: gets how deep lists were read. */
  depths?: BoostDepths | undefined;
}

/** Who is told how long a step took. */
export type RecordStep = (call: CallOptions, phase: SearchPhase, startMs: number, endMs?: number) => void;

/**
 * Ranks the items of a collection for a request whose vector is made: asks all shards and merges their answers, so a
 * list does not depend on the number of shards. Errors: those of the shards.
 */
export class RankedLists {
  private readonly catalog: Pick<CollectionCatalog, 'read'>;
  private readonly shards: Pick<ShardClient, 'read'> & SearchesAtOnce;
  private readonly scatter: ScatterGather;
  private readonly sets: ShardSets<CollectionRecord>;
  private readonly deep: Pick<DeepReads, 'run'>;
  private readonly hybrid: HybridSearch;
  private readonly clock: Clock;
  private readonly recordStep: RecordStep;
  /** Of hits, by the collection's uid and whether with texts. */
  private readonly lengths = new ReadLengths(1 / 8);
  /** Of which nobody knows how long their hits are. */
  private readonly blind = new BlindReads();
  /** Of what nobody has counted the memory of; it never fails. */
  private lastUncounted: Promise<unknown> = Promise.resolve();

  constructor(options: {
    catalog: Pick<CollectionCatalog, 'read'>;
    shards: Pick<ShardClient, 'read'> & SearchesAtOnce;
    scatter: ScatterGather;
    sets: ShardSets<CollectionRecord>;
    deep: Pick<DeepReads, 'run'>;
    clock: Clock;
    recordStep: RecordStep;
  }) {
    this.catalog = options.catalog;
    this.shards = options.shards;
    this.scatter = options.scatter;
    this.sets = options.sets;
    this.deep = options.deep;
    this.clock = options.clock;
    this.recordStep = options.recordStep;
    this.hybrid = new HybridSearch(options);
  }

  /**
   * `vector`: what the source names, or its text or item has; null: none is needed. Answers at once what no shard has
   * to be waited for. Errors: invalid_parameter for weights of fields that the collection does not have.
   */
  rank(
    collection: CollectionRecord,
    request: SearchRequest,
    vector: Float32Array | null,
    options: RankOptions,
    call: CallOptions,
  ): Ranked | Promise<Ranked> {
    const { source } = request.query;
    switch (source.type) {
      case 'nearest':
        if (source.fieldWeights === undefined) return this.nearest(collection, vector!, request, options, call);
        return fittingWeights(collection, source, (name) => this.catalog.read(name)).then((known) =>
          this.nearest(known.collection, vector!, request, options, call),
        );
      case 'like':
        return this.others(collection, vector!, request, leftOutOf(source), options, call);
      case 'examples':
        return this.likeExamples(collection, vector!, request, source, options, call);
      case 'fused':
        return this.fused(collection, request, source, options, call);
      case 'listed':
        return this.listed(collection, vector!, request, source.externalIds, options, call);
    }
  }

  /** The most that the hits of a list hold. */
  bytesMax(
    collection: CollectionRecord,
    { query: { source }, page, output }: SearchRequest,
    contentBytes: number,
    hold: AnswerHold,
  ): number {
    const { shards } = collection;
    return candidateBytes(collection, page) + this.listBytesMax(source, page, output, { shards, contentBytes, hold });
  }

  private listBytesMax(
    source: Source,
    page: Page,
    output: Output,
    { shards, contentBytes, hold }: { shards: number; contentBytes: number; hold: AnswerHold },
  ): number {
    switch (source.type) {
      case 'examples':
        if (source.strategy === 'best_score')
          return (
            source.positives.length *
            hitBytesMax(bestScoreDepth(depthOf(source, page), 0), shards, contentBytes, false, hold)
          );
        return hitBytesMax(depthOf(source, page), shards, contentBytes, output.texts, hold);
      case 'nearest':
      case 'like':
        return hitBytesMax(depthOf(source, page), shards, contentBytes, output.texts, hold);
      case 'fused':
        return legsBytesMax(source, depthOf(source, page), { shards, contentBytes, texts: output.texts, hold }).reduce(
          (sum, bytes) => sum + bytes,
          0,
        );
      case 'listed':
        return listedBytesMax(source.externalIds.length, shards, contentBytes, output.texts, hold);
    }
  }

  private nearest(
    collection: CollectionRecord,
    vector: Float32Array,
    request: SearchRequest,
    {
      hold = NO_HOLD,
      contentBytes = contentBytesOf(collection.shards, request.page.offset + request.page.k),
      depths,
    }: RankOptions,
    call: CallOptions,
  ): Ranked | Promise<Ranked> {
    const { filter, effort, boosts } = request.query;
    const { k, offset } = request.page;
    const { texts, versions } = request.output;
    const shardRequest: VectorSearch = isPackable(request)
      ? { vector, k, filter, effort, texts, packed: true }
      : { vector, k: offset + k, filter, effort, texts };
    if (boosts !== undefined) shardRequest.boosts = boosts;
    if (versions === true) shardRequest.versions = versions;
    const bytesMax = contentBound(shardRequest.k, contentBytes, texts, hold);
    if (bytesMax !== undefined) shardRequest.bytesMax = bytesMax;
    const askedMs = this.clock.monotonicMs();
    const length = this.lengths.of(collection, texts);
    const isBlind = length === undefined;
    const cost = isBlind ? this.blind.costOf(shardRequest.k) : hitsOfLength(shardRequest.k, length);
    const answered = (results: VectorSearchResult[]): Ranked => {
      if (depths !== undefined) for (const result of results) depths.note(result);
      for (const result of results)
        this.lengths.note(
          collection,
          texts,
          Math.max(1, Math.min(shardRequest.k, result.vectorCount)),
          bytesOfResult(result),
        );
      return this.merged(results, offset, k, call, askedMs);
    };
    const now = isDeep(cost) ? null : this.atOnce(collection, shardRequest, call);
    if (now !== null) return answered(now);
    const ask = (): Promise<VectorSearchResult[]> =>
      this.deep.run(cost, call, () =>
        this.sets.ofModel(collection, call, (current) =>
          this.scatter.readAll(current, call, (id) => this.shards.read(id, 'search', shardRequest, call)),
        ),
      );
    const room = hold.reserve(hitBytesMax(shardRequest.k, collection.shards, contentBytes, texts, hold));
    const asked = (): Promise<VectorSearchResult[]> => (room === undefined ? ask() : room.then(ask));
    return (isBlind ? this.blind.run(asked) : asked()).then(answered);
  }

  private async likeExamples(
    collection: CollectionRecord,
    vector: Float32Array,
    request: SearchRequest,
    source: Source & { type: 'examples' },
    options: RankOptions,
    call: CallOptions,
  ): Promise<Ranked> {
    const examples = options.examples!;
    const leftOut = leftOutOf(source);
    if (!isOfBestScore(source, examples)) return this.others(collection, vector, request, leftOut, options, call);
    const { hold = NO_HOLD, depths } = options;
    const { shards } = collection;
    const nearest: BestScoreParts['nearest'] = async (vectors, depth) => {
      const contentBytes = options.contentBytes ?? contentBytesOf(shards * vectors.length, depth);
      await hold.reserve(vectors.length * hitBytesMax(depth, shards, contentBytes, false, hold));
      const list = {
        query: request.query,
        page: { k: depth, offset: 0 },
        output: { texts: false, versions: request.output.versions },
      };
      const found = await Promise.all(
        vectors.map(async (positive) => this.nearest(collection, positive, list, { contentBytes, depths }, call)),
      );
      return { lists: found.map(({ hits }) => hits), totalCount: found[0].totalCount };
    };
    const isBoosted = request.query.boosts !== undefined;
    const scores: BestScoreParts['scores'] = async (example, externalIds) => {
      const scored = await this.scored(collection, example, { externalIds, bytesMax: () => 1 }, call);
      return new Map(scored.flat().map(({ externalId, score }) => [externalId, score]));
    };
    const deeper: BestScoreParts['deeper'] = (work) => (options.hold === undefined ? this.uncounted(work) : work());
    return bestScores({ nearest, isBoosted, scores, deeper }, examples, leftOut, request.page);
  }

  /** One after the other, so that together they hold no more than one. */
  private uncounted<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.lastUncounted.then(work);
    this.lastUncounted = done.catch(() => undefined);
    return done;
  }

  /** The nearest to the vector, without some items that are most likely near to it. */
  private async others(
    collection: CollectionRecord,
    vector: Float32Array,
    request: SearchRequest,
    leftOut: ReadonlySet<string>,
    options: RankOptions,
    call: CallOptions,
  ): Promise<Ranked> {
    const { k, offset } = request.page;
    const found = await this.nearest(
      collection,
      vector,
      { ...request, page: { k: offset + k + leftOut.size, offset: 0 }, output: { ...request.output, packed: false } },
      options,
      call,
    );
    return { ...found, hits: found.hits.filter((hit) => !leftOut.has(hit.externalId)).slice(offset, offset + k) };
  }

  /** As of {@link HybridSearch}. */
  askedOf(...asked: Parameters<HybridSearch['askedOf']>): ReturnType<HybridSearch['askedOf']> {
    return this.hybrid.askedOf(...asked);
  }

  private async fused(
    collection: CollectionRecord,
    { query: { filter, effort, boosts }, page: { k, offset }, output }: SearchRequest,
    source: Extract<Source, { type: 'fused' }>,
    { hold, contentBytes: given, terms, legs: vectors = [], depths }: RankOptions,
    call: CallOptions,
  ): Promise<Ranked> {
    const askedMs = this.clock.monotonicMs();
    const { shards } = collection;
    const places = legsHits(source, offset + k);
    const contentBytes = given ?? contentBytesOf(shards, places, LIST_CONTENT_BYTES);
    const { legs, fusing } = source;
    const bounds = { shards, contentBytes, texts: output.texts, hold: hold ?? NO_HOLD };
    const held = new LegsHold(source, offset + k, bounds);
    await held.begin();
    const ofBestScore: HybridRequest['ofBestScore'] = {
      reserve: (...lists) => held.reserve(...lists),
      deeper: (work) => (hold === undefined ? this.uncounted(work) : work()),
    };
    const { explain } = output;
    const ofLists = { filter, effort, contentBytes, boosts, depths, versions: output.versions };
    const request = { legs, vectors, fusing, ...ofLists, k, offset, explain, terms, ofBestScore };
    // Lists that are fused come without texts.
    const hits = await this.deep.run(hitsOfLength(places, this.lengths.of(collection, false)), call, () =>
      this.sets.ofModel(collection, call, (current) => this.hybrid.search(current, request, call)),
    );
    this.lengths.note(collection, false, hits.length, bytesOfHits(hits));
    // Lists are merged as they arrive, so the time for both steps counts as that of the shards.
    this.recordStep(call, 'node', askedMs);
    return { hits, totalCount: null };
  }

  private async listed(
    collection: CollectionRecord,
    vector: Float32Array,
    { query: { boosts }, page: { k, offset }, output: { texts } }: SearchRequest,
    externalIds: readonly string[],
    { hold = NO_HOLD, contentBytes }: RankOptions,
    call: CallOptions,
  ): Promise<Ranked> {
    const askedMs = this.clock.monotonicMs();
    const distinct = [...new Set(externalIds)];
    const bytesMax = contentBytes ?? contentBytesOf(collection.shards, distinct.length);
    await hold.reserve(listedBytesMax(distinct.length, collection.shards, bytesMax, texts, hold));
    const bound = (count: number): number | undefined => contentBound(count, bytesMax, texts, hold);
    const scored = await this.scored(collection, vector, { externalIds: distinct, boosts, bytesMax: bound }, call);
    for (const answered of scored) this.lengths.note(collection, false, answered.length, bytesOfHits(answered));
    const answeredMs = this.clock.monotonicMs();
    const hits = scored
      .flat()
      .sort(compareHits)
      .slice(offset, offset + k);
    this.recordStep(call, 'node', askedMs, answeredMs);
    this.recordStep(call, 'merge', answeredMs);
    return { hits, totalCount: null };
  }

  /** What each shard answers for its items; `bytesMax`: of metadata, by how many it is asked for. */
  private scored(
    collection: CollectionRecord,
    vector: Float32Array,
    {
      externalIds,
      boosts,
      bytesMax,
    }: { externalIds: string[]; bytesMax: (count: number) => number | undefined } & Pick<Query, 'boosts'>,
    call: CallOptions,
  ): Promise<Hit[][]> {
    return this.deep.run(hitsOfLength(externalIds.length, this.lengths.of(collection, false)), call, () =>
      this.sets.ofModel(collection, call, (current) => {
        const asked = { vector, externalIds, boosts, bytesMax };
        return scoredItems({ shards: this.shards, scatter: this.scatter }, current, asked, call);
      }),
    );
  }

  private merged(results: VectorSearchResult[], offset: number, k: number, call: CallOptions, askedMs: number): Ranked {
    const answeredMs = this.clock.monotonicMs();
    const totalCount =
      results.length === 1 ? results[0].vectorCount : results.reduce((sum, { vectorCount }) => sum + vectorCount, 0);
    const utf8Hits = mergedPacked(results, k);
    const nearest =
      utf8Hits === null
        ? { hits: mergeHits(results.map(hitsOf), offset, k), totalCount }
        : { hits: [], utf8Hits, totalCount };
    this.recordStep(call, 'node', askedMs, answeredMs);
    this.recordStep(call, 'merge', answeredMs);
    return nearest;
  }

  /** The answers of all shards, where none of them has to be waited for; else null. */
  private atOnce(collection: CollectionRecord, request: VectorSearch, call: CallOptions): VectorSearchResult[] | null {
    if (this.shards.searchNow === undefined) return null;
    const results: VectorSearchResult[] = [];
    for (let shard = 0; shard < collection.shards; shard += 1) {
      const result = this.shards.searchNow({ collectionUid: collection.uid, shard }, request, call);
      if (result === null) return null;
      results.push(result);
    }
    return results;
  }
}

/** Vectors of the candidates of a page that is chosen by them. */
export function candidateBytes({ dim }: CollectionRecord, { diversity }: Page): number {
  return diversity?.type === 'mmr' ? diversity.candidates * dim * Float32Array.BYTES_PER_ELEMENT : 0;
}

/** How far down a ranked list a page is looked for. */
export function depthOf(source: Source, { k, offset, groups, diversity, cursor }: Page): number {
  const leftOut = leftOutOf(source).size;
  if (diversity?.type === 'mmr') return diversity.candidates + leftOut;
  if (diversity !== undefined) return Math.min(GROUPED_DEPTH_MAX, GROUPED_DEPTH * (offset + k)) + leftOut;
  if (groups !== undefined) return Math.min(GROUPED_DEPTH_MAX, GROUPED_DEPTH * (offset + k) * groups.size);
  return offset + k + leftOut + (cursor === undefined ? 0 : 1);
}

/** The items that are most likely found, and are left out: what hits are to be like. Fused lists lack them already. */
export function leftOutOf(source: Source): ReadonlySet<string> {
  return source.type === 'fused' ? new Set() : exampleItems(source);
}

/** Places of a fused list that are looked at, one step after the other until there is enough. */
const FUSED_PLACES: readonly number[] = [40, 200, 1_000, 10_000];

/**
 * How deep a list is read, step by step, whose scores would be others if items were left out or there were fewer; null:
 * it has no such.
 */
export function placesOfList(source: Source): readonly number[] | null {
  if (source.type === 'listed') return [source.externalIds.length];
  return source.type === 'fused' ? FUSED_PLACES : null;
}

/** The hits that score enough for the page. */
export function atLeast<H extends { score: number }>(hits: H[], { minScore }: Pick<Page, 'minScore'>): H[] {
  return scoringAtLeast(hits, minScore);
}

/** A search of which lists are read from their beginning, as deep as it takes. */
export interface RankedSearch {
  collection: CollectionRecord;
  request: SearchRequest;
  vector: Float32Array | null;
  options: RankOptions;
  call: CallOptions;
}

/** The first `places` hits of the items that pass; `isEnd`: there are no more that score enough. */
export async function firstHits(
  lists: Pick<RankedLists, 'rank'>,
  { collection, request, vector, options, call }: RankedSearch,
  filter: Filter | null,
  places: number,
): Promise<{ hits: ScoredHit[]; isEnd: boolean; totalCount: number | null }> {
  const query = { ...request.query, filter };
  const { explain, versions } = request.output;
  const output = { texts: false, explain, versions };
  const page = { k: places, offset: 0 };
  const { hits, totalCount } = await lists.rank(collection, { query, page, output }, vector, options, call);
  const enough = atLeast(hits, request.page);
  return { hits: enough, isEnd: enough.length < hits.length || hits.length < places, totalCount };
}

/** As hitBytesMax, of `count` items, wherever they are. */
function listedBytesMax(count: number, shards: number, contentBytes: number, texts: boolean, hold: AnswerHold): number {
  return Math.min(
    count * (hold.itemBytesMax(texts) + HIT_BYTES),
    hitBytesMax(count, shards, contentBytes, texts, hold),
  );
}

function bytesOfResult({ hits, wireHits, utf8Hits }: VectorSearchResult): number {
  return (wireHits ?? utf8Hits)?.length ?? bytesOfHits(hits);
}

/** The best hits of all as bytes, if all are; null: they have to be merged one by one. */
function mergedPacked(results: readonly VectorSearchResult[], k: number): Buffer | null {
  if (results.length === 1) return results[0].utf8Hits ?? null;
  const lists: Buffer[] = [];
  for (const { utf8Hits } of results) {
    if (utf8Hits === undefined) return null;
    lists.push(utf8Hits);
  }
  return lists.length === 0 ? null : mergedPackedHits(lists, k);
}

function hitsOf({ hits, utf8Hits }: VectorSearchResult): Hit[] {
  return utf8Hits === undefined ? hits : hitsFromBytes(utf8Hits);
}
