/**
 * Where the index of the vectors of a collection is: in memory, or in files of which the system keeps what it has room
 * for. The promise of recall is the same.
 */
export const VECTOR_STORAGES = ['memory', 'disk'] as const;

export type VectorStorage = (typeof VECTOR_STORAGES)[number];

/** That of a collection that names none, and of all that were made by versions without a choice. */
export const DEFAULT_VECTOR_STORAGE: VectorStorage = 'memory';
