import { documentChunkId } from '../../../shared/contract/shard/chunk-id';
import type { JsonObject } from '../../../shared/contract/filter/filter';
import type { DocumentView } from '../service';
import { CHUNK_INDEX, DOCUMENT_ID } from './chunk-paths';
import type { Chunking, DocumentChunk, DocumentType } from './formats/parsed-document';

/** Pure: what of a document is in the metadata of its chunks. */

/** Under this, the first chunk has what is told of the document as a whole. */
const DOCUMENT = 'document';
/** What is told by the service, and a caller's metadata may not have. */
export const RESERVED_FIELDS: readonly string[] = [
  DOCUMENT_ID,
  CHUNK_INDEX,
  DOCUMENT,
  'document_key',
  'end',
  'headings',
  'page',
  'source',
  'start',
];

/** Fields of a row whose names the service uses are under this. */
const ROW = 'row';

/** A document as it is stored. */
export interface DocumentFacts {
  documentId: string;
  /** The caller's own id; null: it has none. */
  key: string | null;
  /** The name of its file; '' for a text. */
  source: string;
  type: DocumentType;
  title: string | null;
  /** null: its format has none. */
  pages: number | null;
  chunks: number;
  /** Of the file. */
  bytes: number;
  sha256: string;
  chunking: Chunking;
  /** The caller's own mark of what was sent; null: there is none. */
  fingerprint: string | null;
  updatedAt: string;
  /** Of two uploads of a document the later one has the higher number. */
  generation: number;
}

/** How its chunks are stored, besides. */
export interface StoredChunkOptions {
  /** Metadata of each chunk. */
  metadata: JsonObject;
  /** Whether a chunk's text is in its metadata, too. */
  textInMetadata: boolean;
}

/** A chunk that a document is to have. */
export interface WantedChunk {
  externalId: string;
  text: string;
  metadata: string;
}

/**
 * The chunks of a document, in order, in steps for work-slices.ts: their ids take long. `rowFields`: those of
 * a table's rows. `mustFit` is asked about each chunk as it is made. Errors: those of `mustFit`.
 */
export function* wantedChunks(
  facts: DocumentFacts,
  chunks: readonly DocumentChunk[],
  options: StoredChunkOptions,
  {
    rowFields,
    mustFit,
  }: { rowFields: (row: number) => Record<string, unknown>; mustFit: (chunk: WantedChunk) => void },
): Generator<undefined, WantedChunk[]> {
  const { documentId, key, source } = facts;
  const { metadata, textInMetadata } = options;
  const wanted: WantedChunk[] = [];
  for (const [index, { text, start, end, page, headings, row }] of chunks.entries()) {
    const chunk: WantedChunk = {
      externalId: documentChunkId(documentId, index),
      text,
      metadata: JSON.stringify({
        ...(row !== undefined && rowMetadata(rowFields(row), options)),
        ...metadata,
        ...(textInMetadata && { text }),
        [DOCUMENT_ID]: documentId,
        [CHUNK_INDEX]: index,
        ...(key !== null && { document_key: key }),
        source,
        start,
        end,
        ...(page !== undefined && { page }),
        ...(headings.length > 0 && { headings }),
        ...(index === 0 && { [DOCUMENT]: wholeOf(facts) }),
      }),
    };
    mustFit(chunk);
    wanted.push(chunk);
    yield;
  }
  return wanted;
}

/** The fields of a table's row as they are in metadata: none can be taken for what the service says. */
function rowMetadata(fields: Record<string, unknown>, { textInMetadata }: StoredChunkOptions): object {
  const isTaken = ([name]: [string, unknown]): boolean =>
    name === ROW || RESERVED_FIELDS.includes(name) || (textInMetadata && name === 'text');
  const all = Object.entries(fields);
  const taken = all.filter(isTaken);
  if (taken.length === 0) return fields;
  return { ...Object.fromEntries(all.filter((field) => !isTaken(field))), [ROW]: Object.fromEntries(taken) };
}

function wholeOf(facts: DocumentFacts) {
  const { type, title, pages, chunks, bytes, sha256, chunking, fingerprint, updatedAt, generation } = facts;
  return {
    type,
    title,
    pages,
    chunks,
    bytes,
    sha256,
    chunking,
    updated_at: updatedAt,
    generation,
    ...(fingerprint !== null && { fingerprint }),
  };
}

/** The document that a first chunk tells of; of one that was uploaded, little is known. null: it tells of none. */
export function documentView(metadata: string): DocumentView | null {
  const json = JSON.parse(metadata) as Record<string, unknown>;
  const documentId = json[DOCUMENT_ID];
  if (typeof documentId !== 'string') return null;
  const whole = json[DOCUMENT] as Partial<ReturnType<typeof wholeOf>> | null | undefined;
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  return {
    documentId,
    key: text(json.document_key),
    source: text(json.source) ?? '',
    type: text(whole?.type) ?? (whole === undefined ? 'txt' : null),
    title: text(whole?.title),
    pages: number(whole?.pages),
    chunks: number(whole?.chunks),
    bytes: number(whole?.bytes),
    sha256: text(whole?.sha256),
    fingerprint: text(whole?.fingerprint),
    updatedAt: text(whole?.updated_at),
  };
}

/** Of the upload that stored a first chunk; 0: it was no job. */
export function generationOf(metadata: string): number {
  const whole = (JSON.parse(metadata) as Record<string, unknown>)[DOCUMENT] as { generation?: unknown } | undefined;
  return typeof whole?.generation === 'number' ? whole.generation : 0;
}
