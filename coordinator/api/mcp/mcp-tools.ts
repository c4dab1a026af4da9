import type { Endpoint } from '../endpoints/endpoint';
import { EFFORT_OPTIONS } from '../schema/search-options';

type Arguments = Record<string, unknown>;

/**
 * A tool of the Model Context Protocol: a call of one endpoint, with some of its fields under names that a model
 * guesses.
 */
export interface McpTool {
  name: string;
  title: string;
  description: string;
  endpoint: Pick<Endpoint, 'method' | 'template'>;
  /**
   * Another one, which is called where a field is given that the first does not have: its fields are the tool's, too,
   * with other names for some.
   */
  alternative?: {
    endpoint: Pick<Endpoint, 'method' | 'template'>;
    /** The alternative's, by the tool's. */
    names: Readonly<Record<string, string>>;
  };
  /** Fields of the endpoint's body that a caller may give; `allBut`: all that it has or gets, but for these. */
  fields: readonly string[] | { allBut: readonly string[] };
  required: readonly string[];
  /** What is less than the endpoint allows: answers go into a model's context. */
  maxima: Readonly<Record<string, number>>;
  /** Whether it takes the name of a collection, as `collection`. */
  hasCollection: boolean;
  /** The member of the endpoint's body that names the collection; null: its path does. */
  collectionField: string | null;
  /** Members of the body that a caller does not choose unless it names them. */
  defaults: Arguments;
  isReadOnly: boolean;
  /**
   * Whether it is done once under an Idempotency-Key, which the argument `idempotency_key` gives, or else the header.
   */
  isOnce?: true;
}

/** The argument that is no member of the endpoint's body. */
export const IDEMPOTENCY_ARGUMENT = 'idempotency_key';

/** Hits or items in one answer; of groups, those of a few each. */
const RESULTS_MAX = 100;
const GROUP_SIZE_MAX = 10;

/** A model sets no effort, and the time of a search is nothing to it. */
const SEARCH_FIELDS = { allBut: [...EFFORT_OPTIONS, 'include_timing'] };

const inCollection = {
  hasCollection: true,
  collectionField: null,
  defaults: {},
  maxima: {},
  isReadOnly: true,
} as const;

export const MCP_TOOLS: readonly McpTool[] = [
  {
    ...inCollection,
    name: 'list_collections',
    title: 'List collections',
    description:
      'All collections with their dimension, metric, number of vectors and description. Call it first to learn which there are.',
    endpoint: { method: 'GET', template: '/v1/collections' },
    fields: [],
    required: [],
    hasCollection: false,
  },
  {
    ...inCollection,
    name: 'describe_collection',
    title: 'Describe a collection',
    description:
      'Fields of a collection’s items: paths, kinds, frequent values, ranges; and some items. Call it before filters.',
    endpoint: { method: 'POST', template: '/v1/collections/{name}/describe' },
    fields: ['filters', 'looked_at', 'samples'],
    required: [],
  },
  {
    ...inCollection,
    name: 'search',
    title: 'Search',
    description:
      'The items of a collection that fit a text (or a vector) best: ids, scores (higher is better), metadata, texts. ' +
      'By meaning; with `mode` "hybrid" by meaning and words, with "keyword" by words alone. ' +
      '`fields` chooses what of the metadata; `expand` adds the text around chunks of documents.',
    endpoint: { method: 'POST', template: '/v1/collections/{name}/search' },
    alternative: {
      endpoint: { method: 'POST', template: '/v1/collections/{name}/hybrid_search' },
      names: { text: 'query_text' },
    },
    defaults: { include_text: true },
    fields: SEARCH_FIELDS,
    required: [],
    maxima: { k: RESULTS_MAX, group_size: GROUP_SIZE_MAX },
  },
  {
    ...inCollection,
    name: 'query',
    title: 'Ask in natural language',
    description:
      'The texts of a collection that best answer a question, with their ids, scores and metadata. For texts and uploaded documents, of which `expand` adds the text around. `alpha` 0.5 looks for the words, too; with `query_syntax` "simple", +word must and -word must not be there.',
    endpoint: { method: 'POST', template: '/v1/query' },
    fields: SEARCH_FIELDS,
    required: ['query'],
    maxima: { top_k: RESULTS_MAX, group_size: GROUP_SIZE_MAX },
    collectionField: 'collection_name',
  },
  {
    ...inCollection,
    name: 'ask',
    title: 'Answer a question with citations',
    description:
      'What a language model of the service answers from the texts of a collection: sentences with checked quotes. ' +
      '`unsupported`: a sentence has none; `refused`: nothing relevant is there. For services with LLM_BASE_URL.',
    endpoint: { method: 'POST', template: '/v1/answer' },
    fields: { allBut: ['stream'] },
    required: ['question'],
    collectionField: 'collection_name',
  },
  {
    ...inCollection,
    name: 'aggregate',
    title: 'Count values',
    description:
      'How many items of a collection there are by the values of their metadata: the most frequent values (facets), ranges, statistics, and these for each value of a field (by). Exact, of all items that pass the filters; with over, of the best hits of a search.',
    endpoint: { method: 'POST', template: '/v1/collections/{name}/aggregate' },
    fields: ['filters', 'over', 'facets', 'ranges', 'stats', 'by'],
    required: [],
  },
  {
    ...inCollection,
    name: 'fetch',
    title: 'Fetch items by id',
    description:
      'Stored items by their external ids: metadata and text, and on request vectors. Ids that do not exist are left out.',
    endpoint: { method: 'POST', template: '/v1/collections/{name}/vectors/fetch' },
    fields: ['ids', 'include_vectors', 'vector_format'],
    required: ['ids'],
    defaults: { include_vectors: false },
  },
  {
    ...inCollection,
    name: 'upsert_text',
    title: 'Store a text',
    description:
      'Stores a text under an id, so that it can be found by meaning and by keywords; what was stored under that id before is replaced. Metadata left out of an update stay.',
    endpoint: { method: 'POST', template: '/v1/collections/{name}/upsert' },
    fields: ['external_id', 'text', 'metadata'],
    required: ['external_id', 'text'],
    isReadOnly: false,
    isOnce: true,
  },
  {
    ...inCollection,
    name: 'create_collection',
    title: 'Create a collection',
    description: 'Makes an empty collection under a new name. `dim` is that of its vectors: 384 for texts, mostly.',
    endpoint: { method: 'POST', template: '/v1/collections' },
    fields: ['dim', 'distance_metric', 'description', 'language'],
    required: ['dim'],
    collectionField: 'name',
    isReadOnly: false,
    isOnce: true,
  },
  {
    ...inCollection,
    name: 'delete_items',
    title: 'Delete items',
    description: 'Deletes items of a collection by their ids, for good; ids that do not exist are told.',
    endpoint: { method: 'POST', template: '/v1/collections/{name}/delete_batch' },
    fields: ['external_ids'],
    required: ['external_ids'],
    isReadOnly: false,
    isOnce: true,
  },
];
