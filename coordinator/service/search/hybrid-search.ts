import type { Filter } from '../../../shared/contract/filter/filter';
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
import { fuse, fusionDepth, fusionSteps } from './fusion';
import { bagIn, draftIn } from './collection-draft';
import { fittingWeights } from './field-weights';
import { type KeywordDraft, type PlannedKeywords, plannedKeywords } from './keyword-planning';
import type { KeywordQuery } from '../keyword-query';
import type { Fusing } from '../search-request';
import { mergeHits, sumStatistics } from './merge';
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
  queryText: string;
  /** The parts of the text; undefined: a bag of words. */
  keywords?: KeywordQuery | undefined;
  /** May be null only if alpha is 0. */
  vector: Float32Array | null;
  k: number;
  offset: number;
  /** Weight of the vector list, 0 to 1. */
  alpha: number;
  /** How the lists become one; undefined: by ranks. */
  fusing?: Fusing | undefined;
  filter: Filter | null;
  /** Of the vector list. */
  effort: SearchEffort;
  /** Whether hits carry their places in the two lists. */
  explain?: boolean | undefined;
  /** Bytes of metadata that come with each list from each shard; behind them they are left out. */
  contentBytes?: number;
  /** Gets the terms that words stand for. */
  terms?: NotedTerms | undefined;
}

type ListOptions = Pick<HybridRequest, 'filter' | 'effort' | 'contentBytes'>;

/** What shards are asked for, with what they need to know of all of them. */
type AskedKeywords = PlannedKeywords & { statistics: KeywordStatistics; fieldWeights?: readonly number[] | undefined };

/**
 * Vector and keyword search over the whole collection, fused by rank. Both lists are merged over the shards before they
 * are ranked. BM25 uses the statistics of the whole collection, which are collected in a round of calls of their own.
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
    const { collection, fieldWeights } =
      request.keywords?.fieldWeights === undefined
        ? { collection: known, fieldWeights: undefined }
        : await fittingWeights(known, request.keywords, (name) => this.catalog.read(name));
    const last = request.offset + request.k;
    // A single list keeps its ranks, so hits beyond the last requested place change nothing.
    const isRanked = request.fusing === undefined || request.fusing.kind === 'rrf';
    const depth = isRanked && (request.alpha === 0 || request.alpha === 1) ? last : fusionDepth(last);
    const [vector, keyword] = await Promise.all([
      request.vector === null || request.alpha === 0
        ? []
        : this.vectorList(collection, request.vector, request, depth, call),
      request.alpha === 1
        ? this.noteVariants(collection, request, call)
        : this.keywordList(collection, { ...request, fieldWeights }, depth, call),
    ]);
    return depth < LONG_LIST ? fuse({ vector, keyword }, request) : inSlices(fusionSteps({ vector, keyword }, request));
  }

  private vectorList(
    collection: ShardedCollection,
    vector: Float32Array,
    { filter, effort, contentBytes: bytesMax }: ListOptions,
    depth: number,
    call: CallOptions,
  ): Promise<Hit[]> {
    const ask = async (id: ShardId, k: number): Promise<Hit[]> =>
      (await this.shards.read(id, 'search', { vector, k, filter, effort, texts: false, bytesMax }, call)).hits;
    return this.list(collection, depth, call, ask);
  }

  private async keywordList(
    collection: SearchedCollection,
    {
      queryText,
      keywords: given,
      terms: noted,
      fieldWeights,
      ...options
    }: HybridRequest & Pick<AskedKeywords, 'fieldWeights'>,
    depth: number,
    call: CallOptions,
  ): Promise<Hit[]> {
    const keywords = given ?? bagIn(collection, queryText);
    if (keywords !== undefined) {
      const asked = await this.planned(collection, draftIn(collection, keywords), call, fieldWeights);
      for (const term of termsStoodFor(asked)) noted?.add(term);
      return asked === null ? [] : this.keywordHits(collection, asked, options, depth, call);
    }
    const terms = queryTerms(analyserOf(collection), queryText);
    if (terms.length === 0) return [];
    const statistics = await this.statistics(collection, terms, call);
    return this.keywordHits(collection, { terms, statistics }, options, depth, call);
  }

  /** What words stand for where it is only marked; there is no list. */
  private async noteVariants(
    collection: SearchedCollection,
    { keywords, terms: noted }: HybridRequest,
    call: CallOptions,
  ): Promise<[]> {
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
    { filter, contentBytes: bytesMax }: ListOptions,
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
