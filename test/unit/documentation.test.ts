import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** What the pages of the documentation name is there: files, and places in other pages. */

const root = resolve(__dirname, '../..');
const pages = [
  '.',
  'docs',
  'docs/architecture',
  'docs/decisions',
  'docs/guides',
  'docs/integrations',
  'docs/lab',
  'clients/typescript',
  'clients/python',
  'clients/python-langchain',
  'clients/python-llama-index',
  'clients/python-haystack',
  'helm',
].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(root, folder, name)),
);
const textOf = (page: string): string => readFileSync(page, 'utf8');

/** Names of a page's sections, as GitHub makes them of headings. */
function anchorsOf(page: string): string[] {
  const headings = [...textOf(page).matchAll(/^#{1,6} (.+)$/gm)].map((match) => match[1]);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}

function brokenLinks(page: string): string[] {
  const targets = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1])
    .filter((target) => !/^[a-z]+:/.test(target));
  return targets.filter((target) => {
    const [path, anchor] = target.split('#');
    const file = path === '' ? page : resolve(dirname(page), path);
    return !existsSync(file) || (anchor !== undefined && !anchorsOf(file).includes(anchor));
  });
}

/** Files named by their whole path; those of another version's or a pattern's are not looked for. */
function missingFiles(page: string): string[] {
  const named = [
    ...textOf(page).matchAll(/`((?:coordinator|node|shared|proto|scripts|test|helm|docs|deploy)\/[\w./-]*)`/g),
  ].map((match) => match[1]);
  return named.filter((path) => !existsSync(join(root, path)) && !existsSync(join(root, `${path}.ts`)));
}

test('there are pages to look at', () => {
  expect(pages.length).toBeGreaterThan(15);
});

test.each(pages.map((page) => [relative(root, page), page]))('%s leads somewhere', (_name, page) => {
  expect(brokenLinks(page)).toEqual([]);
});

test.each(pages.map((page) => [relative(root, page), page]))('%s names files that are there', (_name, page) => {
  expect(missingFiles(page)).toEqual([]);
});
