import { z } from 'zod';
import { nearestName } from './nearest-name';

/** What fields and values are called elsewhere: in other vector stores, and in other endpoints of this one. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  alpha: ['weight'],
  candidates: ['ids', 'external_ids', 'documents', 'items'],
  collection_name: ['collection', 'name', 'class', 'index'],
  cursor: ['next_cursor', 'page_token', 'offset', 'after'],
  dim: ['dimension', 'dimensions', 'size', 'vector_size', 'dims', 'embedding_dimension'],
  distance_metric: ['metric', 'distance', 'metric_type', 'space', 'similarity', 'distance_function'],
  ef: ['hnsw_ef', 'ef_search', 'num_candidates'],
  external_id: ['id', '_id', 'key', 'uuid', 'pk'],
  external_ids: ['ids', 'points', 'keys'],
  filters: ['filter', 'where', 'expr', 'query_filter'],
  ids: ['external_ids', 'id', 'keys'],
  include_vectors: ['with_vectors', 'with_vector', 'include', 'include_values'],
  items: ['points', 'vectors', 'records', 'objects', 'data', 'documents', 'rows'],
  k: ['top_k', 'limit', 'top', 'n_results', 'size', 'n', 'count'],
  limit: ['k', 'top_k', 'size', 'page_size', 'count'],
  metadata: ['payload', 'properties', 'meta', 'attributes', 'fields'],
  min_score: ['score_threshold', 'threshold'],
  offset: ['skip', 'from'],
  queries: ['searches', 'vectors'],
  query: ['text', 'question', 'query_text', 'q'],
  query_text: ['text', 'query', 'keywords', 'q'],
  text: ['query', 'query_text', 'document', 'q'],
  top_k: ['k', 'limit', 'top', 'n_results', 'size'],
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

/** Longest piece of a client's name that is put into a message. */
const SHOWN_NAME_MAX = 40;
/** Names that are looked at for one hint: an object may have any number. */
const NAMES_MAX = 20;

const shown = (name: string): string => JSON.stringify(name.slice(0, SHOWN_NAME_MAX));

/** The known name that `given` most likely stands for, or null. */
function meant(given: string, known: Iterable<string>): string | null {
  const names = [...known];
  const lower = given.toLowerCase();
  return names.find((name) => OTHER_NAMES[name]?.includes(lower)) ?? nearestName(given, names);
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
    const given = names.find((name) => OTHER_NAMES[field]?.includes(name.toLowerCase()) || nearestName(name, [field]) !== null);
    if (given !== undefined) return `; there is ${shown(given)}: did you mean ${field}?`;
  }
  return '';
}

/** The names of the fields that a schema of an object knows, whatever is done with the object behind it. */
export function fieldsOf(schema: z.ZodType): ReadonlySet<string> {
  if (schema instanceof z.ZodPipe) return fieldsOf(schema.in as z.ZodType);
  return new Set(schema instanceof z.ZodObject ? Object.keys(schema.shape) : []);
}

/**
 * Warns of each field that is not known, and so ignored, but looks like one that is known and was left out. Others are
 * left alone: a client may send what it likes.
 */
export function warnOfIgnoredFields(owner: object, known: ReadonlySet<string>, warn: (warning: string) => void, place = ''): void {
  let looked = 0;
  for (const name in owner) {
    if (known.has(name) || looked >= NAMES_MAX) continue;
    looked += 1;
    const field = meant(name, known);
    if (field !== null && !Object.hasOwn(owner, field)) warn(`${place}${shown(name)} is not a field and was ignored; did you mean ${field}?`);
  }
}
