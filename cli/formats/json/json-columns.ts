import type { KnownFields } from '../record-source';

type JsonObject = Record<string, unknown>;

/** Rows that a JSON object holds which is none itself, and which of their fields are what. */
export interface ShapedRows {
  rows: JsonObject[];
  known: KnownFields;
}

/**
 * The rows within a table that stands as one object: columns beside each other, as pandas and Polars write them, rows
 * by their ids, and answers of embedding services. Null: the object is a row itself, or may be one.
 */
export function tableRows(value: JsonObject): ShapedRows | null {
  return (
    splitTable(value) ??
    describedRows(value) ??
    embeddingAnswer(value) ??
    listsBeside(value) ??
    columnsByIndex(value) ??
    storeOfVectors(value) ??
    rowsById(value) ??
    vectorsById(value)
  );
}

const VECTORS = ['vector', 'vectors', 'embedding', 'embeddings', 'emb', 'values'];
const TEXTS = ['text', 'texts', 'content', 'document', 'documents'];
const CONTENTS = [...VECTORS, ...TEXTS, 'page_content'];
/** What stands beside the vectors of an answer. */
const BESIDE_EMBEDDINGS =
  /^(?:id|texts|images|meta|model|object|response_type|usage|total_duration|load_duration|prompt_eval_count)$/;

const rowsOf = (rows: JsonObject[]): ShapedRows => ({ rows, known: {} });

/** As pandas' orient="split". */
function splitTable({ columns, data, index: _index, ...others }: JsonObject): ShapedRows | null {
  if (!Array.isArray(columns) || !Array.isArray(data) || Object.keys(others).length > 0) return null;
  const isTable =
    columns.length > 0 && data.length > 0 && data.every((row) => Array.isArray(row) && row.length === columns.length);
  return isTable
    ? rowsOf((data as unknown[][]).map((row) => Object.fromEntries(columns.map((name, i) => [String(name), row[i]]))))
    : null;
}

/** As pandas' orient="table", and as the viewer of Hugging Face's data sets answers. */
function describedRows({ schema, data, features, rows }: JsonObject): ShapedRows | null {
  if (isObject(schema) && Array.isArray(schema.fields) && isList(data) && data.length > 0) return rowsOf(data);
  if (!Array.isArray(features) || !isList(rows) || rows.length === 0) return null;
  return rows.every((each) => isObject(each.row)) ? rowsOf(rows.map(({ row }) => row as JsonObject)) : null;
}

/** What Cohere, Ollama and Gemini answer: vectors in the order of the texts that were asked for. */
function embeddingAnswer({ embeddings, ...others }: JsonObject): ShapedRows | null {
  if (embeddings === undefined || !Object.keys(others).every((name) => BESIDE_EMBEDDINGS.test(name))) return null;
  // One that has an id may be an item.
  if ('id' in others && !('texts' in others || 'response_type' in others)) return null;
  const kinds = isObject(embeddings) ? Object.values(embeddings).filter(Array.isArray) : [embeddings];
  const list = kinds.length === 1 ? kinds[0] : null;
  if (!Array.isArray(list) || list.length === 0) return null;
  const vectors = list.map((each: unknown) => (isObject(each) && Array.isArray(each.values) ? each.values : each));
  if (!vectors.every(isVector)) return null;
  const { texts } = others;
  const hasTexts = Array.isArray(texts) && texts.length === vectors.length;
  return rowsOf(vectors.map((embedding, i) => ({ embedding, ...(hasTexts ? { text: texts[i] as unknown } : {}) })));
}

/** A list for each column, all of one length. */
function listsBeside(value: JsonObject): ShapedRows | null {
  const columns = Object.entries(value) as [string, unknown[]][];
  const [first] = columns;
  if (first === undefined || !Array.isArray(first[1]) || first[1].length === 0) return null;
  if (!columns.every(([, each]) => Array.isArray(each) && each.length === first[1].length)) return null;
  const isTable = columns.some(
    ([name, each]) =>
      (VECTORS.includes(name) && each.every(isVector)) ||
      (TEXTS.includes(name) && each.every((text) => typeof text === 'string')),
  );
  return isTable
    ? rowsOf(first[1].map((_, i) => Object.fromEntries(columns.map(([name, each]) => [name, each[i]]))))
    : null;
}

/** An object for each column, with the numbers of rows as keys: what pandas writes unless it is told otherwise. */
function columnsByIndex(value: JsonObject): ShapedRows | null {
  const columns = Object.entries(value);
  if (!columns.every((column): column is [string, JsonObject] => isObject(column[1]))) return null;
  if (!columns.some(([name]) => CONTENTS.includes(name))) return null;
  const keys = Object.keys(columns[0][1]);
  const isTable =
    keys.length > 0 &&
    columns.every(
      ([, each]) => Object.keys(each).length === keys.length && keys.every((key) => Object.hasOwn(each, key)),
    ) &&
    keys.every((key, i) => key === String(i)) &&
    columns.every(([name, each]) => !VECTORS.includes(name) || Object.values(each).every(isVector));
  return isTable
    ? rowsOf(keys.map((key) => Object.fromEntries(columns.map(([name, each]) => [name, each[key]]))))
    : null;
}

/** What LlamaIndex's own store of vectors writes. */
function storeOfVectors({ embedding_dict: vectors, metadata_dict: metadata }: JsonObject): ShapedRows | null {
  if (!isObject(vectors) || !Object.values(vectors).every(isVector)) return null;
  const of = isObject(metadata) ? metadata : {};
  return byId(vectors, (id, embedding) => ({ embedding, ...(isObject(of[id]) ? { metadata: of[id] } : {}) }));
}

/**
 * A row for each id, as pandas' orient="index" and many programs keep them, and as LangChain's store in memory dumps
 * them, where each says its id, too. A single one, or names of columns, may be a row with objects in it; so may texts
 * by names that are no numbers.
 */
function rowsById(value: JsonObject): ShapedRows | null {
  const rows = Object.entries(value);
  if (!rows.every((row): row is [string, JsonObject] => isObject(row[1]))) return null;
  const isNamed = rows.every(([id, row]) => row.id === id && CONTENTS.some((name) => Object.hasOwn(row, name)));
  const hasContents = ([id, row]: [string, JsonObject]): boolean =>
    VECTORS.some((name) => isVector(row[name])) ||
    (/^\d+$/.test(id) && TEXTS.some((name) => typeof row[name] === 'string'));
  const isTable = rows.length > 1 && !rows.some(([id]) => isColumn(id)) && rows.every(hasContents);
  if (isNamed) return byId(value, (_id, row) => row as JsonObject);
  if (!isTable) return null;
  // The id that a row says of itself counts.
  const own = ['id', 'external_id', '_id'].find((name) => rows.every(([, row]) => isId(row[name])));
  return own === undefined ? byId(value, (_id, row) => row as JsonObject) : rowsOf(rows.map(([, row]) => row));
}

/** A vector for each id. */
function vectorsById(value: JsonObject): ShapedRows | null {
  const rows = Object.entries(value);
  const isTable =
    rows.length > 1 &&
    rows.every(([id, vector]) => !isColumn(id) && isVector(vector)) &&
    rows.every(([, vector]) => (vector as number[]).length === (rows[0][1] as number[]).length);
  return isTable ? byId(value, (_id, vector) => ({ vector })) : null;
}

/** What columns may be called that hold vectors or texts. */
const LIKE_COLUMN = /vec|emb|feature|text|title|content|body|name|desc|abstract|summary|metadata|payload/i;

function isColumn(name: string): boolean {
  return CONTENTS.includes(name) || LIKE_COLUMN.test(name);
}

function isId(value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || typeof value === 'number';
}

/** A key of an object is an id, also where it looks like a number. */
function byId(rows: JsonObject, rowOf: (id: string, value: unknown) => JsonObject): ShapedRows | null {
  const ids = Object.keys(rows);
  if (ids.length === 0) return null;
  return { rows: ids.map((id) => ({ ...rowOf(id, rows[id]), id })), known: { id: 'id' } };
}

function isVector(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'number');
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isList(value: unknown): value is JsonObject[] {
  return Array.isArray(value) && value.every(isObject);
}
