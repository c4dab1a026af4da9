import type * as api from './api';
import { BackupsApi } from './backups';
import { ClusterApi } from './cluster';
import { QuiverCollection } from './collection';
import type { Activity, Caller, Collection, Demo } from './generated/api-types';
import { KeysApi } from './keys';
import type { ApiRequest, CallOptions } from './request';
import { type QuiverOptions, Transport } from './transport';
import { uploadBody, type UploadProgress, type UploadSource } from './upload';

/** A document to upload. */
export interface DocumentUpload {
  collection_name: string;
  file: UploadSource;
  /** Kept as `source` in the metadata of its chunks; must end in `.txt`. Default: the name of a File, else `document.txt`. */
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
  /** Nodes and shards (admin). */
  readonly cluster: ClusterApi;
  private readonly transport: Transport;

  /** Throws a TypeError when the url is none. */
  constructor(options: QuiverOptions = {}) {
    this.transport = new Transport(options);
    this.keys = new KeysApi(this.transport);
    this.backups = new BackupsApi(this.transport);
    this.cluster = new ClusterApi(this.transport);
  }

  /** A collection by its name, whether it is there or not. */
  collection(name: string): QuiverCollection {
    return new QuiverCollection(this.transport, name);
  }

  /** Makes a collection; a ConflictError when the name is taken. */
  async createCollection(collection: api.NewCollection, options?: CallOptions): Promise<Collection> {
    return this.transport.data({ method: 'POST', path: '/v1/collections', json: collection }, options);
  }

  async listCollections(options?: CallOptions): Promise<Collection[]> {
    return (await this.transport.data<{ collections: Collection[] }>({ method: 'GET', path: '/v1/collections' }, options)).collections;
  }

  /** Uploads a text file: it is split, embedded and stored as it arrives, all or nothing. */
  async uploadDocument(upload: DocumentUpload, options?: CallOptions): Promise<api.UploadAnswer> {
    const { collection_name, file, onProgress, include_timing, expires_at } = upload;
    const name = upload.name ?? (file instanceof Blob && 'name' in file ? String(file.name) : 'document.txt');
    const fields = { collection_name, ...(include_timing === undefined ? {} : { include_timing: String(include_timing) }), ...(expires_at === undefined ? {} : { expires_at }) };
    return this.transport.data({ method: 'POST', path: '/v1/documents/upload', body: uploadBody(fields, { name, source: file }, onProgress) }, options);
  }

  /** Asks in natural language; answers with the texts of a collection that are nearest. */
  async query({ profile, ...request }: api.QueryRequest & api.Profiled, options?: CallOptions): Promise<api.QueryAnswer> {
    return this.transport.data({ method: 'POST', path: '/v1/query', query: { profile }, json: request, isRepeatable: true }, options);
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
    return JSON.parse(await this.transport.text({ method: 'GET', path: '/openapi.json' }, options)) as Record<string, unknown>;
  }

  /** The `data` of any operation, also one of a service that knows more than this client: `{ method: 'GET', path: '/v1/…' }`. */
  async request<Data = unknown>(request: ApiRequest, options?: CallOptions): Promise<Data> {
    return this.transport.data<Data>(request, options);
  }
}
