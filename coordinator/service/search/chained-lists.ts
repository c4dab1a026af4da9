import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { bothFilters, type Filter } from '../../../shared/contract/filter/filter';
import { keywordPlanFromText } from '../../../shared/contract/shard/keyword-plan';
import type { CallOptions, ShardClient, ShardId } from '../../../shared/contract/shard/shard-client';
import type { HitPlace, ListPart, SearchEffort, VectorSearch } from '../../../shared/contract/shard/shard-read';
import { NO_HOLD } from '../answer-hold';
import type { CollectionRecord } from '../collections/collection-record';
import type { DeepReads } from '../routing/deep-reads';
import type { ScatterGather } from '../routing/scatter-gather';
import type { ShardSets } from '../routing/shard-sets';
import type { ScoredHit } from '../service';
import { exampleItems, isMade, type Leg, type LegSource, type Source } from '../search-request';
import type { OrderedItems } from '../vectors/ordered-items';
import { chainedDiversity } from './chained-diversity';
import { chainedFusion, firstFused, type PartLeg } from './chained-fusion';
import { chainedGroups } from './chained-groups';
import type { ChainedPage, ListedPart, PartStart } from './chained-page';
import { chainedReranking } from './chained-reranking';
import type { CursorSeal } from './cursor-seal';
import type { AskedKeywords } from './keyword-planning';
import { contentBound, contentBytesOf, hitBytesMax } from './later-hits';
import { mergeHits, scoringAtLeast } from './merge';
import type { RerankedLists } from './reranked-lists';
import { atLeast, leftOutOf, type Ranked, type RankedLists, type RankedSearch } from './ranked-lists';
import {
  countFromJson,
  cursorOfChain,
  type FixedList,
  notOne,
  placeFromJson,
  placeToJson,
  reshardedSince,
  type SearchChain,
} from './search-chain';

type FusedSource = Extract<Source, { type: 'fused' }>;

/** Bytes of contents that come with each list of a fused search. */
const LEG_CONTENT_BYTES = 512 * 1024;
/** Of what is asked by words, which a cursor holds. */
const ASKED_CHARACTERS_MAX = 16 * 1024;

/** A search of which a page of a chain is asked for. */
interface ChainedSearch extends RankedSearch {
  chain: SearchChain;
}

/**
 * Pages of ranked lists that continue each other by cursors. The first page fixes of each shard the highest version
 * that reads see, and the list is that of the items that have not changed since: these keep their order, so the hits
 * behind the last one of a page are the next page, whatever is written meanwhile and whichever replica answers. No hit
 * comes twice, and none is passed over. The coordinator keeps nothing: all this is in the cursor.
 */
export class ChainedLists {
  constructor(
    private readonly parts: {
      shards: Pick<ShardClient, 'read'>;
      scatter: ScatterGather;
      sets: ShardSets<CollectionRecord>;
      deep: Pick<DeepReads, 'run'>;
      ordered: Pick<OrderedItems<CollectionRecord>, 'read'>;
      reranked: Pick<RerankedLists, 'order' | 'differing'>;
      lists: Pick<RankedLists, 'askedOf'>;
      cursorSeal: CursorSeal;
    },
  ) {}

  /** Errors: those of the shards; invalid_parameter when the collection was resharded meanwhile. */
  async rank(search: ChainedSearch): Promise<Ranked> {
    const { chain, collection } = search;
    const fixed = chain.fixed ?? (await this.fix(search));
    const { ranked, next } = await this.page(search, fixed);
    if (next === null) return { ...ranked, nextCursor: null };
    const list = { ...fixed, vectors: madeVectors(search), state: next };
    const nextCursor = cursorOfChain(collection, chain, list, this.parts.cursorSeal);
    return { ...ranked, nextCursor };
  }

  private page(search: ChainedSearch, fixed: FixedList): Promise<ChainedPage> {
    const {
      rerank: reranking,
      page: { groups: grouping, diversity },
    } = search.request;
    const list = (of: RankedSearch, start: PartStart, k: number): Promise<ListedPart> => this.list(of, fixed, start, k);
    const { source } = search.request.query;
    if (source.type === 'fused') return this.fused(search, fixed, source);
    if (reranking !== undefined)
      return chainedReranking({ list, reranked: this.parts.reranked }, { ...search, reranking }, fixed.state);
    const parts = { list, ordered: this.parts.ordered };
    if (diversity !== undefined) return chainedDiversity(parts, search, diversity, fixed.state);
    if (grouping === undefined) return this.hits(search, fixed);
    return chainedGroups(parts, { ...search, grouping }, fixed.state);
  }

  private async hits(search: ChainedSearch, fixed: FixedList): Promise<ChainedPage> {
    const start = startOf(fixed.state);
    const { hits, isMore, totalCount } = await this.list(search, fixed, start, search.request.page.k);
    return {
      ranked: { hits, totalCount },
      next: isMore ? [placeToJson(hits.at(-1)!), start.passed + hits.length] : null,
    };
  }

  /** The list as it is now. */
  private fix({ collection, call }: ChainedSearch): Promise<FixedList> {
    const { sets, scatter, shards } = this.parts;
    return sets.ofModel(collection, call, async (current) => ({
      uid: current.uid,
      versions: await scatter.readAll(current, call, (id) => shards.read(id, 'lastVersion', null, call)),
      vectors: [],
      state: [],
    }));
  }

  private async fused(search: ChainedSearch, fixed: FixedList, source: FusedSource): Promise<ChainedPage> {
    const { collection, request, options, call } = search;
    const [given, block = []] = fixed.state;
    if (fixed.state.length !== 0 && (fixed.state.length !== 2 || !Array.isArray(block))) throw notOne();
    const asked =
      fixed.state.length === 0
        ? await this.parts.lists.askedOf(collection, source.legs, options.terms, call)
        : askedFromJson(given, source.legs, collection);
    const legs = source.legs.map((leg, i) => this.leg(search, fixed, { source, leg, asked: asked[i], at: i }));
    const page = {
      k: request.page.k,
      fusing: source.fusing,
      explain: request.output.explain === true,
      enough: (hits: ScoredHit[]) => atLeast(hits, request.page),
    };
    const { rerank: reranking } = request;
    if (reranking !== undefined) {
      const first = await firstFused(legs, { ...page, k: reranking.topN }, block as unknown[]);
      const { ordered, rerank, totalCount } = await this.parts.reranked.order({ ...search, reranking }, async () => ({
        hits: first.hits,
        totalCount: null,
      }));
      const found = ordered.map(({ hit }) => hit);
      const [shown, left] = [found.slice(0, page.k), found.slice(page.k)];
      return {
        ranked: { hits: shown, totalCount, rerank },
        next: left.length === 0 ? null : [askedToJson(asked), first.next(left)],
      };
    }
    const { hits, next } = await chainedFusion(legs, page, block as unknown[]);
    return { ranked: { hits, totalCount: null }, next: next && [askedToJson(asked), next] };
  }

  /** The list of a leg, to be read in parts. */
  private leg(
    { collection, request: { query, output }, options, call }: ChainedSearch,
    fixed: FixedList,
    { source, leg, asked, at }: { source: FusedSource; leg: Leg; asked: AskedKeywords | null; at: number },
  ): PartLeg {
    const { name, weight, of } = leg;
    if (!isMade(leg) || (of.type === 'keywords' && asked === null))
      return { name, weight, read: async () => ({ hits: [], isBounded: false }) };
    const { shards, deep } = this.parts;
    const { hold = NO_HOLD } = options;
    const leftOut = exampleItems(source);
    return {
      name,
      weight,
      read: async (start, hits, externalIds) => {
        const ids: Filter | null = externalIds === null ? null : { type: 'ids', ids: [...externalIds] };
        const k = hits + leftOut.size;
        const bytesMax = ids === null ? contentBytesOf(collection.shards, k, LEG_CONTENT_BYTES) : 1;
        const filter = bothFilters(bothFilters(query.filter, leg.filter), ids);
        const list = {
          k,
          filter,
          bytesMax,
          ...(query.boosts && { boosts: query.boosts }),
          ...(output.versions && { versions: output.versions }),
        };
        await hold.reserve(hitBytesMax(k, collection.shards, bytesMax, false, hold));
        let isBounded = false;
        const lists = await deep.run(placesOf(start, k), call, () =>
          this.read(collection, fixed, call, start, async (id, part) => {
            if (asked !== null) return shards.read(id, 'keywordSearch', { ...asked, ...list, part }, call);
            const vector = options.legs![at].vector!;
            const effort: SearchEffort = ids === null ? query.effort : { type: 'exact' };
            const found = await shards.read(id, 'search', { ...list, vector, effort, texts: false, part }, call);
            options.depths?.note(found);
            isBounded ||= found.boostDepth !== undefined;
            return found.hits;
          }),
        );
        const others = mergeHits(lists, 0, k).filter(({ externalId }) => !leftOut.has(externalId));
        return { hits: scoringAtLeast(others.slice(0, hits), leg.leastScore), isBounded };
      },
    };
  }

  /** The first `k` hits of a part of the list. */
  private async list(
    { collection, request, vector, options, call }: RankedSearch,
    fixed: FixedList,
    start: PartStart,
    k: number,
  ): Promise<ListedPart> {
    const { query, page, output } = request;
    const { hold = NO_HOLD } = options;
    const leftOut = leftOutOf(query.source);
    const wanted = k + leftOut.size + 1;
    const contentBytes = options.contentBytes ?? contentBytesOf(collection.shards, wanted);
    const asked: VectorSearch = {
      vector: vector!,
      k: wanted,
      filter: query.filter,
      effort: query.effort,
      texts: output.texts,
      bytesMax: contentBound(wanted, contentBytes, output.texts, hold),
      ...(query.boosts && { boosts: query.boosts }),
      ...(output.versions && { versions: output.versions }),
    };
    await hold.reserve(hitBytesMax(wanted, collection.shards, contentBytes, output.texts, hold));
    const results = await this.parts.deep.run(placesOf(start, wanted), call, () =>
      this.read(collection, fixed, call, start, (id, part) =>
        this.parts.shards.read(id, 'search', { ...asked, part }, call),
      ),
    );
    for (const result of results) options.depths?.note(result);
    const lists = results.map(({ hits }) => hits);
    const behind = mergeHits(lists, 0, wanted).filter(({ externalId }) => !leftOut.has(externalId));
    const enough = atLeast(behind, page);
    return {
      hits: enough.slice(0, k),
      isMore: enough.length > k,
      totalCount: results.reduce((sum, { vectorCount }) => sum + vectorCount, 0),
    };
  }

  /** What each shard has of a part of the list. */
  private read<Answer>(
    collection: CollectionRecord,
    { uid, versions }: FixedList,
    call: CallOptions,
    { after, passed }: { after: HitPlace | null; passed: number },
    ask: (id: ShardId, part: ListPart) => Promise<Answer>,
  ): Promise<Answer[]> {
    const { sets, scatter } = this.parts;
    return sets.ofModel(collection, call, (current) => {
      if (current.uid !== uid) throw reshardedSince();
      return scatter.readAll(current, call, (id) =>
        ask(id, { versionMax: versions[id.shard], after, passed: Math.ceil(passed / current.shards) }),
      );
    });
  }
}

/** How deep a read goes: where shards do not have the part any more, they look for all that comes before. */
function placesOf({ passed, passedMost = passed }: PartStart, k: number): number {
  return passedMost + k;
}

function startOf(state: readonly unknown[]): PartStart {
  if (state.length === 0) return { after: null, passed: 0 };
  if (state.length !== 2) throw notOne();
  return { after: placeFromJson(state[0]), passed: countFromJson(state[1]) };
}

/** The vectors that were made, which no request of the chain gives. */
function madeVectors({ request: { query }, vector, options: { legs = [] } }: ChainedSearch): (Float32Array | null)[] {
  const { source } = query;
  if (source.type !== 'fused') return [givesVector(source) ? null : vector];
  return source.legs.map(({ of }, i) => (givesVector(of) ? null : (legs.at(i)?.vector ?? null)));
}

function givesVector(source: Source | LegSource): boolean {
  return source.type === 'nearest' && source.to.vector !== undefined;
}

/** What shards are asked for by words, as the first page had it: statistics and words that stand for others change. */
function askedToJson(asked: readonly (AskedKeywords | null)[]): readonly unknown[] {
  const json = asked.map((one) => {
    if (one === null) return null;
    const { terms, statistics, plan = null, fieldWeights = null } = one;
    const { documentCount, totalLength, documentFrequencies } = statistics;
    return [terms, documentCount, totalLength, documentFrequencies, plan, fieldWeights];
  });
  const characters = JSON.stringify(json).length;
  if (characters > ASKED_CHARACTERS_MAX)
    throw new QuiverError(
      'limit_exceeded',
      `cursor: the query’s words, and those that they stand for, have ${characters} characters, ` +
        `more than the ${ASKED_CHARACTERS_MAX} that a cursor holds: ask for fewer, or take offset`,
    );
  return json;
}

/** Errors: invalid_parameter when it is nothing of the kind. */
function askedFromJson(
  json: unknown,
  legs: readonly Leg[],
  { keywordFields = [] }: CollectionRecord,
): (AskedKeywords | null)[] {
  if (!Array.isArray(json) || json.length !== legs.length) throw notOne();
  if (JSON.stringify(json).length > ASKED_CHARACTERS_MAX) throw notOne();
  return (json as unknown[]).map((one) => {
    if (one === null) return null;
    const [terms, documents, length, frequencies, plan, weights] = Array.isArray(one) ? (one as unknown[]) : [];
    if (!Array.isArray(terms) || !terms.every((term) => typeof term === 'string')) throw notOne();
    if (!Array.isArray(frequencies) || frequencies.length !== terms.length) throw notOne();
    const known = plan === null ? undefined : keywordPlanFromText(JSON.stringify(plan), terms.length);
    if (plan !== null && known === undefined) throw notOne();
    if (weights !== null && (!Array.isArray(weights) || weights.length !== keywordFields.length)) throw notOne();
    return {
      terms,
      statistics: {
        documentCount: countFromJson(documents),
        totalLength: countFromJson(length),
        documentFrequencies: frequencies.map(countFromJson),
      },
      ...(known && { plan: known }),
      ...(weights !== null && { fieldWeights: (weights as unknown[]).map(countFromJson) }),
    };
  });
}
