import type { Page } from 'playwright-core';
import { DashboardBrowser, goTo, overflow, seriousFindings } from '../support/machines/dashboard-browser';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { gate, ScriptedLlm } from '../support/servers/scripted-llm';

/** Asking, and the documents that are asked, at the dashboard: in Chromium, over a real server and a scripted model. */

const TEXTS = [
  'Snow melts in the mountains, and so rivers flood in spring.',
  'A café by the river sells maps for 12 francs. <img src=x onerror=alert(1)>',
];

const dressed = (text: string, page: number) => ({
  text,
  metadata: { document_id: 'book', page, source: 'rivers.txt', headings: ['1 Rivers'] },
});

let llm: ScriptedLlm;
let server: EmbeddedProcess;
let browser: DashboardBrowser;

beforeAll(async () => {
  const launching = DashboardBrowser.launch();
  llm = await ScriptedLlm.start();
  server = new EmbeddedProcess({ environment: { LLM_BASE_URL: llm.baseUrl, LLM_MODELS: 'small' } });
  await server.start();
  await server.data('POST', '/v1/collections', { name: 'rivers', dim: 64 });
  await server.data('POST', '/v1/collections/rivers/bulk_upsert', {
    items: TEXTS.map((text, i) => ({ external_id: `r${i}`, ...dressed(text, i + 1) })),
  });
  browser = await launching;
});
afterAll(async () => {
  await browser?.close();
  await server?.destroy();
  await llm?.close();
});

async function onPage(hash: string, use: (page: Page) => Promise<void>, width = 1280): Promise<void> {
  const { page, misdeeds } = await browser.signedIn(server.baseUrl, server.apiKey, {
    viewport: { width, height: 860 },
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

/** By the first words of a text, the number of its passage in the prompt. */
const numberOf = (prompt: string, i: number): string =>
  new RegExp(`^\\[passage (\\d+) \\w+\\]\\n${TEXTS[i].slice(0, 12)}`, 'm').exec(prompt)![1];

async function ask(page: Page): Promise<void> {
  await page.getByRole('searchbox', { name: 'Question' }).fill('When do rivers flood?');
  await page.getByRole('button', { name: 'Ask' }).click();
}

describe('asking', () => {
  test('shows text while it is written, then what supports it, and each quote in its source', () =>
    onPage('#/collections/rivers/ask', async (page) => {
      const held = gate();
      llm.script = ({ body }) => ({
        text: [
          'Rivers flood ',
          `in spring. <cite n="${numberOf(body.messages.at(-1)!.content, 0)}">rivers flood in spring</cite> `,
          `Maps are sold. <cite n="${numberOf(body.messages.at(-1)!.content, 1)}">sells maps for 12 francs</cite> `,
          'Nobody knows why. <cite n="1">not there at all</cite>',
        ],
        before: (part) => (part === 3 ? held.opened : undefined),
      });
      await ask(page);
      const answer = card(page, 'Answer');
      await answer.getByText('Rivers flood in spring.').waitFor();
      await page.getByRole('button', { name: 'Stop' }).waitFor();
      await card(page, 'Sources').getByText('2 sources').waitFor();
      held.open();
      await answer.getByText('1 quote not found, and dropped').waitFor();
      expect(await answer.locator('.unsupported').allInnerTexts()).toEqual([
        expect.stringContaining('Nobody knows why.'),
      ]);
      expect(await page.locator('mark').count()).toBe(0);
      await answer.getByRole('button', { name: /: rivers flood in spring/ }).click();
      expect(await card(page, 'Sources').locator('mark').allInnerTexts()).toEqual(['rivers flood in spring']);
      await answer.getByRole('button', { name: /: sells maps/ }).click();
      expect(await card(page, 'Sources').locator('mark').allInnerTexts()).toEqual(['sells maps for 12 francs']);
      await card(page, 'Sources').getByText('rivers.txt · page 1 · 1 Rivers').waitFor();
      expect(await seriousFindings(page)).toEqual([]);
      await card(page, 'Sources').getByRole('button', { name: 'r1' }).click();
      await page.getByRole('dialog').getByText('<img src=x onerror=alert(1)>').first().waitFor();
    }));

  test('is stopped, says what the provider says no with, and fits on a phone', () =>
    onPage(
      '#/collections/rivers/ask',
      async (page) => {
        llm.script = { text: ['Rivers flood in spring. ', 'So it is. '], finish: null, isDone: false, end: 'hang' };
        await ask(page);
        await card(page, 'Answer').getByText('Rivers flood in spring.').waitFor();
        await page.getByRole('button', { name: 'Stop' }).click();
        await page.getByRole('button', { name: 'Ask' }).waitFor();
        expect(await page.getByRole('alert').count()).toBe(0);
        llm.script = { status: 400, raw: ['{"error":{"message":"no such model, sorry"}}'] };
        await ask(page);
        await page
          .getByRole('alert')
          .getByText(/no such model, sorry/)
          .waitFor();
        llm.script = { text: [`A${'very'.repeat(80)}long word. <script>alert(3)</script>`] };
        await ask(page);
        await card(page, 'Answer').getByText('<script>alert(3)</script>').waitFor();
        expect(await overflow(page)).toBe(0);
      },
      390,
    ));
});

describe('documents', () => {
  test('that are dropped are stored; a broken one says why until it is mended; a drop beside them does nothing', () =>
    onPage('#/collections/rivers/documents', async (page) => {
      const drop = (target: string, files: [name: string, content: string][]): Promise<unknown> =>
        page.evaluate(
          `(() => {
            const moved = new DataTransfer();
            for (const [name, content] of ${JSON.stringify(files)}) moved.items.add(new File([content], name));
            return ['dragover', 'drop'].map((type) => !document.querySelector(${JSON.stringify(target)}).dispatchEvent(
              new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: moved }),
            ));
          })()`,
        );
      await card(page, 'Add documents').waitFor();
      await drop('[aria-label="Add documents"]', [
        ['boats.md', '# Boats\n\nThe ferry leaves at seven.'],
        ['rows.jsonl', '{"a": no}\n'],
      ]);
      await page.getByRole('row', { name: /boats\.md/ }).waitFor();
      const failed = card(page, 'Under way').getByRole('listitem').filter({ hasText: 'rows.jsonl' });
      await failed.getByText(/line 1/).waitFor();
      await page
        .getByLabel('Choose documents: files')
        .setInputFiles([
          { name: 'rows.jsonl', mimeType: 'application/x-ndjson', buffer: Buffer.from('{"text":"The tide turns."}\n') },
        ]);
      await page.getByRole('row', { name: /rows\.jsonl/ }).waitFor();
      await failed.waitFor({ state: 'detached' });
      expect(await drop('h1', [['beside.md', '# Beside']])).toEqual([true, true]);
      expect(await seriousFindings(page)).toEqual([]);
      const { documents } = await server.data('GET', '/v1/collections/rivers/documents');
      const keys = documents.map(({ document_key: key }: { document_key: string }) => key);
      expect(keys).toEqual(expect.arrayContaining(['boats.md', 'rows.jsonl']));
      expect(keys).not.toContain('beside.md');
      expect(page.url()).toContain('#/collections/rivers/documents');
    }));
});
