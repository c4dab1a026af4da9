// The pages of the API reference, from the service's OpenAPI document: one for each tag, and an index.

const { tabs } = require('./snippets.cjs');

/** @typedef {Record<string, any>} Schema */

/** What a path names, in examples. */
const NAMES = { name: 'articles', collection: 'articles', document_id: 'doc-1', shard: '0' };
/** By the part of the path before {id}. */
const IDS = {
  delete: 'a-1',
  vectors: 'a-1',
  recommend: 'a-1',
  judgements: 'rivers',
  keys: '2',
  jobs: '0192f0c0-0000-7000-8000-000000000000',
  backups: '0192f0c0-0000-7000-8000-000000000001',
  restores: '0192f0c0-0000-7000-8000-000000000002',
  nodes: 'node-0',
};
/** What has to be in the query string. */
const QUERIES = { id1: 'a-1', id2: 'a-2' };

const FAILURES =
  '**Failures come with HTTP 200**: look at `status` and `error.code` of the answer. With the header `Prefer: status=real`, or for all with the setting `HTTP_STATUS=real`, an error has its code as HTTP status. The clients throw either way.';

/**
 * @param {Schema} document
 * @returns {{ path: string, text: string, title: string }[]} the index first
 */
function referencePages(document) {
  const operations = operationsOf(document);
  const tags = [...new Set(operations.map(({ operation }) => operation.tags[0]))];
  const pages = tags.map((tag) => {
    const own = operations.filter(({ operation }) => operation.tags[0] === tag);
    const parts = own.map((one) => section(document, one));
    return {
      path: `reference/${fileOf(tag)}.md`,
      title: tag,
      text: `# ${tag}\n\n${FAILURES}\n\n${parts.join('\n')}`,
    };
  });
  const rows = tags.map((tag) => {
    const own = operations.filter(({ operation }) => operation.tags[0] === tag);
    const lines = own.map(
      ({ method, path, operation }) =>
        `| [\`${method} ${path}\`](${fileOf(tag)}.md#${anchorOf(operation.summary)}) | ${cell(operation.summary)} |\n`,
    );
    return `## ${tag}\n\n| | |\n|---|---|\n${lines.join('')}`;
  });
  const [, ...rest] = document.info.description.split('\n');
  return [
    {
      path: 'reference/index.md',
      title: 'API',
      text: `# API\n\n${FAILURES}\n\n${rest.join('\n').trim()}\n\n${rows.join('\n')}`,
    },
    ...pages,
  ];
}

/** @param {Schema} document */
function operationsOf(document) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(/** @type {Schema} */ (methods)).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation: /** @type {Schema} */ (operation),
    })),
  );
}

/** The request of an operation's example. @param {{ method: string, path: string, operation: Schema }} one */
function exampleOf({ method, path, operation }) {
  const names = Object.fromEntries(
    [...path.matchAll(/\/([\w]+)\/\{(\w+)\}/g)].map(([, before, name]) => [
      name,
      name === 'id' ? IDS[/** @type {keyof typeof IDS} */ (before)] : NAMES[/** @type {keyof typeof NAMES} */ (name)],
    ]),
  );
  const missing = Object.entries(names).find(([, value]) => value === undefined);
  if (missing !== undefined) throw new Error(`${method} ${path}: no example for {${missing[0]}}`);
  const needed = operation.parameters.filter(
    (/** @type {Schema} */ { in: place, required }) => place === 'query' && required,
  );
  const query = needed.map((/** @type {Schema} */ { name }) => [
    name,
    QUERIES[/** @type {keyof typeof QUERIES} */ (name)],
  ]);
  const body = operation.requestBody?.content['application/json']?.example;
  return {
    method,
    template: path,
    names,
    ...(query.length > 0 && { query: Object.fromEntries(query) }),
    ...(body !== undefined && { body }),
  };
}

/** @param {Schema} document @param {{ method: string, path: string, operation: Schema }} one */
function section(document, one) {
  const { method, path, operation } = one;
  const query = operation.parameters.filter((/** @type {Schema} */ { in: place }) => place === 'query');
  const content = operation.requestBody?.content ?? {};
  const body = content['application/json']?.schema ?? content['multipart/form-data']?.schema;
  const answer = Object.values(operation.responses[200].content)[0];
  const success = /** @type {Schema} */ (answer).schema.oneOf?.find(
    (/** @type {Schema} */ form) => form.properties?.status?.const === 'success',
  );
  const tables = [
    table(
      'Query',
      query.map((/** @type {Schema} */ { name, required, schema, description }) =>
        row(name, required, { description, ...schema }),
      ),
    ),
    body === undefined ? '' : table('Body', rowsOf(document, body)),
    success === undefined ? '' : table('Answer, in `data`', rowsOf(document, success.properties.data)),
  ];
  return `## ${operation.summary}

\`${method} ${path}\`

${operation.description}

${tabs(exampleOf(one))}
${tables.filter((text) => text !== '').join('\n')}`;
}

/** @param {Schema} document @param {Schema} schema @returns {string[]} */
function rowsOf(document, schema) {
  const known = resolved(document, schema);
  const form =
    known.properties !== undefined
      ? known
      : ((known.oneOf ?? known.anyOf ?? [])
          .map((/** @type {Schema} */ one) => resolved(document, one))
          .find((/** @type {Schema} */ one) => one.properties !== undefined) ?? {});
  return Object.entries(form.properties ?? {}).map(([name, one]) =>
    row(name, (form.required ?? []).includes(name), /** @type {Schema} */ (one)),
  );
}

/** @param {Schema} document @param {Schema} schema @returns {Schema} */
function resolved(document, schema) {
  return schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1)];
}

/** @param {string} name @param {boolean} isRequired @param {Schema} schema */
function row(name, isRequired, schema) {
  return `| \`${name}\`${isRequired ? '' : '?'} | ${cell(typeOf(schema))} | ${cell(schema.description ?? '')} |\n`;
}

/** @param {string} title @param {string[]} rows */
function table(title, rows) {
  return rows.length === 0 ? '' : `**${title}**\n\n| field | type | meaning |\n|---|---|---|\n${rows.join('')}`;
}

/** @param {Schema} schema @returns {string} */
function typeOf(schema) {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1);
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined)
    return schema.enum.length > 8
      ? 'text'
      : schema.enum.map((/** @type {unknown} */ one) => `\`${JSON.stringify(one)}\``).join(', ');
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined) return [...new Set(forms.map(typeOf))].join(' or ');
  if (Array.isArray(schema.type)) return schema.type.join(' or ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`;
  const range =
    schema.minimum !== undefined && schema.maximum !== undefined ? ` ${schema.minimum}–${schema.maximum}` : '';
  return `${schema.type ?? 'any'}${range}`;
}

/** For a cell of a table. @param {string} text */
function cell(text) {
  return text.replaceAll('\n', ' ').replaceAll('|', String.raw`\|`);
}

/** @param {string} tag */
function fileOf(tag) {
  return tag.toLowerCase().replaceAll(/[^a-z]+/g, '-');
}

/** As the site makes it of a heading (vitepress/config.mjs). @param {string} heading */
function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

module.exports = { exampleOf, operationsOf, referencePages };
