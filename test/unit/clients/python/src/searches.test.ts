import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type PlainServer, startPlainServer } from '../../../../support/servers/plain-server';

/**
 * The Python client's searches take what the service's do, and its models have what answers have: they are written from
 * the OpenAPI document.
 */

const root = resolve(__dirname, '../../../../..');
const { pythonOperations, pythonSearches, pythonSearchQuery } = require(
  resolve(root, 'scripts/client-searches.cjs'),
) as Record<'pythonOperations' | 'pythonSearches' | 'pythonSearchQuery', (document: object, present: string) => string>;
const { pythonModels } = require(resolve(root, 'scripts/make/python-models.cjs')) as {
  pythonModels(document: object, present: string): string;
};
const { BY_HAND, syncFrom } = require(resolve(root, 'scripts/make/python-sync.cjs')) as {
  BY_HAND: readonly string[];
  syncFrom(source: string): string;
};
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
  ['operations.py', pythonOperations],
])('%s is that of the OpenAPI document', (name, write) => {
  const file = resolve(PACKAGE, name);
  const text = write(document, readFileSync(file, 'utf8'));
  if (process.env.UPDATE === '1') writeFileSync(file, text);
  expect(readFileSync(file, 'utf8')).toBe(text);
});

test('the sync form is that of the async one', () => {
  const modules = readdirSync(resolve(PACKAGE, '_async')).filter(
    (name) => name.endsWith('.py') && !BY_HAND.includes(name),
  );
  expect(modules).toContain('searches.py');
  for (const name of modules) {
    const text = syncFrom(readFileSync(resolve(PACKAGE, '_async', name), 'utf8'));
    const file = resolve(PACKAGE, '_sync', name);
    if (process.env.UPDATE === '1') writeFileSync(file, text);
    expect(readFileSync(file, 'utf8')).toBe(text);
  }
});

const MODELS = resolve(PACKAGE, 'models.py');

test('the models are those of the OpenAPI document', () => {
  const text = pythonModels(document, readFileSync(MODELS, 'utf8'));
  if (process.env.UPDATE === '1') writeFileSync(MODELS, text);
  expect(readFileSync(MODELS, 'utf8')).toBe(text);
});

test('a field that comes later is last in its model and may be absent, an object without a name is refused', () => {
  const { components, ...rest } = structuredClone(document) as { components: { schemas: Record<string, Answer> } };
  const hit = components.schemas.SearchResult;
  hit.required.unshift('kind', 'tags');
  hit.properties = { kind: { type: 'string' }, tags: { type: 'array', items: {} }, ...hit.properties };
  const present = readFileSync(MODELS, 'utf8');
  const later = pythonModels({ components, ...rest }, present);
  expect(fieldsOf(later, 'Hit')).toEqual([
    ...fieldsOf(present, 'Hit'),
    'kind: str | None = None',
    'tags: list[Any] = field(default_factory=list)',
  ]);
  hit.properties.kind = { type: 'object', properties: { a: { type: 'string' } } };
  expect(() => pythonModels({ components, ...rest }, present)).toThrow('Hit.kind is an object without a class');
});

interface Answer {
  required: string[];
  properties: Record<string, object>;
}

function fieldsOf(models: string, name: string): string[] {
  const [, body = ''] = new RegExp(`^class ${name}\\b.*\\n([\\s\\S]*?)\\n\\n\\n`, 'm').exec(models) ?? [];
  return body.split('\n').flatMap((line) => /^ {4}(\w+: \S.*)$/.exec(line)?.[1] ?? []);
}
