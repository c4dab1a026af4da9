import { z } from 'zod';
import type { AskedCondition, WhyRequest } from '../../service/search/why-not';
import type { SearchRequest } from '../../service/search-request';
import { externalId, filters } from '../fields/fields';
import { valueHint } from '../fields/field-hints';
import { type IssueSink, report, wordsFor } from '../fields/issue';
import { requestFieldsOf } from '../fields/request-fields';
import type { HttpLimits } from '../requests/http-limits';
import { hybridSearchBody, searchBody } from './search-schemas';

/** A search of either kind, and the item that is missed in its answer. */
export function whyBody(limits: HttpLimits) {
  const kinds = { search: searchBody(limits), hybrid: hybridSearchBody(limits) };
  const names = { search: namesOf(kinds.search), hybrid: namesOf(kinds.hybrid) };
  const filter = filters(limits);
  return z.looseObject({ external_id: externalId }).transform(({ external_id: id, ...given }, context): WhyRequest => {
    const kind = 'query_text' in given || 'legs' in given ? 'hybrid' : 'search';
    for (const name of Object.keys(given))
      if (!names[kind].includes(name))
        report(context, given, `is no field of this search${valueHint(name, names[kind])}`, { path: [name] });
    if (given.cursor !== undefined)
      report(context, given, 'is of pages that continue each other: say which page by offset and k', {
        path: ['cursor'],
        kind: 'invalid_parameter',
      });
    const read = (body: object, sink: IssueSink): SearchRequest | null => {
      const found = kinds[kind].safeParse(body, { error: (issue) => wordsFor(issue) });
      if (found.success) return found.data.search;
      for (const { message, path, ...issue } of found.error.issues)
        sink.issues.push({
          code: 'custom',
          message,
          path,
          input: body,
          params: issue.code === 'custom' ? issue.params : undefined,
        });
      return null;
    };
    const search = read(given, context);
    if (search === null || context.issues.length > 0) return z.NEVER;
    const conditionsOf = (asked: unknown): AskedCondition[] =>
      partsOf(asked).flatMap((shown) => {
        const parsed = filter.parse(shown);
        return parsed === null ? [] : [{ shown, filter: parsed }];
      });
    const conditions = conditionsOf(given.filters);
    // What a text asks for by its signs.
    const words = read({ ...given, filters: undefined }, { issues: [] })?.query.filter ?? null;
    const legs = Array.isArray(given.legs) ? (given.legs as { filters?: unknown; query_text?: unknown }[]) : [];
    const texts = [given, ...legs].flatMap(({ query_text: text }) => (typeof text === 'string' ? [text] : []));
    if (words !== null) conditions.push({ shown: { query_text: texts.join(' ') }, filter: words });
    return {
      externalId: id,
      search: { ...search, output: { texts: false } },
      conditions,
      legConditions: legs.map((leg) => conditionsOf(leg.filters)),
      kMax: limits.kMax,
      effortMax: limits.searchEffortMax,
    };
  });
}

function namesOf(schema: z.ZodType): string[] {
  return [...(requestFieldsOf(schema)?.names ?? [])];
}

/** The conditions that a filter asks for all of, each as a filter. */
function partsOf(given: unknown): Record<string, unknown>[] {
  if (typeof given !== 'object' || given === null) return [];
  return Object.entries(given).flatMap(([name, value]) =>
    name === '$and' && Array.isArray(value) ? value.flatMap(partsOf) : [{ [name]: value }],
  );
}

const place = z.int().nullable();
const conditionList = z.array(z.object({ condition: z.record(z.string(), z.unknown()), passes: z.boolean() }));

export const whyAnswer = z
  .object({
    external_id: z.string(),
    lost_at: z
      .enum(['item', 'filter', 'rerank', 'score', 'diversity', 'groups', 'boosts', 'approximation', 'rank', 'lists'])
      .nullable()
      .meta({
        description:
          'null: the search finds it. item: there is none. filter: `conditions` say which. rerank, score, diversity, groups, boosts: without the model, without the least score, without these, it is on the page. approximation: an exact search has it on the page. rank: others are better. lists: it is not among the first MAX_K of any.',
      }),
    because: z.string().meta({ description: 'The same for people.' }),
    place: place.meta({
      description:
        'Its place in the ranked list, before a model reads it, from 1, or of an item that is found with group_by that of its group; null: not among the first MAX_K.',
    }),
    conditions: conditionList.meta({
      description: 'What filters, and signs in query_text, ask for, and whether the item passes.',
    }),
    legs: z
      .array(
        z.object({
          leg: z.enum(['vector', 'keyword']),
          index: z
            .int()
            .optional()
            .meta({ description: 'With legs: which of them, from 0; those of weight 0 are left out.' }),
          conditions: conditionList
            .optional()
            .meta({ description: 'What its own filters ask for; absent where it has none.' }),
          score: z.number().nullable().meta({ description: 'With boosts, where the search has them.' }),
          exact_rank: place.meta({
            description:
              'Its place, from 1, by an exact search of the items that pass; null: not among the first MAX_K.',
          }),
          rank: place.meta({
            description: 'Its place in the list that the search made; null: it is not in that, or scores too little.',
          }),
          depth: z.int().meta({ description: 'Hits that the search takes of the list.' }),
        }),
      )
      .meta({ description: 'The lists that the search is made of.' }),
    effort: z.int().nullable().meta({
      description: 'Of approximation: the least of the efforts 16, 32, 64 and so on that finds it.',
    }),
  })
  .meta({ id: 'WhyReport' });
