// Writes what the command line knows of the options of searches, from the service's OpenAPI document, so that an option
// has a flag as soon as the service knows it.

/** @typedef {Record<string, any>} Schema */

const COLLECTION = '/v1/collections/{name}';
/** The searches of the command `search`. */
const SEARCHES = {
  plain: `${COLLECTION}/search`,
  hybrid: `${COLLECTION}/hybrid_search`,
  item: `${COLLECTION}/recommend/{id}`,
};
/** What to search for, and what is no option of searches alone. */
const OTHERS = new Set(['vector', 'text', 'query_text', 'alpha', 'strict']);

/**
 * The text of cli/generated/search-options.ts.
 * @param {Schema} document as /openapi.json has it
 * @returns {string}
 */
function searchOptionFlags(document) {
  const bodies = Object.entries(SEARCHES).map(([search, path]) => ({ search, options: optionsOf(document, path) }));
  const known = Object.assign({}, ...bodies.map(({ options }) => options));
  const rows = Object.entries(known).map(([name, schema]) => {
    const having = bodies.filter(({ options }) => options[name] !== undefined).map(({ search }) => search);
    const only = having.length === bodies.length ? '' : `, only: [${having.map(quoted).join(', ')}]`;
    return `  ${name}: { ${kindOf(schema)}, says: ${quoted(lineOf(schema.description ?? ''))}${only} },\n`;
  });
  return `// Generated from the OpenAPI document; \`UPDATE=1 npm test -- test/unit/cli/generated\` writes it anew.

/**
 * The options of searches: what a value is, in a line what it does, and which searches have it (\`only\`; left out: all).
 */
export const SEARCH_OPTIONS = {
${rows.join('')}} as const;
`;
}

/**
 * @param {Schema} document
 * @param {string} path
 * @returns {Record<string, Schema>}
 */
function optionsOf(document, path) {
  const { properties } = document.paths[path].post.requestBody.content['application/json'].schema;
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !OTHERS.has(name)));
}

/** @param {Schema} schema */
function kindOf(schema) {
  const [form = {}, ...more] = [schema, ...(schema.anyOf ?? schema.oneOf ?? [])].filter(
    (one) => one.enum !== undefined || (one.type ?? 'null') !== 'null',
  );
  if (more.length > 0) return `kind: 'other'`;
  if (form.enum !== undefined) return `kind: 'choice', choices: [${form.enum.map(quoted).join(', ')}]`;
  const type = [form.type].flat().find((one) => one !== 'null');
  if (type === 'array' && form.items?.type === 'string') return `kind: 'texts'`;
  if (type === 'string' || type === 'integer' || type === 'number' || type === 'boolean') return `kind: '${type}'`;
  return `kind: 'other'`;
}

/**
 * The first statement of a description, as a line of help has it.
 * @param {string} description
 */
function lineOf(description) {
  const [first] = description.split(/[.:;](?:\s|$)/);
  return first === '' ? '' : first[0].toLowerCase() + first.slice(1);
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

module.exports = { searchOptionFlags };
