/**
 * A metadata filter as a checked tree. `parse-filter.ts` parses the JSON form that clients send. `matches.ts` defines
 * what a filter means: it is the plain predicate that every index is tested against.
 *
 * `path` is the key as the client wrote it ("a.b"). A key of exactly that name has precedence; otherwise dots lead into
 * nested objects.
 */
export type Filter =
  | { type: 'and'; filters: Filter[] }
  | { type: 'or'; filters: Filter[] }
  | { type: 'not'; filter: Filter }
  | Condition;

/** What a filter asks of one path. */
export type Condition =
  | { type: 'equals'; path: string; value: JsonValue }
  | { type: 'range'; path: string; operator: RangeOperator; bound: FilterBound }
  | { type: 'between'; path: string; low: FilterBound; high: FilterBound }
  | { type: 'in'; path: string; values: JsonValue[] }
  | { type: 'exists'; path: string }
  | OthersCondition
  | TextCondition;

/**
 * A number, a text or a boolean that is none of these, alone or in a list. No client sends it: searches that group ask
 * so for what is in none of the groups that they have found.
 */
export interface OthersCondition {
  type: 'others';
  path: string;
  values: (number | string | boolean)[];
}

/** A text that begins with, contains or is like a pattern; `fold`: whatever the cases of both. */
export interface TextCondition {
  type: 'text';
  path: string;
  test: 'prefix' | 'contains' | 'like';
  pattern: string;
  fold: boolean;
}

/** Whether a filter asks something of a path, and does not join others. */
export function isCondition(filter: Filter): filter is Condition {
  return filter.type !== 'and' && filter.type !== 'or' && filter.type !== 'not';
}

/** A number, a text, or a time, in milliseconds since 1970, which texts are compared with that say one. */
export type FilterBound = number | string | { time: number };

export type RangeOperator = 'gt' | 'gte' | 'lt' | 'lte';

export type Scalar = null | boolean | number | string;
export type JsonValue = Scalar | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}
