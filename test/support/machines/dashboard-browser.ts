import { readFileSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { PATIENCE_MS } from '../eventually';
import { findChromium } from './headless-browser';

/** Rules of accessibility that a person would trip over. */
const SERIOUS = ['serious', 'critical'];
/** A page's parts come by themselves; a busy machine takes its time. */
const WAIT_MS = PATIENCE_MS;

/** What a page did that it must not do. */
export interface Misdeeds {
  /** What the policy of the page stopped. */
  violations: string[];
  errors: string[];
  /** Requests to anywhere else. */
  strangers: string[];
  /** Bytes of the answers as they came over the line, by path. */
  bytes: Map<string, number>;
  /** Of each answer that has come: resolves when its bytes are known. */
  measured: Promise<void>[];
}

/**
 * A real Chromium that shows the dashboard of a server, drawing in software as a machine without a graphics card does.
 */
export class DashboardBrowser {
  private constructor(private readonly browser: Browser) {}

  static async launch(): Promise<DashboardBrowser> {
    const executablePath = findChromium();
    if (executablePath === null)
      throw new Error(
        'the tests of the dashboard need Chromium (Debian: apt-get install chromium); `npm test` installs it where it may',
      );
    // Root may not have the sandbox. WebGL is there, computed in software: the page tells that it is.
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--enable-unsafe-swiftshader'];
    return new DashboardBrowser(await chromium.launch({ executablePath, args }));
  }

  /** A tab of its own, with nothing stored, at the dashboard of a server. */
  async open(
    baseUrl: string,
    options: BrowserContextOptions & { hash?: string } = {},
  ): Promise<{ page: Page; misdeeds: Misdeeds }> {
    const { hash = '', ...rest } = options;
    const context = await this.browser.newContext({
      viewport: { width: 1280, height: 860 },
      reducedMotion: 'reduce',
      ...rest,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const misdeeds = await watch(page, new URL(baseUrl).origin);
    await page.goto(`${baseUrl}/ui${hash}`);
    return { page, misdeeds };
  }

  /** The same, signed in by a key. */
  async signedIn(
    baseUrl: string,
    key: string,
    options: BrowserContextOptions & { hash?: string } = {},
  ): Promise<{ page: Page; misdeeds: Misdeeds }> {
    const opened = await this.open(baseUrl, options);
    await signInByKey(opened.page, key);
    return opened;
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}

export async function signInByKey(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
}

/** Goes to another part of the page, `#/console`, without loading again. */
export async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
}

let axe: string | null = null;

interface Finding {
  id: string;
  impact: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Findings of axe that matter, each with the elements it is about; none on a page that all can use. */
export async function seriousFindings(page: Page): Promise<string[]> {
  axe ??= readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(axe);
  const { violations } = await page.evaluate<{ violations: Finding[] }>(
    `axe.run(document, { resultTypes: ['violations'] })`,
  );
  return violations
    .filter(({ impact }) => SERIOUS.includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join('; ')}`);
}

/** By how many pixels the page is wider than its window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

async function watch(page: Page, origin: string): Promise<Misdeeds> {
  const misdeeds: Misdeeds = { violations: [], errors: [], strangers: [], bytes: new Map(), measured: [] };
  await page.exposeFunction('tellViolation', (text: string) => misdeeds.violations.push(text));
  await page.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', (event) => tellViolation(event.effectiveDirective + ' ' + event.blockedURI + ' ' + event.sample))`,
  });
  page.on('pageerror', (error) => misdeeds.errors.push(error.stack ?? String(error)));
  page.on('dialog', (dialog) => {
    misdeeds.errors.push(`a script of the data ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !/^(?:blob|data):/.test(url)) misdeeds.strangers.push(url);
  });
  page.on('requestfinished', (request) => {
    const path = new URL(request.url()).pathname;
    misdeeds.measured.push(
      request.sizes().then(
        ({ responseBodySize }) => void misdeeds.bytes.set(path, responseBodySize),
        () => undefined,
      ),
    );
  });
  return misdeeds;
}
