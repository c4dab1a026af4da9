import { bareName, nearestName } from '../../../shared/base/text/nearest-name';

/** What fields and values are called elsewhere: in other vector stores, and in other endpoints of this one. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  alpha: ['weight', 'hybrid_alpha'],
  candidates: ['ids', 'external_ids', 'documents', 'items'],
  collection_name: ['collection', 'name', 'class', 'index', 'namespace', 'index_name'],
  cursor: ['next_cursor', 'page_token', 'offset', 'after'],
  dim: ['dimension', 'dimensions', 'size', 'vector_size', 'dims', 'embedding_dimension'],
  distance_metric: ['metric', 'distance', 'metric_type', 'space', 'similarity', 'distance_function'],
  ef: ['hnsw_ef', 'ef_search', 'num_candidates', 'ef_runtime'],
  expires_at: ['ttl', 'expiry', 'expires', 'expire_at', 'expiration'],
  external_id: ['id', '_id', 'key', 'uuid', 'pk', 'doc_id', 'object_id', 'point_id'],
  external_ids: ['ids', 'points', 'keys'],
  filters: ['filter', 'where', 'expr', 'query_filter', 'must', 'should', 'must_not', 'conditions'],
  fields: [
    'metadata_fields',
    'output_fields',
    'payload_fields',
    'with_payload',
    'include_metadata',
    'return_properties',
    '_source',
    'select',
  ],
  expand: ['neighbours', 'neighbors', 'window', 'context', 'surrounding', 'include_neighbors'],
  group_by: ['group', 'groupby', 'group_by_field', 'group_by_key', 'collapse'],
  group_size: ['group_limit', 'limit_per_group', 'hits_per_group'],
  ids: ['external_ids', 'id', 'keys'],
  include_text: ['with_text', 'include_texts', 'include_documents', 'with_documents'],
  include_timing: ['timing', 'with_timing'],
  include_vectors: ['with_vectors', 'with_vector', 'include', 'include_values'],
  items: ['points', 'vectors', 'records', 'objects', 'data', 'documents', 'rows'],
  k: ['top_k', 'limit', 'top', 'n_results', 'size', 'n', 'count', 'num_results', 'max_results'],
  limit: ['k', 'top_k', 'size', 'page_size', 'count', 'max_results'],
  metadata: ['payload', 'properties', 'meta', 'metadatas', 'attributes', 'fields'],
  min_score: ['score_threshold', 'threshold', 'certainty', 'similarity_threshold'],
  offset: ['skip', 'from'],
  order_by: ['sort', 'sort_by', 'order', 'orderby'],
  queries: ['searches', 'vectors'],
  query: ['text', 'question', 'query_text', 'q'],
  query_text: ['text', 'query', 'keywords', 'q'],
  set: ['metadata', 'payload', 'values', 'properties', 'update'],
  text: ['query', 'query_text', 'content', 'document', 'q', 'page_content', 'body', 'chunk'],
  total: ['with_total', 'track_total_hits', 'count', 'include_total'],
  top_k: ['k', 'limit', 'top', 'n_results', 'size', 'num_results', 'max_results'],
  vector: ['values', 'embedding', 'embeddings', 'vectors', 'query_vector', 'query_embeddings'],
  vector_format: ['format', 'encoding', 'encoding_format'],
  cosine: ['cos', 'angular'],
  ip: ['dot', 'inner', 'inner_product', 'dot_product', 'max_inner_product'],
  l2: ['euclid', 'euclidean', 'l2_squared', 'l2sq'],
  readonly: ['read', 'reader', 'viewer', 'ro'],
  readwrite: ['write', 'writer', 'editor', 'user', 'rw'],
  admin: ['administrator', 'owner', 'root', 'superuser'],
  base64: ['b64', 'base64_float32', 'binary', 'bytes'],
  array: ['float', 'floats', 'json', 'list', 'number'],
};

/** What to do instead where others have a field, and here is none in its place. By bare names. */
const INSTEAD: Readonly<Record<string, string>> = {
  namespace: 'make a collection for each, or filter by a field of the metadata',
  partition: 'make a collection for each, or filter by a field of the metadata',
  tenant: 'make a collection for each, or filter by a field of the metadata',
  orderby: 'hits come by score, and scroll in insertion order',
  sort: 'hits come by score, and scroll in insertion order',
};

/** Longest piece of a client's name that is put into a message. */
const SHOWN_NAME_MAX = 40;
/** A longer name is nobody's. */
const MEANT_NAME_MAX = 64;
/** Shorter names are too like others. */
const MISSPELT_MIN = 5;
/** Names that are looked at for one hint: an object may have any number. */
const NAMES_MAX = 20;

/** A client's name as a message has it. */
export const shownName = (name: string): string =>
  JSON.stringify(name.length > SHOWN_NAME_MAX ? `${name.slice(0, SHOWN_NAME_MAX)}…` : name);

/** OTHER_NAMES without what spelling conventions differ in. */
const BARE_NAMES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(OTHER_NAMES).map(([name, others]) => [name, new Set(others.map(bareName))]),
);

/** The known name that `given` most likely stands for, or null. */
export function meant(given: string, known: Iterable<string>): string | null {
  if (given.length > MEANT_NAME_MAX) return null;
  const names = [...known];
  const bare = bareName(given);
  return (
    names.find((name) => BARE_NAMES.get(name)?.has(bare)) ??
    nearestName(given, names) ??
    names.find((name) => nearestName(given, longNames(name)) !== null) ??
    null
  );
}

/** What else a field is called, where that is long enough to tell a misspelling of it. */
function longNames(name: string): readonly string[] {
  return Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name].filter(({ length }) => length >= MISSPELT_MIN) : [];
}

/** What to do in the place of giving a field of that name; null: nothing is known. */
export function insteadOf(given: string): string | null {
  const bare = bareName(given.slice(0, MEANT_NAME_MAX));
  return Object.hasOwn(INSTEAD, bare) ? INSTEAD[bare] : null;
}

/** What to add to the refusal of a value that is none of `values`; empty if nothing is near. */
export function valueHint(given: unknown, values: readonly string[]): string {
  const value = typeof given === 'string' && given.length <= SHOWN_NAME_MAX ? meant(given, values) : null;
  return value === null ? '' : `; did you mean ${JSON.stringify(value)}?`;
}

/** What to add to the complaint that `owner` has none of the fields `wanted`; empty if none of its names is near. */
export function missingFieldHint(owner: unknown, wanted: readonly string[]): string {
  if (typeof owner !== 'object' || owner === null || Array.isArray(owner)) return '';
  const names = Object.keys(owner).slice(0, NAMES_MAX);
  for (const field of wanted) {
    const given = names.find(
      (name) => BARE_NAMES.get(field)?.has(bareName(name)) === true || nearestName(name, [field]) !== null,
    );
    if (given !== undefined) return `; there is ${shownName(given)}: did you mean ${field}?`;
  }
  return '';
}
