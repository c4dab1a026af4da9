import { compareHits, type HitPlace } from '../../../shared/contract/shard/shard-read';
import type { FoundGroup, ScoredHit } from '../service';
import type { ChainedPage, ListedPart, PartStart } from './chained-page';
import { groupName } from './found-groups';
import { KeyDigests } from './key-digests';
import type { RankedSearch } from './ranked-lists';
import { firstSearchOf, groupsOf, type RerankedLists, type RerankedSearch } from './reranked-lists';
import { digestsFromJson, notOne, placeFromJson, placeToJson } from './search-chain';

/** Where the first list ends; null: it has fewer hits than are reranked. */
type ListEnd = HitPlace | null;

/**
 * A page of a list of which a model reads the first hits. These are fixed by where the first list ended when the first
 * page was asked for. Which of them were given is in the cursor by their digests: the scores of a model differ in their
 * last digits with the texts that it reads at once, so a hit behind the last one may come before it the next time.
 */
export async function chainedReranking(
  parts: {
    list: (search: RankedSearch, start: PartStart, k: number) => Promise<ListedPart>;
    reranked: Pick<RerankedLists, 'order'>;
  },
  search: RerankedSearch,
  state: readonly unknown[],
): Promise<ChainedPage> {
  const { request, reranking } = search;
  const { k, groups: grouping } = request.page;
  const start = rerankingStart(state);
  let { end } = start;
  const { ordered, rerank, totalCount } = await parts.reranked.order(search, async () => {
    const first = { ...search, request: firstSearchOf(request) };
    const list = await parts.list(first, { after: null, passed: 0 }, reranking.topN);
    if (!start.isBegun && list.isMore) end = list.hits.at(-1)!;
    return { ...list, hits: list.hits.filter((hit) => end === null || compareHits(hit, end) <= 0) };
  });
  const stateWith = (names: string[]): readonly unknown[] => [placeToJson(end), start.given.with(names).toText()];
  if (grouping !== undefined) {
    const groups = (await groupsOf(ordered, grouping)).filter((group) => !start.given.has(nameOf(group)));
    const shown = groups.slice(0, k);
    return {
      ranked: { hits: shown.flatMap(({ hits }) => hits), groups: shown, totalCount, rerank },
      next: groups.length > k ? stateWith(shown.map(nameOf)) : null,
    };
  }
  const left = ordered.filter(({ hit }) => !start.given.has(hit.externalId));
  const shown = left.slice(0, k).map(({ hit }): ScoredHit => hit);
  return {
    ranked: { hits: shown, totalCount, rerank },
    next: left.length > k ? stateWith(shown.map(({ externalId }) => externalId)) : null,
  };
}

/** What a page begins with: where the first list ends, and which groups or hits were given. */
function rerankingStart(state: readonly unknown[]): { isBegun: boolean; end: ListEnd; given: KeyDigests } {
  if (state.length === 0) return { isBegun: false, end: null, given: KeyDigests.NONE };
  const [end, digests] = state;
  if (state.length !== 2) throw notOne();
  return { isBegun: true, end: placeFromJson(end), given: digestsFromJson(digests) };
}

function nameOf({ key, hits: [hit] }: FoundGroup): string {
  return groupName(key, hit);
}
