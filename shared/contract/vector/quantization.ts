/**
 * How the vectors of a collection are held in memory, where searches walk over them; the originals on the disk score
 * the best again. A byte per dimension, half a byte, or one bit.
 */
export const QUANTIZATIONS = ['int8', 'int4', 'binary'] as const;

export type Quantization = (typeof QUANTIZATIONS)[number];

/** That of a collection that names none, and of all that were made by versions without a choice. */
export const DEFAULT_QUANTIZATION: Quantization = 'int8';
