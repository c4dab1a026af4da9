import { bothFilters, type Filter } from '../../../shared/contract/filter/filter';
import { effortOf, type SearchEffort } from '../../../shared/contract/shard/shard-read';
import {
  exampleItems,
  type Fusing,
  isMade,
  type LegName,
  type Page,
  type SearchRequest,
  type Source,
} from '../search-request';
import type { FoundList, SearchService } from '../service';
import { listDepth } from './fusion';
import { placesOfList } from './ranked-lists';

/** A condition of a request, and how the request has it. */
export interface AskedCondition {
  shown: unknown;
  filter: Filter;
}

/** A search, and the item that is missed in its answer. */
export interface WhyRequest {
  externalId: string;
  search: SearchRequest;
  /** What its filter is made of. */
  conditions: readonly AskedCondition[];
  /** The same of each leg. */
  legConditions?: readonly (readonly AskedCondition[])[] | undefined;
  /** The greatest k, and the greatest effort, that a search may ask for. */
  kMax: number;
  effortMax: number;
}

/** Where an item was lost; null: it was found. `rank`: others are better. */
export type LostAt = 'item' | 'filter' | (typeof STAGES)[number] | 'approximation' | 'rank' | 'lists' | null;

/** The item in one list of a search. */
export interface LegReport {
  leg: LegName;
  /** Of a leg that is told by its place. */
  index?: number | undefined;
  /** By condition of its own filter, whether the item passes; undefined: it has none. */
  conditions?: WhyReport['conditions'] | undefined;
  score: number | null;
  /** Its place of all that pass the filter, from 1; null: not among the first `kMax`, or it has no word of the text. */
  exactRank: number | null;
  /** Its place in the list that the search made; null: that lacks it, or it scores less than the leg's least. */
  rank: number | null;
  /** How many hits the search takes of the list. */
  depth: number;
}

export interface WhyReport {
  lostAt: LostAt;
  /** By condition of the filter, whether the item passes. */
  conditions: { shown: unknown; passes: boolean }[];
  legs: LegReport[];
  /**
   * Its place in the list that the page is cut out of, or, where it is lost by a search that reranks, in the list
   * before; null: it is not among the first `kMax`.
   */
  place: number | null;
  /** Lost by groups: it has no value to group by; or its group is on the page, with better hits. */
  inGroup?: 'none' | 'behind';
  /** Lost by approximation: the least of the efforts 16, 32, 64 and so on that finds it; null otherwise. */
  effort: number | null;
}

/** What leaves hits out or puts others before them, the last one first: the search without it. */
const STAGES = ['diversity', 'rerank', 'score', 'groups', 'boosts'] as const;
const WITHOUT: Record<(typeof STAGES)[number], (search: SearchRequest) => SearchRequest> = {
  diversity: withPage((page) => ({ ...page, diversity: undefined })),
  rerank: (search) => ({ ...search, rerank: undefined }),
  score: withPage(({ k, offset, groups, diversity }) => ({ k, offset, groups, diversity })),
  groups: withPage((page) => ({ ...page, groups: undefined })),
  boosts: (search) => ({ ...search, query: { ...search.query, boosts: undefined } }),
};
const EFFORT_MIN = 16;
/** Hits of a group, and of all groups, among which the item is looked for. */
const [GROUP_SIZE_MAX, GROUPED_HITS_MAX] = [100, 10_000];
const LINEAR: Fusing = { kind: 'linear', constant: 0, isUnit: false };

/**
 * Says why a search does not find an item, by searches: without a part of it, or exact, or deeper. They are asked one
 * after the other.
 */
export class WhyNot {
  constructor(private readonly search: Pick<SearchService, 'search' | 'count'>) {}

  /** Errors: those of the search. */
  async report(collection: string, request: WhyRequest): Promise<WhyReport> {
    const { externalId, search, kMax } = request;
    const own: Filter = { type: 'ids', ids: [externalId] };
    const report: WhyReport = { lostAt: null, conditions: [], legs: [], place: null, effort: null };
    if ((await this.search.count(collection, own)) === 0) return { ...report, lostAt: 'item' };
    const passed = async (asked: readonly AskedCondition[]): Promise<WhyReport['conditions']> => {
      const conditions: WhyReport['conditions'] = [];
      for (const { shown, filter } of asked)
        conditions.push({ shown, passes: (await this.search.count(collection, bothFilters(filter, own))) === 1 });
      return conditions;
    };
    report.conditions = await passed(request.conditions);
    const asking = new Asking(this.search, collection, externalId);
    for (const leg of legsOf(search)) {
      const asked = leg.index === undefined ? [] : (request.legConditions?.[leg.index] ?? []);
      const conditions = asked.length === 0 ? undefined : await passed(asked);
      report.legs.push({ ...(await this.legReport(asking, leg, request)), ...(conditions && { conditions }) });
    }
    if (report.conditions.some(({ passes }) => !passes)) return { ...report, lostAt: 'filter' };
    const { offset } = search.page;
    const found = await asking.placeIn(search);
    if (found !== null) return { ...report, place: offset + found };
    report.place = await placeInWhole(asking, search, kMax);
    const { groups } = search.page;
    if (groups?.missing === 'leave_out') {
      const hasValue: Filter = { type: 'others', path: groups.path, values: [] };
      if ((await this.search.count(collection, bothFilters(hasValue, own))) === 0)
        return { ...report, lostAt: 'groups', inGroup: 'none' };
    }
    if (await isBehindInGroup(asking, search)) return { ...report, lostAt: 'groups', inGroup: 'behind' };
    for (const stage of STAGES) {
      const without = WITHOUT[stage](search);
      if (isSame(without, search)) continue;
      if ((await asking.placeIn(without)) !== null) return { ...report, lostAt: stage };
    }
    // Several may leave it out, each by itself: the first that it comes to.
    let without = search;
    for (const stage of STAGES) {
      const before = without;
      without = WITHOUT[stage](before);
      if (before === search || isSame(without, before)) continue;
      if ((await asking.placeIn(without)) !== null) return { ...report, lostAt: stage };
    }
    if (search.query.effort.type !== 'exact' && report.legs.some(({ leg }) => leg === 'vector')) {
      const bare = { ...search, rerank: undefined, page: { k: search.page.k, offset } };
      const of = (effort: SearchEffort): SearchRequest => ({ ...bare, query: { ...search.query, effort } });
      if ((await asking.placeIn(of({ type: 'exact' }))) !== null)
        return { ...report, lostAt: 'approximation', effort: await this.effortFor(asking, of, request.effortMax) };
    }
    return { ...report, lostAt: report.place === null ? 'lists' : 'rank' };
  }

  private async legReport(asking: Asking, leg: AskedLeg, { search, kMax }: WhyRequest): Promise<LegReport> {
    const { query } = search;
    const exact = leg.name === 'vector' ? { effort: { type: 'exact' } as const } : {};
    const output = { texts: false, fields: [] };
    const of = (k: number, more: object): SearchRequest => ({
      query: { ...query, source: leg.source, filter: bothFilters(query.filter, leg.filter), ...more },
      page: { k, offset: 0 },
      output,
    });
    const all = await asking.hitIn(of(kMax, exact));
    const made = await asking.hitIn(of(leg.depth, {}));
    const isEnough = made !== null && (leg.leastScore === undefined || made.score >= leg.leastScore);
    return {
      leg: leg.name,
      ...(leg.index !== undefined && { index: leg.index }),
      score: all?.score ?? made?.score ?? (await this.scoreIn(asking, leg, search)),
      exactRank: all?.place ?? null,
      rank: isEnough ? made.place : null,
      depth: leg.depth,
    };
  }

  /** Of an item that is not among the best, or does not pass the filter. */
  private async scoreIn(asking: Asking, { name, source }: AskedLeg, { query }: SearchRequest): Promise<number | null> {
    if (name === 'vector' && source.type !== 'nearest') return null;
    const own: Filter = { type: 'ids', ids: [asking.externalId] };
    const found = await asking.hitIn({
      query: { ...query, source, filter: own, effort: { type: 'exact' } },
      page: { k: 1, offset: 0 },
      output: { texts: false, fields: [] },
    });
    return found?.score ?? null;
  }

  private async effortFor(
    asking: Asking,
    of: (effort: SearchEffort) => SearchRequest,
    effortMax: number,
  ): Promise<number | null> {
    for (let effort = EFFORT_MIN; effort <= effortMax; effort *= 2)
      if ((await asking.placeIn(of(effortOf(effort)))) !== null) return effort;
    return null;
  }
}

/** A list that a search is made of, as a search of its own. */
interface AskedLeg extends Pick<LegReport, 'index' | 'depth'> {
  name: LegName;
  source: Source;
  /** Of the leg, and without what is in no list. */
  filter: Filter | null;
  leastScore: number | undefined;
}

/**
 * Its place in the list that pages are cut out of. Of a fused one, by the lists that pages of so many places are made
 * of: deeper ones have another order.
 */
async function placeInWhole(asking: Asking, search: SearchRequest, kMax: number): Promise<number | null> {
  for (const k of [...(placesOfList(search.query.source) ?? []).filter((places) => places < kMax), kMax]) {
    const place = await asking.placeIn({ ...search, rerank: undefined, page: { k, offset: 0 } });
    if (place !== null) return place;
  }
  return null;
}

/** Whether the item is on the page where groups have more hits. */
async function isBehindInGroup(asking: Asking, search: SearchRequest): Promise<boolean> {
  const { groups, k } = search.page;
  if (groups === undefined) return false;
  const size = Math.max(groups.size, Math.min(GROUP_SIZE_MAX, Math.floor(GROUPED_HITS_MAX / k)));
  return (await asking.placeIn({ ...search, page: { ...search.page, groups: { ...groups, size } } })) !== null;
}

function withPage(change: (page: Page) => Page): (search: SearchRequest) => SearchRequest {
  return (search) => ({ ...search, page: change(search.page) });
}

/** Whether what decides over hits is the same. */
function isSame(a: SearchRequest, b: SearchRequest): boolean {
  const deciding = ({ page, rerank, query: { boosts } }: SearchRequest): string =>
    JSON.stringify([page, rerank, boosts]);
  return deciding(a) === deciding(b);
}

/** The lists that a search is made of. */
function legsOf({ query: { source }, page: { k, offset }, rerank }: SearchRequest): AskedLeg[] {
  // The page is cut out of what the model has read.
  const last = rerank?.topN ?? k + offset;
  const whole = { filter: null, leastScore: undefined };
  if (source.type !== 'fused') return [{ name: 'vector', source, depth: last, ...whole }];
  const { legs, fusing } = source;
  const depth = listDepth(legs, fusing, last);
  const ids = [...exampleItems(source)];
  const others: Filter | null = ids.length === 0 ? null : { type: 'not', filter: { type: 'ids', ids } };
  return legs.flatMap((leg, index): AskedLeg[] => {
    if (!isMade(leg)) return [];
    const { name, of, leastScore } = leg;
    const place = name === undefined ? { index } : {};
    const filter = bothFilters(leg.filter, others);
    if (of.type !== 'keywords') return [{ name: 'vector', ...place, source: of, depth, filter, leastScore }];
    // Its own scores, whatever the fusion.
    const alone: Source = { type: 'fused', legs: [{ of, weight: 1, filter: null }], fusing: LINEAR };
    return [{ name: 'keyword', ...place, source: alone, depth, filter, leastScore }];
  });
}

/** Whether no leg would have the item however deep it were read: by its filter, or its least score. */
export function isInNoLeg({ query: { source } }: SearchRequest, legs: readonly LegReport[]): boolean {
  const all = source.type === 'fused' ? source.legs : [];
  return legs.every(({ index, conditions = [], score }) => {
    const least = index === undefined ? undefined : all[index].leastScore;
    const isTooLow = least !== undefined && score !== null && !(score >= least);
    return isTooLow || conditions.some(({ passes }) => !passes);
  });
}

/** Looks for the item in answers. */
class Asking {
  constructor(
    private readonly search: Pick<SearchService, 'search'>,
    private readonly collection: string,
    readonly externalId: string,
  ) {}

  /** Its place, from 1, among the hits, or that of its group among the groups; null: it is none of them. */
  async placeIn(request: SearchRequest): Promise<number | null> {
    return (await this.hitIn(request))?.place ?? null;
  }

  async hitIn(request: SearchRequest): Promise<{ place: number; score: number } | null> {
    const output = { texts: false, fields: [] };
    const { hits, groups }: FoundList = await this.search.search(this.collection, { ...request, output });
    const isIt = ({ externalId }: { externalId: string }): boolean => externalId === this.externalId;
    const found = hits.find(isIt);
    if (found === undefined) return null;
    const at = groups === undefined ? hits.findIndex(isIt) : groups.findIndex((group) => group.hits.some(isIt));
    return { place: at + 1, score: found.score };
  }
}
