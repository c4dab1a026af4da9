import { z } from 'zod';

/** Parts of answers that several endpoints share. */

export const metadataAnswer = z.record(z.string(), z.unknown());

export const writeTiming = z
  .object({ embedding_ms: z.number(), storage_ms: z.number(), total_ms: z.number() })
  .meta({ id: 'WriteTiming', description: 'Milliseconds; present when include_timing is true.' });

export const searchTiming = z
  .object({ embedding_ms: z.number(), search_ms: z.number(), total_ms: z.number() })
  .meta({ id: 'SearchTiming', description: 'Milliseconds; present when include_timing is true.' });

const hitText = z.string().meta({ description: 'Present if include_text is true; "" where the item has none.' });

const hitContext = z
  .object({ text: z.string(), from_chunk: z.int(), to_chunk: z.int() })
  .nullable()
  .optional()
  .meta({
    description:
      'Present if expand is given: the chunks around the result. null where its metadata have no document_id or no ' +
      'chunk_index.',
  });

const highlights = z
  .array(
    z.object({
      field: z.string(),
      index: z.int().optional().meta({ description: 'Of a list of texts, which of them.' }),
      text: z.string().meta({ description: 'The fragment, with pre and post around the words if they are given.' }),
      start: z.int().meta({ description: 'Where the fragment begins in the text of the field.' }),
      spans: z.array(z.array(z.int()).length(2)),
    }),
  )
  .optional()
  .meta({
    description:
      'Present if highlight is given. spans are the words: first code unit, and first behind, in UTF-16 of the ' +
      'whole text of the field as it is stored, not of the fragment; so is start.',
  });

/** Present if explain is true, and diversity has a lambda (so is first_rank), or there are boosts. */
const choice = {
  diversity_score: z.number().optional().meta({ description: 'By which it was chosen for its place.' }),
  reranked_rank: z.int().optional().meta({
    description: 'The same with rerank: the place that the model gave it, from 1.',
  }),
  boosts: z.array(z.number()).nullable().optional().meta({
    description: 'With explain and boosts: what each of them gave, in their order; null: the item is gone meanwhile.',
  }),
};

const first = {
  first_score: z.number().optional().meta({
    description: 'Present if rerank is given and the model has read it: its score before.',
  }),
  first_rank: z.int().optional().meta({
    description: 'The same of its rank, from 1; with explain and diversity, the place among its candidates.',
  }),
};

/** Absent while a cluster has nodes of an earlier version. */
export const itemVersion = z.int().meta({
  description: 'Rises with each change of the item, and is never given to another item of the same id. For if_version.',
});

export const rerankedFacts = z
  .object({
    model: z.string(),
    scored: z.int().meta({ description: 'Results that the model has read.' }),
    of: z.int().meta({ description: 'Results that there were, at most top_n.' }),
    truncated: z.boolean().meta({ description: 'Whether budget_ms was not enough for all that have a text.' }),
  })
  .meta({ id: 'Reranked', description: 'Present if rerank is given.' });

export const hitAnswer = z
  .object({
    external_id: z.string(),
    score: z.number(),
    metadata: metadataAnswer,
    text: hitText.optional(),
    version: itemVersion.optional(),
    ...first,
    highlights,
    context: hitContext,
    ...choice,
  })
  .meta({
    id: 'SearchResult',
    description: 'Higher scores are better: cosine; ip: dot product; l2: 1 / (1 + distance).',
  });

/** Present if explain is true and lists were fused. */
const explanation = {
  vector_rank: z.int().nullable().optional(),
  vector_score: z.number().nullable().optional(),
  keyword_rank: z.int().nullable().optional(),
  keyword_score: z.number().nullable().optional(),
  vector_part: z.number().optional(),
  keyword_part: z.number().optional(),
};

const legPlaces = z
  .array(z.object({ rank: z.int().nullable(), score: z.number().nullable(), part: z.number() }))
  .optional()
  .meta({ description: 'With legs and explain, in the place of those: the same of each leg.' });

export const fusedHitAnswer = hitAnswer.extend({ ...explanation, legs: legPlaces }).meta({
  id: 'HybridResult',
  description:
    'score is the fused one. With explain: the ranks (from 1, over the whole collection) in the two lists and the scores they are by, the metric’s and ' +
    'BM25’s; null where the item is not in that list, or the list has weight 0 and was not looked up. The parts ' +
    'are what the lists add to the score.',
});

export const textHitAnswer = z
  .object({
    text: hitText.optional(),
    score: z.number(),
    metadata: metadataAnswer,
    external_id: z.string(),
    version: itemVersion.optional(),
    ...first,
    highlights,
    context: hitContext,
    ...choice,
    ...explanation,
  })
  .meta({ id: 'QueryResult' });

/** In the form that the request named by vector_format. */
export const vectorValues = z.union([z.array(z.number()), z.string().meta({ contentEncoding: 'base64' })]).meta({
  description: 'Numbers, or with vector_format base64 the base64 of little-endian float32 values.',
});

/** Absent for an item that never expires. */
export const itemExpiry = z.iso.datetime().meta({ description: 'When the item expires; absent if it never does.' });

export const storedVectorAnswer = z
  .object({
    external_id: z.string(),
    vector: vectorValues.optional(),
    metadata: metadataAnswer,
    text: z.string().nullable(),
    expires_at: itemExpiry.optional(),
    version: itemVersion.optional(),
  })
  .meta({ id: 'StoredVector' });
