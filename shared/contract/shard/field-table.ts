/**
 * What a fast way does with each field of a request: it handles it, or it leaves each request that has it to the usual
 * way. A field that is new has to be put into the table, or that does not compile: else the fast way would drop it.
 */
export type FieldTable<Request> = { readonly [Field in keyof Required<Request>]: 'handled' | 'left' };

/** The fields of requests that are left to the usual way. */
export function fieldsLeft<Request>(table: FieldTable<Request>): readonly (keyof Request)[] {
  return (Object.keys(table) as (keyof Request)[]).filter((field) => table[field] === 'left');
}

/** Whether a request has one of the fields. */
export function hasAnyOf<Request>(request: Request, fields: readonly (keyof Request)[]): boolean {
  for (const field of fields)
    if (request[field] !== undefined && request[field] !== null && request[field] !== false) return true;
  return false;
}
