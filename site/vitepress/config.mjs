import { readFileSync } from 'node:fs';

/** Written by build.mjs. @type {{ version: string, base: string, sidebar: object[] }} */
const { version, base, sidebar } = JSON.parse(readFileSync(new URL('site.json', import.meta.url), 'utf8'));

/** As GitHub makes them of headings, by which pages of the repository name places. @param {string} heading */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

/** Curly brackets are Vue's where nothing says otherwise. @param {any} md */
function withoutVue(md) {
  const { code_inline: code, text } = md.renderer.rules;
  md.renderer.rules.code_inline = (
    /** @type {any[]} */ tokens,
    /** @type {number} */ i,
    /** @type {any[]} */ ...rest
  ) => {
    tokens[i].attrSet('v-pre', '');
    return code(tokens, i, ...rest);
  };
  md.renderer.rules.text = (/** @type {any[]} */ tokens, /** @type {number} */ i, /** @type {any[]} */ ...rest) =>
    text(tokens, i, ...rest).replaceAll('{{', '&#123;&#123;');
}

export default {
  title: 'Quiver',
  description: 'A vector collection service: search, filters, hybrid search and documents.',
  base,
  lang: 'en',
  cleanUrls: false,
  lastUpdated: false,
  markdown: { html: false, anchor: { slugify }, attrs: { disable: true }, config: withoutVue },
  head: [['link', { rel: 'icon', href: `${base}favicon.svg` }]],
  themeConfig: {
    version,
    search: { provider: 'local', options: { detailedView: true } },
    sidebar,
    outline: [2, 3],
    nav: [
      { text: 'Guides', link: '/docs/guides/' },
      { text: 'API', link: '/reference/' },
      { text: 'Command line', link: '/docs/command-line' },
    ],
  },
};
