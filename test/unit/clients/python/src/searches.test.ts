import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type PlainServer, startPlainServer } from '../../../../support/servers/plain-server';

/** The Python client's searches take what the service's do: they are written from the OpenAPI document. */

const root = resolve(__dirname, '../../../../..');
const { pythonSearches, pythonSearchQuery } = require(resolve(root, 'scripts/client-searches.cjs')) as Record<
  'pythonSearches' | 'pythonSearchQuery',
  (document: object) => string
>;
const PACKAGE = resolve(root, 'clients/python/src/quiver_client');

let server: PlainServer;
let document: object;

beforeAll(async () => {
  server = await startPlainServer();
  document = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as object;
});
afterAll(() => server.stop());

test.each([
  ['_async/searches.py', pythonSearches],
  ['search_query.py', pythonSearchQuery],
])('%s is that of the OpenAPI document', (name, write) => {
  const file = resolve(PACKAGE, name);
  const text = write(document);
  if (process.env.UPDATE === '1') writeFileSync(file, text);
  expect(readFileSync(file, 'utf8')).toBe(text);
});
