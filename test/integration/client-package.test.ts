import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { findChromium, HeadlessBrowser } from '../support/machines/headless-browser';

/**
 * The package of the TypeScript client as its users get it: packed, installed where nothing else is, without a network.
 */

const root = resolve(__dirname, '../..');
const CLIENT = join(root, 'clients/typescript');
const COMMAND_MS = 600_000;

const server = new EmbeddedProcess();
let folder: string;
let project: string;
let tarball: string;

/** What a command says; throws with all of it when it fails. */
function run(command: string, words: string[], cwd: string, environment: Record<string, string> = {}): string {
  try {
    return execFileSync(command, words, {
      cwd,
      encoding: 'utf8',
      timeout: COMMAND_MS,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${words.join(' ')}: ${stdout}${stderr}`, { cause: error });
  }
}

const node = (words: string[]): string =>
  run(process.execPath, words, project, { QUIVER_URL: server.baseUrl, QUIVER_API_KEY: server.apiKey });
const write = (name: string, text: string): void => writeFileSync(join(project, name), text);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-client-'));
  project = join(folder, 'project');
  mkdirSync(project);
  const starting = server.start();
  // Packing builds it; the root's .npmrc, which npm hands on to what it starts, is for what is installed there.
  const [{ filename }] = JSON.parse(
    run('npm', ['pack', '--json', '--pack-destination', folder], CLIENT, { npm_config_ignore_scripts: 'false' }),
  ) as { filename: string }[];
  tarball = join(folder, filename);
  write('package.json', '{ "name": "consumer", "private": true }');
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], project, {
    npm_config_cache: join(folder, 'cache'),
  });
  await starting;
});
afterAll(async () => {
  await server.destroy();
  rmSync(folder, { recursive: true, force: true });
});

test('it brings nothing along, and no sources or tests', () => {
  expect(readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['quiver-client']);
  const files = readdirSync(join(project, 'node_modules/quiver-client'), { recursive: true }).map(String);
  expect(files).toEqual(
    expect.arrayContaining([
      'LICENSE',
      'README.md',
      'dist/esm/index.js',
      'dist/esm/index.d.ts',
      'dist/cjs/index.js',
      'dist/cjs/index.d.ts',
      'dist/quiver-client.mjs',
    ]),
  );
  expect(files.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))).toEqual([]);
});

test('import and require give the same', () => {
  const names = 'Object.keys(client).sort().join(" ")';
  const imported = node([
    '--input-type=module',
    '-e',
    `import * as client from 'quiver-client'; console.log(${names})`,
  ]);
  const required = node(['-e', `const client = require('quiver-client'); console.log(${names})`]);
  expect(required).toBe(imported);
  expect(imported.trim().split(' ')).toEqual(
    expect.arrayContaining(['NotFoundError', 'QuiverClient', 'base64FromVector']),
  );
});

test('publint finds nothing to say', () => {
  const said = run(process.execPath, [join(root, 'node_modules/publint/src/cli.js'), tarball, '--strict'], folder);
  expect(said).toContain('All good!');
});

test('the first example of the README runs word for word, and stands in the service’s README, too', () => {
  const [example] = /(?<=^```ts\n)[\s\S]*?(?=^```$)/m.exec(readFileSync(join(CLIENT, 'README.md'), 'utf8')) ?? [''];
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(example);
  write('planets.mjs', example);
  expect(
    node(['planets.mjs'])
      .replaceAll(/ [\d.]+$/gm, '')
      .trim()
      .split('\n')
      .sort(),
  ).toEqual(['jupiter', 'mars']);
});

test('the other examples of the README run word for word behind the first', async () => {
  const page = readFileSync(join(CLIENT, 'README.md'), 'utf8');
  const [first] = /(?<=^```ts\n)[\s\S]*?(?=^```$)/m.exec(page) ?? [''];
  const others = [...page.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, text]) => text);
  expect(others.length).toBeGreaterThan(4);
  const imports = others.flatMap((text) => text.match(/^import .*;$/gm) ?? []);
  // Their names are those of one example each.
  const blocks = others.map((text) => `{\n${text.replaceAll(/^import .*;$/gm, '')}}`);
  const given = `
    const session = { accessToken: async () => 'a token' };
    function* rowsOfFile() {
      yield { external_id: 'earth', text: 'Earth has one moon.', metadata: { moons: 1 } };
    }`;
  await server.call('DELETE', '/v1/collections/planets');
  write('all.mjs', [...imports, first, given, ...blocks].join('\n'));
  const printed = node(['all.mjs']);
  for (const line of [/^jupiter 0\.\d+$/m, /^1$/m, /^saturn 384 /m, /^manuals\/pumps\.md 1$/m])
    expect(printed).toMatch(line);
});

test('its types hold in strict programs of both kinds', () => {
  const body = `
    const client = new QuiverClient({ url: 'http://localhost:8000', apiKey: 'key', retry: { retries: 1 } });
    export async function hits(): Promise<string[]> {
      const filters: Filters = { year: { $gte: 1800 }, $or: [{ kind: 'a' }, { kind: { $in: ['b', null] } }] };
      const answer: SearchAnswer = await client.collection('a').search({ vector: new Float32Array(2), k: 3, filters }, { signal: AbortSignal.timeout(5), retries: 0 });
      for await (const { vector, metadata } of client.collection('a').scroll({ limit: 10 })) if (vector !== undefined) console.log(vector.length, metadata['x']);
      await client.collection('a').upsertMany([{ external_id: 'x', vector: [1, 2] }], { onRejected: (item, error) => console.log(item.external_id, error.code) });
      await client.uploadDocument({ collection_name: 'a', file: new Blob(['text']), onProgress: ({ bytes, totalBytes }) => console.log(bytes, totalBytes) });
      // @ts-expect-error a number of hits is a number
      await client.collection('a').search({ vector: [1], k: 'three' });
      // @ts-expect-error there is no such field
      await client.createCollection({ name: 'a', dim: 2, metric: 'l2' });
      // @ts-expect-error an item has an id
      await client.collection('a').upsert({ vector: [1] });
      return answer.results.map(({ external_id }) => external_id);
    }
    export const isMissing = (error: unknown): string | null => (error instanceof NotFoundError ? error.requestId : null);
  `;
  const imports = "import { QuiverClient, NotFoundError, type Filters, type SearchAnswer } from 'quiver-client';";
  write('program.mts', imports + body);
  write('program.cts', imports + body);
  const options = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: [],
  };
  const kinds = [
    ['node16', { module: 'node16', moduleResolution: 'node16' }, ['program.mts', 'program.cts']],
    ['bundler', { module: 'esnext', moduleResolution: 'bundler' }, ['program.mts']],
  ] as const;
  for (const [name, kind, files] of kinds) {
    write(`tsconfig.${name}.json`, JSON.stringify({ compilerOptions: { ...options, ...kind }, files }));
    expect(node([join(root, 'node_modules/typescript/bin/tsc'), '-p', `tsconfig.${name}.json`])).toBe('');
  }
});

test('the part for LangChain is there for who has LangChain, as a module of both kinds and with types', () => {
  const imported =
    "import { QuiverVectorStore } from 'quiver-client/langchain'; import { VectorStore } from '@langchain/core/vectorstores';";
  const required =
    "const { QuiverVectorStore } = require('quiver-client/langchain'); const { VectorStore } = require('@langchain/core/vectorstores');";
  const isStore = 'console.log(QuiverVectorStore.prototype instanceof VectorStore)';
  expect(() => node(['-e', required])).toThrow("Cannot find module '@langchain/core");
  mkdirSync(join(project, 'node_modules/@langchain'));
  symlinkSync(join(root, 'node_modules/@langchain/core'), join(project, 'node_modules/@langchain/core'));
  expect(node(['--input-type=module', '-e', imported + isStore])).toBe('true\n');
  expect(node(['-e', required + isStore])).toBe('true\n');
  write(
    'store.mts',
    `${imported}\nexport const find = async (store: QuiverVectorStore): Promise<string[]> => (await store.similaritySearch('x', 2, { year: { $gt: 1 } })).map(({ pageContent }) => pageContent);\nexport const isKind = (store: QuiverVectorStore): VectorStore => store;\n`,
  );
  write(
    'tsconfig.store.json',
    JSON.stringify({
      compilerOptions: {
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        target: 'es2022',
        module: 'node16',
        types: [],
      },
      files: ['store.mts'],
    }),
  );
  expect(node([join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.store.json'])).toBe('');
});

const chromium = findChromium();

(chromium === null ? test.skip : test)('the one file for pages works in a browser', async () => {
  const bundle = readFileSync(join(project, 'node_modules/quiver-client/dist/quiver-client.mjs')).toString('base64');
  // A page of the service's own address that runs nothing by itself.
  const browser = await HeadlessBrowser.open(chromium as string, `${server.baseUrl}/openapi.json`);
  try {
    await browser.until('document.readyState === "complete" && location.protocol === "http:"');
    const seen = await browser.evaluate(`(async () => {
      const { QuiverClient, NotFoundError, base64FromVector, vectorFromBase64 } = await import('data:text/javascript;base64,${bundle}');
      const client = new QuiverClient({ url: location.origin, apiKey: ${JSON.stringify(server.apiKey)} });
      await client.createCollection({ name: 'page', dim: 64 });
      const page = client.collection('page');
      const items = Array.from({ length: 300 }, (_, n) => ({ external_id: 'ü' + n, vector: Array.from({ length: 64 }, (_, i) => Math.sin(n * i)) }));
      const progress = await page.upsertMany(items, { batchItems: 50 });
      let exported = 0;
      for await (const { vector } of page.export()) exported += vector.length;
      let scrolled = 0;
      for await (const _item of page.scroll({ limit: 100 })) scrolled++;
      const near = await page.search({ vector: items[7].vector, k: 1 });
      const steps = [];
      const upload = await client.uploadDocument({ collection_name: 'page', file: new File(['Rivers flood in spring.'], 'river.txt'), onProgress: (step) => steps.push(step.bytes) });
      const refusal = await client.uploadDocument({ collection_name: 'page', file: new Blob(['x']).stream() }).catch((error) => error.name);
      const { results } = await client.query({ collection_name: 'page', query: 'rivers', top_k: 1 });
      const missing = await client.collection('none').info().catch((error) => error instanceof NotFoundError && error.requestId !== null);
      const stranger = await new QuiverClient({ url: 'http://127.0.0.1:1', retry: { retries: 0 } }).health().catch((error) => error.name);
      const same = vectorFromBase64(base64FromVector([1.5, -2])).join();
      return { written: progress.items, exported, scrolled, near: near.results[0].external_id, steps, chunks: upload.chunks_created, refusal, text: results[0].text, missing, stranger, same };
    })()`);
    expect(seen).toEqual({
      written: 300,
      exported: 300 * 64,
      scrolled: 300,
      near: 'ü7',
      steps: [0, 23],
      chunks: 1,
      refusal: 'TypeError',
      text: 'Rivers flood in spring.',
      missing: true,
      stranger: 'ConnectionError',
      same: '1.5,-2',
    });
  } finally {
    await browser.close();
  }
});
