/**
 * Where the ids and metadata of a collection are, which answers carry: in memory, or in files that are read through a
 * bounded cache. Answers are the same.
 */
export const METADATA_PLACES = ['memory', 'disk'] as const;

export type MetadataPlace = (typeof METADATA_PLACES)[number];

/** That of a collection that names none, and of all that were made by versions without a choice. */
export const DEFAULT_METADATA_PLACE: MetadataPlace = 'memory';
