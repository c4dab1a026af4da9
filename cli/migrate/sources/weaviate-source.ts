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

interface WeaviateIndex {
  distance?: string;
  multivector?: { enabled?: boolean };
  [setting: string]: unknown;
}

interface WeaviateClass {
  class: string;
  description?: string;
  vectorizer?: string;
  vectorIndexType?: string;
  vectorIndexConfig?: WeaviateIndex;
  vectorConfig?: Record<
    string,
    { vectorizer?: Record<string, unknown>; vectorIndexType?: string; vectorIndexConfig?: WeaviateIndex }
  >;
  multiTenancyConfig?: { enabled?: boolean };
  replicationConfig?: { factor?: number };
  properties?: { name: string; dataType: string[] }[];
}

interface WeaviateObject {
  id: string;
  properties?: PeerObject;
  vector?: PeerJson;
  vectors?: Record<string, PeerJson>;
}

/** A class, or a tenant of it. */
interface Part {
  className: string;
  tenant: string | null;
  legacy: boolean;
}

const FORMS: Record<string, string> = {
  cosine: '1 − cosine',
  dot: 'the negative dot product',
  'l2-squared': 'the squared distance',
};
const ACTIVE = new Set(['ACTIVE', 'HOT']);
/** Objects that are looked at for the dimension, which the schema does not tell. */
const SAMPLE = 20;
/** Types of properties that are JSON of the same meaning here. */
const PLAIN_TYPES = new Set([
  'text',
  'text[]',
  'string',
  'string[]',
  'int',
  'int[]',
  'number',
  'number[]',
  'boolean',
  'boolean[]',
  'uuid',
  'uuid[]',
]);

/**
 * Weaviate 1.24 and later: its REST API as the OpenAPI document in its sources has it up to 1.35. Pages go by the UUID
 * of the last object. Each tenant of a class with tenants is a collection, "Class/tenant".
 */
export class WeaviateSource implements PeerSource {
  private readonly parts = new Map<string, Part>();

  constructor(
    private readonly http: PeerHttp,
    private readonly tenant: string | null,
  ) {}

  async version(): Promise<string> {
    const { version } = await this.http.get<{ version: string }>('/v1/meta');
    return `Weaviate ${version}`;
  }

  async collections(): Promise<PeerCollection[]> {
    const { classes } = await this.http.get<{ classes: WeaviateClass[] }>('/v1/schema');
    const found: PeerCollection[] = [];
    for (const there of classes.sort((a, b) => (a.class < b.class ? -1 : 1))) {
      if (there.multiTenancyConfig?.enabled !== true) {
        found.push(await this.described(there, null));
        continue;
      }
      const tenants = await this.http.get<{ name: string; activityStatus?: string }[]>(
        `/v1/schema/${encodeURIComponent(there.class)}/tenants`,
      );
      for (const { name, activityStatus = 'ACTIVE' } of tenants.sort((a, b) => (a.name < b.name ? -1 : 1))) {
        if (this.tenant !== null && this.tenant !== name) continue;
        found.push(
          await this.described(
            there,
            name,
            ACTIVE.has(activityStatus) ? null : `the tenant is ${activityStatus}; only an active one can be read`,
          ),
        );
      }
    }
    return found;
  }

  async page({ collection, vector, cursor, limit, textField, findings }: PageRequest): Promise<PeerPage> {
    const part = this.parts.get(collection.name);
    if (part === undefined) throw new PeerError(`Weaviate has no collection "${collection.name}"`);
    const objects = await this.objects(part, typeof cursor === 'string' ? cursor : '', limit, findings);
    const items = objects.map((object) => this.item(object, vector, textField, findings));
    return { items, next: objects.length < limit ? null : objects[objects.length - 1].id };
  }

  async close(): Promise<void> {}

  private item(
    object: WeaviateObject,
    vectorName: string,
    textField: string | null,
    findings: ItemFindings,
  ): PeerPage['items'][number] {
    const metadata: PeerObject = {};
    for (const [name, value] of Object.entries(object.properties ?? {})) {
      if (
        Array.isArray(value) &&
        value.length > 0 &&
        value.every((entry) => isObject(entry) && typeof entry.beacon === 'string')
      )
        findings.add('references', 'left out', `references to other objects (${name})`);
      else metadata[name] = value;
    }
    const text = takeText(metadata, textField);
    noteMetadata(metadata, findings);
    return {
      id: object.id,
      vector: numbers(vectorName === '' ? object.vector : object.vectors?.[vectorName]),
      metadata,
      text,
    };
  }

  private async objects(
    { className, tenant }: Part,
    after: string,
    limit: number,
    findings?: ItemFindings,
  ): Promise<WeaviateObject[]> {
    const query = new URLSearchParams({
      class: className,
      limit: String(limit),
      after,
      include: 'vector',
      ...(tenant === null ? {} : { tenant }),
    });
    const { objects } = await this.http.get<{ objects?: WeaviateObject[] | null }>(
      `/v1/objects?${query.toString()}`,
      findings,
    );
    return objects ?? [];
  }

  private async described(
    there: WeaviateClass,
    tenant: string | null,
    obstacle: string | null = null,
  ): Promise<PeerCollection> {
    const name = tenant === null ? there.class : `${there.class}/${tenant}`;
    const named = Object.entries(there.vectorConfig ?? {});
    const part: Part = { className: there.class, tenant, legacy: named.length === 0 };
    this.parts.set(name, part);
    const indexes: [string, WeaviateIndex, string | undefined][] = part.legacy
      ? [['', there.vectorIndexConfig ?? {}, there.vectorizer]]
      : named.map(([vector, config]) => [
          vector,
          config.vectorIndexConfig ?? {},
          Object.keys(config.vectorizer ?? {})[0],
        ]);
    const dense = indexes.filter(([, index]) => index.multivector?.enabled !== true);
    const sample = obstacle === null ? await this.objects(part, '', SAMPLE) : [];
    const dimOf = (vector: string): number | null =>
      sample
        .map((object) => numbers(vector === '' ? object.vector : object.vectors?.[vector])?.length ?? 0)
        .find((length) => length > 0) ?? null;
    const all = dense.map(([vector, index]): PeerVector => {
      const metricThere = index.distance ?? 'cosine';
      return { name: vector, dim: dimOf(vector), metric: metricOf(metricThere), metricThere };
    });
    // Where the sample is all there is, a vector that none of it has is none.
    const isWhole = obstacle === null && sample.length < SAMPLE;
    const vectors = all.filter(({ dim }) => dim !== null || !isWhole);
    const findings = this.findings(there, indexes, tenant);
    for (const { name: vector } of all)
      if (!vectors.some((other) => other.name === vector))
        findings.push({
          topic: 'named vectors',
          effect: 'left out',
          detail: `no object has a vector${vector === '' ? '' : ` "${vector}"`}`,
        });
    return {
      name,
      vectors,
      count: obstacle === null ? await this.count(part) : null,
      description: there.description || null,
      obstacle:
        obstacle ??
        (vectors.length > 0 ? null : all.length === 0 ? 'it has no dense vectors' : 'none of its objects has a vector'),
      findings,
    };
  }

  private async count({ className, tenant }: Part): Promise<number | null> {
    const of = tenant === null ? '' : `(tenant: ${JSON.stringify(tenant)})`;
    const { data, errors } = await this.http.post<{
      data?: { Aggregate?: Record<string, { meta: { count: number } }[]> } | null;
      errors?: unknown;
    }>('/v1/graphql', {
      query: `{ Aggregate { ${className}${of} { meta { count } } } }`,
    });
    return errors ? null : (data?.Aggregate?.[className]?.[0]?.meta.count ?? null);
  }

  private findings(
    there: WeaviateClass,
    indexes: [string, WeaviateIndex, string | undefined][],
    tenant: string | null,
  ): Finding[] {
    const findings: Finding[] = [];
    for (const [vector, index, vectorizer] of indexes) {
      const of = vector === '' ? '' : ` of "${vector}"`;
      if (index.multivector?.enabled === true) {
        findings.push({
          topic: 'multi-vectors',
          effect: 'left out',
          detail: `several vectors per object in ${vector}`,
        });
        continue;
      }
      const distance = index.distance ?? 'cosine';
      findings.push(metricFinding(vector, distance, FORMS[distance] ?? distance));
      if (vectorizer !== undefined && vectorizer !== 'none') {
        findings.push({
          topic: 'embedding model',
          effect: 'check',
          detail: `the vectorizer ${vectorizer}${of}; to search by text here, EMBEDDING_MODEL must be the same model, else search by vectors of it`,
        });
      }
      const codes = ['pq', 'bq', 'sq', 'rq'].filter((kind) => isObject(index[kind]) && index[kind].enabled === true);
      if (codes.length > 0)
        findings.push({
          topic: 'quantization',
          effect: 'check',
          detail: `${codes.join(', ')}${of}: here a collection has int8, int4 or binary codes (--quantization)`,
        });
    }
    const names = indexes.filter(([, index]) => index.multivector?.enabled !== true).map(([vector]) => vector);
    if (names.length > 1)
      findings.push({
        topic: 'named vectors',
        effect: 'check',
        detail: `a collection here has one vector per item: ${names.join(', ')} go into a collection each, chosen by --vector`,
      });
    findings.push({
      topic: 'index settings',
      effect: 'not needed',
      detail: `the settings of the vector index (${there.vectorIndexType || 'hnsw'}): Quiver calibrates its effort to RECALL_TARGET`,
    });
    if (tenant !== null)
      findings.push({
        topic: 'tenants',
        effect: 'changed',
        detail: `the tenant "${tenant}" becomes a collection of its own`,
      });
    if ((there.replicationConfig?.factor ?? 1) > 1)
      findings.push({
        topic: 'partitions',
        effect: 'check',
        detail: `${there.replicationConfig?.factor} replicas there; here --replicas`,
      });
    findings.push({ topic: 'timestamps', effect: 'left out', detail: 'when objects were made and changed' });
    for (const { name, dataType } of there.properties ?? []) {
      const type = dataType.join(', ');
      if (PLAIN_TYPES.has(type)) continue;
      if (type === 'geoCoordinates')
        findings.push({
          topic: 'geo',
          effect: 'kept as data',
          detail: `${name}: filter by ranges of latitude and longitude; there is no radius`,
        });
      else if (/^[A-Z]/.test(type))
        findings.push({ topic: 'references', effect: 'left out', detail: `${name}, references to ${type}` });
      else if (type.startsWith('date'))
        findings.push({
          topic: 'field types',
          effect: 'kept as data',
          detail: `${name} (${type}): strings, whose ranges compare as text; one form and zone for all`,
        });
      else if (type === 'blob')
        findings.push({
          topic: 'field types',
          effect: 'kept as data',
          detail: `${name} (blob): base64 text, which keyword search would read too; metadata have at most 64 KiB`,
        });
      else findings.push({ topic: 'field types', effect: 'kept as data', detail: `${name} (${type}): JSON as it is` });
    }
    return findings;
  }
}

function numbers(value: PeerJson | undefined): number[] | null {
  return Array.isArray(value) && value.length > 0 && value.every((entry) => typeof entry === 'number') ? value : null;
}
