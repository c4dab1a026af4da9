import { EmbeddedProcess } from '../support/processes/embedded-process';
import { findChromium, HeadlessBrowser } from '../support/machines/headless-browser';

/* A browser's first page on a busy machine takes its time. */
/** The explorer at /docs as a person meets it: in a browser, with a key, trying endpoints out. */

const chromium = findChromium();
if (chromium === null)
  process.stderr.write('skipped: test/integration/docs-page needs Chromium (Debian: apt-get install chromium)\n');
const inBrowser = chromium === null ? describe.skip : describe;

inBrowser('the explorer in Chromium', () => {
  const server = new EmbeddedProcess();
  let page: HeadlessBrowser;

  beforeAll(async () => {
    await server.start();
    page = await HeadlessBrowser.open(chromium as string, `${server.baseUrl}/docs/`);
  });

  afterAll(async () => {
    await page?.close();
    await server.destroy();
  });

  /** Executes an endpoint as it stands and answers what the page shows of the answer. */
  async function tryOut(operation: string): Promise<string> {
    const block = `[id="operations-Collections-${operation}"]`;
    await page.click(`${block} .opblock-summary-control`);
    await page.click(`${block} .try-out__btn`);
    await page.click(`${block} .execute`);
    const shown = `document.querySelector('${block} .live-responses-table .response-col_description pre')`;
    await page.until(shown);
    return page.evaluate(`${shown}.innerText`);
  }

  test('shows every endpoint of the document', async () => {
    const document = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as {
      paths: Record<string, object>;
    };
    const wanted = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    await page.until(`document.querySelectorAll('.opblock').length >= ${wanted.length}`);
    const shown = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.opblock')].map((block) => block.querySelector('.opblock-summary-method').innerText + ' ' + block.querySelector('[data-path]').dataset.path)`,
    );
    expect(shown.sort()).toEqual(wanted.sort());
    expect(await page.evaluate(`document.querySelectorAll('.errors-wrapper .error-wrapper').length`)).toBe(0);
  });

  test('refuses without a key, and works with one: a GET and a POST tried out', async () => {
    expect(await tryOut('get_collections')).toContain('"code": 401');

    await page.click('.btn.authorize');
    await page.type('.modal-ux .auth-container input', server.apiKey);
    await page.click('.modal-ux .auth-btn-wrapper .authorize');
    await page.click('.modal-ux .btn-done');

    expect(await tryOut('post_collections')).toContain('"status": "success"');
    const { collections } = await server.data('GET', '/v1/collections');
    expect(collections).toHaveLength(1);

    await page.click('[id="operations-Collections-get_collections"] .execute');
    await page.until(
      `document.querySelector('[id="operations-Collections-get_collections"] .live-responses-table pre').innerText.includes(${JSON.stringify(`"name": "${collections[0].name}"`)})`,
    );
  });

  test('keeps no key when the page is left, nor one that an earlier version kept', async () => {
    const kept = `JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie])`;
    expect(await page.evaluate(kept)).not.toContain(server.apiKey);
    await page.evaluate(
      `localStorage.setItem('authorized', ${JSON.stringify(JSON.stringify({ ApiKey: { value: server.apiKey } }))})`,
    );
    await page.evaluate(`(window.isOld = true, location.reload())`);
    await page.until(
      `window.isOld === undefined && document.querySelector('.btn.authorize') !== null && localStorage.getItem('authorized') === null`,
    );
    expect(await page.evaluate(kept)).not.toContain(server.apiKey);
    expect(await tryOut('get_collections')).toContain('"code": 401');
  });

  test('breaks its policy nowhere, which is in force', async () => {
    // Reports come late and in order: behind the two that are provoked there is none that is still to come.
    await page.evaluate(`document.body.setAttribute('style', 'color: red')`);
    await page.evaluate(`fetch('http://127.0.0.1:9').catch(() => undefined)`);
    const broken: string[] = await page.evaluate(`new Promise((resolve) => {
      const seen = [];
      const observer = new ReportingObserver((reports) => {
        seen.push(...reports.map(({ body }) => body.effectiveDirective + ' ' + body.blockedURL));
        if (seen.some((text) => text.startsWith('connect-src http://127.0.0.1:9'))) resolve(seen);
      }, { buffered: true, types: ['csp-violation'] });
      observer.observe();
    })`);
    expect(broken.map((text) => text.split(' ')[0])).toEqual(['style-src-attr', 'connect-src']);
  });
});
