/** Arrays of numbers of every type; of those with 8 bits, each byte is a number. */
export type NumberArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/** A vector as callers may give it: numbers, an array of any number type, or base64 of little-endian float32 values. */
export type VectorLike = readonly number[] | NumberArray | string;

/** An id as callers may give it; a whole number becomes its text. */
export type ExternalId = string | number | bigint;

/** What is stored beside a vector: any JSON object. */
export type Metadata = Record<string, unknown>;

/** What may be given for metadata of a type: moments and large numbers for texts, BigInt for numbers. */
export type Given<Value> = Value extends string
  ? Value | (string extends Value ? Date | bigint : never)
  : Value extends number
    ? Value | (number extends Value ? bigint : never)
    : Value extends object
      ? { [Name in keyof Value]: Given<Value[Name]> }
      : Value;

/**
 * Which items are meant. Every pair must match: a scalar equals a scalar or is in an array, an object equals an object,
 * null a present null; dotted keys reach into objects. An object whose keys start with `$` compares ({@link
 * Comparison}).
 */
export interface Filters {
  $and?: Filters[];
  $or?: Filters[];
  $not?: Filters;
  /** Items with one of these external ids. */
  $id?: string[];
  /** Items that expire then; those that never do match no bound. */
  $expires_at?: Bounds<string | { $date: string | Date }> & { $exists?: boolean };
  /** Items that were last changed then; of some it is not known (`$exists`). */
  $updated?: Bounds<string | { $date: string | Date }> & { $exists?: boolean };
  /** Items with any (the default) or all of the words of the query, in what keyword search searches or some fields. */
  $text?: { query: string; match?: 'any' | 'all'; fields?: string[] };
  [key: string]: unknown;
}

/**
 * What metadata are compared with by their order. A `$date` is compared with texts that say a time: RFC 3339 (without
 * an offset: UTC), or `now`, `now-7d` (s, m, h, d, w).
 */
export type Bound = number | string | { $date: string | Date };

/** Bounds, all of which must hold. */
export interface Bounds<Value> {
  $gt?: Value;
  $gte?: Value;
  $lt?: Value;
  $lte?: Value;
  $between?: [Value, Value];
}

/** Comparisons of one metadata value in {@link Filters}. */
export interface Comparison {
  $eq?: unknown;
  $ne?: unknown;
  $gt?: Bound;
  $gte?: Bound;
  $lt?: Bound;
  $lte?: Bound;
  $in?: unknown[];
  $nin?: unknown[];
  $exists?: boolean;
  /** A text that begins so. */
  $prefix?: string;
  /** A text that has it within. */
  $contains?: string;
  /**
   * A text that is like it as a whole: `*` stands for any characters, `?` for one, `\` takes their meaning from them.
   */
  $like?: string;
  /** From the first to the second, both included. */
  $between?: [Bound, Bound];
  /** An array that has each of the values. */
  $all?: unknown[];
  /** An array that has one of the values, or one of the values itself. */
  $any?: unknown[];
  /** An array of so many elements. */
  $size?: number | (Bounds<number> & { $eq?: number });
  /** An array of which one element meets all conditions: on its members, or comparisons of the element itself. */
  $elem_match?: Filters | Comparison;
  /** A point, or an array with one, at most so far from another: `{lat, lon}` or a GeoJSON point. */
  $geo_radius?: { lat: number; lon: number; metres: number };
  /** With `min_lon` above `max_lon` it crosses the date line. */
  $geo_box?: { min_lat: number; min_lon: number; max_lat: number; max_lon: number };
  /** Its corners, 3 to 1,000; each edge takes the shorter way. */
  $geo_polygon?: { lat: number; lon: number }[];
  /** Texts are searched whatever the cases. */
  case?: 'fold';
}
