// Writes the models of the Python client from the service's OpenAPI document: a dataclass for each object that an
// answer holds. `python-model-classes.cjs` says what the classes are called and what they do; fields, their types and
// what they mean are the document's.
//
// Callers make such objects too, and a service of the version before leaves out what came later. So a field that the
// file has already keeps its place and its default, and one that is new to its class comes last and may be absent.

const { clientMethodsOf } = require('./client-types.cjs');
const { ALIASES, CLASSES, BARE_ANSWERS } = require('./python-model-classes.cjs');

const COLUMNS = 120;
const INDENT = '    ';
/** An enumeration of more values is a text: it is open. */
const LITERALS_MAX = 9;
/** What makes a default of its own for each object. */
const FACTORIES = ['list', 'dict'];

/**
 * @typedef {Record<string, any>} Schema
 * @typedef {import('./python-model-classes.cjs').ModelClass} ModelClass
 * @typedef {{ name: string, standard: string | null, absent: string | null }} KnownField
 * @typedef {{ key: string, schema: Schema, isRequired: boolean, description: string }} DocumentField
 */

/**
 * The text of clients/python/src/quiver_client/models.py.
 * @param {Schema} document as /openapi.json has it
 * @param {string} present the file as it is
 * @returns {string}
 */
function pythonModels(document, present) {
  const known = knownFields(present);
  const names = classNames(document);
  checkAnswers(document, names);
  const models = classesOf(document);
  const classes = Object.entries(models).map(([name, model]) => classOf(document, names, name, model, known.get(name)));
  const aliases = Object.entries(ALIASES).map(
    ([name, pointer]) => `${name}: TypeAlias = ${literal(valueAt(document, pointer).enum)}\n`,
  );
  const mixins = [...new Set(Object.values(models).flatMap(({ mixin }) => mixin ?? []))];
  const own = ['ProfiledBulkSearch', ...mixins].sort();
  const exported = [
    ...Object.keys(ALIASES),
    ...Object.keys(models),
    ...['BulkSearchQuery', 'BulkSearchQueryLike', 'Filters', 'Item', 'ItemLike', 'KeyScopeLike', 'Metadata'],
    'ProfiledBulkSearch',
  ].sort();
  return `"""What is sent and what comes back, as dataclasses.

Times are aware datetimes, sizes bytes, and ${'``*_ms``'} milliseconds. What an answer leaves out is None, or empty.
"""

# Generated from the OpenAPI document: \`UPDATE=1 npm test -- test/unit/clients/python\` writes it anew.
from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from .behaviour import ${own.join(', ')}
from .search_query import BulkSearchQuery
from .sent import BulkSearchQueryLike, Filters, Item, ItemLike, KeyScopeLike, Metadata
from .tables import Table

__all__ = [
${exported.map((name) => `${INDENT}"${name}",\n`).join('')}]

${aliases.join('')}

${classes.join('\n\n')}`;
}

/**
 * Those that are named by hand, and the answers of methods that are written from their operations.
 * @param {Schema} document
 * @returns {Record<string, ModelClass>}
 */
function classesOf(document) {
  const written = clientMethodsOf(document)
    .filter(({ id }) => namedAnswer(id) === undefined)
    .map(({ id, name, operation }) => [answerName(name), { of: id, doc: `${operation.summary}: the answer.` }]);
  return { ...CLASSES, ...Object.fromEntries(written) };
}

/**
 * The class of an operation's answer that is named by hand.
 * @param {string} id
 */
function namedAnswer(id) {
  return Object.keys(CLASSES).find((name) => [CLASSES[name].of].flat().includes(id));
}

/**
 * The class of the answer of a method.
 * @param {string} method words joined by _
 */
function answerName(method) {
  return `${method.replaceAll(/(?:^|_)(\w)/g, (_, /** @type {string} */ letter) => letter.toUpperCase())}Answer`;
}

/**
 * The class of what a method that is written from its operation answers.
 * @param {{ id: string, name: string }} operation
 */
function answerClass({ id, name }) {
  return namedAnswer(id) ?? answerName(name);
}

/**
 * Fields of the dataclasses of a file, in their order, by class.
 * @param {string} text
 * @returns {Map<string, KnownField[]>}
 */
function knownFields(text) {
  const classes = new Map();
  /** @type {KnownField[]} */
  let fields = [];
  for (const line of text.replaceAll(/"""[\s\S]*?"""/g, '').split('\n')) {
    const head = /^class (\w+)/.exec(line);
    if (head !== null) classes.set(head[1], (fields = []));
    const found = /^ {4}(\w+): [^=]+?(?: = (.+))?$/.exec(line);
    if (found === null) continue;
    const [, name, value = ''] = found;
    const standard = value.startsWith('field(') ? /\bdefault(?:_factory)?=([^,)]+)/.exec(value)?.[1] : value;
    const absent = /"absent": (\w+)/.exec(value)?.[1] ?? null;
    fields.push({ name, standard: standard || null, absent });
  }
  return classes;
}

/**
 * Which class each object of the document is, by its shape.
 * @param {Schema} document
 * @returns {Map<string, string>}
 */
function classNames(document) {
  const names = new Map();
  for (const [name, { of }] of Object.entries(classesOf(document)))
    for (const pointer of [of].flat()) {
      const shape = shapeOf(valueAt(document, pointer));
      if (names.has(shape) && names.get(shape) !== name)
        throw new Error(`${pointer} has the shape of ${names.get(shape)}, which is another class than ${name}`);
      names.set(shape, name);
    }
  return names;
}

/**
 * Every answer is a class, or is listed as one that its caller takes apart.
 * @param {Schema} document
 * @param {Map<string, string>} names
 */
function checkAnswers(document, names) {
  for (const methods of Object.values(document.paths))
    for (const operation of Object.values(/** @type {Schema} */ (methods))) {
      const answer = answerOf(operation);
      if (answer === null || BARE_ANSWERS.has(operation.operationId)) continue;
      if (!names.has(shapeOf(resolved(document, answer))))
        throw new Error(`the answer of ${operation.operationId} has no class: name one in python-model-classes.cjs`);
    }
}

/**
 * @param {Schema} document
 * @param {Map<string, string>} names
 * @param {string} name
 * @param {ModelClass} model
 * @param {KnownField[] | undefined} known its fields so far; undefined: the class is new
 */
function classOf(document, names, name, model, known) {
  const { base, mixin, rows, doc } = model;
  const inherited = new Set(base === undefined ? [] : fieldsOf(document, CLASSES[base]).map(({ key }) => key));
  const fields = fieldsOf(document, model)
    .filter(({ key }) => !inherited.has(key) && !(model.without ?? []).includes(key))
    .map((one) => {
      const attribute = model.names?.[one.key] ?? one.key;
      const place = known?.findIndex((field) => field.name === attribute) ?? -1;
      return { ...one, attribute, place: place === -1 ? Infinity : place };
    })
    .sort((a, b) => (a.place === b.place ? 0 : a.place - b.place));
  const bases = [base, ...[mixin ?? []].flat()].filter((one) => one !== undefined);
  /** @type {string[]} */
  const required = [];
  /** @type {string[]} */
  const later = [];
  for (const { attribute, place, ...one } of fields) {
    const before = place === Infinity ? undefined : known?.[place];
    const type = model.types?.[one.key] ?? pythonType(document, names, one.schema, `${name}.${one.key}`);
    const field = before ?? newField(attribute, one, known === undefined && base === undefined);
    const text = fieldText(attribute, type, one, field, model);
    (field.standard === null ? required : later).push(text);
    if (rows === one.key)
      bases.push(`Table[${type.replace(/^list\[(.*)\]$/, '$1')}]`, ...(rows === 'results' ? [] : [`rows="${rows}"`]));
  }
  const head = bases.length === 0 ? '' : `(${bases.join(', ')})`;
  return `@dataclass(frozen=True)\nclass ${name}${head}:\n${INDENT}"""${doc}"""\n\n${[...required, ...later].join('')}`;
}

/**
 * A field that its class has not had so far.
 * @param {string} name
 * @param {DocumentField} field
 * @param {boolean} isOfNewClass
 * @returns {KnownField}
 */
function newField(name, { schema, isRequired }, isOfNewClass) {
  if (isRequired && isOfNewClass) return { name, standard: null, absent: null };
  return { name, standard: isRequired && schema.type === 'array' ? 'list' : 'None', absent: null };
}

/**
 * @param {string} attribute
 * @param {string} type
 * @param {DocumentField} document
 * @param {KnownField} field
 * @param {ModelClass} model
 */
function fieldText(attribute, type, { key, schema, description }, { standard, absent }, model) {
  const isHidden =
    (model.hidden ?? []).includes(key) || forms(schema).some((form) => form.contentEncoding === 'base64');
  const metadata = [
    ...(attribute === key ? [] : [`"name": "${key}"`]),
    ...(absent === null ? [] : [`"absent": ${absent}`]),
  ];
  const isMade = standard !== null && FACTORIES.includes(standard);
  const made = [
    ...(standard === null ? [] : [`${isMade ? 'default_factory' : 'default'}=${standard}`]),
    ...(metadata.length === 0 ? [] : [`metadata={${metadata.join(', ')}}`]),
    ...(isHidden ? ['repr=False'] : []),
  ];
  const isPlain = standard !== null && !isMade && made.length === 1;
  const value = made.length === 0 ? '' : isPlain ? ` = ${standard}` : ` = field(${made.join(', ')})`;
  const isNone = standard === 'None' && !/(^|\| )None$|^Any$/.test(type);
  const text = `${INDENT}${attribute}: ${type}${isNone ? ' | None' : ''}${value}\n`;
  return description === '' ? text : `${text}${docstring(description)}`;
}

/**
 * The fields of a class, in the order of the document; one that only some of its objects have is not required.
 * @param {Schema} document
 * @param {ModelClass} model
 * @returns {DocumentField[]}
 */
function fieldsOf(document, { of }) {
  const schemas = [of].flat().map((pointer) => valueAt(document, pointer));
  /** @type {Map<string, DocumentField>} */
  const fields = new Map();
  for (const { properties, required = [] } of schemas)
    for (const [key, schema] of Object.entries(/** @type {Schema} */ (properties))) {
      const found = fields.get(key);
      fields.set(key, {
        key,
        schema: found?.schema ?? schema,
        description: found?.description || (schema.description ?? ''),
        isRequired: required.includes(key) && (found?.isRequired ?? true),
      });
    }
  for (const field of fields.values())
    field.isRequired &&= schemas.every(({ properties }) => properties[field.key] !== undefined);
  return [...fields.values()];
}

/**
 * @param {Schema} document
 * @param {Map<string, string>} names
 * @param {Schema} schema
 * @param {string} where
 * @returns {string}
 */
function pythonType(document, names, schema, where) {
  const types = [...new Set(forms(schema).map((form) => formType(document, names, form, where)))];
  // None comes last.
  return [...types.filter((type) => type !== 'None'), ...types.filter((type) => type === 'None')].join(' | ');
}

/**
 * @param {Schema} document
 * @param {Map<string, string>} names
 * @param {Schema} form
 * @param {string} where
 * @returns {string}
 */
function formType(document, names, form, where) {
  if (form.$ref !== undefined) return formType(document, names, resolved(document, form), where);
  if (form.const !== undefined) return literal([form.const]);
  if (form.enum !== undefined) return form.enum.length > LITERALS_MAX ? 'str' : enumeration(document, form.enum);
  if (form.properties !== undefined) {
    const name = names.get(shapeOf(form));
    if (name === undefined)
      throw new Error(`${where} is an object without a class: name one in python-model-classes.cjs`);
    return name;
  }
  const inner = (/** @type {Schema} */ schema) => pythonType(document, names, schema, where);
  switch (form.type) {
    case 'string':
      return form.format === 'date-time' ? 'datetime' : 'str';
    case 'integer':
      return 'int';
    case 'number':
      return 'float';
    case 'boolean':
      return 'bool';
    case 'null':
      return 'None';
    case 'array':
      return `list[${inner(form.items ?? {})}]`;
    case 'object': {
      const values = form.additionalProperties;
      return `dict[str, ${typeof values === 'object' && Object.keys(values).length > 0 ? inner(values) : 'Any'}]`;
    }
    default:
      return 'Any';
  }
}

/**
 * @param {Schema} document
 * @param {string[]} values
 */
function enumeration(document, values) {
  const same = (/** @type {string} */ pointer) => valueAt(document, pointer).enum.join() === values.join();
  return Object.entries(ALIASES).find(([, pointer]) => same(pointer))?.[0] ?? literal(values);
}

/** @param {unknown[]} values */
function literal(values) {
  return `Literal[${values.map((value) => (value === true ? 'True' : JSON.stringify(value))).join(', ')}]`;
}

/**
 * The forms that a value may have.
 * @param {Schema} schema
 * @returns {Schema[]}
 */
function forms(schema) {
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return alternatives.flatMap(forms);
  return Array.isArray(schema.type) ? schema.type.map((/** @type {string} */ type) => ({ ...schema, type })) : [schema];
}

/**
 * What stands at a pointer, such as `Purge.shards[].replicas[]`, `get_health.unavailable[]` or
 * `post_admin_keys(body).quota`: an object, or an enumeration.
 * @param {Schema} document
 * @param {string} pointer
 * @returns {Schema}
 */
function valueAt(document, pointer) {
  const [root, ...steps] = pointer.replaceAll('[]', '.[]').split('.');
  let schema = document.components.schemas[root] ?? rootOf(document, root);
  for (const step of steps) {
    const object = schema === undefined ? undefined : valueOf(document, schema);
    schema = step === '[]' ? object?.items : object?.properties?.[step];
  }
  if (schema === undefined) throw new Error(`the OpenAPI document has no ${pointer}`);
  return valueOf(document, schema);
}

/**
 * @param {Schema} document
 * @param {string} root an operation, or the body of one
 * @returns {Schema | undefined}
 */
function rootOf(document, root) {
  const [, id, body] = /^(\w+)(\(body\))?$/.exec(root) ?? [];
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(/** @type {Schema} */ (methods)));
  const operation = operations.find(({ operationId }) => operationId === id);
  if (operation === undefined) return undefined;
  if (body === undefined) return answerOf(operation) ?? undefined;
  return operation.requestBody.content['application/json'].schema;
}

/**
 * A value that may be null, without that.
 * @param {Schema} document
 * @param {Schema} schema
 * @returns {Schema}
 */
function valueOf(document, schema) {
  const [first = {}] = forms(resolved(document, schema)).filter(({ type }) => type !== 'null');
  return resolved(document, first);
}

/**
 * What an operation answers with; null: no JSON.
 * @param {Schema} operation
 * @returns {Schema | null}
 */
function answerOf(operation) {
  const { schema } = operation.responses[200].content['application/json'] ?? {};
  const success = schema?.oneOf?.find((/** @type {Schema} */ form) => form.properties?.status?.const === 'success');
  return success?.properties.data ?? null;
}

/**
 * @param {Schema} document
 * @param {Schema} schema
 * @returns {Schema}
 */
function resolved(document, schema) {
  return schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1)];
}

/**
 * A schema without what it says to people.
 * @param {Schema} schema
 */
function shapeOf(schema) {
  return JSON.stringify(schema, (key, value) =>
    key === 'description' && typeof value === 'string' ? undefined : value,
  );
}

/**
 * What a field means, below it.
 * @param {string} description
 */
function docstring(description) {
  const text = description
    .replaceAll('’', "'")
    .replaceAll('\\', '\\\\')
    .replaceAll('""', "''")
    .replaceAll('"', "'")
    .replaceAll('`', '``')
    .replaceAll(/\b[nN]ull\b/g, 'None')
    .replaceAll(/\btrue\b/g, 'True')
    .replaceAll(/\bfalse\b/g, 'False');
  const lines = [`${INDENT}"""`];
  for (const word of text.split(/\s+/)) {
    const last = lines[lines.length - 1];
    const isFirst = last === `${INDENT}"""` || last === INDENT;
    if (isFirst || `${last} ${word}`.length <= COLUMNS - 3)
      lines[lines.length - 1] = `${last}${isFirst ? '' : ' '}${word}`;
    else lines.push(`${INDENT}${word}`);
  }
  return `${lines.join('\n')}"""\n`;
}

module.exports = { answerClass, pythonModels };
