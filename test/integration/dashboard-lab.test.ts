import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { DashboardBrowser, goTo, overflow, seriousFindings } from '../support/machines/dashboard-browser';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';

/** Ranking in the dashboard: where a search loses an item, and the search lab. In Chromium, over a real server. */

const QUIVER = resolve(__dirname, '../../scripts/quiver.cjs');
const LONG_ID = `a/long id?#&%${'x'.repeat(180)}`;
const TEXTS: Record<string, string> = {
  'river-1': 'The river floods in spring when the snow melts',
  'river-2': 'A river delta is made of silt and sand',
  'river-3': 'Salmon climb the rapids of northern rivers',
  'city-1': 'Old cities have narrow streets and markets',
  'city-2': 'Trams return to many cities',
  'star-1': 'A red giant is a star near its end',
  'star-2': 'Sailors found their way by the stars',
  [LONG_ID]: 'A river without a name',
};

const server = new EmbeddedProcess({ environment: { EMBEDDING_MODEL: 'builtin', RATE_LIMIT_PER_MINUTE: '0' } });
let browser: DashboardBrowser;

beforeAll(async () => {
  const launching = DashboardBrowser.launch();
  await server.start();
  await server.data('POST', '/v1/collections', { name: 'notes', dim: 64 });
  const items = Object.entries(TEXTS).map(([id, text], i) => ({
    external_id: id,
    text,
    metadata: { topic: id === LONG_ID ? 'river' : id.split('-')[0], year: 2000 + i },
  }));
  await server.data('POST', '/v1/collections/notes/bulk_upsert', { items });
  browser = await launching;
});

afterAll(async () => {
  await browser?.close();
  await server.destroy();
});

/** A page that is signed in, closed when `use` is done; it may have done nothing that it must not do. */
async function onPage(
  hash: string,
  use: (page: Page) => Promise<void>,
  options: { key?: string; width?: number; dark?: boolean } = {},
): Promise<void> {
  const { key = server.apiKey, width = 1280, dark = false } = options;
  const { page, misdeeds } = await browser.signedIn(server.baseUrl, key, {
    viewport: { width, height: 860 },
    colorScheme: dark ? 'dark' : 'light',
    acceptDownloads: true,
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

describe('an expected item', () => {
  const WHERE = '[["topic","$eq","river"],["year","$gt",2003]]';
  const where = async (page: Page, id: string): Promise<void> => {
    await card(page, 'Expected item').getByLabel('Expected item').fill(id);
    await page.keyboard.press('Enter');
  };

  test('is told with its place, behind the page and on it, and the next search asks anew', () =>
    onPage('#/collections/notes/search?mode=hybrid&q=river&k=2', async (page) => {
      const expected = card(page, 'Expected item');
      await expected.waitFor();
      await where(page, 'star-1');
      const lists = expected.getByRole('table', { name: 'Its place in each list of the search' });
      await lists.waitFor();
      expect(await lists.getByRole('row').allInnerTexts()).toEqual([
        expect.stringMatching(/^List\s+Exact place\s+Score\s+Place in this search$/),
        expect.stringMatching(/^Meaning\s+\d\s/),
        expect.stringMatching(/^Keywords\s+has no word of the query\s/),
      ]);
      await expected.getByText(/^Others are better: it is at place \d, and the page ends at 2\.$/).waitFor();
      // It leads to it.
      await expected.getByRole('button', { name: 'Ask for 10 hits' }).click();
      await expected.getByText(/^The search finds it, at place \d\.$/).waitFor();
      const hit = card(page, 'Hits').getByRole('listitem').filter({ hasText: 'star-1' });
      await hit.getByText('expected', { exact: true }).waitFor();
      // The address alone leads to the same.
      const url = page.url();
      await page.goto('about:blank');
      await page.goto(url);
      await expected.getByText(/^The search finds it, at place \d\.$/).waitFor();
      await expected.getByRole('button', { name: 'Clear' }).click();
      await eventually('nothing is said of it', async () => (await lists.count()) === 0);
      expect(page.url()).not.toContain('expect=');
    }));

  test('is told with the condition that it fails, in the words of the filter', () =>
    onPage(`#/collections/notes/search?q=river&where=${encodeURIComponent(WHERE)}`, async (page) => {
      await card(page, 'Expected item').waitFor();
      await where(page, 'river-1');
      const conditions = page.getByRole('list', { name: 'Conditions' }).getByRole('listitem');
      await conditions.first().waitFor();
      expect(await conditions.allInnerTexts()).toEqual([
        expect.stringMatching(/^passes\s+topic = river$/),
        expect.stringMatching(/^fails\s+year > 2003$/),
      ]);
      await page.getByText('The filters leave it out: it fails 1 condition.').waitFor();
      await page.getByText('left out by the filters', { exact: true }).waitFor();
    }));

  test('that is not there, or that the search begins with, is told; what is no id is refused in words', () =>
    onPage('#/collections/notes/search?mode=item&q=river-1', async (page) => {
      await card(page, 'Expected item').waitFor();
      await where(page, 'River-2');
      await page.getByText('This collection has no item of this id.').waitFor();
      await where(page, 'river-1');
      await page.getByText('It is the item that the search begins with').waitFor();
      await where(page, 'x'.repeat(5_000));
      await card(page, 'Expected item')
        .getByRole('alert')
        .getByText(/external_id/)
        .waitFor();
    }));

  test('with a long id fits on a phone, beside the exact answer too, and reads well', () =>
    onPage(
      `#/collections/notes/search?q=river&k=5&exact=1&expect=${encodeURIComponent(LONG_ID)}`,
      async (page) => {
        await page.getByText(/^The search finds it/).waitFor();
        expect(await seriousFindings(page)).toEqual([]);
        expect(await overflow(page)).toBe(0);
        await card(page, 'Expected item').getByRole('button', { name: 'Show the item' }).click();
        await page.getByRole('dialog').getByText('A river without a name').waitFor();
      },
      { width: 360, dark: true },
    ));
});

describe('the search lab', () => {
  const gradeOf = (page: Page, id: string) => page.getByRole('group', { name: `Grade of ${id}`, exact: true });
  const stored = async (name: string) => server.call('GET', `/v1/collections/notes/judgements/${name}`);
  const relevantOf = async (name: string, query: string) =>
    (await stored(name)).data?.judged.find((one: { query: string }) => one.query === query)?.relevant;
  const addQueries = async (page: Page, queries: string[]): Promise<void> => {
    await page.getByLabel('New queries, one a line').fill(queries.join('\n'));
    await page.getByRole('button', { name: 'Add', exact: true }).click();
  };
  const JUDGED = [
    { query: 'river', relevant: { 'river-1': 3, 'river-2': 1, 'city-1': 0 } },
    { query: 'stars', relevant: { 'star-2': 2, gone: 1 } },
  ];
  const put = (name: string, judged: unknown = JUDGED) =>
    server.data('PUT', `/v1/collections/notes/judgements/${name}`, judged);

  afterEach(async () => {
    const { judgements } = await server.data('GET', '/v1/collections/notes/judgements');
    for (const { name } of judgements) await server.data('DELETE', `/v1/collections/notes/judgements/${name}`);
  });

  test('keeps grades with the collection as they are given, by mouse and by keys, and nothing in the browser', () =>
    onPage('#/collections/notes/lab', async (page) => {
      await addQueries(page, ['river', 'stars', 'river']);
      const queries = card(page, 'Queries').getByRole('list', { name: 'Judged queries' }).getByRole('button');
      expect(await queries.allInnerTexts()).toEqual([
        expect.stringMatching(/^river\s*not kept yet$/),
        expect.stringMatching(/^stars\s*not kept yet$/),
      ]);
      const grading = card(page, 'Grading');
      await grading.getByRole('heading', { name: 'river' }).waitFor();
      await gradeOf(page, 'river-1').getByText('3', { exact: true }).click();
      await eventually('it is kept', async () => (await relevantOf('judged', 'river'))?.['river-1'] === 3);
      // A key gives a grade, and goes on to the next hit.
      await gradeOf(page, 'river-1').getByRole('radio', { name: '3, perfect' }).focus();
      await page.keyboard.press('2');
      await page.keyboard.press('0');
      const next = await page.evaluate<string>(
        `document.activeElement.closest('li').previousElementSibling.querySelector('.hit-id').textContent.trim()`,
      );
      await eventually('both are kept', async () => {
        const relevant = await relevantOf('judged', 'river');
        return relevant?.['river-1'] === 2 && relevant?.[next] === 0;
      });
      // Another key goes on to the next query, where the first hit is at once to be graded.
      await page.keyboard.press('n');
      await grading.getByRole('heading', { name: 'stars' }).waitFor();
      await eventually('a grade has the focus', () =>
        page.evaluate<boolean>(`document.activeElement.closest('fieldset.grades') !== null`),
      );
      const first = await grading.getByRole('listitem').first().locator('.hit-id').innerText();
      await page.keyboard.press('1');
      await eventually('it is kept', async () => (await relevantOf('judged', 'stars'))?.[first] === 1);
      expect(await grading.getByRole('button', { name: 'Next query' }).count()).toBe(0);
      await gradeOf(page, 'star-2').getByText('2', { exact: true }).click();
      // What no variant finds is graded by its id.
      await grading.getByLabel('Another item').fill('gone');
      await grading.getByRole('button', { name: 'Grade it good' }).click();
      await eventually('it is kept, too', async () => (await relevantOf('judged', 'stars'))?.gone === 2);
      expect(
        await page.evaluate('[JSON.stringify(localStorage), JSON.stringify(sessionStorage)].join()'),
      ).not.toContain('river');
      // The address leads to the same.
      const url = page.url();
      await page.goto('about:blank');
      await page.goto(url);
      await card(page, 'Graded items that no variant finds').getByRole('button', { name: 'gone' }).waitFor();
      expect(await gradeOf(page, 'star-2').getByRole('radio', { name: '2, good' }).isChecked()).toBe(true);
      await grading.getByRole('button', { name: 'Remove the query' }).click();
      await eventually('it is removed', async () => (await stored('judged')).data?.queries === 1);
    }));

  test('compares variants as a job, says what lost, and hands out a file that the command line takes', () =>
    onPage('#/collections/notes/lab?view=compare', async (page) => {
      await put('set');
      await page.reload();
      const comparison = card(page, 'Comparison');
      const variants = card(page, 'Variants').locator('fieldset');
      await variants.nth(1).waitFor();
      await variants
        .nth(1)
        .getByRole('spinbutton', { name: /^Alpha/ })
        .fill('0');
      await card(page, 'Variants').getByRole('button', { name: 'Variant', exact: true }).click();
      await variants.nth(2).getByLabel('Name').fill('one item');
      await variants.nth(2).getByText('Other options').click();
      await variants.nth(2).getByLabel('Other options, as JSON').fill('{"filters": {"$id": ["city-1"]}}');
      await page.getByLabel('Hits that count').fill('3');
      await comparison.getByRole('button', { name: 'Compare' }).click();
      const rows = comparison.getByRole('table', { name: 'Measures of each variant' }).getByRole('row');
      await rows.nth(3).waitFor();
      const shown = await rows.allInnerTexts();
      expect(shown[0]).toMatch(/^Variant\s+nDCG@3\s+Recall@3\s+MRR@3\s+nDCG against the first$/);
      expect(shown[1]).toMatch(/^meaning\s+\d\.\d{4}\s+\d\.\d{4} to \d\.\d{4}[^]*the first$/);
      expect(shown[2]).toMatch(/^keywords\s/);
      expect(shown[3]).toMatch(/^one item[^]*0\.0000\s+0\.0000 to 0\.0000[^]*worse\s+−[^]*0 better, 2 worse$/);
      // Another one with other variants, and back to the first.
      await variants
        .nth(2)
        .getByRole('button', { name: /^Remove/ })
        .click();
      await comparison.getByRole('button', { name: 'Compare' }).click();
      await eventually('two variants were compared', async () => (await rows.count()) === 3);
      const shownOf = comparison.getByRole('combobox', { name: /^Shown/ });
      await eventually('both are listed', async () => (await shownOf.getByRole('option').count()) === 3);
      await shownOf.selectOption({ index: 2 });
      await eventually('the first is shown', async () => (await rows.count()) === 4);
      expect(await rows.allInnerTexts()).toEqual(shown);

      const downloading = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download' }).click();
      const download = await downloading;
      expect(download.suggestedFilename()).toBe('set.json');
      const file = JSON.parse(readFileSync(await download.path(), 'utf8'));
      expect(file).toEqual({
        judged: JUDGED,
        variants: [{ name: 'meaning' }, { name: 'keywords', alpha: 0 }],
        k: 3,
      });
      await comparison.getByText('For continuous integration').click();
      const command = await comparison.locator('code').innerText();
      expect(command).toMatch(/^quiver evaluate notes set --file set\.json --at-least \d\.\d\d$/);
      const words = command
        .replace('set.json', await download.path())
        .split(' ')
        .slice(1);
      const { stdout } = await promisify(execFile)(process.execPath, [QUIVER, ...words], {
        env: { ...process.env, QUIVER_URL: server.baseUrl, QUIVER_API_KEY: server.apiKey },
      });
      expect(stdout).toMatch(/^keywords +\d\.\d{4}/m);

      await comparison.getByText('1 judged item with a grade above 0 is not in the collection.').waitFor();
      await comparison
        .getByRole('region', { name: 'Lost most with one item' })
        .getByRole('button', { name: 'stars' })
        .click();
      await card(page, 'Grading').getByRole('heading', { name: 'stars' }).waitFor();

      // The address leads to the same comparison, which is told to be old once a grade has changed.
      await gradeOf(page, 'star-2').getByText('3', { exact: true }).click();
      await eventually('it is kept', async () => (await relevantOf('set', 'stars'))?.['star-2'] === 3);
      await page.getByRole('radio', { name: 'Compare' }).click();
      const url = page.url();
      await page.goto('about:blank');
      await page.goto(url);
      await rows.nth(3).waitFor();
      expect(await rows.allInnerTexts()).toEqual(shown);
      await comparison.getByText('The judged queries were kept anew since this comparison.').waitFor();
    }));

  test('says in words what a variant or a file has wrong', () =>
    onPage('#/collections/notes/lab?view=compare', async (page) => {
      await put('set');
      await page.reload();
      const comparison = card(page, 'Comparison');
      const first = card(page, 'Variants').locator('fieldset').nth(0);
      await first.getByText('Other options').click();
      await first.getByLabel('Other options, as JSON').fill('{"fuzy": 1}');
      await comparison.getByRole('button', { name: 'Compare' }).click();
      await comparison
        .getByRole('alert')
        .getByText(/“meaning, fuzy 1”: fuzy is no option.*did you mean "fuzzy"/)
        .waitFor();
      // One that the collection refuses fails the job.
      await first.getByLabel('Other options, as JSON').fill('{"field_weights": {"title": 2}}');
      await comparison.getByRole('button', { name: 'Compare' }).click();
      await comparison
        .getByRole('alert')
        .getByText(/^“meaning, field_weights .*”, asked for "river": .*keyword_fields/)
        .waitFor();
      await page.setInputFiles('input[type=file]', {
        name: 'mine.json',
        mimeType: 'application/json',
        buffer: Buffer.from('[{"query": "a"}]'),
      });
      await page.getByRole('status').getByText('Query 1 of the file must be').waitFor();
    }));

  test('takes a file with its variants, asks before it replaces, and deletes', () =>
    onPage('#/collections/notes/lab?view=compare', async (page) => {
      await put('other');
      const upload = async (name: string, content: unknown): Promise<void> =>
        page.setInputFiles('input[type=file]', {
          name,
          mimeType: 'application/json',
          buffer: Buffer.from(JSON.stringify(content)),
        });
      await page.getByRole('button', { name: 'Upload a file' }).waitFor();
      await upload('my queries.json', { judged: JUDGED, variants: [{ name: 'mine', alpha: 0.25 }], k: 7 });
      const dialog = page.getByRole('dialog');
      await dialog.getByText('The file has 2 judged queries and 1 variant.').waitFor();
      expect(await dialog.getByLabel('Name').inputValue()).toBe('my-queries');
      await dialog.getByRole('button', { name: 'Keep them' }).click();
      await dialog.waitFor({ state: 'detached' });
      await eventually('they are kept', async () => (await stored('my-queries')).data?.queries === 2);
      await card(page, 'Variants').getByRole('group', { name: '1. mine' }).waitFor();
      expect(await page.getByLabel('Hits that count').inputValue()).toBe('7');
      expect(await page.getByRole('combobox', { name: /^Judgements/ }).inputValue()).toBe('my-queries');
      await upload('my queries.json', JUDGED.slice(1));
      await dialog.getByText('They replace the 2 queries of this name.').waitFor();
      await dialog.getByRole('button', { name: 'Replace them' }).click();
      await eventually('they are replaced', async () => (await stored('my-queries')).data?.queries === 1);
      // A list alone leaves the variants as they are.
      await card(page, 'Variants').getByRole('group', { name: '1. mine' }).waitFor();
      await upload('bad.json', [{ query: 'a', relevant: { b: 0 } }]);
      await dialog.getByRole('button', { name: 'Keep them' }).click();
      await dialog
        .getByRole('alert')
        .getByText(/must have a grade above 0/)
        .waitFor();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await dialog.getByRole('button', { name: 'Delete judgements' }).click();
      await eventually('they are gone', async () => (await stored('my-queries')).error?.code === 404);
      await eventually(
        'the others are shown',
        async () => (await page.getByRole('combobox', { name: /^Judgements/ }).inputValue()) === 'other',
      );
    }));

  test('shows a key that only reads what there is, says that it can’t change it, and has no way to', async () => {
    const { key } = await server.data('POST', '/v1/admin/keys', { name: 'a reader', role: 'readonly' });
    await put('set');
    const { id } = await server.data('POST', '/v1/collections/notes/evaluate', { name: 'set', variants: [{}] });
    await onPage(
      `#/collections/notes/lab?q=river&job=${id}`,
      async (page) => {
        await page.getByText('Your key only reads').waitFor();
        expect(await gradeOf(page, 'river-1').getByRole('radio', { name: '3, perfect' }).isChecked()).toBe(true);
        expect(await gradeOf(page, 'river-1').getByRole('radio', { name: '1, fair' }).isDisabled()).toBe(true);
        const buttons = async (...names: string[]): Promise<number[]> =>
          Promise.all(names.map((name) => page.getByRole('button', { name, exact: true }).count()));
        expect(await buttons('New', 'Upload a file', 'Delete', 'Add', 'Remove the query')).toEqual([0, 0, 0, 0, 0]);
        await page.getByRole('radio', { name: 'Compare' }).click();
        await page.getByRole('table', { name: 'Measures of each variant' }).waitFor();
        expect(await buttons('Compare', 'Cancel')).toEqual([0, 0]);
        expect(await page.getByRole('button', { name: 'Download' }).isEnabled()).toBe(true);
      },
      { key },
    );
  });

  test('goes on when a grade can’t be kept for a while, and says so', () =>
    onPage('#/collections/notes/lab?q=river', async (page) => {
      await put('set');
      await page.reload();
      let isAway = true;
      await page.route('**/judgements/set', async (route) => {
        if (!isAway || route.request().method() === 'GET') return route.continue();
        const error = { code: 429, message: 'too many requests; wait 3 seconds' };
        return route.fulfill({ json: { status: 'error', data: null, error } });
      });
      await gradeOf(page, 'river-1').getByText('1', { exact: true }).click();
      await page.getByRole('alert').getByText('too many requests').waitFor();
      expect(await gradeOf(page, 'river-1').getByRole('radio', { name: '1, fair' }).isChecked()).toBe(true);
      await page.getByRole('radio', { name: 'Compare' }).click();
      expect(await card(page, 'Comparison').getByRole('button', { name: 'Compare' }).isDisabled()).toBe(true);
      isAway = false;
      await page.getByRole('button', { name: 'Try again' }).click();
      await eventually('it is kept', async () => (await relevantOf('set', 'river'))?.['river-1'] === 1);
    }));

  test.each([
    ['light', 1280],
    ['dark', 360],
  ] as const)(
    'holds many queries and long ids, has no serious finding of axe, and fits: %s, %i pixels',
    (scheme, width) =>
      onPage(
        '#/collections/notes/search?mode=hybrid&q=river',
        async (page) => {
          const many = Array.from({ length: 200 }, (_, i) => ({
            query: `${i} ${'x'.repeat(80)}`,
            relevant: { 'river-1': 1 },
          }));
          await put('set', [{ query: 'river', relevant: { [LONG_ID]: 3, [`${LONG_ID} gone`]: 1 } }, ...many]);
          await page.getByRole('link', { name: 'Grade in the search lab' }).click();
          await gradeOf(page, LONG_ID).waitFor();
          expect(await seriousFindings(page)).toEqual([]);
          expect(await overflow(page)).toBe(0);
          await page.getByRole('radio', { name: 'Compare' }).click();
          await card(page, 'Comparison').getByRole('button', { name: 'Compare' }).click();
          await page.getByRole('table', { name: 'Measures of each variant' }).waitFor();
          expect(await seriousFindings(page)).toEqual([]);
          expect(await overflow(page)).toBe(0);
          await page.getByRole('radio', { name: 'Grade' }).click();
          await card(page, 'Queries').getByLabel('Find among the queries').fill('199 ');
          expect(await card(page, 'Queries').getByRole('list').getByRole('button').count()).toBe(1);
        },
        { width, dark: scheme === 'dark' },
      ),
  );
});
