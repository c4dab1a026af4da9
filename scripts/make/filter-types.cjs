// Writes what clients and guides say of the operators of filters, from the service's table of them
// (shared/contract/filter/filter-operators.ts).

/**
 * @typedef {{ takes: string, means?: string, folds?: true }} Operator
 * @typedef {Record<string, Operator>} Operators
 */

/** What an operator is given, as a type: on a key, and at the top. @type {Record<string, string>} */
const TYPES = {
  value: 'unknown',
  values: 'unknown[]',
  bound: 'Bound',
  bounds: '[Bound, Bound]',
  text: 'string',
  flag: 'boolean',
  size: 'number | (Bounds<number> & { $eq?: number })',
  conditions: 'Filters | Comparison',
  circle: '{ lat: number; lon: number; metres: number }',
  box: '{ min_lat: number; min_lon: number; max_lat: number; max_lon: number }',
  polygon: '{ lat: number; lon: number }[]',
  ids: 'string[]',
  times: 'Bounds<string | { $date: string | Date }> & { $exists?: boolean }',
  words: "{ query: string; match?: 'any' | 'all'; fields?: string[] }",
};

/**
 * The text of clients/typescript/src/generated/filter-types.ts.
 * @param {Operators} ofKeys
 * @param {Operators} ofItems
 */
function filterTypes(ofKeys, ofItems) {
  return `// Generated from the operators of filters; \`UPDATE=1 npm test -- test/unit/clients/typescript/src/generated\` writes it anew.

/**
 * Which items are meant. Every pair must match: a scalar equals a scalar or is in an array, an object equals an object,
 * null a present null; dotted keys reach into objects. An object whose keys start with \`$\` compares ({@link
 * Comparison}).
 */
export interface Filters {
  $and?: Filters[];
  $or?: Filters[];
  $not?: Filters;
${members(ofItems)}  [key: string]: unknown;
}

/**
 * What metadata are compared with by their order. A \`$date\` is compared with texts that say a time: RFC 3339 (without
 * an offset: UTC), or \`now\`, \`now-7d\` (s, m, h, d, w).
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
${members(ofKeys)}  /** ${folding(ofKeys).join(', ')} whatever the cases. */
  case?: 'fold';
}
`;
}

/**
 * Names of operators as guides and the Python client list them.
 * @param {Operators} operators
 */
function operatorNames(operators) {
  return Object.keys(operators).join(' ');
}

/** @param {Operators} operators */
function members(operators) {
  return Object.entries(operators)
    .map(
      ([name, { takes, means }]) =>
        `${means === undefined ? '' : `  /** ${sentence(means)} */\n`}  ${name}?: ${TYPES[takes]};\n`,
    )
    .join('');
}

/** @param {Operators} operators */
function folding(operators) {
  return Object.entries(operators).flatMap(([name, { folds }]) => (folds === true ? [name] : []));
}

/**
 * What the description of the API says within brackets, where a backslash is written as in JSON, as a sentence.
 * @param {string} means
 */
function sentence(means) {
  const text = means.replaceAll('\\\\', '\\');
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

module.exports = { filterTypes, operatorNames };
