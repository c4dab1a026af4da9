import { bothFilters, type Filter } from '../../../shared/contract/filter/filter';
import { inSlices } from '../../../shared/base/time/work-slices';
import type { CollectionRecord } from '../collections/collection-record';
import type { GroupKey, Grouping } from '../search-request';
import type { FoundGroup } from '../service';
import type { OrderedItems } from '../vectors/ordered-items';
import { compareGroups, FoundGroups, type LookedAt, type OpenGroup } from './found-groups';
import { mustBeShort } from './group-key';
import { hitsLookedAt } from './looked-at';
import { firstHits, placesOfList, type Ranked, type RankedLists, type RankedSearch } from './ranked-lists';

/** Hits that are asked for at once at most. */
const HITS_MAX = 10_000;
/** A list is asked for again from its beginning if it would be no longer; else what is in no group yet is. */
const AGAIN_MAX = 2_000;
/** Hits for each group, at first: a list that is a little too long costs less than a second one. */
const SPREAD = { first: 2, margin: 1.25 };
/** Hits that a round asks for at least. */
const HITS_MIN = 16;
/** In the place of a spread, of a path where what is in no group yet had to be asked for. */
const UNEVEN = 0;
/** Collections and paths of which it is remembered how their hits are spread over groups. */
const REMEMBERED_MAX = 1_024;

/** The groups of a page, and what is known of the list. */
export interface RankedGroups extends Pick<Ranked, 'totalCount'> {
  groups: FoundGroup[];
}

/** One search that groups. */
export interface GroupedSearch extends RankedSearch {
  grouping: Grouping;
}

/**
 * Ranks groups: the best of the collection, each as good as its best hit. A list is read until it has as many groups as
 * are wanted. Where its beginning has too few, because a group has many hits, what is in no group yet is asked for, so
 * that a group of a million hits is passed over in one step; the list ends where nothing is left. Hits that a group
 * lacks are then read from what has its key. So the answer depends neither on how long lists are nor on how many shards
 * there are.
 *
 * Ranks of a fused list would change if items were left out. Its groups are those of its first 40 places, then those of
 * the first 200, 1,000 and 10,000, as far as these are needed, and their hits are among the same places.
 */
export class GroupedLists {
  /** Hits for each group, by collection and path, as the last searches had them. */
  private readonly spreads = new Map<string, number>();

  constructor(
    private readonly parts: {
      lists: Pick<RankedLists, 'rank'>;
      ordered: Pick<OrderedItems<CollectionRecord>, 'read'>;
    },
  ) {}

  /** The groups of the request's page. Errors: those of the lists; limit_exceeded, when their keys are too long. */
  async rank(search: GroupedSearch): Promise<RankedGroups> {
    const { page, query } = search.request;
    const last = page.offset + page.k;
    const { found, totalCount } =
      placesOfList(query.source) !== null ? await this.ofPlaces(search, last) : await this.nearest(search, last);
    const groups = found.slice(page.offset, last);
    await filled(search, groups, (filter, places) => this.list(search, filter, places));
    return { groups: groups.map(({ key, hits }) => ({ key, hits })), totalCount };
  }

  private async nearest(
    search: GroupedSearch,
    wanted: number,
  ): Promise<{ found: OpenGroup[]; totalCount: number | null }> {
    const { request, grouping, collection } = search;
    const name = `${collection.uid} ${grouping.path}`;
    const spread = this.spreads.get(name);
    const found = newGroups(grouping);
    let { filter } = request.query;
    let places = clamped(wanted * (spread || SPREAD.first) * SPREAD.margin);
    let totalCount: number | null = null;
    for (let round = 1; ; round += 1) {
      const list = await this.list(search, filter, places);
      totalCount ??= list.totalCount;
      const fresh = newGroups(grouping);
      await inSlices(fresh.add(list.hits, [found]));
      if (list.isEnd) fresh.close();
      if (found.size + fresh.size >= wanted || list.isEnd) {
        if (found.size === 0 && fresh.size >= wanted)
          this.note(name, placesOf(list.hits, fresh.list()[wanted - 1]) / wanted);
        found.append(fresh);
        mustBeShort(found.keys, grouping.path);
        return { found: found.list().sort(compareGroups), totalCount };
      }
      const longer = Math.ceil(((places * wanted) / Math.max(1, fresh.size)) * SPREAD.margin);
      if (round === 1 && longer <= AGAIN_MAX && spread !== UNEVEN) {
        places = longer;
        continue;
      }
      this.note(name, UNEVEN);
      found.append(fresh);
      mustBeShort(found.keys, grouping.path);
      // Nothing new among so many: they were written meanwhile.
      const isStuck = filter !== request.query.filter && fresh.size === 0;
      filter = ungrouped(request.query.filter, grouping, found.keys);
      places = clamped(isStuck ? 4 * places : found.alone + 2 * (wanted - found.size) * SPREAD.first);
    }
  }

  private async ofPlaces(
    search: GroupedSearch,
    wanted: number,
  ): Promise<{ found: OpenGroup[]; totalCount: number | null }> {
    const { source, filter } = search.request.query;
    const found = newGroups(search.grouping);
    let totalCount: number | null = null;
    for (const places of placesOfList(source) ?? []) {
      const list = await this.list(search, filter, places);
      totalCount ??= list.totalCount;
      const fresh = newGroups(search.grouping);
      await inSlices(fresh.add(list.hits));
      fresh.close();
      found.append(fresh);
      if (found.size >= wanted || list.isEnd) break;
    }
    return { found: found.list(), totalCount };
  }

  /** The first hits of the list; `isEnd`: there are no more that score enough. */
  private async list(
    search: GroupedSearch,
    filter: Filter | null,
    places: number,
  ): Promise<{ hits: LookedAt[]; isEnd: boolean; totalCount: number | null }> {
    const { hits, isEnd, totalCount } = await firstHits(this.parts.lists, search, filter, places);
    return { hits: await hitsLookedAt(this.parts.ordered, search, hits), isEnd, totalCount };
  }

  private note(name: string, spread: number): void {
    if (this.spreads.size >= REMEMBERED_MAX && !this.spreads.has(name)) this.spreads.clear();
    const before = this.spreads.get(name) || spread;
    // Rather too long than too short.
    this.spreads.set(name, spread === UNEVEN || spread > before ? spread : 0.9 * before + 0.1 * spread);
  }
}

/**
 * Adds the hits that groups lack: the best of those that have their keys. `first`: the first hits of the list that pass
 * a filter.
 */
export async function filled(
  { request, grouping }: GroupedSearch,
  groups: readonly OpenGroup[],
  first: (filter: Filter, places: number) => Promise<{ hits: LookedAt[]; isEnd: boolean }>,
): Promise<void> {
  const { size } = grouping;
  const some = Math.max(1, Math.floor(HITS_MAX / (2 * size)));
  for (;;) {
    const lacking = groups.filter(({ isWhole }) => !isWhole).slice(0, some);
    if (lacking.length === 0) return;
    // So many are either all that there are, or enough for one of them.
    const places = clamped(2 * size * lacking.length);
    const keys = lacking.map(({ key }) => key as Exclude<GroupKey, null>);
    const filter = bothFilters(request.query.filter, { type: 'in', path: grouping.path, values: keys });
    const list = await first(filter, places);
    const read = newGroups(grouping);
    await inSlices(read.add(list.hits));
    const now = new Map(read.list().map((group) => [group.key, group]));
    for (const group of lacking) {
      const found = now.get(group.key);
      if (found !== undefined && found.hits.length >= group.hits.length) group.hits = found.hits;
      group.isWhole = list.isEnd || found?.isWhole === true;
    }
    // None of them: they were written meanwhile.
    if (lacking.every(({ isWhole }) => !isWhole)) for (const group of lacking) group.isWhole = true;
  }
}

function newGroups({ path, size, missing }: Grouping): FoundGroups {
  return new FoundGroups({ path, size, each: missing === 'each' });
}

function clamped(places: number): number {
  return Math.min(HITS_MAX, Math.max(HITS_MIN, Math.ceil(places)));
}

/** How far down the list the group begins. */
function placesOf(hits: readonly LookedAt[], group: FoundGroup): number {
  return 1 + hits.findIndex(({ hit }) => hit === group.hits[0]);
}

/** What passes the filter and is in a group besides these. */
export function ungrouped(filter: Filter | null, { path, missing }: Grouping, keys: Exclude<GroupKey, null>[]): Filter {
  const others: Filter = { type: 'others', path, values: keys };
  if (missing === 'leave_out') return bothFilters(filter, others);
  const none: Filter = { type: 'not', filter: { type: 'others', path, values: [] } };
  return bothFilters(filter, { type: 'or', filters: [others, none] });
}
