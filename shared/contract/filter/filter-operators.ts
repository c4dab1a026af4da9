/**
 * What an operator is given: any value, or a list of them; a bound (a number, a text or a date), or two of them;
 * a text; true or false; a number of elements; conditions on an element; a place of some form.
 */
export type OperandKind =
  | 'value'
  | 'values'
  | 'bound'
  | 'bounds'
  | 'text'
  | 'flag'
  | 'size'
  | 'conditions'
  | 'circle'
  | 'box'
  | 'polygon';

/** An operator on one key of the metadata. */
export interface FieldOperator {
  takes: OperandKind;
  /** What it asks for, where its name does not say it. */
  means?: string;
  /** What it is called without `$`, here and elsewhere: bare names, with spaces between them. */
  names: string;
  /** Whether it searches in texts, and takes `"case": "fold"` beside it. */
  folds?: true;
  /**
   * How expressions of the command line write it behind a field: signs, or a word, with spaces between alternatives. Of
   * a flag, `not` before the word says false; of what folds, an `i` says so. Left out: they do not.
   */
  where?: string;
  /** How the dashboard shows it between a field and a value; of a flag, also what false says. Left out: it does not. */
  shown?: string;
  shownFalse?: string;
}

/**
 * The operators on a key that clients may write. A new one is a row here and one in parse-filter.ts; messages, hints,
 * the description of the API, the clients' types, the dashboard's form and the expressions of the command line follow.
 */
export const FIELD_OPERATORS = {
  $eq: { takes: 'value', names: 'eq', where: '= ==', shown: '=' },
  $ne: { takes: 'value', names: 'ne neq', where: '!= <>', shown: '≠' },
  $gt: { takes: 'bound', names: 'gt', where: '>', shown: '>' },
  $gte: { takes: 'bound', names: 'from gte', where: '>=', shown: '≥' },
  $lt: { takes: 'bound', names: 'lt', where: '<', shown: '<' },
  $lte: { takes: 'bound', names: 'lte to', where: '<=', shown: '≤' },
  $in: { takes: 'values', names: 'in oneof', where: 'in', shown: 'one of' },
  $nin: { takes: 'values', names: 'nin notin' },
  $exists: { takes: 'flag', names: 'exists', where: 'exists', shown: 'exists', shownFalse: 'does not exist' },
  $empty: {
    takes: 'flag',
    means: 'true: no value: missing, null, [], or an array with a null and no number, text or boolean',
    names: 'empty isempty isnull',
    where: 'empty',
    shown: 'is empty',
    shownFalse: 'is not empty',
  },
  $between: {
    takes: 'bounds',
    means: '[lowest, highest], both included',
    names: 'between range',
    where: 'between',
  },
  $prefix: {
    takes: 'text',
    means: 'a text begins so',
    folds: true,
    names: 'prefix startswith',
    where: 'prefix',
    shown: 'begins with',
  },
  $contains: {
    takes: 'text',
    means: 'a text has it within',
    folds: true,
    names: 'contains contain substring',
    where: 'contains',
    shown: 'contains',
  },
  $like: {
    takes: 'text',
    means: '* any characters, ? one, \\\\ before either itself; the whole text',
    folds: true,
    names: 'like ilike wildcard',
    where: 'like',
    shown: 'like',
  },
  $all: {
    takes: 'values',
    means: 'an array has each of the values',
    names: 'all containsall hasall',
    where: 'all',
    shown: 'has all of',
  },
  $any: {
    takes: 'values',
    means: 'an array has one of the values',
    names: 'any anyof containsany hasany',
    where: 'any',
  },
  $size: {
    takes: 'size',
    means: 'elements of an array: a number, or $gt $gte $lt $lte',
    names: 'size length valuescount',
    where: 'size',
    shown: 'has so many elements',
  },
  $elem_match: {
    takes: 'conditions',
    means: 'one element of an array meets all conditions: on its members, or operators on itself',
    names: 'elemmatch nested anyelement',
    where: 'has',
  },
  $geo_radius: { takes: 'circle', means: '{lat, lon, metres}', names: 'georadius near' },
  $geo_box: {
    takes: 'box',
    means: '{min_lat, min_lon, max_lat, max_lon}; with min_lon above max_lon it crosses the date line',
    names: 'geobox geoboundingbox',
  },
  $geo_polygon: {
    takes: 'polygon',
    means: 'its corners, [{lat, lon}, …]; each edge the shorter way; even-odd where it crosses itself',
    names: 'geopolygon',
  },
} as const satisfies Readonly<Record<string, FieldOperator>>;

export type FieldOperatorName = keyof typeof FIELD_OPERATORS;

/** Each with its row. */
export const OPERATOR_ROWS = Object.entries(FIELD_OPERATORS) as readonly (readonly [
  FieldOperatorName,
  FieldOperator,
])[];

/** By what they are called without `$`, here and elsewhere. */
export const OPERATORS_BY_NAME: ReadonlyMap<string, string> = new Map(
  OPERATOR_ROWS.flatMap(([operator, { names }]) => names.split(' ').map((name) => [name, operator] as const)),
);

/** All of them, for messages. */
export const OPERATORS_IN_WORDS = OPERATOR_ROWS.map(([operator]) => operator).join(', ');

/** Those that take `"case": "fold"` beside them. */
export const FOLDING_OPERATORS: ReadonlySet<string> = new Set(
  OPERATOR_ROWS.flatMap(([operator, { folds }]) => (folds === true ? [operator] : [])),
);

/** All of them with what they mean, for the description of the API. */
export const OPERATORS_EXPLAINED =
  OPERATOR_ROWS.map(([operator, { means }]) => (means === undefined ? operator : `${operator} (${means})`)).join(' ') +
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
  $id: { takes: 'ids', means: 'a list of external_ids' },
  $expires_at: { takes: 'times', means: '$gt $gte $lt $lte $between with times as in expires_at, or $exists' },
  $updated: {
    takes: 'times',
    means: 'the same of its last change, of which an item written by an earlier version knows nothing',
  },
  $text: {
    takes: 'words',
    means:
      '{query, match, fields}: any (the default) or all of the words of the query, by the language of the collection, in what keyword search searches, or in the texts of some fields of the metadata',
  },
} as const satisfies Readonly<Record<string, { takes: 'ids' | 'times' | 'words'; means: string }>>;

export type ItemOperatorName = keyof typeof ITEM_OPERATORS;

export const ITEM_OPERATORS_IN_WORDS = Object.keys(ITEM_OPERATORS).join(', ');

/** All of them with what they mean, for the description of the API. */
export const ITEM_OPERATORS_EXPLAINED = Object.entries(ITEM_OPERATORS)
  .map(([operator, { means }]) => `${operator} (${means})`)
  .join(' ');

export function isItemOperator(name: string): name is ItemOperatorName {
  return Object.hasOwn(ITEM_OPERATORS, name);
}

export function isFieldOperator(name: string): name is FieldOperatorName {
  return Object.hasOwn(FIELD_OPERATORS, name);
}
