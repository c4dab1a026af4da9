import type { Page } from 'playwright-core';
import { ApiClient, dataOf } from '../support/targets/api-client';
import { DashboardBrowser, goTo } from '../support/machines/dashboard-browser';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { StrippingProxy } from '../support/servers/stripping-proxy';

/** The dashboard and the explorer where a proxy has the service under a path, in Chromium. */

const PREFIX = '/tools/quiver';
let browser: DashboardBrowser;
const running: { stop(): Promise<unknown> }[] = [];

beforeAll(async () => {
  browser = await DashboardBrowser.launch();
});
afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one.stop();
});
afterAll(() => browser?.close());

async function start(
  environment: Record<string, string>,
  proxied: { strips: boolean; tells: boolean },
): Promise<{ server: EmbeddedProcess; proxy: StrippingProxy }> {
  const server = new EmbeddedProcess({ environment });
  running.push({ stop: () => server.destroy() });
  await server.start();
  await server.data('POST', '/v1/collections', { name: 'notes', dim: 8 });
  const items = Array.from({ length: 30 }, (_, i) => ({
    external_id: `n${i}`,
    text: `note ${i} about rivers and stars`,
    metadata: { part: i % 3 },
  }));
  await server.data('POST', '/v1/collections/notes/bulk_upsert', { items });
  const proxy = new StrippingProxy({ to: server.port, prefix: PREFIX, ...proxied });
  running.push(proxy);
  await proxy.start();
  return { server, proxy };
}

const keptNames = (page: Page): Promise<string[]> => page.evaluate<string[]>('Object.keys(sessionStorage).sort()');

test.each([
  [
    'a proxy that takes the path away and says so',
    { TRUSTED_PROXIES: '127.0.0.1', HTTP_THREADS: '2' },
    { strips: true, tells: true },
  ],
  [
    'one that takes it away and is told of by BASE_PATH',
    { BASE_PATH: `${PREFIX}/`, HTTP_THREADS: '2' },
    { strips: true, tells: false },
  ],
  ['one that leaves it', { BASE_PATH: PREFIX, HTTP_THREADS: '1' }, { strips: false, tells: false }],
])('behind %s, every page works and nothing is asked beside the path', async (_title, environment, proxied) => {
  const { server, proxy } = await start(environment as Record<string, string>, proxied);
  const { page, misdeeds } = await browser.signedIn(proxy.url, server.apiKey);
  await page.getByRole('link', { name: 'notes' }).waitFor();
  expect(await keptNames(page)).toEqual([`quiver.session:${PREFIX}`]);

  await goTo(page, '#/collections/notes/search');
  await page.getByRole('searchbox', { name: 'Query' }).fill('rivers');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Hits', exact: true }).getByRole('listitem').first().waitFor();

  await goTo(page, '#/collections/notes/map');
  await page.locator('canvas.map-canvas').waitFor();
  await page.getByRole('radio', { name: 'UMAP' }).click();
  await page.getByRole('progressbar', { name: 'UMAP' }).waitFor({ state: 'detached' });
  expect(proxy.asked.some((path) => /^\/ui\/assets\/umap-worker-\w+\.js$/.test(path))).toBe(true);

  await goTo(page, '#/collections/notes/upload');
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('A text about mountains.') });
  await eventually(
    'the document is stored',
    async () => (await server.data('GET', '/v1/collections/notes')).vector_count === 31,
  );

  await goTo(page, '#/console');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('"status": "success"').first().waitFor();

  await goTo(page, '#/keys');
  expect(await page.getByRole('link', { name: 'API explorer' }).getAttribute('href')).toBe(`${PREFIX}/docs/`);
  await page.getByRole('link', { name: 'Licences of this page' }).click();
  await page.getByText('The dashboard holds these packages.').waitFor();

  await page.goto(`${proxy.url}/`);
  await page.getByRole('heading', { name: 'Collections', level: 1 }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`${PREFIX}/ui`);

  // The explorer, by a link without the slash, tries an endpoint out.
  await page.goto(`${proxy.url}/docs`);
  const block = page.locator('[id="operations-Service-get"]');
  await block.locator('.opblock-summary-control').click();
  await block.locator('.try-out__btn').click();
  await block.locator('.execute').click();
  await block.locator('.request-url pre').getByText(`${proxy.url}/`).waitFor();
  await block.locator('.live-responses-table').getByText(`"ui": "${PREFIX}/ui"`).waitFor();

  expect(proxy.strays).toEqual([]);
  expect(misdeeds).toMatchObject({ violations: [], errors: [], strangers: [] });
  await page.context().close();
});

test('who is no trusted proxy says nothing, and what is no path is not repeated', async () => {
  const { server } = await start({ TRUSTED_PROXIES: '127.0.0.1' }, { strips: true, tells: true });
  const api = new ApiClient({ baseUrl: server.baseUrl, adminKey: server.apiKey });
  const browsing = (prefix: string) => ({ headers: { accept: 'text/html', 'x-forwarded-prefix': prefix } });
  const told = await api.get('/', browsing('/a'));
  expect([told.httpStatus, told.headers.location, told.headers.vary]).toEqual([
    303,
    '/a/ui',
    'accept, x-forwarded-prefix',
  ]);
  const page = await api.get('/ui', browsing('/a'));
  expect(page.text).toMatch(/src="\/a\/ui\/assets\/main-\w+\.js"/);
  expect(page.text).not.toContain('="/ui');
  expect(page.headers).toMatchObject({ vary: 'accept-encoding, x-forwarded-prefix' });
  expect(
    (await api.get('/ui', { headers: { 'x-forwarded-prefix': '/a', 'if-none-match': String(page.headers.etag) } }))
      .httpStatus,
  ).toBe(304);
  expect((await api.get('/ui', { headers: { 'if-none-match': String(page.headers.etag) } })).httpStatus).toBe(200);
  const document = await api.get('/openapi.json', browsing('/a'));
  expect(document.json).toMatchObject({ servers: [{ url: '/a' }] });
  expect(document.headers.vary).toBe('x-forwarded-prefix');
  const root = await api.get('/', { headers: { 'x-forwarded-prefix': '/a' } });
  expect(root.headers.vary).toBe('accept, x-forwarded-prefix');
  expect((await api.get('/docs', browsing('/a'))).headers).toMatchObject({
    location: '/a/docs/',
    vary: 'x-forwarded-prefix',
  });
  for (const prefix of ['//evil.example', '/"><script>alert(1)</script>', '/a/../b', 'https://evil.example', '/a\\b']) {
    expect((await api.get('/', browsing(prefix))).headers.location).toBe('/ui');
    expect((await api.get('/ui', browsing(prefix))).text).toBe((await api.get('/ui')).text);
    expect((await api.get('/openapi.json', browsing(prefix))).json).toMatchObject({ servers: [{ url: '/' }] });
  }
  const untrusted = await start({}, { strips: true, tells: true });
  const other = new ApiClient({ baseUrl: untrusted.server.baseUrl, adminKey: '' });
  expect((await other.get('/', browsing('/evil'))).headers).toMatchObject({ location: '/ui', vary: 'accept' });
  expect((await other.get('/openapi.json')).headers.vary).toBeUndefined();
  expect(dataOf(await other.get('/', { headers: { 'x-forwarded-prefix': '/evil' } }))).toMatchObject({
    docs: '/docs',
    ui: '/ui',
  });
});
