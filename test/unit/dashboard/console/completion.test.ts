import {
  keyBefore,
  matchingFields,
  matchingOperations,
  operationAt,
  withKey,
} from '../../../../dashboard/console/completion';
import { operationsOf } from '../../../../dashboard/console/openapi';

const operations = operationsOf({
  paths: {
    '/v1/collections': {
      get: { summary: 'List all collections' },
      post: {
        summary: 'Create a collection',
        requestBody: {
          content: { 'application/json': { schema: { $ref: '#/components/schemas/New' }, example: { name: 'a' } } },
        },
      },
    },
    '/v1/collections/{name}/search': { post: { summary: 'Find the nearest vectors' } },
  },
  components: {
    schemas: {
      New: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          items: { type: 'array', items: { properties: { text: { type: 'string', description: 'A text' } } } },
          kind: { enum: ['a', 'b'] },
        },
      },
    },
  },
});

test('the document gives operations with examples and the names in their bodies', () => {
  const create = operations.find(({ method }) => method === 'POST');
  expect(create).toMatchObject({ path: '/v1/collections', example: '{\n  "name": "a"\n}' });
  expect(create?.fields.map(({ name, type }) => `${name} ${type}`).sort()).toEqual([
    'items array',
    'kind "a" | "b"',
    'name string',
    'text string',
  ]);
});

test('operations are found by words of their path, method and summary', () => {
  expect(matchingOperations(operations, 'nearest').map(({ path }) => path)).toEqual(['/v1/collections/{name}/search']);
  expect(matchingOperations(operations, 'post coll')).toHaveLength(2);
  expect(matchingOperations(operations, 'nothing')).toEqual([]);
});

test('a path with its parameters filled in is of its operation', () => {
  expect(operationAt(operations, 'POST', '/v1/collections/a%20b/search?x=1')?.summary).toBe('Find the nearest vectors');
  expect(operationAt(operations, 'GET', '/v1/collections/a/search')).toBeNull();
  expect(operationAt(operations, 'POST', '/v1/collections//search')).toBeNull();
});

test.each([
  ['{"na', 4, { typed: 'na', from: 1 }],
  ['{ na', 4, { typed: 'na', from: 2 }],
  ['{"a": 1, "', 10, { typed: '', from: 9 }],
  ['{"a": "va', 9, null],
  ['{', 1, null],
])('before the caret of %j stands the key that is being written', (body, caret, wanted) => {
  expect(keyBefore(body, caret)).toEqual(wanted);
});

test('a key that is chosen is written out, over a quote that was closed already', () => {
  expect(withKey('{"na', 1, 4, 'name')).toEqual({ body: '{"name": ', caret: 9 });
  expect(withKey('{"na"}', 1, 4, 'name')).toEqual({ body: '{"name": }', caret: 9 });
  expect(matchingFields(operations[1].fields, 'na').map(({ name }) => name)).toEqual(['name']);
});
