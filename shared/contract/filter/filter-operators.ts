/** An operator on one key of the metadata. */
interface FieldOperator {
  /** What it asks for, where its name does not say it. */
  means?: string;
  /** What it is called without `$`, here and elsewhere: bare names, with spaces between them. */
  names: string;
  /** Whether it searches in texts, and takes `"case": "fold"` beside it. */
  folds?: true;
}

/**
 * The operators on a key that clients may write. A new one is a row here and one in parse-filter.ts; messages, hints
 * and the description of the API follow.
 */
export const FIELD_OPERATORS = {
  $eq: { names: 'eq' },
  $ne: { names: 'ne neq' },
  $gt: { names: 'gt' },
  $gte: { names: 'from gte' },
  $lt: { names: 'lt' },
  $lte: { names: 'lte to' },
  $in: { names: 'in oneof' },
  $nin: { names: 'nin notin' },
  $exists: { names: 'exists' },
  $between: { means: '[lowest, highest], both included', names: 'between range' },
  $prefix: { means: 'a text begins so', folds: true, names: 'prefix startswith' },
  $contains: { means: 'a text has it within', folds: true, names: 'contains contain substring' },
  $like: {
    means: '* any characters, ? one, \\\\ before either itself; the whole text',
    folds: true,
    names: 'like ilike wildcard',
  },
  $all: { means: 'an array has each of the values', names: 'all containsall hasall' },
  $any: { means: 'an array has one of the values', names: 'any anyof containsany hasany' },
  $size: { means: 'elements of an array: a number, or $gt $gte $lt $lte', names: 'size length valuescount' },
  $elem_match: {
    means: 'one element of an array meets all conditions: on its members, or operators on itself',
    names: 'elemmatch nested anyelement',
  },
  $geo_radius: { means: '{lat, lon, metres}', names: 'georadius near' },
  $geo_box: {
    means: '{min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line',
    names: 'geobox geoboundingbox',
  },
  $geo_polygon: {
    means: 'its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself',
    names: 'geopolygon',
  },
} as const satisfies Readonly<Record<string, FieldOperator>>;

export type FieldOperatorName = keyof typeof FIELD_OPERATORS;

const ROWS: readonly (readonly [string, FieldOperator])[] = Object.entries(FIELD_OPERATORS);

/** By what they are called without `$`, here and elsewhere. */
export const OPERATORS_BY_NAME: ReadonlyMap<string, string> = new Map(
  ROWS.flatMap(([operator, { names }]) => names.split(' ').map((name) => [name, operator] as const)),
);

/** All of them, for messages. */
export const OPERATORS_IN_WORDS = ROWS.map(([operator]) => operator).join(', ');

/** Those that take `"case": "fold"` beside them. */
export const FOLDING_OPERATORS: ReadonlySet<string> = new Set(
  ROWS.flatMap(([operator, { folds }]) => (folds === true ? [operator] : [])),
);

/** All of them with what they mean, for the description of the API. */
export const OPERATORS_EXPLAINED =
  ROWS.map(([operator, { means }]) => (means === undefined ? operator : `${operator} (${means})`)).join(' ') +
  '; {"$date": "2024-02-01T00:00:00+02:00"} or {"$date": "now-7d"} where a bound or a value stands asks for a time' +
  `; ${[...FOLDING_OPERATORS].join(', ')} with "case": "fold" beside it: whatever the cases`;

/** Whole numbers from `low` to `high`, both included. */
export interface FilterInterval {
  low: number;
  high: number;
}

/** What a bound, which may have a fraction, leaves of the whole numbers. */
export const WHOLE_SIDES: Readonly<Record<string, (bound: number) => Partial<FilterInterval>>> = {
  $eq: (bound) => ({ low: Math.ceil(bound), high: Math.floor(bound) }),
  $gt: (bound) => ({ low: Math.floor(bound) + 1 }),
  $gte: (bound) => ({ low: Math.ceil(bound) }),
  $lt: (bound) => ({ high: Math.ceil(bound) - 1 }),
  $lte: (bound) => ({ high: Math.floor(bound) }),
};

/** What stands beside the keys of the metadata, and asks something of the item. */
export const ITEM_OPERATORS = {
  $id: 'a list of external_ids',
  $expires_at: '$gt $gte $lt $lte $between with times as in expires_at, or $exists',
  $updated: 'the same of its last change, of which an item written by an earlier version knows nothing',
  $text:
    '{query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata',
} as const;

export type ItemOperatorName = keyof typeof ITEM_OPERATORS;

export const ITEM_OPERATORS_IN_WORDS = Object.keys(ITEM_OPERATORS).join(', ');

/** All of them with what they mean, for the description of the API. */
export const ITEM_OPERATORS_EXPLAINED = Object.entries(ITEM_OPERATORS)
  .map(([operator, means]) => `${operator} (${means})`)
  .join(' ');

export function isItemOperator(name: string): name is ItemOperatorName {
  return Object.hasOwn(ITEM_OPERATORS, name);
}

export function isFieldOperator(name: string): name is FieldOperatorName {
  return Object.hasOwn(FIELD_OPERATORS, name);
}
