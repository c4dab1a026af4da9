import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Filter } from '../../../shared/contract/filter/filter';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { DocumentView, ItemExchange, VectorsService, VectorView } from '../service';
import type { KeyWriter } from '../keys/quota/key-quota';
import { CHUNK_INDEX, DOCUMENT_ID } from './chunk-paths';
import { documentView } from './document-facts';

/** Chunks that are read at once. */
const PAGE_CHUNKS = 1_000;
/** A deletion that another change overtakes so often is left to the caller. */
const DELETE_ATTEMPTS = 8;

/** Documents as their chunks tell of them: there is no other record of what is stored. */
export class StoredDocuments {
  constructor(
    private readonly parts: {
      catalog: Pick<CollectionCatalog, 'known' | 'find'>;
      vectors: Pick<VectorsService, 'scroll' | 'exchange'>;
    },
  ) {}

  /** As DocumentsService has it. */
  async list(
    collection: string,
    { cursor, limit }: { cursor: string | null; limit: number },
  ): Promise<{ documents: DocumentView[]; nextCursor: string | null }> {
    const { pages, nextCursor } = await this.parts.vectors.scroll(collection, {
      cursor,
      limit,
      filter: FIRST_CHUNKS,
      vectors: false,
    });
    const documents: DocumentView[] = [];
    for await (const page of pages) documents.push(...page.flatMap(({ metadata }) => documentView(metadata) ?? []));
    return { documents, nextCursor: nextCursor() };
  }

  /** As DocumentsService has it. */
  async get(collection: string, documentId: string): Promise<DocumentView> {
    const first = await this.first(collection, documentId);
    const view = first === null ? null : documentView(first.metadata);
    if (view === null) throw noDocument(collection, documentId);
    return view;
  }

  /** The first chunk of a document; null: it has none. */
  async first(collection: string, documentId: string): Promise<VectorView | null> {
    const filter: Filter = { type: 'and', filters: [ofDocument(documentId), FIRST] };
    const { pages } = await this.parts.vectors.scroll(collection, { cursor: null, limit: 1, filter, vectors: false });
    for await (const [chunk] of pages) return chunk ?? null;
    return null;
  }

  /** All chunks of a document. */
  async chunks(collection: string, documentId: string, vectors: boolean): Promise<VectorView[]> {
    const chunks: VectorView[] = [];
    let cursor: string | null = null;
    do {
      const { pages, nextCursor } = await this.parts.vectors.scroll(collection, {
        cursor,
        limit: PAGE_CHUNKS,
        filter: ofDocument(documentId),
        vectors,
      });
      for await (const page of pages) chunks.push(...page);
      cursor = nextCursor();
    } while (cursor !== null);
    return chunks;
  }

  /** As DocumentsService has it. */
  async delete(collection: string, documentId: string): Promise<{ deletedChunks: number }> {
    for (let attempt = 1; ; attempt += 1) {
      const { catalog } = this.parts;
      const { identity } = catalog.known(collection) ?? (await catalog.find(collection));
      const chunks = await this.chunks(collection, documentId, false);
      if (chunks.length === 0) throw noDocument(collection, documentId);
      const gone = chunks.map(({ externalId, version }) => ({ externalId, expected: version }));
      try {
        await this.exchange(collection, { identity, puts: [], gone });
        return { deletedChunks: chunks.length };
      } catch (error) {
        if (attempt === DELETE_ATTEMPTS || !isQuiverError(error) || error.kind !== 'conflict') throw error;
      }
    }
  }

  /** As VectorsService has it. */
  exchange(collection: string, change: ItemExchange, writer?: KeyWriter): Promise<void> {
    return this.parts.vectors.exchange(collection, change, writer);
  }
}

const FIRST: Filter = { type: 'equals', path: CHUNK_INDEX, value: 0 };
const FIRST_CHUNKS: Filter = { type: 'and', filters: [FIRST, { type: 'exists', path: DOCUMENT_ID }] };

function ofDocument(documentId: string): Filter {
  return { type: 'equals', path: DOCUMENT_ID, value: documentId };
}

function noDocument(collection: string, documentId: string): QuiverError {
  return new QuiverError(
    'not_found',
    `collection "${collection}" has no document ${JSON.stringify(documentId.slice(0, 200))}`,
  );
}
