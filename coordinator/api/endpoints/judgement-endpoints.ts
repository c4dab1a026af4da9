import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { JudgementsService, JudgementsView } from '../../service/judgements-service';
import type { HttpLimits } from '../requests/http-limits';
import { collectionParameters } from '../schema/collection-schemas';
import { jobAnswer } from '../schema/job-schemas';
import * as schemas from '../schema/judgement-schemas';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';
import { jobData } from './job-endpoints';

const EXAMPLE_NAME = 'rivers';

function viewData({ updatedAt, ...view }: JudgementsView) {
  return { ...view, updated_at: updatedAt };
}

export function judgementEndpoints(parts: { judgements: JudgementsService; limits: HttpLimits }): Endpoint[] {
  const { judgements, limits } = parts;
  const searchOf = schemas.variantSearch(limits);
  const shared = { tag: 'Search', path: schemas.judgementsParameters, errors: [404] } as const;
  const template = '/v1/collections/{name}/judgements/{id}';
  return [
    defineEndpoint({
      ...shared,
      method: 'PUT',
      template,
      access: 'readwrite',
      summary: 'Keep queries with the items that answer them',
      description:
        'In the place of what was there under the name. They go with the collection; backups do not have them.',
      body: {
        type: 'json',
        required: true,
        schema: schemas.judgementsBody(limits),
        example: [{ query: 'long rivers', relevant: { 'a-1': 2, 'a-2': 1 } }],
      },
      answer: { type: 'data', schema: schemas.judgementsView },
      handle: async ({ path, body }) => dataAnswer(viewData(await judgements.put(path.name, path.id, body))),
    }),
    defineEndpoint({
      ...shared,
      method: 'GET',
      template: '/v1/collections/{name}/judgements',
      access: 'readonly',
      summary: 'List the judgements of a collection, by name',
      path: collectionParameters,
      answer: { type: 'data', schema: schemas.judgementsList },
      handle: async ({ path }) => dataAnswer({ judgements: (await judgements.list(path.name)).map(viewData) }),
    }),
    defineEndpoint({
      ...shared,
      method: 'GET',
      template,
      access: 'readonly',
      summary: 'Judged queries',
      answer: { type: 'data', schema: schemas.judgementsAnswer },
      handle: async ({ path }) => {
        const { judged, ...view } = await judgements.get(path.name, path.id);
        const queries = judged.map(({ query, relevant }) => ({ query, relevant: Object.fromEntries(relevant) }));
        return dataAnswer({ ...viewData(view), judged: queries });
      },
    }),
    defineEndpoint({
      ...shared,
      method: 'POST',
      template: '/v1/collections/{name}/evaluate',
      access: 'readwrite',
      summary: 'Compare searches by judged queries',
      description:
        'Begins a job that asks each query in each variant, as POST /v1/query would. Its `result` has for each variant `ndcg`, `recall` and `mrr` of the first k hits: the mean over the queries with `low` and `high`, between which it lies in 95 % of draws of as many queries (bootstrap). From the second variant on, `against_first` has the same of the differences to the first, query by query: where `low` is above 0, it is better by more than chance. `missing_items`: judged items that are not in the collection.',
      path: collectionParameters,
      body: {
        type: 'json',
        required: true,
        schema: schemas.evaluationBody(limits),
        example: { name: EXAMPLE_NAME, variants: [{ alpha: 1 }, { alpha: 0.5 }] },
      },
      answer: { type: 'data', schema: jobAnswer },
      handle: async ({ path, body }) => {
        for (const [i, variant] of body.variants.entries()) checked(i, () => searchOf(variant, 'a', body.k));
        return dataAnswer(jobData(await judgements.evaluate(path.name, body)));
      },
    }),
    defineEndpoint({
      ...shared,
      method: 'DELETE',
      template,
      access: 'readwrite',
      summary: 'Delete judgements',
      answer: { type: 'data', schema: schemas.judgementsDeleted },
      handle: async ({ path }) => {
        await judgements.delete(path.name, path.id);
        return dataAnswer({ deleted: path.id });
      },
    }),
  ];
}

/** Errors: that of `make`, with the place of the variant. */
function checked(i: number, make: () => unknown): void {
  try {
    make();
  } catch (error) {
    if (!isQuiverError(error)) throw error;
    throw new QuiverError(error.kind, `variants[${i}].${error.message}`, { cause: error });
  }
}
