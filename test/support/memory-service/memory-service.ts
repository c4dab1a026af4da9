import { randomUUID } from 'node:crypto';
import type {
  CollectionView,
  HybridInput,
  NewCollection,
  ScoredHit,
  SearchInput,
  Service,
  VectorInput,
  VectorSource,
  VectorView,
} from '../../../coordinator/service';
import { vectorNotFound } from '../../../coordinator/vectors/vector-not-found';
import { QuiverError } from '../../../shared/errors/quiver-error';
import type { Filter } from '../../../shared/filter/filter';
import { MemoryCollection, type MemoryItem, hitOf, sorted } from './memory-collection';

const SEARCH_TIMING = { embeddingMs: 0, searchMs: 0.25, totalMs: 0.5 };
const WRITE_TIMING = { embeddingMs: 0, storageMs: 0.25, totalMs: 0.5 };
const EXPORT_PAGE = 100;
const CHUNK_CHARACTERS = 500;

/** The use cases over maps: what the HTTP layer is tested with. */
export class MemoryService implements Service {
  private readonly byName = new Map<string, MemoryCollection>();

  /** What is stored, for tests that look behind the API. */
  get stored(): ReadonlyMap<string, MemoryCollection> {
    return this.byName;
  }

  private find(name: string): MemoryCollection {
    const found = this.byName.get(name);
    if (found === undefined) throw new QuiverError('not_found', `collection "${name}" not found`);
    return found;
  }

  readonly collections = {
    create: async (input: NewCollection): Promise<CollectionView> => {
      if (this.byName.has(input.name)) throw new QuiverError('already_exists', `collection "${input.name}" already exists`);
      const { replicas = 1, minInSync = 1 } = input;
      if (minInSync > replicas) throw new QuiverError('invalid_parameter', `min_in_sync is ${minInSync}, more than the collection's replicas (${replicas})`);
      const made = new MemoryCollection(input, new Date().toISOString());
      this.byName.set(input.name, made);
      return made.view();
    },
    list: async () => [...this.byName.values()].map((collection) => collection.view()),
    get: async (name: string) => this.find(name).view(),
    update: async (name: string, change: { description: string | null }) => {
      const collection = this.find(name);
      collection.description = change.description;
      return collection.view();
    },
    delete: async (name: string) => {
      this.find(name);
      this.byName.delete(name);
    },
  };

  readonly vectors = {
    upsert: async (name: string, items: VectorInput[]) => ({ statuses: this.find(name).upsert(items), timing: WRITE_TIMING }),
    delete: async (name: string, externalIds: string[]) => {
      const { items } = this.find(name);
      const asked = [...new Set(externalIds)];
      const deleted = asked.filter((id) => items.delete(id));
      return { deleted, notFound: asked.filter((id) => !deleted.includes(id)) };
    },
    deleteByFilter: async (name: string, filter: Filter) => {
      const collection = this.find(name);
      const matching = collection.matching(filter);
      for (const { externalId } of matching) collection.items.delete(externalId);
      return { deletedCount: matching.length };
    },
    fetch: async (name: string, externalIds: string[], options: { vectors: boolean }) => {
      const { items } = this.find(name);
      return externalIds.flatMap((id) => items.get(id) ?? []).map((item) => viewOf(item, options.vectors));
    },
    scroll: async (name: string, page: { cursor: string | null; limit: number; filter: Filter | null; vectors: boolean }) => {
      const after = page.cursor === null ? 0 : Number(page.cursor);
      if (!Number.isInteger(after)) throw new QuiverError('invalid_parameter', 'cursor is not one that scroll has answered');
      const rest = this.find(name).matching(page.filter).filter(({ stamp }) => stamp > after);
      const vectors = rest.slice(0, page.limit);
      const nextCursor = rest.length > page.limit ? String(vectors[vectors.length - 1].stamp) : null;
      return { vectors: vectors.map((item) => viewOf(item, page.vectors)), nextCursor };
    },
    export: async (name: string, limit: number) => {
      const collection = this.find(name);
      const items = collection.inOrder().slice(0, limit);
      async function* pages(): AsyncGenerator<VectorView[]> {
        for (let i = 0; i < items.length; i += EXPORT_PAGE) yield items.slice(i, i + EXPORT_PAGE).map((item) => viewOf(item, true));
      }
      return { collection: collection.view(), pages: pages() };
    },
  };

  readonly search = {
    search: async (name: string, request: SearchInput) => {
      const collection = this.find(name);
      return { hits: this.page(collection, request), totalCount: collection.items.size, timing: SEARCH_TIMING };
    },
    bulkSearch: async (name: string, queries: SearchInput[]) => {
      const collection = this.find(name);
      return { results: queries.map((query) => this.page(collection, query)), timing: SEARCH_TIMING };
    },
    hybridSearch: async (name: string, { queryText, vector, k, offset, alpha, filter, minScore, explain }: HybridInput) => {
      const collection = this.find(name);
      const items = collection.matching(filter);
      const places = (weight: number, hits: ScoredHit[]) => new Map(weight === 0 ? [] : hits.map(({ externalId, score }, i) => [externalId, { rank: i + 1, score }]));
      const byVector = places(alpha, collection.ranked(collection.vectorOf(vector === undefined ? { text: queryText } : { vector }), items));
      const byKeyword = places(1 - alpha, collection.keywordRanked(queryText, items));
      const part = (weight: number, place: { rank: number } | undefined) => (place === undefined ? 0 : weight / (60 + place.rank));
      const fused = items.map((item) => {
        const [v, w] = [byVector.get(item.externalId), byKeyword.get(item.externalId)];
        const hit = hitOf(item, part(alpha, v) + part(1 - alpha, w));
        const explanation = { vectorRank: v?.rank ?? null, vectorScore: v?.score ?? null, keywordRank: w?.rank ?? null, keywordScore: w?.score ?? null };
        return explain === true ? { ...hit, explanation } : hit;
      });
      return { hits: reaching(sorted(fused.filter(({ score }) => score > 0)), minScore).slice(offset, offset + k), timing: SEARCH_TIMING };
    },
    rerank: async (name: string, { source, candidates }: { source: VectorSource; candidates: string[] }) => {
      const collection = this.find(name);
      const items = [...new Set(candidates)].flatMap((id) => collection.items.get(id) ?? []);
      return { hits: collection.ranked(collection.vectorOf(source), items), timing: SEARCH_TIMING };
    },
    recommend: async (name: string, id: string, { k, offset, filter }: { k: number; offset: number; filter: Filter | null }) => {
      const collection = this.find(name);
      const source = this.item(collection, id);
      const others = collection.matching(filter).filter(({ externalId }) => externalId !== id);
      return { hits: collection.ranked(source.vector, others).slice(offset, offset + k) };
    },
    similarity: async (name: string, id1: string, id2: string) => {
      const collection = this.find(name);
      const [a, b] = [this.item(collection, id1).vector, this.item(collection, id2).vector];
      const dot = (x: Float32Array, y: Float32Array) => x.reduce((sum, value, i) => sum + value * y[i], 0);
      return dot(a, b) === 0 ? 0 : dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
    },
    query: async (name: string, { text, k, filter, minScore }: { text: string; k: number; filter: Filter | null; minScore?: number | undefined }) => {
      const collection = this.find(name);
      return { hits: reaching(collection.ranked(collection.vectorOf({ text }), collection.matching(filter)), minScore).slice(0, k), timing: SEARCH_TIMING };
    },
  };

  readonly documents = {
    upload: async (name: string, file: { name: string; content: AsyncIterable<Buffer> }) => {
      const collection = this.find(name);
      if (!/\.txt$/i.test(file.name)) throw new QuiverError('invalid_parameter', 'Only .txt files are supported');
      const pieces: Buffer[] = [];
      for await (const piece of file.content) pieces.push(piece);
      const text = Buffer.concat(pieces).toString('utf8');
      if (text.trim() === '') throw new QuiverError('invalid_parameter', 'the file is empty');
      const documentId = randomUUID();
      const chunks = Array.from({ length: Math.ceil(text.length / CHUNK_CHARACTERS) }, (_, i) => text.slice(i * CHUNK_CHARACTERS, (i + 1) * CHUNK_CHARACTERS));
      collection.upsert(
        chunks.map((chunk, i) => ({
          externalId: `${documentId}-chunk-${i}`,
          source: { text: chunk },
          metadata: JSON.stringify({ document_id: documentId, chunk_index: i, source: file.name, text: chunk }),
          text: chunk,
        })),
      );
      return { documentId, chunksCreated: chunks.length, timing: WRITE_TIMING };
    },
  };

  private item(collection: MemoryCollection, id: string): MemoryItem {
    const found = collection.items.get(id);
    if (found === undefined) throw vectorNotFound(collection.input.name, id);
    return found;
  }

  private page(collection: MemoryCollection, { source, k, offset, filter, minScore }: SearchInput) {
    return reaching(collection.ranked(collection.vectorOf(source), collection.matching(filter)), minScore).slice(offset, offset + k);
  }
}

function reaching(hits: ScoredHit[], minScore = -Infinity): ScoredHit[] {
  return hits.filter(({ score }) => score >= minScore);
}

function viewOf({ externalId, vector, metadata, text }: MemoryItem, withVector: boolean): VectorView {
  return { externalId, metadata, text, ...(withVector ? { vector } : {}) };
}
