import type * as api from './api';
import { fieldsBody, itemBody, vectorBody } from './bodies';
import { type BulkOptions, type BulkProgress, writeInBatches } from './bulk-write';
import { NotFoundError } from './errors';
import { exportedVectors } from './exported-vectors';
import type {
  Collection,
  CollectionStats,
  Purge,
  Job,
  Judgements,
  WhyReport,
  RecallReport,
  Reshard,
  Sample,
  StoredVector,
} from './generated/api-types';
import { CollectionCalls } from './generated/collection-calls';
import { CallIds, idText, idTexts } from './ids';
import { jsonValue } from './sent-values';
import { listing } from './listing';
import type { CallOptions } from './request';
import type { Filters } from './generated/filter-types';
import type { ExternalId, Metadata } from './values';
import { vectorFromAnswer } from './vectors';

/** Ids that a fetch takes, and queries that a bulk search takes. */
const FETCH_IDS_MAX = 100;
const BULK_QUERIES_MAX = 20;
const SCROLL_LIMIT = 1000;
/** Hits of one page of a search that is read to its end. */
const SEARCH_PAGE = 100;

/** Answers of a service that does not know it have arrays. */
const AS_BASE64 = { vector_format: 'base64' };

/** Segments that addresses resolve, in whatever way they are encoded. */
const DOT_SEGMENTS = ['.', '..'];

/** How a vector is in an answer before it is decoded. */
type OnWire<Answer> = Omit<Answer, 'vector'> & { vector?: string | number[] };

/**
 * One collection, of which nothing is known but its name until a method asks. `Meta` is what its metadata are, for the
 * types of items and hits alone; nothing checks that they are.
 *
 * Ids may be whole numbers, and values in metadata and filters are taken as programs have them (Date, BigInt, Map, …).
 * What can't be sent is an InvalidValueError, which names the item and the field.
 */
export class QuiverCollection<Meta extends object = Metadata> extends CollectionCalls {
  /** Its dimension, metric, size and settings. */
  async info(options?: CallOptions): Promise<Collection> {
    return this.transport.data({ method: 'GET', path: this.path }, options);
  }

  /** How far its index is built, and what it takes of memory and disk. */
  async stats(options?: CallOptions): Promise<CollectionStats> {
    return this.transport.data({ method: 'GET', path: `${this.path}/stats` }, options);
  }

  /**
   * Sets its description, its time to live, its keyword fields, its synonyms or its stop words; null clears them, and
   * what is left out stays. Other keyword fields hold once the job `job_id` of the answer is done (`client.jobs.wait`).
   */
  async update(
    change: {
      description?: string | null;
      ttl_seconds?: number | null;
      keyword_fields?: api.NewCollection['keyword_fields'] | null;
      stop_words?: { add?: string[]; remove?: string[] } | null;
      synonyms?: (string[] | { from: string | string[]; to: string[] })[] | null;
    },
    options?: CallOptions,
  ): Promise<Collection> {
    return this.transport.data({ method: 'PATCH', path: this.path, json: change, isRepeatable: true }, options);
  }

  /** Sets the most that it may hold; what is left out is not bounded, and `{}` takes the quota away (admin). */
  async setQuota(quota: api.NewQuota, options?: CallOptions): Promise<Collection> {
    return this.transport.data(
      { method: 'POST', path: `${this.path}/quota`, json: quota, isRepeatable: true },
      options,
    );
  }

  /** Deletes it with everything in it, for good; a ConflictError for one with aliases, which go with it by `force`. */
  async drop(options?: CallOptions & { force?: boolean }): Promise<api.CollectionDeleted> {
    return this.transport.data({ method: 'DELETE', path: this.path, query: { force: options?.force } }, options);
  }

  /**
   * Makes the best index of the vectors that are there; goes on after the answer, and {@link stats} shows how far it
   * is.
   */
  async optimize(options?: CallOptions): Promise<CollectionStats> {
    return this.post('optimize', undefined, options);
  }

  /**
   * Rewrites its files, so that nothing of deleted and expired items is in them (admin); {@link purgeState} shows how
   * far it is.
   */
  async purge(options?: CallOptions): Promise<Purge> {
    return this.post('purge', undefined, options);
  }

  async purgeState(options?: CallOptions): Promise<Purge> {
    return this.transport.data({ method: 'GET', path: `${this.path}/purge` }, options);
  }

  /** Changes the number of its shards while it is used (admin). */
  async reshard(shards: number, options?: CallOptions): Promise<Reshard> {
    return this.transport.data({ method: 'POST', path: `${this.path}/reshard`, json: { shards } }, options);
  }

  /** Gives up a change of the number of its shards (admin). */
  async cancelReshard(options?: CallOptions): Promise<Reshard> {
    return this.transport.data({ method: 'DELETE', path: `${this.path}/reshard` }, options);
  }

  /**
   * Begins a job that embeds all texts anew with another model (admin). Once it is at its step `ready`, its result says
   * how the vectors differ: `client.jobs.switch` lets the new ones take over, `client.jobs.back` goes back.
   */
  async reembed(request: api.ReembedRequest, options?: CallOptions): Promise<Job> {
    return this.transport.data({ method: 'POST', path: `${this.path}/reembed`, json: request }, options);
  }

  /** Compares calibrated with exact searches: the recall with its error, and times. */
  async recallCheck(request: api.RecallCheckRequest = {}, options?: CallOptions): Promise<RecallReport> {
    return this.post(
      'recall_check',
      {
        ...request,
        queries: request.queries?.map((vector, i) => vectorBody(vector, `queries[${i}]`)),
        filters: jsonValue(request.filters, 'filters'),
      },
      options,
    );
  }

  /** The judgements of the collection, by name. */
  async listJudgements(options?: CallOptions): Promise<Judgements[]> {
    const found = await this.transport.data<{ judgements: Judgements[] }>(
      { method: 'GET', path: `${this.path}/judgements` },
      options,
    );
    return found.judgements;
  }

  /** Queries with the items that answer them; a NotFoundError without them. */
  async getJudgements(name: string, options?: CallOptions): Promise<api.JudgedSet> {
    return this.transport.data({ method: 'GET', path: this.judgementsPath(name) }, options);
  }

  /** Keeps queries with the items that answer them, in the place of what was there under the name. */
  async putJudgements(name: string, queries: api.JudgedQueries, options?: CallOptions): Promise<Judgements> {
    return this.transport.data(
      { method: 'PUT', path: this.judgementsPath(name), json: queries, isRepeatable: true },
      options,
    );
  }

  async deleteJudgements(name: string, options?: CallOptions): Promise<void> {
    await this.transport.data({ method: 'DELETE', path: this.judgementsPath(name) }, options);
  }

  /** Begins a job that compares searches by judged queries; `client.jobs.wait` answers it with its `result`. */
  async evaluate(request: api.EvaluationRequest, options?: CallOptions): Promise<Job> {
    return this.transport.data({ method: 'POST', path: `${this.path}/evaluate`, json: request }, options);
  }

  private judgementsPath(name: string): string {
    return `${this.path}/judgements/${encodeURIComponent(name)}`;
  }

  /**
   * Inserts or updates one item, by its vector or by a text that the service embeds. With `if_version` or `only_if`,
   * only if the stored one is as they say; otherwise a VersionConflictError.
   */
  async upsert(
    item: Omit<api.Giving<api.UpsertRequest, Meta>, 'external_id'> & { external_id: ExternalId },
    options?: CallOptions,
  ): Promise<api.UpsertAnswer> {
    return this.post('upsert', itemBody(item), options);
  }

  /**
   * Inserts or updates up to 1,000 items in one request, all or none. {@link upsertMany} takes any number. With
   * `on_error: 'skip'`, items that are not valid or conflict are left out, and the results say why.
   */
  async bulkUpsert(
    items: readonly api.ItemOf<Meta>[],
    request: Omit<api.BulkUpsertRequest, 'items'> = {},
    options?: CallOptions,
  ): Promise<api.BulkUpsertAnswer> {
    const ids = new CallIds();
    const json = { ...request, items: items.map((item, i) => itemBody(item, i, ids)) };
    // Done twice, the second answer would tell of conflicts with what the first one wrote, and of no error.
    const isRepeatable = request.on_error !== 'skip' || !items.some(isConditional);
    return this.transport.data({ method: 'POST', path: `${this.path}/bulk_upsert`, json, isRepeatable }, options);
  }

  /**
   * Inserts or updates any number of items in batches, several at a time; of two items with one id the later one stays.
   */
  async upsertMany<Id extends ExternalId = string>(
    items: Iterable<api.ItemOf<Meta, Id>> | AsyncIterable<api.ItemOf<Meta, Id>>,
    options?: BulkOptions<api.ItemOf<Meta, Id>, api.BulkUpsertAnswer>,
  ): Promise<BulkProgress> {
    const ids = new CallIds();
    let count = 0;
    return writeInBatches<api.ItemOf<Meta, Id>, api.BulkUpsertAnswer>(
      items,
      {
        idOf: (item) => idText(item.external_id),
        textOf: (item) => JSON.stringify(itemBody(item, count++, ids)),
        send: async (texts, call) => this.post('bulk_upsert', `{"items":[${texts.join(',')}]}`, call),
      },
      options,
    );
  }

  /**
   * Changes parts of one item, and leaves the others: metadata by JSON Merge Patch, unless `metadata_mode` is
   * `replace`; its text, and with it its vector if that was made of the former text (`embed: false`: it stays); its
   * vector. With `if_version`, only if it has that version; otherwise a VersionConflictError.
   */
  async patch(
    id: ExternalId,
    change: Omit<api.Giving<api.ItemChange, Meta>, 'metadata'> & { metadata?: object },
    options?: CallOptions,
  ): Promise<api.ItemChanged> {
    const text = idText(id);
    if (DOT_SEGMENTS.includes(text)) throw noPath(text, 'upsert it with if_version');
    return this.transport.data(
      {
        method: 'PATCH',
        path: `${this.path}/vectors/${encodeURIComponent(text)}`,
        json: fieldsBody(change),
        isRepeatable: true,
      },
      options,
    );
  }

  /**
   * Sets and takes away members of the metadata of every item that matches, each once. Repeated after an answer that
   * was lost, it counts what still matched.
   */
  async updateByFilter(change: api.FilteredChange, options?: CallOptions): Promise<api.FilteredChanged> {
    return this.post('update_by_filter', fieldsBody(change), options);
  }

  /**
   * Deletes one item; with `if_version`, only if it has that version. One that is not there is a NotFoundError: also
   * when it went with an earlier attempt whose answer was lost (`afterLostAnswer`).
   */
  async delete(
    given: ExternalId,
    request: { if_version?: number } = {},
    options?: CallOptions,
  ): Promise<api.VectorDeleted> {
    const id = idText(given);
    if (!DOT_SEGMENTS.includes(id)) {
      return this.transport.data(
        {
          method: 'DELETE',
          path: `${this.path}/delete/${encodeURIComponent(id)}`,
          query: { if_version: request.if_version },
          isRepeatable: true,
        },
        options,
      );
    }
    const { deleted } = await this.deleteBatch(
      [id],
      { if_versions: request.if_version === undefined ? undefined : [request.if_version] },
      options,
    );
    if (deleted.length === 0) throw this.notThere('DELETE', id);
    return { deleted: id, external_id: id, status: 'deleted' };
  }

  /**
   * Deletes up to 1,000 items in one request; those that are not there are listed. {@link deleteMany} takes any number.
   * `if_versions` are the versions that they must have, in the order of the ids; null: any.
   */
  async deleteBatch(
    ids: readonly ExternalId[],
    request: { if_versions?: readonly (number | null)[] | undefined } = {},
    options?: CallOptions,
  ): Promise<api.BatchDeleted> {
    return this.post('delete_batch', { ...request, external_ids: idTexts(ids, 'external_ids') }, options);
  }

  /** Deletes any number of items in batches, several at a time. */
  async deleteMany<Id extends ExternalId = string>(
    ids: Iterable<Id> | AsyncIterable<Id>,
    options?: BulkOptions<Id, api.BatchDeleted>,
  ): Promise<BulkProgress> {
    const send = async (texts: readonly string[], call: CallOptions): Promise<api.BatchDeleted> =>
      this.post('delete_batch', `{"external_ids":[${texts.join(',')}]}`, call);
    return writeInBatches<Id, api.BatchDeleted>(
      ids,
      { idOf: (id) => idText(id), textOf: (id) => JSON.stringify(idText(id)), send },
      options,
    );
  }

  /** Deletes every item whose metadata match; filters must not be empty. */
  async deleteByFilter(filters: Filters, options?: CallOptions): Promise<api.FilteredDeleted> {
    return this.post('delete_by_filter', { filters: jsonValue(filters, 'filters') }, options);
  }

  /** One stored item; a NotFoundError without it. */
  async get(
    given: ExternalId,
    options?: CallOptions,
  ): Promise<api.Typed<StoredVector, Meta> & { vector: Float32Array }> {
    const id = idText(given);
    if (!DOT_SEGMENTS.includes(id)) {
      const found: OnWire<StoredVector> = await this.transport.data(
        { method: 'GET', path: `${this.path}/vectors/${encodeURIComponent(id)}`, query: AS_BASE64 },
        options,
      );
      return decoded<Meta>(found) as api.Typed<StoredVector, Meta> & { vector: Float32Array };
    }
    const [found] = await this.fetch([id], {}, options);
    if (found === undefined) throw this.notThere('GET', id);
    return found as api.Typed<StoredVector, Meta> & { vector: Float32Array };
  }

  /** Stored items by id, in the order asked; those that are not there are left out. Asks for 100 at a time. */
  async fetch(
    ids: readonly ExternalId[],
    request: { include_vectors?: boolean } = {},
    options?: CallOptions,
  ): Promise<api.Typed<StoredVector, Meta>[]> {
    const found: api.Typed<StoredVector, Meta>[] = [];
    for (const part of partsOf(idTexts(ids, 'ids'), FETCH_IDS_MAX)) {
      const { vectors } = await this.post<{ vectors: OnWire<StoredVector>[] }>(
        'vectors/fetch',
        { ...AS_BASE64, ...request, ids: part },
        options,
      );
      found.push(...vectors.map((one) => decoded<Meta>(one)));
    }
    return found;
  }

  /** One page of the collection in insertion order; `next_cursor` is null at its end. */
  async scrollPage(request: api.ScrollRequest = {}, options?: CallOptions): Promise<api.TypedPage<Meta>> {
    const page = await this.post<{ vectors: OnWire<StoredVector>[]; next_cursor: string | null }>(
      'scroll',
      { ...AS_BASE64, ...fieldsBody(request) },
      options,
    );
    const vectors = page.vectors.map((one) => decoded<Meta>(one));
    return listing({ ...page, vectors }, vectors);
  }

  /** Every item that matches, in insertion order, page by page: a collection of any size, also while it changes. */
  async *scroll(request: api.ScrollRequest = {}, options?: CallOptions): AsyncGenerator<api.Typed<StoredVector, Meta>> {
    let cursor: string | null | undefined = request.cursor;
    do {
      const page: api.TypedPage<Meta> = await this.scrollPage(
        { limit: SCROLL_LIMIT, ...request, cursor: cursor ?? undefined },
        options,
      );
      yield* page.vectors;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  /**
   * Its first vectors in insertion order (`limit`, by default 10,000, at most 100,000) in one streamed answer. An
   * answer that breaks off throws; {@link scroll} goes through collections of any size, and repeats a page that failed.
   */
  export(request: api.ExportQuery = {}, options?: CallOptions): AsyncGenerator<api.Typed<api.ExportedVector, Meta>> {
    return exportedVectors<Meta>(
      this.transport.pieces(
        { method: 'GET', path: `${this.path}/export`, query: { ...request, ...AS_BASE64 } },
        options,
      ),
    );
  }

  /** A uniform sample of the items that match, with their vectors or a projection of them on request. */
  async sample(request: api.SampleRequest = {}, options?: CallOptions): Promise<Sample> {
    const sample = await this.post<Sample>('sample', fieldsBody(request), options);
    for (const part of [sample.vectors, sample.projection])
      if (part !== undefined) part.data = vectorFromAnswer(part.data as unknown as string);
    return sample;
  }

  /** What fields its items have, and what is in them, by a sample. */
  async describe(request: api.DescribeRequest = {}, options?: CallOptions): Promise<api.Description> {
    return this.post<api.Description>('describe', fieldsBody(request), options);
  }

  /** The nearest items to a vector, or to a text that the service embeds. */
  async search(
    request: api.SearchRequest & api.Profiled,
    options?: CallOptions,
  ): Promise<api.TypedAnswer<api.SearchAnswer, Meta>> {
    return this.ask<api.SearchAnswer>('search', request, options);
  }

  /**
   * Every hit of a search, best first, page by page: of what has not changed since the first page, none twice. The
   * service sets a time for all of them (CURSOR_SECONDS). Groups and other forms: `cursor` of their requests.
   */
  async *searchAll(
    request: Omit<api.SearchRequest, 'cursor' | 'offset' | 'group_by' | 'group_size' | 'group_missing'>,
    options?: CallOptions,
  ): AsyncGenerator<NonNullable<api.TypedAnswer<api.SearchAnswer, Meta>['results']>[number]> {
    let cursor: string | null = 'first';
    do {
      const page: api.TypedAnswer<api.SearchAnswer, Meta> = await this.search(
        { k: SEARCH_PAGE, ...request, cursor },
        options,
      );
      yield* page.results ?? [];
      cursor = page.next_cursor ?? null;
    } while (cursor !== null);
  }

  /**
   * Several searches; results are in the order of the queries. Asks for 20 at a time. With `profile`, also where the
   * time went, of each of these requests. A query with `group_by` has its hits one group's after the other's.
   */
  async bulkSearch(
    queries: readonly api.BulkSearchQuery[],
    options: CallOptions & { profile: true },
  ): Promise<api.ProfiledBulkSearch>;
  async bulkSearch(
    queries: readonly api.BulkSearchQuery[],
    options?: CallOptions & { profile?: false },
  ): Promise<api.BulkSearchAnswer['results']>;
  async bulkSearch(
    queries: readonly api.BulkSearchQuery[],
    { profile = false, ...options }: CallOptions & api.Profiled = {},
  ): Promise<api.BulkSearchAnswer['results'] | api.ProfiledBulkSearch> {
    const found: api.ProfiledBulkSearch = { results: [], profiles: [] };
    const bodies = queries.map((query, i) => fieldsBody(query, `queries[${i}]`));
    for (const part of partsOf(bodies, BULK_QUERIES_MAX)) {
      const query = profile ? { profile } : {};
      const json = { queries: part };
      const answer = await this.transport.data<api.BulkSearchAnswer>(
        { method: 'POST', path: `${this.path}/bulk_search`, query, json, isRepeatable: true },
        options,
      );
      found.results.push(
        ...answer.results.map((hits, i) => answer.groups?.[i]?.flatMap((group) => group.hits) ?? hits),
      );
      if (answer.profile !== undefined) found.profiles.push(answer.profile);
    }
    return profile ? found : found.results;
  }

  /** Search by meaning and keywords together: `alpha` 1 is the vector alone, 0 the keywords alone. */
  async hybridSearch(
    request: api.HybridSearchRequest & api.Profiled,
    options?: CallOptions,
  ): Promise<api.TypedAnswer<api.HybridSearchAnswer, Meta>> {
    return this.ask<api.HybridSearchAnswer>('hybrid_search', request, options);
  }

  /** Why a search, hybrid where it has `query_text`, does not find an item. */
  async why(
    id: ExternalId,
    request: api.SearchRequest | api.HybridSearchRequest,
    options?: CallOptions,
  ): Promise<WhyReport> {
    return this.post('why', { ...fieldsBody(request), external_id: idText(id) }, options);
  }

  /** Exact scores of listed items; those that are not there are left out. */
  async rerank(
    request: Omit<api.RerankRequest, 'candidates'> & { candidates: readonly ExternalId[] } & api.Profiled,
    options?: CallOptions,
  ): Promise<api.TypedAnswer<api.RerankAnswer, Meta>> {
    return this.ask<api.RerankAnswer>(
      'rerank',
      { ...request, candidates: idTexts(request.candidates, 'candidates') },
      options,
    );
  }

  /** Items that are like a stored one, which is left out. */
  async recommend(
    given: ExternalId,
    request: api.RecommendRequest & api.Profiled = {},
    options?: CallOptions,
  ): Promise<api.TypedAnswer<api.RecommendAnswer, Meta>> {
    const id = idText(given);
    if (DOT_SEGMENTS.includes(id)) throw noPath(id, 'get its vector and search for that');
    return this.ask<api.RecommendAnswer>(`recommend/${encodeURIComponent(id)}`, request, options);
  }

  /** How many items pass the filters, exactly; without filters, all. */
  async count(request: api.CountRequest = {}, options?: CallOptions): Promise<number> {
    const { count } = await this.transport.data<api.CountAnswer>(
      { method: 'POST', path: `${this.path}/count`, json: fieldsBody(request), isRepeatable: true },
      options,
    );
    return count;
  }

  /** How keyword search cuts a text into terms, and where in the text they are. */
  async analyse(request: api.AnalysisRequest, options?: CallOptions): Promise<api.AnalysisAnswer> {
    return this.post<api.AnalysisAnswer>('analyse', fieldsBody(request), options);
  }

  /** The cosine of two stored vectors. */
  async similarity(id1: ExternalId, id2: ExternalId, options?: CallOptions): Promise<api.SimilarityAnswer> {
    const query = { id1: idText(id1, 'id1'), id2: idText(id2, 'id2') };
    return this.transport.data({ method: 'POST', path: `${this.path}/similarity`, query, isRepeatable: true }, options);
  }

  /** A search, whose profile is asked for in the address. */
  private async ask<Answer extends { results: unknown[] }>(
    path: string,
    { profile, ...request }: api.Profiled & Record<string, unknown>,
    options?: CallOptions,
  ): Promise<api.TypedAnswer<Answer, Meta>> {
    const answer = await this.transport.data<api.Sent<Answer>>(
      {
        method: 'POST',
        path: `${this.path}/${path}`,
        query: { profile },
        json: fieldsBody(request),
        isRepeatable: true,
      },
      options,
    );
    const results = answer.results ?? [];
    return listing({ ...answer, results }, results) as unknown as api.TypedAnswer<Answer, Meta>;
  }

  /** A POST that may be repeated: all but reshard, which would find itself under way. */
  private async post<Answer>(path: string, json: unknown, options?: CallOptions): Promise<Answer> {
    return this.transport.data({ method: 'POST', path: `${this.path}/${path}`, json, isRepeatable: true }, options);
  }

  private notThere(method: string, id: string): NotFoundError {
    return new NotFoundError(`there is no vector ${JSON.stringify(id)} in the collection ${this.name}`, {
      code: 404,
      requestId: null,
      retryAfterMs: null,
      method,
      path: `${this.path}/vectors/${id}`,
      attempts: 1,
    });
  }
}

function isConditional({ if_version, only_if }: Pick<api.Item, 'if_version' | 'only_if'>): boolean {
  return (if_version ?? only_if) !== undefined;
}

function noPath(id: string, instead: string): RangeError {
  return new RangeError(`fetch can not send the id ${JSON.stringify(id)} in a path: ${instead}`);
}

function decoded<Meta extends object>(found: OnWire<StoredVector>): api.Typed<StoredVector, Meta> {
  const { vector, ...others } = found;
  return (vector === undefined ? others : { ...others, vector: vectorFromAnswer(vector) }) as api.Typed<
    StoredVector,
    Meta
  >;
}

function partsOf<Element>(list: readonly Element[], size: number): Element[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size));
}
