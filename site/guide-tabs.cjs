// Guides say what they do with curl. Where a block is nothing but calls of the API, the same in TypeScript and in
// Python stands beside it.

const { asPython, asTypeScript, PYTHON_HEAD, TYPESCRIPT_HEAD } = require('./snippets.cjs');

/** @typedef {import('./snippets.cjs').DocumentedRequest} Call */

const BLOCK = /^```sh\n([\s\S]*?)^```$/gm;

/** A page with tabs; the first of them show where `quiver` comes from. @param {string} page */
function withTabs(page) {
  let isFirst = true;
  return page.replaceAll(BLOCK, (block, text) => {
    const calls = callsOf(text);
    if (calls === null) return block;
    const [typescriptHead, pythonHead] = isFirst ? [TYPESCRIPT_HEAD, PYTHON_HEAD] : ['', ''];
    isFirst = false;
    const [typescript, python] = [asTypeScript, asPython].map((write) => calls.map((call) => write(call)).join('\n'));
    return `::: code-group

\`\`\`sh [curl]
${text}\`\`\`

\`\`\`ts [TypeScript]
${typescriptHead}${distinct(typescript)}
\`\`\`

\`\`\`python [Python]
${pythonHead}${python}
\`\`\`

:::`;
  });
}

/** A name that a block declares again gets a number. @param {string} text */
function distinct(text) {
  let count = 0;
  return text
    .split(/(?=^const answer = )/m)
    .map((part) => {
      count += 1;
      return count === 1 ? part : part.replaceAll(/\banswer\b/g, `answer${count}`);
    })
    .join('');
}

/**
 * The calls of a block; null where it does anything else. @param {string} text @returns {Call[] | null}
 */
function callsOf(text) {
  const lines = commandsOf(text);
  if (lines === null || lines.length === 0) return null;
  /** @type {Call[]} */
  const calls = [];
  for (const words of lines) {
    if (words[0] !== 'call' || words.length < 2) return null;
    const [path, ...options] = words.slice(1);
    let method;
    let data;
    for (let i = 0; i < options.length; i += 2) {
      if (options[i] === '-d') data = options[i + 1];
      else if (options[i] === '-X') method = options[i + 1];
      else return null;
    }
    let body;
    try {
      body = data === undefined ? undefined : JSON.parse(data);
    } catch {
      return null;
    }
    calls.push({
      method: method ?? (data === undefined ? 'GET' : 'POST'),
      ...templateOf(path),
      ...(body !== undefined && { body }),
    });
  }
  return calls;
}

/** The path's template, as far as the clients have methods for it. @param {string} path */
function templateOf(path) {
  const [place, search] = path.split('?');
  const query = search === undefined ? undefined : Object.fromEntries(new URLSearchParams(search));
  const [, name, verb, id] = /^\/v1\/collections\/([\w-]+)(?:\/([\w-]+))?(?:\/([\w:#.-]+))?$/.exec(place) ?? [];
  if (name === undefined) return { template: place, names: {}, query };
  const isNamed = id !== undefined && ['vectors', 'recommend', 'delete'].includes(verb) && id !== 'fetch';
  if (id !== undefined && !isNamed) return { template: place, names: {}, query };
  const template = `/v1/collections/{name}${verb === undefined ? '' : `/${verb}`}${isNamed ? '/{id}' : ''}`;
  return { template, names: { name, ...(isNamed && { id }) }, query };
}

/**
 * Words of each command, of quotes and bare words alone; null where a shell would do more with them.
 * @param {string} text @returns {string[][] | null}
 */
function commandsOf(text) {
  /** @type {string[][]} */
  const commands = [];
  /** @type {string[]} */
  let words = [];
  let rest = text;
  while (rest !== '') {
    const found =
      /^(?:(?<end>\n)|(?<space>[ \t]+|\\\n)|'(?<single>[^']*)'|"(?<double>[^"$`\\]*)"|(?<bare>[\w/.=?&:-]+))/.exec(
        rest,
      );
    if (found?.groups === undefined) return null;
    rest = rest.slice(found[0].length);
    const { end, single, double, bare } = found.groups;
    const word = single ?? double ?? bare;
    if (word !== undefined) {
      // Words that stand in pieces are a shell's.
      if (/^['"\w$]/.test(rest)) return null;
      words.push(word);
    } else if (end !== undefined && words.length > 0) {
      commands.push(words);
      words = [];
    }
  }
  if (words.length > 0) commands.push(words);
  return commands;
}

module.exports = { callsOf, withTabs };
