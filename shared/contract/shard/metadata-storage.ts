/**
 * Where the ids and metadata of a collection are, which answers carry: in memory, or in files that are read through a
 * bounded cache. Answers are the same.
 */
export const METADATA_STORAGES = ['memory', 'disk'] as const;

export type MetadataStorage = (typeof METADATA_STORAGES)[number];

/** That of a collection that names none, and of all that were made by versions without a choice. */
export const DEFAULT_METADATA_STORAGE: MetadataStorage = 'memory';
