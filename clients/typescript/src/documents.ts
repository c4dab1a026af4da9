import type * as api from './api';
import type { Document } from './generated/api-types';
import type { CallOptions } from './request';
import type { Transport } from './transport';
import { uploadBody, type UploadProgress, type UploadSource } from './upload';

/** What is said of a document besides its content. */
export type DocumentOptions = Omit<api.DocumentText, 'collection_name' | 'text' | 'type'>;

/** A file to add as a document. */
export interface DocumentFile extends DocumentOptions {
  file: UploadSource;
  /** By its ending, the type is known: txt, md, html, pdf, docx, csv or jsonl. Default: the name of a File. */
  name?: string;
  /** As the file is handed over. */
  onProgress?: (progress: UploadProgress) => void;
}

/** Documents of a collection: files and texts that a job parses, cuts, embeds and stores as chunks. */
export class DocumentsApi {
  constructor(private readonly transport: Transport) {}

  /**
   * Adds a document, or replaces the one with its `document_key`. Answers once the service has the file on stable
   * storage; `jobs.wait(answer.job_id)` waits until it can be found, `wait: true` for some seconds of that. A call
   * whose answer was lost is sent again only with a key of either kind.
   */
  async add(
    collection: string,
    document: DocumentFile | (DocumentOptions & Pick<api.DocumentText, 'text' | 'type'>),
    options?: CallOptions,
  ): Promise<api.DocumentAdded> {
    const isRepeatable = (document.document_key ?? null) !== null && document.on_exists !== 'error';
    const request = { method: 'POST', path: '/v1/documents', isRepeatable } as const;
    if ('text' in document) {
      const json: api.DocumentText = { collection_name: collection, ...document };
      return this.transport.data({ ...request, json }, options);
    }
    const { file, name, onProgress, metadata, chunking, ...texts } = document;
    const source = {
      name: name ?? (file instanceof Blob && 'name' in file ? String(file.name) : 'document.txt'),
      source: file,
    };
    const fields: Record<string, string> = { collection_name: collection };
    for (const [field, value] of Object.entries(texts))
      if (value !== undefined && value !== null) fields[field] = String(value);
    if (metadata) fields.metadata = JSON.stringify(metadata);
    if (chunking) fields.chunking = JSON.stringify(chunking);
    return this.transport.data({ ...request, body: uploadBody(fields, source, onProgress) }, options);
  }

  /** A page of them, in the order of their first upload; `cursor` of the next is `next_cursor`. */
  async page(collection: string, query: api.DocumentsQuery = {}, options?: CallOptions): Promise<api.DocumentsPage> {
    return this.transport.data({ method: 'GET', path: pathOf(collection), query: { ...query } }, options);
  }

  /** All of them, a page at a time. */
  async *list(
    collection: string,
    query: Omit<api.DocumentsQuery, 'cursor'> = {},
    options?: CallOptions,
  ): AsyncGenerator<Document> {
    for (let cursor: string | undefined; ;) {
      const page: api.DocumentsPage = await this.page(collection, { ...query, cursor }, options);
      yield* page.documents;
      if (page.next_cursor === null) return;
      cursor = page.next_cursor;
    }
  }

  async get(collection: string, documentId: string, options?: CallOptions): Promise<Document> {
    return this.transport.data({ method: 'GET', path: pathOf(collection, documentId) }, options);
  }

  /** Deletes a document with all of its chunks. */
  async delete(collection: string, documentId: string, options?: CallOptions): Promise<api.DocumentDeleted> {
    return this.transport.data(
      { method: 'DELETE', path: pathOf(collection, documentId), isRepeatable: false },
      options,
    );
  }
}

function pathOf(collection: string, documentId?: string): string {
  const path = `/v1/collections/${encodeURIComponent(collection)}/documents`;
  return documentId === undefined ? path : `${path}/${encodeURIComponent(documentId)}`;
}
