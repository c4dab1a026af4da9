// The pages of the site as VitePress takes them: those of the repository, where they stand there, with README.md as
// index.md, and the reference.
const { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } = require('node:fs');
const { basename, dirname, join, posix, relative } = require('node:path');
const { withTabs } = require('./guide-tabs.cjs');
const { referencePages } = require('./reference.cjs');

/** Folders whose pages, and pictures, are the site's; '' is the root, without its folders. */
const FOLDERS = ['', 'clients', 'docs', 'helm'];
const LEFT_OUT = /(?:^|\/)(?:node_modules|templates|files|tests|src)(?:\/|$)/;

/**
 * @param {{ root: string, folder: string, document: Record<string, any> }} options the repository, an empty folder, and
 * the service's OpenAPI document
 * @returns {{ pages: string[], sidebar: object[] }} pages by their paths in the folder
 */
function stage({ root, folder, document }) {
  const sources = FOLDERS.flatMap((name) => pagesUnder(root, name));
  const staged = new Set(sources);
  for (const path of sources) {
    const text = readFileSync(join(root, path), 'utf8');
    write(folder, stagedName(path), withTabs(withLinks(text, { root, path, staged })));
  }
  cpSync(join(root, 'docs/images'), join(folder, 'docs/images'), { recursive: true });
  const reference = referencePages(document);
  for (const { path, text } of reference) write(folder, path, text);
  write(folder, 'public/openapi.json', JSON.stringify(document));
  return {
    pages: [...sources.map(stagedName), ...reference.map(({ path }) => path)],
    sidebar: sidebarOf(root, sources, reference),
  };
}

/** @param {string} folder @param {string} path @param {string} text */
function write(folder, path, text) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

/** @param {string} root @param {string} folder @returns {string[]} */
function pagesUnder(root, folder) {
  const names = readdirSync(join(root, folder), { recursive: folder !== '' }).map(String);
  return names
    .map((name) => (folder === '' ? name : `${folder}/${name}`))
    .filter((path) => path.endsWith('.md') && !LEFT_OUT.test(path) && statSync(join(root, path)).isFile())
    .sort();
}

/** @param {string} path */
function stagedName(path) {
  return basename(path) === 'README.md' ? posix.join(dirname(path), 'index.md') : path;
}

/**
 * Links lead to pages of the site; what leads to a file of the sources is its name alone.
 * @param {string} text
 * @param {{ root: string, path: string, staged: Set<string> }} where
 */
function withLinks(text, { root, path, staged }) {
  return text.replaceAll(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (whole, picture, label, target) => {
    if (picture !== '' || /^[a-z]+:/.test(target) || target.startsWith('#')) return whole;
    const [file, anchor] = target.split('#');
    let to = posix.normalize(posix.join(posix.dirname(path), file));
    if (!staged.has(to) && staged.has(posix.join(to, 'README.md'))) to = posix.join(to, 'README.md');
    if (!staged.has(to)) {
      if (!existsSync(join(root, to))) throw new Error(`${path} leads to ${to}, which is not there`);
      return label;
    }
    const link = relative(dirname(stagedName(path)), stagedName(to));
    return `[${label}](${link.startsWith('.') ? link : `./${link}`}${anchor === undefined ? '' : `#${anchor}`})`;
  });
}

/** @param {string} root @param {string[]} sources @param {{ path: string, title: string }[]} reference */
function sidebarOf(root, sources, reference) {
  const titleOf = (/** @type {string} */ path) =>
    /^# (.+)$/m.exec(readFileSync(join(root, path), 'utf8'))?.[1].replaceAll('`', '') ?? path;
  const item = (/** @type {string} */ path, /** @type {string} */ text = titleOf(path)) => ({
    text,
    link: `/${stagedName(path)
      .replace(/index\.md$/, '')
      .replace(/\.md$/, '')}`,
  });
  const all = (/** @type {string} */ folder) =>
    sources.filter((path) => path.startsWith(`${folder}/`) && basename(path) !== 'README.md').map((path) => item(path));
  /** @param {string} text @param {object[]} items */
  const group = (text, items) => ({ text, collapsed: true, items });
  const docs = (/** @type {string[]} */ ...names) => names.map((name) => item(`docs/${name}.md`));
  return [
    { text: 'Start', items: [item('README.md', 'Quiver'), ...docs('guides/quick-start', 'guides/tour')] },
    { text: 'Guides', items: [item('docs/guides/README.md', 'By task'), ...all('docs/guides')] },
    group('Integrations', [item('docs/integrations/README.md', 'All'), ...all('docs/integrations')]),
    group(
      'Clients',
      sources.filter((path) => path.startsWith('clients/')).map((path) => item(path)),
    ),
    group(
      'API reference',
      reference.map(({ path, title }) => ({ text: title, link: `/${path.replace(/(?:index)?\.md$/, '')}` })),
    ),
    group('Reference', [
      ...docs('command-line', 'configuration', 'models', 'limits', 'compatibility', 'performance', 'glossary'),
      item('CHANGELOG.md'),
    ]),
    group('Operation', [...docs('operations', 'kubernetes', 'image'), item('helm/README.md'), item('SECURITY.md')]),
    group('Architecture', [
      ...docs('architecture'),
      ...all('docs/architecture'),
      ...docs('adding-a-read', 'dependencies', 'release', 'hostile-clients'),
      item('CONTRIBUTING.md'),
    ]),
    group('Decisions', [item('docs/decisions/README.md', 'All'), ...all('docs/decisions')]),
    group('Lab book', [item('docs/lab/README.md', 'Lab book'), ...all('docs/lab')]),
  ];
}

module.exports = { stage };
