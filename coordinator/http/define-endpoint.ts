import type { z } from 'zod';
import type { Answer, Endpoint, EndpointDefinition } from './endpoint';

/**
 * Completes an endpoint's definition. By default an endpoint that only admins may call is administrative. The pipeline
 * calls the handler with outputs of exactly the schemas given here.
 */
export function defineEndpoint<P extends z.ZodObject = z.ZodObject, Q extends z.ZodObject = z.ZodObject, B extends z.ZodType = z.ZodUndefined>(definition: EndpointDefinition<P, Q, B>): Endpoint {
  return {
    isAdministrative: definition.access === 'admin',
    sheds: true,
    isGuarded: false,
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
