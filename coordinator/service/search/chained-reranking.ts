import { compareHits, type HitPlace } from '../../../shared/contract/shard/shard-read';
import type { FoundGroup, ScoredHit } from '../service';
import type { ChainedPage, ListedPart, PartStart } from './chained-page';
import { groupName } from './found-groups';
import { KeyDigests } from './key-digests';
import type { RankedSearch } from './ranked-lists';
import { type Candidate, firstSearchOf, groupsOf, type RerankedLists, type RerankedSearch } from './reranked-lists';
import { notOne, placeFromJson, placeToJson } from './search-chain';

/** Where the first list ends; null: it has fewer hits than are reranked. */
type ListEnd = HitPlace | null;

/** The place of a hit that was reranked, or that keeps its score of the first list behind those. */
interface RerankedPlace {
  isBehind: boolean;
  place: HitPlace;
}

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
  // A cursor of an earlier version has the place of the last hit.
  const isBehind = (one: Candidate): boolean => start.after === null || compareReranked(placeOf(one), start.after) > 0;
  const left = ordered.filter((one) => isBehind(one) && !start.given.has(one.hit.externalId));
  const shown = left.slice(0, k).map(({ hit }): ScoredHit => hit);
  return {
    ranked: { hits: shown, totalCount, rerank },
    next: left.length > k ? stateWith(shown.map(({ externalId }) => externalId)) : null,
  };
}

/** What a page begins with: where the first list ends, and which groups or up to where hits were given. */
function rerankingStart(state: readonly unknown[]): {
  isBegun: boolean;
  end: ListEnd;
  after: RerankedPlace | null;
  given: KeyDigests;
} {
  const none = KeyDigests.fromText('')!;
  if (state.length === 0) return { isBegun: false, end: null, after: null, given: none };
  const [end, position] = state;
  const begun = { isBegun: true, end: placeFromJson(end) };
  if (state.length !== 2) throw notOne();
  if (typeof position === 'string') {
    const given = KeyDigests.fromText(position);
    if (given === null) throw notOne();
    return { ...begun, after: null, given };
  }
  const [isBehind, at] = Array.isArray(position) ? (position as unknown[]) : [];
  const place = placeFromJson(at);
  if (typeof isBehind !== 'boolean' || place === null) throw notOne();
  return { ...begun, after: { isBehind, place }, given: none };
}

function nameOf({ key, hits: [hit] }: FoundGroup): string {
  return groupName(key, hit);
}

function placeOf({ hit }: Candidate): RerankedPlace {
  return { isBehind: hit.first === undefined, place: { score: hit.score, externalId: hit.externalId } };
}

function compareReranked(a: RerankedPlace, b: RerankedPlace): number {
  return Number(a.isBehind) - Number(b.isBehind) || compareHits(a.place, b.place);
}
