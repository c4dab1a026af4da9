import { z } from 'zod';
import { boundedArray, boundedText, integer, itemText, optional } from '../fields/fields';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';

/** Texts to score for a query. */
export function pairsBody(limits: HttpLimits) {
  const document = itemText(limits.textBytesMax);
  const lengthMax = REQUEST_BOUNDS.rerankedMax;
  return {
    schema: z.object({
      model: optional(z.string().min(1).max(REQUEST_BOUNDS.nameCharactersMax)).meta({
        description: 'One of RERANK_MODEL; left out: the first.',
      }),
      query: boundedText(limits.searchTextLengthMax, 'MAX_SEARCH_TEXT_LENGTH'),
      documents: boundedArray(document, lengthMax),
      top_n: optional(integer(1, lengthMax)).meta({
        description: 'How many of them the answer has, the best. Default: all.',
      }),
    }),
    list: { name: 'documents', lengthMax, elements: z.array(document) },
  };
}

export const pairsAnswer = z.object({
  model: z.string(),
  results: z
    .array(
      z.object({
        index: z.int().meta({ description: 'The place of the text among documents, from 0.' }),
        score: z.number().meta({ description: '0 to 1, higher is better.' }),
      }),
    )
    .meta({ description: 'Best first; equal scores by index.' }),
});
