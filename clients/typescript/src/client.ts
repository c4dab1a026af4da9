import { type AnswerEvent, answerEvents } from './answer-events';
import type * as api from './api';
import { BackupsApi } from './backups';
import { JobsApi } from './jobs';
import { ClusterApi } from './cluster';
import { DocumentsApi } from './documents';
import { fieldsBody } from './bodies';
import { QuiverCollection } from './collection';
import { ConflictError, NotFoundError } from './errors';
import type { Activity, Alias, Caller, Collection, Demo } from './generated/api-types';
import { KeysApi } from './keys';
import { listing } from './listing';
import type { ApiRequest, CallOptions } from './request';
import { type QuiverOptions, Transport } from './transport';
import { uploadBody, type UploadProgress, type UploadSource } from './upload';
import type { Metadata } from './values';

/** Of collections that name none. */
const DEFAULT_METRIC = 'cosine';

/** A document to upload. */
export interface DocumentUpload {
  collection_name: string;
  file: UploadSource;
  /**
   * Kept as `source` in the metadata of its chunks; must end in `.txt`. Default: the name of a File, else
   * `document.txt`.
   */
  name?: string;
  include_timing?: boolean;
  /** When its chunks expire, as ISO 8601. Default: as the collection says. */
  expires_at?: string;
  /** As the file is handed over. */
  onProgress?: (progress: UploadProgress) => void;
}

/** A Quiver service. It holds no connection: make as many as you like, and drop them. */
export class QuiverClient {
  /** API keys (admin). */
  readonly keys: KeysApi;
  /** Backups and restores (admin). */
  readonly backups: BackupsApi;
  /** Long work, which goes on by itself. */
  readonly jobs: JobsApi;
  /** Documents of collections, as jobs store them. */
  readonly documents: DocumentsApi;
  /** Nodes and shards (admin). */
  readonly cluster: ClusterApi;
  private readonly transport: Transport;

  /** Throws a TypeError when the url is none. */
  constructor(options: QuiverOptions = {}) {
    this.transport = new Transport(options);
    this.keys = new KeysApi(this.transport);
    this.backups = new BackupsApi(this.transport);
    this.jobs = new JobsApi(this.transport);
    this.documents = new DocumentsApi(this.transport);
    this.cluster = new ClusterApi(this.transport);
  }

  /**
   * A collection by its name, whether it is there or not; `collection<{ year: number }>(name)` says what its metadata
   * are.
   */
  collection<Meta extends object = Metadata>(name: string): QuiverCollection<Meta> {
    return new QuiverCollection<Meta>(this.transport, name);
  }

  /** Makes a collection; a ConflictError when the name is taken. */
  async createCollection(collection: api.NewCollection, options?: CallOptions): Promise<Collection> {
    return this.transport.data({ method: 'POST', path: '/v1/collections', json: collection }, options);
  }

  /**
   * A collection, which is made where there is none. A ConflictError where there is one with another dimension or
   * metric, or where `language`, `keyword_fields`, `keyword_positions`, `quantization`, `metadata`, `vectors` or
   * `embedding` is given and differs: these can't be changed. What else is given is for a new collection only.
   */
  async getOrCreate<Meta extends object = Metadata>(
    collection: api.NewCollection,
    options?: CallOptions,
  ): Promise<QuiverCollection<Meta>> {
    const found = this.collection<Meta>(collection.name);
    const there = await found.info(options).catch(async (error: unknown) => {
      if (!(error instanceof NotFoundError)) throw error;
      return this.createCollection(collection, options).catch(async (raced: unknown) => {
        if (!(raced instanceof ConflictError)) throw raced;
        // Somebody else was first.
        return found.info(options);
      });
    });
    const {
      dim,
      distance_metric = DEFAULT_METRIC,
      language,
      keyword_positions,
      quantization,
      metadata,
      vectors,
      embedding: made,
    } = collection;
    // An analyser that is the collection's language is none of a field's own.
    const own = there.language ?? 'unicode';
    const keyword_fields = collection.keyword_fields?.map(({ path, weight, analyser }) => ({
      path,
      weight: weight ?? 1,
      ...(analyser !== undefined && analyser !== own && { analyser }),
    }));
    const embedding = made && {
      model: made.model,
      dtype: made.dtype ?? null,
      query_prefix: made.query_prefix ?? null,
      passage_prefix: made.passage_prefix ?? null,
      truncate_dim: made.truncate_dim ?? null,
    };
    const wanted = Object.entries({
      dim,
      distance_metric,
      language,
      keyword_fields,
      keyword_positions,
      quantization,
      metadata,
      vectors,
      embedding,
    }).filter(([, value]) => value !== undefined && value !== null);
    const differences = wanted.flatMap(([name, value]) =>
      JSON.stringify(there[name as keyof Collection]) === JSON.stringify(value)
        ? []
        : [`its ${name} is ${shown(there[name as keyof Collection])}, not ${shown(value)}`],
    );
    if (differences.length === 0) return found;
    throw new ConflictError(`collection "${collection.name}" is there, but ${differences.join('; ')}`, {
      code: 409,
      requestId: null,
      retryAfterMs: null,
      method: 'GET',
      path: `/v1/collections/${encodeURIComponent(collection.name)}`,
      attempts: 1,
    });
  }

  async listCollections(options?: CallOptions): Promise<Collection[]> {
    return (
      await this.transport.data<{ collections: Collection[] }>({ method: 'GET', path: '/v1/collections' }, options)
    ).collections;
  }

  /** The aliases of collections that the key may use, by name. */
  async listAliases(options?: CallOptions): Promise<Alias[]> {
    return (await this.transport.data<{ aliases: Alias[] }>({ method: 'GET', path: '/v1/aliases' }, options)).aliases;
  }

  /**
   * Creates, switches and deletes aliases: all of it, or nothing. What begins after the answer sees it, through any
   * coordinator. Answers the aliases that are named, as they are then.
   */
  async changeAliases(actions: readonly api.AliasAction[], options?: CallOptions): Promise<Alias[]> {
    const json = { actions };
    const changed = await this.transport.data<{ aliases: Alias[] }>(
      { method: 'POST', path: '/v1/aliases', json },
      options,
    );
    return changed.aliases;
  }

  /** Uploads a text file: it is split, embedded and stored as it arrives, all or nothing. */
  async uploadDocument(upload: DocumentUpload, options?: CallOptions): Promise<api.UploadAnswer> {
    const { collection_name, file, onProgress, include_timing, expires_at } = upload;
    const name = upload.name ?? (file instanceof Blob && 'name' in file ? String(file.name) : 'document.txt');
    const fields = {
      collection_name,
      ...(include_timing === undefined ? {} : { include_timing: String(include_timing) }),
      ...(expires_at === undefined ? {} : { expires_at }),
    };
    return this.transport.data(
      { method: 'POST', path: '/v1/documents/upload', body: uploadBody(fields, { name, source: file }, onProgress) },
      options,
    );
  }

  /** Asks in natural language; answers with the texts of a collection that are nearest. */
  async query(
    { profile, ...request }: api.QueryRequest & api.Profiled,
    options?: CallOptions,
  ): Promise<api.TypedAnswer<api.QueryAnswer, Metadata>> {
    const json = fieldsBody(request);
    const answer = await this.transport.data<api.Sent<api.QueryAnswer>>(
      { method: 'POST', path: '/v1/query', query: { profile }, json, isRepeatable: true },
      options,
    );
    const results = answer.results ?? [];
    return listing({ ...answer, results }, results);
  }

  /** Has a language model answer a question from what a search finds; every citation was checked. */
  async answer(request: api.AnswerRequest, options?: CallOptions): Promise<api.AnswerAnswer> {
    // To ask twice costs tokens twice.
    const json = fieldsBody(request);
    return this.transport.data({ method: 'POST', path: '/v1/answer', json, isRepeatable: false }, options);
  }

  /**
   * The same as it is written: the sources, the text in parts, and last the whole with its citations. Who goes through
   * no more of it ends the call.
   */
  answerStream(request: api.AnswerRequest, options?: CallOptions): AsyncGenerator<AnswerEvent> {
    const json = { ...fieldsBody(request), stream: true };
    const sent: ApiRequest = { method: 'POST', path: '/v1/answer', json, isRepeatable: false };
    return answerEvents(this.transport.pieces(sent, options), sent, (warnings) => this.transport.warn(sent, warnings));
  }

  /** Scores texts for a query by a model of the service, best first. */
  async rerank(request: api.PairsRequest, options?: CallOptions): Promise<api.PairsAnswer> {
    return this.transport.data({ method: 'POST', path: '/v1/rerank', json: request, isRepeatable: true }, options);
  }

  /** Whether the service is well, and what it holds. */
  async health(options?: CallOptions): Promise<api.Health> {
    return this.transport.data({ method: 'GET', path: '/v1/health' }, options);
  }

  /** Which key this is, and what it may do. */
  async me(options?: CallOptions): Promise<Caller> {
    return this.transport.data({ method: 'GET', path: '/v1/me' }, options);
  }

  /** Gets the admin key for the token of the link that the first start printed; it works once. */
  async signIn(token: string, options?: CallOptions): Promise<api.SignedIn> {
    return this.transport.data({ method: 'POST', path: '/v1/sign_in', json: { token } }, options);
  }

  /** Loads a small sample of texts into the collection `demo`. */
  async loadDemo(options?: CallOptions): Promise<Demo> {
    return this.transport.data({ method: 'POST', path: '/v1/demo', isRepeatable: true }, options);
  }

  /** What the process that answers does at present: rates, times, and slow requests. */
  async activity(options?: CallOptions): Promise<Activity> {
    return this.transport.data({ method: 'GET', path: '/v1/metrics/summary' }, options);
  }

  /** What is at this address, with the list of its endpoints; needs no key. */
  async serviceInfo(options?: CallOptions): Promise<api.ServiceInfo> {
    return this.transport.data({ method: 'GET', path: '/' }, options);
  }

  /** Metrics in Prometheus's text format; needs no key. */
  async metrics(options?: CallOptions): Promise<string> {
    return this.transport.text({ method: 'GET', path: '/metrics' }, options);
  }

  /** The OpenAPI document of the service; needs no key. */
  async openApi(options?: CallOptions): Promise<Record<string, unknown>> {
    return JSON.parse(await this.transport.text({ method: 'GET', path: '/openapi.json' }, options)) as Record<
      string,
      unknown
    >;
  }

  /**
   * The `data` of any operation, also one of a service that knows more than this client:
   * `{ method: 'GET', path: '/v1/…' }`.
   */
  async request<Data = unknown>(request: ApiRequest, options?: CallOptions): Promise<Data> {
    return this.transport.data<Data>(request, options);
  }
}

function shown(setting: unknown): string {
  return typeof setting === 'string' ? setting : JSON.stringify(setting);
}
