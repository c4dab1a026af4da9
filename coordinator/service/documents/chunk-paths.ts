/** Paths of metadata that say which chunk an item is. */
export const DOCUMENT_ID = 'document_id';
export const CHUNK_INDEX = 'chunk_index';
