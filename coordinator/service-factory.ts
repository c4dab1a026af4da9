import type { ClusterStore } from '../shared/cluster-store/cluster-store';
import type { Config } from '../shared/config/config';
import type { Logger } from '../shared/logs/logger';
import type { ShardClient } from '../shared/shard/shard-client';
import type { Clock } from '../shared/time/clock';
import { CatalogCollectionsService } from './collections/catalog-collections-service';
import { CollectionCatalog } from './collections/collection-catalog';
import { CollectionEmbedder } from './collections/collection-embedder';
import type { ShardReading } from './collections/shard-reading';
import { DocumentService } from './documents/document-service';
import type { EmbeddingProvider } from './embedding/embedding-provider';
import { ScatterGather } from './routing/scatter-gather';
import { StampClock } from './routing/stamp-clock';
import { ShardedSearchService } from './search/sharded-search-service';
import type { Service } from './service';
import { ShardedVectorsService } from './vectors/sharded-vectors-service';

/** The use cases of a coordinator, and the two ends of their life. */
export interface RunningService extends Service {
  /**
   * Finishes what a crash interrupted and opens every collection; the service may be called once it resolves. May be
   * called again, to clean up what could not be reached. `isAlive` says which other processes that share the cluster
   * store still run, so that their uploads are left alone; none by default.
   * Errors: unavailable when the cluster store can't be reached.
   */
  recover(isAlive?: (instanceId: string) => boolean): Promise<void>;
  /** The state of every shard of every collection, collections by name. Errors: unavailable as for `recover`. */
  readShards(): Promise<ShardReading[]>;
  /** Stops following the cluster store. What was handed in stays open: it is the caller's. */
  close(): void;
}

/** Puts the use cases together over the given store, shards and models. */
export function createService(options: {
  clusterStore: ClusterStore;
  shardClient: ShardClient;
  embedding: EmbeddingProvider;
  clock: Clock;
  config: Pick<
    Config,
    'defaultShards' | 'defaultReplicas' | 'kMax' | 'requestTimeoutMs' | 'chunkSize' | 'chunkOverlap' | 'uploadBytesMax' | 'metadataBytesMax'
  >;
  log: Logger;
  /** Names this process among those that share the cluster store; another one each time it starts. */
  instanceId: string;
}): RunningService {
  const { clock, config, instanceId, log, clusterStore: store, shardClient: shards } = options;
  const catalog = new CollectionCatalog({ store });
  const scatter = new ScatterGather({ clock, timeoutMs: config.requestTimeoutMs, exists: (collection) => catalog.has(collection) });
  const stamps = new StampClock({ clock });
  const embedder = new CollectionEmbedder({ catalog, provider: options.embedding });
  const defaults = { shards: config.defaultShards, replicas: config.defaultReplicas };
  const collections = new CatalogCollectionsService({ catalog, shards, scatter, stamps, clock, log, defaults });
  const vectors = new ShardedVectorsService({ catalog, collections, embedder, shards, scatter, stamps, clock });
  const search = new ShardedSearchService({ catalog, embedder, shards, scatter, clock, kMax: config.kMax });
  const documents = new DocumentService({ collections, vectors, store, config, clock, log, instanceId });
  return {
    collections,
    vectors,
    search,
    documents,
    recover: async (isAlive) => {
      await collections.recover();
      await documents.recoverUploads(isAlive);
    },
    readShards: () => collections.readShards(),
    close: () => catalog.close(),
  };
}
