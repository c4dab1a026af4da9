// `npm run screenshots`: makes the pictures of the dashboard in docs/images, of a real server with the texts of the
// demo. EMBEDDING_MODEL says which model embeds them (a folder, say); the default is the server's own.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { ROOT, setUpOrExit } from './setup.mjs';
import { ensureChromium } from './make/system-packages.mjs';

const FOLDER = join(ROOT, 'docs', 'images');
const KEY = 'a-key-for-screenshots';
/** A picture is fetched by everybody who reads the page that it is on. */
const BYTES_MAX = 150_000;
const START_DEADLINE_MS = 120_000;
const WAIT_MS = 60_000;
const WINDOW = { width: 1200, height: 760 };

/** @typedef {import('playwright-core').Page} Page */

/**
 * Each picture with the address of the page, and what is done there before it is taken.
 * @type {{ name: string, hash: string, isDark?: boolean, window?: { width: number, height: number }, prepare: (page:
 * Page) => Promise<unknown> }[]}
 */
const PICTURES = [
  { name: 'dashboard-home', hash: '#/', prepare: showTraffic },
  {
    name: 'dashboard-search',
    hash: '#/collections/demo/search?mode=hybrid&q=a+planet+with+rings',
    prepare: searchAgain,
  },
  {
    name: 'dashboard-map',
    hash: '#/collections/demo/map',
    isDark: true,
    window: { width: 1200, height: 900 },
    prepare: unfoldMap,
  },
  {
    name: 'dashboard-browse',
    hash: '#/collections/demo/browse',
    prepare: (page) => page.getByRole('row').nth(5).waitFor(),
  },
  {
    name: 'dashboard-phone',
    hash: '#/collections/demo/search?q=animals+that+sleep+in+winter',
    window: { width: 390, height: 780 },
    prepare: (page) => page.getByRole('listitem').nth(3).waitFor(),
  },
];

/**
 * Searches for a while, so that the charts have something to show.
 * @param {Page} page
 */
async function showTraffic(page) {
  await page.getByText('ready').first().waitFor();
  for (const [round, text] of [
    'ice',
    'a planet with rings',
    'metal that melts',
    'animals that sleep',
    'rivers',
    'the printing press',
    'stars',
    'bread',
  ].entries()) {
    for (let i = 0; i < 10 + 6 * (round % 3); i++) {
      const body = JSON.stringify({ text: `${text} ${i % 5}`, k: 10 });
      await fetch(`${new URL(page.url()).origin}/v1/collections/demo/search`, {
        method: 'POST',
        headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
        body,
      });
    }
    await page.waitForTimeout(4000);
  }
}

/**
 * The first search finds nothing prepared, and its times are those of nobody's day.
 * @param {Page} page
 */
async function searchAgain(page) {
  await page.getByRole('listitem').nth(3).waitFor();
  for (let i = 0; i < 3; i++) {
    const answered = page.waitForResponse((one) => new URL(one.url()).pathname.endsWith('search'));
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await answered;
  }
  await page.getByText('with the way here').waitFor();
}

/** @param {Page} page */
async function unfoldMap(page) {
  await page.getByRole('radio', { name: 'UMAP' }).click();
  await page.getByRole('progressbar', { name: 'UMAP' }).waitFor();
  await page.getByRole('progressbar', { name: 'UMAP' }).waitFor({ state: 'detached' });
}

await setUpOrExit();
await ensureChromium({ log: (line) => console.log(`setup: ${line}`) });
const { chromium } = await import('playwright-core');
const data = mkdtempSync(join(tmpdir(), 'quiver-screenshots-'));
const server = spawn(process.execPath, [join(ROOT, 'scripts', 'quiver.cjs'), 'embedded'], {
  env: {
    ...process.env,
    API_KEY: KEY,
    PORT: '0',
    OPS_PORT: '0',
    HOST: '127.0.0.1',
    DATA_DIR: data,
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'warn',
  },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const browser = await chromium.launch({
  executablePath: chromiumPath(),
  args: ['--no-sandbox', '--disable-dev-shm-usage'],
});
try {
  const baseUrl = await addressOf(server);
  const answer = await fetch(`${baseUrl}/v1/demo`, {
    method: 'POST',
    headers: { 'x-api-key': KEY },
    signal: AbortSignal.timeout(START_DEADLINE_MS),
  });
  const { error } = /** @type {{ error: { message: string } | null }} */ (await answer.json());
  if (error !== null) throw new Error(error.message);
  mkdirSync(FOLDER, { recursive: true });
  for (const picture of PICTURES) await take(baseUrl, picture);
} finally {
  await browser.close();
  server.kill('SIGTERM');
  rmSync(data, { recursive: true, force: true });
}

/**
 * @param {string} baseUrl
 * @param {typeof PICTURES[number]} picture
 */
async function take(baseUrl, { name, hash, isDark = false, window = WINDOW, prepare }) {
  const context = await browser.newContext({
    viewport: window,
    colorScheme: isDark ? 'dark' : 'light',
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  await page.goto(`${baseUrl}/ui`);
  await page.getByLabel('API key').fill(KEY);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  await prepare(page);
  await page.evaluate('document.fonts.ready.then(() => document.activeElement?.blur())');
  const path = join(FOLDER, `${name}.png`);
  await page.screenshot({ path, animations: 'disabled' });
  await context.close();
  const { size } = statSync(path);
  console.log(`${path}: ${Math.round(size / 1000)} kB`);
  if (size > BYTES_MAX) throw new Error(`${name} has ${size} bytes, more than ${BYTES_MAX}`);
}

/**
 * Where the server says that it serves.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<string>}
 */
function addressOf(child) {
  let output = '';
  return new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`the server did not start:\n${output}`)), START_DEADLINE_MS);
    child.once('exit', () => fail(new Error(`the server ended:\n${output}`)));
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      output += text;
      const address = /serves on (http:\S+)/.exec(output)?.[1];
      if (address === undefined) return;
      clearTimeout(timer);
      done(address);
    });
  });
}

function chromiumPath() {
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  const folders = (process.env.PATH ?? '').split(delimiter);
  const path = names.flatMap((name) => folders.map((folder) => join(folder, name))).find((file) => existsSync(file));
  if (path === undefined) throw new Error('there is no Chromium in PATH');
  return path;
}
