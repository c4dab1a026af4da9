/** A vector as callers may give it: numbers, float32 values, or base64 of little-endian float32 values. */
export type VectorLike = readonly number[] | Float32Array | string;

/** What is stored beside a vector: any JSON object. */
export type Metadata = Record<string, unknown>;

/**
 * Which items are meant. Every pair must match: a scalar equals a scalar or is in an array, an object equals an object,
 * null a present null; dotted keys reach into objects. An object whose keys start with `$` compares ({@link Comparison}).
 */
export interface Filters {
  $and?: Filters[];
  $or?: Filters[];
  $not?: Filters;
  [key: string]: unknown;
}

/** Comparisons of one metadata value in {@link Filters}. */
export interface Comparison {
  $eq?: unknown;
  $ne?: unknown;
  $gt?: number | string;
  $gte?: number | string;
  $lt?: number | string;
  $lte?: number | string;
  $in?: unknown[];
  $nin?: unknown[];
  $exists?: boolean;
}
