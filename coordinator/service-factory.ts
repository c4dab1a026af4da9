import type { ClusterStore } from '../shared/cluster-store/cluster-store';
import type { Config } from '../shared/config/config';
import type { Logger } from '../shared/logs/logger';
import type { ShardClient } from '../shared/shard/shard-client';
import type { Clock } from '../shared/time/clock';
import { CatalogCollectionsService } from './collections/catalog-collections-service';
import { CollectionCatalog } from './collections/collection-catalog';
import { CollectionEmbedder } from './collections/collection-embedder';
import type { EmbeddingProvider } from './embedding/embedding-provider';
import { ScatterGather } from './routing/scatter-gather';
import { StampClock } from './routing/stamp-clock';
import { ShardedSearchService } from './search/sharded-search-service';
import type { CollectionsService, DocumentsService, Service, VectorsService } from './service';
import { ShardedVectorsService } from './vectors/sharded-vectors-service';

/** The use cases of a coordinator, and the two ends of their life. */
export interface RunningService extends Service {
  /**
   * Finishes what a crash interrupted and opens every collection; the service may be called once it resolves. May be
   * called again, to drop what could not be reached. Errors: unavailable when the cluster store can't be reached.
   */
  recover(): Promise<void>;
  /** Stops following the cluster store. What was handed in stays open: it is the caller's. */
  close(): void;
}

/** Puts the use cases together over the given store, shards and models. */
export function createService(options: {
  clusterStore: ClusterStore;
  shardClient: ShardClient;
  embedding: EmbeddingProvider;
  clock: Clock;
  config: Pick<Config, 'defaultShards' | 'defaultReplicas' | 'kMax' | 'requestTimeoutMs'>;
  log: Logger;
  /** Makes the documents' use case over the others. */
  documents: (parts: { collections: CollectionsService; vectors: VectorsService }) => DocumentsService;
}): RunningService {
  const { clock, config, log, shardClient: shards } = options;
  const catalog = new CollectionCatalog({ store: options.clusterStore });
  const scatter = new ScatterGather({ clock, timeoutMs: config.requestTimeoutMs, exists: (collection) => catalog.has(collection) });
  const stamps = new StampClock({ clock });
  const embedder = new CollectionEmbedder({ catalog, provider: options.embedding });
  const defaults = { shards: config.defaultShards, replicas: config.defaultReplicas };
  const collections = new CatalogCollectionsService({ catalog, shards, scatter, stamps, clock, log, defaults });
  const vectors = new ShardedVectorsService({ catalog, collections, embedder, shards, scatter, stamps, clock });
  const search = new ShardedSearchService({ catalog, embedder, shards, scatter, clock, kMax: config.kMax });
  return {
    collections,
    vectors,
    search,
    documents: options.documents({ collections, vectors }),
    recover: () => collections.recover(),
    close: () => catalog.close(),
  };
}
