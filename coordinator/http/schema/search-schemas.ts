import { z } from 'zod';
import type { SearchEffort } from '../../../shared/shard/shard-read';
import type { SearchInput } from '../../service';
import { type HttpLimits, REQUEST_BOUNDS } from '../http-limits';
import { fusedHitAnswer, hitAnswer, searchTiming, textHitAnswer } from './answer-fields';
import { searchProfile } from './profile-schema';
import { boundedArray, boundedText, collectionName, externalId, filters, flagText, includeTiming, integer, integerText, optional, vector, withDefault } from './fields';
import { type IssueSink, report } from './issue';
import { vectorSource } from './vector-source';

const { efMax } = REQUEST_BOUNDS;
/** Number of results if a search does not give one. */
const K_DEFAULT = 10;
const TOP_K_DEFAULT = 5;

const minScore = optional(z.number()).meta({
  description: 'Results that score less are left out: of the list before it is cut by offset and k, so that pages stay as they are. Any finite number.',
});
const count = z.int().min(1);
const offset = z.int().min(0);

/** Whether a page lies within MAX_K; reports it if not. */
function checkPage(page: { k: number; offset: number }, limits: HttpLimits, sink: IssueSink, name = 'k'): void {
  if (page.k + page.offset <= limits.kMax) return;
  const what = page.offset === 0 ? `is ${page.k}` : `is ${page.k} and offset ${page.offset}: together they are`;
  report(sink, page, `${what}${page.offset === 0 ? ',' : ''} more than the maximum of ${limits.kMax} (MAX_K)`, { kind: 'limit_exceeded', path: [name] });
}

function effortOf(given: { ef?: number | undefined; exact: boolean }): SearchEffort {
  if (given.exact) return { type: 'exact' };
  return given.ef === undefined ? { type: 'calibrated' } : { type: 'ef', ef: given.ef };
}

function searchText(limits: HttpLimits) {
  return boundedText(limits.searchTextLengthMax, 'MAX_SEARCH_TEXT_LENGTH');
}

function searchFields(limits: HttpLimits) {
  return {
    vector: optional(vector(limits.vectorDimMax)),
    text: optional(searchText(limits)),
    k: withDefault(count.meta({ maximum: limits.kMax }), K_DEFAULT),
    offset: withDefault(offset, 0),
    filters: filters(limits),
    ef: optional(integer(1, efMax)).meta({ maximum: limits.searchEffortMax, description: 'Search effort set by hand; left out, it is calibrated to RECALL_TARGET.' }),
    exact: withDefault(z.boolean(), false).meta({ description: 'Compares with every vector.' }),
    min_score: minScore,
  };
}

type GivenSearch = z.output<z.ZodObject<ReturnType<typeof searchFields>>>;

function inputFromSearch(given: GivenSearch, limits: HttpLimits, sink: IssueSink): SearchInput {
  checkPage(given, limits, sink);
  if (given.ef !== undefined && given.ef > limits.searchEffortMax)
    report(sink, given, `is ${given.ef}, more than the maximum of ${limits.searchEffortMax} (MAX_EF)`, { kind: 'limit_exceeded', path: ['ef'] });
  const source = vectorSource(given, sink);
  if (source === null) return z.NEVER;
  return { source, k: given.k, offset: given.offset, filter: given.filters, effort: effortOf(given), minScore: given.min_score };
}

export function searchBody(limits: HttpLimits) {
  return z.object({ ...searchFields(limits), include_timing: includeTiming }).transform((body, context) => ({ search: inputFromSearch(body, limits, context), includeTiming: body.include_timing }));
}

/** As JsonBody.withVector, of {@link searchBody}. */
export function searchWithVector(output: unknown, vector: Float32Array): unknown {
  const body = output as z.output<ReturnType<typeof searchBody>>;
  // All else is as it was, whatever fields there are.
  return { ...body, search: { ...body.search, source: { ...body.search.source, vector } } };
}

export function bulkSearchBody(limits: HttpLimits) {
  const excess = 'schema_violation' as const;
  const query = z.object(searchFields(limits)).transform((given, context) => {
    // Clients of the same API expect 422 here; of a single search, it is a wrong dimension like any other.
    if (given.vector?.length === 0) report(context, given, 'must not be empty', { path: ['vector'] });
    return inputFromSearch(given, limits, context);
  });
  return {
    schema: z.object({ queries: boundedArray(query, limits.bulkQueriesMax, 'MAX_BULK_QUERIES', excess), include_timing: includeTiming }),
    list: { name: 'queries', lengthMax: limits.bulkQueriesMax, setting: 'MAX_BULK_QUERIES', excess, elements: z.array(query) },
  };
}

export function hybridSearchBody(limits: HttpLimits) {
  return z
    .object({
      query_text: searchText(limits),
      vector: optional(vector(limits.vectorDimMax)),
      k: withDefault(count.meta({ maximum: limits.kMax }), K_DEFAULT),
      offset: withDefault(offset, 0),
      alpha: withDefault(z.number().min(0).max(1), 0.5).meta({ description: '1 = vector only, 0 = keywords only.' }),
      filters: filters(limits),
      min_score: minScore.meta({ description: 'Results whose fused score is less are left out; the best that there can be is 1 / 61.' }),
      explain: withDefault(z.boolean(), false).meta({ description: 'Results also carry vector_rank, vector_score, keyword_rank and keyword_score.' }),
      include_timing: includeTiming,
    })
    .transform((body, context) => {
      checkPage(body, limits, context);
      if (body.vector === undefined && body.query_text.trim() === '') {
        report(context, body, 'must not be empty when there is no vector', { kind: 'invalid_parameter', path: ['query_text'] });
      }
      return body;
    });
}

export function rerankBody(limits: HttpLimits) {
  const schema = z
    .object({
      vector: optional(vector(limits.vectorDimMax)),
      text: optional(searchText(limits)),
      candidates: boundedArray(externalId, limits.kMax, 'MAX_K'),
      include_timing: includeTiming,
    })
    .transform((body, context) => ({ source: vectorSource(body, context) ?? z.NEVER, candidates: body.candidates, includeTiming: body.include_timing }));
  return { schema, list: { name: 'candidates', lengthMax: limits.kMax, setting: 'MAX_K', elements: z.array(externalId) } };
}

/** Fields of recommend's body; k and offset may be in the query string instead. Omitted fields are undefined here. */
export function recommendBody(limits: HttpLimits) {
  return z.object({
    k: optional(count).meta({ description: `Default ${K_DEFAULT}.` }),
    offset: optional(offset).meta({ description: 'Default 0.' }),
    filters: filters(limits),
  });
}

const profile = flagText.meta({ description: 'The answer also tells where the time went: `profile`.' });
export const profileQuery = z.object({ profile });

export const recommendQuery = z.object({
  profile,
  k: optional(integerText(1, Number.MAX_SAFE_INTEGER)),
  offset: optional(integerText(0, Number.MAX_SAFE_INTEGER)),
});

/** The page from recommend's body, otherwise from its query string. Reports a page beyond MAX_K. */
export function recommendPage(limits: HttpLimits) {
  return z.object({ k: withDefault(count, K_DEFAULT), offset: withDefault(offset, 0) }).superRefine((page, context) => checkPage(page, limits, context));
}

export const similarityQuery = z.object({ id1: externalId, id2: externalId });

export function queryBody(limits: HttpLimits) {
  return z
    .object({
      query: boundedText(limits.queryLengthMax, 'MAX_QUERY_LENGTH'),
      collection_name: collectionName,
      top_k: withDefault(count.meta({ maximum: limits.kMax }), TOP_K_DEFAULT),
      filters: filters(limits),
      min_score: minScore,
      include_timing: includeTiming,
    })
    .transform((body, context) => {
      const { query } = body;
      if (query.trim() === '') report(context, query, 'must not be empty', { kind: 'invalid_parameter', path: ['query'] });
      checkPage({ k: body.top_k, offset: 0 }, limits, context, 'top_k');
      return body;
    });
}

export const searchAnswer = z.object({
  results: z.array(hitAnswer),
  total_count: z.int().meta({ description: 'Vectors in the collection, before filtering.' }),
  k: z.int(),
  offset: z.int(),
  timing_ms: searchTiming.optional(),
  profile: searchProfile.optional(),
});
export const bulkSearchAnswer = z.object({ results: z.array(z.array(hitAnswer)), timing_ms: searchTiming.optional(), profile: searchProfile.optional() });
export const fusedAnswer = z.object({ results: z.array(fusedHitAnswer), timing_ms: searchTiming.optional(), profile: searchProfile.optional() });
export const rankedAnswer = z.object({ results: z.array(hitAnswer), timing_ms: searchTiming.optional(), profile: searchProfile.optional() });
export const recommendAnswer = z.object({ results: z.array(hitAnswer), collection: z.string(), source_id: z.string(), k: z.int(), offset: z.int(), profile: searchProfile.optional() });
export const similarityAnswer = z.object({ id1: z.string(), id2: z.string(), similarity: z.number(), score: z.number() });
export const queryAnswer = z.object({
  query: z.string(),
  collection: z.string(),
  results: z.array(textHitAnswer),
  timing_ms: searchTiming.optional(),
  profile: searchProfile.optional(),
});
