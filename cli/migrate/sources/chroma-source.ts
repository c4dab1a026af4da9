import type { Finding } from '../finding';
import { PeerError, PeerHttp } from '../peer-http';
import type { Cursor, PeerObject, PageRequest, PeerCollection, PeerPage, PeerSource } from '../peer-source';
import { isObject, metricFinding, metricOf } from '../peer-values';

interface ChromaCollection {
  id: string;
  name: string;
  dimension: number | null;
  metadata: PeerObject | null;
  configuration_json?: {
    hnsw?: ChromaIndex | null;
    spann?: ChromaIndex | null;
    embedding_function?: { type: string; name?: string } | null;
  } | null;
  schema?: {
    keys?: Record<string, { float_list?: { vector_index?: { config?: { space?: string } } }; sparse_vector?: unknown }>;
  } | null;
}

interface ChromaIndex {
  space?: string | null;
  [setting: string]: unknown;
}

interface ChromaRecords {
  ids: string[];
  embeddings: (number[] | null)[] | null;
  documents: (string | null)[] | null;
  metadatas: (PeerObject | null)[] | null;
  uris: (string | null)[] | null;
}

const LIST_PAGE = 100;
/** Names of the metric in the metadata of collections made before 1.0. */
const LEGACY_SPACE = 'hnsw:space';
const FORMS: Record<string, string> = { cosine: '1 − cosine', l2: 'the squared distance', ip: '1 − dot product' };
/** Chroma's own types of metadata values that are no JSON of the user. */
const TYPE_KEY = '#type';

/**
 * Chroma 1.x and 0.6: its HTTP API v2, `/openapi.json` of a running server. Pages go by offset, in the order of
 * insertion.
 */
export class ChromaSource implements PeerSource {
  private readonly database: string;
  private readonly byName = new Map<string, ChromaCollection>();

  constructor(
    private readonly http: PeerHttp,
    private readonly place: { tenant: string; database: string },
  ) {
    this.database = `/api/v2/tenants/${encodeURIComponent(place.tenant)}/databases/${encodeURIComponent(place.database)}`;
  }

  async version(): Promise<string> {
    return `Chroma, server ${await this.http.get<string>('/api/v2/version')}`;
  }

  async collections(): Promise<PeerCollection[]> {
    const found: PeerCollection[] = [];
    const others = await this.otherDatabases();
    for (let offset = 0; ; offset += LIST_PAGE) {
      const page = await this.http.get<ChromaCollection[]>(
        `${this.database}/collections?limit=${LIST_PAGE}&offset=${offset}`,
      );
      for (const collection of page) found.push(await this.described(collection, others));
      if (page.length < LIST_PAGE) return found.sort((a, b) => (a.name < b.name ? -1 : 1));
    }
  }

  async page({ collection, cursor, limit, findings }: PageRequest): Promise<PeerPage> {
    const offset = typeof cursor === 'number' ? cursor : 0;
    const there = this.byName.get(collection.name);
    if (there === undefined) throw new PeerError(`Chroma has no collection "${collection.name}"`);
    const records = await this.http.post<ChromaRecords>(
      `${this.database}/collections/${there.id}/get`,
      { limit, offset, include: ['embeddings', 'documents', 'metadatas', 'uris'] },
      findings,
    );
    const items = records.ids.map((id, i) => {
      const metadata: PeerObject = {};
      for (const [key, value] of Object.entries(records.metadatas?.[i] ?? {})) {
        if (isObject(value) && TYPE_KEY in value)
          findings.add(
            'sparse vectors',
            'left out',
            'sparse vectors in metadata are left out; hybrid search here makes its own from texts',
          );
        else metadata[key] = value;
      }
      const uri = records.uris?.[i] ?? null;
      if (uri !== null && !Object.hasOwn(metadata, 'uri')) {
        metadata.uri = uri;
        findings.add('field types', 'changed', 'the URI of a record became the metadata field uri');
      }
      return { id, vector: records.embeddings?.[i] ?? null, metadata, text: records.documents?.[i] ?? null };
    });
    const next: Cursor | null = items.length < limit ? null : offset + items.length;
    return { items, next };
  }

  async close(): Promise<void> {}

  private async described(there: ChromaCollection, others: Finding[]): Promise<PeerCollection> {
    this.byName.set(there.name, there);
    const index = there.configuration_json?.hnsw ?? there.configuration_json?.spann ?? {};
    const legacy = there.metadata?.[LEGACY_SPACE];
    const space =
      index.space ??
      there.schema?.keys?.['#embedding']?.float_list?.vector_index?.config?.space ??
      (typeof legacy === 'string' ? legacy : 'l2');
    const count = await this.http.get<number>(`${this.database}/collections/${there.id}/count`);
    const { description, ...rest } = there.metadata ?? {};
    const findings: Finding[] = [metricFinding('', space, FORMS[space] ?? space), ...others];
    const settings = Object.entries(index).filter(([name, value]) => name !== 'space' && value !== null);
    if (settings.length > 0)
      findings.push({
        topic: 'index settings',
        effect: 'not needed',
        detail: `${settings.map(([name, value]) => `${name} ${String(value)}`).join(', ')}: Quiver calibrates its effort to RECALL_TARGET`,
      });
    const model = there.configuration_json?.embedding_function;
    if (model?.name !== undefined) {
      findings.push({
        topic: 'embedding model',
        effect: 'check',
        detail: `texts were embedded by "${model.name}" of the client; to search by text here, EMBEDDING_MODEL must be the same model, else search by vectors of it`,
      });
    }
    const kept = Object.keys(rest).filter((key) => !key.startsWith('hnsw:'));
    if (kept.length > 0)
      findings.push({
        topic: 'collection settings',
        effect: 'left out',
        detail: `metadata of the collection itself: ${JSON.stringify(Object.fromEntries(kept.map((key) => [key, rest[key]])))}`,
      });
    const sparse = Object.entries(there.schema?.keys ?? {}).filter(([, value]) => value.sparse_vector !== undefined);
    if (sparse.length > 0)
      findings.push({
        topic: 'sparse vectors',
        effect: 'left out',
        detail: `sparse indexes on ${sparse.map(([key]) => key).join(', ')}`,
      });
    return {
      name: there.name,
      vectors:
        there.dimension === null
          ? []
          : [{ name: '', dim: there.dimension, metric: metricOf(space), metricThere: space }],
      count,
      description: typeof description === 'string' ? description : null,
      obstacle: there.dimension === null ? 'it never held a vector, so it has no dimension' : null,
      findings,
    };
  }

  /** One run reads one database; that there are others is worth a word. */
  private async otherDatabases(): Promise<Finding[]> {
    const databases = await this.http
      .get<{ name: string }[]>(`/api/v2/tenants/${encodeURIComponent(this.place.tenant)}/databases`)
      .catch((error: Error) => {
        if (error instanceof PeerError) return [];
        throw error;
      });
    const names = databases.map(({ name }) => name).filter((name) => name !== this.place.database);
    return names.length === 0
      ? []
      : [
          {
            topic: 'tenants',
            effect: 'check',
            detail: `the tenant "${this.place.tenant}" has other databases, each read by a run of its own (--database): ${names.join(', ')}`,
          },
        ];
  }
}
