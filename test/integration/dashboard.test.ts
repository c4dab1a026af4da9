import type { Page } from 'playwright-core';
import { DashboardBrowser, goTo, overflow, seriousFindings } from '../support/machines/dashboard-browser';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';

/** The dashboard at /ui as a person meets it: in Chromium, over a real server. */

const HOSTILE = '<img src=x onerror=alert(1)>';
const HOSTILE_TAG = '"><script>alert(2)</script>';

const server = new EmbeddedProcess();
let browser: DashboardBrowser;

const TOPICS: Record<string, string[]> = {
  rivers: [
    'The Danube floods in spring when the snow melts',
    'A river delta is made of silt and sand',
    'Salmon climb the rapids of northern rivers',
    'Dams tame floods and make power',
  ],
  cities: [
    'Old cities have narrow streets and markets',
    'Trams return to many European cities',
    'A city without trees is hot in summer',
    'Venice stands on wooden piles',
  ],
  stars: [
    'A red giant is a star near its end',
    'Neutron stars spin many times a second',
    'Sailors found their way by the stars',
    'The Sun is a star of middle age',
  ],
};

beforeAll(async () => {
  const launching = DashboardBrowser.launch();
  await server.start();
  await server.data('POST', '/v1/collections', { name: 'notes', dim: 64, description: HOSTILE });
  const items = Object.entries(TOPICS).flatMap(([topic, texts]) =>
    texts.map((text, i) => ({
      external_id: `${topic}-${i}`,
      text,
      metadata: { topic, year: 1990 + 3 * i + topic.length },
    })),
  );
  const hostile = {
    external_id: HOSTILE,
    text: `A text with ${HOSTILE} in it`,
    metadata: { topic: HOSTILE_TAG, [HOSTILE]: HOSTILE, year: 2020 },
  };
  await server.data('POST', '/v1/collections/notes/bulk_upsert', { items: [...items, hostile] });
  browser = await launching;
});

afterAll(async () => {
  await browser?.close();
  await server.destroy();
});

/** A page that is signed in as admin, closed when `use` is done; it may have done nothing that it must not do. */
async function onPage(
  hash: string,
  use: (page: Page) => Promise<void>,
  options: { key?: string; width?: number; dark?: boolean } = {},
): Promise<void> {
  const { key = server.apiKey, width = 1280, dark = false } = options;
  const { page, misdeeds } = await browser.signedIn(server.baseUrl, key, {
    viewport: { width, height: 860 },
    colorScheme: dark ? 'dark' : 'light',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  try {
    await goTo(page, hash);
    await use(page);
    expect(misdeeds).toMatchObject({ violations: [], errors: [], strangers: [] });
  } finally {
    await page.context().close();
  }
}

const card = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

describe('the dashboard', () => {
  test('comes in 300 kB at most, packed, and from this server alone', async () => {
    const { page, misdeeds } = await browser.signedIn(server.baseUrl, server.apiKey);
    await page.getByRole('heading', { name: 'Collections', level: 1 }).waitFor();
    await page.evaluate('document.fonts.ready.then(() => undefined)');
    let files: [path: string, bytes: number][] = [];
    await eventually('its files have come', async () => {
      await Promise.all(misdeeds.measured);
      files = [...misdeeds.bytes].filter(([path]) => path.startsWith('/ui'));
      return files.length >= 4;
    });
    expect(files.reduce((sum, [, bytes]) => sum + bytes, 0)).toBeLessThanOrEqual(300_000);
    expect(misdeeds).toMatchObject({ violations: [], errors: [], strangers: [] });
    await page.context().close();
  });

  test('keeps the key in the tab alone, and says what is wrong with one', async () => {
    const { page } = await browser.open(server.baseUrl);
    await page.getByLabel('API key').fill('not-a-key');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.getByRole('alert').innerText()).resolves.toMatch(/invalid API key/);
    await page.getByLabel('API key').fill(server.apiKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    const kept = await page.evaluate('[JSON.stringify(localStorage), document.cookie, location.href]');
    expect(JSON.stringify(kept)).not.toContain(server.apiKey);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain(server.apiKey);
    await page.context().close();
  });

  test.each([
    ['readonly', { mayWrite: false, isAdmin: false }],
    ['readwrite', { mayWrite: true, isAdmin: false }],
    ['admin', { mayWrite: true, isAdmin: true }],
  ])('shows a key with the role %s what it may do', async (role, { mayWrite, isAdmin }) => {
    const { key } = await server.data('POST', '/v1/admin/keys', { name: `a ${role} key`, role });
    await onPage(
      '#/',
      async (page) => {
        await page.getByRole('link', { name: 'notes' }).waitFor();
        expect(await page.getByRole('button', { name: 'New collection' }).count()).toBe(mayWrite ? 1 : 0);
        expect(await page.getByRole('link', { name: 'Keys & operations' }).count()).toBe(isAdmin ? 1 : 0);
        await goTo(page, '#/collections/notes');
        await page.getByRole('link', { name: 'Browse' }).waitFor();
        expect(await page.getByRole('link', { name: 'Upload' }).count()).toBe(mayWrite ? 1 : 0);
        await goTo(page, '#/keys');
        await page
          .getByRole('heading', { level: 1, name: isAdmin ? 'Keys & operations' : 'There is nothing here' })
          .waitFor();
      },
      { key },
    );
  });

  test('makes a collection with an estimate, describes it, and deletes it after its name is typed', () =>
    onPage('#/', async (page) => {
      await page.getByRole('button', { name: 'New collection' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill('made-here');
      await dialog.getByLabel('Dimension').fill('768');
      await dialog.getByLabel('Vectors you expect').fill('1000000');
      await expect(dialog.getByText(/About .* of memory/).innerText()).resolves.toMatch(
        /1\.1 GB of memory and 6\.4 GB on disk/,
      );
      await dialog.getByRole('button', { name: 'Create collection' }).click();
      await page.getByRole('heading', { level: 1, name: 'made-here' }).waitFor();
      await page.getByRole('link', { name: 'Settings' }).click();
      await page.getByLabel('Description').fill('For a test');
      await page.getByRole('button', { name: 'Save description' }).click();
      await eventually(
        'it is described',
        async () => (await server.data('GET', '/v1/collections/made-here')).description === 'For a test',
      );
      const aliases = card(page, 'Aliases');
      await aliases.getByText('None.').waitFor();
      await aliases.getByRole('button', { name: 'New alias' }).click();
      await page.getByLabel('Name').fill('current');
      await page.getByRole('button', { name: 'Create alias' }).click();
      await aliases.getByText('current', { exact: true }).waitFor();
      expect((await server.data('GET', '/v1/collections/current')).name).toBe('made-here');
      // From another collection's page it is switched there, and back.
      await goTo(page, '#/collections/notes/settings');
      await aliases.getByRole('button', { name: 'Switch one here' }).click();
      await page.getByRole('button', { name: 'Switch alias' }).click();
      await aliases.getByText('current', { exact: true }).waitFor();
      expect((await server.data('GET', '/v1/collections/current')).name).toBe('notes');
      await aliases.getByRole('button', { name: 'Delete alias current' }).click();
      await page.getByRole('button', { name: 'Delete alias', exact: true }).click();
      await aliases.getByText('None.').waitFor();
      expect((await server.data('GET', '/v1/aliases')).aliases).toEqual([]);
      await goTo(page, '#/collections/made-here/settings');
      await page.getByRole('button', { name: 'Delete collection' }).click();
      const sure = page.getByRole('button', { name: 'Delete for good' });
      expect(await sure.isDisabled()).toBe(true);
      await page.getByLabel(/to go on/).fill('made-here');
      await sure.click();
      await page.getByRole('heading', { level: 1, name: 'Collections' }).waitFor();
      expect((await server.call('GET', '/v1/collections/made-here')).error?.code).toBe(404);
    }));
});

describe('search', () => {
  test('by meaning finds, highlights, filters by a click, and goes on from a hit', () =>
    onPage('#/collections/notes/search', async (page) => {
      await page.getByRole('searchbox', { name: 'Query' }).fill('floods of the river');
      await page.keyboard.press('Enter');
      const hits = card(page, 'Hits').getByRole('listitem');
      await hits.first().waitFor();
      expect(await hits.count()).toBe(10);
      expect(await hits.first().locator('mark').allInnerTexts()).toContain('floods');
      await card(page, 'Hits').getByRole('button', { name: 'topic rivers' }).first().click();
      await card(page, 'Hits').getByText('4 hits').waitFor();
      await card(page, 'Hits').getByText('of 4 items').waitFor();
      // Facets count what the filter on their own field would hide; by keys, one more value is let in and taken out.
      const facets = card(page, 'Facets');
      const facet = (name: RegExp) => facets.getByRole('button', { name });
      await facet(/^rivers\s*4$/).waitFor();
      expect(await facet(/^rivers/).getAttribute('aria-pressed')).toBe('true');
      await facet(/^stars\s*4$/).focus();
      await page.keyboard.press('Enter');
      await card(page, 'Hits').getByText('8 hits').waitFor();
      await page.keyboard.press('Enter');
      await card(page, 'Hits').getByText('4 hits').waitFor();
      await facet(/^rivers/).click();
      await card(page, 'Hits').getByText('10 hits').waitFor();
      await card(page, 'Hits').getByText('of 13 items').waitFor();
      const found = await hits.first().innerText();
      await hits.first().getByRole('button', { name: 'More like this' }).click();
      await eventually('the address says what is searched', async () => page.url().includes('mode=item'));
      // The item itself is not among them.
      await eventually('the new hits are there', async () => (await hits.first().innerText()) !== found);
      // The address alone leads to the same hits.
      const url = page.url();
      const first = await hits.first().innerText();
      await page.goto('about:blank');
      await page.goto(url);
      await hits.first().waitFor();
      expect(await hits.first().innerText()).toBe(first);
    }));

  test('by words and meaning explains both ranks, and follows alpha', () =>
    onPage('#/collections/notes/search?mode=hybrid&q=stars', async (page) => {
      const hits = card(page, 'Hits').getByRole('listitem');
      await hits.first().waitFor();
      expect(await hits.first().innerText()).toMatch(
        /Meaning\s*rank \d+ · score [\d.]+\s*Keywords\s*rank \d+ · score [\d.]+/,
      );
      await page.getByRole('slider').focus();
      await page.keyboard.press('Home');
      await eventually(
        'keywords alone are asked',
        async () => page.url().includes('alpha=0') && (await hits.first().innerText()).includes('not in this list'),
      );
    }));

  test('shows the exact answer beside the calibrated one, with recall and both times', () =>
    onPage('#/collections/notes/search?q=city&exact=1', async (page) => {
      await page.getByText('Recall 100 %').waitFor();
      const columns = await page.getByRole('heading', { level: 2 }).allInnerTexts();
      expect(columns).toEqual(['Calibrated', 'Exact']);
      expect(await page.getByText(/ms search/).count()).toBe(2);
    }));

  test('shows texts from the search itself, and the fields of metadata that are chosen', () =>
    onPage('#/collections/notes/search', async (page) => {
      const asked: string[] = [];
      page.on('request', (request) => asked.push(new URL(request.url()).pathname));
      await page.getByRole('searchbox', { name: 'Query' }).fill('floods of the river');
      await page.keyboard.press('Enter');
      const hits = card(page, 'Hits').getByRole('listitem');
      const topics = card(page, 'Hits').getByRole('button', { name: /^topic / });
      await topics.first().waitFor();
      expect(await hits.first().locator('mark').allInnerTexts()).toContain('floods');
      await page.getByText('Fields: all').click();
      await page.getByRole('group', { name: 'Metadata of hits' }).getByLabel('topic').uncheck();
      await eventually(
        'the topic is gone',
        async () =>
          (await topics.count()) === 0 &&
          (await card(page, 'Hits')
            .getByRole('button', { name: /^year / })
            .count()) > 0,
      );
      expect(await hits.first().locator('mark').allInnerTexts()).toContain('floods');
      await page.getByRole('button', { name: 'All fields' }).click();
      await topics.first().waitFor();
      await page.getByLabel('Group by').selectOption('topic');
      const groups = card(page, 'Hits').getByRole('region');
      await card(page, 'Hits').getByText('4 groups').waitFor();
      expect(await groups.nth(0).getByRole('heading', { level: 3 }).innerText()).toBe('rivers');
      expect(await groups.nth(0).getByRole('listitem').count()).toBe(3);
      expect(page.url()).toContain('group=topic');
      await page.getByLabel('Group by').selectOption('nothing');
      await card(page, 'Hits').getByText('10 hits').waitFor();
      expect(asked).toContain('/v1/collections/notes/search');
      expect(asked).not.toContain('/v1/collections/notes/vectors/fetch');
    }));

  test('by a vector, and what is wrong with one', () =>
    onPage('#/collections/notes/search?mode=vector&q=1%202', async (page) => {
      await expect(page.getByRole('alert').innerText()).resolves.toMatch(/dimension/i);
      await page.getByRole('textbox', { name: 'Query' }).fill(JSON.stringify(new Array(64).fill(0.1)));
      await page.getByRole('button', { name: 'Search' }).click();
      await card(page, 'Hits').getByText('10 hits').waitFor();
    }));
});

describe('browsing', () => {
  test('filters by words, wherever they stand', () =>
    onPage('#/collections/notes/browse', async (page) => {
      const rows = page.getByRole('table').locator('tbody tr');
      await rows.first().waitFor();
      const filters = page.getByRole('group', { name: 'Filters' });
      await filters.getByRole('button', { name: 'Filter' }).click();
      await filters.getByLabel('Comparison').selectOption('has the words');
      await filters.getByLabel('Value').fill('stars Neutron');
      await filters.getByRole('button', { name: 'Add' }).click();
      await page.getByText('1 loaded of 1').waitFor();
      expect(await rows.first().innerText()).toContain('stars-1');
      await filters.getByRole('button', { name: 'Remove the filter has the words stars Neutron' }).click();
      await page.getByText('13 loaded of 13').waitFor();
    }));

  test('sorts what is loaded, filters by a click, and shows an item with its vector folded away', () =>
    onPage('#/collections/notes/browse', async (page) => {
      const rows = page.getByRole('table').locator('tbody tr');
      await rows.first().waitFor();
      expect(await rows.count()).toBe(13);
      await page.getByRole('columnheader', { name: 'year' }).getByRole('button').click();
      await page.getByRole('columnheader', { name: /^year/ }).getByRole('button').click();
      expect(await page.getByRole('columnheader', { name: /^year/ }).getAttribute('aria-sort')).toBe('descending');
      expect(await rows.first().innerText()).toContain('2020');
      await page.getByRole('cell', { name: 'stars' }).getByRole('button').first().click();
      await eventually('only stars are left', async () => (await rows.count()) === 4);
      await page.getByText('4 loaded of 4').waitFor();
      const facets = card(page, 'Facets');
      await facets.getByRole('button', { name: /^cities\s*4$/ }).click();
      await page.getByText('8 loaded of 8').waitFor();
      await facets.getByText('year', { exact: true }).focus();
      await page.keyboard.press('Enter');
      await facets.getByRole('button', { name: /^1996\s*1$/ }).waitFor({ state: 'detached' });
      await facets.getByRole('button', { name: /^cities/ }).click();
      await eventually('only stars are left again', async () => (await rows.count()) === 4);
      await page.getByRole('button', { name: 'stars-1', exact: true }).click();
      const item = page.getByRole('dialog');
      await item.getByText('Neutron stars spin many times a second').waitFor();
      expect(await item.locator('details pre').isVisible()).toBe(false);
      await item.getByText('Vector of 64 numbers').click();
      expect((await item.locator('details pre').innerText()).split(',')).toHaveLength(64);
      // A neighbour takes its place.
      const neighbour = item.getByRole('list').getByRole('button').first();
      const next = await neighbour.innerText();
      await neighbour.click();
      await page
        .getByRole('dialog', { name: `Item ${next}` })
        .getByRole('heading', { name: next })
        .waitFor();
      await page.keyboard.press('Escape');
      await item.waitFor({ state: 'detached' });
    }));

  test('edits metadata, refuses what is no JSON, and takes a deletion back', () =>
    onPage('#/collections/notes/browse', async (page) => {
      const stored = () => server.call('GET', '/v1/collections/notes/vectors/cities-0');
      const before = (await stored()).data;
      await page.getByRole('button', { name: 'cities-0', exact: true }).click();
      await page.getByRole('button', { name: 'Edit metadata' }).click();
      await page.getByLabel('Metadata, as JSON').fill('{ "topic": ');
      await page.getByRole('button', { name: 'Save metadata' }).click();
      await expect(page.getByRole('dialog').getByRole('alert').innerText()).resolves.toMatch(/not JSON/);
      await page.getByLabel('Metadata, as JSON').fill('{ "topic": "cities", "year": 1234 }');
      await page.getByRole('button', { name: 'Save metadata' }).click();
      await eventually('it is stored', async () => (await stored()).data?.metadata.year === 1234);
      expect((await stored()).data).toEqual({
        ...before,
        metadata: { topic: 'cities', year: 1234 },
        version: expect.any(Number),
      });
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await eventually('it is deleted', async () => (await stored()).error?.code === 404);
      await page
        .getByRole('status')
        .getByText('Deleted cities-0.')
        .locator('..')
        .getByRole('button', { name: 'Undo' })
        .click();
      await eventually('it is back', async () => (await stored()).status === 'success');
      expect((await stored()).data).toEqual({
        ...before,
        metadata: { topic: 'cities', year: 1234 },
        version: expect.any(Number),
      });
    }));
});

describe('upload', () => {
  test('stores a file with its progress, and says why another is refused', () =>
    onPage('#/collections/notes/upload', async (page) => {
      const text = Array.from({ length: 400 }, (_, i) => `Line ${i} tells of ferries, harbours and tides.`).join('\n');
      await page.setInputFiles('input[type=file]', [
        { name: `tides ${HOSTILE}.txt`.replaceAll('/', ''), mimeType: 'text/plain', buffer: Buffer.from(text) },
        { name: 'picture.png', mimeType: 'image/png', buffer: Buffer.from([1, 2, 3]) },
      ]);
      const uploads = card(page, 'Uploads').getByRole('listitem');
      await uploads
        .nth(0)
        .getByText(/passages stored/)
        .waitFor();
      await uploads
        .nth(1)
        .getByText(/Only \.txt/)
        .waitFor();
      await uploads.nth(0).getByRole('link', { name: 'Browse it' }).click();
      await page.getByRole('table').getByText('ferries, harbours').first().waitFor();
    }));
});

describe('documents', () => {
  test('are added, read in their chunks, replaced and deleted', () =>
    onPage('#/collections/notes/documents', async (page) => {
      const file = (text: string) => ({ name: 'pumps.md', mimeType: 'text/markdown', buffer: Buffer.from(text) });
      await page
        .getByLabel('Choose documents: files')
        .setInputFiles([file(`# Pumps\n\n${'They leak at the seal. '.repeat(60)}\n\n## Seals\n\nReplace them.`)]);
      const row = page.getByRole('row', { name: /pumps\.md/ });
      await row.waitFor();
      await row.getByRole('button', { name: 'pumps.md', exact: true }).click();
      await page.getByRole('dialog').getByText('Replace them.').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
      await page.getByLabel('Replace pumps.md: files').setInputFiles([file('# Pumps\n\nNew ones never leak.')]);
      await row.getByRole('cell', { name: '1', exact: true }).waitFor();
      await row.getByRole('button', { name: 'Delete pumps.md' }).click();
      await page.getByRole('button', { name: 'Delete the document' }).click();
      await row.waitFor({ state: 'detached' });
    }));
});

describe('the console', () => {
  test('completes paths and keys from the document, sends, remembers, and copies as a command', () =>
    onPage('#/console', async (page) => {
      await page.getByRole('combobox', { name: 'Path' }).fill('hybrid');
      await page.getByRole('option', { name: /hybrid_search/ }).waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      const path = page.getByRole('combobox', { name: 'Path' });
      expect(await path.inputValue()).toBe('/v1/collections/{name}/hybrid_search');
      await path.fill('/v1/collections/notes/hybrid_search');
      const body = page.getByRole('textbox', { name: 'Body, as JSON' });
      await body.fill('');
      await body.pressSequentially('{"query_te');
      await page.getByRole('option', { name: /^query_text/ }).waitFor();
      await page.keyboard.press('Tab');
      await body.pressSequentially(`"it's stars"}`);
      expect(await body.inputValue()).toBe(`{"query_text": "it's stars"}`);
      await page.keyboard.press('Control+Enter');
      await page.getByText('"external_id": "stars-').first().waitFor();
      await page.getByRole('button', { name: 'Copy as curl' }).click();
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
        `curl -sX POST '${server.baseUrl}/v1/collections/notes/hybrid_search' \\\n  -H "x-api-key: $API_KEY" \\\n  -H 'content-type: application/json' \\\n  -d '{"query_text": "it'\\''s stars"}'`,
      );
      await page.getByRole('combobox', { name: 'Method' }).selectOption('GET');
      await path.fill('/v1/nothing');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('error 404').waitFor();
      await page.getByRole('button', { name: /POST.*hybrid_search/ }).click();
      expect(await body.inputValue()).toContain('query_text');
    }));
});

describe('keys', () => {
  test('are made with a secret that is shown once, rotated, switched off and deleted', () =>
    onPage('#/keys', async (page) => {
      await page.getByRole('button', { name: 'New key' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill(HOSTILE);
      await dialog.getByLabel('Expires after days').fill('7');
      await dialog.getByRole('textbox', { name: 'Collections' }).fill('films, team-*: readwrite');
      await dialog.getByRole('button', { name: 'Create key' }).click();
      const secret = page.locator('[data-secret]');
      const first = (await secret.innerText()).trim();
      const asks = async (key: string) =>
        (await server.call('GET', '/v1/collections', undefined, { 'x-api-key': key })).status;
      expect(await asks(first)).toBe('success');
      await page.getByRole('cell', { name: 'films, team-*: readwrite' }).waitFor({ state: 'attached' });
      await page.getByRole('button', { name: 'Done' }).click();
      await page.getByRole('button', { name: `Rotate ${HOSTILE}` }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
      await secret.waitFor();
      const second = (await secret.innerText()).trim();
      expect([await asks(first), await asks(second)]).toEqual(['error', 'success']);
      await page.getByRole('button', { name: 'Done' }).click();
      await page.getByRole('button', { name: `Switch off ${HOSTILE}` }).click();
      await eventually('it is refused', async () => (await asks(second)) === 'error');
      await page.getByRole('button', { name: `Delete ${HOSTILE}` }).click();
      await page.getByRole('button', { name: 'Delete key' }).click();
      await eventually(
        'it is gone',
        async () =>
          !(await server.data('GET', '/v1/admin/keys')).keys.some(({ name }: { name: string }) => name === HOSTILE),
      );
      await page.getByRole('list', { name: 'Requests by endpoint' }).waitFor();
    }));

  test('show their limits, which are set when they are made, and changed', () =>
    onPage('#/keys', async (page) => {
      const own = async () =>
        (await server.data('GET', '/v1/admin/keys')).keys.find(({ name }: { name: string }) => name === 'importer');
      await page.getByRole('button', { name: 'New key' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill('importer');
      await dialog.getByLabel('Role').selectOption('readwrite');
      await dialog.getByLabel('Networks').fill('127.0.0.0/8');
      await dialog.getByLabel('Requests a minute').fill('600');
      await dialog.getByLabel('Items').fill('1000');
      await dialog.getByLabel('Counted').selectOption('day');
      expect(await seriousFindings(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Create key' }).click();
      const key = (await page.locator('[data-secret]').innerText()).trim();
      await page.getByRole('button', { name: 'Done' }).click();
      await page
        .getByRole('cell', { name: '600 requests a minute; from 127.0.0.0/8; 1,000 items a day', exact: true })
        .waitFor({ state: 'attached' });
      await server.call(
        'POST',
        '/v1/collections/notes/upsert',
        { external_id: 'one-more', text: 'A text of the importer' },
        { 'x-api-key': key },
      );

      await page.getByRole('button', { name: 'Limits of importer' }).click();
      await dialog.getByText('Written of it: 1 item. Counts anew:').waitFor();
      for (const [label, value] of Object.entries({
        Networks: '127.0.0.0/8',
        'Requests a minute': '600',
        Items: '1000',
        Bytes: '',
        Counted: 'day',
        Collections: '',
      })) {
        expect([label, await dialog.getByLabel(label).inputValue()]).toEqual([label, value]);
      }
      expect(await seriousFindings(page)).toEqual([]);
      await dialog.getByLabel('Networks').fill('not a network');
      await dialog.getByRole('button', { name: 'Change limits' }).click();
      await dialog
        .getByRole('alert')
        .getByText(/network/)
        .waitFor();
      await dialog.getByLabel('Networks').fill('');
      await dialog.getByLabel('Collections').fill('notes: readonly, logs-*');
      await dialog.getByLabel('Requests a minute').fill('');
      await dialog.getByLabel('Bytes').fill('5000000');
      await dialog.getByLabel('Counted').selectOption('total');
      await dialog.getByLabel('Expires').selectOption('in some days');
      await dialog.getByLabel('Days from now').fill('3');
      await dialog.getByRole('button', { name: 'Change limits' }).click();
      await page
        .getByRole('cell', { name: '1,000 items and 5.0 MB in all', exact: true })
        .waitFor({ state: 'attached' });
      expect(await own()).toMatchObject({
        role: 'readwrite',
        collections: [
          { name: 'notes', role: 'readonly' },
          { prefix: 'logs-', role: 'readwrite' },
        ],
        allowed_networks: null,
        rate_limit_per_minute: null,
        quota: { items: 1000, bytes: 5_000_000, period: 'total' },
        expires_at: expect.any(String),
      });

      // Nothing but the end.
      await page.getByRole('button', { name: 'Limits of importer' }).click();
      await dialog.getByLabel('Expires').selectOption('never');
      await dialog.getByRole('button', { name: 'Change limits' }).click();
      await eventually('it never expires, and is limited as before', async () => {
        const { expires_at: end, quota, collections } = await own();
        return end === null && quota.bytes === 5_000_000 && collections.length === 2;
      });
      // The key of the deployment has a rate, and no other limit.
      await page.getByRole('button', { name: 'Limits of default' }).click();
      await dialog.getByLabel('Requests a minute').waitFor();
      expect([
        await dialog.getByLabel('Networks').count(),
        await dialog.getByLabel('Items').count(),
        await dialog.getByLabel('Expires').count(),
      ]).toEqual([0, 0, 0]);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await server.data('DELETE', `/v1/admin/keys/${(await own()).id}`);
      await server.data('DELETE', '/v1/collections/notes/delete/one-more');
    }));

  test('of the page itself can be rotated: the secret is shown, and the page goes on with it', async () => {
    const { key } = await server.data('POST', '/v1/admin/keys', { name: 'of the page', role: 'admin' });
    await onPage(
      '#/keys',
      async (page) => {
        await page.getByRole('button', { name: 'Rotate of the page' }).click();
        await page.getByRole('dialog').getByText('You are signed in by this key').waitFor();
        await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
        const secret = (await page.locator('[data-secret]').innerText()).trim();
        // What asks by the key meanwhile asks by the new one.
        await page.waitForLoadState('networkidle');
        expect((await page.locator('[data-secret]').innerText()).trim()).toBe(secret);
        await page.getByRole('button', { name: 'Done' }).click();
        await page.reload();
        await page.getByRole('button', { name: 'Rotate of the page' }).waitFor();
      },
      { key },
    );
  });
});

describe('jobs', () => {
  test('are shown with how far they are, and rest, go on and are given up by a click', () =>
    onPage('#/', async (page) => {
      await server.data('POST', '/v1/collections/notes/optimize');
      await page.getByRole('link', { name: 'Jobs' }).click();
      await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
      const short = page.getByRole('listitem').filter({ hasText: 'optimize notes' });
      await short.getByText('done', { exact: true }).waitFor();
      await short.getByText(/of \d+ rows/).waitFor();
      expect(await short.getByRole('button').count()).toBe(0);

      // One that takes as long as the test does.
      const { jobs } = await server.data('GET', '/v1/jobs?limit=1');
      const long = { id: 'verify-1', kind: 'verify', subject: 'of a backup', collection: null, result: null };
      const job = { ...jobs[0], ...long, state: 'running', progress: 0.25, done: 1, total: 4, unit: 'objects' };
      const asked: string[] = [];
      await page.route('**/v1/jobs**', async (route) => {
        const request = route.request();
        const path = new URL(request.url()).pathname;
        if (request.method() !== 'GET') asked.push(`${request.method()} ${path}`);
        if (path.endsWith('/pause')) job.state = 'paused';
        else if (request.method() !== 'GET') job.state = request.method() === 'DELETE' ? 'cancelled' : 'running';
        const data = request.method() === 'GET' ? { jobs: [job], next_cursor: null } : job;
        await route.fulfill({ json: { status: 'success', data, error: null } });
      });
      await page.getByText('25 % · 1 of 4 objects').waitFor();
      await page.getByRole('button', { name: 'Pause verify-1' }).click();
      await page.getByText('paused', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Resume verify-1' }).click();
      await page.getByText('running', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Cancel verify-1' }).click();
      await page.getByRole('button', { name: 'Cancel the job' }).click();
      await page.getByText('cancelled', { exact: true }).waitFor();
      const path = '/v1/jobs/verify-1';
      expect(asked).toEqual([`POST ${path}/pause`, `POST ${path}/resume`, `DELETE ${path}`]);
    }));
});

describe('the map', () => {
  test('colours a sample, lights up hits, shows an item with its neighbours, catches points, and unfolds as UMAP', () =>
    onPage('#/collections/notes/map', async (page) => {
      const canvas = page.locator('canvas.map-canvas');
      await canvas.waitFor();
      await card(page, 'Colours by topic').getByText('rivers').waitFor();
      await page.getByRole('searchbox', { name: 'Search on the map' }).fill('stars');
      await page.keyboard.press('Enter');
      await page.getByText(/hits, those among the points lit up/).waitFor();
      await canvas.focus();
      await page.keyboard.press('+');
      await page.keyboard.press('Enter');
      await card(page, 'Chosen item').getByRole('listitem').first().waitFor();
      await page.keyboard.press('0');
      await page.getByRole('button', { name: 'Lasso' }).click();
      const box = (await canvas.boundingBox())!;
      const at = (x: number, y: number) => [box.x + x * box.width, box.y + y * box.height] as const;
      await page.mouse.move(...at(0.02, 0.02));
      await page.mouse.down();
      for (const corner of [at(0.98, 0.02), at(0.98, 0.98), at(0.02, 0.98)])
        await page.mouse.move(...corner, { steps: 4 });
      await page.mouse.up();
      const { vector_count: all } = await server.data('GET', '/v1/collections/notes');
      await page.getByText(`${all} items selected`).waitFor();
      await page.getByRole('radio', { name: 'UMAP' }).click();
      await page.getByRole('progressbar', { name: 'UMAP' }).waitFor({ state: 'detached' });
      expect(await page.getByRole('radio', { name: 'UMAP' }).getAttribute('aria-checked')).toBe('true');
    }));

  test('looks the same, drawn by a graphics processor or without one', () =>
    onPage('#/', async (page) => {
      /** How many pixels of the map are painted, in the frame in which it is drawn. */
      const painted = async (): Promise<number> => {
        await goTo(page, '#/');
        await page.getByRole('heading', { name: 'Collections', level: 1 }).waitFor();
        await goTo(page, '#/collections/notes/map');
        await page.locator('canvas.map-canvas').waitFor();
        return page.evaluate<number>(`new Promise((done) => {
          const canvas = document.querySelector('canvas.map-canvas');
          canvas.dispatchEvent(new KeyboardEvent('keydown', { key: '0', bubbles: true }));
          requestAnimationFrame(() => {
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
            copy.drawImage(canvas, 0, 0);
            done(copy.getImageData(0, 0, canvas.width, canvas.height).data.filter((value, i) => i % 4 === 3 && value > 100).length);
          });
        })`);
      };
      const plain = await painted();
      await page.evaluate(`(() => {
        const ask = WebGL2RenderingContext.prototype.getParameter;
        WebGL2RenderingContext.prototype.getParameter = function (name) {
          return name === 0x9246 ? 'A graphics processor' : ask.call(this, name);
        };
      })()`);
      const byGraphicsProcessor = await painted();
      expect(await page.evaluate(`document.querySelector('canvas.map-canvas').getContext('webgl2') !== null`)).toBe(
        true,
      );
      expect(plain).toBeGreaterThan(300);
      expect(byGraphicsProcessor / plain).toBeGreaterThan(0.7);
      expect(byGraphicsProcessor / plain).toBeLessThan(1.4);
    }));

  test('of 50,000 points is drawn once a frame, however often it moved, and not while it rests, in software', async () => {
    await server.data('POST', '/v1/collections', { name: 'many', dim: 8 });
    for (let from = 0; from < 50_000; from += 1000) {
      const items = Array.from({ length: 1000 }, (_, i) => {
        const row = from + i;
        const vector = Float32Array.from(
          { length: 8 },
          (_, at) => Math.sin(row * (at + 1) * 0.37) + (row % 7) * Math.cos(at + (row % 7)),
        );
        return {
          external_id: `p-${row}`,
          vector: Buffer.from(vector.buffer).toString('base64'),
          metadata: { kind: `kind ${row % 7}` },
        };
      });
      await server.data('POST', '/v1/collections/many/bulk_upsert', { items });
    }
    await onPage('#/collections/many/map', async (page) => {
      await page.locator('canvas.map-canvas').waitFor();
      await page.getByText('50,000 items').waitFor();
      // What a frame costs does not depend on the machine: one picture, in the memory of the one before.
      const drawn = await page.evaluate<number[]>(`(async () => {
        const canvas = document.querySelector('canvas.map-canvas');
        const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        const { prototype } = CanvasRenderingContext2D;
        let pictures = 0;
        const images = new Set();
        const put = prototype.putImageData;
        prototype.putImageData = function (image, ...rest) {
          pictures += 1;
          images.add(image);
          return put.call(this, image, ...rest);
        };
        const drawnIn = async (events) => {
          const before = pictures;
          for (let i = 0; i < events; i++) canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: i % 3 === 0 ? 30 : -30, cancelable: true }));
          await frame();
          return pictures - before;
        };
        await frame();
        const counts = [await drawnIn(1), await drawnIn(8), await drawnIn(0), await drawnIn(3)];
        prototype.putImageData = put;
        return [...counts, images.size];
      })()`);
      expect(drawn).toEqual([1, 1, 0, 1, 1]);
    });
  });
});

describe('for everybody', () => {
  const PAGES = {
    home: '#/',
    search: '#/collections/notes/search?mode=hybrid&q=stars',
    compared: '#/collections/notes/search?q=stars&exact=1',
    browse: '#/collections/notes/browse',
    map: '#/collections/notes/map',
    lab: '#/collections/notes/lab?q=stars',
    upload: '#/collections/notes/upload',
    settings: '#/collections/notes/settings',
    console: '#/console',
    keys: '#/keys',
  };

  /** What a page shows when it has what it asked for. */
  async function settled(page: Page): Promise<void> {
    await page.locator('main .card').first().waitFor();
    await eventually('nothing is awaited', async () => (await page.locator('main .spinner').count()) === 0);
  }

  test.each([
    ['light', 1280],
    ['dark', 360],
  ] as const)('every page has no serious finding of axe, and fits: %s, %i pixels', (scheme, width) =>
    onPage(
      '#/',
      async (page) => {
        const wrong: Record<string, unknown> = {};
        for (const [name, hash] of Object.entries(PAGES)) {
          await goTo(page, hash);
          await settled(page);
          const findings = await seriousFindings(page);
          const over = await overflow(page);
          if (findings.length > 0 || over > 0) wrong[name] = { findings, over };
        }
        await goTo(page, PAGES.home);
        await page.getByRole('button', { name: 'New collection' }).click();
        const inDialog = await seriousFindings(page);
        if (inDialog.length > 0) wrong.dialog = inDialog;
        expect(wrong).toEqual({});
      },
      { width, dark: scheme === 'dark' },
    ),
  );

  test('what is stored is shown as it is, and never run', () =>
    onPage('#/', async (page) => {
      await page.getByText(HOSTILE).first().waitFor();
      for (const hash of [
        PAGES.browse,
        `#/collections/notes/search?mode=hybrid&q=${encodeURIComponent(HOSTILE)}`,
        PAGES.map,
      ]) {
        await goTo(page, hash);
        await settled(page);
      }
      await goTo(page, `#/collections/${encodeURIComponent(HOSTILE)}`);
      await page.getByRole('alert').waitFor();
      await goTo(page, PAGES.browse);
      await page.getByRole('rowheader').getByRole('button', { name: HOSTILE, exact: true }).click();
      await page.getByRole('dialog').getByText(`A text with ${HOSTILE} in it`).waitFor();
      expect(await page.evaluate(`document.querySelectorAll('img, script:not([src]), iframe, object').length`)).toBe(0);
    }));

  test('goes by the keyboard alone: sign in, to a collection, search, and open a hit', async () => {
    const { page } = await browser.open(server.baseUrl);
    await page.getByLabel('API key').waitFor();
    await page.keyboard.type(server.apiKey);
    await page.keyboard.press('Enter');
    const link = page.getByRole('link', { name: 'notes' });
    await link.waitFor();
    await tabTo(page, 'notes');
    await page.keyboard.press('Enter');
    await page.getByRole('searchbox', { name: 'Query' }).waitFor();
    await tabTo(page, 'Query');
    await page.keyboard.type('stars');
    await page.keyboard.press('Enter');
    await card(page, 'Hits').getByRole('listitem').first().waitFor();
    await tabTo(page, 'stars-');
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.context().close();
  });

  /** Presses Tab until what has the focus goes by a name. */
  async function tabTo(page: Page, name: string): Promise<void> {
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate<string>(
        `document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? ''`,
      );
      if (focused.startsWith(name)) return;
    }
    throw new Error(`Tab does not lead to ${name}`);
  }
});

describe('the first minutes', () => {
  test('lead by the link that the first start prints to the demo, a hybrid search and the map, on a phone too', async () => {
    const fresh = new EmbeddedProcess({ environment: { API_KEY: '' } });
    try {
      await fresh.start();
      let link: RegExpExecArray | null = null;
      await eventually('the link is printed', () => (link = /http\S+\/ui(#sign-in=\S+)\s/.exec(fresh.output)) !== null);
      const [, hash] = link!;
      const { page, misdeeds } = await browser.open(fresh.baseUrl, { hash, viewport: { width: 360, height: 740 } });
      await page.getByRole('button', { name: 'Load the demo' }).click();
      await page.getByRole('heading', { level: 1, name: 'demo' }).waitFor();
      expect(page.url()).not.toContain('sign-in');
      await page.getByRole('button', { name: 'a planet with rings' }).click();
      await card(page, 'Hits').getByRole('listitem').filter({ hasText: 'Saturn' }).first().waitFor();
      expect(await page.getByRole('radio', { name: 'Hybrid' }).getAttribute('aria-checked')).toBe('true');
      await page.getByRole('searchbox', { name: 'Query' }).fill('planet with rings');
      await page.keyboard.press('Enter');
      await card(page, 'Hits').getByRole('listitem').first().waitFor();
      expect(await overflow(page)).toBe(0);
      await page.getByRole('link', { name: 'Map' }).click();
      await page.locator('canvas.map-canvas').waitFor();
      await page.getByText(/^\d+ items/).waitFor();
      expect(await overflow(page)).toBe(0);
      expect(misdeeds).toMatchObject({ violations: [], errors: [], strangers: [] });
      await page.context().close();
      // A link works once.
      const again = await browser.open(fresh.baseUrl, { hash });
      await again.page.getByRole('alert').waitFor();
      await again.page.getByLabel('API key').waitFor();
      await again.page.context().close();
    } finally {
      await fresh.destroy();
    }
  });
});

// The last: nothing is served for a while.
describe('a server that goes away', () => {
  test('is told, and the page goes on by itself when it is back', () =>
    onPage('#/', async (page) => {
      await page.getByRole('link', { name: 'notes' }).waitFor();
      await server.kill();
      await page.getByRole('alert').getByText('cannot be reached').waitFor();
      await server.start();
      await page.getByRole('alert').waitFor({ state: 'detached' });
      await server.data('POST', '/v1/collections', { name: 'after', dim: 3 });
      await page.getByRole('link', { name: 'after' }).waitFor();
    }));
});
