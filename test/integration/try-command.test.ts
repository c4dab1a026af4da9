import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually } from '../support/eventually';
import { blocksOf } from '../support/http/page-shell';

/** `quiver try`: a service to look at, of which nothing is left. */

const root = resolve(__dirname, '../..');

let folder: string;
/** Where temporary folders are made, and nothing else is. */
let temporary: string;
let run: TryRun | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-tried-'));
  temporary = join(folder, 'tmp');
  mkdirSync(temporary);
});
afterEach(async () => {
  run?.child.kill('SIGKILL');
  await run?.over;
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

class TryRun {
  output = '';
  readonly child: ChildProcess;
  /** When the command and all that it has started have ended: until then, one of them holds the output open. */
  readonly over: Promise<number | null>;

  constructor(words: string[], environment: Record<string, string> = {}) {
    this.child = spawn(process.execPath, [join(root, 'scripts/quiver.cjs'), 'try', ...words], {
      cwd: folder,
      env: {
        PATH: `${folder}:${process.env.PATH ?? ''}`,
        HOME: folder,
        TMPDIR: temporary,
        EMBEDDING_MODEL: 'builtin',
        HTTP_THREADS: '1',
        PORT: '0',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    this.over = new Promise((done) => this.child.once('close', done));
  }

  async serves(): Promise<{ url: string; key: string; link: string }> {
    await eventually('it says how to go on', () => /QUIVER_API_KEY=\S+\n/.test(this.output) || this.hasEnded);
    const [, url, key] = /QUIVER_URL=(\S+) QUIVER_API_KEY=(\S+)/.exec(this.output) ?? ['', '', this.output];
    return { url, key, link: /(http\S+#sign-in=\S+)/.exec(this.output)?.[1] ?? '' };
  }

  private get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }
}

async function post(url: string, path: string, body: object, key = ''): Promise<any> {
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return answer.json();
}

test('it serves the demo, opens the dashboard signed in, and leaves nothing after Ctrl-C', async () => {
  const opened = join(folder, 'opened');
  // In the place of a browser; it also says what a browser may not see: a service that is not ready.
  for (const name of ['xdg-open', 'open']) {
    writeFileSync(
      join(folder, name),
      `#!/bin/sh\nprintf %s "$1" > "${opened}.part" && mv "${opened}.part" "${opened}"\n`,
    );
    chmodSync(join(folder, name), 0o755);
  }
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, 'a-key-of-another-service');
  run = new TryRun([], { DISPLAY: ':0', API_KEY_FILE: keyFile, DATA_DIR: join(folder, 'data') });
  const { url, key, link } = await run.serves();
  await eventually('a browser is opened', () => existsSync(opened));
  expect(readFileSync(opened, 'utf8')).toBe(link);
  expect(link.startsWith(`${url}/ui#sign-in=`)).toBe(true);
  const signedIn = await post(url, '/v1/sign_in', { token: link.split('#sign-in=')[1] });
  expect(signedIn.data).toMatchObject({ api_key: key, role: 'admin' });
  const found = await post(url, '/v1/collections/demo/search', { text: 'rivers of Africa', k: 1 }, key);
  expect(found.data.results).toHaveLength(1);
  expect(readdirSync(temporary)).toEqual([expect.stringMatching(/^quiver-try-/)]);
  run.child.kill('SIGINT');
  expect(await run.over).toBe(0);
  expect(readdirSync(temporary)).toEqual([]);
  expect(existsSync(join(folder, 'data'))).toBe(false);
  await expect(fetch(url)).rejects.toThrow();
});

test('without a screen it only prints, as the README shows it', async () => {
  run = new TryRun([]);
  await run.serves();
  const blocks = blocksOf(readFileSync(join(root, 'README.md'), 'utf8'));
  const at = blocks.findIndex(({ language }) => language === 'bash');
  expect(blocks[at].text).toBe('npm run try\n');
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { try: string } };
  expect(scripts.try).toMatch(/scripts\/quiver\.cjs try$/);
  expect(shapeOf(run.output)).toBe(shapeOf(blocks[at + 1].text));
});

/** What it prints without what each run has of its own. */
function shapeOf(text: string): string {
  return text
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'URL')
    .replaceAll(/qv_\S+/g, 'KEY')
    .replaceAll(/#sign-in=\S+/g, '#sign-in=TOKEN')
    .replaceAll(/in [\d.]+ ms/g, 'in TIME')
    .replaceAll(/^ {2}\d\.\d{3} {2}\S.*$/gm, '  HIT');
}

test.each(['SIGKILL', 'SIGTERM'] as const)('after %s, too, nothing is left', async (signal) => {
  run = new TryRun(['--no-open']);
  const { url } = await run.serves();
  expect(url).toMatch(/^http:/);
  run.child.kill(signal);
  expect(await run.over).toBe(signal === 'SIGKILL' ? null : 0);
  expect(readdirSync(temporary)).toEqual([]);
});

test('a service that can not start is told, with what it said, and leaves nothing', async () => {
  run = new TryRun([], { RECALL_TARGET: 'high' });
  expect(await run.over).toBe(1);
  expect(run.output).toContain('RECALL_TARGET="high" is not valid');
  expect(run.output).toContain('the service could not be started');
  expect(readdirSync(temporary)).toEqual([]);
});
