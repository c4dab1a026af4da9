import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Aggregates, AggregatesService, AggregatesView, StatsView } from '../../service/aggregates-service';
import type { SearchService } from '../../service/service';
import { FilterDoubts, type NamedField } from '../answers/filter-doubts';
import type { HttpLimits } from '../requests/http-limits';
import type { RequestWarnings } from '../requests/request-warnings';
import * as schemas from '../schema/aggregate-schemas';
import { collectionParameters } from '../schema/collection-schemas';
import { defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';

/** Characters of an answer. */
const ANSWER_CHARACTERS_MAX = 8 * 1024 * 1024;

export function aggregateEndpoints(parts: {
  aggregates: AggregatesService;
  search: SearchService;
  limits: HttpLimits;
}): Endpoint[] {
  const { aggregates, limits } = parts;
  const doubts = new FilterDoubts(parts.search);
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/aggregate',
      access: 'readonly',
      tag: 'Search',
      summary: 'Count values: facets, ranges, statistics, groups',
      clientMethod: 'aggregate',
      description:
        'Exact over all items that pass the filters, but for `distinct` of more than 100,000 values. 1, "1" and ' +
        'true are three values; each element of an array is one, counted once an item.',
      path: collectionParameters,
      body: {
        type: 'json',
        required: true,
        schema: schemas.aggregateBody(limits),
        example: {
          filters: { topic: 'rivers' },
          facets: [{ field: 'author', limit: 10 }],
          ranges: [{ field: 'published', calendar: 'month', time_zone: 'Europe/Berlin' }],
          stats: [{ field: 'price', ops: ['min', 'avg', 'p99'] }],
        },
      },
      answer: { type: 'data', schema: schemas.aggregateAnswer },
      errors: [404],
      handle: async ({ path, body, warnings }) => {
        const view = await aggregates.aggregate(path.name, body);
        const named = countedFields(body.wanted, '');
        await doubts.look({ collection: path.name, filter: body.filter, hasHits: false, named }, warnings);
        const approximate = body.over === null ? {} : { approximate: true, hits: view.hits };
        const json = JSON.stringify({ ...shown(view, body.wanted, warnings, ''), ...approximate });
        if (json.length > ANSWER_CHARACTERS_MAX)
          throw new QuiverError(
            'limit_exceeded',
            `the answer would have ${json.length} characters, more than the maximum of ${ANSWER_CHARACTERS_MAX}: ask for fewer values`,
          );
        return { type: 'data', json };
      },
    }),
  ];
}

/** The fields by which something is counted. `at`: where they stand in the request. */
function countedFields({ facets, ranges, stats, by }: Aggregates, at: string): NamedField[] {
  return [
    ...Object.entries({ facets, ranges, stats }).flatMap(([kind, asked]) =>
      asked.map(({ field }, i) => ({ path: field, place: `${at}${kind}[${i}].field` })),
    ),
    ...(by === null ? [] : [{ path: by.field, place: `${at}by.field` }, ...countedFields(by, `${at}by.`)]),
  ];
}

/** What was asked for, as JSON has it. */
function shown(
  view: Omit<AggregatesView, 'hits'>,
  wanted: Aggregates,
  warnings: RequestWarnings,
  place: string,
): Record<string, unknown> {
  const { facets, ranges, stats, by } = view;
  return {
    ...(wanted.facets.length > 0 && { facets }),
    ...(wanted.ranges.length > 0 && { ranges }),
    ...(wanted.stats.length > 0 && {
      stats: stats.map((one, i) => statsJson(one, wanted.stats[i].ops, warnings, `${place}stats[${i}]`)),
    }),
    ...(by !== null && {
      by: {
        ...by,
        groups: by.groups.map(({ value, count, ...inner }) => ({
          value,
          count,
          ...shown(inner, wanted.by!, warnings, `${place}by.`),
        })),
      },
    }),
  };
}

function statsJson(
  view: StatsView,
  ops: Aggregates['stats'][number]['ops'],
  warnings: RequestWarnings,
  place: string,
): Record<string, unknown> {
  const { field, notNumbers, distinctError } = view;
  if (view.sum === null) warnings.warn(`${place}: the sum is beyond the numbers that JSON readers know (1.8e308)`);
  return {
    field,
    ...Object.fromEntries(ops.map((op) => [op, view[op]])),
    ...(distinctError !== null && { distinct_error: distinctError }),
    ...(notNumbers > 0 && { not_numbers: notNumbers }),
  };
}
