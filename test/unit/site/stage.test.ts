import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type PlainServer, startPlainServer } from '../../support/servers/plain-server';

/** What the site of the documentation is made of, without the tool that makes it. */

const root = resolve(__dirname, '../../..');
const { stage } = require(join(root, 'site/stage.cjs')) as {
  stage(options: { root: string; folder: string; document: object }): { pages: string[]; sidebar: SidebarItem[] };
};
const { callsOf, withTabs } = require(join(root, 'site/guide-tabs.cjs')) as {
  callsOf(text: string): object[] | null;
  withTabs(page: string): string;
};
const { checkLinks } = require(join(root, 'site/check-links.cjs')) as {
  checkLinks(folder: string, base: string): { count: number; broken: string[] };
};

interface SidebarItem {
  text: string;
  link?: string;
  items?: SidebarItem[];
}

const WORDS_MAX = 60_000;
/** What programs write: the lists of commands and their options. */
const GENERATED = /^## Commands\n[\s\S]*/m;

let folder: string;
let server: PlainServer;

beforeAll(async () => {
  server = await startPlainServer();
});
afterAll(() => server.stop());
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'quiver-site-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function openApiDocument(): Promise<{ paths: Record<string, object> }> {
  return (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as { paths: Record<string, object> };
}

test('every page is there with links that lead to pages, and the sidebar names each', async () => {
  const document = await openApiDocument();
  const { pages, sidebar } = stage({ root, folder, document });
  expect(pages.length).toBeGreaterThan(70);
  const texts = new Map(pages.map((page) => [page, readFileSync(join(folder, page), 'utf8')]));
  const linked = (items: SidebarItem[]): string[] =>
    items.flatMap(({ link, items: inner = [] }) => [...(link === undefined ? [] : [link]), ...linked(inner)]);
  const inSidebar = linked(sidebar).map((link) => `${link.slice(1)}${/(?:^|\/)$/.test(link) ? 'index' : ''}.md`);
  expect(inSidebar.filter((page) => !texts.has(page))).toEqual([]);
  expect(pages.filter((page) => !inSidebar.includes(page))).toEqual(['CODE_OF_CONDUCT.md']);
  const broken = [...texts].flatMap(([page, text]) =>
    [...text.matchAll(/(?<!!)\[[^\]]*\]\(([^)\s]+)\)/g)]
      .map(([, target]) => target)
      .filter((target) => !/^(?:[a-z]+:|#)/.test(target))
      .filter((target) => !texts.has(join(dirname(page), target.split('#')[0])))
      .map((target) => `${page} → ${target}`),
  );
  expect(broken).toEqual([]);
});

test('the reference has every endpoint, each with curl, TypeScript and Python', async () => {
  const document = await openApiDocument();
  const { pages } = stage({ root, folder, document });
  const reference = pages.filter((page) => page.startsWith('reference/') && page !== 'reference/index.md');
  const text = reference.map((page) => readFileSync(join(folder, page), 'utf8')).join('\n');
  const offered = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `\n\`${method.toUpperCase()} ${path}\`\n`),
  );
  expect(offered.filter((line) => !text.includes(line))).toEqual([]);
  for (const tab of ['sh [curl]', 'ts [TypeScript]', 'python [Python]'])
    expect(text.split(`\`\`\`${tab}\n`)).toHaveLength(offered.length + 1);
  const index = readFileSync(join(folder, 'reference/index.md'), 'utf8');
  expect(index).toMatch(/^# API\n\n\*\*Failures come with HTTP 200\*\*/);
});

test(`what is written under docs/ has ${WORDS_MAX} words at most`, async () => {
  const { pages } = stage({ root, folder, document: await openApiDocument() });
  const words = pages
    .filter((page) => page.startsWith('docs/'))
    .map((page) => readFileSync(join(root, page.replace(/index\.md$/, 'README.md')), 'utf8'))
    .map((text) => text.replace(GENERATED, '').split(/\s+/).length);
  expect(words.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(WORDS_MAX);
});

describe('tabs of guides', () => {
  test('stand where a block is calls and nothing else', () => {
    expect(callsOf(`call /v1/collections/a/search -d '{"k": 1}'\ncall "/v1/x?y=1" -X POST\n`)).toEqual([
      {
        method: 'POST',
        template: '/v1/collections/{name}/search',
        names: { name: 'a' },
        query: undefined,
        body: { k: 1 },
      },
      { method: 'POST', template: '/v1/x', names: {}, query: { y: '1' } },
    ]);
    for (const text of ['curl -s $QUIVER/v1/health\n', 'call /v1/x | jq .\n', `call /v1/$NAME\n`, 'call /v1/x -H a\n'])
      expect(callsOf(text)).toBeNull();
    const page = '```sh\ncall /v1/health\n```\n\n```sh\ncall /v1/me\n```\n\n```json\n{}\n```\n';
    const tabs = withTabs(page);
    expect(tabs.match(/^::: code-group$/gm)).toHaveLength(2);
    expect(tabs.match(/new QuiverClient\(\)/g)).toHaveLength(1);
    expect(tabs).toContain('const answer = await quiver.me();');
  });

  test('stand in most guides', () => {
    const pages = ['modelling', 'quick-start', 'tour'];
    for (const page of pages)
      expect(withTabs(readFileSync(join(root, `docs/guides/${page}.md`), 'utf8'))).toContain('```python [Python]');
  });
});

test('links of a built site are looked at, their places, too', () => {
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  write('index.html', '<a href="/v1/guides/#top">a</a><a href="guides/one.html">b</a><a href="https://x.test/">c</a>');
  write('guides/index.html', '<h1 id="top">Guides</h1><a href="../">a</a><a href="one.html#none">b</a>');
  write('guides/one.html', '<a href="/v2/">a</a><a href="gone.html">b</a><img src="/v1/gone.svg">');
  expect(checkLinks(folder, '/v1/')).toEqual({
    count: 7,
    broken: [
      'guides/index.html → one.html#none',
      'guides/one.html → /v2/',
      'guides/one.html → gone.html',
      'guides/one.html → /v1/gone.svg',
    ],
  });
});
