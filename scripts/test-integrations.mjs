// `npm run test:integrations`: the examples of docs/integrations, as they stand, by the products' own code from the
// registries against a service that is started for it, in a temporary folder. Names after -- choose some of them.
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { freePorts } from './make/free-ports.mjs';
import { ROOT, runNpm, setUpOrExit } from './setup.mjs';

const KEY = 'integrations-key';
const READY_WITHIN_MS = 120_000;

/**
 * @typedef {{ url: string, folder: string, environment: Record<string, string | undefined> }} Place
 * @type {Record<string, (place: Place) => Promise<void> | void>}
 */
const INTEGRATIONS = {
  'vercel-ai-sdk': (place) => {
    install(place, ['ai@7.0.173', 'zod@4.6.7']);
    write(place, 'model.mjs', SCRIPTED_MODEL);
    runPage(place, 'vercel-ai-sdk');
  },
  mastra: (place) => {
    install(place, ['@mastra/core@0.24.9', 'zod@3.25.76']);
    copyFileSync(join(ROOT, 'integrations/mastra/quiver-vector.mjs'), join(place.folder, 'quiver-vector.mjs'));
    runPage(place, 'mastra');
  },
  // Where Maven is.
  'spring-ai': (place) => {
    cpSync(join(ROOT, 'integrations/spring-ai'), join(place.folder, 'spring-ai'), { recursive: true });
    run('mvn', ['-q', '-B', 'test'], { ...place, folder: join(place.folder, 'spring-ai') });
  },
  benchmarks: (place) => {
    const python = join(place.folder, 'venv/bin/python');
    run(process.env.PYTHON ?? 'python3', ['-m', 'venv', join(place.folder, 'venv')], place);
    const pip = [python, '-m', 'pip', 'install', '--quiet'];
    run(pip[0], [...pip.slice(1), 'pytest', 'numpy', 'pydantic', 'environs', 'pytz', 'httpx', 'anyio'], place);
    // Its clients and its pages need much that its base class does not.
    run(pip[0], [...pip.slice(1), '--no-deps', 'vectordb-bench==2.0.0'], place);
    const words = ['-B', '-m', 'pytest', '-p', 'no:cacheprovider', '-rs', join(ROOT, 'integrations/benchmarks')];
    run(python, words, {
      ...place,
      environment: { ...place.environment, PYTHONPATH: join(ROOT, 'clients/python/src') },
    });
  },
};

/** In the place of a model that somebody serves: it calls the tool that it is given, and says the first text of it. */
const SCRIPTED_MODEL = `import { MockLanguageModelV4 } from 'ai/test';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
export const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt, tools }) => {
    const last = prompt.at(-1);
    if (last.role !== 'tool') {
      const input = JSON.stringify({ query: last.content[0].text });
      const call = { type: 'tool-call', toolCallId: 'call-1', toolName: tools[0].name, input };
      return { content: [call], finishReason: { unified: 'tool-calls' }, usage, warnings: [] };
    }
    const [{ text }] = last.content[0].output.value;
    return { content: [{ type: 'text', text }], finishReason: { unified: 'stop' }, usage, warnings: [] };
  },
});
`;

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !Object.hasOwn(INTEGRATIONS, name));
if (unknown !== undefined) {
  console.error(`there is no "${unknown}"; there is: ${Object.keys(INTEGRATIONS).join(', ')}`);
  process.exit(2);
}
await setUpOrExit();
const names = wanted.length > 0 ? wanted : Object.keys(INTEGRATIONS);
for (const name of names) {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-integration-'));
  try {
    await withService(async (url) => {
      const environment = { ...process.env, QUIVER_URL: url, QUIVER_API_KEY: KEY };
      await INTEGRATIONS[name]({ url, folder, environment });
    });
    console.log(`${name}: works`);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The packages, and the TypeScript client as it is here. @param {Place} place @param {string[]} packages */
function install({ folder }, packages) {
  writeFileSync(join(folder, 'package.json'), '{"private": true}');
  cpSync(join(ROOT, '.npmrc'), join(folder, '.npmrc'));
  runNpm(['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...packages], folder);
  const client = join(folder, 'node_modules/quiver-client');
  mkdirSync(client, { recursive: true });
  copyFileSync(join(ROOT, 'clients/typescript/package.json'), join(client, 'package.json'));
  run(process.execPath, [join(ROOT, 'scripts/make/build-client.mjs'), join(client, 'dist')], { folder });
}

/**
 * The program of a page, and whether it prints what the page shows.
 * @param {Place} place
 * @param {string} name
 */
function runPage(place, name) {
  const page = readFileSync(join(ROOT, `docs/integrations/${name}.md`), 'utf8');
  const [, program] = /^```js\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const [, printed] = /^```text\n([\s\S]*?)^```$/m.exec(page) ?? [];
  if (program === undefined || printed === undefined)
    throw new Error(`${name}.md has no program, or not what it prints`);
  write(place, 'example.mjs', program);
  const output = run(process.execPath, ['example.mjs'], place);
  if (output !== printed) throw new Error(`${name}.md shows\n${printed}\nand it printed\n${output}`);
}

/** @param {Place} place @param {string} name @param {string} text */
function write({ folder }, name, text) {
  writeFileSync(join(folder, name), text);
}

/**
 * Answers what it printed. Throws an Error with what it said when it fails.
 * @param {string} command
 * @param {string[]} words
 * @param {{ folder: string, environment?: Record<string, string | undefined> }} place
 */
function run(command, words, { folder, environment }) {
  const { status, stdout, stderr, error } = spawnSync(command, words, {
    cwd: folder,
    encoding: 'utf8',
    env: environment ?? process.env,
    maxBuffer: 1 << 26,
  });
  if (status !== 0)
    throw new Error(`${basename(command)} ${words.join(' ')}: ${error?.message ?? ''}\n${stdout}${stderr}`);
  return stdout;
}

/** @param {(url: string) => Promise<void>} work */
async function withService(work) {
  const data = mkdtempSync(join(tmpdir(), 'quiver-integration-data-'));
  const [port] = await freePorts(1);
  const service = spawn(process.execPath, [join(ROOT, 'scripts/try-service.cjs')], {
    env: {
      ...process.env,
      API_KEY: KEY,
      DATA_DIR: data,
      EMBEDDING_MODEL: 'builtin',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'error',
      MCP: 'true',
      OPS_PORT: '0',
      PORT: String(port),
      RATE_LIMIT_PER_MINUTE: '0',
    },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const ended = new Promise((done) => service.once('close', done));
  const url = `http://127.0.0.1:${port}`;
  try {
    const until = performance.now() + READY_WITHIN_MS;
    while ((await fetch(`${url}/openapi.json`).catch(() => null))?.ok !== true) {
      if (service.exitCode !== null || performance.now() > until) throw new Error('the service does not start');
      await new Promise((wake) => setTimeout(wake, 50));
    }
    await work(url);
  } finally {
    service.kill();
    await ended;
    if (existsSync(data)) rmSync(data, { recursive: true, force: true, maxRetries: 5 });
  }
}
