import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type PlainServer, startPlainServer } from '../support/servers/plain-server';

/**
 * The Python client and the service name the same operations: read off the client's table, so that it shows where there
 * is no Python. That each has a method with every field is for the client's own tests.
 */

const TABLE = resolve(__dirname, '../../clients/python/src/quiver_client/operations.py');
/** `NAME = _get("/path")`, `NAME = _post("/path", …)` or `NAME = Operation("METHOD", "/path", …)`. */
const ROW = /^[A-Z_]+ = (?:_(get|post)|Operation)\((?:"([A-Z]+)", )?"([^"]+)"/gm;

let server: PlainServer;
beforeAll(async () => {
  server = await startPlainServer();
});
afterAll(() => server.stop());

test('the Python client has every operation of the OpenAPI document, and no other', async () => {
  const document = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const offered = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const known = [...readFileSync(TABLE, 'utf8').matchAll(ROW)].map(
    ([, short, method, path]) => `${method ?? short.toUpperCase()} ${path}`,
  );
  expect(known.toSorted()).toEqual(offered.toSorted());
});
