import type { Finding, ItemFindings } from '../finding';
import { PeerError, type PeerHttp } from '../peer-http';
import type {
  PeerJson,
  PeerObject,
  PageRequest,
  PeerCollection,
  PeerPage,
  PeerSource,
  PeerVector,
} from '../peer-source';
import { isObject, metricFinding, metricOf, noteMetadata, takeText } from '../peer-values';

interface ElasticMapping {
  type?: string;
  properties?: Record<string, ElasticMapping>;
  dims?: number;
  dimension?: number;
  similarity?: string;
  index?: boolean;
  element_type?: string;
  data_type?: string;
  space_type?: string;
  method?: { space_type?: string; name?: string; parameters?: { encoder?: { name?: string } } };
  index_options?: { type?: string };
  /** OpenSearch: 'on_disk' and '16x', in place of an encoder. */
  mode?: string;
  compression_level?: string;
}

interface ElasticIndex {
  mappings?: {
    properties?: Record<string, ElasticMapping>;
    _source?: { enabled?: boolean; includes?: string[]; excludes?: string[] };
  };
  settings?: { index?: { number_of_shards?: string; number_of_replicas?: string; disable_sequence_numbers?: string } };
  aliases?: Record<string, unknown>;
}

interface ElasticHit {
  _id: string;
  _source?: PeerObject;
  _routing?: string;
  fields?: Record<string, PeerJson>;
  sort: [number | string];
}

interface Position {
  shard: number;
  /** Sequence number of the last hit of that shard; -1 before its first. */
  after: number | string;
}

interface Index {
  shards: number;
  /** Paths of all fields of vectors, those that have no counterpart among them. */
  vectorFields: string[];
}

const VECTOR_TYPES = new Set(['dense_vector', 'knn_vector']);
/** Left out of documents, as they are since 9.2. */
const TOKEN_TYPES = new Set(['sparse_vector', 'rank_vectors']);
const BIT_TYPES = new Set(['bit', 'binary']);
const FORMS: Record<string, string> = {
  cosine: '(1 + cosine) / 2',
  cosinesimil: '(1 + cosine) / 2',
  dot_product: '(1 + dot product) / 2',
  max_inner_product: 'a form of the dot product',
  innerproduct: 'a form of the dot product',
  l2_norm: '1 / (1 + squared distance)',
  l2: '1 / (1 + squared distance)',
};

/**
 * Elasticsearch 7.17 to 9 and OpenSearch 2 and 3, not Elastic's serverless: their REST APIs. Each shard is read for
 * itself (`preference=_shards:n`), sorted by the sequence number of its documents: an order that needs no snapshot on
 * the peer, so a cursor is valid as long as the index is there, and a document that changes meanwhile is read again at
 * its new place.
 */
export class ElasticsearchSource implements PeerSource {
  private readonly indexes = new Map<string, Index>();
  private isOpenSearch = false;

  constructor(private readonly http: PeerHttp) {}

  async version(): Promise<string> {
    const { version } = await this.http.get<{ version: { number: string; distribution?: string } }>('/');
    this.isOpenSearch = version.distribution === 'opensearch';
    return `${this.isOpenSearch ? 'OpenSearch' : 'Elasticsearch'} ${version.number}`;
  }

  async collections(): Promise<PeerCollection[]> {
    await this.version();
    const indexes = await this.http.get<Record<string, ElasticIndex>>('/*?expand_wildcards=open');
    const found: PeerCollection[] = [];
    for (const [name, index] of Object.entries(indexes).sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (!name.startsWith('.')) found.push(await this.described(name, index));
    }
    return found;
  }

  async page({ collection, vector, cursor, limit, textField, findings }: PageRequest): Promise<PeerPage> {
    const index = this.indexes.get(collection.name);
    if (index === undefined) throw new PeerError(`there is no index "${collection.name}"`);
    const { shard, after } = (cursor ?? { shard: 0, after: -1 }) as unknown as Position;
    const answer = await this.http.post<{
      timed_out: boolean;
      _shards: { failed: number };
      hits: { hits: ElasticHit[] };
    }>(
      `/${encodeURIComponent(collection.name)}/_search?preference=_shards:${shard}`,
      {
        size: limit,
        query: { match_all: {} },
        sort: [{ _seq_no: 'asc' }],
        search_after: [after],
        track_total_hits: false,
        // Since 9.2 vectors are not in _source; OpenSearch has them nowhere else.
        ...(this.isOpenSearch ? {} : { _source: { excludes: index.vectorFields }, fields: [vector] }),
      },
      findings,
    );
    if (answer.timed_out || answer._shards.failed > 0)
      throw new PeerError(`shard ${shard} of "${collection.name}" could not be searched whole`, 503);
    const { hits } = answer.hits;
    const items = hits.map((hit) => this.item(hit, index, vector, textField, findings));
    const isShardRead = hits.length < limit;
    const next: Position | null = !isShardRead
      ? { shard, after: hits[hits.length - 1].sort[0] }
      : shard + 1 < index.shards
        ? { shard: shard + 1, after: -1 }
        : null;
    return { items, next: next as PeerJson };
  }

  async close(): Promise<void> {}

  private item(
    hit: ElasticHit,
    index: Index,
    vectorName: string,
    textField: string | null,
    findings: ItemFindings,
  ): PeerPage['items'][number] {
    const metadata = hit._source ?? {};
    if (hit._source === undefined)
      findings.add('field types', 'left out', 'the index keeps no _source, so its documents have no metadata here');
    const inSource = take(metadata, vectorName);
    for (const other of index.vectorFields) take(metadata, other);
    if (hit._routing !== undefined)
      findings.add('partitions', 'left out', 'the routing of a document; Quiver spreads items by their ids');
    const text = takeText(metadata, textField);
    noteMetadata(metadata, findings);
    return { id: hit._id, vector: denseVector(hit.fields?.[vectorName] ?? inSource), metadata, text };
  }

  private async described(name: string, index: ElasticIndex): Promise<PeerCollection> {
    const fields = flatFields(index.mappings?.properties ?? {});
    const all = fields.filter(([, { type }]) => VECTOR_TYPES.has(type ?? ''));
    const shards = Number(index.settings?.index?.number_of_shards ?? 1);
    this.indexes.set(name, {
      shards,
      vectorFields: fields
        .filter(([, { type = '' }]) => VECTOR_TYPES.has(type) || TOKEN_TYPES.has(type))
        .map(([path]) => path),
    });
    const dense = all.filter(
      ([path, field]) =>
        !BIT_TYPES.has(numbersOf(field)) &&
        !isNested(path, index.mappings?.properties ?? {}) &&
        !(this.isOpenSearch && isOutsideSource(path, index)),
    );
    const vectors = dense.map(([path, field]): PeerVector => {
      const metricThere =
        field.similarity ??
        field.method?.space_type ??
        field.space_type ??
        (field.type === 'knn_vector' ? 'l2' : field.index === false ? 'unknown, because it is not indexed' : 'cosine');
      return { name: path, dim: field.dims ?? field.dimension ?? null, metric: metricOf(metricThere), metricThere };
    });
    const hasSequence = index.settings?.index?.disable_sequence_numbers !== 'true';
    const count =
      vectors.length === 0
        ? null
        : (await this.http.get<{ count: number }>(`/${encodeURIComponent(name)}/_count`)).count;
    return {
      name,
      vectors,
      count,
      description: null,
      obstacle:
        vectors.length === 0
          ? noVectors(all.length > 0 && all.every(([path]) => isOutsideSource(path, index)))
          : hasSequence
            ? null
            : 'its sequence numbers are switched off (index.disable_sequence_numbers), and it is read by them',
      findings: this.findings(index, fields, vectors, all),
    };
  }

  private leftOut(path: string, numbers: string, index: ElasticIndex): Finding {
    if (BIT_TYPES.has(numbers))
      return {
        topic: 'vector types',
        effect: 'left out',
        detail: `${path}, a vector of bits: Quiver has no metric for bits`,
      };
    if (isNested(path, index.mappings?.properties ?? {}))
      return {
        topic: 'multi-vectors',
        effect: 'left out',
        detail: `${path}, vectors of nested documents: each would have to be an item of its own`,
      };
    return {
      topic: 'schema',
      effect: 'left out',
      detail: `${path}: the index keeps it out of _source, and OpenSearch answers vectors from nowhere else`,
    };
  }

  private findings(
    index: ElasticIndex,
    fields: [string, ElasticMapping][],
    vectors: PeerVector[],
    all: [string, ElasticMapping][],
  ): Finding[] {
    const findings: Finding[] = vectors.map(({ name, metricThere }) =>
      metricFinding(name, metricThere, FORMS[metricThere] ?? metricThere),
    );
    if (vectors.length > 1)
      findings.push({
        topic: 'named vectors',
        effect: 'check',
        detail: `a collection here has one vector per item: ${vectors.map(({ name }) => name).join(', ')} go into a collection each, chosen by --vector`,
      });
    for (const [path, field] of all) {
      const numbers = numbersOf(field);
      if (!vectors.some(({ name }) => name === path)) findings.push(this.leftOut(path, numbers, index));
      else if (numbers !== 'float')
        findings.push({
          topic: 'vector types',
          effect: 'changed',
          detail: `${path} (${numbers}): its numbers are kept as float32`,
        });
      const codes = codesOf(field);
      if (codes !== null)
        findings.push({
          topic: 'quantization',
          effect: 'check',
          detail: `${path} (${codes}): here a collection has int8, int4 or binary codes (--quantization)`,
        });
    }
    const of = (...types: string[]): string =>
      fields
        .filter(([, { type }]) => types.includes(type ?? ''))
        .map(([path]) => path)
        .join(', ');
    const say = (paths: string, finding: Omit<Finding, 'detail'>, what: string): void => {
      if (paths !== '') findings.push({ ...finding, detail: `${paths}: ${what}` });
    };
    say(
      of('sparse_vector'),
      { topic: 'sparse vectors', effect: 'left out' },
      'hybrid search here makes its own from texts (BM25)',
    );
    say(
      of('rank_features', 'rank_feature'),
      { topic: 'sparse vectors', effect: 'kept as data' },
      'numbers that rank nothing here',
    );
    say(of('rank_vectors'), { topic: 'multi-vectors', effect: 'left out' }, 'several vectors per document');
    say(
      of('geo_point', 'geo_shape'),
      { topic: 'geo', effect: 'kept as data' },
      'filter by ranges of numbers; there is no radius or polygon',
    );
    say(
      of('date', 'date_nanos'),
      { topic: 'field types', effect: 'kept as data' },
      'dates as they were written; ranges of strings compare as text',
    );
    say(
      of('text', 'match_only_text', 'semantic_text'),
      { topic: 'text', effect: 'changed' },
      'every string is searched by hybrid_search; analysers become the language of the collection (--language); ' +
        'filters match whole strings',
    );
    say(
      of(
        'join',
        'percolator',
        'alias',
        'runtime',
        'nested',
        'ip',
        'ip_range',
        'integer_range',
        'long_range',
        'date_range',
      ),
      { topic: 'field types', effect: 'kept as data' },
      'JSON as it is, without what its type does',
    );
    findings.push({
      topic: 'schema',
      effect: 'not needed',
      detail: 'mappings and analysers: metadata here are any JSON',
    });
    if (index.mappings?._source?.enabled === false)
      findings.push({
        topic: 'field types',
        effect: 'left out',
        detail: 'the index keeps no _source, so its documents have no metadata here',
      });
    const { number_of_shards = '1', number_of_replicas = '0' } = index.settings?.index ?? {};
    if (number_of_shards !== '1' || number_of_replicas !== '0')
      findings.push({
        topic: 'partitions',
        effect: 'check',
        detail: `${number_of_shards} shards with ${number_of_replicas} further replicas there; here --shards and --replicas`,
      });
    const aliases = Object.keys(index.aliases ?? {});
    if (aliases.length > 0) findings.push({ topic: 'aliases', effect: 'left out', detail: aliases.join(', ') });
    return findings;
  }
}

function flatFields(properties: Record<string, ElasticMapping>, prefix = ''): [string, ElasticMapping][] {
  return Object.entries(properties).flatMap(([name, field]): [string, ElasticMapping][] => [
    [prefix + name, field],
    ...flatFields(field.properties ?? {}, `${prefix}${name}.`),
  ]);
}

/** The kind of a vector's numbers; OpenSearch answers it in capitals. */
function numbersOf({ element_type, data_type }: ElasticMapping): string {
  return (element_type ?? data_type ?? 'float').toLowerCase();
}

/** What a vector is coded as for searches; null: as it is. */
function codesOf({ index_options, method, mode, compression_level }: ElasticMapping): string | null {
  if (/int8|int4|bbq/.test(index_options?.type ?? '')) return index_options!.type!;
  const encoder = method?.parameters?.encoder?.name;
  if (encoder !== undefined && encoder !== 'flat') return encoder;
  if (compression_level !== undefined && compression_level !== '1x') return `compressed ${compression_level}`;
  return mode === 'on_disk' ? mode : null;
}

function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

function noVectors(isOutside: boolean): string {
  return isOutside
    ? 'it keeps its vectors out of _source, and OpenSearch answers them from nowhere else'
    : 'it has no dense vectors';
}

/** Whether documents are kept without the field at this path. */
function isOutsideSource(path: string, { mappings }: ElasticIndex): boolean {
  const { enabled = true, includes = [], excludes = [] } = mappings?._source ?? {};
  // A pattern names a field or an object around it; "*" stands for anything, dots as well.
  const isNamed = (pattern: string): boolean =>
    new RegExp(`^${pattern.split('*').map(literal).join('.*')}(\\..*)?$`).test(path);
  return !enabled || (includes.length > 0 && !includes.some(isNamed)) || excludes.some(isNamed);
}

function isNested(path: string, properties: Record<string, ElasticMapping>): boolean {
  const [first, ...rest] = path.split('.');
  const field = properties[first];
  return (
    field !== undefined &&
    (field.type === 'nested' || (rest.length > 0 && isNested(rest.join('.'), field.properties ?? {})))
  );
}

/** Takes a value out by its path; documents may write "a.b" as one key or as two. */
function take(holder: PeerObject, path: string): PeerJson | undefined {
  if (Object.hasOwn(holder, path)) {
    const value = holder[path];
    delete holder[path];
    return value;
  }
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const inner = holder[path.slice(0, dot)];
    if (isObject(inner)) return take(inner, path.slice(dot + 1));
  }
  return undefined;
}

/**
 * A list of numbers, that list in a list, or base64 of big-endian float32 values, which documents may hold since 9.3.
 */
function denseVector(value: PeerJson | undefined): number[] | null {
  if (typeof value === 'string') return base64Vector(value);
  if (!Array.isArray(value) || value.length === 0) return null;
  if (value.every((entry) => typeof entry === 'number')) return value;
  return value.length === 1 ? denseVector(value[0]) : null;
}

function base64Vector(text: string): number[] | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === 0 || bytes.length % 4 !== 0
    ? null
    : Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatBE(4 * i));
}
