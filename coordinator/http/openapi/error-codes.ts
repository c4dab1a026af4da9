import type { Endpoint } from '../endpoint';

/** What the envelope's error codes mean. */
export const ERROR_MEANINGS: Readonly<Record<number, string>> = {
  400: 'invalid parameter, dimension mismatch or exceeded limit',
  401: 'missing or invalid API key',
  403: 'the key lacks the required role',
  404: 'it does not exist',
  409: 'it exists already',
  422: 'the body does not fit the schema',
  429: 'too many requests, or the server is busy',
  500: 'internal error; the message says when the call may be retried',
};

/** The error codes an endpoint can answer with, rising. */
export function errorCodesOf(endpoint: Endpoint): number[] {
  const codes = new Set<number>(endpoint.errors);
  if (endpoint.access !== 'public') [401, 429, 500].forEach((code) => codes.add(code));
  if (endpoint.access === 'readwrite' || endpoint.access === 'admin') codes.add(403);
  if (endpoint.body.type !== 'none') [400, 422].forEach((code) => codes.add(code));
  if (endpoint.path !== null || endpoint.query !== null) codes.add(400);
  return [...codes].sort((a, b) => a - b);
}
