import { bothFilters, type Filter } from '../../../shared/contract/filter/filter';
import type { Boosts } from '../../../shared/contract/shard/boosts';
import type { CallOptions, ShardClient, ShardId } from '../../../shared/contract/shard/shard-client';
import {
  compareHits,
  type Hit,
  type KeywordStatistics,
  type SearchEffort,
} from '../../../shared/contract/shard/shard-read';
import { queryTerms } from '../../../shared/base/text/analyser';
import { inSlices } from '../../../shared/base/time/work-slices';
import type { ScatterGather, ShardedCollection } from '../routing/scatter-gather';
import type { ScoredHit } from '../service';
import { type BestScoreParts, bestScores, isOfBestScore } from './best-score';
import type { BoostDepths } from './boost-depths';
import type { ExampleVectors, LegVectors } from './example-vectors';
import { fuse, fusionSteps, listDepth } from './fusion';
import { readsSeveral } from './legs-hold';
import { bagIn, draftIn } from './collection-draft';
import { fittingWeights } from './field-weights';
import { type AskedKeywords, type KeywordDraft, type PlannedKeywords, plannedKeywords } from './keyword-planning';
import { exampleItems, type Fusing, isMade, type Leg, type LegSource, textLegOf } from '../search-request';
import { mergeHits, scoringAtLeast, sumStatistics } from './merge';
import { scoredItems } from './scored-items';
import { analyserOf } from '../synonyms/own-stop-words';
import type { CollectionWords } from '../synonyms/synonyms';
import type { NotedTerms } from './text-fragments';
import { expandedWord } from './word-expansion';
import { withVariants } from './word-variants';

/** Lists of this length are fused in slices, because that takes milliseconds, and come from each shard in part. */
const LONG_LIST = 1_000;

export type SearchedCollection = ShardedCollection & CollectionWords;

/** Says what a collection is in the store now. Errors: not_found; unavailable. */
export interface CollectionReader {
  read(name: string): Promise<SearchedCollection>;
}

export interface HybridRequest {
  legs: readonly Leg[];
  /** Of each leg. */
  vectors: readonly LegVectors[];
  k: number;
  offset: number;
  /** How the lists become one; undefined: by ranks. */
  fusing?: Fusing | undefined;
  filter: Filter | null;
  /** Of the lists by vectors. */
  effort: SearchEffort;
  /** Whether hits carry their places in the lists. */
  explain?: boolean | undefined;
  /** Bytes of metadata that come with each list from each shard; behind them they are left out. */
  contentBytes?: number | undefined;
  /** Gets the terms that words stand for. */
  terms?: NotedTerms | undefined;
  /** Of legs by the best score against examples, which read lists of their own. */
  ofBestScore: {
    /** Resolves when there is room for such lists of a leg. */
    reserve: (leg: number, lists: number, depth: number) => Promise<void>;
    deeper: BestScoreParts['deeper'];
  };
  /** What changes the scores of all lists. */
  boosts?: Boosts | undefined;
  /** Gets how deep lists by vectors were read for that. */
  depths?: BoostDepths | undefined;
  /** Whether hits carry their versions. */
  versions?: boolean | undefined;
}

type ListOptions = Pick<HybridRequest, 'filter' | 'effort' | 'contentBytes' | 'boosts' | 'depths' | 'versions'>;

/** How the list of a leg is made. */
interface LegOptions extends ListOptions, Pick<HybridRequest, 'ofBestScore'> {
  /** Of all legs. */
  at: number;
  /** Items that are in no list. */
  leftOut: ReadonlySet<string>;
  /** Of the fields of the collection. */
  fieldWeights: readonly number[] | undefined;
  terms: NotedTerms | undefined;
}

type KeywordSource = Extract<LegSource, { type: 'keywords' }>;

/**
 * Searches over the whole collection by vectors and by keywords, fused. All lists are merged over the shards before
 * they are ranked. BM25 uses the statistics of the whole collection, which are collected in a round of calls of their
 * own.
 */
export class HybridSearch {
  private readonly catalog: CollectionReader;
  private readonly shards: Pick<ShardClient, 'read'>;
  private readonly scatter: ScatterGather;

  constructor(options: { catalog: CollectionReader; shards: Pick<ShardClient, 'read'>; scatter: ScatterGather }) {
    this.catalog = options.catalog;
    this.shards = options.shards;
    this.scatter = options.scatter;
  }

  /**
   * Places `offset` to `offset + k`, of items that are in at least one of the lists. Errors: invalid_parameter for
   * weights of fields that the collection does not have.
   */
  async search(known: SearchedCollection, request: HybridRequest, call: CallOptions): Promise<ScoredHit[]> {
    const { legs, fusing } = request;
    const { collection, weights } = await this.weighted(known, legs);
    const last = request.offset + request.k;
    const depth = listDepth(legs, fusing, last);
    const leftOut = exampleItems({ type: 'fused', legs });
    const marked = textLegOf(legs);
    // Lists by the best score hold many others while they are made, so they are made one after the other.
    let made: Promise<unknown> = Promise.resolve();
    const hits = await Promise.all(
      legs.map((leg, at) => {
        const terms = leg === marked ? request.terms : undefined;
        const filter = leg.filter === null ? request.filter : bothFilters(request.filter, leg.filter);
        if (!isMade(leg)) return this.noteVariants(collection, leg.of, terms, call);
        const { effort, contentBytes, ofBestScore, boosts, depths, versions } = request;
        const ofList = { filter, effort, contentBytes, boosts, depths, versions };
        const options = { ...ofList, ofBestScore, at, leftOut, fieldWeights: weights[at], terms };
        const list = (): Promise<Hit[]> => this.legList(collection, leg, request.vectors[at], options, depth, call);
        if (!readsSeveral(leg.of)) return list();
        const own = made.then(list);
        made = own;
        return own;
      }),
    );
    const lists = legs.map(({ name, weight }, i) => ({ name, weight, hits: hits[i] }));
    return depth < LONG_LIST ? fuse(lists, request) : inSlices(fusionSteps(lists, request));
  }

  /** What shards are asked for by each leg's words; null: it has none. Errors: as of a search. */
  async askedOf(
    known: SearchedCollection,
    legs: readonly Leg[],
    noted: NotedTerms | undefined,
    call: CallOptions,
  ): Promise<(AskedKeywords | null)[]> {
    const { collection, weights } = await this.weighted(known, legs);
    const marked = textLegOf(legs);
    return Promise.all(
      legs.map(async (leg, at) => {
        const terms = leg === marked ? noted : undefined;
        if (!isMade(leg)) await this.noteVariants(collection, leg.of, terms, call);
        if (!isMade(leg) || leg.of.type !== 'keywords') return null;
        return this.askedKeywords(collection, leg.of, { fieldWeights: weights[at], terms }, call);
      }),
    );
  }

  /** Weights of the fields that the collection has, of each leg. */
  private async weighted(
    known: SearchedCollection,
    legs: readonly Leg[],
  ): Promise<{ collection: SearchedCollection; weights: (readonly number[] | undefined)[] }> {
    let collection = known;
    const weights: (readonly number[] | undefined)[] = [];
    for (const { of } of legs) {
      const keywords = of.type === 'keywords' ? of.keywords : undefined;
      const fitting =
        keywords?.fieldWeights === undefined
          ? undefined
          : await fittingWeights(collection, keywords, (name) => this.catalog.read(name));
      collection = fitting?.collection ?? collection;
      weights.push(fitting?.fieldWeights);
    }
    return { collection, weights };
  }

  /** The first `depth` hits of a leg. */
  private async legList(
    collection: SearchedCollection,
    { of, leastScore }: Leg,
    sought: LegVectors,
    options: LegOptions,
    depth: number,
    call: CallOptions,
  ): Promise<Hit[]> {
    const { leftOut } = options;
    const hits = await this.sourceList(collection, of, sought, options, depth + leftOut.size, call);
    const others =
      leftOut.size === 0 ? hits : hits.filter(({ externalId }) => !leftOut.has(externalId)).slice(0, depth);
    return scoringAtLeast(others, leastScore);
  }

  private sourceList(
    collection: SearchedCollection,
    of: LegSource,
    { vector, examples }: LegVectors,
    options: LegOptions,
    depth: number,
    call: CallOptions,
  ): Promise<Hit[]> {
    if (of.type === 'keywords') return this.keywordList(collection, of, options, depth, call);
    return of.type === 'examples' && isOfBestScore(of, examples)
      ? this.bestScoreList(collection, examples!, options, depth, call)
      : this.vectorList(collection, vector!, options, depth, call);
  }

  private async bestScoreList(
    collection: SearchedCollection,
    examples: ExampleVectors,
    options: LegOptions,
    places: number,
    call: CallOptions,
  ): Promise<Hit[]> {
    const { leftOut, ofBestScore, at, boosts } = options;
    const parts: BestScoreParts = {
      nearest: async (vectors, depth) => {
        await ofBestScore.reserve(at, vectors.length, depth);
        const lists = vectors.map((vector) => this.vectorList(collection, vector, options, depth, call));
        return { lists: await Promise.all(lists), totalCount: null };
      },
      isBoosted: boosts !== undefined,
      scores: async (vector, externalIds) => {
        const asked = { vector, externalIds, bytesMax: () => 1 };
        const scored = await scoredItems({ shards: this.shards, scatter: this.scatter }, collection, asked, call);
        return new Map(scored.flat().map(({ externalId, score }) => [externalId, score]));
      },
      deeper: ofBestScore.deeper,
    };
    return (await bestScores(parts, examples, leftOut, { offset: 0, k: places })).hits;
  }

  private vectorList(
    collection: ShardedCollection,
    vector: Float32Array,
    { filter, effort, contentBytes: bytesMax, boosts, depths, versions }: ListOptions,
    depth: number,
    call: CallOptions,
  ): Promise<Hit[]> {
    const request = {
      vector,
      filter,
      effort,
      texts: false,
      bytesMax,
      ...(boosts !== undefined && { boosts }),
      ...(versions === true && { versions }),
    };
    const ask = async (id: ShardId, k: number): Promise<Hit[]> => {
      const found = await this.shards.read(id, 'search', { ...request, k }, call);
      depths?.note(found);
      return found.hits;
    };
    return this.list(collection, depth, call, ask);
  }

  private async keywordList(
    collection: SearchedCollection,
    of: KeywordSource,
    options: LegOptions,
    depth: number,
    call: CallOptions,
  ): Promise<Hit[]> {
    const asked = await this.askedKeywords(collection, of, options, call);
    return asked === null ? [] : this.keywordHits(collection, asked, options, depth, call);
  }

  /** What shards are asked for by words; null: nothing. */
  private async askedKeywords(
    collection: SearchedCollection,
    { text, keywords: given }: KeywordSource,
    { terms: noted, fieldWeights }: Pick<LegOptions, 'terms' | 'fieldWeights'>,
    call: CallOptions,
  ): Promise<AskedKeywords | null> {
    const keywords = given ?? bagIn(collection, text);
    if (keywords !== undefined) {
      const asked = await this.planned(collection, draftIn(collection, keywords), call, fieldWeights);
      for (const term of termsStoodFor(asked)) noted?.add(term);
      return asked;
    }
    const terms = queryTerms(analyserOf(collection), text);
    return terms.length === 0 ? null : { terms, statistics: await this.statistics(collection, terms, call) };
  }

  /** What words stand for where it is only marked; there is no list. */
  private async noteVariants(
    collection: SearchedCollection,
    of: LegSource,
    noted: NotedTerms | undefined,
    call: CallOptions,
  ): Promise<[]> {
    const keywords = of.type === 'keywords' ? of.keywords : undefined;
    if (keywords === undefined || noted === undefined) return [];
    const draft = draftIn(collection, keywords);
    if (draft.variants.size > 0)
      for (const term of termsStoodFor(await this.planned(collection, draft, call))) noted.add(term);
    return [];
  }

  /** What shards are asked for of a query in parts; null: nothing. */
  private async planned(
    collection: ShardedCollection,
    draft: KeywordDraft,
    call: CallOptions,
    fieldWeights?: readonly number[],
  ): Promise<AskedKeywords | null> {
    if (draft.terms.length === 0) return null;
    const statistics = await this.statistics(collection, draft.terms, call, fieldWeights);
    if (draft.variants.size === 0) return { ...plannedKeywords(draft), statistics, fieldWeights };
    const whole = await withVariants(draft, statistics, (term, by, counts) =>
      expandedWord({ shards: this.shards, scatter: this.scatter }, collection, { term, by, counts }, call),
    );
    // What words stand for was counted in all fields.
    const ofAsked = fieldWeights?.includes(0) === true;
    const { terms } = whole.draft;
    const known = ofAsked ? await this.statistics(collection, terms, call, fieldWeights) : whole.statistics;
    return { ...plannedKeywords(whole.draft), statistics: known, fieldWeights };
  }

  private async statistics(
    collection: ShardedCollection,
    terms: string[],
    call: CallOptions,
    fieldWeights?: readonly number[],
  ): Promise<KeywordStatistics> {
    const request = { terms, ...(fieldWeights !== undefined && { fieldWeights }) };
    return sumStatistics(
      await this.scatter.readAll(collection, call, (id) => this.shards.read(id, 'keywordStatistics', request, call)),
    );
  }

  private keywordHits(
    collection: ShardedCollection,
    { terms, statistics, plan, fieldWeights }: AskedKeywords,
    { filter, contentBytes: bytesMax, boosts, versions }: ListOptions,
    depth: number,
    call: CallOptions,
  ): Promise<Hit[]> {
    return this.list(collection, depth, call, (id, k) =>
      this.shards.read(
        id,
        'keywordSearch',
        {
          terms,
          statistics,
          k,
          filter,
          bytesMax,
          ...(plan !== undefined && { plan }),
          ...(fieldWeights !== undefined && { fieldWeights }),
          ...(boosts !== undefined && { boosts }),
          ...(versions === true && { versions }),
        },
        call,
      ),
    );
  }

  /**
   * The best `depth` hits of all shards. Of a long list, each shard is asked for the part that it most likely has, and
   * one that turns out to have more for the rest.
   */
  private async list(
    collection: ShardedCollection,
    depth: number,
    call: CallOptions,
    ask: (id: ShardId, k: number) => Promise<Hit[]>,
  ): Promise<Hit[]> {
    const share = shareOf(depth, collection.shards);
    const lists = await this.scatter.readAll(collection, call, (id) => ask(id, share));
    const merged = mergeHits(lists, 0, depth);
    if (share === depth) return merged;
    const last = merged.length < depth ? null : merged[depth - 1];
    const cut = [...lists.keys()].filter(
      (i) => lists[i].length === share && (last === null || compareHits(lists[i][share - 1], last) <= 0),
    );
    if (cut.length === 0) return merged;
    const whole = await this.scatter.read(collection, cut, call, (id) => ask(id, depth));
    cut.forEach((shard, i) => (lists[shard] = whole[i]));
    return mergeHits(lists, 0, depth);
  }
}

function termsStoodFor(asked: PlannedKeywords | null): string[] {
  const units = asked?.plan?.units ?? [];
  return units.flatMap(({ terms, factors, meanings = [] }) => {
    const meant = meanings.flatMap((meaning) => (meaning.filter === undefined ? meaning.terms : []));
    return factors === undefined ? [] : [...terms, ...meant].map((place) => asked!.terms[place]);
  });
}

/**
 * How much of a list of this depth to ask each shard for. Items are spread by hash, so of the best `depth`, a shard has
 * depth / shards with a deviation of the square root of it, and six times that more once in a hundred million times.
 */
function shareOf(depth: number, shards: number): number {
  if (depth < LONG_LIST) return depth;
  const mean = depth / shards;
  return Math.min(depth, Math.ceil(mean + 6 * Math.sqrt(mean)));
}
