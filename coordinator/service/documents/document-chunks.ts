import type { VectorInput } from '../service';

/** Chunks of a document as items: their ids and what is stored of them. */

/**
 * Bytes of a chunk's metadata in JSON without its text: keys, document id, number and a file name of 255 characters,
 * escaped.
 */
const METADATA_FRAME_BYTES = 2048;
/** Most bytes of a UTF-16 code unit in JSON: a control character such as \u0000. */
const JSON_BYTES_PER_UNIT = 6;
/** The shortest chunk size that still makes sense, whatever the limit on metadata. */
const CHUNK_SIZE_MIN = 16;

/** The configured chunk size, reduced if the largest allowed metadata could not hold a text of that size. */
export function chunkSizeWithin(config: { chunkSize: number; metadataBytesMax: number }): number {
  const fitting = Math.floor((config.metadataBytesMax - METADATA_FRAME_BYTES) / JSON_BYTES_PER_UNIT);
  return Math.min(config.chunkSize, Math.max(fitting, CHUNK_SIZE_MIN));
}

export function chunkItem(documentId: string, index: number, source: string, text: string): VectorInput {
  const metadata = JSON.stringify({ document_id: documentId, chunk_index: index, source, text });
  return { externalId: chunkId(documentId, index), source: { text }, metadata, text };
}

/** Ids of the chunks from `start` up to, but not including, `end`. */
export function chunkIds(documentId: string, start: number, end: number): string[] {
  return Array.from({ length: end - start }, (_, i) => chunkId(documentId, start + i));
}

/** What an upload calls a chunk. */
export function chunkId(documentId: string, index: number): string {
  return `${documentId}-chunk-${index}`;
}
