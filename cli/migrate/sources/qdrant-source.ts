import type { Finding, ItemFindings } from '../finding';
import type { PeerHttp } from '../peer-http';
import type {
  PeerJson,
  PeerObject,
  PageRequest,
  PeerCollection,
  PeerPage,
  PeerSource,
  PeerVector,
} from '../peer-source';
import { idText, metricFinding, metricOf, noteMetadata, takeText } from '../peer-values';

interface QdrantVectorParams {
  size: number;
  distance: string;
  datatype?: string | null;
  multivector_config?: unknown;
}

interface QdrantInfo {
  points_count?: number | null;
  config: {
    params: {
      vectors?: QdrantVectorParams | Record<string, QdrantVectorParams>;
      sparse_vectors?: Record<string, unknown> | null;
      shard_number?: number;
      sharding_method?: string | null;
      replication_factor?: number;
    };
    hnsw_config: { m: number; ef_construct: number };
    quantization_config?: PeerObject | null;
    metadata?: PeerObject | null;
  };
  payload_schema: Record<string, { data_type: string; params?: { is_tenant?: boolean | null } | null }>;
}

interface QdrantPoint {
  id: number | string;
  payload?: PeerObject | null;
  vector?: PeerJson;
  shard_key?: string | number | null;
}

interface Answered<Result> {
  result: Result;
}

const FORMS: Record<string, string> = {
  Cosine: 'the cosine',
  Dot: 'the dot product',
  Euclid: 'the distance, lower is better',
  Manhattan: 'the distance',
};
/** Kinds of payload indexes that only speed up what Quiver does for every field. */
const PLAIN_INDEXES = new Set(['keyword', 'integer', 'float', 'bool', 'uuid']);

/** Qdrant 1.x: its REST API as its OpenAPI document has it up to 1.19. Pages go by the id of the next point. */
export class QdrantSource implements PeerSource {
  constructor(private readonly http: PeerHttp) {}

  async version(): Promise<string> {
    const { version } = await this.http.get<{ version: string }>('/');
    return `Qdrant ${version}`;
  }

  async collections(): Promise<PeerCollection[]> {
    const { result } = await this.http.get<Answered<{ collections: { name: string }[] }>>('/collections');
    const names = result.collections.map(({ name }) => name).sort();
    const aliases =
      await this.http.get<Answered<{ aliases: { alias_name: string; collection_name: string }[] }>>('/aliases');
    const found: PeerCollection[] = [];
    for (const name of names) {
      const own = aliases.result.aliases
        .filter((alias) => alias.collection_name === name)
        .map((alias) => alias.alias_name);
      found.push(await this.described(name, own));
    }
    return found;
  }

  async page({ collection, vector, cursor, limit, textField, findings }: PageRequest): Promise<PeerPage> {
    const request = JSON.stringify({ limit, with_payload: true, with_vector: vector === '' ? true : [vector] });
    const path = `/collections/${encodeURIComponent(collection.name)}/points/scroll`;
    const { result } = await this.http.post<Answered<{ points: QdrantPoint[]; next_page_offset?: PeerJson }>>(
      path,
      cursor === null ? request : `${request.slice(0, -1)},"offset":${idJson(cursor)}}`,
      findings,
    );
    const items = result.points.map((point) => this.item(point, vector, textField, findings));
    return { items, next: result.next_page_offset ?? null };
  }

  async close(): Promise<void> {}

  private item(
    point: QdrantPoint,
    vectorName: string,
    textField: string | null,
    findings: ItemFindings,
  ): PeerPage['items'][number] {
    const metadata = point.payload ?? {};
    const text = takeText(metadata, textField);
    noteMetadata(metadata, findings);
    if (point.shard_key !== undefined && point.shard_key !== null)
      findings.add('partitions', 'left out', 'the shard key of a point; Quiver spreads items by their ids');
    return { id: idText(point.id, findings), vector: denseVector(point.vector, vectorName), metadata, text };
  }

  private async described(name: string, aliases: string[]): Promise<PeerCollection> {
    const { result: info } = await this.http.get<Answered<QdrantInfo>>(`/collections/${encodeURIComponent(name)}`);
    const { result } = await this.http.post<Answered<{ count: number }>>(
      `/collections/${encodeURIComponent(name)}/points/count`,
      { exact: true },
    );
    const { params, hnsw_config, quantization_config, metadata } = info.config;
    const findings: Finding[] = [];
    const all = vectorParams(params.vectors);
    const dense = all.filter(([, of]) => of.multivector_config === undefined || of.multivector_config === null);
    for (const [vector, of] of dense) {
      findings.push(metricFinding(vector, of.distance, FORMS[of.distance] ?? of.distance));
      if (of.distance === 'Cosine')
        findings.push({
          topic: 'vector types',
          effect: 'changed',
          detail: `Qdrant keeps the vectors of a Cosine collection at length 1${vector === '' ? '' : ` ("${vector}")`}; they come so, and their first length is lost`,
        });
      if (of.datatype && of.datatype !== 'float32')
        findings.push({
          topic: 'vector types',
          effect: 'changed',
          detail: `${of.datatype} numbers${vector === '' ? '' : ` of "${vector}"`} are kept as float32`,
        });
    }
    const multi = all.filter((entry) => !dense.includes(entry)).map(([vector]) => vector || '(default)');
    if (multi.length > 0)
      findings.push({
        topic: 'multi-vectors',
        effect: 'left out',
        detail: `several vectors per point in ${multi.join(', ')}`,
      });
    const sparse = Object.keys(params.sparse_vectors ?? {});
    if (sparse.length > 0)
      findings.push({
        topic: 'sparse vectors',
        effect: 'left out',
        detail: `${sparse.join(', ')}; hybrid search here makes its own from texts (BM25)`,
      });
    if (dense.length > 1)
      findings.push({
        topic: 'named vectors',
        effect: 'check',
        detail: `a collection here has one vector per item: ${dense.map(([vector]) => vector).join(', ')} go into a collection each, chosen by --vector`,
      });
    findings.push(...this.settings(params, hnsw_config, quantization_config ?? null, info.payload_schema));
    if (aliases.length > 0) findings.push({ topic: 'aliases', effect: 'left out', detail: aliases.join(', ') });
    if (metadata && Object.keys(metadata).length > 0)
      findings.push({
        topic: 'collection settings',
        effect: 'left out',
        detail: `metadata of the collection itself: ${JSON.stringify(metadata)}`,
      });
    const vectors = dense.map(([vector, of]): PeerVector => ({
      name: vector,
      dim: of.size,
      metric: metricOf(of.distance),
      metricThere: of.distance,
    }));
    return {
      name,
      vectors,
      count: result.count,
      description: null,
      obstacle: vectors.length === 0 ? 'it has no dense vectors' : null,
      findings,
    };
  }

  private settings(
    params: QdrantInfo['config']['params'],
    hnsw: QdrantInfo['config']['hnsw_config'],
    quantization: PeerObject | null,
    payload: QdrantInfo['payload_schema'],
  ): Finding[] {
    const findings: Finding[] = [
      {
        topic: 'index settings',
        effect: 'not needed',
        detail: `HNSW m ${hnsw.m}, ef_construct ${hnsw.ef_construct}: Quiver calibrates its effort to RECALL_TARGET`,
      },
    ];
    if (quantization !== null)
      findings.push({
        topic: 'quantization',
        effect: 'check',
        detail: `${Object.keys(quantization).join(', ')}: here a collection has int8, int4 or binary codes (--quantization)`,
      });
    if ((params.shard_number ?? 1) > 1 || (params.replication_factor ?? 1) > 1) {
      findings.push({
        topic: 'partitions',
        effect: 'check',
        detail: `${params.shard_number ?? 1} shards, ${params.replication_factor ?? 1} replicas there; here --shards and --replicas`,
      });
    }
    if (params.sharding_method === 'custom')
      findings.push({
        topic: 'partitions',
        effect: 'left out',
        detail: 'custom sharding; Quiver spreads items by their ids',
      });
    const of = (matches: (kind: string) => boolean): string[] =>
      Object.keys(payload).filter((field) => matches(payload[field].data_type));
    const plain = of((kind) => PLAIN_INDEXES.has(kind));
    if (plain.length > 0)
      findings.push({
        topic: 'field types',
        effect: 'not needed',
        detail: `payload indexes on ${plain.join(', ')}: Quiver indexes every field`,
      });
    const geo = of((kind) => kind === 'geo');
    if (geo.length > 0)
      findings.push({
        topic: 'geo',
        effect: 'kept as data',
        detail: `geo index on ${geo.join(', ')}: filter by ranges of lat and lon; there is no radius or polygon`,
      });
    const text = of((kind) => kind === 'text');
    if (text.length > 0)
      findings.push({
        topic: 'text',
        effect: 'changed',
        detail: `full-text index on ${text.join(', ')}: every string is searched by hybrid_search; there is no filter by words`,
      });
    const times = of((kind) => kind === 'datetime');
    if (times.length > 0)
      findings.push({
        topic: 'field types',
        effect: 'kept as data',
        detail: `datetime index on ${times.join(', ')}: strings, whose ranges compare as text; one form and zone for all`,
      });
    const tenants = Object.keys(payload).filter((field) => payload[field].params?.is_tenant === true);
    if (tenants.length > 0)
      findings.push({
        topic: 'tenants',
        effect: 'kept as data',
        detail: `tenants by the field ${tenants.join(', ')}: filter by it`,
      });
    return findings;
  }
}

function vectorParams(vectors: QdrantInfo['config']['params']['vectors']): [string, QdrantVectorParams][] {
  if (vectors === undefined) return [];
  return typeof vectors.size === 'number'
    ? [['', vectors as QdrantVectorParams]]
    : Object.entries(vectors as Record<string, QdrantVectorParams>);
}

function denseVector(vector: PeerJson | undefined, name: string): number[] | null {
  const own = typeof vector === 'object' && vector !== null && !Array.isArray(vector) ? vector[name] : vector;
  return Array.isArray(own) && own.every((value) => typeof value === 'number') ? own : null;
}

/**
 * A number beyond 2^53 was read as its digits; Qdrant wants a number again, which only text can say. Other strings are
 * UUIDs.
 */
function idJson(cursor: PeerJson): string {
  return typeof cursor === 'string' && /^\d+$/.test(cursor) ? cursor : JSON.stringify(cursor);
}
