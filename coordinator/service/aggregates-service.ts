import type { Filter, Scalar } from '../../shared/contract/filter/filter';
import type { SearchRequest } from './search-request';

/** What is counted of a collection, of the items that pass a filter or of the best hits of a search. */
export interface AggregateRequest {
  filter: Filter | null;
  /** null: of all items that pass. */
  over: SearchRequest | null;
  wanted: Aggregates;
}

/** What is counted of some items. */
export interface Aggregates {
  facets: FacetRequest[];
  ranges: RangesRequest[];
  stats: StatsRequest[];
  by: GroupsRequest | null;
}

export interface FacetRequest {
  field: string;
  limit: number;
  order: 'count' | 'value';
  /** Texts that begin so alone; null: all values. */
  prefix: string | null;
  /** false: conditions of the filter on this field don't count. */
  ownFilter: boolean;
}

export const CALENDAR_UNITS = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute'] as const;
export type CalendarUnit = (typeof CALENDAR_UNITS)[number];

export interface RangesRequest {
  field: string;
  /** Edges that rise; buckets between the multiples of an interval; or those of a calendar, of texts with dates. */
  buckets:
    | { type: 'edges'; edges: number[] }
    | { type: 'interval'; interval: number }
    | { type: 'calendar'; unit: CalendarUnit; timeZone: string };
}

export const STATS = ['min', 'max', 'sum', 'avg', 'count', 'distinct', 'p50', 'p99'] as const;
export type Statistic = (typeof STATS)[number];

export interface StatsRequest {
  field: string;
  ops: Statistic[];
}

/** For each of the most frequent values of a field the same of its items. */
export interface GroupsRequest extends Aggregates {
  field: string;
  limit: number;
}

export interface AggregatesView {
  facets: FacetView[];
  ranges: RangeView[];
  stats: StatsView[];
  by: GroupsView | null;
  /** Of a search: how many hits were counted. */
  hits?: number;
}

export interface FacetView {
  field: string;
  values: { value: Scalar; count: number }[];
  /** Whether there are more values. */
  more: boolean;
  /** Items without the field. */
  missing: number;
}

export interface RangeView {
  field: string;
  /** Numbers, or times as ISO 8601 in the zone that was asked for. */
  buckets: { from: number | string; to: number | string; count: number }[];
}

/** null: there is no number; a `sum` also where it is beyond all doubles. */
export type StatsView = { field: string; notNumbers: number; distinctError: number | null } & Partial<
  Record<Statistic, number | null>
>;

export interface GroupsView {
  field: string;
  groups: ({ value: Scalar; count: number } & Omit<AggregatesView, 'hits'>)[];
  more: boolean;
  missing: number;
}

export interface AggregatesService {
  /**
   * Exact, but for `distinct` of very many values, while nothing is written. Errors: not_found; schema_violation for
   * statistics of texts; limit_exceeded for too many buckets or values; those of a search.
   */
  aggregate(collection: string, request: AggregateRequest): Promise<AggregatesView>;
}
