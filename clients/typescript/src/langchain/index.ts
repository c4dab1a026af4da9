export {
  type HybridSearchOptions,
  type QuiverDeleteParams,
  QuiverVectorStore,
  type QuiverVectorStoreConfig,
} from './quiver-vector-store';
