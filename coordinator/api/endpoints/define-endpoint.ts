import type { z } from 'zod';
import type { Answer, Endpoint, EndpointDefinition } from './endpoint';

/** Endpoints under a collection's path name it there. */
const UNDER_COLLECTION = /^\/v1\/collections\/\{(\w+)\}/;

/**
 * Completes an endpoint's definition. By default an endpoint that only admins may call is administrative, and one
 * whose path names no collection is closed to keys that are limited to some. The pipeline
 * calls the handler with outputs of exactly the schemas given here.
 */
export function defineEndpoint<
  P extends z.ZodObject = z.ZodObject,
  Q extends z.ZodObject = z.ZodObject,
  B extends z.ZodType = z.ZodUndefined,
>(definition: EndpointDefinition<P, Q, B>): Endpoint {
  const field = UNDER_COLLECTION.exec(definition.template)?.[1];
  const empty = definition.query?.safeParse({});
  return {
    isProfiled: false,
    emptyQuery: empty?.success === true ? Object.freeze(empty.data) : null,
    collections: field === undefined ? { type: 'service' } : { type: 'path', field },
    isAdministrative: definition.access === 'admin',
    sheds: true,
    isGuarded: false,
    isWatched: false,
    isOnce: false,
    vary: '',
    failsAs: 'envelope',
    description: '',
    errors: [],
    ...definition,
    path: definition.path ?? null,
    query: definition.query ?? null,
    body: definition.body ?? { type: 'none' },
    handle: definition.handle as Endpoint['handle'],
  };
}

/** An answer with small data: one JSON.stringify. */
export function dataAnswer(data: object): Answer {
  return { type: 'data', json: JSON.stringify(data) };
}
