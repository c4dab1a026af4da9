import type { Filter } from '../../shared/filter/filter';
import type { CallOptions, ShardClient } from '../../shared/shard/shard-client';
import type { Hit, SearchEffort } from '../../shared/shard/shard-read';
import { queryTerms } from '../../shared/text/analyser';
import { analyserFor } from '../../shared/text/analyser-for';
import type { Language } from '../../shared/text/language';
import { inSlices } from '../../shared/time/work-slices';
import type { ScatterGather, ShardedCollection } from '../routing/scatter-gather';
import type { ScoredHit } from '../service';
import { fuse, fusionDepth, fusionSteps } from './fusion';
import { mergeHits, sumStatistics } from './merge';

const CALIBRATED: SearchEffort = { type: 'calibrated' };
/** Lists of this length are fused in slices, because that takes milliseconds. */
const SLICED_DEPTH = 1_000;

export interface SearchedCollection extends ShardedCollection {
  /** The language of its keyword text. */
  language: Language | null;
}

export interface HybridRequest {
  queryText: string;
  /** May be null only if alpha is 0. */
  vector: Float32Array | null;
  k: number;
  offset: number;
  /** Weight of the vector list, 0 to 1. */
  alpha: number;
  filter: Filter | null;
  /** Whether hits carry their places in the two lists. */
  explain?: boolean | undefined;
}

/**
 * Vector and keyword search over the whole collection, fused by rank. Both lists are merged over the shards before they
 * are ranked. BM25 uses the statistics of the whole collection, which are collected in a round of calls of their own.
 */
export class HybridSearch {
  private readonly shards: Pick<ShardClient, 'read'>;
  private readonly scatter: ScatterGather;

  constructor(options: { shards: Pick<ShardClient, 'read'>; scatter: ScatterGather }) {
    this.shards = options.shards;
    this.scatter = options.scatter;
  }

  /** Places `offset` to `offset + k`, of items that are in at least one of the lists. */
  async search(collection: SearchedCollection, request: HybridRequest, call: CallOptions): Promise<ScoredHit[]> {
    const last = request.offset + request.k;
    // A single list keeps its order, so hits beyond the last requested place change nothing.
    const depth = request.alpha === 0 || request.alpha === 1 ? last : fusionDepth(last);
    const [vector, keyword] = await Promise.all([
      request.vector === null || request.alpha === 0 ? [] : this.vectorList(collection, request.vector, request.filter, depth, call),
      request.alpha === 1 ? [] : this.keywordList(collection, request.queryText, request.filter, depth, call),
    ]);
    return depth < SLICED_DEPTH ? fuse({ vector, keyword }, request) : inSlices(fusionSteps({ vector, keyword }, request));
  }

  private async vectorList(collection: ShardedCollection, vector: Float32Array, filter: Filter | null, depth: number, call: CallOptions): Promise<Hit[]> {
    const request = { vector, k: depth, filter, effort: CALIBRATED, texts: false };
    const results = await this.scatter.readAll(collection, call, (id) => this.shards.read(id, 'search', request, call));
    return mergeHits(
      results.map(({ hits }) => hits),
      0,
      depth,
    );
  }

  private async keywordList(collection: SearchedCollection, text: string, filter: Filter | null, depth: number, call: CallOptions): Promise<Hit[]> {
    const terms = queryTerms(analyserFor(collection.language), text);
    if (terms.length === 0) return [];
    const statistics = sumStatistics(await this.scatter.readAll(collection, call, (id) => this.shards.read(id, 'keywordStatistics', { terms }, call)));
    const request = { terms, statistics, k: depth, filter };
    return mergeHits(await this.scatter.readAll(collection, call, (id) => this.shards.read(id, 'keywordSearch', request, call)), 0, depth);
  }
}
