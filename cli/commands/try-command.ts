import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { collectionUrl, Connection } from '../connection/connection';

/** What the service starts from: beside the file that runs these commands. */
const SERVICE = 'try-service.cjs';
const HOST = '127.0.0.1';
/** Where the documentation and clients look for a service that nobody named. */
const USUAL_PORT = 8000;
/** A model that has to be fetched, and some hundred texts embedded, on a slow machine. */
const TIMEOUT_MS = 600_000;
const COLLECTION = 'demo';
const QUESTION = 'animals that can fly';
const HITS = 3;
/** Asked before: the first requests of a process are compiled meanwhile. */
const WARMING = ['rivers', 'old inventions', 'planets with rings', 'metals', 'music and theatre'];

/** What the service says of itself at its first start. */
interface Announced {
  url: string;
  key: string;
  /** Signs in to the dashboard, once. */
  link: string;
}

interface Hit {
  external_id: string;
  score: number;
  metadata: { title: string };
}

export function addTryCommand(program: Command, context: CommandContext): void {
  program
    .command('try')
    .description('run the service with its demo, for a look: in a folder that is removed at the end')
    .helpGroup('Run a service:')
    .addOption(new Option('--no-open', 'open no browser'))
    .action(async ({ open }: { open: boolean }) => {
      const folder = mkdtempSync(join(tmpdir(), 'quiver-try-'));
      try {
        await show(context, folder, open);
      } finally {
        // It removes the folder by itself, unless it is killed.
        rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      }
    });
}

/** Resolves when the service has ended after the command was told to. */
async function show(context: CommandContext, folder: string, opens: boolean): Promise<void> {
  const { environment, messages, output, signal } = context;
  const port = environment.PORT || String((await isFree(USUAL_PORT)) ? USUAL_PORT : 0);
  const service = spawn(process.execPath, [join(context.scripts, SERVICE)], {
    env: serviceEnvironment(environment, { folder, port }),
    // Standard input is held open until the end.
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((done, fail) => {
    service.once('error', fail);
    service.once('close', done);
  });
  const stop = (): void => void service.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    const { url, key, link } = await Promise.race([announcement(service, messages), failure(ended)]);
    const connection = new Connection({ url, apiKey: key }, TIMEOUT_MS, context);
    const { count } = await connection.call<{ count: number }>('POST', '/v1/demo');
    const hits = await firstHits(connection);
    output.write(
      `Quiver runs at ${url} with ${count} texts to search, until Ctrl-C; then nothing of it is left.\n` +
        `\n${hits}\n` +
        `Dashboard, by a link that works once: ${link}\n` +
        `To go on in another terminal:\n` +
        `  export QUIVER_URL=${url} QUIVER_API_KEY=${key}\n`,
    );
    if (opens) openBrowser(link, environment);
    await ended;
  } catch (error) {
    // Ctrl-C during the start is no failure.
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
    await ended.catch(() => null);
  }
  if (!signal.aborted) throw new CommandError('the service has ended by itself');
}

/** The settings of the terminal's, but for those that would lead to other data or keep others out. */
function serviceEnvironment(
  environment: CommandContext['environment'],
  { folder, port }: { folder: string; port: string },
): Record<string, string | undefined> {
  const {
    API_KEY: _key,
    API_KEY_FILE: _keyFile,
    BACKUP_TARGET: _target,
    DATA_EXPECTED: _expected,
    ...others
  } = environment;
  return {
    LOG_LEVEL: 'error',
    ...others,
    API_UI: 'true',
    DATA_DIR: folder,
    HOST,
    OPS_PORT: '0',
    PORT: port,
    RATE_LIMIT_PER_MINUTE: '0',
  };
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer();
    server.once('error', () => done(false));
    server.listen(port, HOST, () => server.close(() => done(true)));
  });
}

/** Resolves with what the service prints when it serves; its log goes to people. */
function announcement(service: ChildProcess, messages: CommandContext['messages']): Promise<Announced> {
  const said = /^Quiver serves on (\S+)[\s\S]*?^Admin key, shown this once: (\S+)\n[\s\S]*?(http\S+#sign-in=\S+)\n/m;
  return new Promise((done) => {
    let text = '';
    let isDone = false;
    service.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      if (isDone) return void messages.write(chunk);
      text += chunk;
      const found = said.exec(text);
      if (found === null) return;
      isDone = true;
      messages.write(text.slice(0, found.index));
      done({ url: found[1], key: found[2], link: found[3] });
    });
  });
}

async function failure(ended: Promise<number | null>): Promise<never> {
  await ended;
  throw new CommandError('the service could not be started: see above');
}

/** The hits of a question, as a table, with the time from here to here once the service is warm. */
async function firstHits(connection: Connection): Promise<string> {
  const search = async (text: string): Promise<{ results: Hit[] }> =>
    connection.call('POST', collectionUrl(COLLECTION, 'search'), { body: { text, k: HITS } });
  for (const text of WARMING) await search(text);
  const startedAtMs = performance.now();
  const { results } = await search(QUESTION);
  const tookMs = performance.now() - startedAtMs;
  const rows = results.map(({ score, metadata }) => `  ${score.toFixed(3)}  ${metadata.title}\n`);
  return `"${QUESTION}", in ${tookMs.toFixed(1)} ms:\n${rows.join('')}`;
}

/** Where there is a screen. One that is not there is no failure: the link is printed. */
function openBrowser(link: string, environment: CommandContext['environment']): void {
  const isMac = process.platform === 'darwin';
  if (!isMac && !environment.DISPLAY && !environment.WAYLAND_DISPLAY) return;
  const browser = spawn(isMac ? 'open' : 'xdg-open', [link], {
    env: environment,
    detached: true,
    stdio: 'ignore',
  });
  browser.once('error', () => undefined);
  browser.unref();
}
