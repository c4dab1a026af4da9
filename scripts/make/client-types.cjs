// Writes the types of the TypeScript client from the service's OpenAPI document: an interface for each named schema,
// and for each operation its query, its body and its answer, as the client takes and gives them: vectors are
// Float32Array.

const INDENT = '  ';
const STRICT = 'strict';

/**
 * @typedef {Record<string, any>} Schema
 * @typedef {'request' | 'answer'} Side
 */

/**
 * The text of clients/typescript/src/generated/api-types.ts.
 * @param {Schema} document as /openapi.json has it
 * @returns {string}
 */
function clientTypes(document) {
  const named = Object.entries(document.components.schemas).filter(([name]) => name !== 'ErrorEnvelope');
  const components = named.map(
    ([name, schema]) => `${comment(schema.description, '')}export interface ${name} ${typeOf(schema, 'answer', '')}\n`,
  );
  const operations = operationsOf(document).map(({ id, method, path, operation }) => {
    const { summary, description } = operation;
    const lines = [
      comment(`${summary}: ${method.toUpperCase()} ${path}\n\n${withoutMeanings(description)}`, INDENT),
      `${INDENT}${id}: {\n`,
    ];
    const query = operation.parameters.filter(
      (/** @type {Schema} */ parameter) => parameter.in === 'query' && parameter.name !== STRICT,
    );
    if (query.length > 0)
      lines.push(`${INDENT.repeat(2)}query: ${typeOf(queryObject(query), 'request', INDENT.repeat(2))};\n`);
    const content = operation.requestBody?.content ?? {};
    const body = withoutStrict(content['application/json']?.schema ?? content['multipart/form-data']?.schema);
    if (body !== undefined) lines.push(`${INDENT.repeat(2)}body: ${typeOf(body, 'request', INDENT.repeat(2))};\n`);
    lines.push(`${INDENT.repeat(2)}answer: ${answerOf(operation)};\n${INDENT}};\n`);
    return lines.join('');
  });
  const head =
    '// Generated from the OpenAPI document; `UPDATE=1 npm test -- test/unit/clients/typescript/src/generated` writes it anew.\n' +
    "import type { Metadata, VectorLike } from '../values';\nimport type { Filters } from './filter-types';\n\n";
  return `${head}${components.join('\n')}\n/** What each operation takes and answers, by its operationId. */\nexport interface Operations {\n${operations.join('')}}\n`;
}

/**
 * The text of clients/typescript/src/generated/collection-calls.ts: the methods of operations that say by
 * `x-client-method` what they are called.
 * @param {Schema} document
 */
function collectionCalls(document) {
  const methods = clientMethodsOf(document).map(({ id, name, path, operation }) => {
    const camel = name.replaceAll(/_(\w)/g, (/** @type {string} */ _, /** @type {string} */ letter) =>
      letter.toUpperCase(),
    );
    const of = `Operations['${id}']`;
    const standard = operation.requestBody.required === true ? '' : ' = {}';
    return `
${comment(`${operation.summary}.`, INDENT)}${INDENT}async ${camel}(request: ${of}['body']${standard}, options?: CallOptions): Promise<${of}['answer']> {
    return this.transport.data(
      { method: 'POST', path: \`\${this.path}/${path.split('/').at(-1)}\`, json: fieldsBody(request), isRepeatable: true },
      options,
    );
  }
`;
  });
  return `// Generated from the OpenAPI document; \`UPDATE=1 npm test -- test/unit/clients/typescript/src/generated\` writes it anew.
import { fieldsBody } from '../bodies';
import type { CallOptions } from '../request';
import type { Transport } from '../transport';
import type { Operations } from './api-types';

/** What a collection does of which nothing is written by hand. */
export class CollectionCalls {
  protected readonly path: string;

  constructor(
    protected readonly transport: Transport,
    readonly name: string,
  ) {
    this.path = \`/v1/collections/\${encodeURIComponent(name)}\`;
  }
${methods.join('')}}
`;
}

/**
 * Operations with a method that is written from them, with its name (words joined by _).
 * @param {Schema} document
 */
function clientMethodsOf(document) {
  return operationsOf(document).flatMap((one) => {
    const name = one.operation['x-client-method'];
    if (name === undefined) return [];
    if (one.method !== 'post' || !/^\/v1\/collections\/\{name\}\/\w+$/.test(one.path))
      throw new Error(`${one.id} is no POST of a collection: its methods are written by hand`);
    return [{ ...one, name: /** @type {string} */ (name) }];
  });
}

/**
 * What a body holds but for the field that all have: the client is strict as a whole.
 * @param {Schema | undefined} body
 * @returns {Schema | undefined}
 */
function withoutStrict(body) {
  if (body?.properties?.[STRICT] === undefined) return body;
  const { [STRICT]: _strict, ...properties } = body.properties;
  return { ...body, properties };
}

/**
 * Every operation of a document, in its order.
 * @param {Schema} document
 * @returns {{ id: string, method: string, path: string, operation: Schema }[]}
 */
function operationsOf(document) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(/** @type {Schema} */ (methods)).map(([method, operation]) => ({
      id: operation.operationId,
      method,
      path,
      operation,
    })),
  );
}

/** @param {Schema} operation */
function answerOf(operation) {
  const [type, { schema }] = Object.entries(operation.responses[200].content)[0];
  if (type !== 'application/json') return 'string';
  const success = schema.oneOf?.find((/** @type {Schema} */ form) => form.properties?.status?.const === 'success');
  return success === undefined
    ? 'Record<string, unknown>'
    : typeOf(success.properties.data, 'answer', INDENT.repeat(2));
}

/**
 * @param {Schema[]} parameters
 * @returns {Schema}
 */
function queryObject(parameters) {
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
  };
}

/**
 * @param {Schema} schema
 * @param {Side} side
 * @param {string} indent of the line that the type begins on
 * @returns {string}
 */
function typeOf(schema, side, indent) {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1);
  if (schema.const !== undefined) return JSON.stringify(schema.const).replaceAll('"', "'");
  if (schema.enum !== undefined)
    return schema.enum.map((/** @type {unknown} */ value) => JSON.stringify(value).replaceAll('"', "'")).join(' | ');
  if (isVector(schema, side)) return side === 'request' ? 'VectorLike' : 'Float32Array';
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined)
    return [...new Set(forms.map((/** @type {Schema} */ form) => typeOf(form, side, indent)))].join(' | ');
  if (Array.isArray(schema.type))
    return schema.type.map((/** @type {string} */ type) => typeOf({ ...schema, type }, side, indent)).join(' | ');
  switch (schema.type) {
    case 'string':
      return 'string';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'null':
      return 'null';
    case 'array': {
      const element = typeOf(schema.items ?? {}, side, indent);
      if (side === 'answer' && schema.minItems === 2 && schema.maxItems === 2) return `[${element}, ${element}]`;
      return /[|&{]/.test(element) ? `Array<${element}>` : `${element}[]`;
    }
    case 'object':
      return objectOf(schema, side, indent);
    default:
      return 'unknown';
  }
}

/**
 * A vector: numbers or base64 in a request; in an answer also what is base64 alone.
 * @param {Schema} schema
 * @param {Side} side
 */
function isVector(schema, side) {
  const forms = schema.oneOf ?? schema.anyOf;
  if (forms !== undefined)
    return (
      forms.length === 2 && forms.some(isBase64) && forms.some((/** @type {Schema} */ form) => form.type === 'array')
    );
  return side === 'answer' && isBase64(schema);
}

/** @param {Schema} schema */
function isBase64(schema) {
  return schema.type === 'string' && schema.contentEncoding === 'base64';
}

/**
 * @param {Schema} schema
 * @param {Side} side
 * @param {string} indent
 */
function objectOf(schema, side, indent) {
  const { properties = {}, required = [], additionalProperties } = schema;
  const names = Object.keys(properties);
  if (names.length === 0) {
    const isTyped = typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0;
    return `Record<string, ${isTyped ? typeOf(additionalProperties, side, indent) : 'unknown'}>`;
  }
  const inner = indent + INDENT;
  const fields = names.map((name) => {
    const property = properties[name];
    const type = fieldType(name, property, side, inner);
    const mark = required.includes(name) ? '' : '?';
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name}'`;
    return `${comment(note(property), inner)}${inner}${key}${mark}: ${type};\n`;
  });
  return `{\n${fields.join('')}${indent}}`;
}

/**
 * Fields that mean the same wherever they are have types of their own.
 * @param {string} name
 * @param {Schema} schema
 * @param {Side} side
 * @param {string} indent
 */
function fieldType(name, schema, side, indent) {
  if (name === 'filters') return 'Filters';
  // Where a collection has its metadata is a word.
  if (name === 'metadata' && schema.$ref === undefined && schema.enum === undefined) return 'Metadata';
  if (name === 'vector' && side === 'answer') return 'Float32Array';
  return typeOf(schema, side, indent);
}

/**
 * What the codes mean stands at the error classes.
 * @param {string} text
 */
function withoutMeanings(text) {
  return text.replace(/^Error codes: .*$/m, (line) => line.replaceAll(/ \([^)]*\)/g, ''));
}

/** @param {Schema} schema */
function note(schema) {
  const { description, default: value } = schema;
  const standard = value === undefined ? '' : `Default: ${JSON.stringify(value)}.`;
  return [description, standard].filter((part) => part !== undefined && part !== '').join(' ');
}

/**
 * @param {string | undefined} text
 * @param {string} indent
 */
function comment(text, indent) {
  if (text === undefined || text === '') return '';
  const lines = text.replaceAll('*/', '*\\/').split('\n');
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} *${line === '' ? '' : ` ${line}`}\n`).join('')}${indent} */\n`;
}

module.exports = { clientMethodsOf, clientTypes, collectionCalls, operationsOf };
