import type { Page } from 'playwright-core';
import { DashboardBrowser, goTo, seriousFindings } from '../support/machines/dashboard-browser';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { TokenIssuer } from '../support/servers/token-issuer';

/** The dashboard signed in by tokens of an identity provider: in Chromium, over a real server and a real issuer. */

const issuer = new TokenIssuer();
let server: EmbeddedProcess;
let browser: DashboardBrowser;

beforeAll(async () => {
  const launching = DashboardBrowser.launch();
  issuer.addKey('one', 'ES256');
  await issuer.start();
  server = new EmbeddedProcess({
    environment: { JWT_ISSUER: issuer.url, JWT_AUDIENCE: issuer.audience, JWT_COLLECTIONS_CLAIM: 'collections' },
  });
  await server.start();
  for (const name of ['team-notes', 'secret']) await server.data('POST', '/v1/collections', { name, dim: 8 });
  await server.data('POST', '/v1/collections/team-notes/upsert', {
    external_id: 'a',
    text: 'A river in spring',
    metadata: { topic: 'rivers' },
  });
  browser = await launching;
});

afterAll(async () => {
  await browser?.close();
  await server?.destroy();
  await issuer.stop();
});

/** The sign-in page, closed when `use` is done; it may have done nothing that it must not do. */
async function onSignIn(use: (page: Page, signIn: (secret: string) => Promise<void>) => Promise<void>): Promise<void> {
  const { page, misdeeds } = await browser.open(server.baseUrl, { permissions: ['clipboard-read', 'clipboard-write'] });
  try {
    await use(page, async (secret) => {
      await page.getByLabel('API key or bearer token').fill(secret);
      await page.getByRole('button', { name: 'Sign in' }).click();
    });
    expect(misdeeds).toMatchObject({ violations: [], errors: [], strangers: [] });
  } finally {
    await page.context().close();
  }
}

const signedIn = (page: Page): Promise<void> => page.getByRole('navigation', { name: 'Pages' }).waitFor();
const tokenOf = (sub: string, role: string, collections: string[], more: object = {}): string =>
  issuer.token({ sub, role, collections, ...more });

test('an operator signs in by a token, and may do everything, keys too', () =>
  onSignIn(async (page, signIn) => {
    await signIn(tokenOf('olga', 'admin', ['*']));
    await signedIn(page);
    await page.getByText('olga · admin').waitFor();
    expect(await page.locator('.who').getAttribute('title')).toMatch(/^Signed in by a bearer token, until /);
    await page.getByRole('link', { name: 'secret', exact: true }).waitFor();
    await goTo(page, '#/keys');
    await page.getByRole('region', { name: 'API keys' }).waitFor();
    // It stays in the tab, and a page that is loaded again goes on.
    await page.reload();
    await page.getByRole('region', { name: 'API keys' }).waitFor();
    await goTo(page, '#/console');
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toContain('authorization: Bearer $TOKEN');
    expect(copied).not.toContain('eyJ');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key or bearer token').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  }));

test('a reader sees its own collections, with their contents, and nothing to change them by', () =>
  onSignIn(async (page, signIn) => {
    await signIn(tokenOf('rita', 'readonly', ['team-*']));
    await signedIn(page);
    await page.getByRole('link', { name: 'team-notes', exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'secret', exact: true }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'New collection' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Keys & operations' }).count()).toBe(0);
    await goTo(page, '#/collections/team-notes/search?q=spring');
    await page.getByText('A river in spring').first().waitFor();
  }));

test('a writer uploads by a token', () =>
  onSignIn(async (page, signIn) => {
    await signIn(tokenOf('walt', 'readwrite', ['team-*']));
    await signedIn(page);
    await goTo(page, '#/collections/team-notes/upload');
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'by-token.txt', mimeType: 'text/plain', buffer: Buffer.from('Snow melts in the hills.') });
    await eventually(
      'it is stored',
      async () => (await server.data('GET', '/v1/collections/team-notes')).vector_count === 2,
    );
  }));

test('what is wrong with a token is told, and nobody is signed in', () =>
  onSignIn(async (page, signIn) => {
    const refusal = async (token: string): Promise<string> => {
      await signIn(token);
      // One alert follows another: the button is there again when the answer is.
      await page.getByRole('button', { name: 'Sign in', disabled: false }).waitFor();
      return page.getByRole('alert').innerText();
    };
    const past = Math.floor(Date.now() / 1000) - 600;
    expect(await refusal(tokenOf('olga', 'admin', ['*'], { exp: past }))).toMatch(/expired/);
    expect(await refusal(tokenOf('olga', 'admin', ['*'], { aud: 'another' }))).toMatch(/audience|aud/);
    expect(await refusal(issuer.forged({ alg: 'none' }, { sub: 'olga', role: 'admin' }))).toMatch(
      /invalid bearer token/,
    );
    expect(await refusal(tokenOf('nobody', 'stranger', ['*']))).toMatch(/gives no role/);
    expect(await seriousFindings(page)).toEqual([]);
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  }));

test('a page whose token ends says so, and another one goes on', () =>
  onSignIn(async (page, signIn) => {
    // As if it had been open until the token ended.
    await signIn(tokenOf('olga', 'admin', ['*']));
    await signedIn(page);
    const past = Math.floor(Date.now() / 1000) - 600;
    const ended = tokenOf('olga', 'admin', ['*'], { exp: past });
    await page.evaluate(`(() => {
      const stored = JSON.parse(sessionStorage.getItem('quiver.session'));
      sessionStorage.setItem('quiver.session', JSON.stringify({ ...stored, key: ${JSON.stringify(ended)} }));
    })()`);
    await page.reload();
    await page.getByText('Your token has ended. Sign in again.').waitFor();
    await signIn(tokenOf('olga', 'admin', ['*']));
    await signedIn(page);
  }));
