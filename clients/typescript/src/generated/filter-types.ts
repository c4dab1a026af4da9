// Generated from the operators of filters; `UPDATE=1 npm test -- test/unit/clients/typescript/src/generated` writes it anew.

/**
 * Which items are meant. Every pair must match: a scalar equals a scalar or is in an array, an object equals an object,
 * null a present null; dotted keys reach into objects. An object whose keys start with `$` compares ({@link
 * Comparison}).
 */
export interface Filters {
  $and?: Filters[];
  $or?: Filters[];
  $not?: Filters;
  /** A list of external_ids. */
  $id?: string[];
  /** $gt $gte $lt $lte $between with times as in expires_at, or $exists. */
  $expires_at?: Bounds<string | { $date: string | Date }> & { $exists?: boolean };
  /** The same of its last change, of which an item written by an earlier version knows nothing. */
  $updated?: Bounds<string | { $date: string | Date }> & { $exists?: boolean };
  /** {query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata. */
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
  /** True: no value: missing, null, [], or an array with a null and no number, text or boolean. */
  $empty?: boolean;
  /** [lowest, highest], both included. */
  $between?: [Bound, Bound];
  /** A text begins so. */
  $prefix?: string;
  /** A text has it within. */
  $contains?: string;
  /** * any characters, ? one, \ before either itself; the whole text. */
  $like?: string;
  /** An array has each of the values. */
  $all?: unknown[];
  /** An array has one of the values. */
  $any?: unknown[];
  /** Elements of an array: a number, or $gt $gte $lt $lte. */
  $size?: number | (Bounds<number> & { $eq?: number });
  /** One element of an array meets all conditions: on its members, or operators on itself. */
  $elem_match?: Filters | Comparison;
  /** {lat, lon, metres}. */
  $geo_radius?: { lat: number; lon: number; metres: number };
  /** {min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line. */
  $geo_box?: { min_lat: number; min_lon: number; max_lat: number; max_lon: number };
  /** Its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself. */
  $geo_polygon?: { lat: number; lon: number }[];
  /** $prefix, $contains, $like whatever the cases. */
  case?: 'fold';
}
