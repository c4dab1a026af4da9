import type { VectorInput } from '../service';

/** Chunks of a document as items: their names, and what is stored of them. */

/** JSON of a chunk's metadata beside its text: keys, document id, number and a file name of 255 characters, escaped. */
const METADATA_FRAME_BYTES = 2048;
/** Most bytes of a UTF-16 code unit in JSON: a control character as \u0000. */
const JSON_BYTES_PER_UNIT = 6;
/** The shortest chunks that still make sense, whatever the limit on metadata. */
const CHUNK_SIZE_MIN = 16;

/** The configured size, less where metadata as long as allowed could not hold such a text. */
export function chunkSizeWithin(config: { chunkSize: number; metadataBytesMax: number }): number {
  const fitting = Math.floor((config.metadataBytesMax - METADATA_FRAME_BYTES) / JSON_BYTES_PER_UNIT);
  return Math.min(config.chunkSize, Math.max(fitting, CHUNK_SIZE_MIN));
}

export function chunkItem(documentId: string, index: number, source: string, text: string): VectorInput {
  const metadata = JSON.stringify({ document_id: documentId, chunk_index: index, source, text });
  return { externalId: chunkId(documentId, index), source: { text }, metadata, text };
}

/** Ids of the chunks from `start` up to `end`. */
export function chunkIds(documentId: string, start: number, end: number): string[] {
  return Array.from({ length: end - start }, (_, i) => chunkId(documentId, start + i));
}

function chunkId(documentId: string, index: number): string {
  return `${documentId}-chunk-${index}`;
}
