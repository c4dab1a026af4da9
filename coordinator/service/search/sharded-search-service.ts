import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Filter } from '../../../shared/contract/filter/filter';
import type { SearchesAtOnce } from '../../../shared/contract/shard/inline-search';
import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import { withFilters } from '../../../shared/contract/shard/boosts';
import type { Clock } from '../../../shared/base/time/clock';
import { scoreOf } from '../../../shared/contract/vector/metric';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { CollectionEmbedder } from '../collections/collection-embedder';
import type { CollectionRecord } from '../collections/collection-record';
import type { OfTexts } from '../../models/cut-text';
import type { RerankProvider } from '../../models/rerank/reranker';
import { type AnswerHold, NO_HOLD } from '../answer-hold';
import type { DeepReads } from '../routing/deep-reads';
import { matchCount } from '../routing/match-count';
import type { ScatterGather } from '../routing/scatter-gather';
import { mustHaveSameVectors, ofOneModel, ShardSets } from '../routing/shard-sets';
import type { Page, SearchRequest, Source } from '../search-request';
import type { FieldFactsRequest } from '../../../shared/contract/shard/field-facts';
import type {
  AnalysisInput,
  EmbeddedTexts,
  FilterFacts,
  FoundHits,
  FoundList,
  SearchAnswer,
  SearchService,
  SearchTiming,
  TextAnalysis,
} from '../service';
import { OrderedItems } from '../vectors/ordered-items';
import { BoostDepths } from './boost-depths';
import { addBoostNumbers } from './boost-numbers';
import { ChainedLists } from './chained-lists';
import { ChunkReader } from './chunk-reader';
import { CursorSeal } from './cursor-seal';
import { expandedHits } from './expanded-hits';
import { FieldLookup } from './field-lookup';
import { hitsInOrder } from './hit-order';
import {
  HIGHLIGHTED_UNITS_MAX,
  highlightedHits,
  NEAREST_SENTENCES_MAX,
  type NearestSentences,
  readFor,
} from './highlighted-hits';
import { contentBytesOf, foundHits, foundLists, type LaterParts } from './later-hits';
import { DiverseLists } from './diverse-lists';
import { GroupedLists } from './grouped-lists';
import { firstSearchOf, RerankedLists, rerankBytesMax } from './reranked-lists';
import { atLeast, depthOf, type Ranked, RankedLists, type RankOptions, type RecordStep } from './ranked-lists';
import { chainOf, type SearchChain } from './search-chain';
import { NO_SEARCH_OBSERVER, type SearchObserver, type SearchPhase } from './search-observer';
import { filterIn } from '../synonyms/filter-in';
import { checkVectorModel } from '../vectors/dimension-check';
import { textAnalysis } from './text-analysis';
import { type SoughtInFields, soughtTerms } from './sought-terms';
import { givenVector, type SoughtVectors, type Times, VectorFinder } from './sought-vectors';

/**
 * The searches, in steps: the vector that is looked for (given, of a text, of an item), the ranked list
 * (ranked-lists.ts), the page, the output. Errors, besides those of the shards: not_found, dimension_mismatch. Sizes,
 * including MAX_K, are checked where a request comes in (api/schema/search-schemas.ts).
 */
export class ShardedSearchService implements SearchService {
  private readonly catalog: Pick<CollectionCatalog, 'known' | 'find'>;
  private readonly embedder: Pick<CollectionEmbedder, 'embedQueries' | 'embedPassages'>;
  private readonly shards: Pick<ShardClient, 'read'> & SearchesAtOnce;
  private readonly scatter: ScatterGather;
  private readonly sets: ShardSets<CollectionRecord>;
  private readonly vectors: VectorFinder;
  private readonly lists: RankedLists;
  private readonly groups: GroupedLists;
  private readonly diverse: DiverseLists;
  private readonly reranked: RerankedLists;
  private readonly cursorSeal: CursorSeal;
  private readonly chained: ChainedLists;
  private readonly fields: FieldLookup;
  private readonly ordered: OrderedItems<CollectionRecord>;
  private readonly chunks: ChunkReader;
  private readonly clock: Clock;
  private readonly observer: SearchObserver;

  constructor(options: {
    catalog: Pick<CollectionCatalog, 'known' | 'find' | 'read'>;
    embedder: Pick<CollectionEmbedder, 'embedQueries' | 'embedPassages'>;
    shards: Pick<ShardClient, 'read'> & SearchesAtOnce;
    scatter: ScatterGather;
    deep: Pick<DeepReads, 'run'>;
    reranker: RerankProvider;
    clock: Clock;
    observer?: SearchObserver;
    /** Of all processes that take each other's cursors. */
    cursorSecret: string;
  }) {
    this.catalog = options.catalog;
    this.embedder = options.embedder;
    this.shards = options.shards;
    this.scatter = options.scatter;
    this.sets = new ShardSets(options);
    this.fields = new FieldLookup({ ...options, sets: this.sets });
    this.ordered = new OrderedItems({ ...options, sets: this.sets });
    this.chunks = new ChunkReader({ ...options, sets: this.sets, ordered: this.ordered });
    this.observer = options.observer ?? NO_SEARCH_OBSERVER;
    this.clock = options.clock;
    const recordStep: RecordStep = (call, phase, startMs, endMs) => this.recordStep(call, phase, startMs, endMs);
    this.vectors = new VectorFinder({ ...options, sets: this.sets, ordered: this.ordered, recordStep });
    this.lists = new RankedLists({ ...options, sets: this.sets, recordStep });
    const { lists, ordered } = this;
    this.groups = new GroupedLists({ lists, ordered });
    this.reranked = new RerankedLists({ ...options, lists, ordered, recordStep });
    this.diverse = new DiverseLists({ lists, ordered });
    this.cursorSeal = new CursorSeal(options.cursorSecret);
    this.chained = new ChainedLists({
      ...options,
      cursorSeal: this.cursorSeal,
      sets: this.sets,
      ordered,
      reranked: this.reranked,
      lists,
    });
  }

  filterFacts(name: string, question: FieldFactsRequest, total = 0): FilterFacts | null | Promise<FilterFacts | null> {
    return this.fields.facts(name, question, total);
  }

  search(name: string, given: SearchRequest, hold: AnswerHold = NO_HOLD): SearchAnswer | Promise<SearchAnswer> {
    return ofOneModel(() => this.searchOnce(name, given, hold));
  }

  private searchOnce(name: string, given: SearchRequest, hold: AnswerHold): SearchAnswer | Promise<SearchAnswer> {
    const startMs = this.clock.monotonicMs();
    const call = this.scatter.begin();
    const collection = this.catalog.known(name);
    const { source } = given.query;
    if (
      collection === null ||
      source.type !== 'nearest' ||
      source.to.vector === undefined ||
      given.page.cursor !== undefined ||
      given.rerank !== undefined ||
      given.output.total === true ||
      given.output.order !== undefined ||
      given.output.expand !== undefined ||
      given.output.highlight !== undefined
    )
      return this.searchLater(name, given, hold, call, startMs);
    const request = requestIn(collection, given);
    const vector = givenVector(collection, request.query.source);
    this.recordStep(call, 'route', startMs);
    return this.listed(collection, request, { vector }, { hold }, call, { startMs, embeddedMs: null });
  }

  async searchAll(
    name: string,
    asked: readonly SearchRequest[],
    hold: AnswerHold = NO_HOLD,
  ): Promise<OfTexts & { results: FoundList[]; timing: SearchTiming }> {
    return ofOneModel(() => this.searchAllOnce(name, asked, hold));
  }

  private async searchAllOnce(
    name: string,
    asked: readonly SearchRequest[],
    hold: AnswerHold,
  ): Promise<OfTexts & { results: FoundList[]; timing: SearchTiming }> {
    const startMs = this.clock.monotonicMs();
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const given = asked.map((request) => requestIn(collection, request));
    const requests = given.map(readFor);
    const firsts = requests.map(firstSearchOf);
    const chains = given.map((request) => this.chainOf(collection, request));
    const names = { vector: (i: number) => `the vector of query ${i}`, at: (i: number) => `queries[${i}].` };
    const { sought, times, cut } = await this.vectors.of(collection, requests, call, startMs, { names, chains });
    const places = firsts.reduce((sum, { query, page }) => sum + depthOf(query.source, page), 0);
    const contentBytes = contentBytesOf(requests.length * collection.shards, places);
    await hold.reserve(
      firsts.reduce((sum, request) => sum + this.lists.bytesMax(collection, request, contentBytes, hold), 0) +
        requests.reduce((sum, request) => sum + rerankBytesMax(collection, request, hold), 0),
    );
    const words = given.map((request) => soughtTerms(collection, request));
    const depths = requests.map(depthsOf);
    const [ranked, totals] = await Promise.all([
      Promise.all(
        requests.map(async (request, i) =>
          this.ranked(
            collection,
            request,
            sought[i],
            { contentBytes, terms: words[i]?.noted, chain: chains[i], depths: depths[i] },
            queryCall(call, i),
          ),
        ),
      ),
      Promise.all(requests.map(async (request) => this.matchesOf(collection, request, call))),
    ]);
    const lists = ranked.map((list, i) => ({
      hits: enoughOf(list, requests[i].page),
      filter: requests[i].query.filter,
      output: requests[i].output,
    }));
    const parts = this.laterParts(collection, hold);
    const found = foundLists(lists, parts);
    const results: FoundList[] = [];
    for (const [i, one] of found.entries())
      results.push({
        ...(await this.completed(
          one,
          given[i],
          parts,
          { sought: words[i], vector: sought[i].vector },
          `queries[${i}].`,
        )),
        ...listFactsOf(ranked[i]),
        ...depths[i]?.told,
        ...(totals[i] !== undefined && { totalMatches: totals[i] }),
      });
    return { results, timing: this.timingFrom(times), cut };
  }

  async similarity(name: string, id1: string, id2: string): Promise<number> {
    return ofOneModel(() => this.similarityOnce(name, id1, id2));
  }

  private async similarityOnce(name: string, id1: string, id2: string): Promise<number> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const [first, second] = await Promise.all([
      this.vectors.stored(collection, id1, call),
      this.vectors.stored(collection, id2, call),
    ]);
    return scoreOf('cosine', first.vector, second.vector);
  }

  async count(name: string, filter: Filter | null): Promise<number> {
    const call = this.scatter.begin();
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    return this.countIn(collection, filterIn(collection, filter), call);
  }

  async analyse(name: string, input: AnalysisInput): Promise<TextAnalysis> {
    return textAnalysis(this.catalog.known(name) ?? (await this.catalog.find(name)), input);
  }

  async embed(name: string, texts: string[], kind: 'query' | 'passage'): Promise<EmbeddedTexts> {
    return ofOneModel(() => this.embedOnce(name, texts, kind));
  }

  private async embedOnce(name: string, texts: string[], kind: 'query' | 'passage'): Promise<EmbeddedTexts> {
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const embedded =
      kind === 'query'
        ? await this.embedder.embedQueries(collection, texts)
        : await this.embedder.embedPassages(collection, texts);
    const { vectors, cut } = embedded;
    // A first text may have settled the model meanwhile, or a reembed has ended.
    const now = this.catalog.known(name);
    if (now?.identity !== collection.identity) return { vectors, cut, model: collection.embeddingModel };
    mustHaveSameVectors(collection, now);
    return { vectors, cut, model: now.embeddingModel };
  }

  /** What a request is to say of how many items pass its filter. */
  private async matchesOf(
    collection: CollectionRecord,
    { query, output }: SearchRequest,
    call: CallOptions,
  ): Promise<number | undefined> {
    return output.total === true ? this.countIn(collection, query.filter, call) : undefined;
  }

  private countIn(collection: CollectionRecord, filter: Filter | null, call: CallOptions): Promise<number> {
    const { shards, scatter, sets } = this;
    return matchCount({ shards, scatter, sets }, collection, filter, call);
  }

  private async searchLater(
    name: string,
    given: SearchRequest,
    hold: AnswerHold,
    call: CallOptions,
    startMs: number,
  ): Promise<SearchAnswer> {
    const collection = this.catalog.known(name) ?? (await this.catalog.find(name));
    const request = requestIn(collection, given);
    const chain = this.chainOf(collection, request);
    const { sought, times, cut } = await this.vectors.of(collection, [request], call, startMs, { chains: [chain] });
    const [answer, totalMatches] = await Promise.all([
      this.listed(collection, request, sought[0], { hold, chain }, call, times),
      this.matchesOf(collection, request, call),
    ]);
    return { ...answer, ...(totalMatches !== undefined && { totalMatches }), ...(cut.length > 0 && { cut }) };
  }

  private chainOf(collection: CollectionRecord, request: SearchRequest): SearchChain | undefined {
    const { cursor } = request.page;
    return cursor && chainOf(collection, request, cursor, { nowMs: this.clock.wallMs(), seal: this.cursorSeal });
  }

  /** The list, its page and what the answer has of it. */
  private listed(
    collection: CollectionRecord,
    given: SearchRequest,
    found: SoughtVectors,
    { hold, chain }: { hold: AnswerHold } & Pick<RankOptions, 'chain'>,
    call: CallOptions,
    times: Times,
  ): SearchAnswer | Promise<SearchAnswer> {
    const request = readFor(given);
    const sought = soughtTerms(collection, given);
    const depths = depthsOf(request);
    const ranked = this.ranked(collection, request, found, { hold, terms: sought?.noted, chain, depths }, call);
    const answered = (list: Ranked): SearchAnswer | Promise<SearchAnswer> => {
      const { hits, utf8Hits, totalCount } = list;
      const timing = this.timingFrom(times);
      if (utf8Hits === undefined) {
        const parts = this.laterParts(collection, hold);
        const facts = { ...listFactsOf(list), ...depths?.told };
        const answer = { ...this.found(request, list, parts), ...facts, totalCount, timing };
        const { order, expand, highlight } = request.output;
        const isWhole = order === undefined && expand === undefined && highlight === undefined;
        return isWhole ? answer : this.completed(answer, given, parts, { sought, vector: found.vector });
      }
      // It is counted when it is sent.
      hold.keep(0);
      return { hits, utf8Hits, totalCount, timing };
    };
    return ranked instanceof Promise ? ranked.then(answered) : answered(ranked);
  }

  /** A page of hits, or the hits of a page of groups, with what boosts gave them where that is to be told. */
  private ranked(
    collection: CollectionRecord,
    request: SearchRequest,
    { vector, examples, legs }: SoughtVectors,
    given: Omit<RankOptions, 'examples' | 'legs'>,
    call: CallOptions,
  ): Ranked | Promise<Ranked> {
    const options: RankOptions = { ...given, examples, legs };
    const list = this.rankedOnly(collection, request, vector, options, call);
    const { boosts } = request.query;
    if (boosts === undefined || request.output.explain !== true) return list;
    const explained = async ({ hits, ...rest }: Ranked): Promise<Ranked> => {
      const { shards, scatter, sets } = this;
      await addBoostNumbers({ shards, scatter, sets }, collection, { hits, boosts }, call);
      return { hits, ...rest };
    };
    return list instanceof Promise ? list.then(explained) : explained(list);
  }

  private rankedOnly(
    collection: CollectionRecord,
    request: SearchRequest,
    vector: Float32Array | null,
    options: RankOptions,
    call: CallOptions,
  ): Ranked | Promise<Ranked> {
    const { groups: grouping, diversity } = request.page;
    const reranking = request.rerank;
    const { chain } = options;
    if (chain !== undefined) return this.chained.rank({ collection, request, vector, options, call, chain });
    if (reranking !== undefined) return this.reranked.rank({ collection, request, reranking, vector, options, call });
    if (diversity !== undefined) return this.diverse.rank({ collection, request, vector, options, call }, diversity);
    if (grouping === undefined) return this.lists.rank(collection, request, vector, options, call);
    return this.groups
      .rank({ collection, request, grouping, vector, options, call })
      .then(({ groups, totalCount }) => ({ hits: groups.flatMap(({ hits }) => hits), groups, totalCount }));
  }

  /** Hits of a page, and how what was left out of them is read. */
  private found({ query: { filter }, page, output }: SearchRequest, list: Ranked, parts: LaterParts): FoundHits {
    return foundHits({ hits: enoughOf(list, page), filter, output }, parts);
  }

  /**
   * With its hits in the order, and with the contexts and highlights, that are asked for. `where`: what messages call
   * the request.
   */
  private async completed<Found extends FoundHits>(
    found: Found,
    request: SearchRequest,
    parts: LaterParts,
    { sought, vector }: { sought: SoughtInFields | undefined; vector: Float32Array | null },
    where = '',
  ): Promise<Found> {
    const { order, expand, highlight, texts } = request.output;
    const ordered = order === undefined ? found : { ...found, hits: await hitsInOrder(found, order) };
    const whole =
      expand === undefined ? ordered : await expandedHits(ordered, expand, { ...parts, chunks: this.chunks, where });
    if (highlight === undefined || sought === undefined) return whole;
    const nearest = highlight.by === 'meaning' ? await this.nearestSentences(parts, vector) : undefined;
    return highlightedHits(whole, { ...highlight, texts, sought, nearest, budget: parts.highlighting });
  }

  /** undefined: no vector was looked for. */
  private async nearestSentences(
    { collection, highlighting }: LaterParts,
    vector: Float32Array | null,
  ): Promise<NearestSentences | undefined> {
    if (vector === null) return undefined;
    if (collection.embeddingModel === null)
      throw new QuiverError(
        'invalid_parameter',
        `highlight by meaning compares sentences with vectors that a model made, and no text of collection "${collection.name}" was embedded yet`,
      );
    const embed = async (texts: string[]): Promise<Float32Array[]> =>
      (await this.embedder.embedPassages(collection, texts)).vectors;
    // Where nothing can be embedded, that is told before the answer begins: then it is too late.
    await (highlighting.isPossible ??= embed(['a']));
    return { vector, metric: collection.metric, embed };
  }

  private laterParts(collection: CollectionRecord, hold: AnswerHold): LaterParts {
    const highlighting = { unitsLeft: HIGHLIGHTED_UNITS_MAX, sentencesLeft: NEAREST_SENTENCES_MAX };
    return { ordered: this.ordered, begin: () => this.scatter.begin(), collection, hold, kept: 0, highlighting };
  }

  private recordStep(
    { profile }: CallOptions,
    phase: SearchPhase,
    startMs: number,
    endMs = this.clock.monotonicMs(),
  ): void {
    this.observer.phase(phase, endMs - startMs);
    profile?.step(phase, startMs, endMs);
  }

  private timingFrom({ startMs, embeddedMs }: Times): SearchTiming {
    const endMs = this.clock.monotonicMs();
    return {
      embeddingMs: embeddedMs === null ? 0 : embeddedMs - startMs,
      searchMs: endMs - (embeddedMs ?? startMs),
      totalMs: endMs - startMs,
    };
  }
}

/** With the filters as the collection's words have them. Errors: conflict, of vectors of another model. */
function requestIn(collection: CollectionRecord, request: SearchRequest): SearchRequest {
  const { filter: given, boosts: givenBoosts, vectorModel } = request.query;
  if (vectorModel !== undefined) checkVectorModel(collection, vectorModel, 'the search');
  const filter = filterIn(collection, given);
  const source = sourceIn(collection, request.query.source);
  const boosts = givenBoosts && withFilters(givenBoosts, (one) => filterIn(collection, one));
  if (filter === given && source === request.query.source && boosts === givenBoosts) return request;
  return { ...request, query: { ...request.query, filter, source, ...(boosts !== undefined && { boosts }) } };
}

function depthsOf({ query }: SearchRequest): BoostDepths | undefined {
  return query.boosts === undefined ? undefined : new BoostDepths();
}

/** The same of the filters of legs. */
function sourceIn(collection: CollectionRecord, source: Source): Source {
  if (source.type !== 'fused' || source.legs.every(({ filter }) => filter === null)) return source;
  return { ...source, legs: source.legs.map((leg) => ({ ...leg, filter: filterIn(collection, leg.filter) })) };
}

/** The call of one query of a bulk. */
function queryCall(call: CallOptions, query: number): CallOptions {
  return call.profile === undefined ? call : { ...call, profile: call.profile.ofQuery(query) };
}

/** What is told of a list besides its hits. */
function listFactsOf({ groups, rerank, nextCursor }: Ranked): Pick<FoundList, 'groups' | 'rerank' | 'nextCursor'> {
  return {
    ...(groups !== undefined && { groups }),
    ...(rerank !== undefined && { rerank }),
    ...(nextCursor !== undefined && { nextCursor }),
  };
}

/** The hits that score enough; groups, diverse hits, and lists that were reranked, were made of such hits alone. */
function enoughOf({ hits, rerank }: Ranked, page: Page): Ranked['hits'] {
  const isWhole = page.groups === undefined && page.diversity === undefined && rerank === undefined;
  return isWhole ? atLeast(hits, page) : hits;
}
