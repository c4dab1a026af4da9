import { exampleItems } from '../../service/search-request';
import { isInNoLeg, WhyNot, type WhyReport, type WhyRequest } from '../../service/search/why-not';
import type { SearchService } from '../../service/service';
import type { HttpLimits } from '../requests/http-limits';
import { collectionParameters } from '../schema/collection-schemas';
import * as schemas from '../schema/why-schemas';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';

export function whyEndpoints(parts: { search: SearchService; limits: HttpLimits }): Endpoint[] {
  const why = new WhyNot(parts.search);
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/why',
      access: 'readonly',
      tag: 'Search',
      summary: 'Say why a search does not find an item',
      description:
        'Takes `external_id` and the fields of a search, with `query_text` or `legs` those of a hybrid one. It ' +
        'runs some ten searches, exact ones among them, one after the other.',
      path: collectionParameters,
      body: {
        type: 'json',
        required: true,
        schema: schemas.whyBody(parts.limits),
        example: { external_id: 'a-1', query_text: 'rivers', filters: { topic: 'rivers' }, k: 5 },
      },
      answer: { type: 'data', schema: schemas.whyAnswer },
      errors: [404],
      handle: async ({ path, body }) => dataAnswer(whyData(body, await why.report(path.name, body))),
    }),
  ];
}

function whyData(request: WhyRequest, report: WhyReport) {
  return {
    external_id: request.externalId,
    lost_at: report.lostAt,
    because: because(request, report),
    place: report.place,
    conditions: conditionsData(report.conditions),
    legs: report.legs.map(({ exactRank, conditions, ...leg }) => ({
      ...leg,
      exact_rank: exactRank,
      ...(conditions && { conditions: conditionsData(conditions) }),
    })),
    effort: report.effort,
  };
}

function conditionsData(conditions: WhyReport['conditions']) {
  return conditions.map(({ shown, passes }) => ({ condition: shown, passes }));
}

function because(
  { externalId, search, kMax }: WhyRequest,
  { lostAt, conditions, legs, place, effort, inGroup }: WhyReport,
): string {
  const { page, rerank } = search;
  switch (lostAt) {
    case null:
      return `the search finds it, at place ${place}`;
    case 'item':
      return `there is no item ${JSON.stringify(externalId)}`;
    case 'filter': {
      const failed = conditions.filter(({ passes }) => !passes).map(({ shown }) => JSON.stringify(shown));
      return `it does not pass ${failed.join(', ')}`;
    }
    case 'rerank':
      return 'the model of rerank puts others before it, or leaves it out';
    case 'score':
      return 'its score is below the least that was asked for';
    case 'diversity':
      return 'diversity puts others before it, which are less like each other';
    case 'groups':
      if (inGroup === 'none')
        return `it has no number, text or boolean under ${JSON.stringify(page.groups?.path)}, by which the search groups`;
      if (inGroup === 'behind')
        return 'its group is on the page, with better hits: with a greater group_size it is one of them';
      return 'group_by leaves it out: other groups have better hits';
    case 'boosts':
      return 'boosts put others before it';
    case 'approximation':
      return `the approximate search misses it, an exact one does not${effort === null ? '' : `; with an effort of ${effort} it is found`}`;
    case 'rank':
      if (rerank !== undefined)
        return `it was at place ${place}; the model reads the first ${rerank.topN} and puts others on the page`;
      if (page.groups !== undefined)
        return `it is at place ${place}, and the groups of the page have better hits than its own`;
      return `it is at place ${place}, and the page has places ${page.offset + 1} to ${page.offset + page.k}`;
    case 'lists':
      if (exampleItems(search.query.source).has(externalId))
        return 'results are to be like it, or unlike it, and it is none of them itself';
      if (isInNoLeg(search, legs)) return 'every leg leaves it out, by its filters or its least score';
      return `it is not among the first ${kMax} of any list, or has no word of the text`;
  }
}
