import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DashboardBrowser, goTo } from '../support/machines/dashboard-browser';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';

/** What somebody sees who starts the service for the first time and meets the usual obstacles. */

const ROOT = join(__dirname, '../..');

describe('a start without settings for it', () => {
  let folder: string;
  let child: ChildProcess | null = null;
  const taken = createServer();

  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'quiver-first-'))));
  afterEach(async () => {
    if (child !== null && child.exitCode === null)
      await new Promise((done) => child?.once('exit', done).kill('SIGKILL'));
    taken.close();
    rmSync(folder, { recursive: true });
  });

  test('serves with another operations port where the usual one is taken, and says which; so are a misspelt setting and the limit', async () => {
    // If it is another program's, it is taken as well.
    await new Promise<void>((resolve) => taken.once('error', () => resolve()).listen(9090, '127.0.0.1', resolve));
    const environment = {
      PATH: process.env.PATH,
      PORT: '0',
      HOST: '127.0.0.1',
      DATA_DIR: folder,
      EMBEDDING_MODEL: 'builtin',
      HTTP_THREADS: '1',
      RECALL_TARGT: '0.9',
    };
    child = spawn(process.execPath, [join(ROOT, 'scripts/quiver.cjs'), 'embedded'], {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += String(chunk)));
    await eventually('it serves', () => output.includes('OPS_PORT sets one.\n') && output.includes('Quiver serves'));
    const [, port] =
      /Port 9090 is taken by another program: the operations port \(.*\) is (\d+) this time\./.exec(output) ?? [];
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    expect(output).toContain('"msg":"RECALL_TARGT is not a setting: did you mean RECALL_TARGET?"');
    expect(output).toContain('\nRECALL_TARGT is not a setting: did you mean RECALL_TARGET?\n');
    expect(output).toContain('Each key may make 100 requests a minute (RATE_LIMIT_PER_MINUTE; 0: any number).');
  });
});

describe('the dashboard', () => {
  let browser: DashboardBrowser;
  let server: EmbeddedProcess;
  beforeAll(async () => {
    browser = await DashboardBrowser.launch();
  });
  afterEach(() => server?.destroy());
  afterAll(() => browser?.close());

  test('lets people in, and stays up to date, with a key that is used up', async () => {
    server = new EmbeddedProcess({ environment: { RATE_LIMIT_PER_MINUTE: '2' } });
    await server.start();
    await server.data('POST', '/v1/collections', { name: 'notes', dim: 8 });
    await server.data('GET', '/v1/health');
    expect((await server.call('GET', '/v1/collections')).error?.code).toBe(429);
    const { page } = await browser.signedIn(server.baseUrl, server.apiKey);
    await page.getByRole('link', { name: 'notes' }).waitFor();
    await goTo(page, '#/keys');
    await page.getByRole('heading', { name: 'Service' }).waitFor();
    // What a person does counts as ever.
    await goTo(page, '#/collections/notes/search');
    await page.getByRole('searchbox', { name: 'Query' }).fill('rivers');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('at most 2 requests per minute (RATE_LIMIT_PER_MINUTE)').waitFor();
    await page.context().close();
  });

  test('says on the search page that texts are compared by words where the model could not be had', async () => {
    server = new EmbeddedProcess({
      environment: { EMBEDDING_MODEL: 'Xenova/all-MiniLM-L6-v2', EMBEDDING_HUB: 'http://127.0.0.1:9' },
    });
    await server.start();
    const { page } = await browser.signedIn(server.baseUrl, server.apiKey);
    await page.getByRole('button', { name: 'Load the demo' }).click();
    await page
      .getByText(
        /^Texts are compared by words, not by meaning\. The embedding model ".*" can't be loaded: the hub can't be reached at 127\.0\.0\.1:9\.$/,
      )
      .waitFor();
    await page.context().close();
  });
});
