import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { buffer } from 'node:stream/consumers';

/** Statuses of answers that have no body. */
const BODILESS = new Set([204, 205, 304]);

/**
 * `fetch` for bodies that are bytes: Node's own makes a stream of them and copies them on the way, which a bulk load is
 * slowed down by. Everything else is left to that. Redirections are answered, as with `redirect: 'manual'`. Throws what
 * node:http throws.
 */
export const directFetch: typeof fetch = async (input, init = {}) => {
  const { body, method, signal } = init;
  if (!(body instanceof Uint8Array)) return fetch(input, init);
  const url = new URL(input instanceof Request ? input.url : input);
  const headers = { ...Object.fromEntries(new Headers(init.headers)), 'content-length': body.length };
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestHttps : requestHttp;
    const request = send(url, { method, headers, signal: signal ?? undefined }, (response) => {
      const status = response.statusCode ?? 0;
      buffer(response)
        .then(
          (bytes) =>
            new Response(BODILESS.has(status) ? null : new Uint8Array(bytes), {
              status,
              headers: headersOf(response.rawHeaders),
            }),
        )
        .then(resolve, reject);
    });
    request.on('error', reject);
    request.end(body);
  });
};

function headersOf(raw: string[]): Headers {
  const headers = new Headers();
  for (let i = 0; i < raw.length; i += 2) headers.append(raw[i], raw[i + 1]);
  return headers;
}
