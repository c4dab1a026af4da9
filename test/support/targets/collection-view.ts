import type { CollectionView } from '../../../coordinator/service/service';

/** What is told of a collection `c` of one vector, for a service that a test puts in the place of the real one. */
export function collectionViewOf({ dim }: { dim: number }): CollectionView {
  return {
    name: 'c',
    dim,
    metric: 'ip',
    description: null,
    language: null,
    keywordFields: null,
    synonyms: null,
    stopWords: null,
    keywordPositions: true,
    quantization: 'int8',
    metadata: 'memory',
    vectors: 'memory',
    vectorCount: 1,
    unavailableShards: [],
    createdAt: '',
    shards: 1,
    replicas: 1,
    minInSync: 1,
    ttlSeconds: null,
    embeddingModel: null,
    embedding: null,
    quota: null,
  };
}
