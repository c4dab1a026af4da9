/**
 * A metadata filter as a checked tree. The JSON form that clients send is parsed by `parse-filter.ts`; what a filter
 * means is defined by `matches.ts`, the plain predicate that every index is checked against.
 *
 * `path` is the key as the client wrote it ("a.b"): a key of that very name wins, else dots reach into nested objects.
 */
export type Filter =
  | { type: 'and'; filters: Filter[] }
  | { type: 'or'; filters: Filter[] }
  | { type: 'not'; filter: Filter }
  | { type: 'equals'; path: string; value: JsonValue }
  | { type: 'range'; path: string; operator: RangeOperator; bound: number | string }
  | { type: 'in'; path: string; values: JsonValue[] }
  | { type: 'exists'; path: string };

export type RangeOperator = 'gt' | 'gte' | 'lt' | 'lte';

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}
