import type { Finding, ItemFindings } from '../finding';
import { parseLossless } from '../../formats/json/lossless-json';
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
import { idText, isObject, metricFinding, metricOf, noteMetadata, takeText } from '../peer-values';

interface MilvusField {
  name: string;
  type: string;
  primaryKey?: boolean;
  partitionKey?: boolean;
  clusteringKey?: boolean;
  autoId?: boolean;
  isFunctionOutput?: boolean;
  params?: { key: string; value: string }[];
}

interface MilvusDescription {
  collectionName: string;
  description?: string;
  aliases?: string[] | null;
  fields: MilvusField[];
  indexes?: { fieldName: string; metricType?: string }[] | null;
  functions?: { name: string; type?: string }[] | null;
  load?: string;
  partitionsNum?: number;
  shardsNum?: number;
}

/** Its REST API answers 200 to everything, with a code. */
interface MilvusAnswer<Data> {
  code: number;
  message?: string;
  data: Data;
}

interface Table {
  key: MilvusField;
  fields: Map<string, MilvusField>;
}

const DENSE_TYPES = new Set(['FloatVector', 'Float16Vector', 'BFloat16Vector', 'Int8Vector']);
const FORMS: Record<string, string> = {
  COSINE: 'the cosine',
  IP: 'the dot product',
  L2: 'the squared distance, lower is better',
};

/**
 * Milvus 2.4 and later: its RESTful API v2. Pages go by the primary key: those greater than the greatest so far, of
 * which Milvus answers the smallest, in order. It promises that nowhere, so a page in another order is counted over.
 */
export class MilvusSource implements PeerSource {
  private readonly tables = new Map<string, Table>();

  constructor(
    private readonly http: PeerHttp,
    private readonly database: string | null,
  ) {}

  async version(): Promise<string> {
    // The API tells no version; this call shows that it is there.
    await this.call<string[]>('collections/list', {});
    return 'Milvus, RESTful API v2';
  }

  async collections(): Promise<PeerCollection[]> {
    const names = await this.call<string[]>('collections/list', {});
    const found: PeerCollection[] = [];
    for (const name of names.sort()) found.push(await this.described(name));
    return found;
  }

  async page({ collection, vector, cursor, limit, textField, findings }: PageRequest): Promise<PeerPage> {
    const table = this.tables.get(collection.name);
    if (table === undefined) throw new PeerError(`Milvus has no collection "${collection.name}"`);
    const { name: key, type } = table.key;
    const filter = cursor === null ? '' : `${key} > ${keyText(cursor as string | number, type)}`;
    const rows = await this.call<PeerObject[]>(
      'entities/query',
      { collectionName: collection.name, filter, limit, outputFields: ['*'], consistencyLevel: 'Strong' },
      findings,
    );
    let last: string | number | null = null;
    let isOrdered = true;
    for (const row of rows) {
      const own = row[key];
      if (typeof own !== 'string' && typeof own !== 'number')
        throw new PeerError(`Milvus answered an entity of "${collection.name}" without its primary key ${key}`);
      if (last === null || isGreater(own, last, type)) last = own;
      else isOrdered = false;
    }
    if (last !== null && !isOrdered) {
      const there = await this.count(
        collection.name,
        `${filter === '' ? '' : `${filter} and `}${key} <= ${keyText(last, type)}`,
      );
      if (there > rows.length)
        throw new PeerError(
          `Milvus answered ${rows.length} entities of "${collection.name}" that are not those with the smallest keys, so going on after them would leave out ${there - rows.length}`,
        );
    }
    const items = rows.map((row) => this.item(row, table, vector, textField, findings));
    return { items, next: last };
  }

  async close(): Promise<void> {}

  private item(
    row: PeerObject,
    { key, fields }: Table,
    vectorName: string,
    textField: string | null,
    findings: ItemFindings,
  ): PeerPage['items'][number] {
    const metadata: PeerObject = {};
    for (const [name, value] of Object.entries(row)) {
      const field = fields.get(name);
      if (name === key.name || field?.type.endsWith('Vector') === true) continue;
      metadata[name] = plainValue(value, field?.type);
    }
    const text = takeText(metadata, textField);
    noteMetadata(metadata, findings);
    return {
      id: idText(row[key.name], findings),
      vector: denseVector(row[vectorName], fields.get(vectorName)?.type),
      metadata,
      text,
    };
  }

  private async described(name: string): Promise<PeerCollection> {
    const there = await this.call<MilvusDescription>('collections/describe', { collectionName: name });
    const key = there.fields.find(({ primaryKey }) => primaryKey === true);
    if (key === undefined) throw new PeerError(`Milvus tells no primary key of "${name}"`);
    this.tables.set(name, { key, fields: new Map(there.fields.map((field) => [field.name, field])) });
    const metrics = new Map((there.indexes ?? []).map(({ fieldName, metricType }) => [fieldName, metricType ?? '']));
    const vectors = there.fields
      .filter(({ type }) => DENSE_TYPES.has(type))
      .map((field): PeerVector => {
        const metricThere = metrics.get(field.name) || 'unknown, because it has no index';
        const dim = Number(field.params?.find((param) => param.key === 'dim')?.value);
        return {
          name: field.name,
          dim: Number.isInteger(dim) ? dim : null,
          metric: metricOf(metricThere),
          metricThere,
        };
      });
    const isLoaded = there.load === undefined || there.load === 'LoadStateLoaded';
    return {
      name,
      vectors,
      count: isLoaded ? await this.count(name, '') : null,
      description: there.description || null,
      obstacle:
        vectors.length === 0
          ? 'it has no dense vectors'
          : isLoaded
            ? null
            : `it is not in Milvus's memory (${there.load}); load it there first`,
      findings: findingsOf(there, key, vectors),
    };
  }

  private async count(collection: string, filter: string): Promise<number> {
    const [counted] = await this.call<{ 'count(*)': number | string }[]>('entities/query', {
      collectionName: collection,
      filter,
      outputFields: ['count(*)'],
      consistencyLevel: 'Strong',
    });
    return Number(counted['count(*)']);
  }

  private async call<Data>(path: string, body: PeerObject, findings?: ItemFindings): Promise<Data> {
    const answer = await this.http.post<MilvusAnswer<Data>>(
      `/v2/vectordb/${path}`,
      { ...(this.database === null ? {} : { dbName: this.database }), ...body },
      findings,
    );
    // 200 is what early versions of v2 said for success.
    if (answer.code !== 0 && answer.code !== 200)
      throw new PeerError(
        `Milvus, ${path}: ${answer.message ?? 'an error without a message'} (code ${answer.code})`,
        answer.code === 1800 ? 401 : null,
      );
    return answer.data;
  }
}

function findingsOf(there: MilvusDescription, key: MilvusField, vectors: PeerVector[]): Finding[] {
  const findings: Finding[] = vectors.map(({ name, metricThere }) =>
    metricFinding(name, metricThere, FORMS[metricThere] ?? metricThere),
  );
  if (vectors.length > 1)
    findings.push({
      topic: 'named vectors',
      effect: 'check',
      detail: `a collection here has one vector per item: ${vectors.map(({ name }) => name).join(', ')} go into a collection each, chosen by --vector`,
    });
  for (const { name, type, partitionKey, clusteringKey } of there.fields) {
    if (type === 'SparseFloatVector')
      findings.push({
        topic: 'sparse vectors',
        effect: 'left out',
        detail: `${name}; hybrid search here makes its own from texts (BM25)`,
      });
    else if (type === 'BinaryVector')
      findings.push({
        topic: 'vector types',
        effect: 'left out',
        detail: `${name}, a vector of bits: Quiver has no metric for bits`,
      });
    else if (DENSE_TYPES.has(type) && type !== 'FloatVector')
      findings.push({
        topic: 'vector types',
        effect: 'changed',
        detail: `${name} (${type}): its numbers are kept as float32`,
      });
    else if (type === 'Geometry')
      findings.push({
        topic: 'geo',
        effect: 'kept as data',
        detail: `${name}: well-known text; there is no geometry to filter by`,
      });
    else if (type === 'Timestamptz')
      findings.push({
        topic: 'field types',
        effect: 'kept as data',
        detail: `${name} (${type}): strings, whose ranges compare as text`,
      });
    else if (type.includes('Struct'))
      findings.push({
        topic: 'field types',
        effect: 'kept as data',
        detail: `${name} (${type}): JSON as Milvus answers it`,
      });
    if (partitionKey === true)
      findings.push({
        topic: 'partitions',
        effect: 'kept as data',
        detail: `the partition key ${name} is a field like others: filter by it`,
      });
    if (clusteringKey === true)
      findings.push({ topic: 'index settings', effect: 'not needed', detail: `the clustering key ${name}` });
  }
  findings.push({
    topic: 'schema',
    effect: 'not needed',
    detail: 'types, lengths and defaults of fields: metadata here are any JSON',
  });
  if (key.autoId === true)
    findings.push({
      topic: 'ids',
      effect: 'check',
      detail: `${key.name} is given by Milvus; here whoever writes gives the external_id`,
    });
  if ((there.partitionsNum ?? 1) > 1)
    findings.push({
      topic: 'partitions',
      effect: 'left out',
      detail: `${there.partitionsNum} partitions become one collection, without the partition's name`,
    });
  if ((there.shardsNum ?? 1) > 1)
    findings.push({ topic: 'partitions', effect: 'check', detail: `${there.shardsNum} shards there; here --shards` });
  if ((there.aliases ?? []).length > 0)
    findings.push({ topic: 'aliases', effect: 'left out', detail: (there.aliases ?? []).join(', ') });
  for (const { name, type } of there.functions ?? [])
    findings.push({
      topic: 'schema',
      effect: 'left out',
      detail: `the function ${name}${type === undefined ? '' : ` (${type})`}`,
    });
  findings.push({
    topic: 'index settings',
    effect: 'not needed',
    detail: 'types and settings of indexes: Quiver calibrates its effort to RECALL_TARGET',
  });
  return findings;
}

/** A key as an expression has it. One of Int64 was read as its digits where a double can't hold it. */
function keyText(key: string | number, type: string): string {
  return type === 'VarChar' ? JSON.stringify(key) : String(key);
}

function isGreater(a: string | number, b: string | number, type: string): boolean {
  return type === 'VarChar'
    ? Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b))) > 0
    : BigInt(a) > BigInt(b);
}

/** JSON fields come as text, arrays wrapped in the names of their types. */
function plainValue(value: PeerJson, type: string | undefined): PeerJson {
  if (type === 'JSON' && typeof value === 'string') {
    try {
      return parseLossless(value) as PeerJson;
    } catch {
      return value;
    }
  }
  if (type === 'Array' && isObject(value) && Object.hasOwn(value, 'Data')) {
    // An empty array has no data, or not even the name of its type.
    const [inner] = Object.values(value.Data ?? {});
    return isObject(inner) && Array.isArray(inner.data) ? inner.data : [];
  }
  return value;
}

/** Float vectors are lists of numbers; those of 16 bits come as base64 of little-endian bytes. */
function denseVector(value: PeerJson | undefined, type: string | undefined): ArrayLike<number> | null {
  if (Array.isArray(value)) return value.length > 0 && value.every((entry) => typeof entry === 'number') ? value : null;
  if (typeof value !== 'string') return null;
  const bytes = Buffer.from(value, 'base64');
  const bits = Array.from({ length: bytes.length >> 1 }, (_, i) => bytes.readUInt16LE(2 * i));
  if (type === 'Float16Vector') return bits.map(halfToNumber);
  if (type === 'BFloat16Vector') return new Float32Array(new Uint32Array(bits.map((half) => half << 16)).buffer);
  return type === 'Int8Vector' ? new Int8Array(bytes) : null;
}

function halfToNumber(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return exponent === 31
    ? fraction === 0
      ? sign * Infinity
      : Number.NaN
    : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
