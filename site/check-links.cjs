// Whether every link of a built site leads to a file of it, and to a place that is there.
const { existsSync, readdirSync, readFileSync, statSync } = require('node:fs');
const { dirname, join, posix, relative } = require('node:path');

/**
 * @param {string} folder of the built site
 * @param {string} base under which it is served
 * @returns {{ count: number, broken: string[] }} links that were looked at; those that lead nowhere, `page → target`
 */
function checkLinks(folder, base) {
  const pages = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((path) => path.endsWith('.html'));
  const texts = new Map(pages.map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
  const ids = new Map(
    [...texts].map(([path, text]) => [
      path,
      new Set([...text.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => decoded(id))),
    ]),
  );
  let count = 0;
  const broken = [...texts].flatMap(([page, text]) =>
    [...text.matchAll(/\b(?:href|src)="([^"]+)"/g)].flatMap(([, link]) => {
      if (/^(?:[a-z]+:|\/\/)/.test(link)) return [];
      count += 1;
      const [place, anchor] = decoded(link).split('#');
      const path = place === '' ? page : fileOf(folder, page, place.split('?')[0], base);
      const isThere = path !== null && (anchor === undefined || anchor === '' || ids.get(path)?.has(anchor) === true);
      return isThere ? [] : [`${page} → ${link}`];
    }),
  );
  return { count, broken: [...new Set(broken)] };
}

/** @param {string} text */
function decoded(text) {
  return decodeURIComponent(text.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"'));
}

/** @param {string} folder @param {string} page @param {string} place @param {string} base */
function fileOf(folder, page, place, base) {
  if (place.startsWith('/') && !place.startsWith(base)) return null;
  const path = place.startsWith('/') ? place.slice(base.length) : posix.join(posix.dirname(page), place);
  const names = path === '' || path.endsWith('/') ? [`${path}index.html`] : [path, `${path}.html`];
  const found = names.map((name) => join(folder, name)).find((file) => existsSync(file) && statSync(file).isFile());
  return found === undefined || relative(folder, dirname(found)).startsWith('..') ? null : relative(folder, found);
}

module.exports = { checkLinks };
