import { type Condition, type Filter, isCondition, isOfItem } from '../../../shared/contract/filter/filter';
import type { AggregateQuestion } from '../../../shared/contract/shard/aggregate';
import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import type {
  Aggregates,
  AggregateRequest,
  AggregatesService,
  AggregatesView,
  GroupsRequest,
  GroupsView,
} from '../aggregates-service';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { CollectionRecord } from '../collections/collection-record';
import type { ScatterGather } from '../routing/scatter-gather';
import { shardOf } from '../routing/shard-router';
import { ShardSets } from '../routing/shard-sets';
import type { SearchService } from '../service';
import { filterIn } from '../synonyms/filter-in';
import { facetOf } from './facet';
import { checkRanges, rangesOf } from './ranges';
import { type Asking, ShardQuestions } from './shard-questions';
import { areOfNumbers, checkStats, numbersOf, type NumberTotals, statsOf } from './statistics';

/** What is counted of which items, and where it stands in the request. */
interface Scope {
  asking: Asking;
  filter: Filter | null;
  /** What the groups around it add to the filter. */
  groups: readonly Condition[];
  place: string;
}

/**
 * Counts what the items of a collection have: in rounds, in each of which all shards are asked, under one deadline.
 * What is counted does not depend on the number of shards.
 */
export class ShardedAggregatesService implements AggregatesService {
  private readonly sets: ShardSets<CollectionRecord>;

  constructor(
    private readonly parts: {
      catalog: Pick<CollectionCatalog, 'known' | 'find'>;
      shards: Pick<ShardClient, 'read'>;
      scatter: ScatterGather;
      search: Pick<SearchService, 'search'>;
      clock: Clock;
    },
  ) {
    this.sets = new ShardSets(parts);
  }

  async aggregate(name: string, { filter: given, over, wanted }: AggregateRequest): Promise<AggregatesView> {
    const { catalog, scatter, search } = this.parts;
    const call = scatter.begin();
    const collection = catalog.known(name) ?? (await catalog.find(name));
    const filter = filterIn(collection, given);
    const hits = over === null ? null : (await search.search(name, over)).hits.map(({ externalId }) => externalId);
    const view = await this.sets.inOne(collection, call, (current) =>
      aggregatesOf({ asking: this.askingOf(current, hits, call), filter, groups: [], place: '' }, wanted),
    );
    return hits === null ? view : { ...view, hits: hits.length };
  }

  private askingOf(collection: CollectionRecord, externalIds: string[] | null, call: CallOptions): Asking {
    const { scatter, shards } = this.parts;
    if (externalIds === null)
      return new ShardQuestions(collection.shards, (asked) => {
        const questions = asked.map((one): AggregateQuestion => ({ ...one, externalIds: null }));
        return scatter.readAll(collection, call, (id) => shards.read(id, 'aggregate', { questions }, call));
      });
    const byShard = new Map<number, string[]>();
    for (const id of externalIds) {
      const shard = shardOf(id, collection.shards);
      const ids = byShard.get(shard);
      if (ids === undefined) byShard.set(shard, [id]);
      else ids.push(id);
    }
    const listed = [...byShard.keys()];
    return new ShardQuestions(listed.length, (asked) =>
      scatter.read(collection, listed, call, (id) => {
        const questions = asked.map((one): AggregateQuestion => ({ ...one, externalIds: byShard.get(id.shard)! }));
        return shards.read(id, 'aggregate', { questions }, call);
      }),
    );
  }
}

async function aggregatesOf(
  scope: Scope,
  { facets, ranges, stats, by }: Aggregates,
): Promise<Omit<AggregatesView, 'hits'>> {
  const { asking, filter, groups, place } = scope;
  const all = joined(filter, groups);
  // That one group has no numbers says nothing of the field.
  const isGroup = groups.length > 0;
  const [facetViews, rangeViews, statsViews, byView] = await Promise.all([
    Promise.all(
      facets.map((facet) =>
        facetOf(asking, facet.ownFilter ? all : joined(withoutField(filter, facet.field), groups), facet),
      ),
    ),
    Promise.all(ranges.map((range, i) => rangesOf(asking, all, range, { place: `${place}ranges[${i}]`, isGroup }))),
    Promise.all(stats.map((one, i) => statsOf(asking, all, one, { place: `${place}stats[${i}]`, isGroup }))),
    by === null ? null : groupsOf(scope, all, by),
  ]);
  return { facets: facetViews, ranges: rangeViews, stats: statsViews, by: byView };
}

/** What a group may be without, all items together must have: numbers where they are asked for. */
async function checkGroups(scope: Scope, all: Filter | null, by: GroupsRequest, place: string): Promise<void> {
  const { stats, ranges, by: inner } = by;
  const totals = (field: string): Promise<NumberTotals> => numbersOf(scope.asking, all, field, false);
  // All at once, so that the shards are asked once.
  await Promise.all([
    ...stats.map(async (one, i) => {
      if (areOfNumbers(one.ops)) checkStats(await totals(one.field), one, `${place}stats[${i}]`);
    }),
    ...ranges.map(async ({ field, buckets }, i) => {
      if (buckets.type === 'interval') checkRanges(await totals(field), field, `${place}ranges[${i}]`);
    }),
    inner === null ? undefined : checkGroups(scope, all, inner, `${place}by.`),
  ]);
}

async function groupsOf(scope: Scope, all: Filter | null, by: GroupsRequest): Promise<GroupsView> {
  const { field, limit } = by;
  const facet = { field, limit, order: 'count', prefix: null, ownFilter: true } as const;
  const [{ values, more, missing }] = await Promise.all([
    facetOf(scope.asking, all, facet),
    scope.groups.length === 0 ? checkGroups(scope, all, by, `${scope.place}by.`) : undefined,
  ]);
  const groups = await Promise.all(
    values.map(async ({ value, count }) => {
      const condition: Condition = { type: 'equals', path: field, value };
      const place = `${scope.place}by.`;
      return { value, count, ...(await aggregatesOf({ ...scope, groups: [...scope.groups, condition], place }, by)) };
    }),
  );
  return { field, groups, more, missing };
}

function joined(filter: Filter | null, conditions: readonly Condition[]): Filter | null {
  if (conditions.length === 0) return filter;
  return { type: 'and', filters: [...conditions, ...(filter === null ? [] : [filter])] };
}

/** The filter as if the conditions on a path were not there; null: nothing is left. */
export function withoutField(filter: Filter | null, path: string): Filter | null {
  if (filter === null) return null;
  if (isCondition(filter)) return !isOfItem(filter) && filter.path === path ? null : filter;
  if (filter.type === 'not') {
    const inner = withoutField(filter.filter, path);
    return inner === filter.filter ? filter : inner === null ? null : { type: 'not', filter: inner };
  }
  const left = filter.filters.map((part) => withoutField(part, path));
  if (left.every((part, i) => part === filter.filters[i])) return filter;
  const filters = left.filter((part) => part !== null);
  return filters.length === 0 ? null : { type: filter.type, filters };
}
