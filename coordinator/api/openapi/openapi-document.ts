import type { Endpoint, JsonBody } from '../endpoints/endpoint';
import type { HttpLimits } from '../requests/http-limits';
import { IDEMPOTENCY_KEY_LENGTH_MAX } from '../requests/request-once';
import { STRICT_FIELD } from '../fields/ignored-fields';
import { requestFieldsOf } from '../fields/request-fields';
import { type JsonSchema, SchemaCollector } from './json-schema';

/** What the envelope's error codes mean. */
const ERROR_MEANINGS: Readonly<Record<number, string>> = {
  400: 'invalid parameter, dimension mismatch or exceeded limit',
  401: 'missing or invalid API key or bearer token',
  403: 'the key lacks the required role, or may not use this collection or come from this address',
  404: 'it does not exist',
  409: 'it exists already, or is not as the caller expects',
  422: 'the body does not fit the schema, or the Idempotency-Key was used for another request',
  429: 'too many requests, or the server is busy',
  500: 'internal error; the message says when the call may be retried',
};

/** Of the API. */
export const VERSION = '1.0.0';

const HEADERS = {
  'x-request-id': {
    description: 'The caller’s request id, or a new one; it is in the log too.',
    schema: { type: 'string' },
  },
  'RateLimit-Limit': { description: 'Requests per minute that the key may make.', schema: { type: 'integer' } },
  'RateLimit-Remaining': { description: 'Requests left in the window.', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Seconds until the window is free again.', schema: { type: 'integer' } },
  'Idempotency-Replayed': {
    description: '`true` where the answer is that of an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', const: 'true' },
  },
  'Preference-Applied': { description: 'The part of Prefer that was applied.', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds to wait; on code 429 only.', schema: { type: 'integer' } },
};

const IDEMPOTENCY_KEY: JsonSchema = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Names this request: repeated under the same key within 24 hours, it is not done again, and has the answer of the first time, whatever became of that. Another request under the same key of the same caller is refused (422). A random UUID is a good key.',
  schema: { type: 'string', minLength: 1, maxLength: IDEMPOTENCY_KEY_LENGTH_MAX },
};

/** Of every operation. */
const PREFER: JsonSchema = {
  name: 'Prefer',
  in: 'header',
  required: false,
  description:
    '`status=real`: an error has its code as HTTP status; `status=200`: it has 200, as by default (HTTP_STATUS).',
  schema: { type: 'string' },
};

const STRICT =
  'Refuses (422) what would else be told in `warnings` as a likely mistake: fields that are not known, paths that no item has, whole numbers beyond 2^53. All are named, and nothing is done.';
const STRICT_BODY: JsonSchema = { type: ['boolean', 'null'], description: STRICT };
/** Of every operation. The same may be said in the query string, or in the body. */
const STRICT_HEADER: JsonSchema = {
  name: 'X-Strict',
  in: 'header',
  required: false,
  description: STRICT,
  schema: { type: 'boolean' },
};
const STRICT_QUERY: JsonSchema = {
  name: STRICT_FIELD,
  in: 'query',
  required: false,
  description: STRICT,
  schema: { type: 'boolean' },
};

const WARNINGS: JsonSchema = {
  type: 'array',
  items: { type: 'string' },
  description:
    'Only if there are any, at most 51: what is most likely a mistake of the request, as a field that is not ' +
    'known and so was ignored, and what its caller should know of what was done.',
};

const ERROR_ENVELOPE: JsonSchema = {
  type: 'object',
  required: ['status', 'data', 'error'],
  properties: {
    status: { const: 'error' },
    data: { type: 'null' },
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { type: 'integer', enum: Object.keys(ERROR_MEANINGS).map(Number) },
        message: { type: 'string' },
      },
    },
  },
};

const ERROR_CONTENT = { 'application/json': { schema: { $ref: '#/components/schemas/ErrorEnvelope' } } };

function description(limits: HttpLimits): string {
  const meanings = Object.entries(ERROR_MEANINGS).map(([code, meaning]) => `| ${code} | ${meaning} |`);
  return [
    '**Failures come with HTTP 200**, unless a request has the header `Prefer: status=real` or the service the setting HTTP_STATUS=real: then an error has its code as HTTP status. ' +
      'Every answer under /v1 has an envelope: `status` is `success` or `error`, and `error.code` says what went wrong.',
    '',
    'Collections of vectors with metadata: search, filters, hybrid search, documents.',
    '',
    'Checks are made in this order: key or token (401), its networks (403), rate limit (429), path and method (404), role (403), path and query parameters (400), the collection for a key that is limited to some (403), ' +
      'load (429), size of the body (400), JSON and schema (422; 400 for limits), then the operation itself.',
    '',
    '| code | meaning |',
    '|---|---|',
    ...meanings,
    '',
    'In bodies null for an optional field counts as left out; nothing is converted from one type to another. Fields that are not known, anywhere in a request, are ignored and told in `warnings`; with `strict: true` in the body or the query string, or the header `X-Strict: true`, they are refused (422).',
    `Bodies hold at most ${limits.requestBytesMax} bytes, those with a list of items, queries, candidates or external_ids ${limits.bodyBytesMax}, and may be sent with ` +
      `Content-Encoding gzip. A body, or one element of such a list, holds at most ${limits.jsonValuesMax} values and ${limits.jsonKeysMax} keys, ${limits.jsonDepthMax} levels deep; ` +
      `the numbers of vectors do not count. A client that sends or takes nothing for ${limits.stallTimeoutMs} ms is cut off.`,
  ].join('\n');
}

/** Makes the OpenAPI 3.1 document of a table of endpoints, one endpoint a step: all take a tenth of a second. */
export function* openApiDocument(endpoints: readonly Endpoint[], limits: HttpLimits): Generator<undefined, JsonSchema> {
  const schemas = new SchemaCollector();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const endpoint of endpoints) {
    const operations = (paths[pathOf(endpoint)] ??= {});
    operations[endpoint.method.toLowerCase()] = operationOf(endpoint, schemas);
    yield;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Quiver',
      version: VERSION,
      description: description(limits),
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(endpoints.map((endpoint) => endpoint.tag))].map((name) => ({ name })),
    security: [{ ApiKey: [] }, { Bearer: [] }],
    paths,
    components: {
      securitySchemes: {
        ApiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        Bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description:
            'A token of the identity provider that the service is set up for (JWT_ISSUER); without one, none is taken.',
        },
      },
      headers: HEADERS,
      schemas: { ...schemas.components, ErrorEnvelope: ERROR_ENVELOPE },
    },
  };
}

/**
 * For OpenAPI, two templates that differ only in the names of their parameters are the same path. So each position has
 * one name here: the contract writes {name} in some templates and {collection_name} in others.
 */
function pathOf(endpoint: Endpoint): string {
  return endpoint.template.replace('{collection_name}', '{name}');
}

function operationOf(endpoint: Endpoint, schemas: SchemaCollector): JsonSchema {
  const codes = errorCodesOf(endpoint);
  const errors = codes.map((code) => `${code} (${ERROR_MEANINGS[code]})`).join(', ');
  const access =
    endpoint.access === 'public'
      ? 'No key needed.'
      : `Role: ${endpoint.access === 'readonly' ? 'any' : endpoint.access === 'admin' ? 'admin' : 'readwrite or admin'}.`;
  const text = [endpoint.description, access, errors === '' ? '' : `Error codes: ${errors}.`]
    .filter((part) => part !== '')
    .join('\n\n');
  const body = bodyOf(endpoint, schemas);
  return {
    operationId: operationId(endpoint),
    tags: [endpoint.tag],
    summary: endpoint.summary,
    description: text,
    ...(endpoint.access === 'public' ? { security: [] } : {}),
    parameters: [
      ...parametersOf(endpoint, 'path', schemas),
      ...parametersOf(endpoint, 'query', schemas),
      ...(endpoint.isOnce ? [IDEMPOTENCY_KEY] : []),
      ...(endpoint.access === 'public' ? [] : strictOf(endpoint)),
      ...(endpoint.failsAs === 'envelope' ? [PREFER] : []),
    ],
    ...(body === null ? {} : { requestBody: body }),
    responses: {
      200: {
        description: 'The envelope, of a success or of an error.',
        headers: headersOf(endpoint),
        content: contentOf(endpoint, schemas),
      },
      ...(endpoint.failsAs === 'envelope' && {
        default: {
          description: 'The envelope of an error with its code as HTTP status, where that is asked for.',
          headers: headersOf(endpoint),
          content: ERROR_CONTENT,
        },
      }),
    },
    ...(codes.length === 0 ? {} : { 'x-error-codes': codes }),
    ...(endpoint.clientMethod !== undefined && { 'x-client-method': endpoint.clientMethod }),
  };
}

function strictOf({ body }: Endpoint): JsonSchema[] {
  return body.type === 'none' ? [STRICT_QUERY, STRICT_HEADER] : [STRICT_HEADER];
}

/** What every body may hold besides its own fields. */
function withStrict(schema: JsonSchema): JsonSchema {
  return { ...schema, properties: { ...(schema.properties as JsonSchema), [STRICT_FIELD]: STRICT_BODY } };
}

function operationId(endpoint: Endpoint): string {
  const words = endpoint.template.split(/[^A-Za-z0-9]+/).filter((word) => word !== '' && word !== 'v1');
  return [endpoint.method.toLowerCase(), ...words].join('_');
}

function parametersOf(endpoint: Endpoint, place: 'path' | 'query', schemas: SchemaCollector): JsonSchema[] {
  const parameters = endpoint[place];
  if (parameters === null) return [];
  const { properties = {}, required = [] } = schemas.schemaOf(parameters, 'input') as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name: place === 'path' && name === 'collection_name' ? 'name' : name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema,
  }));
}

function bodyOf(endpoint: Endpoint, schemas: SchemaCollector): JsonSchema | null {
  switch (endpoint.body.type) {
    case 'none':
      return null;
    case 'form': {
      const { schema, json } = endpoint.body;
      return {
        required: true,
        content: {
          'multipart/form-data': { schema: withStrict(schemas.schemaOf(schema, 'input')) },
          ...(json !== undefined && jsonContent(json, schemas)),
        },
      };
    }
    case 'json':
      return { required: endpoint.body.required, content: jsonContent(endpoint.body, schemas) };
  }
}

function jsonContent(body: JsonBody, schemas: SchemaCollector): JsonSchema {
  const schema = schemas.schemaOf(body.schema, 'input');
  const isOpen = requestFieldsOf(body.schema) === null;
  return { 'application/json': { schema: isOpen ? schema : withStrict(schema), example: body.example } };
}

/** Headers also of what needs no key. */
const ALWAYS = ['x-request-id', 'Preference-Applied'];

function headersOf(endpoint: Endpoint): JsonSchema {
  const names = Object.keys(HEADERS).filter((name) =>
    name === 'Idempotency-Replayed' ? endpoint.isOnce : endpoint.access !== 'public' || ALWAYS.includes(name),
  );
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function contentOf(endpoint: Endpoint, schemas: SchemaCollector): JsonSchema {
  if (endpoint.answer.type === 'text') {
    return {
      [endpoint.answer.contentType]: {
        schema: { type: endpoint.answer.contentType === 'application/json' ? 'object' : 'string' },
      },
    };
  }
  const success = {
    type: 'object',
    required: ['status', 'data', 'error'],
    properties: {
      status: { const: 'success' },
      data: schemas.schemaOf(endpoint.answer.schema, 'output'),
      error: { type: 'null' },
      warnings: WARNINGS,
    },
  };
  return {
    'application/json': { schema: { oneOf: [success, { $ref: '#/components/schemas/ErrorEnvelope' }] } },
    ...(endpoint.answer.streams === true && { 'text/event-stream': { schema: { type: 'string' } } }),
  };
}

/** The error codes that an endpoint can answer with, ascending. */
function errorCodesOf(endpoint: Endpoint): number[] {
  const codes = new Set<number>(endpoint.errors);
  if (endpoint.access !== 'public') [401, 429, 500].forEach((code) => codes.add(code));
  // Any key may be limited to collections or networks.
  if (endpoint.access !== 'public') codes.add(403);
  if (endpoint.body.type !== 'none') [400, 422].forEach((code) => codes.add(code));
  if (endpoint.path !== null || endpoint.query !== null) codes.add(400);
  if (endpoint.isOnce) [400, 422].forEach((code) => codes.add(code));
  return [...codes].sort((a, b) => a - b);
}
