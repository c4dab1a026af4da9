import { z } from 'zod';
import { bothFilters } from '../../../shared/contract/filter/filter';
import { type Source, vectorAndKeywords } from '../../service/search-request';
import { boundedArray, boundedText, collectionName, integer, optional, withDefault } from '../fields/fields';
import { report } from '../fields/issue';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';
import { fusingOf, fusionShape, givesFusion } from './fusion-options';
import { askedText, keywordShape, NOTHING_TO_FIND, weightOf } from './keyword-options';
import { searchFields } from './search-options';

const K_DEFAULT = 8;
const TOKENS_DEFAULT = 1024;

const earlier = z.object({
  role: z.enum(['user', 'assistant']),
  content: z.string().max(REQUEST_BOUNDS.historyUnitsMax),
});

export function answerBody(limits: HttpLimits) {
  const { options, request } = searchFields(limits);
  const { filters, boosts, boost_mode, diversity, expand, rerank } = options;
  return z
    .object({
      collection_name: collectionName,
      question: boundedText(limits.queryLengthMax, 'MAX_QUERY_LENGTH'),
      k: withDefault(integer(1, REQUEST_BOUNDS.passagesMax), K_DEFAULT).meta({
        description: 'Passages that the model reads, the best.',
      }),
      alpha: withDefault(z.number().min(0).max(1), 1).meta({
        description: 'How passages are found: 1 = by meaning only, 0 = by keywords only.',
      }),
      ...keywordShape,
      ...fusionShape,
      filters,
      boosts,
      boost_mode,
      diversity,
      expand: expand.meta({
        description:
          'The model also reads so many chunks of the document before and after each passage, as one text with it.',
      }),
      rerank,
      min_score: optional(z.number()).meta({
        description:
          'Passages that score less (with rerank, by that) are not read. Without any: `refused`, and no model is asked.',
      }),
      model: optional(z.string().min(1).max(REQUEST_BOUNDS.nameCharactersMax)).meta({
        description: 'One of LLM_MODELS; left out: the first.',
      }),
      max_tokens: withDefault(integer(1, REQUEST_BOUNDS.answerTokensMax), TOKENS_DEFAULT).meta({
        description: 'Tokens that the model writes, at most.',
      }),
      history: withDefault(boundedArray(earlier, REQUEST_BOUNDS.historyMax), []).meta({
        description: 'What was said before, for the model. Passages are found by the question alone.',
      }),
      stream: withDefault(z.boolean(), false).meta({
        description:
          'The answer is text/event-stream: `sources`, `text` for each part, last `envelope`, the whole or an error.',
      }),
    })
    .transform((body, context) => {
      const { question, k, min_score: leastScore } = body;
      const alpha = weightOf(body);
      const fusing = fusingOf(body, context);
      const asked = askedText(question, body, context, ['question']);
      if (asked.source.text.trim() === '')
        report(context, body, question.trim() === '' ? 'must not be empty' : NOTHING_TO_FIND, {
          kind: 'invalid_parameter',
          path: ['question'],
        });
      const source = (): Source =>
        alpha === 1 && !givesFusion(body)
          ? { type: 'nearest', to: { text: asked.source.text }, fieldWeights: body.field_weights }
          : vectorAndKeywords(asked.source, { vector: undefined, alpha, fusing });
      const given = {
        filters: body.filters,
        boosts: body.boosts,
        boost_mode: body.boost_mode,
        diversity: body.diversity,
        expand: body.expand,
        rerank: body.rerank,
        include_text: true,
      };
      const search = request(source, { k, offset: 0 }, given, context);
      if (context.issues.length > 0) return z.NEVER;
      search.query.filter = bothFilters(search.query.filter, asked.filter);
      if (leastScore !== undefined && search.rerank === undefined) search.page.minScore = leastScore;
      if (leastScore !== undefined && search.rerank !== undefined)
        search.rerank.leastScore = Math.max(leastScore, search.rerank.leastScore ?? -Infinity);
      const { collection_name, model, max_tokens: tokensMax, history, stream: isFollowed } = body;
      return { collection_name, question, search, model, tokensMax, history, isFollowed };
    });
}

const place = {
  external_id: z.string(),
  document_id: z.union([z.string(), z.number()]).optional(),
  page: z.number().optional(),
};
const number = z.int().meta({ description: 'The number of the source, from 1.' });

export const answerAnswer = z.object({
  answer: z.string().meta({ description: 'What the model wrote, without its citations.' }),
  sentences: z
    .array(
      z.object({
        text: z.string(),
        citations: z.array(
          z.object({
            number,
            ...place,
            start: z.int().meta({
              description: 'Where the quote begins in the text of the source, in UTF-16 code units.',
            }),
            end: z.int(),
            quote: z.string().meta({ description: 'As it stands there.' }),
          }),
        ),
        unsupported: z.literal(true).optional().meta({ description: 'Present where no quote was found.' }),
      }),
    )
    .meta({ description: 'In their order. Every quote was found in the source that the model named.' }),
  sources: z
    .array(
      z.object({
        number,
        ...place,
        document_key: z.string().optional().meta({ description: 'As it was given, such as its path in a folder.' }),
        score: z.number(),
        chunk_index: z.int().optional(),
        start: z.number().optional().meta({ description: 'Where the chunk begins in its document, by its metadata.' }),
        end: z.number().optional(),
        headings: z.array(z.string()).optional(),
        source: z.string().optional().meta({ description: 'The file, by its metadata.' }),
        text: z.string().meta({ description: 'What the model read.' }),
      }),
    )
    .meta({ description: 'The passages that the model read, best first.' }),
  refused: z.boolean().meta({ description: 'true: nothing relevant was found, and no model was asked.' }),
  model: z.string().nullable(),
  finish: z.enum(['stop', 'length', 'content_filter', 'deadline']).nullable().meta({
    description:
      'Why the model stopped: by itself, at max_tokens, by a filter, at LLM_TIMEOUT_MS; null: it was not asked.',
  }),
  dropped_quotes: z.int().meta({ description: 'Quotes of the model that are not in the source that it named.' }),
  usage: z.object({
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    total_tokens: z.int(),
    estimated: z.literal(true).optional().meta({ description: 'Present where the provider does not say it.' }),
  }),
  timing_ms: z.object({
    embedding_ms: z.number(),
    retrieval_ms: z.number().meta({ description: 'Until the passages were there, with embedding and reranking.' }),
    first_token_ms: z.number().nullable(),
    model_ms: z.number(),
    checking_ms: z.number(),
    total_ms: z.number(),
  }),
});
