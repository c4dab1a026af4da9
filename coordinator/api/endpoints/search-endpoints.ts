import { packedCount } from '../../../shared/wire/codecs/hit-codec';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Leg, SearchRequest } from '../../service/search-request';
import type { FoundList, ScoredHit, SearchAnswer, SearchService } from '../../service/service';
import {
  foundPieces,
  groupListsPieces,
  groupsPieces,
  hitJson,
  hitListsPieces,
  hitWriter,
  rerankMember,
  scoreJson,
  textHitJson,
  timingMember,
} from '../answers/answer-json';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Answer, Endpoint, EndpointCall } from './endpoint';
import { FilterDoubts, type NamedField, orderingFields } from '../answers/filter-doubts';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';
import { collectionParameters } from '../schema/collection-schemas';
import { validate } from '../fields/issue';
import * as schemas from '../schema/search-schemas';
import { vectorPath } from '../schema/vector-schemas';
import { warnOfCutTexts } from '../answers/vector-remarks';

const tag = 'Search';
const NO_LEGS: readonly Leg[] = [];
/** The member that says what order_by ordered. */
const WITHIN_HITS = ',"within":"hits"';
const EXAMPLE_VECTOR = [0.1, 0.2, 0.3];

/** What a request that searches has, whichever endpoint it is of. */
interface SearchCall extends Pick<EndpointCall, 'hold' | 'profile' | 'warnings'> {
  collection: string;
  search: SearchRequest;
  includeTiming: boolean;
  /** The field of the request with the words to find; default: query_text. */
  wordsField?: string;
  /** JSON of members before the hits, each with a comma behind it. */
  before?: string;
  /** JSON of members behind the hits, each with a comma before it. */
  members?: (found: SearchAnswer) => string;
  hit?: (hit: ScoredHit) => string;
}

/** Searches, tells what the request may not have meant, and answers the hits. */
function searcher(search: SearchService, doubts: FilterDoubts): (call: SearchCall) => Answer | Promise<Answer> {
  return ({
    collection,
    search: request,
    includeTiming,
    wordsField = 'query_text',
    before = '',
    members,
    hit = hitJson,
    hold,
    profile,
    warnings,
  }) => {
    const answer = (found: SearchAnswer): Answer => {
      const { utf8Hits, timing, totalMatches } = found;
      const total = totalMatches === undefined ? '' : `,"total_matches":${totalMatches}`;
      const within = request.output.order === undefined ? '' : WITHIN_HITS;
      const facts = `${total}${rerankMember(found.rerank)}${cursorMember(found)}${depthMember(found)}${within}`;
      const timed = `${timingMember(timing, includeTiming)}${profile()}}`;
      const behind = `${members === undefined ? '' : members(found)}${facts}${timed}`;
      const head = `{${before}"${found.groups === undefined ? 'results' : 'groups'}":`;
      if (utf8Hits !== undefined) return { type: 'hits', before: head, hits: utf8Hits, behind, worked: timing };
      const writer = hitWriter(request.output, hit);
      const pieces =
        found.groups === undefined
          ? foundPieces(head, found, writer, behind)
          : groupsPieces(head, found.groups, found.later, writer, behind);
      return { type: 'pieces', pieces, worked: timing };
    };
    const { filter, source } = request.query;
    const looked = (found: SearchAnswer): Answer | Promise<Answer> => {
      const legs = source.type === 'fused' ? source.legs : NO_LEGS;
      const told = legs.some((leg) => leg.filter !== null) ? lookedAtAll(found, legs) : lookedAt(found);
      return told === undefined ? answer(found) : told.then(() => answer(found));
    };
    const lookedAtAll = async (found: SearchAnswer, legs: readonly Leg[]): Promise<void> => {
      await lookedAt(found);
      // Of one leg it is not known whether something passed.
      const used = { collection, hasHits: false };
      for (const [i, leg] of legs.entries())
        await doubts.look({ ...used, filter: leg.filter, place: `legs[${i}].filters` }, warnings);
    };
    const lookedAt = (found: SearchAnswer): Promise<void> | undefined => {
      if (found.cut !== undefined) warnOfCutTexts(found, warnings);
      const named = namedFields(request, '', wordsField);
      if (filter === null && named === undefined) return undefined;
      const { utf8Hits, hits, totalCount } = found;
      const hasHits = utf8Hits === undefined ? hits.length > 0 : packedCount(utf8Hits) > 0;
      return doubts.look(
        { collection, filter, hasHits, ...(totalCount !== null && { total: totalCount }), ...(named && { named }) },
        warnings,
      );
    };
    const found = search.search(collection, request, hold);
    return found instanceof Promise ? found.then(looked) : looked(found);
  };
}

/**
 * The fields by which a search groups, orders, boosts or keeps hits apart, or in which it looks for words; undefined:
 * there are none. `at`: where it stands in the request; `words`: where its words stand. Fields of words that must be
 * there are of the filter.
 */
export function namedFields(
  { query: { source, boosts }, page: { groups, diversity }, output: { order } }: SearchRequest,
  at: string,
  words: string,
): NamedField[] | undefined {
  const legs = source.type === 'fused' ? source.legs : NO_LEGS;
  const ofWords = legs.flatMap(({ name, of }, i) =>
    (of.type === 'keywords' ? (of.keywords?.clauses ?? []) : []).flatMap(({ occurs, path }) =>
      occurs === 'may' && path !== undefined
        ? [{ path, place: `${at}${name === undefined ? `legs[${i}].query_text` : words}` }]
        : [],
    ),
  );
  const apart = diversity?.type === 'field' ? [{ path: diversity.path, place: `${at}diversity.field` }] : [];
  const boosting = (boosts?.parts ?? []).flatMap((boost, i) =>
    boost.type === 'filter' ? [] : [{ path: boost.path, place: `${at}boosts[${i}].field` }],
  );
  const others = ofWords.length + apart.length + boosting.length;
  if (groups === undefined && order === undefined && others === 0) return undefined;
  const grouping = groups === undefined ? [] : [{ path: groups.path, place: `${at}group_by` }];
  const all = [...ofWords, ...grouping, ...apart, ...boosting, ...orderingFields(order, at)];
  return all.length === 0 ? undefined : all;
}

/** The member `total_matches` of several searches, with a comma before it; empty if none of them was to say it. */
function totalsMember(results: readonly FoundList[]): string {
  if (results.every(({ totalMatches }) => totalMatches === undefined)) return '';
  return `,"total_matches":${JSON.stringify(results.map(({ totalMatches = null }) => totalMatches))}`;
}

/** The member `rerank` of several searches, with a comma before it; empty if none of them reranks. */
function rerankedMember(results: readonly FoundList[]): string {
  if (results.every(({ rerank }) => rerank === undefined)) return '';
  return `,"rerank":${JSON.stringify(results.map(({ rerank = null }) => rerank))}`;
}

/** The member `next_cursor` with a comma before it; empty where the request has no cursor. */
function cursorMember({ nextCursor }: FoundList): string {
  return nextCursor === undefined ? '' : `,"next_cursor":${JSON.stringify(nextCursor)}`;
}

/** The same of several searches; empty if none of them has a cursor. */
function cursorsMember(results: readonly FoundList[]): string {
  if (results.every(({ nextCursor }) => nextCursor === undefined)) return '';
  return `,"next_cursor":${JSON.stringify(results.map(({ nextCursor = null }) => nextCursor))}`;
}

/** The member `boost_depth` with a comma before it; empty if all items were reached. */
function depthMember({ boostDepth }: FoundList): string {
  return boostDepth === undefined ? '' : `,"boost_depth":${boostDepth}`;
}

/** The same of several searches; empty if each of them has reached all. */
function depthsMember(results: readonly FoundList[]): string {
  if (results.every(({ boostDepth }) => boostDepth === undefined)) return '';
  return `,"boost_depth":${JSON.stringify(results.map(({ boostDepth = null }) => boostDepth))}`;
}

/** Errors: limit_exceeded when a model is to read more than may wait for it: that would never be let in. */
function checkReranked(queries: readonly SearchRequest[]): void {
  const total = queries.reduce((sum, { rerank }) => sum + (rerank?.topN ?? 0), 0);
  const most = REQUEST_BOUNDS.rerankedTotalMax;
  if (total > most)
    throw new QuiverError(
      'limit_exceeded',
      `queries: rerank.top_n of all is ${total} together, more than the maximum of ${most}; give less, or fewer queries`,
    );
}

export function searchEndpoints(parts: { search: SearchService; limits: HttpLimits }): Endpoint[] {
  const { search, limits } = parts;
  const recommendSearch = schemas.recommendSearch(limits);
  const rerankSearch = schemas.rerankSearch(limits);
  const doubts = new FilterDoubts(search);
  const answered = searcher(search, doubts);
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/search',
      access: 'readonly',
      tag,
      summary: 'Find the nearest vectors',
      description: 'Order: score, highest first, then external_id. k + offset is at most MAX_K.',
      path: collectionParameters,
      query: schemas.profileQuery,
      isProfiled: true,
      body: {
        type: 'json',
        required: true,
        schema: schemas.searchBody(limits),
        withVector: schemas.searchWithVector,
        example: { vector: EXAMPLE_VECTOR, k: 5, filters: { topic: 'rivers' } },
      },
      answer: { type: 'data', schema: schemas.searchAnswer },
      errors: [404],
      handle: ({ path, body, hold, profile, warnings }) => {
        const { k, offset } = body.search.page;
        return answered({
          collection: path.name,
          ...body,
          hold,
          profile,
          warnings,
          members: ({ totalCount }) => `,"total_count":${totalCount},"k":${k},"offset":${offset}`,
        });
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/bulk_search',
      access: 'readonly',
      tag,
      summary: 'Run several searches in one call',
      path: collectionParameters,
      query: schemas.profileQuery,
      isProfiled: true,
      body: {
        type: 'json',
        required: true,
        ...schemas.bulkSearchBody(limits),
        example: {
          queries: [
            { vector: EXAMPLE_VECTOR, k: 5 },
            { text: 'rivers', k: 3 },
          ],
        },
      },
      answer: { type: 'data', schema: schemas.bulkSearchAnswer },
      errors: [404],
      handle: async ({ path, body, hold, profile, warnings }) => {
        checkReranked(body.queries);
        const answer = await search.searchAll(path.name, body.queries, hold);
        const { results, timing } = answer;
        warnOfCutTexts(answer, warnings, (index) => `queries[${index}]`);
        for (const [i, one] of body.queries.entries()) {
          const named = namedFields(one, `queries[${i}].`, 'query_text');
          await doubts.look(
            {
              collection: path.name,
              filter: one.query.filter,
              hasHits: results[i].hits.length > 0,
              place: `queries[${i}].filters`,
              ...(named && { named }),
            },
            warnings,
          );
        }
        const within = body.queries.some(({ output }) => output.order !== undefined) ? WITHIN_HITS : '';
        const behind = `${totalsMember(results)}${rerankedMember(results)}${cursorsMember(results)}${depthsMember(results)}${within}${timingMember(timing, body.include_timing)}${profile()}}`;
        const writers = body.queries.map(({ output }) => hitWriter(output));
        const isGrouped = results.some(({ groups }) => groups !== undefined);
        return {
          type: 'pieces',
          pieces: isGrouped
            ? groupListsPieces('{"results":', results, writers, behind)
            : hitListsPieces('{"results":', results, writers, behind),
          worked: timing,
        };
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/hybrid_search',
      access: 'readonly',
      tag,
      summary: 'Search by vector and keywords together',
      description:
        'Reciprocal Rank Fusion: alpha / (60 + vector rank) + (1 − alpha) / (60 + keyword rank), or another ' +
        '`fusion`. Both lists are at least max(200, 5 × (k + offset)) deep. Pages of one size that begin at ' +
        'offset 0 continue each other.',
      path: collectionParameters,
      query: schemas.profileQuery,
      isProfiled: true,
      body: {
        type: 'json',
        required: true,
        schema: schemas.hybridSearchBody(limits),
        example: { query_text: 'rivers', vector: EXAMPLE_VECTOR, alpha: 0.5 },
      },
      answer: { type: 'data', schema: schemas.fusedAnswer },
      errors: [404],
      handle: ({ path, body, hold, profile, warnings }) =>
        answered({ collection: path.name, ...body, hold, profile, warnings }),
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/rerank',
      access: 'readonly',
      tag,
      summary: 'Score listed candidates exactly',
      description: 'Unknown candidates are skipped, repeated ones count once.',
      path: collectionParameters,
      query: schemas.profileQuery,
      isProfiled: true,
      body: {
        type: 'json',
        required: true,
        ...schemas.rerankBody(limits),
        example: { vector: EXAMPLE_VECTOR, candidates: ['a-1'] },
      },
      answer: { type: 'data', schema: schemas.rankedAnswer },
      errors: [404],
      handle: ({ path, body, hold, profile, warnings }) =>
        answered({
          collection: path.name,
          search: rerankSearch(body),
          includeTiming: body.include_timing,
          hold,
          profile,
          warnings,
        }),
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/recommend/{id}',
      access: 'readonly',
      tag,
      summary: 'Find vectors similar to a stored one',
      description:
        'The stored vector itself is left out; with positives and negatives, it is the first of the positives. k ' +
        'and offset in the body win over those in the query string.',
      path: vectorPath,
      query: schemas.recommendQuery,
      isProfiled: true,
      body: { type: 'json', required: false, schema: schemas.recommendBody(limits), example: { k: 5 } },
      answer: { type: 'data', schema: schemas.recommendAnswer },
      errors: [404],
      handle: ({ path, query, body, hold, profile, warnings }) => {
        const request = validate(recommendSearch, { externalId: path.id, body, query }, 'body');
        const { k, offset } = request.page;
        const members = `,"collection":${JSON.stringify(path.name)},"source_id":${JSON.stringify(path.id)},"k":${k},"offset":${offset}`;
        return answered({
          collection: path.name,
          search: request,
          includeTiming: body.include_timing,
          hold,
          profile,
          warnings,
          members: () => members,
        });
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/count',
      access: 'readonly',
      tag,
      summary: 'Count the items that pass filters',
      description: 'Exact. Without filters it is the number of all items.',
      path: collectionParameters,
      body: {
        type: 'json',
        required: false,
        schema: schemas.countBody(limits),
        example: { filters: { topic: 'rivers' } },
      },
      answer: { type: 'data', schema: schemas.countAnswer },
      errors: [404],
      handle: async ({ path, body: { filters: filter }, warnings }) => {
        const count = await search.count(path.name, filter);
        await doubts.look({ collection: path.name, filter, hasHits: count > 0 }, warnings);
        return dataAnswer({ count });
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/similarity',
      access: 'readonly',
      tag,
      summary: 'Cosine similarity of two stored vectors',
      path: collectionParameters,
      query: schemas.similarityQuery,
      answer: { type: 'data', schema: schemas.similarityAnswer },
      errors: [404],
      handle: async ({ path, query: { id1, id2 } }) => {
        const similarity = scoreJson(await search.similarity(path.name, id1, id2));
        const ids = `"id1":${JSON.stringify(id1)},"id2":${JSON.stringify(id2)}`;
        return { type: 'data', json: `{${ids},"similarity":${similarity},"score":${similarity}}` };
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/query',
      access: 'readonly',
      collections: { type: 'body', field: 'collection_name' },
      tag: 'Documents',
      summary: 'Ask in natural language; answers with texts',
      query: schemas.profileQuery,
      isProfiled: true,
      body: {
        type: 'json',
        required: true,
        schema: schemas.queryBody(limits),
        example: { query: 'Which rivers flood in spring?', collection_name: 'articles', top_k: 3 },
      },
      answer: { type: 'data', schema: schemas.queryAnswer },
      errors: [404],
      handle: ({
        body: { text, collection_name: collection, search: request, includeTiming },
        hold,
        profile,
        warnings,
      }) => {
        const before = `"query":${JSON.stringify(text)},"collection":${JSON.stringify(collection)},`;
        return answered({
          collection,
          search: request,
          includeTiming,
          hold,
          profile,
          warnings,
          wordsField: 'query',
          before,
          hit: textHitJson,
        });
      },
    }),
  ];
}
