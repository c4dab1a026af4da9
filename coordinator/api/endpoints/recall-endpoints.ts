import type { RecallReport, RecallService, SearchService } from '../../service/service';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';
import { FilterDoubts } from '../answers/filter-doubts';
import type { HttpLimits } from '../requests/http-limits';
import { collectionParameters } from '../schema/collection-schemas';
import * as schemas from '../schema/recall-schemas';

function recallData(collection: string, k: number, report: RecallReport) {
  return {
    collection,
    k,
    queries: report.queries,
    recall: report.recall,
    standard_error: report.standardError,
    rows_scored: report.scored,
    rows_rescored: report.rescored,
    calibrated_ms: report.calibratedMs,
    exact_ms: report.exactMs,
  };
}

export function recallEndpoints(parts: {
  recall: RecallService;
  search: SearchService;
  limits: HttpLimits;
}): Endpoint[] {
  const { recall, limits } = parts;
  const doubts = new FilterDoubts(parts.search);
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/recall_check',
      access: 'readwrite',
      isAdministrative: true,
      tag: 'Collections',
      summary: 'Measure the recall of searches',
      description:
        'Runs calibrated and exact searches for the same queries, one after the other, and compares their answers over all shards. Without `queries`, vectors of the collection are asked for, each left out of its own answer; they are somewhat easier to find than vectors that were never stored, because they are in the graph. One check runs at a time; queries × vectors are bounded, and no further query is asked when most of the time for a request is over.',
      path: collectionParameters,
      body: { type: 'json', required: false, schema: schemas.recallCheck(limits), example: { samples: 100, k: 10 } },
      answer: { type: 'data', schema: schemas.recallReport },
      errors: [400, 404],
      handle: async ({ path, body, warnings }) => {
        const { queries = null, samples, seed, k, filters: filter } = body;
        await doubts.look({ collection: path.name, filter, hasHits: false }, warnings);
        return dataAnswer(
          recallData(path.name, k, await recall.check(path.name, { queries, samples, seed, k, filter })),
        );
      },
    }),
  ];
}
