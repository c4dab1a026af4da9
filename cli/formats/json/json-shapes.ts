import { type ShapedRows, tableRows } from './json-columns';

type JsonObject = Record<string, unknown>;

/**
 * The rows within what other products write: OpenAI's batch output and embeddings, what Chroma's get() gives, objects
 * of Weaviate, hits of Elasticsearch and OpenSearch, points of Qdrant, and lists of items as many APIs have them, this
 * one's among them. Null: the object is a row itself. A text says why there is no row.
 */
export function shapedRows(value: JsonObject): ShapedRows | string | null {
  return (
    openAiBatch(value) ??
    openAiEmbeddings(value) ??
    chromaDump(value) ??
    elasticsearch(value) ??
    weaviate(value) ??
    qdrant(value) ??
    listOfItems(value) ??
    tableRows(value)
  );
}

/** A line of the file that a batch gives: the answer to one request. */
function openAiBatch(value: JsonObject): ShapedRows | string | null {
  const { custom_id: id, response, error } = value;
  if (typeof id !== 'string' || !('response' in value)) return null;
  const body = isObject(response) ? response.body : null;
  const answered = isObject(body) ? embeddingsOf(body) : null;
  if (answered === null) {
    const reason = [error, isObject(body) ? body.error : null].find(isObject)?.message;
    return `${id} has no embeddings${typeof reason === 'string' ? `: ${reason}` : ''}`;
  }
  const rows = answered.map((row) => ({
    custom_id: answered.length === 1 ? id : `${id}#${String(row.index)}`,
    embedding: row.embedding,
    ...(isObject(body) && body.model !== undefined ? { model: body.model } : {}),
  }));
  return { rows, known: { id: 'custom_id', vector: 'embedding' } };
}

/** What embeddings.create answers. */
function openAiEmbeddings(value: JsonObject): ShapedRows | null {
  const answered = value.object === 'list' ? embeddingsOf(value) : null;
  if (answered === null) return null;
  return {
    rows: answered.map(({ index, embedding }) => ({
      index,
      embedding,
      ...(value.model === undefined ? {} : { model: value.model }),
    })),
    known: { vector: 'embedding' },
  };
}

function embeddingsOf({ data }: JsonObject): { index: unknown; embedding: unknown }[] | null {
  if (!isList(data) || data.length === 0 || !data.every((each) => 'embedding' in each)) return null;
  return data.map((each, i) => ({ index: each.index ?? i, embedding: each.embedding }));
}

/** Columns beside each other, as Chroma's get() gives them. */
function chromaDump(value: JsonObject): ShapedRows | string | null {
  const { ids } = value;
  if (!Array.isArray(ids) || ids.length === 0 || !ids.every((id) => typeof id === 'string' || typeof id === 'number'))
    return null;
  const columns = Object.entries({
    embedding: value.embeddings,
    document: value.documents,
    metadata: value.metadatas,
    uri: value.uris,
  }).filter((column): column is [string, unknown[]] => Array.isArray(column[1]));
  if (columns.length === 0) return null;
  const short = columns.find(([, each]) => each.length !== ids.length);
  if (short !== undefined) return `there are ${ids.length} ids and ${short[1].length} values of ${short[0]}`;
  const rows = ids.map(
    (id: unknown, i) =>
      Object.fromEntries([['id', id], ...columns.map(([name, each]) => [name, each[i]])]) as JsonObject,
  );
  const has = (name: string): boolean => columns.some(([each]) => each === name);
  return {
    rows,
    known: {
      id: 'id',
      ...(has('embedding') ? { vector: 'embedding' } : {}),
      ...(has('document') ? { text: 'document' } : {}),
    },
  };
}

/** A hit, as dumps have one a line, or an answer with a list of them. */
function elasticsearch(value: JsonObject): ShapedRows | null {
  const hits = isObject(value.hits) ? value.hits.hits : [value];
  if (
    !isList(hits) ||
    hits.length === 0 ||
    !hits.every((hit) => isObject(hit._source) && ('_id' in hit || '_index' in hit))
  )
    return null;
  return {
    rows: hits.map(({ _id, _source }) => ({ ...(_source as JsonObject), ...(_id === undefined ? {} : { _id }) })),
    known: hits.every(({ _id }) => _id !== undefined) ? { id: '_id' } : {},
  };
}

/** An object with its properties, a list of them, or an answer of GraphQL. */
function weaviate(value: JsonObject): ShapedRows | null {
  const found = graphObjects(value) ?? (isList(value.objects) ? value.objects : [value]);
  const rows = found.map(weaviateRow);
  if (rows.length === 0 || rows.some((row) => row === null)) return null;
  const all = rows as JsonObject[];
  const has = (name: string): boolean => all.every((row) => name in row);
  return { rows: all, known: { ...(has('id') ? { id: 'id' } : {}), ...(has('vector') ? { vector: 'vector' } : {}) } };
}

function graphObjects({ data }: JsonObject): JsonObject[] | null {
  const classes = isObject(data) && isObject(data.Get) ? Object.values(data.Get) : [];
  return classes.length > 0 && classes.every(isList) ? classes.flat() : null;
}

function weaviateRow(object: JsonObject): JsonObject | null {
  const { _additional: additional, properties, id, uuid, vector, vectors, ...rest } = object;
  if (isObject(additional))
    return {
      ...withoutAdditional(object),
      ...idOf(additional.id),
      ...vectorsOf(additional.vector, additional.vectors),
    };
  const isOne =
    isObject(properties) &&
    (id !== undefined || uuid !== undefined) &&
    ('class' in rest || vector !== undefined || vectors !== undefined);
  return isOne ? { ...properties, ...idOf(id ?? uuid), ...vectorsOf(vector, vectors) } : null;
}

function withoutAdditional({ _additional: _left, ...rest }: JsonObject): JsonObject {
  return rest;
}

function idOf(id: unknown): JsonObject {
  return id === undefined ? {} : { id };
}

/** One vector, or several with a name each, of which one is the vector. */
function vectorsOf(vector: unknown, vectors: unknown): JsonObject {
  const named = isObject(vectors) ? vectors : isObject(vector) ? vector : null;
  if (named === null) return vector === undefined || vector === null ? {} : { vector };
  const list = Object.entries(named);
  if (Array.isArray(vector)) return { vector };
  return list.length === 1
    ? { vector: list[0][1] }
    : Object.fromEntries(list.map(([name, each]) => [`vectors.${name}`, each]));
}

/** What a scroll of Qdrant answers. */
function qdrant({ result }: JsonObject): ShapedRows | null {
  const points = isObject(result) ? result.points : null;
  if (!isList(points) || points.length === 0 || !points.every((point) => 'id' in point && 'payload' in point))
    return null;
  return {
    rows: points,
    known: { id: 'id', ...(points.every(({ vector }) => Array.isArray(vector)) ? { vector: 'vector' } : {}) },
  };
}

/** What lists of items are called in bodies and answers: of this service, Pinecone, Qdrant, Milvus. */
const LISTS = ['items', 'vectors', 'points', 'matches', 'data', 'result', 'results', 'rows', 'records', 'documents'];
const IDS = ['external_id', 'id', '_id'];
const CONTENTS = ['vector', 'values', 'embedding', 'text'];
/** What stands beside a list of items. A row with a list of its own has other names. */
const BESIDE_LISTS =
  /^(?:status|code|error|message|success|warnings|usage|time|took|timing_ms|request_id|namespace|collection|dim|distance_metric|count|total|total_count|k|offset|limit|next|next_cursor|next_page_offset|cursor|has_more|pagination|include_timing|on_error|strict)$/;

/** An object that is no item, and holds a list of them, or them by their ids. */
function listOfItems(value: JsonObject): ShapedRows | null {
  const [name, ...others] = Object.keys(value).filter((each) => !BESIDE_LISTS.test(each));
  if (others.length > 0) return null;
  if (LISTS.includes(name)) {
    const inner = value[name];
    const list = isObject(inner) ? Object.values(inner) : inner;
    if (
      isList(list) &&
      list.length > 0 &&
      list.every((item) => IDS.some((id) => id in item) && CONTENTS.some((content) => content in item))
    ) {
      // What this service counts changes by.
      return { rows: list.map((item) => ('external_id' in item ? withoutVersion(item) : item)), known: {} };
    }
  }
  return isObject(value.data) ? listOfItems(value.data) : null;
}

function withoutVersion({ version: _left, ...rest }: JsonObject): JsonObject {
  return rest;
}

/** What a line of Elasticsearch's bulk format does with the next one. */
export interface BulkAction {
  kind: 'index' | 'create' | 'update' | 'delete';
  id: string | number | null;
}

const ACTIONS: readonly string[] = ['index', 'create', 'update', 'delete'];
const ACTION_FIELDS =
  /^(?:_.*|routing|pipeline|version|version_type|if_seq_no|if_primary_term|require_alias|retry_on_conflict|dynamic_templates)$/;

/** Null: the object is no such line. */
export function bulkActionOf(value: JsonObject): BulkAction | null {
  const [[kind, target] = ['', null], ...more] = Object.entries(value);
  if (
    more.length > 0 ||
    !ACTIONS.includes(kind) ||
    !isObject(target) ||
    !Object.keys(target).every((name) => ACTION_FIELDS.test(name))
  )
    return null;
  const { _id: id } = target;
  return { kind: kind as BulkAction['kind'], id: typeof id === 'string' || typeof id === 'number' ? id : null };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isList(value: unknown): value is JsonObject[] {
  return Array.isArray(value) && value.every(isObject);
}
