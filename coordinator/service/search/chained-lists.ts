import type { CallOptions, ShardClient, ShardId } from '../../../shared/contract/shard/shard-client';
import { type HitPlace, type ListPart, type VectorSearch } from '../../../shared/contract/shard/shard-read';
import { NO_HOLD } from '../answer-hold';
import type { CollectionRecord } from '../collections/collection-record';
import { type DeepReads, hitsOfLength } from '../routing/deep-reads';
import type { ScatterGather } from '../routing/scatter-gather';
import type { ShardSets } from '../routing/shard-sets';
import type { Source } from '../search-request';
import type { OrderedItems } from '../vectors/ordered-items';
import { chainedGroups } from './chained-groups';
import type { ChainedPage, ListedPart, PartStart } from './chained-page';
import { chainedReranking } from './chained-reranking';
import { contentBound, contentBytesOf, hitBytesMax } from './later-hits';
import { mergeHits } from './merge';
import type { RerankedLists } from './reranked-lists';
import { atLeast, leftOutOf, type Ranked, type RankedSearch } from './ranked-lists';
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
      reranked: Pick<RerankedLists, 'order'>;
    },
  ) {}

  /** Errors: those of the shards; invalid_parameter when the collection was resharded meanwhile. */
  async rank(search: ChainedSearch): Promise<Ranked> {
    const { chain, collection, vector, request } = search;
    const fixed = chain.fixed ?? (await this.fix(search));
    const { ranked, next } = await this.page(search, fixed);
    if (next === null) return { ...ranked, nextCursor: null };
    const made = givesVector(request.query.source) ? null : vector;
    return { ...ranked, nextCursor: cursorOfChain(collection, chain, { ...fixed, vector: made, state: next }) };
  }

  private page(search: ChainedSearch, fixed: FixedList): Promise<ChainedPage> {
    const {
      rerank: reranking,
      page: { groups: grouping },
    } = search.request;
    const list = (of: RankedSearch, start: PartStart, k: number): Promise<ListedPart> => this.list(of, fixed, start, k);
    if (reranking !== undefined)
      return chainedReranking({ list, reranked: this.parts.reranked }, { ...search, reranking }, fixed.state);
    if (grouping === undefined) return this.hits(search, fixed);
    return chainedGroups({ list, ordered: this.parts.ordered }, { ...search, grouping }, fixed.state);
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
    return sets.inOne(collection, call, async (current) => ({
      uid: current.uid,
      versions: await scatter.readAll(current, call, (id) => shards.read(id, 'lastVersion', null, call)),
      vector: null,
      state: [],
    }));
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
    };
    await hold.reserve(hitBytesMax(wanted, collection.shards, contentBytes, output.texts, hold));
    const results = await this.parts.deep.run(hitsOfLength(wanted, undefined), call, () =>
      this.read(collection, fixed, call, start, (id, part) =>
        this.parts.shards.read(id, 'search', { ...asked, part }, call),
      ),
    );
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
    return sets.inOne(collection, call, (current) => {
      if (current.uid !== uid) throw reshardedSince();
      return scatter.readAll(current, call, (id) =>
        ask(id, { versionMax: versions[id.shard], after, passed: Math.ceil(passed / current.shards) }),
      );
    });
  }
}

function startOf(state: readonly unknown[]): PartStart {
  if (state.length === 0) return { after: null, passed: 0 };
  if (state.length !== 2) throw notOne();
  return { after: placeFromJson(state[0]), passed: countFromJson(state[1]) };
}

/** Whether each request of the chain has the vector itself. */
function givesVector(source: Source): boolean {
  return source.type === 'nearest' && source.to.vector !== undefined;
}
