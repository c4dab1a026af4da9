import { hitsDownTo, type HitPlace } from '../../../shared/contract/shard/shard-read';
import { inSlices, ownTurn } from '../../../shared/base/time/work-slices';
import type { Diversity } from '../search-request';
import type { ScoredHit } from '../service';
import { type ChainedPage, type ChainParts, HITS, type ListedPart, listStart, SLACK } from './chained-page';
import { chosenByVectors } from './diverse-hits';
import { relevancesOf } from './diverse-lists';
import { withoutValues } from './group-key';
import { KeyDigests } from './key-digests';
import { hitsLookedAt } from './looked-at';
import type { RankedSearch } from './ranked-lists';
import { ValueCounts } from './value-counts';
import { digestsFromJson, notOne, placeFromJson, placeToJson } from './search-chain';

/** A page of hits that differ. */
export function chainedDiversity(
  parts: ChainParts,
  search: RankedSearch,
  diversity: Diversity,
  state: readonly unknown[],
): Promise<ChainedPage> {
  return diversity.type === 'mmr'
    ? byVectors(parts, search, diversity, state)
    : byValue(parts, search, diversity, state);
}

/**
 * The candidates are fixed by where they ended when the first page was asked for; those that were given are in the
 * cursor by their digests. Each page chooses anew, of those that have not changed, the same ones and more.
 */
async function byVectors(
  { list, ordered }: ChainParts,
  search: RankedSearch,
  diversity: Diversity & { type: 'mmr' },
  state: readonly unknown[],
): Promise<ChainedPage> {
  if (state.length !== 0 && state.length !== 2) throw notOne();
  const given = state.length === 0 ? KeyDigests.NONE : digestsFromJson(state[1]);
  let end = state.length === 0 ? null : placeFromJson(state[0]);
  const part = await list(search, { after: null, passed: 0 }, diversity.candidates + (end === null ? 0 : SLACK));
  if (state.length === 0 && part.isMore) end = part.hits.at(-1)!;
  const candidates = hitsDownTo(part.hits, end);
  const { k } = search.request.page;
  // Of so many, as many as are wanted were not given, and one more tells whether there is a next page.
  const asked = { ...search, count: given.size + k + 1 };
  const chosen = await chosenByVectors(ordered, asked, diversity, candidates, (hits) => relevancesOf(search, hits));
  const left = chosen.filter(({ externalId }) => !given.has(externalId));
  const hits = left.slice(0, k);
  const names = hits.map(({ externalId }) => externalId);
  return {
    ranked: { hits, totalCount: part.totalCount },
    next: left.length > k ? [placeToJson(end), given.with(names).toText()] : null,
  };
}

/**
 * The list without hits that have a value of which there are as many as there may be: of each value, the cursor has a
 * digest for each hit that was given. Where many hits in turn have such values, others are asked for.
 */
async function byValue(
  { list, ordered }: ChainParts,
  search: RankedSearch,
  diversity: Diversity & { type: 'field' },
  state: readonly unknown[],
): Promise<ChainedPage> {
  const { start, given } = listStart(state);
  const counts = new ValueCounts(diversity, given);
  const { request } = search;
  const { k } = request.page;
  const hits: ScoredHit[] = [];
  let last: HitPlace | null = start.after;
  let { passed } = start;
  let totalCount: number | null = null;
  let from = start;
  let of = search;
  for (let places = HITS.first * k; ; places *= 2) {
    const part = await list(of, from, Math.max(HITS.least, Math.min(places, HITS.most)));
    totalCount ??= part.totalCount;
    const isMore = await take(part);
    if (isMore || !part.isMore) return answered(isMore);
    const filter = withoutValues(request.query.filter, diversity.path, [...counts.full]);
    of = { ...search, request: { ...request, query: { ...request.query, filter } } };
    // A filtered list is a shorter one.
    from = { after: last, passed: 0, passedMost: passed };
  }

  /** Whether a hit is of the next page. */
  async function take(part: ListedPart): Promise<boolean> {
    for (const { hit, metadata } of await hitsLookedAt(ordered, search, part.hits)) {
      const turn = ownTurn();
      if (turn !== undefined) await turn;
      const values = await inSlices(counts.roomFor(metadata));
      if (values !== null) {
        if (hits.length === k) return true;
        counts.add(values);
        hits.push(hit);
      }
      last = hit;
      if (of === search) passed += 1;
    }
    return false;
  }

  async function answered(isMore: boolean): Promise<ChainedPage> {
    const ranked = { hits, totalCount };
    if (!isMore) return { ranked, next: null };
    const all = await inSlices(counts.given());
    return { ranked, next: [placeToJson(last), passed, all.toText()] };
  }
}
