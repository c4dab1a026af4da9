import { z } from 'zod';
import {
  type Aggregates,
  CALENDAR_UNITS,
  type FacetRequest,
  type GroupsRequest,
  type RangesRequest,
  STATS,
  type Statistic,
  type StatsRequest,
} from '../../service/aggregates-service';
import { type Source, vectorAndKeywords } from '../../service/search-request';
import { boundedArray, filters, optional, tooLong, vector, withDefault } from '../fields/fields';
import { type IssueSink, report } from '../fields/issue';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';
import { hitCount, searchFields } from './search-options';

const { aggregatesMax, facetValuesMax, groupsMax, rangeBucketsMax, nameCharactersMax, prefixCharactersMax } =
  REQUEST_BOUNDS;
const FACET_VALUES = 20;
const GROUPS = 10;
/** Hits that are counted where `over` does not say how many. */
const HITS = 100;
const DEFAULT_STATS: Statistic[] = ['min', 'max', 'sum', 'avg', 'count'];

const field = z.string().min(1).max(nameCharactersMax).meta({ description: 'A path of the metadata, as in filters.' });

/** A number of values to answer, 400 beyond the most. */
function valueCount(max: number, byDefault: number) {
  return withDefault(
    z
      .int()
      .min(1)
      .meta({ maximum: max })
      .superRefine((count, context) => {
        if (count > max)
          report(context, count, `is ${count}, more than the maximum of ${max}`, { kind: 'limit_exceeded' });
      }),
    byDefault,
  );
}

const facet = z
  .object({
    field,
    limit: valueCount(facetValuesMax, FACET_VALUES),
    order: withDefault(z.enum(['count', 'value']), 'count').meta({
      description: 'By count, the greatest first, then by value; or by value: numbers, texts, false, true, null.',
    }),
    prefix: optional(z.string().max(prefixCharactersMax)).meta({ description: 'Only texts that begin so.' }),
    own_filter: withDefault(z.boolean(), true).meta({
      description: 'false: counts as if the filters had no conditions on this field.',
    }),
  })
  .transform(({ field: path, limit, order, prefix = null, own_filter: ownFilter }): FacetRequest => ({
    field: path,
    limit,
    order,
    prefix,
    ownFilter,
  }));

const range = z
  .object({
    field,
    edges: optional(boundedArray(z.number(), rangeBucketsMax + 1)).meta({
      description: 'Numbers that rise: a bucket from each to below the next.',
    }),
    interval: optional(z.number().positive()).meta({ description: 'Buckets between the multiples of this number.' }),
    calendar: optional(z.enum(CALENDAR_UNITS)).meta({
      description: 'Of texts with dates, as $date reads them. Weeks begin on Monday.',
    }),
    time_zone: optional(z.string().max(nameCharactersMax)).meta({
      description: 'Of the calendar, an IANA name such as "Europe/Berlin". Default UTC.',
    }),
  })
  .transform(({ field: path, edges, interval, calendar, time_zone: timeZone }, context): RangesRequest => {
    const given = [edges, interval, calendar].filter((one) => one !== undefined).length;
    if (given !== 1) report(context, path, 'needs one of edges, interval and calendar');
    if (timeZone !== undefined && calendar === undefined)
      report(context, timeZone, 'is of a calendar alone', { path: ['time_zone'] });
    if (calendar !== undefined) {
      const zone = timeZone ?? 'UTC';
      if (!isTimeZone(zone)) report(context, zone, 'is no time zone of the IANA', { path: ['time_zone'] });
      return { field: path, buckets: { type: 'calendar', unit: calendar, timeZone: zone } };
    }
    if (interval !== undefined) return { field: path, buckets: { type: 'interval', interval } };
    const numbers = edges ?? [];
    if (given === 1 && (numbers.length < 2 || numbers.some((edge, i) => i > 0 && edge <= numbers[i - 1])))
      report(context, edges, 'must be two or more numbers that rise', { path: ['edges'] });
    return { field: path, buckets: { type: 'edges', edges: numbers } };
  });

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

const stats = z
  .object({
    field,
    ops: withDefault(z.array(z.enum(STATS)).min(1).max(STATS.length), DEFAULT_STATS).meta({
      description:
        'count and distinct are of all values but null, the others of numbers. p50 and p99: the least number that so many of 100 don’t exceed.',
    }),
  })
  .transform(({ field: path, ops }): StatsRequest => ({ field: path, ops: [...new Set(ops)] }));

function aggregatesShape() {
  return {
    facets: withDefault(boundedArray(facet, aggregatesMax), []),
    ranges: withDefault(boundedArray(range, aggregatesMax), []),
    stats: withDefault(boundedArray(stats, aggregatesMax), []),
  };
}

const grouped = { field, limit: valueCount(groupsMax, GROUPS), ...aggregatesShape() };
const innerGroups = z
  .object(grouped)
  .transform((given): GroupsRequest => ({ ...given, by: null }))
  .meta({ description: 'The same for the most frequent values of one more field.' });
const groups = z
  .object({ ...grouped, by: optional(innerGroups) })
  .transform(({ by = null, ...given }): GroupsRequest => ({ ...given, by }));

function overSearch(limits: HttpLimits) {
  return z.object({
    text: optional(z.string().max(limits.searchTextLengthMax)),
    vector: optional(vector(limits.vectorDimMax)),
    query_text: optional(z.string().max(limits.searchTextLengthMax)),
    k: hitCount(limits, HITS),
  });
}

export function aggregateBody(limits: HttpLimits) {
  const { request } = searchFields(limits);
  return z
    .object({
      filters: filters(limits),
      over: optional(overSearch(limits)).meta({
        description: 'Counts the k best hits of this search instead of all items that pass.',
      }),
      ...aggregatesShape(),
      by: optional(groups).meta({ description: 'The same for each of the most frequent values of a field.' }),
    })
    .transform(({ filters: filter, over, by = null, ...given }, context) => {
      const wanted: Aggregates = { ...given, by };
      checkWanted(wanted, over !== undefined, context);
      if (over === undefined) return { filter, over: null, wanted };
      const source = sourceOf(over, context);
      const search = request(() => source, { k: over.k, offset: 0 }, { fields: [] }, { issues: context.issues });
      if (source === null) return z.NEVER;
      search.query.filter = filter;
      return { filter, over: search, wanted };
    });
}

function sourceOf(over: z.output<ReturnType<typeof overSearch>>, context: IssueSink): Source | null {
  const { text, vector: given, query_text: queryText } = over;
  if (text !== undefined && queryText !== undefined)
    report(context, text, 'has text or query_text, not both', { path: ['over'] });
  if (queryText !== undefined) return vectorAndKeywords({ text: queryText }, { vector: given, alpha: 0.5 });
  if (given !== undefined) return { type: 'nearest', to: { vector: given } };
  if (text !== undefined) return { type: 'nearest', to: { text } };
  report(context, over, 'needs text, vector or query_text', { path: ['over'] });
  return null;
}

/** Reports what is asked for too often, or not at all. */
function checkWanted(wanted: Aggregates, isOver: boolean, context: IssueSink): void {
  const { facets, ranges, stats: statistics, by } = wanted;
  if (facets.length + ranges.length + statistics.length === 0 && by === null)
    report(context, wanted, 'has none of facets, ranges, stats and by');
  const owned = facets.findIndex(({ ownFilter }) => !ownFilter);
  if (isOver && owned >= 0)
    report(context, wanted, 'must be true with over: its hits pass all filters', {
      kind: 'invalid_parameter',
      path: ['facets', owned, 'own_filter'],
    });
  let count = 1;
  const path: string[] = [];
  for (let inner: GroupsRequest | null = by; inner !== null; inner = inner.by) {
    count *= inner.limit;
    path.push('by');
    if (count > REQUEST_BOUNDS.groupsTotalMax)
      report(
        context,
        wanted,
        tooLong(count, { lengthMax: REQUEST_BOUNDS.groupsTotalMax }).replace('elements', 'groups'),
        {
          kind: 'limit_exceeded',
          path: [...path, 'limit'],
        },
      );
    const parts = count * (inner.facets.length + inner.ranges.length + inner.stats.length);
    if (parts > REQUEST_BOUNDS.groupedAggregatesMax)
      report(
        context,
        wanted,
        `asks for ${parts} aggregates of groups, more than ${REQUEST_BOUNDS.groupedAggregatesMax}`,
        {
          kind: 'limit_exceeded',
          path,
        },
      );
  }
}

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const counted = z.object({ value: scalar, count: z.int() });
const more = z.boolean().meta({ description: 'Whether there are more values.' });
const missing = z.int().meta({ description: 'Items without the field.' });
const nullable = z.number().nullable().optional();
const listsAnswer = {
  facets: z.array(z.object({ field: z.string(), values: z.array(counted), more, missing })).optional(),
  ranges: z
    .array(
      z.object({
        field: z.string(),
        buckets: z.array(
          z.object({ from: z.union([z.number(), z.string()]), to: z.union([z.number(), z.string()]), count: z.int() }),
        ),
      }),
    )
    .optional(),
  stats: z
    .array(
      z.object({
        field: z.string(),
        min: nullable,
        max: nullable,
        sum: nullable.meta({ description: 'Without rounding on the way; null beyond 1.8e308.' }),
        avg: nullable,
        count: z.int().optional(),
        distinct: z.int().optional(),
        distinct_error: z.number().optional().meta({
          description: 'Of more than 100,000 distinct values these are an estimate with this standard error.',
        }),
        p50: nullable,
        p99: nullable,
        not_numbers: z.int().optional().meta({ description: 'Values that only count and distinct count.' }),
      }),
    )
    .optional(),
};
const innerGroupsAnswer = z.object({
  field: z.string(),
  groups: z.array(z.object({ value: scalar, count: z.int(), ...listsAnswer })),
  more,
  missing,
});
const groupsAnswer = z.object({
  field: z.string(),
  groups: z.array(z.object({ value: scalar, count: z.int(), ...listsAnswer, by: innerGroupsAnswer.optional() })),
  more,
  missing,
});

export const aggregateAnswer = z.object({
  ...listsAnswer,
  by: groupsAnswer.optional(),
  approximate: z.boolean().optional().meta({ description: 'true: with over, whose hits are counted.' }),
  hits: z.int().optional().meta({ description: 'With over: how many hits were counted.' }),
});
