import type { Config } from '../../../shared/base/config/config';
import type { FilterBounds } from '../../../shared/contract/filter/parse-filter';
import { METADATA_DEPTH_MAX } from '../../service/vectors/metadata-flaw';

/** The settings that bound requests. */
export type HttpLimits = Pick<
  Config,
  | 'batchItemsMax'
  | 'bodyBytesMax'
  | 'requestBytesMax'
  | 'jsonDepthMax'
  | 'jsonValuesMax'
  | 'jsonKeysMax'
  | 'uploadBytesMax'
  | 'metadataBytesMax'
  | 'metadataFieldsMax'
  | 'textBytesMax'
  | 'vectorDimMax'
  | 'kMax'
  | 'bulkQueriesMax'
  | 'searchEffortMax'
  | 'cursorSeconds'
  | 'chunkSize'
  | 'chunkOverlap'
  | 'queryLengthMax'
  | 'searchTextLengthMax'
  | 'stallTimeoutMs'
  | 'stallBytesPerSecond'
  | keyof FilterBounds
>;

/** Bounds of single requests that are the same in every deployment. */
export const REQUEST_BOUNDS = {
  externalIdCharactersMax: 512,
  fingerprintCharactersMax: 128,
  nameCharactersMax: 255,
  /** A description is a short note for people, not a document. */
  descriptionCharactersMax: 10_000,
  shardsMax: 256,
  replicasMax: 5,
  efMax: 10_000,
  exportDefault: 10_000,
  exportMax: 100_000,
  scrollDefault: 100,
  scrollMax: 1000,
  fetchIdsMax: 100,
  sampleDefault: 1000,
  sampleMax: 50_000,
  /** Fields of metadata that are named; whoever wants more leaves the list out. */
  chosenFieldsMax: 100,
  /** Facets, ranges and statistics of one list. */
  aggregatesMax: 20,
  facetValuesMax: 1000,
  groupsMax: 100,
  /** Groups within groups, and what is counted of them, all together. */
  groupsTotalMax: 1000,
  groupedAggregatesMax: 2000,
  rangeBucketsMax: 10_000,
  /** Lists of values hold so much of a long text. */
  prefixCharactersMax: 128,
  orderKeysMax: 3,
  /** Each is worked out for each item that is looked at. */
  boostsMax: 16,
  examplesMax: 32,
  /** Each of them is compared with each hit. */
  diversityCandidatesMax: 1000,
  /** Chunks before a hit, and as many after it. */
  neighboursMax: 10,
  documentKeyCharactersMax: 512,
  /** Of a document: each chunk has them, and so have jobs that wait. */
  documentMetadataBytesMax: 16 * 1024,
  chunkSizeMax: 1_000_000,
  documentWaitMs: 25_000,
  highlightFieldsMax: 20,
  highlightFragmentsMax: 10,
  highlightUnitsMin: 20,
  highlightUnitsMax: 1000,
  highlightMarkUnitsMax: 64,
  /** Hits of an answer that marks words: each has its text analysed. */
  highlightHitsMax: 1000,
  /** Hits of a search, and texts of a request, that a model reads: some seconds of a small one. */
  rerankedMax: 1000,
  /** Hits of all searches of a request together: no more than wait for a model at once. */
  rerankedTotalMax: 2000,
  rerankBudgetMsMax: 600_000,
  /** Of an answer: what a language model reads, and writes. */
  passagesMax: 100,
  answerTokensMax: 32_768,
  historyMax: 50,
  historyUnitsMax: 20_000,
  projectionDimensionsMax: 64,
  /** Enough for a standard error of a thousandth at a recall of .99. */
  recallSamplesMax: 500,
  recallQueriesMax: 100,
  recallDepthMax: 1000,
  /** About a hundred years. */
  expiryDaysMax: 36_500,
  /** Nesting of objects and arrays in a metadata object: all code that walks one is recursive. */
  metadataDepthMax: METADATA_DEPTH_MAX,
} as const;
