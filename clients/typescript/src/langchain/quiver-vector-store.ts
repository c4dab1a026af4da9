import { Document, type DocumentInterface } from '@langchain/core/documents';
import type { EmbeddingsInterface } from '@langchain/core/embeddings';
import { maximalMarginalRelevance } from '@langchain/core/utils/math';
import { type MaxMarginalRelevanceSearchOptions, VectorStore } from '@langchain/core/vectorstores';
import type { NewCollection } from '../api';
import { QuiverClient } from '../client';
import type { QuiverCollection } from '../collection';
import { ConflictError, NotFoundError } from '../errors';
import type { StoredVector } from '../generated/api-types';
import type { QuiverOptions } from '../transport';
import type { Filters } from '../generated/filter-types';

/** Where documents are kept, and how. */
export interface QuiverVectorStoreConfig {
  /** The service: a client, or what makes one. */
  client: QuiverClient | QuiverOptions;
  /**
   * The collection's name. It is made when the first documents come, with the dimension of their vectors, unless it is
   * there.
   */
  collection: string;
  /** What it is made with; `language` makes keywords find other forms of words. */
  create?: Omit<NewCollection, 'name' | 'dim'>;
  /**
   * Given, searches by text weigh meaning against keywords: alpha 1 is the vector alone, 0 the keywords alone. Their
   * scores are those of ranks then. Left out, they go by the vector.
   */
  hybrid?: { alpha: number };
}

/** What a document is made of: an item, or a hit. */
type Stored = Pick<StoredVector, 'external_id' | 'metadata'> & { text?: string | null };

/** Which documents go. */
export type QuiverDeleteParams = { ids: string[] } | { filter: Filters };

/** How {@link QuiverVectorStore.hybridSearchWithScore} weighs and restricts. */
export interface HybridSearchOptions {
  alpha?: number;
  filter?: Filters;
}

/** Hits among which a marginally relevant choice is made, unless the caller says. */
const FETCH_K = 20;
const LAMBDA = 0.5;

/**
 * A LangChain vector store over a collection of Quiver. A document's text is kept as the item's text, where keyword
 * search finds it, its metadata as they are, its id as external_id.
 */
export class QuiverVectorStore extends VectorStore {
  declare FilterType: Filters;
  /** The service and the collection behind the store, for what LangChain has no word for. */
  readonly client: QuiverClient;
  readonly collection: QuiverCollection;
  private readonly create: Omit<NewCollection, 'name' | 'dim'>;
  private readonly hybrid: { alpha: number } | null;
  private isThere = false;

  constructor(embeddings: EmbeddingsInterface, config: QuiverVectorStoreConfig) {
    super(embeddings, { collection: config.collection });
    this.client = config.client instanceof QuiverClient ? config.client : new QuiverClient(config.client);
    this.collection = this.client.collection(config.collection);
    this.create = config.create ?? {};
    this.hybrid = config.hybrid ?? null;
  }

  _vectorstoreType(): string {
    return 'quiver';
  }

  /** Embeds documents and stores them; answers their ids. One whose id is there replaces it. */
  async addDocuments(documents: DocumentInterface[], options?: { ids?: string[] }): Promise<string[]> {
    return this.addVectors(
      await this.embeddings.embedDocuments(documents.map(({ pageContent }) => pageContent)),
      documents,
      options,
    );
  }

  /** Stores documents with their vectors; ids are those given, else the documents' own, else new ones. */
  async addVectors(
    vectors: number[][],
    documents: DocumentInterface[],
    options: { ids?: string[] } = {},
  ): Promise<string[]> {
    if (vectors.length !== documents.length)
      throw new RangeError(`there are ${vectors.length} vectors for ${documents.length} documents`);
    if (options.ids !== undefined && options.ids.length !== documents.length)
      throw new RangeError(`there are ${options.ids.length} ids for ${documents.length} documents`);
    if (documents.length === 0) return [];
    await this.ensureCollection(vectors[0].length);
    const ids = documents.map(({ id }, i) => options.ids?.[i] ?? id ?? globalThis.crypto.randomUUID());
    await this.collection.upsertMany(
      documents.map(({ pageContent, metadata }, i) => ({
        external_id: ids[i],
        vector: vectors[i],
        text: pageContent,
        metadata,
      })),
    );
    return ids;
  }

  /** Deletes documents by id, of which some may be gone already, or by a filter. */
  override async delete(params: QuiverDeleteParams): Promise<void> {
    try {
      if ('ids' in params) await this.collection.deleteMany(params.ids);
      else await this.collection.deleteByFilter(params.filter);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }

  /** Documents by id, in that order; those that are not there are left out. */
  async getByIds(ids: string[]): Promise<Document[]> {
    const found = await this.ifThere(async () => this.collection.fetch(ids, { include_vectors: false }));
    return (found ?? []).map(documentOf);
  }

  async similaritySearchVectorWithScore(
    query: number[],
    k: number,
    filter?: this['FilterType'],
  ): Promise<[Document, number][]> {
    const answer = await this.ifThere(async () =>
      this.collection.search({ vector: query, k, filters: filter, include_text: true }),
    );
    return scored(answer?.results ?? []);
  }

  override async similaritySearch(query: string, k = 4, filter?: this['FilterType']): Promise<Document[]> {
    return (await this.similaritySearchWithScore(query, k, filter)).map(([document]) => document);
  }

  override async similaritySearchWithScore(
    query: string,
    k = 4,
    filter?: this['FilterType'],
  ): Promise<[Document, number][]> {
    if (this.hybrid !== null) return this.hybridSearchWithScore(query, k, { alpha: this.hybrid.alpha, filter });
    return this.similaritySearchVectorWithScore(await this.embeddings.embedQuery(query), k, filter);
  }

  /** Documents by meaning and keywords together, with the scores of their ranks. */
  async hybridSearchWithScore(
    query: string,
    k = 4,
    { alpha, filter }: HybridSearchOptions = {},
  ): Promise<[Document, number][]> {
    const vector = await this.embeddings.embedQuery(query);
    const answer = await this.ifThere(async () =>
      this.collection.hybridSearch({ query_text: query, vector, k, alpha, filters: filter, include_text: true }),
    );
    return scored(answer?.results ?? []);
  }

  /** Documents that are near the query and unlike each other. */
  override async maxMarginalRelevanceSearch(
    query: string,
    options: MaxMarginalRelevanceSearchOptions<this['FilterType']>,
  ): Promise<Document[]> {
    const { k, fetchK = Math.max(FETCH_K, k), lambda = LAMBDA, filter } = options;
    const vector = await this.embeddings.embedQuery(query);
    const answer = await this.ifThere(async () =>
      this.collection.search({ vector, k: fetchK, filters: filter, fields: [] }),
    );
    const found = await this.collection.fetch((answer?.results ?? []).map(({ external_id }) => external_id));
    const chosen = maximalMarginalRelevance(
      vector,
      found.map((item) => Array.from(item.vector ?? [])),
      lambda,
      k,
    );
    return chosen.map((i) => documentOf(found[i]));
  }

  /** A store with a document for each text; `metadatas` are one for each, or one for all. */
  static override async fromTexts(
    texts: string[],
    metadatas: object[] | object,
    embeddings: EmbeddingsInterface,
    config: QuiverVectorStoreConfig,
  ): Promise<QuiverVectorStore> {
    const documents = texts.map(
      (pageContent, i) =>
        new Document({
          pageContent,
          metadata: (Array.isArray(metadatas) ? metadatas[i] : metadatas) as Record<string, unknown>,
        }),
    );
    return this.fromDocuments(documents, embeddings, config);
  }

  /** A store with documents. */
  static override async fromDocuments(
    documents: DocumentInterface[],
    embeddings: EmbeddingsInterface,
    config: QuiverVectorStoreConfig,
  ): Promise<QuiverVectorStore> {
    const store = new this(embeddings, config);
    await store.addDocuments(documents);
    return store;
  }

  /** A store over a collection that must be there; a NotFoundError without it. */
  static async fromExistingCollection(
    embeddings: EmbeddingsInterface,
    config: Omit<QuiverVectorStoreConfig, 'create'>,
  ): Promise<QuiverVectorStore> {
    const store = new this(embeddings, config);
    await store.collection.info();
    return store;
  }

  private async ensureCollection(dim: number): Promise<void> {
    if (this.isThere) return;
    const { name } = this.collection;
    await this.client.createCollection({ ...this.create, name, dim }).catch((error: unknown) => {
      if (!(error instanceof ConflictError)) throw error;
    });
    this.isThere = true;
  }

  /** null while the collection is still to be made: such a store is empty. */
  private async ifThere<Answer>(read: () => Promise<Answer>): Promise<Answer | null> {
    return read().catch((error: unknown) => {
      if (error instanceof NotFoundError) return null;
      throw error;
    });
  }
}

/** Hits that carry their texts, as documents. */
function scored(hits: (Stored & { score: number })[]): [Document, number][] {
  return hits.map((hit) => [documentOf(hit), hit.score]);
}

function documentOf({ external_id, text, metadata }: Stored): Document {
  return new Document({ id: external_id, pageContent: text ?? '', metadata });
}
