import { MemoryFilterIndex } from './filter/memory-filter-index';
import { Bm25KeywordIndex } from './keyword/bm25-keyword-index';
import type { IndexFactories } from './shard/shard-indexes';
import { NativeVectorIndex } from './vector/native-vector-index';

/** The indexes that every form of the service runs on. */
export const indexFactories: IndexFactories = {
  openVectorIndex: (options, save) => NativeVectorIndex.open(options, save),
  loadFilterIndex: (bytes, metadataOf) => (bytes === null ? new MemoryFilterIndex({ metadataOf }) : MemoryFilterIndex.load(bytes, { metadataOf })),
  loadKeywordIndex: (bytes, analyser) => (bytes === null ? new Bm25KeywordIndex({ analyser }) : Bm25KeywordIndex.load(bytes, { analyser })),
};
