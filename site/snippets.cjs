// A request of the API as people write it: with curl, with the TypeScript client and with the Python client. The
// service and the key come from QUIVER_URL and QUIVER_API_KEY. Tests run what is made here.

/**
 * @typedef {{ method: string, template: string, names: Record<string, string>, query?: Record<string, string>,
 *   body?: any }} DocumentedRequest
 * @typedef {{ on: 'quiver' | 'collection', typescript: string, python: string, positional?: string[] }} ClientCall
 */

/**
 * Calls that the clients have a method for: it takes what the path names besides the collection, then the body, in
 * TypeScript as one object and in Python as keywords. `positional`: fields of the body that are arguments by
 * themselves. All else goes by `request`, which both clients have.
 * @type {Record<string, ClientCall>}
 */
const CALLS = {
  'GET /': { on: 'quiver', typescript: 'serviceInfo', python: 'service_info' },
  'GET /metrics': { on: 'quiver', typescript: 'metrics', python: 'metrics' },
  'GET /openapi.json': { on: 'quiver', typescript: 'openApi', python: 'openapi' },
  'GET /v1/health': { on: 'quiver', typescript: 'health', python: 'health' },
  'GET /v1/me': { on: 'quiver', typescript: 'me', python: 'me' },
  'POST /v1/demo': { on: 'quiver', typescript: 'loadDemo', python: 'load_demo' },
  'POST /v1/sign_in': { on: 'quiver', typescript: 'signIn', python: 'sign_in', positional: ['token'] },
  'POST /v1/collections': { on: 'quiver', typescript: 'createCollection', python: 'create_collection' },
  'GET /v1/collections': { on: 'quiver', typescript: 'listCollections', python: 'list_collections' },
  'GET /v1/aliases': { on: 'quiver', typescript: 'listAliases', python: 'list_aliases' },
  'POST /v1/aliases': {
    on: 'quiver',
    typescript: 'changeAliases',
    python: 'change_aliases',
    positional: ['actions'],
  },
  'GET /v1/collections/{name}': { on: 'collection', typescript: 'info', python: 'info' },
  'DELETE /v1/collections/{name}': { on: 'collection', typescript: 'drop', python: 'drop' },
  'GET /v1/collections/{name}/stats': { on: 'collection', typescript: 'stats', python: 'stats' },
  'POST /v1/collections/{name}/optimize': { on: 'collection', typescript: 'optimize', python: 'optimize' },
  'POST /v1/collections/{name}/purge': { on: 'collection', typescript: 'purge', python: 'purge' },
  'POST /v1/collections/{name}/upsert': { on: 'collection', typescript: 'upsert', python: 'upsert' },
  'POST /v1/collections/{name}/bulk_upsert': {
    on: 'collection',
    typescript: 'bulkUpsert',
    python: 'bulk_upsert',
    positional: ['items'],
  },
  'GET /v1/collections/{name}/vectors/{id}': { on: 'collection', typescript: 'get', python: 'get' },
  'PATCH /v1/collections/{name}/vectors/{id}': { on: 'collection', typescript: 'patch', python: 'patch' },
  'DELETE /v1/collections/{name}/delete/{id}': { on: 'collection', typescript: 'delete', python: 'delete' },
  'POST /v1/collections/{name}/delete_by_filter': {
    on: 'collection',
    typescript: 'deleteByFilter',
    python: 'delete_by_filter',
    positional: ['filters'],
  },
  'POST /v1/collections/{name}/search': { on: 'collection', typescript: 'search', python: 'search' },
  'POST /v1/collections/{name}/hybrid_search': {
    on: 'collection',
    typescript: 'hybridSearch',
    python: 'hybrid_search',
  },
  'POST /v1/collections/{name}/recommend/{id}': {
    on: 'collection',
    typescript: 'recommend',
    python: 'recommend',
  },
  'POST /v1/collections/{name}/count': { on: 'collection', typescript: 'count', python: 'count' },
  'POST /v1/collections/{name}/aggregate': { on: 'collection', typescript: 'aggregate', python: 'aggregate' },
  'POST /v1/collections/{name}/embed': { on: 'collection', typescript: 'embed', python: 'embed' },
  'POST /v1/collections/{name}/describe': { on: 'collection', typescript: 'describe', python: 'describe' },
};

/**
 * What is sent or answered otherwise than as JSON in an envelope.
 * @type {Record<string, { curl?: string, typescript: string, python: string }>}
 */
const OTHERS = {
  'GET /v1/collections/{name}/export': {
    typescript: 'for await (const { external_id } of quiver.collection(NAME).export()) console.log(external_id);',
    python: 'for item in quiver.collection(NAME).export():\n    print(item.external_id)',
  },
  'POST /v1/documents/upload': {
    curl: 'curl -s "$QUIVER_URL/v1/documents/upload" \\\n  -H "x-api-key: $QUIVER_API_KEY" \\\n  -F collection_name=articles -F file=@terms.txt',
    typescript: `const file = new Blob(['There is no warranty for the program.']);
const answer = await quiver.uploadDocument({ collection_name: 'articles', file, filename: 'terms.txt' });
console.log(answer);`,
    python: `answer = quiver.collection("articles").upload_document(b"There is no warranty for the program.", filename="terms.txt")
print(answer)`,
  },
};

/** Of a line, in the tabs. */
const COLUMNS = 96;

/** The path with its names filled in, and the query string. @param {DocumentedRequest} request */
function pathOf({ template, names, query = {} }) {
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(names[name]));
  const words = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return words.length === 0 ? path : `${path}?${words.join('&')}`;
}

/** @param {DocumentedRequest} request */
function asCurl(request) {
  const other = OTHERS[`${request.method} ${request.template}`]?.curl;
  if (other !== undefined) return other;
  const hasBody = request.body !== undefined;
  const isUsual = request.method === (hasBody ? 'POST' : 'GET');
  const words = [
    `curl -s${isUsual ? '' : `X ${request.method}`} "$QUIVER_URL${pathOf(request)}"`,
    `-H "x-api-key: $QUIVER_API_KEY"`,
  ];
  if (hasBody)
    words.push(
      `-H 'content-type: application/json'`,
      `-d '${jsonText(request.body).replaceAll("'", String.raw`'\''`)}'`,
    );
  return words.join(' \\\n  ');
}

/** The statements behind the client's construction. @param {DocumentedRequest} request */
function asTypeScript(request) {
  const key = `${request.method} ${request.template}`;
  const name = jsLiteral(request.names.name ?? '');
  if (OTHERS[key] !== undefined) return OTHERS[key].typescript.replaceAll('NAME', name);
  const call = CALLS[key];
  if (call === undefined || request.query !== undefined) {
    const parts = {
      method: request.method,
      path: pathOf({ ...request, query: {} }),
      ...(request.query !== undefined && { query: request.query }),
      ...(request.body !== undefined && { json: request.body }),
    };
    return `const answer = await quiver.request(${jsLiteral(parts)});\nconsole.log(answer);`;
  }
  const owner = call.on === 'quiver' ? 'quiver' : `quiver.collection(${name})`;
  const values = argumentsOf(request, call);
  return `const answer = await ${owner}.${call.typescript}(${values.map((value) => jsLiteral(value)).join(', ')});\nconsole.log(answer);`;
}

/** The statements behind the client's construction. @param {DocumentedRequest} request */
function asPython(request) {
  const key = `${request.method} ${request.template}`;
  const name = pythonLiteral(request.names.name ?? '');
  if (OTHERS[key] !== undefined) return OTHERS[key].python.replaceAll('NAME', name);
  const call = CALLS[key];
  if (call === undefined || request.query !== undefined) {
    const words = [pythonLiteral(request.method), pythonLiteral(pathOf({ ...request, query: {} }))];
    if (request.query !== undefined) words.push(`query=${pythonLiteral(request.query)}`);
    if (request.body !== undefined) words.push(`body=${pythonLiteral(request.body)}`);
    return `answer = ${callText('quiver.request', words)}\nprint(answer)`;
  }
  const owner = call.on === 'quiver' ? 'quiver' : `quiver.collection(${name})`;
  const values = argumentsOf(request, call);
  const words = values.flatMap((value, i) =>
    i === values.length - 1 && call.positional === undefined && request.body !== undefined
      ? Object.entries(value).map(([field, inner]) => `${field}=${pythonLiteral(inner)}`)
      : [pythonLiteral(value)],
  );
  return `answer = ${callText(`${owner}.${call.python}`, words)}\nprint(answer)`;
}

/** @param {DocumentedRequest} request @param {ClientCall} call @returns {any[]} */
function argumentsOf({ names, body }, { positional }) {
  const { name: _collection, ...others } = names;
  const fromBody = body === undefined ? [] : positional === undefined ? [body] : positional.map((field) => body[field]);
  return [...Object.values(others), ...fromBody];
}

/** @param {string} name @param {string[]} words */
function callText(name, words) {
  const line = `${name}(${words.join(', ')})`;
  if (line.length <= COLUMNS && !line.includes('\n')) return line;
  return `${name}(\n${words.map((word) => `    ${word.replaceAll('\n', '\n    ')},\n`).join('')})`;
}

/** JSON that fits on a line stands on one. @param {any} value */
function jsonText(value) {
  return literal(value, { key: (key) => JSON.stringify(key), scalar: (one) => JSON.stringify(one), comma: '' }, 0);
}

/** @param {any} value */
function jsLiteral(value) {
  const quote = (/** @type {string} */ text) =>
    text.includes("'")
      ? JSON.stringify(text)
      : `'${JSON.stringify(text)
          .slice(1, -1)
          .replaceAll(String.raw`\"`, '"')}'`;
  const scalar = (/** @type {any} */ one) => (typeof one === 'string' ? quote(one) : JSON.stringify(one));
  return literal(value, { key: (key) => (/^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key)), scalar, comma: ',' }, 0);
}

/** @param {any} value */
function pythonLiteral(value) {
  const words = { true: 'True', false: 'False', null: 'None' };
  const scalar = (/** @type {any} */ one) =>
    words[/** @type {keyof typeof words} */ (String(one))] !== undefined && typeof one !== 'string'
      ? words[/** @type {keyof typeof words} */ (String(one))]
      : JSON.stringify(one);
  return literal(value, { key: (key) => JSON.stringify(key), scalar, comma: ',' }, 0, 4);
}

/**
 * @param {any} value
 * @param {{ key: (key: string) => string, scalar: (value: any) => string, comma: string }} form comma: behind the last
 * @param {number} depth
 * @param {number} [indent]
 * @returns {string}
 */
function literal(value, form, depth, indent = 2) {
  if (typeof value !== 'object' || value === null) return form.scalar(value);
  const isArray = Array.isArray(value);
  const parts = isArray
    ? value.map((one) => literal(one, form, depth + 1, indent))
    : Object.entries(value).map(([key, one]) => `${form.key(key)}: ${literal(one, form, depth + 1, indent)}`);
  const [open, close] = isArray ? ['[', ']'] : indent === 4 || form.comma === '' ? ['{', '}'] : ['{ ', ' }'];
  if (parts.length === 0) return isArray ? '[]' : '{}';
  const line = `${open}${parts.join(', ')}${close}`;
  if (line.length + depth * indent <= COLUMNS - 24 && !line.includes('\n')) return line;
  const inner = ' '.repeat((depth + 1) * indent);
  return `${open.trim()}\n${parts.map((part) => inner + part).join(',\n')}${form.comma}\n${' '.repeat(depth * indent)}${close.trim()}`;
}

/** What stands before the statements, once in a program. */
const TYPESCRIPT_HEAD = "import { QuiverClient } from 'quiver-client';\n\nconst quiver = new QuiverClient();\n";
const PYTHON_HEAD = 'from quiver_client import QuiverClient\n\nquiver = QuiverClient()\n';

/** The three beside each other, in the form of VitePress. @param {DocumentedRequest} request */
function tabs(request) {
  return `::: code-group

\`\`\`sh [curl]
${asCurl(request)}
\`\`\`

\`\`\`ts [TypeScript]
${TYPESCRIPT_HEAD}${asTypeScript(request)}
\`\`\`

\`\`\`python [Python]
${PYTHON_HEAD}${asPython(request)}
\`\`\`

:::
`;
}

module.exports = { asCurl, asPython, asTypeScript, pathOf, PYTHON_HEAD, tabs, TYPESCRIPT_HEAD };
