import { hitsDownTo, type HitPlace } from '../../../shared/contract/shard/shard-read';
import { inSlices } from '../../../shared/base/time/work-slices';
import type { FoundGroup, ScoredHit } from '../service';
import { type ChainedPage, type ListedPart, type PartStart, SLACK } from './chained-page';
import { groupName } from './found-groups';
import { KeyDigests } from './key-digests';
import type { RankedSearch } from './ranked-lists';
import { type Candidate, firstSearchOf, groupsOf, type RerankedLists, type RerankedSearch } from './reranked-lists';
import { digestsFromJson, notOne, placeFromJson, placeToJson } from './search-chain';
import { ValueCounts } from './value-counts';

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
    reranked: Pick<RerankedLists, 'order' | 'differing'>;
  },
  search: RerankedSearch,
  state: readonly unknown[],
): Promise<ChainedPage> {
  const { request, reranking } = search;
  const { k, groups: grouping, diversity } = request.page;
  const start = rerankingStart(state);
  let { end } = start;
  const { ordered, rerank, totalCount } = await parts.reranked.order(search, async () => {
    const first = { ...search, request: firstSearchOf(request) };
    const places = reranking.topN + (end === null ? 0 : SLACK);
    const list = await parts.list(first, { after: null, passed: 0 }, places);
    if (!start.isBegun && list.isMore) end = list.hits.at(-1)!;
    return { ...list, hits: hitsDownTo(list.hits, end) };
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
  if (diversity?.type === 'field') {
    const counts = new ValueCounts(diversity, start.values);
    const { shown, isMore } = await inSlices(differing(ordered, { k, given: start.given, counts }));
    const state = stateWith(shown.map(({ externalId }) => externalId));
    return {
      ranked: { hits: shown, totalCount, rerank },
      next: isMore ? [...state, (await inSlices(counts.given())).toText()] : null,
    };
  }
  const hits =
    diversity === undefined
      ? ordered.map(({ hit }) => hit)
      : await parts.reranked.differing(search, diversity, ordered, start.given.size + k + 1);
  const left = hits.filter(({ externalId }) => !start.given.has(externalId));
  const shown = left.slice(0, k);
  return {
    ranked: { hits: shown, totalCount, rerank },
    next: left.length > k ? stateWith(shown.map(({ externalId }) => externalId)) : null,
  };
}

/** The next hits without those with a value of which there are as many as there may be. In steps. */
function* differing(
  ordered: readonly Candidate[],
  { k, given, counts }: { k: number; given: KeyDigests; counts: ValueCounts },
): Generator<undefined, { shown: ScoredHit[]; isMore: boolean }> {
  const shown: ScoredHit[] = [];
  for (const { hit, metadata } of ordered) {
    if (given.has(hit.externalId)) continue;
    const values = yield* counts.roomFor(metadata);
    yield;
    if (values === null) continue;
    if (shown.length === k) return { shown, isMore: true };
    counts.add(values);
    shown.push(hit);
  }
  return { shown, isMore: false };
}

/** What a page begins with. */
interface RerankingStart {
  isBegun: boolean;
  /** Of the first list. */
  end: ListEnd;
  /** Groups or hits. */
  given: KeyDigests;
  /** Of hits that differ by a value. */
  values: KeyDigests;
}

function rerankingStart(state: readonly unknown[]): RerankingStart {
  if (state.length === 0) return { isBegun: false, end: null, given: KeyDigests.NONE, values: KeyDigests.NONE };
  const [end, digests, values = ''] = state;
  if (state.length !== 2 && state.length !== 3) throw notOne();
  return { isBegun: true, end: placeFromJson(end), given: digestsFromJson(digests), values: digestsFromJson(values) };
}

function nameOf({ key, hits: [hit] }: FoundGroup): string {
  return groupName(key, hit);
}
