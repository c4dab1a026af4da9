import { z } from 'zod';
import { type Fusing, type SearchRequest, type Source, vectorAndKeywords } from '../../service/search-request';
import type { HttpLimits } from '../requests/http-limits';
import { fusedHitAnswer, hitAnswer, rerankedFacts, searchTiming, textHitAnswer } from '../fields/answer-fields';
import { searchProfile } from './profile-schema';
import {
  boundedArray,
  boundedText,
  collectionName,
  externalId,
  filters,
  flagText,
  includeTiming,
  integerText,
  optional,
  vector,
  withDefault,
} from '../fields/fields';
import { type IssueSink, report } from '../fields/issue';
import { bothFilters } from '../../../shared/contract/filter/filter';
import { exampleShape, exampleSource, givesExamples } from './example-options';
import { fusingOf, fusionShape, givesFusion } from './fusion-options';
import { askedText, type GivenKeywords, keywordShape, NOTHING_TO_FIND, weightOf } from './keyword-options';
import { type FusedSource, legShape, legsSource } from './leg-options';
import { hitCount, pageOfParts, pageParts, searchFields } from './search-options';
import { vectorSource } from '../fields/vector-source';

const TOP_K_DEFAULT = 5;
const ALPHA_DEFAULT = 0.5;

function searchText(limits: HttpLimits) {
  return boundedText(limits.searchTextLengthMax, 'MAX_SEARCH_TEXT_LENGTH');
}

/** A vector, or a text to make one of. */
function vectorFields(limits: HttpLimits) {
  return { vector: optional(vector(limits.vectorDimMax)), text: optional(searchText(limits)) };
}

/** The same, or examples. */
function nearestFields(limits: HttpLimits) {
  return { ...vectorFields(limits), ...exampleShape(limits) };
}

function nearestTo(given: z.output<z.ZodObject<ReturnType<typeof nearestFields>>>, sink: IssueSink): Source | null {
  if (givesExamples(given)) {
    if (given.vector === undefined && given.text === undefined) return exampleSource(given, sink);
    const name = given.vector === undefined ? 'text' : 'vector';
    report(sink, given, 'can’t be beside examples: it can be one of the positives', {
      kind: 'invalid_parameter',
      path: [name],
    });
    return null;
  }
  const to = vectorSource(given, sink);
  return to === null ? null : { type: 'nearest', to };
}

export function searchBody(limits: HttpLimits) {
  const { page, options, request } = searchFields(limits);
  return z
    .object({ ...nearestFields(limits), ...page, ...options, include_timing: includeTiming })
    .transform((body, context) => {
      const search = request(() => nearestTo(body, context), body, body, context);
      if (context.issues.length > 0) return z.NEVER;
      search.output.packed = true;
      return { search, includeTiming: body.include_timing };
    });
}

/** As JsonBody.withVector, of {@link searchBody}. */
export function searchWithVector(output: unknown, vector: Float32Array): unknown {
  const body = output as z.output<ReturnType<typeof searchBody>>;
  const { query } = body.search;
  if (query.source.type !== 'nearest') throw new Error('a body of another search');
  // All else is as it was, whatever fields there are.
  return {
    ...body,
    search: { ...body.search, query: { ...query, source: { ...query.source, to: { ...query.source.to, vector } } } },
  };
}

export function bulkSearchBody(limits: HttpLimits) {
  const excess = 'schema_violation' as const;
  const { page, options, request } = searchFields(limits);
  const query = z.object({ ...nearestFields(limits), ...page, ...options }).transform((given, context) => {
    // Clients of the same API expect 422 here; of a single search, it is a wrong dimension like any other.
    if (given.vector?.length === 0) report(context, given, 'must not be empty', { path: ['vector'] });
    return request(() => nearestTo(given, context), given, given, context);
  });
  return {
    schema: z.object({
      queries: boundedArray(query, limits.bulkQueriesMax, 'MAX_BULK_QUERIES', excess),
      include_timing: includeTiming,
    }),
    list: {
      name: 'queries',
      lengthMax: limits.bulkQueriesMax,
      setting: 'MAX_BULK_QUERIES',
      excess,
      elements: z.array(query),
    },
  };
}

export function hybridSearchBody(limits: HttpLimits) {
  const { page, options, request } = searchFields(limits);
  return z
    .object({
      query_text: optional(searchText(limits)).meta({ description: 'Needed where there are no legs.' }),
      vector: optional(vector(limits.vectorDimMax)),
      alpha: optional(z.number().min(0).max(1)).meta({
        description: `1 = vector only, 0 = keywords only. Default ${ALPHA_DEFAULT}.`,
      }),
      ...legShape(limits),
      ...keywordShape,
      ...fusionShape,
      ...page,
      ...options,
      min_score: options.min_score.meta({
        description:
          'Results whose fused score is less are left out; the best that there can be is 1 / 61, or 1 with score_scale "unit".',
      }),
      include_timing: includeTiming,
    })
    .transform((body, context) => {
      const { legs } = body;
      const fusing = fusingOf(body, context);
      const asked = legs === undefined ? wordsSource(body, fusing, context) : legsSource(legs, body, fusing, context);
      if (legs !== undefined)
        for (const name of ['query_text', 'vector', 'alpha', 'mode'] as const)
          if (body[name] !== undefined)
            report(context, body, 'can’t be beside legs, which say it themselves', {
              kind: 'invalid_parameter',
              path: [name],
            });
      const search = request(() => asked.source, body, body, context);
      asked.check();
      if (context.issues.length > 0) return z.NEVER;
      search.query.filter = bothFilters(search.query.filter, asked.filter);
      return { search, includeTiming: body.include_timing };
    });
}

interface GivenWords extends GivenKeywords {
  query_text?: string | undefined;
  vector?: Float32Array | undefined;
  alpha?: number | undefined;
  mode?: 'hybrid' | 'keyword' | 'vector' | undefined;
}

/** The source of a text and a vector. */
function wordsSource(body: GivenWords, fusing: Fusing | undefined, sink: IssueSink): FusedSource {
  const { query_text: text, vector: given, alpha = ALPHA_DEFAULT } = body;
  const refuse = (message: string, kind?: 'invalid_parameter'): void =>
    report(sink, body, message, { ...(kind && { kind }), path: ['query_text'] });
  if (text === undefined) {
    refuse('is required');
    return { source: null, filter: null, check: () => undefined };
  }
  const { source, filter } = askedText(text, body, sink, ['query_text']);
  const check = (): void => {
    if (given === undefined && text.trim() === '')
      refuse('must not be empty when there is no vector', 'invalid_parameter');
    else if (given === undefined && source.text === '') refuse(NOTHING_TO_FIND, 'invalid_parameter');
  };
  const weight = weightOf({ ...body, alpha });
  return { source: vectorAndKeywords(source, { vector: given, alpha: weight, fusing }), filter, check };
}

export function rerankBody(limits: HttpLimits) {
  const { fields, include_text, min_score, group_by, group_size, group_missing } = searchFields(limits).options;
  const schema = z
    .object({
      ...vectorFields(limits),
      candidates: boundedArray(externalId, limits.kMax, 'MAX_K'),
      fields,
      include_text,
      min_score,
      group_by,
      group_size,
      group_missing,
      include_timing: includeTiming,
    })
    .transform((body, context) => ({ ...body, to: vectorSource(body, context) ?? z.NEVER }));
  return {
    schema,
    list: { name: 'candidates', lengthMax: limits.kMax, setting: 'MAX_K', elements: z.array(externalId) },
  };
}

/** The search that a body of rerank asks for, once its candidates are read. */
export function rerankSearch(limits: HttpLimits) {
  const { request } = searchFields(limits);
  return ({ to, candidates, ...given }: z.output<ReturnType<typeof rerankBody>['schema']>): SearchRequest =>
    // Its candidates are within MAX_K already.
    request(() => ({ type: 'listed', to, externalIds: candidates }), { k: candidates.length, offset: 0 }, given, {
      issues: [],
    });
}

/** Fields of recommend's body; k and offset may be in the query string instead. */
export function recommendBody(limits: HttpLimits) {
  return z.object({
    ...exampleShape(limits),
    ...pageParts,
    ...searchFields(limits).options,
    include_timing: includeTiming,
  });
}

const profile = flagText.meta({ description: 'The answer also tells where the time went: `profile`.' });
export const profileQuery = z.object({ profile });

export const recommendQuery = z.object({
  profile,
  k: optional(integerText(1, Number.MAX_SAFE_INTEGER)),
  offset: optional(integerText(0, Number.MAX_SAFE_INTEGER)),
});

/** What recommend's request gives, in its path, its body and its query string. */
interface RecommendRequest {
  externalId: string;
  body: z.output<ReturnType<typeof recommendBody>>;
  query: z.output<typeof recommendQuery>;
}

/** The search that it asks for. What the body gives wins. Reports what the options of a search report. */
export function recommendSearch(limits: HttpLimits) {
  const { request } = searchFields(limits);
  return z.custom<RecommendRequest>().transform(({ externalId: source, body, query }, context) => {
    const page = pageOfParts({ k: body.k ?? query.k, offset: body.offset ?? query.offset });
    const like = (): Source | null =>
      givesExamples(body)
        ? exampleSource(body, context, [{ externalId: source }])
        : { type: 'like', externalId: source };
    return request(like, page, body, context);
  });
}

export const similarityQuery = z.object({ id1: externalId, id2: externalId });

export function queryBody(limits: HttpLimits) {
  const { page, options, request } = searchFields(limits);
  return z
    .object({
      query: boundedText(limits.queryLengthMax, 'MAX_QUERY_LENGTH'),
      collection_name: collectionName,
      top_k: hitCount(limits, TOP_K_DEFAULT),
      offset: page.offset,
      alpha: withDefault(z.number().min(0).max(1), 1).meta({
        description:
          '1 = by meaning only, 0 = by keywords only; scores below 1, or with fusion or score_scale, are those of hybrid_search.',
      }),
      ...keywordShape,
      ...fusionShape,
      ...options,
      include_text: withDefault(z.boolean(), true).meta({ description: 'false leaves the texts out of results.' }),
      include_timing: includeTiming,
    })
    .transform((body, context) => {
      const { query: text, top_k: k, offset } = body;
      const alpha = weightOf(body);
      const fusing = fusingOf(body, context);
      const asked = askedText(text, body, context, ['query']);
      if (asked.source.text.trim() === '')
        report(context, text, text.trim() === '' ? 'must not be empty' : NOTHING_TO_FIND, {
          kind: 'invalid_parameter',
          path: ['query'],
        });
      const source = (): Source =>
        alpha === 1 && !givesFusion(body)
          ? { type: 'nearest', to: { text: asked.source.text }, fieldWeights: body.field_weights }
          : vectorAndKeywords(asked.source, { vector: undefined, alpha, fusing });
      const search = request(source, { k, offset }, body, context, 'top_k');
      search.query.filter = bothFilters(search.query.filter, asked.filter);
      return { search, text, collection_name: body.collection_name, includeTiming: body.include_timing };
    });
}

/** What every answer of a search may have, where the request asks for it. */
const onRequest = { timing_ms: searchTiming.optional(), profile: searchProfile.optional() };
const within = z.literal('hits').optional().meta({ description: 'With order_by: it ordered the hits of the page.' });
/** The same of searches that count what passes their filters. */
const withTotal = {
  within,
  total_matches: z.int().optional().meta({ description: 'Items that pass the filters; present if total is true.' }),
  rerank: rerankedFacts.optional(),
  next_cursor: z.string().nullable().optional().meta({
    description: 'The cursor of the next page, null at the end; present if the request has one.',
  }),
  boost_depth: z.int().optional().meta({
    description:
      'Present if boosts could not reach all items: how many of the best without boosts were looked at, by shard.',
  }),
  ...onRequest,
};

export function countBody(limits: HttpLimits) {
  return z.object({ filters: filters(limits) });
}

export const countAnswer = z.object({
  count: z.int().meta({ description: 'Items that pass the filters, exactly; without filters, all.' }),
});

/** Hits, where the request does not ask for groups. */
const resultsOf = <Hit extends z.ZodType>(hit: Hit) =>
  z.array(hit).optional().meta({ description: 'Best first; absent if group_by is given.' });

/** Groups of hits, where the request asks for these. */
const groupsOf = <Hit extends z.ZodType>(hit: Hit) =>
  z
    .array(
      z.object({
        key: z.union([z.string(), z.number(), z.boolean()]).nullable().meta({
          description: 'What its hits have under group_by; null: a hit without a value there.',
        }),
        score: z.number().meta({ description: 'That of its best hit.' }),
        hits: z.array(hit),
      }),
    )
    .optional()
    .meta({ description: 'Present, and then instead of results, if group_by is given; best first.' });

export const searchAnswer = z.object({
  results: resultsOf(hitAnswer),
  groups: groupsOf(hitAnswer),
  total_count: z.int().meta({ description: 'Vectors in the collection, before filtering.' }),
  k: z.int(),
  offset: z.int(),
  ...withTotal,
});
export const bulkSearchAnswer = z.object({
  results: z.array(z.array(hitAnswer)),
  within,
  groups: z.array(groupsOf(hitAnswer).unwrap().nullable()).optional().meta({
    description: 'For each query its groups, null where it has no group_by; present if one has. Its results are empty.',
  }),
  total_matches: z.array(z.int().nullable()).optional().meta({
    description: 'For each query how many items pass its filters, null where its total is not true; present if one is.',
  }),
  rerank: z.array(rerankedFacts.nullable()).optional().meta({
    description: 'For each query what was reranked, null where it has no rerank; present if one has.',
  }),
  next_cursor: z.array(z.string().nullable()).optional().meta({
    description:
      'For each query the cursor of its next page, null at the end or where it has none; present if one has.',
  }),
  boost_depth: z.array(z.int().nullable()).optional().meta({
    description: 'For each query as in a search, null where all items were reached; present if one has it.',
  }),
  ...onRequest,
});
export const fusedAnswer = z.object({
  results: resultsOf(fusedHitAnswer),
  groups: groupsOf(fusedHitAnswer),
  ...withTotal,
});
export const rankedAnswer = z.object({
  results: resultsOf(hitAnswer),
  groups: groupsOf(hitAnswer),
  ...onRequest,
});
export const recommendAnswer = z.object({
  results: resultsOf(hitAnswer),
  groups: groupsOf(hitAnswer),
  collection: z.string(),
  source_id: z.string(),
  k: z.int(),
  offset: z.int(),
  ...withTotal,
});
export const similarityAnswer = z.object({
  id1: z.string(),
  id2: z.string(),
  similarity: z.number(),
  score: z.number(),
});
export const queryAnswer = z.object({
  query: z.string(),
  collection: z.string(),
  results: resultsOf(textHitAnswer),
  groups: groupsOf(textHitAnswer),
  ...withTotal,
});
