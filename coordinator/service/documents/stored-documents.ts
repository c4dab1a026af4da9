import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Filter } from '../../../shared/contract/filter/filter';
import {
  DOCUMENT_CHUNKS_MAX,
  documentChunkId,
  documentOfChunk,
  indexOfChunk,
} from '../../../shared/contract/shard/chunk-id';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { DocumentView, ItemExchange, VectorsService, VectorView } from '../service';
import type { KeyWriter } from '../keys/quota/key-quota';
import { CHUNK_INDEX, DOCUMENT_ID } from './chunk-paths';
import { chunkId } from './document-chunks';
import { documentView } from './document-facts';

/** Chunks that are read at once. */
const PAGE_CHUNKS = 1_000;
/** A deletion that another change overtakes so often is left to the caller. */
const DELETE_ATTEMPTS = 8;

/**
 * Documents as their chunks tell of them: there is no other record of what is stored. A chunk is an item with the id of
 * one; others may name a document in their metadata (a summary of it, say), and are not its own.
 */
export class StoredDocuments {
  constructor(
    private readonly parts: {
      catalog: Pick<CollectionCatalog, 'known' | 'find'>;
      vectors: Pick<VectorsService, 'scroll' | 'fetch' | 'exchange' | 'revoke'>;
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
    for await (const page of pages) documents.push(...page.flatMap((chunk) => firstView(chunk) ?? []));
    return { documents, nextCursor: nextCursor() };
  }

  /** As DocumentsService has it. */
  async get(collection: string, documentId: string): Promise<DocumentView> {
    const ids = [chunkId(documentId, 0)];
    if (isJobs(documentId)) ids.unshift(documentChunkId(documentId, 0));
    for (const chunk of await this.fetched(collection, ids)) {
      const view = firstView(chunk);
      if (view !== null) return view;
    }
    throw noDocument(collection, documentId);
  }

  /** The first chunk of a document that a job stored; null: it has none. */
  async first(collection: string, documentId: string): Promise<VectorView | null> {
    return firstChunkOf(await this.fetched(collection, [documentChunkId(documentId, 0)]));
  }

  /** The chunks of a document that a job stored, with their vectors, as far as their metadata name it. */
  async chunks(collection: string, documentId: string): Promise<VectorView[]> {
    const named = await this.named(collection, documentId, true);
    return named.filter(({ externalId }) => documentOfChunk(externalId) === documentId);
  }

  /**
   * What else is at ids of a document's chunks, without vectors: chunks whose metadata were changed, so that they name
   * the document no more, and what somebody put there. `wanted`: ids that it is to have, from the first on.
   */
  async strays(
    collection: string,
    documentId: string,
    known: readonly VectorView[],
    wanted: readonly string[],
  ): Promise<VectorView[]> {
    const found = new Set(known.map(({ externalId }) => externalId));
    const ids = wanted.filter((id) => !found.has(id));
    const indexes = new Set(known.map(({ externalId }) => indexOfChunk(externalId)));
    const count = countOf(known, indexOfChunk);
    for (let index = wanted.length; index < count; index += 1)
      if (!indexes.has(index)) ids.push(documentChunkId(documentId, index));
    return this.fetched(collection, ids);
  }

  /** As DocumentsService has it. */
  async delete(collection: string, documentId: string): Promise<{ deletedChunks: number }> {
    for (let attempt = 1; ; attempt += 1) {
      const { catalog } = this.parts;
      const { identity } = catalog.known(collection) ?? (await catalog.find(collection));
      const chunks = await this.all(collection, documentId);
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

  /** All chunks of a document, stored by a job or an upload. */
  private async all(collection: string, documentId: string): Promise<VectorView[]> {
    const named = await this.named(collection, documentId, false);
    const byJob = named.filter(({ externalId }) => documentOfChunk(externalId) === documentId);
    const uploadIndex = (externalId: string): number => uploadIndexOf(externalId, documentId);
    const uploaded = named.filter(({ externalId }) => uploadIndex(externalId) >= 0);
    const chunks = [...byJob, ...uploaded];
    if (byJob.length > 0) chunks.push(...(await this.strays(collection, documentId, byJob, [])));
    const known = new Set(uploaded.map(({ externalId }) => externalId));
    const ids = Array.from({ length: countOf(uploaded, uploadIndex) }, (_, index) => chunkId(documentId, index));
    const lost = ids.filter((id) => !known.has(id));
    chunks.push(...(await this.fetched(collection, lost)));
    return chunks;
  }

  /** What names a document in its metadata. */
  private async named(collection: string, documentId: string, vectors: boolean): Promise<VectorView[]> {
    const found: VectorView[] = [];
    let cursor: string | null = null;
    do {
      const { pages, nextCursor } = await this.parts.vectors.scroll(collection, {
        cursor,
        limit: PAGE_CHUNKS,
        filter: { type: 'equals', path: DOCUMENT_ID, value: documentId },
        vectors,
      });
      for await (const page of pages) found.push(...page);
      cursor = nextCursor();
    } while (cursor !== null);
    return found;
  }

  /** Those of them that are there. */
  private async fetched(collection: string, ids: readonly string[]): Promise<VectorView[]> {
    const found: VectorView[] = [];
    for (let at = 0; at < ids.length; at += PAGE_CHUNKS) {
      const pages = await this.parts.vectors.fetch(collection, ids.slice(at, at + PAGE_CHUNKS), { vectors: false });
      for await (const page of pages) found.push(...page);
    }
    return found;
  }

  /** As VectorsService has it. */
  exchange(collection: string, change: ItemExchange, writer?: KeyWriter): Promise<void> {
    return this.parts.vectors.exchange(collection, change, writer);
  }

  /** As VectorsService has it, of an exchange of a document's chunks. */
  revoke(
    collection: string,
    { identity, documentId, token }: { identity: string; documentId: string; token: string },
  ): Promise<void> {
    return this.parts.vectors.revoke(collection, { identity, token, externalId: documentChunkId(documentId, 0) });
  }
}

const FIRST: Filter = { type: 'equals', path: CHUNK_INDEX, value: 0 };
const FIRST_CHUNKS: Filter = { type: 'and', filters: [FIRST, { type: 'exists', path: DOCUMENT_ID }] };

/** The document that an item tells of as its first chunk; null: it is none. */
function firstView({ externalId, metadata }: VectorView): DocumentView | null {
  const view = documentView(metadata);
  if (view === null) return null;
  const isJobs = documentOfChunk(externalId) === view.documentId && indexOfChunk(externalId) === 0;
  return isJobs || externalId === chunkId(view.documentId, 0) ? view : null;
}

/** The first chunk among those of a document; null: it is not there. */
export function firstChunkOf(chunks: readonly VectorView[]): VectorView | null {
  return chunks.find((chunk) => firstView(chunk) !== null) ?? null;
}

/** Whether a job's chunks can be of this document. */
export function isJobs(documentId: string): boolean {
  return documentOfChunk(documentChunkId(documentId, 0)) === documentId;
}

/** -1: it is not the id of a chunk of this document that an upload stored. */
function uploadIndexOf(externalId: string, documentId: string): number {
  const index = Number(/-chunk-(\d{1,9})$/.exec(externalId)?.[1] ?? -1);
  return index >= 0 && externalId === chunkId(documentId, index) ? index : -1;
}

/** How many chunks there are or were, by the highest number, and by what the first one tells. */
function countOf(chunks: readonly VectorView[], indexOf: (externalId: string) => number): number {
  let count = 0;
  for (const { externalId, metadata } of chunks) {
    const index = indexOf(externalId);
    const told = index === 0 ? (documentView(metadata)?.chunks ?? 0) : 0;
    count = Math.max(count, index + 1, Math.min(told, DOCUMENT_CHUNKS_MAX));
  }
  return count;
}

function noDocument(collection: string, documentId: string): QuiverError {
  return new QuiverError(
    'not_found',
    `collection "${collection}" has no document ${JSON.stringify(documentId.slice(0, 200))}`,
  );
}
