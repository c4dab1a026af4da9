/**
 * What every adapter opens its database with, as far as its library lets it: the values of
 * node/engine/kv/rocks-key-value-store, so that candidates differ in the binding and not in the sizes of their buffers.
 */
export const WRITE_BUFFER_BYTES = 32 * 1024 * 1024;
export const FILE_BYTES = 64 * 1024 * 1024;
export const BLOCK_CACHE_BYTES = 32 * 1024 * 1024;
export const PAGE_ENTRIES = 1000;
