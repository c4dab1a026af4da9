import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { RERANKED_UNITS_MAX, type RerankProvider } from '../../models/rerank/reranker';
import type { HttpLimits } from '../requests/http-limits';
import { pairsAnswer, pairsBody } from '../schema/rerank-schemas';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';

export function rerankEndpoints(parts: { rerank: RerankProvider; limits: HttpLimits }): Endpoint[] {
  const { rerank, limits } = parts;
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/rerank',
      access: 'readonly',
      tag: 'Search',
      summary: 'Score texts for a query by a model',
      description:
        'A model reads the query together with each text. A score depends on nothing but these two. 400 where ' +
        'there is no such model; the message names those that there are.',
      body: {
        type: 'json',
        required: true,
        ...pairsBody(limits),
        example: { query: 'Which rivers flood in spring?', documents: ['Snow melts, and rivers rise.', 'A red fox.'] },
      },
      answer: { type: 'data', schema: pairsAnswer },
      errors: [400],
      handle: async ({ body }) => {
        const { query, documents, top_n: count = documents.length } = body;
        if (query.trim() === '') throw new QuiverError('invalid_parameter', 'query must not be empty');
        const model = await rerank.modelOf(body.model);
        const texts = documents.map((text) => text.slice(0, RERANKED_UNITS_MAX).toWellFormed());
        const scores = await rerank.score(model, query, texts);
        const results = scores
          .map((score, index) => ({ index, score: score! }))
          .sort((a, b) => b.score - a.score || a.index - b.index);
        return dataAnswer({ model, results: results.slice(0, count) });
      },
    }),
  ];
}
