import { inSlices } from '../../shared/base/time/work-slices';
import { MemoryFilterIndex } from './filter/memory-filter-index';
import { Bm25KeywordIndex } from './keyword/bm25-keyword-index';
import type { IndexFactories } from './shard/shard-indexes';
import { DiskVectorIndex } from './vector/disk-vector-index';
import { NativeVectorIndex } from './vector/native-vector-index';

/** The indexes that both forms of the service use. */
export const indexFactories: IndexFactories = {
  openVectorIndex: (options, save) =>
    options.place === 'disk' ? DiskVectorIndex.open(options, save) : NativeVectorIndex.open(options, save),
  loadFilterIndex: async (bytes, items) =>
    bytes === null ? new MemoryFilterIndex(items) : inSlices(MemoryFilterIndex.loadInSteps(bytes, items)),
  loadKeywordIndex: async (bytes, analyser, fields) =>
    bytes === null
      ? new Bm25KeywordIndex({ analyser, fields })
      : inSlices(Bm25KeywordIndex.loadInSteps(bytes, { analyser, fields })),
};
