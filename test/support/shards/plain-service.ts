import { targetOpener } from '../../../shared/backup-store/open-target';
import { TEST_SEALS } from '../cluster/test-seals';
import { join } from 'node:path';
import type {
  EmbeddingModel,
  EmbeddingProvider,
  EmbeddingStatus,
} from '../../../coordinator/models/embedding-provider';
import type { CollectionEmbedding, ModelChoice } from '../../../coordinator/models/collection-embedding';
import { EmbeddingRegistry, type RemoteModels } from '../../../coordinator/models/embedding-registry';
import { RemoteProviders } from '../../../coordinator/models/remote/remote-providers';
import { BuiltinModel } from '../../../coordinator/models/builtin-model';
import type { VectorInput } from '../../../coordinator/service/service';
import type { AliasTenure } from '../../../coordinator/service/aliases/alias-names';
import type { AliasAudience } from '../../../coordinator/service/aliases/stored-aliases';
import type { CollectionObstacle } from '../../../coordinator/service/collections/collection-obstacle';
import type { StopWords } from '../../../coordinator/service/synonyms/own-stop-words';
import type { SynonymRule } from '../../../coordinator/service/synonyms/synonym-rules';
import type { CollectionQuota } from '../../../coordinator/service/collections/collection-quota';
import { variantSearch } from '../../../coordinator/api/schema/judgement-schemas';
import { StoreFiles } from '../../../coordinator/jobs/documents/store-files';
import { cursorSecretIn } from '../../../coordinator/service/search/cursor-seal';
import { createService, type RunningService } from '../../../coordinator/service-factory';
import type { DocumentParser } from '../../../coordinator/service/documents/formats/document-parser';
import { readDocument } from '../../../coordinator/service/documents/formats/read-document';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { KeyValueClusterStore } from '../../../embedded/cluster-store/key-value-cluster-store';
import type { OpenTarget } from '../../../shared/backup-store/backup-target';
import { configuredModels } from '../../../coordinator/models/language/configured-models';
import { rerankLoader } from '../../../coordinator/models/rerank/rerank-loader';
import type { RerankProvider } from '../../../coordinator/models/rerank/reranker';
import { Rerankers } from '../../../coordinator/models/rerank/rerankers';
import { readConfig } from '../../../shared/base/config/config';
import { embeddingProvidersIn } from '../../../shared/base/config/embedding-providers';
import { rerankModelsIn } from '../../../shared/base/config/rerank-models';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { MemoryKeyValueStore } from '../models/memory-key-value-store';
import { type Logger, silentLogger } from '../../../shared/base/logs/logger';
import type { ShardClient } from '../../../shared/contract/shard/shard-client';
import type { KeywordFields } from '../../../shared/contract/shard/keyword-fields';
import type { Language } from '../../../shared/base/text/language';
import { systemClock, type Clock } from '../../../shared/base/time/clock';
import { PlainShardClient } from './plain-shard-client';

/** As many collections and shards as a test likes. */
export const UNBOUNDED: CollectionQuota = {
  collectionsMax: Infinity,
  shardsOf: ({ shards }) => shards,
  room: () => ({ shardsMax: Infinity, source: '' }),
};

/** Models by name, the first of which is the default. */
export class PlainEmbedding implements EmbeddingProvider {
  /** Texts of every call to a model, in order. */
  readonly calls: { model: string; kind: 'query' | 'passage'; texts: string[] }[] = [];
  private readonly models: Map<string, EmbeddingModel>;

  /** What collections have that say their model. */
  private readonly registry: EmbeddingRegistry;

  constructor(models: EmbeddingModel[] = [new BuiltinModel()], remote?: RemoteModels) {
    this.models = new Map(models.map((model) => [model.name, this.recorded(model)]));
    const [configured, ...others] = this.models.keys();
    this.registry = new EmbeddingRegistry({
      configured,
      others,
      loader: (name) => this.model(name),
      ...(remote !== undefined && { remote }),
      log: silentLogger,
      clock: systemClock,
      patienceMs: 30_000,
    });
  }

  async defaultModel(): Promise<EmbeddingModel> {
    return [...this.models.values()][0];
  }

  async model(name: string): Promise<EmbeddingModel> {
    const model = this.models.get(name);
    if (model === undefined)
      throw new QuiverError('embedding_unavailable', `the embedding model ${name} can't be loaded`);
    return model;
  }

  async modelFor({ embeddingModel, embedding }: ModelChoice): Promise<EmbeddingModel> {
    if (embedding === undefined) return embeddingModel === null ? this.defaultModel() : this.model(embeddingModel);
    return this.registry.modelFor({ embeddingModel, embedding });
  }

  dimensionOf(embedding: CollectionEmbedding): Promise<number | null> {
    return this.registry.dimensionOf(embedding);
  }

  close(): Promise<void> {
    return this.registry.close();
  }

  status(): EmbeddingStatus {
    const [configured] = this.models.keys();
    return { ...this.registry.status(), configured, active: configured };
  }

  private recorded(model: EmbeddingModel): EmbeddingModel {
    const { calls } = this;
    return {
      name: model.name,
      dim: model.dim,
      embed: (texts, options) => {
        calls.push({ model: model.name, kind: options.kind, texts });
        return model.embed(texts, options);
      },
      ...(model.measure !== undefined && { measure: (texts, prefix) => model.measure!(texts, prefix) }),
    };
  }
}

/** A model that puts `mark` into every element, so that a test sees which model made a vector. */
export function markingModel(name: string, dim: number | null, mark: number): EmbeddingModel {
  return { name, dim, embed: async (texts, options) => texts.map(() => new Float32Array(options.dim).fill(mark)) };
}

export interface PlainService {
  service: RunningService;
  shards: PlainShardClient;
  store: ClusterStore;
  embedding: PlainEmbedding;
  /** Ends the workers of the rerank models that the environment names. */
  closeModels: () => Promise<void>;
}

/** A whole service over shards by brute force and a cluster store in memory; every part can be shared or replaced. */
export async function plainService(
  options: {
    store?: ClusterStore;
    shards?: PlainShardClient;
    shardClient?: ShardClient;
    embedding?: PlainEmbedding;
    /** Default: those of RERANK_MODEL in the environment. */
    reranker?: RerankProvider;
    clock?: Clock;
    environment?: Record<string, string>;
    instanceId?: string;
    quota?: CollectionQuota;
    log?: Logger;
    openTarget?: OpenTarget | undefined;
    /** Default: one that reads in this thread. */
    parser?: Pick<DocumentParser, 'parse'>;
    collectionObstacle?: CollectionObstacle;
    aliasTenure?: AliasTenure;
    aliasAudience?: AliasAudience;
    /** Called while it starts, as OtherProcesses has it. */
    onOpened?: (service: RunningService) => Promise<void>;
  } = {},
): Promise<PlainService> {
  const clock = options.clock ?? systemClock;
  const store = options.store ?? (await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() }));
  const shards = options.shards ?? new PlainShardClient({ clock, dated: true });
  const config = readConfig({ EMBEDDING_MODEL: 'builtin', ...options.environment }, 1);
  const embedding =
    options.embedding ?? new PlainEmbedding([new BuiltinModel()], providersOf(config.embeddingProviders, store));
  const ownReranker = options.reranker === undefined ? rerankersOf(options.environment) : null;
  const service = createService({
    clusterStore: store,
    shardClient: options.shardClient ?? shards,
    embedding,
    reranker: options.reranker ?? ownReranker!,
    languageModels: configuredModels(config),
    clock,
    config,
    searchOf: variantSearch(config),
    log: options.log ?? silentLogger,
    quota: options.quota ?? UNBOUNDED,
    instanceId: options.instanceId ?? 'plain',
    collectionObstacle: options.collectionObstacle,
    aliasTenure: options.aliasTenure,
    aliasAudience: options.aliasAudience,
    documentFiles: new StoreFiles(store),
    cursorSecret: await cursorSecretIn(store),
    parser: options.parser ?? PLAIN_PARSER,
    openTarget: options.openTarget ?? targetOpener(readConfig(options.environment ?? {}, 1), TEST_SEALS),
    projectionWorker: join(__dirname, '../threads/projection-worker.js'),
  });
  await service.recover({ onOpened: async () => options.onOpened?.(service) });
  return {
    service,
    shards,
    store,
    embedding,
    closeModels: async () => void (await Promise.all([ownReranker?.close(), embedding.close()])),
  };
}

/** The models of EMBEDDING_PROVIDERS, whose vectors are not kept. */
function providersOf(setting: string, store: ClusterStore): RemoteProviders {
  return new RemoteProviders({
    providers: embeddingProvidersIn(setting).map((one) => ({ ...one, cacheBytes: 0 })),
    keyOf: () => '',
    store,
    cacheDir: '',
    timeoutMs: 30_000,
    dimMax: 16_384,
    clock: systemClock,
    log: silentLogger,
    observer: { call: () => undefined, cached: () => undefined, failure: () => undefined },
  });
}

const PLAIN_PARSER: Pick<DocumentParser, 'parse'> = {
  parse: async ({ content, type }) => {
    if (!('bytes' in content)) throw new Error('a plain service keeps files in its store');
    return readDocument(Buffer.from(content.bytes), type ?? 'txt', { charactersMax: 10_000_000 });
  },
};

/** The rerank models of a configuration, one thread for each, from folders. */
export function rerankersOf(environment: Record<string, string> = {}): Rerankers {
  const models = rerankModelsIn(readConfig(environment, 1).rerankModel) ?? [];
  const load = rerankLoader({
    models,
    apiKey: '',
    dtype: 'auto',
    cacheDir: '',
    isOffline: true,
    hub: 'http://127.0.0.1:9',
    threads: 1,
    timeoutMs: 30_000,
    clock: systemClock,
    log: silentLogger,
    workerFile: join(__dirname, '../threads/embedding-worker.js'),
  });
  return new Rerankers({
    names: models.map(({ name }) => name),
    load,
    elsewhere: () => [],
    patienceMs: 30_000,
    clock: systemClock,
    log: silentLogger,
  });
}

/** A collection as tests want it: everything that a test is not about has a default. */
export function newCollection(
  name: string,
  given: {
    dim?: number;
    metric?: 'cosine' | 'l2' | 'ip';
    shards?: number;
    language?: Language;
    keywordFields?: KeywordFields | undefined;
    synonyms?: SynonymRule[];
    stopWords?: StopWords;
    embedding?: CollectionEmbedding;
  } = {},
) {
  return {
    name,
    dim: given.dim ?? 2,
    metric: given.metric ?? ('cosine' as const),
    description: null,
    language: given.language ?? null,
    keywordFields: given.keywordFields,
    ...(given.synonyms !== undefined && { synonyms: given.synonyms }),
    ...(given.stopWords !== undefined && { stopWords: given.stopWords }),
    ...(given.embedding !== undefined && { embedding: given.embedding }),
    shards: given.shards,
    replicas: undefined,
  };
}

/** An item to store; metadata and text are left out unless given. */
export function item(
  externalId: string,
  vector: number[],
  given: { metadata?: object; text?: string } = {},
): VectorInput {
  return {
    externalId,
    source: { vector: Float32Array.from(vector) },
    metadata: given.metadata === undefined ? undefined : JSON.stringify(given.metadata),
    text: given.text,
  };
}

/** An item to store whose vector is made from its text. */
export function textItem(externalId: string, text: string): VectorInput {
  return { externalId, source: { text }, metadata: undefined, text: undefined };
}
