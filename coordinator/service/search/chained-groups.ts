import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { HitPlace } from '../../../shared/contract/shard/shard-read';
import { inSlices, ownTurn } from '../../../shared/base/time/work-slices';
import type { GroupKey } from '../search-request';
import { type ChainedPage, type ChainParts, HITS, type ListedPart, listStart } from './chained-page';
import { groupName, type OpenGroup } from './found-groups';
import { groupKeysOf, mustBeShort } from './group-key';
import { filled, type GroupedSearch, ungrouped } from './grouped-lists';
import { hitsLookedAt } from './looked-at';
import type { RankedSearch } from './ranked-lists';
import { placeToJson } from './search-chain';

/** A cursor takes eleven characters for each. */
const GROUPS_MAX = 50_000;

/**
 * A page of groups: those that the next hits of the list are in, and that no page before had, whose names are in the
 * cursor by their digests. A group is as good as its best hit. Its hits are the best of it that have not changed since
 * the first page. Where many hits in turn are of groups that are known, others are asked for.
 */
export async function chainedGroups(
  parts: ChainParts,
  search: GroupedSearch,
  state: readonly unknown[],
): Promise<ChainedPage> {
  const { request, grouping } = search;
  const { k } = request.page;
  const { start, given } = listStart(state);
  const groups = new Map<string, OpenGroup>();
  /** Keys of groups that need no more hits. */
  const known = new Set<Exclude<GroupKey, null>>();
  /** The hit before the one that begins the next page, and how many come before that. */
  let last: HitPlace | null = start.after;
  let { passed } = start;
  let totalCount: number | null = null;
  let from = start;
  let of: RankedSearch = search;
  for (let places = HITS.first * k; ; places *= 2) {
    const list = await parts.list(of, from, Math.max(HITS.least, Math.min(places, HITS.most)));
    totalCount ??= list.totalCount;
    const isMore = await look(list);
    if (isMore || !list.isMore) return answered(isMore);
    mustBeShort([...known], grouping.path);
    const filter = ungrouped(request.query.filter, grouping, [...known]);
    of = { ...search, request: { ...request, query: { ...request.query, filter } } };
    // A filtered list is a shorter one.
    from = { after: last, passed: 0, passedMost: passed };
  }

  /** Whether a hit is in a group of the next page. */
  async function look(list: ListedPart): Promise<boolean> {
    for (const { hit, metadata } of await hitsLookedAt(parts.ordered, search, list.hits)) {
      const turn = ownTurn();
      if (turn !== undefined) await turn;
      const keys = groupKeysOf(metadata, grouping.path);
      const own = keys.length > 0 ? keys : grouping.missing === 'each' ? [null] : [];
      for (const key of own) {
        const name = groupName(key, hit);
        if (key !== null) known.add(key);
        if (key !== null && given.has(name)) continue;
        const group = groups.get(name);
        if (group === undefined) {
          if (groups.size === k) return true;
          groups.set(name, { key, hits: [hit], isWhole: grouping.size === 1 || key === null });
        } else if (group.hits.length < grouping.size) group.isWhole = group.hits.push(hit) === grouping.size;
      }
      last = hit;
      if (of === search) passed += 1;
    }
    return false;
  }

  async function answered(isMore: boolean): Promise<ChainedPage> {
    const found = [...groups.values()];
    const beginning = { after: null, passed: 0 };
    await filled(search, found, async (filter, places) => {
      const list = await parts.list(
        { ...search, request: { ...request, query: { ...request.query, filter } } },
        beginning,
        places,
      );
      return { hits: await hitsLookedAt(parts.ordered, search, list.hits), isEnd: !list.isMore };
    });
    const names = [...groups].flatMap(([name, { key }]) => (key === null ? [] : [name]));
    const all = await inSlices(given.withInSteps(names));
    if (isMore && all.size > GROUPS_MAX)
      throw new QuiverError(
        'limit_exceeded',
        `this cursor ended: it goes on for ${GROUPS_MAX} groups; filter what is searched`,
      );
    return {
      ranked: {
        hits: found.flatMap(({ hits }) => hits),
        groups: found.map(({ key, hits }) => ({ key, hits })),
        totalCount,
      },
      next: isMore ? [placeToJson(last), passed, all.toText()] : null,
    };
  }
}
